"""The order of MATCH_RECOGNIZE's rows as one number, where ORDER BY has one column, a number or a time."""

from __future__ import annotations

from neelc.emit.literals import identifier
from neelc.emit.sort_number import GRAIN, TICK_BITS, sort_number
from neelc.emit.times import as_number
from neelc.ir.rows import SortItem
from neelc.ir.typeof import type_of
from neelc.ir.types import BIGINT, DATE, INT, SMALLINT, TIMESTAMP, TIMESTAMP_NTZ, TINYINT, DataType
from neelc.plan.row_plan import RowPlan
from neelc.runtime.rows.program import Order

GRAINS: dict[DataType, int] = {
    BIGINT: GRAIN, TIMESTAMP: GRAIN, TIMESTAMP_NTZ: GRAIN, DATE: 1, INT: 1, SMALLINT: 1, TINYINT: 1,
}  # fmt: skip


def one_number(plan: RowPlan) -> Order | None:
    """How rows come that are sorted by one number; None if they cannot be."""
    if not plan.keys or len(plan.order) != 1:
        return None
    (item,), (column,) = plan.query.order, plan.order
    grain = GRAINS.get(type_of(item.expression))
    return None if grain is None else Order(column, grain, item.descending, _nulls_last(item))


def row_sort_number(plan: RowPlan, keys: tuple[str, ...]) -> str:
    """What rows are sorted by, if `one_number` says how they come."""
    order = plan.program.order
    assert order is not None
    (item,) = plan.query.order
    number = _number(plan, item)
    written = sort_number(keys, f"~({number})" if order.descending else number, order.grain)
    hashed, _, _ = written.partition(" | ")
    last = (1 << TICK_BITS) - 1 if order.nulls_last else 0
    return f"coalesce({written}, {hashed} | {last}L)"


def _number(plan: RowPlan, item: SortItem) -> str:
    (column,) = plan.order
    type = type_of(item.expression)
    if column in plan.numbers:
        return identifier(column)
    unit = "DAY" if type == DATE else "MICROSECOND"
    return as_number(identifier(column), type, unit, unit)


def _nulls_last(item: SortItem) -> bool:
    """As Spark sorts: NULL comes first, and with DESC last, unless it is said."""
    return item.descending if item.nulls is None else item.nulls == "LAST"
