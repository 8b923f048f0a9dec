"""Pairs of geometries that may meet, by the cells of a grid: a spatial correlator is no cross product.

A geometry stands in the cells that its envelope touches, and two geometries are compared in one cell only:
that of the least corner which their envelopes have in common. A cell is as wide and as high as the envelopes
of the larger side are, by the mean of their squares. So a side has at most four times as many rows as
geometries: with w and h the sizes of an envelope in cells, it touches no more than (w + 1)(h + 1), and the
means of w, h and wh are at most 1. Which geometries meet exactly is asked of what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from neelc.engines.spark.relations import (
    AggregateRows,
    Extend,
    Items,
    Join,
    Relation,
    SelectColumns,
    Union,
)
from neelc.ir.expressions import Binary, Call, Expr, names_in
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.functions.space import PREFIX

MEETING = (
    "st_contains",
    "st_coveredby",
    "st_covers",
    "st_crosses",
    "st_equals",
    "st_intersects",
    "st_overlaps",
    "st_touches",
    "st_within",
)
"""Predicates that are TRUE only where the envelopes have a point in common, or that are of `EMPTY_TOO`."""

EMPTY_TOO = ("st_equals",)
"""Those that are TRUE of two empty geometries, which have no envelope."""

CORNERS = ("low_x", "low_y", "high_x", "high_y")
CELLS = ("cell_x", "cell_y", "cell_width", "cell_height")
SHAPE = "shape"
"""Of a geometry, its bytes: pairs are compared faster by these than by texts."""
GRID_COLUMNS = ("bounds", SHAPE, *CORNERS, *CELLS)
"""Names of columns that no payload may have."""

Let = Callable[[str, Relation, str], str]

Side = tuple[str, tuple[str, str], Items]
"""The name of a relation, the texts of its geometries as bytes and of their bounds, the columns to keep."""


@dataclass(frozen=True)
class NearCondition:
    """A condition that only geometries of which the envelopes meet fulfil: `left` is an expression over one
    side, `right` one over the other. The envelope of the left has room for a `distance`."""

    condition: Expr
    left: Expr
    right: Expr
    distance: Expr | None = None
    metric: Expr | None = None

    @property
    def of_empty(self) -> bool:
        """Whether it may be TRUE of two empty geometries."""
        return isinstance(self.condition, Call) and self.condition.name.lower() in EMPTY_TOO


def near_condition(
    ready: Iterable[Expr], left: frozenset[str], right: frozenset[str]
) -> NearCondition | None:
    """The first of the conditions by which a grid can be used, between variables of both sides.

    >>> from pattern_examples import query
    >>> texts = "st_within(b.user, a.user)", "st_distance(a.user, b.user) < 5", "a.user = b.user"
    >>> for text in texts:
    ...     where = query(f"SEQ(A a, B b) WHERE {text}").pattern.where
    ...     found = near_condition([where], frozenset("a"), frozenset("b"))
    ...     print(found and (str(found.left), str(found.right), str(found.distance)))
    ('a.user', 'b.user', 'None')
    ('a.user', 'b.user', '5')
    None
    """
    for condition in ready:
        for near in _near(condition):
            for found in _turned(near):
                if _fits(found, left, right):
                    return found
    return None


def _near(condition: Expr) -> Iterator[NearCondition]:
    match condition:
        case Call(name, (one, other)) if name.lower() in MEETING:
            yield NearCondition(condition, one, other)
        case Call(name, (one, other, distance, *metric)) if name.lower() == "st_dwithin":
            yield NearCondition(condition, one, other, distance, metric[0] if metric else None)
        case Binary("<" | "<=", Call(name, (one, other, *metric)), distance) if name.lower() == "st_distance":
            yield NearCondition(condition, one, other, distance, metric[0] if metric else None)
        case Binary(">" | ">=", distance, Call(name, (one, other, *metric))) if name.lower() == "st_distance":
            yield NearCondition(condition, one, other, distance, metric[0] if metric else None)


def _turned(near: NearCondition) -> Iterator[NearCondition]:
    yield near
    yield NearCondition(near.condition, near.right, near.left, near.distance, near.metric)


def _fits(near: NearCondition, left: frozenset[str], right: frozenset[str]) -> bool:
    """Whether each side has one of the geometries, and the left side, or none, the distance."""
    sides = [frozenset(names_in(one)) for one in (near.left, near.right)]
    room = frozenset() if near.distance is None else frozenset(names_in(near.distance))
    return all(sides) and sides[0] <= left and sides[1] <= right and room <= left


def in_cells(let: Let, sides: Sequence[Side], of_empty: bool) -> list[str]:
    """The relations of both sides in the cells of one grid. Empty geometries stand where (0, 0) does, if they
    count: so they meet each other."""
    bounded = []
    for relation, (shape, text), kept in sides:
        read = let("shaped", Extend(relation, ((shape, SHAPE),)), "")
        with_bounds = let("bounded", Extend(read, ((text, "bounds"),)), "The envelopes of geometries.")
        corners = tuple((f"get(bounds, {place})", name) for place, name in enumerate(CORNERS))
        items = (*kept, (SHAPE, SHAPE), *corners)
        having = f"{SHAPE if of_empty else 'low_x'} IS NOT NULL"
        bounded.append(let("bounded", SelectColumns(with_bounds, items, having=having), ""))
    size = _size(let, bounded)
    return [_cells(let, relation, size, kept) for relation, (_, _, kept) in zip(bounded, sides, strict=True)]


def _size(let: Let, bounded: Sequence[str]) -> str:
    """One row: how wide and how high a cell is."""
    parts = []
    for relation in bounded:
        squares = tuple(
            (f"sum((high_{axis} - low_{axis}) * (high_{axis} - low_{axis}))", f"square_{axis}")
            for axis in "xy"
        )
        ends = tuple(
            (f"{end}({corner})", corner)
            for end, corner in zip(("min", "min", "max", "max"), CORNERS, strict=True)
        )
        parts.append(let("side", AggregateRows(relation, (), (("count(*)", "many"), *squares, *ends)), ""))
    both = let("sides", Union(tuple(parts)), "How large envelopes are, on either side.")
    means = tuple((f"max(sqrt(square_{axis} / greatest(double(many), 1D)))", f"mean_{axis}") for axis in "xy")
    spans = tuple((f"max(high_{axis}) - min(low_{axis})", f"span_{axis}") for axis in "xy")
    total = let("extents", AggregateRows(both, (), (*means, *spans, ("sum(many)", "many"))), "")
    items = tuple(
        (
            f"greatest(mean_{axis}, span_{axis} / greatest(sqrt(double(many)), 1D) / {FINEST}D, "
            f"IF(span_{axis} > 0D, 0D, 1D))",
            name,
        )
        for axis, name in (("x", "cell_width"), ("y", "cell_height"))
    )
    return let(
        "grid", SelectColumns(total, items), "A cell of the grid is as large as an envelope on average."
    )


FINEST = 4
"""Where geometries are tiny, a row of cells is that many times as many as the root of the geometries."""


def _cells(let: Let, relation: str, size: str, kept: Items) -> str:
    names = (*(name for _, name in kept), SHAPE)
    items: Items = (
        *((f"e.`{name}`" if name == "end" else f"e.{_quoted(name)}", name) for name in names),
        *((f"coalesce(e.{name}, 0D)", name) for name in CORNERS),
        ("x.cell_width", "cell_width"),
        ("x.cell_height", "cell_height"),
    )
    sized = let("gridded", Join((relation, "e"), (size, "x"), "TRUE", items=items), "")
    comment = "Geometries in the cells of the grid that their envelopes touch."
    across = let("in_columns", Extend(sized, ((_places("x", "cell_width"), "cell_x"),)), "")
    return let("in_cells", Extend(across, ((_places("y", "cell_height"), "cell_y"),)), comment)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _places(axis: str, size: str) -> str:
    return f"explode(sequence({cell(f'low_{axis}', size)}, {cell(f'high_{axis}', size)}))"


def cell(text: str, size: str) -> str:
    """The number of the cell that a coordinate is in."""
    return f"CAST(floor({text} / {size}) AS BIGINT)"


def in_one_cell() -> list[str]:
    """What a pair of `l` and `r` is joined by: the one cell where it is compared, and that envelopes meet."""
    tests = ["l.cell_x = r.cell_x", "l.cell_y = r.cell_y"]
    for axis, size in (("x", "l.cell_width"), ("y", "l.cell_height")):
        tests.append(f"l.low_{axis} <= r.high_{axis} AND r.low_{axis} <= l.high_{axis}")
        tests.append(f"{cell(f'greatest(l.low_{axis}, r.low_{axis})', size)} = l.cell_{axis}")
    return tests


def texts_of(near: NearCondition, is_left: bool, sql: Callable[[Expr], str]) -> tuple[str, str]:
    """The texts of a side's geometries, as bytes, and of their bounds, which read these."""
    arguments = [SHAPE]
    if is_left and near.distance is not None:
        arguments.append(f"double({sql(near.distance)})")
        if near.metric is not None:
            arguments.append(sql(near.metric))
    geometry = sql(near.left if is_left else near.right)
    return f"{PREFIX}st_asbinary({geometry})", f"{PREFIX}st_bounds({', '.join(arguments)})"
