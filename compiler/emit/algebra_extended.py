"""The extended filter in front of a pattern matcher (JEPC thesis, 19.2.4).

An event can be in a match only if an event that emits the pivot, a symbol of every match, is within the
window of it. Time is cut into buckets of one window; events stay that stand in a bucket with a pivot, or next
to one. Whatever lies between the first and the last event of a match stays, so no two events become
neighbours in it that were none, and no event is needed to reset the matcher as in the thesis.

Several matchers over the same events have one filter, if they have a symbol of the same definition: its
buckets are as wide as the widest of their windows, so what is true of one window is true of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from neelc.cost.statistics import Statistics
from neelc.emit.algebra_stage import Emitting, Stage
from neelc.emit.expressions import sql
from neelc.emit.literals import identifier
from neelc.emit.relations import Items, Join, Select
from neelc.emit.times import floor_divided
from neelc.ir.algebra import PatternMatcher
from neelc.ir.expr import Attribute, Expr
from neelc.ir.names import bare
from neelc.plan.algebra_pivot import Pivot, pivot_of


def emit_extended_filter(
    emitting: Emitting, operators: Sequence[PatternMatcher], stage: Stage, statistics: Statistics
) -> Stage | None:
    """The events that can be in a match of one of the matchers, which all read the events of `stage`; None
    where it does not pay to look for them."""
    pivot = pivot_of(operators, emitting.unit, statistics)
    if pivot is None:
        return None
    operator, count = operators[0], len(operators)
    own = {name: column for (_, name), column in stage.columns.items()}
    keys = [identifier(own[name]) for name in operator.clause.partition]
    pivots = _pivots(emitting, pivot, stage, keys, own)
    bucket = floor_divided("e.start", pivot.reach)
    same = [f"e.{key} <=> p.key_{number}" for number, key in enumerate(keys)]
    name = emitting.let(
        "candidates",
        Join(
            (stage.relation, "e"), (pivots, "p"), " AND ".join([*same, f"{bucket} = p.bucket"]), "LEFT SEMI"
        ),
        f"The extended filter{f' for {count} matchers' if count > 1 else ''}: events that are near one that "
        f"emits {pivot.symbol}.",
    )
    return Stage(name, stage.columns, stage.length)


def _pivots(emitting: Emitting, pivot: Pivot, stage: Stage, keys: Sequence[str], own: dict[str, str]) -> str:
    def refs(node: Expr) -> str | None:
        return identifier(own[bare(node.name)]) if isinstance(node, Attribute) else None

    tests = [sql(one, refs) for one in pivot.conditions]
    where = tests[0] if len(tests) == 1 else " AND ".join(f"({one})" for one in tests)
    bucket = floor_divided("start", pivot.reach)
    items: Items = (
        *((key, f"key_{number}") for number, key in enumerate(keys)),
        (f"explode(sequence({bucket} - 1L, {bucket} + 1L))", "bucket"),
    )
    comment = f"Where {pivot.symbol} is emitted: in every match, and by {pivot.share:.2g} of the events."
    return emitting.let("pivots", Select(stage.relation, items, where, distinct=True), comment)
