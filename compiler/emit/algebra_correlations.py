"""Correlators as joins: of events that are valid at the same time, without a cross product.

Time is cut into buckets, an event stands in all buckets in which it is valid, and two events meet in the one
bucket in which the later of them begins. What they have in common is when the pair is valid. Where it is
known how long events are valid, a bucket is that long, so an event stands in two at most. Where it is not, a
bucket is four times as long as events are valid on average, which the plan itself finds out: so at most a
quarter more rows than events are joined.
"""

from __future__ import annotations

from collections.abc import Sequence

from neelc.emit.algebra_stage import FOREVER, Emitting, Stage, key_of
from neelc.emit.expressions import sql
from neelc.emit.relations import Aggregate, Extend, Items, Join, Select, Union
from neelc.emit.times import floor_divided
from neelc.ir.algebra import Correlator
from neelc.ir.conjuncts import conjuncts, names_in
from neelc.ir.expr import Attribute, Expr

BUCKET = 4


def emit_correlator(
    emitting: Emitting, correlator: Correlator, stages: Sequence[Stage], places: Sequence[int]
) -> Stage:
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
    return Stage(joined.relation, order, joined.length, joined.timeless)


def _ready(waiting: Sequence[Expr], *stages: Stage) -> tuple[list[Expr], list[Expr]]:
    """The conditions that name nothing but these, and the others."""
    known = {variable for stage in stages for variable, _ in stage.columns}
    ready = [one for one in waiting if names_in(one) <= known]
    return ready, [one for one in waiting if one not in ready]


def _join(
    emitting: Emitting, left: Stage, right: Stage, ready: Sequence[Expr], width: int, extent: str | None
) -> Stage:
    if left.timeless:
        left, right = right, left
    columns = _columns(left, right)

    def refs(node: Expr) -> str | None:
        return left.reference(node, "l") if _is_of(node, left) else right.reference(node, "r")

    on = [f"({sql(one, refs)})" for one in ready]
    items: list[tuple[str, str]] = [
        (text, columns[key])
        for stage, of in ((left, "l"), (right, "r"))
        for key, (text, _) in zip(stage.columns, stage.items(of), strict=True)
    ]
    said = " AND ".join(map(str, ready))
    comment = f"Correlated where {said}." if said else "Correlated: all pairs of one time."
    if right.timeless:
        times = [] if left.timeless else [("l.start", "start"), ("l.`end`", "end")]
        relation = Join(
            (left.relation, "l"), (right.relation, "r"), " AND ".join(on) or "TRUE", items=(*items, *times)
        )
        return Stage(emitting.let("correlated", relation, comment), columns, left.length, left.timeless)
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
    return Stage(emitting.let("correlated", relation, comment), columns, min(known, default=None))


def _columns(left: Stage, right: Stage) -> dict[tuple[str, str], str]:
    """Columns for both sides: those of the right have other names where they would clash."""
    found = dict(left.columns)
    taken = {name.lower() for name in left.columns.values()}
    for key, name in right.columns.items():
        wish, number = name, 1
        while wish.lower() in taken:
            number += 1
            wish = f"{name}_{number}"
        taken.add(wish.lower())
        found[key] = wish
    return found


def _is_of(node: Expr, stage: Stage) -> bool:
    return isinstance(node, Attribute) and key_of(node) in stage.columns


def _floor(text: str, width: str) -> str:
    return f"({text} - pmod({text}, {width})) DIV {width}"


def _in_buckets(emitting: Emitting, stage: Stage, width: int, extent: str | None) -> str:
    """The events of a stage in all buckets in which they are valid."""
    if extent is None:
        first, last = floor_divided("start", width), floor_divided("(`end` - 1L)", width)
        buckets = f"explode(sequence({first}, {last}))" if (stage.length or 2) > 1 else first
        comment = "Events in the buckets of time in which they are valid."
        return emitting.let("in_buckets", Extend(stage.relation, ((buckets, "bucket"),)), comment)
    times: Items = (("e.start", "start"), ("e.`end`", "end"), ("x.width", "width"), ("x.last", "last"))
    sized = emitting.let(
        "sized",
        Join((stage.relation, "e"), (extent, "x"), "TRUE", items=(*stage.items("e"), *times)),
        "One row tells how long a bucket is.",
    )
    # Nothing begins after the last start, so no pair is found in a later bucket.
    end = "greatest(start, least(`end` - 1L, last))"
    buckets = f"explode(sequence({_floor('start', 'width')}, {_floor(end, 'width')}))"
    comment = "Events in the buckets of time in which they are valid."
    return emitting.let("in_buckets", Extend(sized, ((buckets, "bucket"),)), comment)


def _extent(emitting: Emitting, stages: Sequence[Stage]) -> str:
    """One row: how long a bucket is, and when the last event begins."""
    times: Items = (("start", "start"), ("`end`", "end"))
    parts = [emitting.let("times", Select(one.relation, times)) for one in stages]
    source = emitting.let("times", Union(tuple(parts)), "How long events are valid, on average.")
    open_ = f"`end` = {FOREVER}"
    sums = emitting.let(
        "lasting",
        Aggregate(
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
    return emitting.let("buckets", Select(sums, items), "A bucket is four times as long.")
