"""What the expressions of a bound MATCH_RECOGNIZE say about rows."""

from __future__ import annotations

from dataclasses import dataclass

from neelc.ir.scalar import Expr
from neelc.ir.types import BIGINT, STRING, DataType

ROW = "row"
"""The variable that stands for the row an argument is evaluated at: `Attribute(Variable(ROW), name)`."""

BY_VALUE, BY_ORDER = "value", "by"
"""The argument of max_by and min_by is a struct: the value, and what it is chosen by."""


@dataclass(frozen=True)
class RowValue(Expr):
    """A value that rows of the match have; its `type` is known."""

    type: DataType


@dataclass(frozen=True)
class AtRow(RowValue):
    """`argument` at one row: the one at `place` (from 0) among those mapped to `variables`, counted from the
    FIRST or back from the LAST, and then `shift` rows on, inside or outside of the match; NULL where there is
    no such row. No `variables` are all. Unless `final`, the rows after the current one do not count."""

    argument: Expr
    variables: tuple[str, ...] = ()
    anchor: str = "LAST"
    place: int = 0
    shift: int = 0
    final: bool = False


@dataclass(frozen=True)
class OverRows(RowValue):
    """An aggregate of `argument` over the rows that are mapped to `variables`, all if there are none;
    `argument=None` counts the rows. Unless `final`, the rows after the current one do not count."""

    name: str
    argument: Expr | None = None
    variables: tuple[str, ...] = ()
    final: bool = False
    distinct: bool = False


@dataclass(frozen=True)
class Given(RowValue):
    """A column that is the same at all rows, and is known even if the match has none: what a query inside the
    clause gives. For MEASURES: DEFINE is judged at a row."""

    argument: Expr


@dataclass(frozen=True)
class Classifier(RowValue):
    """In an argument: the variable that the row is mapped to, NULL outside of the match."""

    type: DataType = STRING


@dataclass(frozen=True)
class MatchNumber(RowValue):
    """The number of the match in its partition, from 1."""

    type: DataType = BIGINT
