"""A pattern matcher of the event algebra as relations: events and their symbols, their order, the matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from neelc.algebra.plan.extended_filter import Definition, ExtendedFilter, Pivot
from neelc.algebra.plan.sequential import MOST_SYMBOLS, SequentialPlan, without_spans
from neelc.algebra.rules.rule import Place, place_of
from neelc.engines.spark.correlations import EventRelation, RelationBuilder, named
from neelc.engines.spark.relations import Extend, Items, Join, Kernel, SelectColumns, Sorted, Where
from neelc.ir.algebra import PatternMatcher, instant
from neelc.ir.expressions import AtRow, Attribute, Expr
from neelc.ir.names import bare
from neelc.ir.types import BIGINT, DATE, DOUBLE, LENGTHS
from neelc.pattern.plan.columns import NUMBER, EventColumn
from neelc.runtime.kernels.sequential.program import (
    BITS,
    MEMBER,
    TIME,
    GroupMember,
    SequentialGroup,
    SequentialProgram,
    SymbolOutput,
)
from neelc.runtime.late_dataclass import dataclass
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

    def events(self, emitting: RelationBuilder, source: str, moment: str = MOMENT) -> str:
        """The relation of the events, each in its chunk and, if it is close enough to it, in the next. The
        time of an event is the column `moment`."""
        first = floor_divided(moment, self.width)
        last = floor_divided(f"({moment} + {self.reach}L)", self.width)
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
    """How time is cut; None if there are partitions, if the length of a match has no limit, or if PREV looks
    at events that may be long ago, or if which matches are kept depends on those before."""
    if program.keys or program.reach is None or program.back or program.skip:
        return None
    return Chunks(WINDOWS * max(1, program.reach), program.reach)


def emit_pattern_matcher(
    emitting: RelationBuilder, operator: PatternMatcher, plan: SequentialPlan, below: EventRelation
) -> EventRelation:
    """The matches among events, each valid for the instant of its last event."""
    writer = EventWriter(plan.columns, plan.program.keys, below)
    events = emitting.let(
        "judged",
        SelectColumns(below.relation, (*writer.items(), (writer.bits(plan.bits), BITS))),
        "Which symbols each event emits, as bits.",
    )
    program, chunks = plan.program, chunks_of(plan.program)
    if chunks is not None:
        events, program = chunks.events(emitting, events), chunks.program(program)
    why = "PREV looks at events of any time" if program.back > 0 else "no window of time"
    why = "which match is kept depends on those before" if program.skip else why
    ordered = ordered_events(emitting, events, program.keys, why)
    plan = replace(plan, program=program)
    kernel = Kernel(ordered, program, _schema(plan), emitting.most_matches)
    matches = emitting.let("matches", kernel, f"Matches of {operator.clause.pattern}")
    if chunks is not None:
        matches = chunks.matches(emitting, matches)
    return _emit_measures(emitting, operator, plan, matches)


def ordered_events(emitting: RelationBuilder, events: str, keys: Sequence[str], why: str) -> str:
    """The events in the order that kernels read them in; `why` says why all are on one core, if they are."""
    names = tuple(map(identifier, keys))
    return emitting.let("ordered", Sorted(events, names, (*names, MOMENT)), _order(keys, why))


def _emit_measures(
    emitting: RelationBuilder, operator: PatternMatcher, plan: SequentialPlan, matches: str
) -> EventRelation:
    """What a matcher gives, computed of the outputs of its program."""
    names, lasting = named(operator.payload), lasting_of(operator, emitting.unit)
    measures = [(text, names[place]) for place, text in _measures(operator, plan.outputs).items()]
    times = ((MOMENT, "start"), (f"{MOMENT} + {lasting}L", "end"))
    result = emitting.let("matched", SelectColumns(matches, (*measures, *times)), "MEASURES")
    return EventRelation(result, names, lasting)


def lasting_of(operator: PatternMatcher, unit: str) -> int:
    """How long a match is valid: an instant."""
    return instant(operator.clock) // LENGTHS[unit]


def _measures(operator: PatternMatcher, outputs: Mapping[AtRow, str]) -> dict[Place, str]:
    """The measures of a match as text, whose values are in the columns `outputs`."""

    def taken(node: Expr) -> str | None:
        if not isinstance(node, AtRow):
            return None
        known = without_spans(node)
        assert isinstance(known, AtRow)
        return outputs[known]

    return {
        place_of(attribute): sql(measure.expression, taken)
        for measure, attribute in zip(operator.clause.measures, operator.payload, strict=True)
    }


def _order(keys: Sequence[str], why: str) -> str:
    """What is sorted, and why it is not on all cores."""
    if tuple(keys) == (CHUNK,):
        return "The events of each chunk together, in order."
    if keys:
        return "The events of each partition together, in order."
    return f"No partitions, and {why}: all events, in order, on one core."


def _types(plan: SequentialPlan) -> dict[str, str]:
    """The types of the columns of events."""
    return {CHUNK: "BIGINT"} | {
        column.name: spark_type(BIGINT if column.form == NUMBER else column.type) for column in plan.columns
    }


def _schema(plan: SequentialPlan) -> str:
    types = _types(plan)
    fields = [f"{one.name} {types[one.column]}" for one in plan.program.outputs]
    return ", ".join((*fields, f"{MOMENT} BIGINT"))


@dataclass(frozen=True)
class EventWriter:
    """Writes the `columns` of events, whose attributes are those of a relation, and which symbols they
    emit."""

    columns: tuple[EventColumn, ...]
    keys: tuple[str, ...]
    below: EventRelation

    def items(self) -> Iterator[tuple[str, str]]:
        for column in self.columns:
            yield self._value(column), column.name
        yield "start", TIME

    def _value(self, column: EventColumn) -> str:
        text = sql(column.expression, self._attribute)
        if column.name in self.keys and column.type == DOUBLE:
            # Zero has two forms and NaN has many; as keys they are one.
            return f"nanvl({text} + 0.0D, double('NaN'))"
        if column.form == NUMBER:
            unit = "DAY" if column.type == DATE else "MICROSECOND"
            return as_number(text, column.type, unit, unit)
        return text

    def _attribute(self, node: Expr) -> str | None:
        if not isinstance(node, Attribute):
            return None
        own = {name: column for (_, name), column in self.below.columns.items()}
        return identifier(own[bare(node.name)])

    def bits(self, definitions: Sequence[Definition]) -> str:
        """A number with the bit of each definition that an event meets."""
        texts = []
        for number, definition in enumerate(definitions):
            bit = f"{2**number}L"
            texts.append(f"IF({self.condition(definition)}, {bit}, 0L)" if definition else bit)
        return " + ".join(texts) or "0L"

    def condition(self, definition: Definition) -> str:
        tests = [sql(one, self._attribute) for one in definition]
        return tests[0] if len(tests) == 1 else " AND ".join(f"({one})" for one in tests)


# The extended filter in front of pattern matchers (JEPC thesis, 19.2.4).
#
# By time: an event can be in a match only if an event that emits the pivot, a symbol of every match, is
# within the window of it. Time is cut into buckets of one window; events stay that stand in a bucket with a
# pivot, or next to one. Whatever lies between the first and the last event of a match stays, so no two events
# become neighbours in it that were none, and no event is needed to reset the matcher as in the thesis.
#
# By place: if at most so many instants of a match come before the pivot, and so many behind it, these stay.
# What matchers find among the events that stay has a pivot, and all its instants are at most as far from it;
# since all these stay, they are neighbours there only if they were before.
#
# Several matchers over the same events have one filter, if they have a symbol of the same definition: it is
# as wide as the widest of them. Their events are judged together, so that Spark shuffles them once: it would
# cut down the columns of a shuffle for each reader, but a kernel reads all that there are.

PIVOT, PLACE, NEAR = "is pivot", "place of instant", "near pivot"
"""Columns of the filter by place."""


def emit_extended_filter(
    emitting: RelationBuilder, planned: ExtendedFilter, stage: EventRelation
) -> EventRelation:
    """The events within a window of one that emits the pivot."""
    own = {name: column for (_, name), column in stage.columns.items()}
    keys = [identifier(own[name]) for name in planned.matchers[0].clause.partition]
    pivots = _pivots(emitting, planned, stage, keys)
    bucket = floor_divided("e.start", planned.reach)
    same = [f"e.{key} <=> p.key_{number}" for number, key in enumerate(keys)]
    name = emitting.let(
        "candidates",
        Join(
            (stage.relation, "e"), (pivots, "p"), " AND ".join([*same, f"{bucket} = p.bucket"]), "LEFT SEMI"
        ),
        f"{_label(planned)}: events that are near one that emits {planned.pivot.symbol}.",
    )
    return EventRelation(name, stage.columns, stage.length)


def _label(planned: ExtendedFilter) -> str:
    count = len(planned.matchers)
    return f"The extended filter{f' for {count} matchers' if count > 1 else ''}"


def _pivots(
    emitting: RelationBuilder, planned: ExtendedFilter, stage: EventRelation, keys: Sequence[str]
) -> str:
    pivot = planned.pivot
    where = EventWriter((), (), stage).condition(pivot.definition)
    bucket = floor_divided("start", planned.reach)
    items: Items = (
        *((key, f"key_{number}") for number, key in enumerate(keys)),
        (f"explode(sequence({bucket} - 1L, {bucket} + 1L))", "bucket"),
    )
    return emitting.let("pivots", SelectColumns(stage.relation, items, where, distinct=True), _emitted(pivot))


def _emitted(pivot: Pivot) -> str:
    return f"Where {pivot.symbol} is emitted: in every match, and by {pivot.share:.2g} of the events."


@dataclass(frozen=True)
class SharedMatches:
    """The relation with the matches of several matchers, and what there is of each."""

    relation: str
    members: Mapping[PatternMatcher, tuple[SequentialPlan, GroupMember]]

    def measures(self, operator: PatternMatcher) -> dict[Place, str]:
        """What one of the matchers gives, as text over the columns of the relation."""
        plan, member = self.members[operator]
        slots = {name: slot for slot, name in member.outputs}
        return _measures(operator, {node: slots[name] for node, name in plan.outputs.items()})


def emit_shared_matches(
    emitting: RelationBuilder, planned: ExtendedFilter, stage: EventRelation
) -> SharedMatches:
    """The matches of several matchers: events are judged for all of them, those that are not near a pivot are
    left out, and one kernel finds what each matches among the others."""
    plans = [planned.judged.renamed(plan) for plan in planned.plans]
    keys = plans[0].program.keys
    chunks = chunks_of(replace(plans[0].program, reach=planned.reach))
    if planned.is_by_time:
        below, cut = emit_extended_filter(emitting, planned, stage), False
    else:
        below, cut = _near_by_place(emitting, planned, keys, chunks, stage), chunks is not None
    writer = EventWriter(planned.judged.columns, keys, below)
    words = [(writer.bits(several), _word(number)) for number, several in enumerate(_words(planned))]
    items = (*writer.items(), *words, *(((CHUNK, CHUNK),) if cut else ()))
    comment = f"Which symbols of {len(plans)} matchers each event emits, as bits."
    events = emitting.let("judged", SelectColumns(below.relation, items), comment)
    if chunks is not None:
        events = events if cut else chunks.events(emitting, events)
        keys = (CHUNK,)
    group, schema = _group(planned, plans, chunks)
    ordered = ordered_events(emitting, events, keys, "no window of time")
    kernel = Kernel(ordered, group, schema, emitting.most_matches)
    found = emitting.let("matches", kernel, f"Matches of {len(plans)} matchers, in one pass.")
    if chunks is not None:
        found = chunks.matches(emitting, found)
    members = [
        GroupMember(number, tuple(zip(_names(one), _names(plan.program), strict=True)))
        for number, (one, plan) in enumerate(zip(group.programs, plans, strict=True))
    ]
    of_each = zip(plans, members, strict=True)
    return SharedMatches(found, dict(zip(planned.matchers, of_each, strict=True)))


def emit_apart(emitting: RelationBuilder, shared: SharedMatches) -> SharedMatches:
    """The same matches, for readers of one matcher each."""
    # A shuffle that Spark reuses: without it, the kernel would run once for each matcher.
    by_member = Sorted(shared.relation, (MEMBER,), ())
    return replace(shared, relation=emitting.let("of_matchers", by_member, "Those of each matcher together."))


def _names(program: SequentialProgram) -> list[str]:
    """The outputs of a matcher: not the chunk, which is that of the kernel."""
    return [one.name for one in program.outputs if one.name != FOUND]


def _group(
    planned: ExtendedFilter, plans: Sequence[SequentialPlan], chunks: Chunks | None
) -> tuple[SequentialGroup, str]:
    """The program for all matchers, and the columns of what it finds: outputs of one type are in one column,
    as far as no matcher has several."""
    slots: dict[tuple[str, int], tuple[str, str]] = {}
    programs = []
    for plan in plans:
        types, outputs, used = _types(plan), [], Counter[str]()
        for one in plan.program.outputs:
            type = types[one.column]
            slot, _ = slots.setdefault((type, used[type]), (f"slot_{len(slots) + 1}", one.column))
            used[type] += 1
            outputs.append(replace(one, name=slot))
        places = tuple(_place(planned, one) for one in plan.bits)
        program = replace(plan.program, outputs=tuple(outputs), places=places)
        programs.append(program if chunks is None else chunks.program(program))
    fields = [f"{slot} {type}" for (type, _), (slot, _) in slots.items()]
    columns = [*slots.values()]
    if chunks is not None:
        fields.append(f"{FOUND} BIGINT")
        columns.append((FOUND, CHUNK))
    schema = ", ".join((f"{MEMBER} INT", *fields, f"{MOMENT} BIGINT"))
    return SequentialGroup(tuple(programs), tuple(columns), f"{len(plans)} matchers"), schema


def emit_sharing_matcher(
    emitting: RelationBuilder, operator: PatternMatcher, shared: SharedMatches
) -> EventRelation:
    """The matches of one of several matchers that share events."""
    plan, member = shared.members[operator]
    comment = f"Matches of {operator.clause.pattern}"
    matches = emitting.let("matches", Kernel(shared.relation, member, _schema(plan)), comment)
    return _emit_measures(emitting, operator, plan, matches)


def _words(planned: ExtendedFilter) -> Iterator[tuple[Definition, ...]]:
    """The definitions, as many together as a number has bits for."""
    definitions = planned.judged.definitions
    for first in range(0, len(definitions), MOST_SYMBOLS):
        yield definitions[first : first + MOST_SYMBOLS]


def _word(number: int) -> str:
    return f"{BITS} {number + 1}"


def _place(planned: ExtendedFilter, definition: Definition) -> tuple[str, int]:
    """Where the bit of a definition is."""
    word, number = divmod(planned.judged.definitions.index(definition), MOST_SYMBOLS)
    return _word(word), number


def _near_by_place(
    emitting: RelationBuilder,
    planned: ExtendedFilter,
    keys: tuple[str, ...],
    chunks: Chunks | None,
    stage: EventRelation,
) -> EventRelation:
    """The events that are so many instants away from one that emits the pivot; in their chunks, if there
    are any. They are judged later: most of them go."""
    pivot, writer = planned.pivot, EventWriter(planned.judged.columns, keys, stage)
    values = {name: text for text, name in writer.items()}
    items: Items = (
        (f"IF({writer.condition(pivot.definition)}, 1L, 0L)", PIVOT),
        *((values[key], f"key {number}") for number, key in enumerate(keys)),
    )
    events = emitting.let("with_pivots", Extend(stage.relation, items), _emitted(pivot))
    by = [f"key {number}" for number, _ in enumerate(keys)]
    if chunks is not None:
        events, by = chunks.events(emitting, events, "start"), [CHUNK]
    partition = f"PARTITION BY {', '.join(map(identifier, by))} " if by else ""
    numbered = emitting.let(
        "numbered",
        Extend(events, ((f"dense_rank() OVER ({partition}ORDER BY start)", PLACE),)),
        "The instants of each partition, in order.",
    )
    frame = f"RANGE BETWEEN {pivot.after} PRECEDING AND {pivot.before} FOLLOWING"
    near = f"max({identifier(PIVOT)}) OVER ({partition}ORDER BY {identifier(PLACE)} {frame})"
    marked = emitting.let("marked", Extend(numbered, ((near, NEAR),)))
    comment = (
        f"{_label(planned)}: events at most {pivot.before} instants before one that emits {pivot.symbol}, "
        f"and {pivot.after} behind it."
    )
    name = emitting.let("candidates", Where(marked, f"{identifier(NEAR)} <> 0L"), comment)
    return EventRelation(name, stage.columns, stage.length)
