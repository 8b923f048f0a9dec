"""A pattern matcher of the event algebra as relations: events and their symbols, their order, the matches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from neelc.algebra.plan.aggregates import ExtendedFilter
from neelc.algebra.plan.sequential import SequentialPlan, without_spans
from neelc.algebra.rules.rule import place_of
from neelc.engines.spark.correlations import EventRelation, RelationBuilder, named
from neelc.engines.spark.relations import Extend, Items, Join, Kernel, SelectColumns, Sorted, Where
from neelc.ir.algebra import PatternMatcher, instant
from neelc.ir.expressions import AtRow, Attribute, Expr
from neelc.ir.names import bare
from neelc.ir.types import BIGINT, DATE, DOUBLE, LENGTHS
from neelc.pattern.plan.columns import NUMBER, EventColumn
from neelc.runtime.kernels.sequential.program import BITS, TIME, SequentialProgram, SymbolOutput
from neelc.scalar.spark.expressions import as_number, floor_divided, sql
from neelc.scalar.spark.trees import alias, identifier, spark_type

# Time in chunks, for pattern matchers without partitions: so that all cores find matches.
#
# A match lasts no longer than its window. Each chunk also has the events of one window before it: all that
# a match can have that ends in the chunk, and all that stands between. A match belongs to the chunk of its
# last event; found in the next one, too, it is dropped there.

WINDOWS = 8
"""How many windows make a chunk: an eighth of the events is read twice."""

CHUNK, FOUND = "chunk", "found_in"
"""The column of an event's chunk, and that of a match."""

MOMENT = alias(TIME)
"""The column of an event's time, as text."""


@dataclass(frozen=True)
class Chunks:
    """Chunks of this width, for matches of at most this reach."""

    width: int
    reach: int

    def events(self, emitting: RelationBuilder, source: str) -> str:
        """The relation of the events, each in its chunk and, if it is close enough to it, in the next."""
        first = floor_divided(MOMENT, self.width)
        last = floor_divided(f"({MOMENT} + {self.reach}L)", self.width)
        chunk = f"explode(sequence({first}, {last}))"
        comment = "No partitions: time is cut into chunks, each with the events of one window before it."
        return emitting.let("chunked", Extend(source, ((chunk, CHUNK),)), comment)

    def program(self, program: SequentialProgram) -> SequentialProgram:
        """The program that takes chunks for partitions, and returns the chunk of each match."""
        return replace(program, keys=(CHUNK,), outputs=(*program.outputs, SymbolOutput(FOUND, None, CHUNK)))

    def matches(self, emitting: RelationBuilder, source: str) -> str:
        own = f"{floor_divided(MOMENT, self.width)} = {FOUND}"
        return emitting.let("own", Where(source, own), "A match belongs to the chunk of its last event.")


def chunks_of(program: SequentialProgram) -> Chunks | None:
    """How time is cut; None if there are partitions, or if the length of a match has no limit."""
    if program.keys or program.reach is None:
        return None
    return Chunks(WINDOWS * max(1, program.reach), program.reach)


def emit_pattern_matcher(
    emitting: RelationBuilder, operator: PatternMatcher, plan: SequentialPlan, below: EventRelation
) -> EventRelation:
    """The matches among events, each valid for the instant of its last event."""
    writer = _Events(plan, {name: column for (_, name), column in below.columns.items()})
    events = emitting.let(
        "judged",
        SelectColumns(below.relation, tuple(writer.items())),
        "Which symbols each event emits, as bits.",
    )
    program, chunks = plan.program, chunks_of(plan.program)
    if chunks is not None:
        events, program = chunks.events(emitting, events), chunks.program(program)
    keys = tuple(map(identifier, program.keys))
    ordered = emitting.let("ordered", Sorted(events, keys, (*keys, MOMENT)), _order(program))
    kernel = Kernel(ordered, program, writer.schema(program), emitting.most_matches)
    matches = emitting.let("matches", kernel, f"Matches of {operator.clause.pattern}")
    if chunks is not None:
        matches = chunks.matches(emitting, matches)
    names = named(operator.payload)
    lasting = instant(operator.clock) // LENGTHS[emitting.unit]
    measures = [
        (sql(measure.expression, writer.taken), names[place_of(attribute)])
        for measure, attribute in zip(operator.clause.measures, operator.payload, strict=True)
    ]
    times = ((MOMENT, "start"), (f"{MOMENT} + {lasting}L", "end"))
    result = emitting.let("matched", SelectColumns(matches, (*measures, *times)), "MEASURES")
    return EventRelation(result, names, lasting)


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


# The extended filter in front of a pattern matcher (JEPC thesis, 19.2.4).
#
# An event can be in a match only if an event that emits the pivot, a symbol of every match, is within the
# window of it. Time is cut into buckets of one window; events stay that stand in a bucket with a pivot, or
# next to one. Whatever lies between the first and the last event of a match stays, so no two events become
# neighbours in it that were none, and no event is needed to reset the matcher as in the thesis.
#
# Several matchers over the same events have one filter, if they have a symbol of the same definition: its
# buckets are as wide as the widest of their windows, so what is true of one window is true of all of them.


def emit_extended_filter(
    emitting: RelationBuilder, planned: ExtendedFilter, stage: EventRelation
) -> EventRelation:
    """The events that can be in a match of one of the matchers, which all read the events of `stage`."""
    pivot, operator, count = planned.pivot, planned.matchers[0], len(planned.matchers)
    own = {name: column for (_, name), column in stage.columns.items()}
    keys = [identifier(own[name]) for name in operator.clause.partition]
    pivots = _pivots(emitting, planned, stage, keys, own)
    bucket = floor_divided("e.start", planned.reach)
    same = [f"e.{key} <=> p.key_{number}" for number, key in enumerate(keys)]
    name = emitting.let(
        "candidates",
        Join(
            (stage.relation, "e"), (pivots, "p"), " AND ".join([*same, f"{bucket} = p.bucket"]), "LEFT SEMI"
        ),
        f"The extended filter{f' for {count} matchers' if count > 1 else ''}: events that are near one that "
        f"emits {pivot.symbol}.",
    )
    return EventRelation(name, stage.columns, stage.length)


def _pivots(
    emitting: RelationBuilder,
    planned: ExtendedFilter,
    stage: EventRelation,
    keys: Sequence[str],
    own: dict[str, str],
) -> str:
    pivot = planned.pivot

    def refs(node: Expr) -> str | None:
        return identifier(own[bare(node.name)]) if isinstance(node, Attribute) else None

    tests = [sql(one, refs) for one in pivot.conditions]
    where = tests[0] if len(tests) == 1 else " AND ".join(f"({one})" for one in tests)
    bucket = floor_divided("start", planned.reach)
    items: Items = (
        *((key, f"key_{number}") for number, key in enumerate(keys)),
        (f"explode(sequence({bucket} - 1L, {bucket} + 1L))", "bucket"),
    )
    comment = f"Where {pivot.symbol} is emitted: in every match, and by {pivot.share:.2g} of the events."
    return emitting.let("pivots", SelectColumns(stage.relation, items, where, distinct=True), comment)
