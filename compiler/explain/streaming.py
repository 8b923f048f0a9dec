"""How a query runs over streams without end, in words: the watermark, when results leave, what is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from neelc.algebra.plan.network import NetworkPlan
from neelc.algebra.plan.streamed import StreamedNetwork, is_of_one_event, kept_of
from neelc.catalog.statistics.numbers import Statistics
from neelc.engines.streaming.network_plan import StreamNetwork
from neelc.explain import words as numbers
from neelc.ir.algebra import Correlator, TemporalMatcher
from neelc.ir.names import written
from neelc.ir.patterns import window_of_microseconds, window_of_nanoseconds
from neelc.ir.program import Match, Stream
from neelc.ir.types import LENGTHS
from neelc.pattern.analysis.keys import Key
from neelc.pattern.cost.estimate import Estimate
from neelc.pattern.cost.ledger import Ledger
from neelc.pattern.cost.setting import CostSetting
from neelc.pattern.plan.emission import StreamPlan, group_time
from neelc.pattern.plan.strategies import StrategyPlan
from neelc.rows.plan.plan import HostPlan
from neelc.rows.plan.streams import decided_when, kept_rows
from neelc.runtime.program import (
    EventName,
    ScopeEnd,
    StreamedGroups,
    StreamedImprecise,
    StreamedPattern,
)

Notes = tuple[tuple[str, str], ...]
"""Labels and sentences."""

POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
LATE = "Events that arrive later are ignored and counted."
NEVER_LATE = "It waits for none: no event is late for a SELECT that only filters and projects."


# PATTERN.


def streaming_notes(
    query: Match, found: StrategyPlan, keys: tuple[Key, ...], estimate: Estimate, statistics: Statistics
) -> Notes:
    """What there is to know about a query over streams; nothing, if it does not run over streams."""
    plan = found.plan
    if not isinstance(plan, StreamPlan):
        return ()
    watermarks = _watermarks(query.streams)
    if is_single(plan):
        kept = "Nothing: a match is one event."
        return (
            *watermarks,
            ("emitted", ALONE),
            ("kept", kept),
            ("buckets", _buckets(plan, found.buckets)),
        )
    return (
        *watermarks,
        ("emitted", emitted(query, plan)),
        ("kept", _kept(query, plan, [written(key.name) for key in keys])),
        ("state", _state(query, plan, estimate, statistics)),
        ("buckets", _buckets(plan, found.buckets)),
    )


def is_single(plan: StreamPlan) -> bool:
    """Whether each match is one event, and nothing is kept."""
    return isinstance(plan.streamed, StreamedPattern) and plan.streamed.single


def with_network(notes: Notes, network: StreamNetwork, buckets: int) -> Notes:
    """The notes of the last query of a network, which one operator runs."""
    read = ", ".join(written(one.name or "") for one in network.queries[:-1])
    last = network.program.nodes[-1]
    lag = window_of_nanoseconds(last.lag * LENGTHS[network.queries[-1].unit])
    together = (
        f"One for this query and {read}. The watermark of this query is {lag} behind that of the streams: so "
        "long it can take until all that it reads is sure."
    )
    if network.buckets is None:
        spread = f"1: {network.reason}, so one task finds all results."
    else:
        keys = ", ".join(map(written, network.keys))
        spread = f"{buckets}, by {keys}, which all queries share."
    others = (note for note in notes if note[0] != "buckets")
    return (*others, ("operator", together), ("buckets", spread))


def _watermarks(streams: Iterable[Stream], late: str = LATE) -> Notes:
    outside = [stream for stream in streams if stream.producer is None and not stream.is_relation]
    texts = [_watermark(stream, late) for stream in outside]
    if len(outside) > 1:
        texts.append(f"The slowest of the streams counts, unless {POLICY} is max.")
    return tuple(("watermark", text) for text in texts)


def _watermark(stream: Stream, late: str) -> str:
    name = written(stream.name)
    if stream.watermark is None:
        return (
            f"{name}: that of its DataFrame (withWatermark), or WATERMARK in CREATE STREAM; one is required."
        )
    source = "withWatermark of the DataFrame" if stream.watermarked else "declared with the stream"
    return f"{name}: {window_of_microseconds(stream.watermark)} ({source}). {late}"


def emitted(query: Match, plan: StreamPlan) -> str:
    """When a match, or a group of matches, leaves.

    >>> from pattern_examples import stream_plan
    >>> for text in ("SEQ(A a, B b)", "SEQ(A a, !C c, B b)", "SEQ(A a, !C c)"):
    ...     print(emitted(*stream_plan(f"{text} WITHIN 1 HOUR")))
    A match is sure at its last event: it is emitted in the micro-batch in which that event arrives.
    A match is sure when the watermark reaches b.
    A match is sure when WITHIN has passed: up to 1 HOUR after its last event, as the watermark counts.
    >>> print(emitted(*stream_plan("OR(SEQ(A a, !C c), B b) WITHIN 1 HOUR")))
    A match is sure with a when WITHIN has passed: up to 1 HOUR after its last event; else at its last event.
    """
    if isinstance(plan.streamed, StreamedGroups):
        row = "A row, of all matches that are equal," if plan.streamed.distinct else "A group"
        window = f" + {query.within}" if query.within else ""
        return f"{row} is complete when the watermark reaches {_group_end(query, plan)}{window}."
    if isinstance(plan.streamed, StreamedImprecise):
        return _emitted_imprecise(query, plan.streamed)
    emission = plan.streamed.emission
    if query.kept is not None:
        when = "when WITHIN has passed" if query.within else "when the watermark reaches it"
        return f"A match is sure {when}: all that start at its time or before are known then."
    if emission.window:
        return (
            f"A match is sure when WITHIN has passed: up to {query.within} after its last event, as the "
            "watermark counts."
        )
    if emission.is_immediate:
        return AT_LAST_EVENT
    if emission.end:
        return "A match is sure when the watermark reaches its end."
    if any(scope.otherwise or scope.taken or scope.next_after for scope in emission.scopes):
        sure = "; ".join(_closed(scope, str(query.within)) for scope in emission.scopes)
        return f"A match is sure {sure}; else at its last event."
    events = [_first(scope.events) for scope in emission.scopes]
    return f"A match is sure when the watermark reaches {' and '.join(events)}."


def _group_end(query: Match, plan: StreamPlan) -> str:
    item = group_time(plan.planned)
    assert item is not None, "a group that is never complete is refused"
    name = next(output.name for output in query.outputs if output.expression == item.expression)
    return f"the last time with its {written(name)}" if item.last else f"its {written(name)}"


def _closed(scope: ScopeEnd, window: str) -> str:
    """When a negation of a match is decided that does not concern all matches, or is open without an event
    that may be absent.

    >>> _closed(ScopeEnd(("c",), "end", "a"), "1 HOUR")
    'with a when the watermark reaches c or, without it, when the watermark reaches its end'
    >>> _closed(ScopeEnd((), "window", None, ("a",)), "1 HOUR")
    'when the watermark reaches the event after a or, without it, when WITHIN has passed: up to 1 HOUR after \
its last event'
    """
    whose = "" if scope.taken is None else f"with {scope.taken} "
    reached = f"when the watermark reaches {_first(scope.events)}" if scope.events else ""
    if scope.next_after:
        reached = f"when the watermark reaches the event after {', '.join(map(str, scope.next_after))}"
    passed = {
        "window": f"when WITHIN has passed: up to {window} after its last event",
        "end": "when the watermark reaches its end",
        None: "",
    }[scope.otherwise]
    return whose + " or, without it, ".join(text for text in (reached, passed) if text)


ALONE = "A match is one event: it is emitted in the micro-batch in which that event arrives."
AT_LAST_EVENT = (
    "A match is sure at its last event: it is emitted in the micro-batch in which that event arrives."
)


def _emitted_imprecise(query: Match, streamed: StreamedImprecise) -> str:
    if streamed.is_immediate:
        return AT_LAST_EVENT
    return f"A match is sure {query.within} after the first of its events must have happened."


def _first(group: tuple[EventName, ...]) -> str:
    names = ", ".join(map(str, group))
    return names if len(group) == 1 else f"the first of {names}"


def _kept(query: Match, plan: StreamPlan, keys: list[str]) -> str:
    each = f" of each {' and '.join(keys)}" if keys else ""
    if isinstance(plan.streamed, StreamedPattern) and plan.streamed.window is None:
        return (
            f"The last events{each}, as many as a match may hold: {query.within}. A key is never forgotten."
        )
    times = plan.streamed.windows_kept
    if isinstance(plan.streamed, StreamedGroups) and plan.streamed.grouping.span:
        before = ("", f", and of {query.within} before them", f", and of twice {query.within} before them")
        return f"Events{each} of groups that are not complete{before[times - 1]}."
    how = "" if times == 1 else f", {times} times: matches, or what spoils them, may lie that far back"
    if query.kept is not None:
        window = f" by WITHIN ({query.within})" if query.within else ""
        last = f"and from when on the next match{each} may start, or end"
        return f"Events{each} until the watermark is later{window}{how}; {last}."
    return f"Events{each} until the watermark is later by WITHIN ({query.within}){how}."


def _state(query: Match, plan: StreamPlan, estimate: Estimate, statistics: Statistics) -> str:
    setting = CostSetting(Ledger(query, statistics))
    share = min(1.0, plan.streamed.windows_kept * setting.window / setting.duration)
    events, bytes = estimate.rows_sorted * share, estimate.bytes_shuffled * share
    star = "*" if any(fact.origin == "assumed" for fact in estimate.facts) else ""
    is_span = isinstance(plan.streamed, StreamedGroups) and plan.streamed.grouping.span
    more = f" for each {query.within}" if is_span else ""
    return (
        f"About {numbers.amount(events)} events{star}, {numbers.size(bytes)}{star}{more}, in all buckets "
        "together."
    )


def _buckets(plan: StreamPlan, buckets: int) -> str:
    if not plan.together:
        return "1: no key keeps results apart, so one task finds them all."
    if is_single(plan) and not plan.program.keys:
        return f"{buckets}, by time."
    keys = ", ".join(map(written, plan.together))
    return f"{buckets}, by {keys}: one call finds the matches of all keys of a bucket."


# SELECT.


def select_notes(plan: NetworkPlan) -> Notes:
    """What there is to know about a SELECT over streams; nothing, if it does not run over streams."""
    streamed = plan.streamed
    if streamed is None:
        return ()
    if streamed.core is None:
        sure = "A row depends on one event: it is emitted in the micro-batch in which that event arrives."
        nothing = ("kept", "Nothing: Spark filters and projects events.")
        return (*_watermarks(plan.query.streams, NEVER_LATE), ("emitted", sure), nothing)
    watermarks = _watermarks(plan.query.streams)
    if isinstance(streamed.core, Correlator) and all(map(is_of_one_event, streamed.core.inputs)):
        sure = "A row is sure when its last event arrives, because it is known how long each is valid."
    elif isinstance(streamed.core, TemporalMatcher):
        sure = (
            "A match is sure when the watermark has passed what decides it, whether its intervals end or go "
            "on; if an end is read, when the next event of its stream and partition tells it; if a symbol "
            "must not occur, when none can come any more."
        )
    else:
        sure = "A row is sure when the watermark reaches its end, te: before, the end is not known."
    if streamed.is_keyed:
        buckets = f"{plan.buckets}, by {', '.join(_keys(streamed))}."
    else:
        buckets = "1: no key that all operators have, so one task reads all events."
    kept = [("kept", f"{_capital(text)}.") for text in kept_of(streamed.core)]
    return (*watermarks, ("emitted", sure), *kept, ("buckets", buckets))


def _keys(streamed: StreamedNetwork) -> Iterator[str]:
    """What decides about the bucket of an event, of all inputs together."""
    named = [{name: str(one) for one, name in given.columns} for given in streamed.inputs]
    for same in zip(*(given.keys for given in streamed.inputs), strict=True):
        yield " = ".join(dict.fromkeys(of[key] for of, key in zip(named, same, strict=True)))


# MATCH_RECOGNIZE.


def host_notes(plan: HostPlan) -> Notes:
    """What there is to know about MATCH_RECOGNIZE over streams; nothing, if it does not run over streams."""
    (clause, *_) = plan.clauses
    if clause.streamed is None:
        return ()
    query = plan.query
    read = [stream for stream in query.streams if stream.name == clause.bound.reads]
    watermarks = _watermarks(read) or (
        ("watermark", "That of the subquery, on the first column of ORDER BY."),
    )
    keys = ", ".join(map(written, clause.plan.query.partition))
    buckets = (
        f"{plan.buckets}, by {keys}." if keys else "1: there is no PARTITION BY, so one task reads all rows."
    )
    kept = [("kept", f"{_capital(text)}.") for text in kept_rows(clause.streamed)]
    decided = f"A match is sure {decided_when(clause.streamed)}."
    return (*watermarks, ("emitted", decided), *kept, ("buckets", buckets))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
