"""Many queries answered over a stream by one kernel, in process: events come in micro-batches, out of order,
and what is kept is written and read between any two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
from in_rules import numbered_rules, set_table
from in_stream import FAR, Arrival, Coming, arrived

from neelc.ir.types import LENGTHS
from neelc.pattern.plan.rule_sets import RuleSetPlan
from neelc.runtime.columns import FIRST_TIME
from neelc.runtime.kernels.rules.program import PART, RuleSet, StreamedRules
from neelc.runtime.kernels.rules.stream import RuleStream
from neelc.runtime.reference import Tables, read
from neelc.runtime.reference.model import Binding, ReferenceEvent
from neelc.runtime.streaming import StreamMemory
from neelc.tools.cases.streaming.arrival import StreamedBucket
from neelc.tools.cases.streaming.pattern import (
    NUMBER,
    bound,
    complete,
    functions_of,
    later,
    numbered_output,
)

Emitted = dict[str, list[Binding]]
"""The matches of each rule."""


@dataclass(frozen=True, eq=False)
class StreamedSet:
    """What a set gave over a stream: matches by rule, for each micro-batch, how many events are kept after
    it, and what is kept in the end."""

    stream: Coming
    calls: list[Emitted]
    kept: list[int]
    memory: StreamMemory

    def matches(self, rule: str) -> list[Binding]:
        return [binding for call in self.calls for binding in call[rule]]

    def events(self, streams: Sequence[str]) -> list[ReferenceEvent]:
        """The events of some streams that were not late."""
        return [event for event in self.stream.on_time if event.stream in streams]


def set_coming(made: RuleSetPlan, tables: Tables, how: Arrival) -> Coming:
    """How the events of a set come."""
    events = list(read(made.events, tables, {}))
    Random(how.seed).shuffle(events)
    unit = LENGTHS[made.unit]
    batches = arrived(events, how, unit)
    late = frozenset(n for batch, now in batches for n in batch if events[n].start // unit <= now)
    more = max((list(later(rule.planned, rule.query, events)) for rule in made.plans), key=len)
    numbers = list(range(len(events), len(events) + len(more)))
    watermark = max((now for _, now in batches), default=FIRST_TIME)
    batches += [(numbers[::2], watermark), (numbers[1::2], watermark), ([], FAR)]
    return Coming(events, more, batches, late)


def stream_set(made: RuleSetPlan, tables: Tables, how: Arrival) -> StreamedSet:
    """What comes out of a set of rules over a stream."""
    stream = set_coming(made, tables, how)
    rules = numbered_rules(made.program)
    functions = {name: function for rule in made.plans for name, function in functions_of(rule.query).items()}
    bucket = StreamedBucket(RuleStream(StreamedRules(rules, made.timings), functions=functions))
    every = [*stream.events, *stream.more]
    table = parts_table(made, rules, every)
    calls, kept = [], []
    for batch, now in stream.batches:
        rows = table.filter(pc.is_in(table[NUMBER], pa.array(batch, pa.int64())))
        found = bucket.call(rows.combine_chunks().to_batches(), now)
        calls.append(emitted(made, rules, [row for one in found for row in one.to_pylist()], every))
        kept.append(bucket.memory.rows)
    return StreamedSet(stream, calls, kept, bucket.memory)


def parts_table(made: RuleSetPlan, rules: RuleSet, events: Sequence[ReferenceEvent]) -> pa.Table:
    """The rows that Spark brings: those of each part, with the columns of all."""
    tables = []
    for number, part in enumerate(made.parts):
        keys = tuple(key.name for key in part.keys)
        program = replace(rules.events, keys=keys, everything=part.everything)
        own = replace(made, events=part.events, keys=part.keys)
        streams = [stream.name for stream in part.events.streams]
        table = set_table(own, replace(rules, events=program), events)
        numbers = [n for n, one in enumerate(events) if one.stream in streams or not one.type]
        table = table.filter(pc.is_in(table[NUMBER], pa.array(numbers, pa.int64())))
        foreign = {key.name for other in made.parts if other is not part for key in other.keys}
        table = table.drop_columns([name for name in table.column_names if name in foreign])
        table = table.append_column(PART, pa.array([number] * table.num_rows, pa.int32()))
        tables.append(_retyped(table, lambda column: column.null_count == len(column), pa.null()))
    # The types of columns without a value are those of other parts, if one has any.
    whole = pa.concat_tables(tables, promote_options="default").combine_chunks()
    return _retyped(whole, lambda column: pa.types.is_null(column.type), pa.int64())


def _retyped(table: pa.Table, chosen: Callable[[pa.ChunkedArray], bool], type: pa.DataType) -> pa.Table:
    """The table, with another type of the columns that are chosen: they have no values."""
    columns = {
        name: pa.nulls(table.num_rows, type) if chosen(table[name]) else table[name]
        for name in table.column_names
    }
    return pa.table(columns)


def emitted(
    made: RuleSetPlan, rules: RuleSet, rows: Sequence[dict[str, object]], events: Sequence[ReferenceEvent]
) -> Emitted:
    """The rows of a call as matches of each rule."""
    found: Emitted = {rule.name: [] for rule in made.plans}
    for number, binding in _bindings(made, rules, rows, events):
        found[rules.rules[number].name].append(binding)
    return {rule.name: complete(rule.planned, found[rule.name]) for rule in made.plans}


def _bindings(
    made: RuleSetPlan, rules: RuleSet, rows: Sequence[dict[str, object]], events: Sequence[ReferenceEvent]
) -> Iterator[tuple[int, Binding]]:
    for row in rows:
        number = row["rule"]
        assert isinstance(number, int)
        rule = rules.rules[number]
        shape = row[f"shape_{rules.shapes[rule.program] + 1}"]
        assert isinstance(shape, dict)
        own = made.plans[number].planned.program.outputs
        outputs = zip(own, rules.programs[rule.program].outputs, strict=True)
        yield (
            number,
            {
                str(one.variable): bound(numbered_output(one, named.name), shape[named.name], events)
                for one, named in outputs
            },
        )
