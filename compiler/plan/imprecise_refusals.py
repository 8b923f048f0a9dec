"""Queries over imprecise times that are not executed: what dynamic programming cannot weigh.

What is weighed are lists of events in one order, a window around all of them, and single events that must not
be in a gap (docs/decisions/0038). Everything else is refused here, by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjuncts
from neelc.ir.expr import EventTime, Literal
from neelc.ir.logical import Match, Stream
from neelc.ir.node import walk
from neelc.ir.parts import all_parts, may_be_empty
from neelc.ir.show_pattern import as_written
from neelc.plan.unsupported import Unsupported
from neelc.plan.widths import LONGEST, stream_unit, width_of
from neelc.rewrite.facts import ANY_MATCH


def is_imprecise(query: Match) -> bool:
    """Whether a stream of the query has imprecise times."""
    return any(stream.latest is not None for stream in query.streams)


def is_certain_enough(query: Match) -> bool:
    """Whether what is a match in all worlds has the confidence that is asked for: all have, but for > 1.

    >>> from neelc.rewrite.examples import query
    >>> [is_certain_enough(query(f"A a WITH CONFIDENCE {asked}")) for asked in (">= 1", "> 0.5", "> 1")]
    [True, True, False]
    """
    if query.confidence is None or query.confidence.op != ">":
        return True
    threshold = query.confidence.threshold
    return isinstance(threshold, Literal) and threshold.value != 1


def refuse(query: Match, unit: str) -> None:
    """Raise `Unsupported` if the query asks for more than can be weighed."""
    for what in _refusals(query, unit):
        raise Unsupported(f"{what} over imprecise times", query.pattern.span)


def _refusals(query: Match, unit: str) -> Iterator[str]:
    if query.strategy != ANY_MATCH:
        yield query.strategy
    if query.collapsed:
        yield "RETURN COLLAPSED"
    if query.within is not None and query.within.unit == "EVENT":
        yield "a window of EVENTS"
    yield from (what for stream in query.streams for what in _of_stream(stream, unit))
    for part in all_parts(query.pattern):
        yield from _of_part(part)
    variables = Counter(
        part.variable for part in all_parts(query.pattern) if isinstance(part, p.Event | p.Repeat)
    )
    if any(count > 1 for name, count in variables.items() if name is not None):
        yield "branches of an OR that share a variable"
    yield from _of_negations(query, unit)


def _of_stream(stream: Stream, unit: str) -> Iterator[str]:
    if stream.end is not None or stream.query is not None:
        yield f"events that last ({stream.name})"
    if stream.latest is not None and stream_unit(stream) != unit:
        yield f"times of another unit ({unit.lower()}s beside those of {stream.name})"


def _of_part(part: p.Pattern) -> Iterator[str]:
    match part:
        case p.Event() | p.Seq() | p.Or() | p.Optional() | p.Not(p.Event()) | p.Repeat(p.Event()):
            pass
        case p.Not(inner):
            yield f"the negated part `!{as_written(inner)}`"
        case p.Repeat():
            yield f"the closure `{as_written(part)}` of a part"
        case p.Exists():
            yield "EXISTS"
        case p.AndNeg():
            yield "AND_NEG"
        case _:
            yield type(part).__name__.upper()
    if part.within is not None:
        yield f"WITHIN on the part `{as_written(part)}`"
    for condition in conjuncts(part.where):
        if any(isinstance(node, EventTime) for node in walk(condition)):
            yield f"the condition `{condition}` on times"


def _of_negations(query: Match, unit: str) -> Iterator[str]:
    """A negation that may come first or last looks as far as the window reaches."""
    width = LONGEST if query.within is None else width_of(query.within, unit)[0]
    if width < LONGEST:
        return
    for part in all_parts(query.pattern):
        if not isinstance(part, p.Seq):
            continue
        for place, inner in enumerate(part.parts):
            around = part.parts[:place], part.parts[place + 1 :]
            # Inside of another SEQ it has neighbours there; that it may have them is not looked into.
            if isinstance(inner, p.Not) and any(all(map(may_be_empty, side)) for side in around):
                yield f"the negation `{as_written(inner)}` at an end, without a window,"
