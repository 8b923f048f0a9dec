"""How a PATTERN runs over streams without end, in words: the watermark, when results leave, what is kept."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.catalog.statistics.numbers import Statistics
from neelc.explain import words as numbers
from neelc.ir.names import written
from neelc.ir.program import Match, Stream
from neelc.ir.types import LENGTHS
from neelc.pattern.analysis.keys import Key
from neelc.pattern.cost.estimate import Estimate
from neelc.pattern.cost.ledger import Ledger
from neelc.pattern.cost.setting import CostSetting
from neelc.pattern.plan.emission import StreamPlan
from neelc.pattern.plan.strategies import StrategyPlan
from neelc.pattern.plan.stream_network import StreamNetwork
from neelc.runtime.program import EventName, StreamedGroups, StreamedImprecise, StreamedPattern

Notes = tuple[tuple[str, str], ...]
"""Labels and sentences."""

POLICY = "spark.sql.streaming.multipleWatermarkPolicy"


def streaming_notes(
    query: Match, found: StrategyPlan, keys: tuple[Key, ...], estimate: Estimate, statistics: Statistics
) -> Notes:
    """What there is to know about a query over streams; nothing, if it does not run over streams."""
    plan = found.plan
    if not isinstance(plan, StreamPlan):
        return ()
    return (
        *(("watermark", text) for text in _watermarks(query)),
        ("emitted", emitted(query, plan)),
        ("kept", _kept(query, plan, [written(key.name) for key in keys])),
        ("state", _state(query, plan, estimate, statistics)),
        ("buckets", _buckets(plan, found.buckets)),
    )


def with_network(notes: Notes, network: StreamNetwork, buckets: int) -> Notes:
    """The notes of the last query of a network, which one operator runs."""
    read = ", ".join(written(one.name or "") for one in network.queries[:-1])
    last = network.program.nodes[-1]
    lag = _time(last.lag * LENGTHS[network.queries[-1].planned.plan.unit])
    together = (
        f"One for this query and {read}. The watermark of this query is {lag} behind that of the streams: so "
        "long it can take until all that it reads is sure."
    )
    if network.buckets is None:
        spread = f"1: {network.reason}, so one task finds all results."
    else:
        keys = ", ".join(map(written, network.buckets[-1]))
        spread = f"{buckets}, by {keys}, which all queries share."
    others = (note for note in notes if note[0] != "buckets")
    return (*others, ("operator", together), ("buckets", spread))


def _watermarks(query: Match) -> Iterator[str]:
    streams = [stream for stream in query.streams if stream.producer is None]
    yield from map(_watermark, streams)
    if len(streams) > 1:
        yield f"The slowest of the streams counts, unless {POLICY} is max."


def _watermark(stream: Stream) -> str:
    name = written(stream.name)
    if stream.watermark is None:
        return (
            f"{name}: that of its DataFrame (withWatermark), or WATERMARK in CREATE STREAM; one is required."
        )
    source = "withWatermark of the DataFrame" if stream.watermarked else "WATERMARK in the script"
    late = "Events that come later take no part, and are counted."
    return f"{name}: {_time(stream.watermark * 1000)} ({source}). {late}"


def emitted(query: Match, plan: StreamPlan) -> str:
    """When a match, or a group of matches, leaves.

    >>> from pattern_examples import stream_plan
    >>> for text in ("SEQ(A a, B b)", "SEQ(A a, !C c, B b)", "SEQ(A a, !C c)"):
    ...     print(emitted(*stream_plan(f"{text} WITHIN 1 HOUR")))
    A match is sure at its last event: it leaves in the micro-batch in which that comes.
    A match is sure when the watermark reaches b.
    A match is sure when WITHIN has passed: up to 1 HOUR after its last event, as the watermark counts.
    """
    if isinstance(plan.streamed, StreamedGroups):
        time = query.outputs[plan.streamed.grouping.time].name
        return f"A group is complete when the watermark reaches its {time} + {query.within}."
    if isinstance(plan.streamed, StreamedImprecise):
        return _emitted_imprecise(query, plan.streamed)
    emission = plan.streamed.emission
    if emission.window:
        return (
            f"A match is sure when WITHIN has passed: up to {query.within} after its last event, as the "
            "watermark counts."
        )
    if emission.is_immediate:
        return AT_LAST_EVENT
    if emission.end:
        return "A match is sure when the watermark reaches its end."
    events = [_first(group) for group in emission.before]
    return f"A match is sure when the watermark reaches {' and '.join(events)}."


AT_LAST_EVENT = "A match is sure at its last event: it leaves in the micro-batch in which that comes."


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
    how = "" if times == 1 else f", {times} times: matches, or what spoils them, may lie that far back"
    return f"Events{each} until the watermark is later by WITHIN ({query.within}){how}."


def _state(query: Match, plan: StreamPlan, estimate: Estimate, statistics: Statistics) -> str:
    setting = CostSetting(Ledger(query, statistics))
    share = min(1.0, plan.streamed.windows_kept * setting.window / setting.duration)
    events, bytes = estimate.rows_sorted * share, estimate.bytes_shuffled * share
    star = "*" if any(fact.origin == "assumed" for fact in estimate.facts) else ""
    return (
        f"About {numbers.amount(events)} events{star}, {numbers.size(bytes)}{star}, in all buckets together."
    )


def _buckets(plan: StreamPlan, buckets: int) -> str:
    if not plan.together:
        return "1: no key keeps results apart, so one task finds them all."
    keys = ", ".join(map(written, plan.together))
    return f"{buckets}, by {keys}: one call finds the matches of all keys of a bucket."


def _time(nanoseconds: int) -> str:
    """
    >>> _time(90 * 10**9), _time(3600 * 10**9), _time(0)
    ('90 SECONDS', '1 HOUR', '0 SECONDS')
    """
    for unit, length in LENGTHS.items():
        if nanoseconds and nanoseconds % length == 0:
            count = nanoseconds // length
            return f"{count:,} {unit}{'' if count == 1 else 'S'}"
    return "0 SECONDS"
