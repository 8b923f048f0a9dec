"""Aggregates over the rows of a group: those over all matches, in RETURN.

Aggregates over the elements of a list, `sum(b[].price)`, are for the caller's `refs` to write, as
`list_expressions` does.
"""

from __future__ import annotations

from sqlglot import exp

from neelc.emit.syntax import Sql, call
from neelc.emit.written import Written
from neelc.ir.typeof import INTERVALS
from neelc.ir.types import BIGINT, Decimal

# A sum of DECIMALs has 10 digits more than they have; beyond 38 it may not fit.
_LARGEST_SUMMAND = 28


def grouped(name: str, argument: Written | None, distinct: bool) -> Sql:
    """`name([DISTINCT] argument)`, with NULL for a sum that does not fit its type."""
    if argument is None:
        return call(name, exp.Star())
    name = f"try_{_TRIED[name]}" if name in _TRIED and _can_overflow(argument) else name
    inside = exp.Distinct(expressions=[argument.sql]) if distinct else argument.sql
    return call(name, inside)


_TRIED = {"sum": "sum", "avg": "avg", "mean": "avg"}


def _can_overflow(argument: Written) -> bool:
    match argument.type:
        case Decimal(precision):
            return precision > _LARGEST_SUMMAND
    return argument.type in (BIGINT, *INTERVALS)
