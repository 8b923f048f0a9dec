"""A pattern matcher of the event algebra as relations: events and their symbols, their order, the matches."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.emit.algebra_stage import Emitting, Stage, key_of, named
from neelc.emit.expressions import sql
from neelc.emit.literals import identifier, spark_type
from neelc.emit.relations import Kernel, Select, Sorted
from neelc.emit.sequential_chunks import CHUNK, MOMENT, chunks_of
from neelc.emit.times import as_number
from neelc.ir.algebra import PatternMatcher, instant
from neelc.ir.expr import AtRow, Attribute, Expr
from neelc.ir.names import bare
from neelc.ir.types import BIGINT, DATE, DOUBLE
from neelc.ir.units import LENGTHS
from neelc.plan.event_columns import NUMBER, EventColumn
from neelc.plan.sequential_plan import SequentialPlan, sequential_plan, without_spans
from neelc.runtime.sequential.program import BITS, TIME, SequentialProgram


def emit_pattern_matcher(emitting: Emitting, operator: PatternMatcher, below: Stage) -> Stage:
    """The matches among events, each valid for the instant of its last event."""
    plan = sequential_plan(operator.clause, emitting.unit)
    writer = _Events(plan, {name: column for (_, name), column in below.columns.items()})
    judged = emitting.let(
        "judged", Select(below.relation, tuple(writer.items())), "Which symbols each event emits, as bits."
    )
    program, chunks = plan.program, chunks_of(plan.program)
    if chunks is not None:
        judged, program = chunks.events(emitting, judged), chunks.program(program)
    keys = tuple(map(identifier, program.keys))
    ordered = emitting.let("ordered", Sorted(judged, keys, (*keys, MOMENT)), _order(program))
    kernel = Kernel(ordered, program, writer.schema(program), emitting.most_matches)
    matches = emitting.let("matches", kernel, f"Matches of {operator.clause.pattern}")
    if chunks is not None:
        matches = chunks.matches(emitting, matches)
    names = named(operator.payload)
    lasting = instant(operator.clock) // LENGTHS[emitting.unit]
    measures = [
        (sql(measure.expression, writer.taken), names[key_of(attribute)])
        for measure, attribute in zip(operator.clause.measures, operator.payload, strict=True)
    ]
    times = ((MOMENT, "start"), (f"{MOMENT} + {lasting}L", "end"))
    result = emitting.let("matched", Select(matches, (*measures, *times)), "MEASURES")
    return Stage(result, names, lasting)


def _order(program: SequentialProgram) -> str:
    if program.keys == (CHUNK,):
        return "The events of each chunk together, in order."
    if program.keys:
        return "The events of each partition together, in order."
    return "No partitions, and no window of time: all events, in order, on one core."


class _Events:
    """Writes the columns of events, whose attributes are in the columns `own` of a relation."""

    def __init__(self, plan: SequentialPlan, own: dict[str, str]) -> None:
        self.plan, self.own = plan, own

    def items(self) -> Iterator[tuple[str, str]]:
        for column in self.plan.columns:
            yield self._value(column), column.name
        yield "start", TIME
        yield self._bits(), BITS

    def _value(self, column: EventColumn) -> str:
        text = sql(column.expression, self._attribute)
        if column.name in self.plan.program.keys and column.type == DOUBLE:
            # Zero has two forms and NaN has many; as keys they are one.
            return f"nanvl({text} + 0.0D, double('NaN'))"
        if column.form == NUMBER:
            unit = "DAY" if column.type == DATE else "MICROSECOND"
            return as_number(text, column.type, unit, unit)
        return text

    def _attribute(self, node: Expr) -> str | None:
        return identifier(self.own[bare(node.name)]) if isinstance(node, Attribute) else None

    def _bits(self) -> str:
        texts = []
        for number, conjuncts in enumerate(self.plan.bits):
            bit = f"{2**number}L"
            tests = [sql(one, self._attribute) for one in conjuncts]
            joined = tests[0] if len(tests) == 1 else " AND ".join(f"({one})" for one in tests)
            texts.append(f"IF({joined}, {bit}, 0L)" if tests else bit)
        return " + ".join(texts) or "0L"

    def schema(self, program: SequentialProgram) -> str:
        types = {CHUNK: "BIGINT"} | {
            column.name: spark_type(BIGINT if column.form == NUMBER else column.type)
            for column in self.plan.columns
        }
        fields = [f"{one.name} {types[one.column]}" for one in program.outputs]
        return ", ".join((*fields, f"{MOMENT} BIGINT"))

    def taken(self, node: Expr) -> str | None:
        """The output of the program for a value of a match."""
        if not isinstance(node, AtRow):
            return None
        known = without_spans(node)
        assert isinstance(known, AtRow)
        return self.plan.outputs[known]
