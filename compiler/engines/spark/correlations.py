"""Correlators as joins: of events that are valid at the same time, without a cross product.

Time is cut into buckets, an event stands in all buckets in which it is valid, and two events meet in the one
bucket in which the later of them begins. What they have in common is when the pair is valid. Where it is
known how long events are valid, a bucket is that long, so an event stands in two at most. Where it is not, a
bucket is four times as long as events are valid on average, which the plan itself finds out: so at most a
quarter more rows than events are joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from neelc.algebra.rules.rule import place_of
from neelc.engines.spark.grids import (
    CELLS,
    CORNERS,
    GRID_COLUMNS,
    SHAPE,
    NearCondition,
    Side,
    in_cells,
    in_one_cell,
    near_condition,
    texts_of,
)
from neelc.engines.spark.relations import (
    AggregateRows,
    Extend,
    Items,
    Join,
    Let,
    Relation,
    SelectColumns,
    Union,
    Where,
)
from neelc.engines.spark.scans import StreamRelations, free, number_of
from neelc.ir import algebra as a
from neelc.ir.algebra import Correlator, StreamSource, instant
from neelc.ir.algebra import RelationSource as CatalogRelation
from neelc.ir.expressions import Attribute, Expr, Variable, conjuncts, names_in
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.program import Clock, Stream
from neelc.ir.types import LENGTHS
from neelc.pattern.plan.columns import PLAIN_NAME, width_of
from neelc.runtime.kernels.snapshots import program as kernel
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.spark.expressions import as_number, floor_divided, sql, with_room
from neelc.scalar.spark.trees import identifier

# What operators of the event algebra are written with: relations of events, and the names of their columns.
#
# Every relation has the columns of the payload and, unless it is valid forever, `start` and `end`: whole
# numbers of one unit. An event is valid from its start to before its end; `FOREVER` is the end of what has
# none.

FOREVER = f"{kernel.FOREVER}L"

OWN = ("start", "end", "chunk", "bucket", "width", "last", "place", "passed", "latest", "next", *GRID_COLUMNS)
"""Names of columns that no payload may have."""

Key = tuple[str, str]
"""A variable and a bare name of a column."""


@dataclass(frozen=True)
class EventRelation:
    """A relation of events. `length` is the most that one can be valid, None if nobody knows; a `timeless`
    one has no times: it is valid forever."""

    relation: str
    columns: Mapping[Key, str]
    length: int | None = None
    timeless: bool = False
    more: Items = ()
    """Columns that are no part of the payload."""

    def items(self, of: str = "") -> Items:
        """The columns of the payload, of a relation with a name or of the only one."""
        return tuple((identifier(name, of), name) for name in self.columns.values())

    def reference(self, node: Expr, of: str = "") -> str | None:
        """The column of an attribute; None for what is none."""
        match node:
            case Attribute(Variable(), _):
                return identifier(self.columns[place_of(node)], of)
        return None

    def sql(self, expression: Expr) -> str:
        return sql(expression, self.reference)


@dataclass
class RelationBuilder:
    """The relations of one query, in the making. `unit` is what times are counted in, by its `clock`."""

    unit: str
    clock: Clock
    sources: StreamRelations
    taken: set[str]
    lets: list[Let] = field(default_factory=list)
    most_matches: int | None = None

    def let(self, wish: str, relation: Relation, comment: str = "") -> str:
        name = free(wish, self.taken)
        self.lets.append(Let(name, relation, comment))
        return name


def used(payload: Iterable[Attribute], needed: Iterable[Expr]) -> tuple[Attribute, ...]:
    """Of a payload, the attributes that the expressions name."""
    named = {place_of(node) for one in needed for node in walk(one) if isinstance(node, Attribute)}
    return tuple(one for one in payload if place_of(one) in named)


def named(attributes: Iterable[Attribute]) -> dict[Key, str]:
    """Columns for attributes: named like them if that is a plain word, with the variable where two have one
    name.

    >>> from neelc.ir.types import INT
    >>> names = (("a", "x"), ("b", "X"), ("b", "end"), ("b", "`unit price`"))
    >>> list(named(Attribute(Variable(variable), name, INT) for variable, name in names).values())
    ['a_x', 'b_X', 'end_2', 'value']
    """
    keys = [place_of(one) for one in attributes]
    columns = [name.lower() for _, name in keys]
    taken = set(OWN)
    chosen: dict[Key, str] = {}
    for variable, name in keys:
        wish = name if columns.count(name.lower()) == 1 else f"{bare(variable)}_{name}"
        wish = wish if PLAIN_NAME.match(wish) else "value"
        number, column = 1, wish
        while column.lower() in taken:
            number += 1
            column = f"{wish}_{number}"
        taken.add(column.lower())
        chosen[variable, name] = column
    return chosen


BUCKET = 4
GRIDDED: Items = tuple((name, name) for name in (SHAPE, *CORNERS, *CELLS))


def emit_correlator(
    emitting: RelationBuilder, correlator: Correlator, stages: Sequence[EventRelation], places: Sequence[int]
) -> EventRelation:
    """The inputs, joined in the order of `places`."""
    waiting = list(conjuncts(correlator.condition))
    lengths = [one.length for one in stages if not one.timeless]
    timed = [one for one in stages if not one.timeless]
    extent = None
    if len(timed) > 1 and None in lengths:
        extent = _extent(emitting, timed)
    width = max((length or 1 for length in lengths), default=1)
    joined = stages[places[0]]
    for place in places[1:]:
        ready, waiting = _ready(waiting, joined, stages[place])
        joined = _join(emitting, joined, stages[place], ready, width, extent)
    order = {key: joined.columns[key] for stage in stages for key in stage.columns}
    return EventRelation(joined.relation, order, joined.length, joined.timeless)


def _ready(waiting: Sequence[Expr], *stages: EventRelation) -> tuple[list[Expr], list[Expr]]:
    """The conditions that name nothing but these, and the others."""
    known = {variable for stage in stages for variable, _ in stage.columns}
    ready = [one for one in waiting if names_in(one) <= known]
    return ready, [one for one in waiting if one not in ready]


def _join(
    emitting: RelationBuilder,
    left: EventRelation,
    right: EventRelation,
    ready: Sequence[Expr],
    width: int,
    extent: str | None,
) -> EventRelation:
    if left.timeless:
        left, right = right, left
    columns = _columns(left, right)

    def refs(node: Expr) -> str | None:
        return left.reference(node, "l") if _is_of(node, left) else right.reference(node, "r")

    near = near_condition(ready, _variables(left), _variables(right))

    def read(node: Expr) -> str | None:
        """The geometries that are compared have been read once, before there are pairs."""
        if near is not None and node in (near.left, near.right):
            return f"{'l' if node == near.left else 'r'}.{SHAPE}"
        return refs(node)

    on = [f"({sql(one, read if near and one is near.condition else refs)})" for one in ready]
    items: list[tuple[str, str]] = [
        (text, columns[key])
        for stage, of in ((left, "l"), (right, "r"))
        for key, (text, _) in zip(stage.columns, stage.items(of), strict=True)
    ]
    if near is not None:
        on = [*in_one_cell(), *on]
    conditions = " AND ".join(map(str, ready))
    comment = f"Correlated where {conditions}." if conditions else "Correlated: all pairs of one time."
    if near is not None:
        comment += " Only geometries in one cell of a grid are compared."
        left, right = _in_cells(emitting, left, right, near)
    if right.timeless:
        times = [] if left.timeless else [("l.start", "start"), ("l.`end`", "end")]
        relation = Join(
            (left.relation, "l"), (right.relation, "r"), " AND ".join(on) or "TRUE", items=(*items, *times)
        )
        return EventRelation(
            emitting.let("correlated", relation, comment), columns, left.length, left.timeless
        )
    begin, end = "greatest(l.start, r.start)", "least(l.`end`, r.`end`)"
    names = [_in_buckets(emitting, one, width, extent) for one in (left, right)]
    size = "l.width" if extent is not None else f"{width}L"
    bucket = _floor(begin, size)
    on = ["l.bucket = r.bucket", f"{begin} < {end}", f"{bucket} = l.bucket", *on]
    known = [one.length for one in (left, right) if one.length is not None]
    relation = Join(
        (names[0], "l"),
        (names[1], "r"),
        " AND ".join(on),
        items=(*items, (begin, "start"), (end, "end")),
    )
    return EventRelation(emitting.let("correlated", relation, comment), columns, min(known, default=None))


def _variables(stage: EventRelation) -> frozenset[str]:
    return frozenset(variable for variable, _ in stage.columns)


def _in_cells(
    emitting: RelationBuilder, left: EventRelation, right: EventRelation, near: NearCondition
) -> tuple[EventRelation, EventRelation]:
    """Both sides with their geometries in the cells of a grid."""
    sides: list[Side] = []
    for stage, is_left in ((left, True), (right, False)):
        times: Items = () if stage.timeless else (("start", "start"), ("`end`", "end"))
        sides.append((stage.relation, texts_of(near, is_left, stage.sql), (*stage.items(), *times)))
    names = in_cells(emitting.let, sides, near.of_empty)
    found = [
        EventRelation(name, stage.columns, stage.length, stage.timeless, GRIDDED)
        for name, stage in zip(names, (left, right), strict=True)
    ]
    return found[0], found[1]


def _columns(left: EventRelation, right: EventRelation) -> dict[tuple[str, str], str]:
    """Columns for both sides: those of the right have other names where they would clash."""
    columns = dict(left.columns)
    taken = {name.lower() for name in left.columns.values()}
    for key, name in right.columns.items():
        wish, number = name, 1
        while wish.lower() in taken:
            number += 1
            wish = f"{name}_{number}"
        taken.add(wish.lower())
        columns[key] = wish
    return columns


def _is_of(node: Expr, stage: EventRelation) -> bool:
    return isinstance(node, Attribute) and place_of(node) in stage.columns


def _floor(text: str, width: str) -> str:
    return f"({text} - pmod({text}, {width})) DIV {width}"


def _in_buckets(emitting: RelationBuilder, stage: EventRelation, width: int, extent: str | None) -> str:
    """The events of a stage in all buckets in which they are valid."""
    if extent is None:
        first, last = floor_divided("start", width), floor_divided("(`end` - 1L)", width)
        buckets = f"explode(sequence({first}, {last}))" if (stage.length or 2) > 1 else first
        comment = "Events in the buckets of time in which they are valid."
        return emitting.let("in_buckets", Extend(stage.relation, ((buckets, "bucket"),)), comment)
    times: Items = (("e.start", "start"), ("e.`end`", "end"), ("x.width", "width"), ("x.last", "last"))
    more: Items = tuple((f"e.{name}", name) for _, name in stage.more)
    sized = emitting.let(
        "sized",
        Join((stage.relation, "e"), (extent, "x"), "TRUE", items=(*stage.items("e"), *more, *times)),
        "One row holds the width of a bucket.",
    )
    # Nothing begins after the last start, so no pair is found in a later bucket.
    end = "greatest(start, least(`end` - 1L, last))"
    buckets = f"explode(sequence({_floor('start', 'width')}, {_floor(end, 'width')}))"
    comment = "Events in the buckets of time in which they are valid."
    return emitting.let("in_buckets", Extend(sized, ((buckets, "bucket"),)), comment)


def _extent(emitting: RelationBuilder, stages: Sequence[EventRelation]) -> str:
    """One row: how long a bucket is, and when the last event begins."""
    times: Items = (("start", "start"), ("`end`", "end"))
    parts = [emitting.let("times", SelectColumns(one.relation, times)) for one in stages]
    source = emitting.let("times", Union(tuple(parts)), "How long events are valid, on average.")
    open_ = f"`end` = {FOREVER}"
    sums = emitting.let(
        "lasting",
        AggregateRows(
            source,
            (),
            (
                ("max(start)", "last"),
                ("count(*)", "place"),
                (f"sum(IF({open_}, 0D, double(`end`) - double(start)))", "passed"),
                (f"sum(IF({open_}, double(start), 0D))", "start"),
                (f"sum(IF({open_}, 1D, 0D))", "next"),
            ),
        ),
    )
    # What has no end counts as if it ended when the last event begins.
    total = "passed + next * double(last) - start"
    items: Items = (
        ("last", "last"),
        (f"greatest(1L, CAST({BUCKET}D * ({total}) / greatest(place, 1L) AS BIGINT))", "width"),
    )
    return emitting.let("buckets", SelectColumns(sums, items), "A bucket is four times as long.")


# Windows: how long events stay valid, by time or by the number of events that came after them.

ONE_SEQUENCE = ", whoever they are: all are one sequence, on one core, as there is no PARTITION BY"


def emit_time_window(emitting: RelationBuilder, window: a.TimeWindow, stage: EventRelation) -> EventRelation:
    """An event is valid until its last instant has left the window; with a jump, both ends are moved up to
    its multiples."""
    size, _ = width_of(window.size, emitting.unit)
    instant = a.instant(window.clock) // LENGTHS[emitting.unit]
    start, end = "start", f"`end` + {size - instant}L"
    length = None if stage.length is None else stage.length + size - instant
    comment = f"Each event is valid for {window.size}."
    if window.jump is not None:
        jump, _ = width_of(window.jump, emitting.unit)
        start, end = _multiple(start, jump), _multiple(f"({end})", jump)
        length = None if length is None else length + jump
        comment = f"Each event is valid for {window.size}, in steps of {window.jump}."
    if stage.length is None:
        end = f"IF(`end` = {FOREVER}, {FOREVER}, {end})"
    items: Items = (*stage.items(), (start, "start"), (end, "end"))
    having = None if window.jump is None else "start < `end`"
    name = emitting.let("windowed", SelectColumns(stage.relation, items, having=having), comment)
    return EventRelation(name, stage.columns, length)


def _multiple(text: str, jump: int) -> str:
    """The least multiple of `jump` that is not less.

    >>> _multiple("start", 10)
    'start + pmod(-start, 10L)'
    """
    return f"{text} + pmod(-{text}, {jump}L)"


def emit_count_window(
    emitting: RelationBuilder, window: a.CountWindow, stage: EventRelation
) -> EventRelation:
    """An event is valid until `window.size` later ones have come; simultaneous ones come and go together."""
    keys = tuple(identifier(stage.columns[place_of(one)]) for one in window.partition)
    comment = f"Each event is valid until {window.size} others have come after it"
    comment += f", of its {', '.join(map(str, window.partition))}." if keys else f"{ONE_SEQUENCE}."
    if window.jump == 1:
        return EventRelation(_sliding(emitting, window.size, stage, keys, comment), stage.columns)
    return EventRelation(_jumping(emitting, window, stage, keys, comment), stage.columns)


def _sliding(
    emitting: RelationBuilder, size: int, stage: EventRelation, keys: tuple[str, ...], comment: str
) -> str:
    by = ", ".join(keys)
    over = f"PARTITION BY {by} ORDER BY start" if keys else "ORDER BY start"
    later = emitting.let(
        "followed",
        SelectColumns(
            stage.relation,
            (
                *stage.items(),
                ("start", "start"),
                (f"coalesce(lead(start, {size}) OVER ({over}), {FOREVER})", "next"),
            ),
        ),
        comment,
    )
    # Of simultaneous events the last one in whatever order counts: they leave together.
    together = ", ".join((*keys, "start"))
    items: Items = (
        *stage.items(),
        ("start", "start"),
        (f"max(next) OVER (PARTITION BY {together})", "end"),
    )
    return emitting.let("windowed", SelectColumns(later, items), "Simultaneous events leave together.")


def _jumping(
    emitting: RelationBuilder,
    window: a.CountWindow,
    stage: EventRelation,
    keys: tuple[str, ...],
    comment: str,
) -> str:
    by = f"PARTITION BY {', '.join(keys)} " if keys else ""
    placed = emitting.let(
        "placed",
        Extend(
            stage.relation,
            (
                (f"CAST(row_number() OVER ({by}ORDER BY start) AS BIGINT)", "place"),
                (f"count(*) OVER ({by}ORDER BY start RANGE UNBOUNDED PRECEDING)", "passed"),
            ),
        ),
        f"{comment[:-1]}, in steps of {window.jump}.",
    )
    key_items: Items = tuple((key, f"key_{number}") for number, key in enumerate(keys))
    instants = emitting.let(
        "instants",
        SelectColumns(
            placed, (*key_items, ("place", "place"), ("start", "next")), f"place % {window.jump} = 0"
        ),
        f"When the window changes: after every {window.jump} events.",
    )
    begun = emitting.let(
        "begun",
        Join(
            (placed, "e"),
            (instants, "i"),
            _at("passed", window.jump, keys),
            items=(*stage.items("e"), ("i.next", "start"), ("e.passed", "passed")),
        ),
        "When each event comes into the window.",
    )
    left = emitting.let(
        "left",
        Join(
            (begun, "e"),
            (instants, "i"),
            _at(f"passed + {window.size}L", window.jump, keys),
            "LEFT OUTER",
            (*stage.items("e"), ("e.start", "start"), (f"coalesce(i.next, {FOREVER})", "end")),
        ),
        "When it leaves.",
    )
    return emitting.let(
        "windowed", Where(left, "start < `end`"), "Who comes and goes at once is never in it."
    )


def _at(place: str, jump: int, keys: tuple[str, ...]) -> str:
    """The event at a place, moved up to a multiple of the jump."""
    place = f"(e.{place})"
    same = [f"e.{key} <=> i.key_{number}" for number, key in enumerate(keys)]
    return " AND ".join([*same, f"{_multiple(place, jump)} = i.place"])


# Streams, relations and earlier queries as relations of events with valid times.


def emit_source(emitting: RelationBuilder, source: StreamSource, needed: Iterable[Expr]) -> EventRelation:
    """The events of a stream, or of a query before, with the columns that are needed."""
    stream = source.stream
    payload = used(source.payload, needed)
    columns = named(payload)
    items = _payload_items(payload, list(columns.values()))
    start, end, length = _times(emitting, source)
    name = emitting.let(
        f"{emitting.sources.names[stream.name]}_valid",
        SelectColumns(
            emitting.sources.names[stream.name],
            (*items, (start, "start"), (end, "end")),
            having="start < `end`",
        ),
        _comment(stream),
    )
    return EventRelation(name, columns, length)


def emit_relation(
    emitting: RelationBuilder, source: CatalogRelation, needed: Iterable[Expr]
) -> EventRelation:
    """Rows that are valid forever."""
    payload = used(source.payload, needed)
    columns = named(payload)
    items = _payload_items(payload, list(columns.values()))
    # The number of rows matters even if the query names no column of the relation.
    selected = SelectColumns(emitting.sources.names[source.stream.name], items or (("1", "place"),))
    name = emitting.let(
        f"{emitting.sources.names[source.stream.name]}_rows",
        selected,
        f"The relation {source.stream.name}, valid forever.",
    )
    return EventRelation(name, columns, timeless=True)


def _payload_items(payload: tuple[Attribute, ...], names: list[str]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (identifier(bare(one.name)), name) for one, name in zip(payload, names, strict=True)
    )  # fmt: skip


def _comment(stream: Stream) -> str:
    if stream.query is not None:
        return f"The results of {stream.name}, as long as they are valid."
    long = "up to its end, that included" if stream.end else "for one instant"
    return f"{stream.name}: each event is valid {long}."


def _times(emitting: RelationBuilder, source: StreamSource) -> tuple[str, str, int | None]:
    """When an event begins to be valid, when it no longer is, and the most that it can be valid."""
    stream = source.stream
    lasting = instant(source.clock) // LENGTHS[emitting.unit]
    if stream.query is None:
        start = _number(emitting, stream, stream.start)
        if stream.end is None:
            return start, f"{start} + {lasting}L", lasting
        return start, f"{_number(emitting, stream, stream.end)} + {lasting}L", None
    own, clock = emitting.sources.units[stream.query], emitting.sources.clocks.get(stream.query)
    begins, ends = number_of(stream.start), number_of(stream.end or "")
    start = _of_query(emitting, stream.query, begins)
    if not stream.half_open:
        return start, f"{_of_query(emitting, stream.query, ends)} + {lasting}L", None
    if clock is not None and emitting.sources.is_zoned(stream.query, emitting.clock):
        # The last instant, and one more: days that the session's clock counts may be longer than others.
        last = _of_query(emitting, stream.query, f"({ends} - {instant(clock) // LENGTHS[own]}L)")
        return start, f"IF({ends} = {FOREVER}, {FOREVER}, {last} + {lasting}L)", None
    end = _of_query(emitting, stream.query, ends)
    if own != emitting.unit:
        end = f"IF({ends} = {FOREVER}, {FOREVER}, {end})"
    return start, end, None


def _of_query(emitting: RelationBuilder, query: str, number: str) -> str:
    return emitting.sources.number(number, query, emitting.unit, emitting.clock)


def _number(emitting: RelationBuilder, stream: Stream, name: str) -> str:
    type = next(column.type for column in stream.columns if column.name == name)
    number = as_number(identifier(name), type, stream.unit, emitting.unit, emitting.clock)
    return with_room(number, type, stream.unit, emitting.unit)
