"""What is said about the events of a stream: `WITH STATS (...)`, a file of statistics, Parquet footers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from neelc.ir.expr import Expr
from neelc.ir.node import Node

MEASURES = (
    "EVENTS",
    "RATE",
    "SPAN",
    "SHARE",
    "DISTINCT",
    "NULLS",
    "MOST FREQUENT",
    "RANGE",
    "SELECTIVITY",
)
"""Number of events; events per unit of time; time from the first event to the last; share of a type among
the events of its stream; distinct values of a column; share of NULLs in it; share of the value it holds most
often; its least and its greatest value; share of the events, or of the choices of events, that meet a
condition."""


@dataclass(frozen=True)
class Statistic(Node):
    """`[TYPE type] MEASURE [column | (condition)] numbers [unit]`: one number about a stream, or about the
    events of one type in it.

    `numbers` are one, or two for RANGE. `unit` belongs to RATE and SPAN: singular and upper case. `type` and
    `column` are in source form. The binder makes `column` bare and `condition` a text: it speaks of any
    query, and what is done to the conditions of one must not be done to it.
    """

    measure: str
    numbers: tuple[Decimal, ...]
    type: str | None = None
    column: str | None = None
    condition: Expr | str | None = None
    unit: str | None = None
