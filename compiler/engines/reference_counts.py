"""Statistics where the reference interpreter runs: the same counts as Spark's, of tables in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from neelc.catalog.readers.text import Row
from neelc.ir.program import Member
from neelc.ir.types import LENGTHS
from neelc.pattern.cost.gathering import EVENT, CountedCondition, StreamCounts, StreamQuestions, time_unit
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.events import is_member, read_events, with_derived
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent


def counted_in_tables(
    asked: Mapping[str, StreamQuestions], tables: Mapping[str, Sequence[Row]]
) -> dict[str, StreamCounts]:
    """What is asked about streams, counted in their rows."""
    return {name: _counts(one, tables) for name, one in asked.items() if name in tables}


def _counts(asked: StreamQuestions, tables: Mapping[str, Sequence[Row]]) -> StreamCounts:
    stream, rows = asked.stream, tables[asked.stream.name]
    if stream.is_relation:
        values = tuple(_values(row[name] for row in rows) for name in asked.columns)
        return StreamCounts(len(rows), values=values)
    events = list(with_derived(stream, read_events(stream, rows), tables))
    tick = LENGTHS[time_unit(stream)]
    times = [event.start // tick for event in events]
    return StreamCounts(
        len(events),
        min(times, default=None),
        max(times, default=None),
        tuple(sum(_is_type(event, value) for event in events) for value in asked.types),
        tuple(_values(event.attributes[name] for event in events) for name in asked.columns),
        tuple(sum(_meets(event, one) for event in events) for one in asked.conditions),
    )


def _values(values: Iterable[object]) -> tuple[int, int]:
    """How many are different, and how many there are.

    >>> _values([1.5, None, 0.0, -0.0, 1.5])
    (2, 4)
    """
    # The two zeros are equal.
    present = [
        repr(value + 0.0 if isinstance(value, float) else value) for value in values if value is not None
    ]
    return len(set(present)), len(present)


def _is_type(event: ReferenceEvent, value: str | None) -> bool:
    return is_member(event, Member(event.stream, value))


def _meets(event: ReferenceEvent, one: CountedCondition) -> bool:
    context = EvaluationContext({EVENT: event})
    return _is_type(event, one.type) and evaluate(one.condition, context) is True
