"""Values, operators, calls: scalar expressions but for references."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from dataclasses import dataclass, field

from neelc.ir.node import Node
from neelc.ir.types import DataType
from neelc.source import Span


@dataclass(frozen=True)
class Expr(Node):
    """A scalar expression."""


Value = None | bool | int | float | str | bytes | decimal.Decimal

Function = Callable[[list[object]], object]
"""What a user has registered as an aggregate. Two of them are equal if they are the same."""


@dataclass(frozen=True)
class Literal(Expr):
    """A constant. DATE and TIMESTAMP hold their text; the binder has checked it."""

    value: Value
    type: DataType


@dataclass(frozen=True)
class IntervalPart(Node):
    """`'5' MINUTE`, or `'1 10:00' DAY TO MINUTE` with `to`; units are singular and upper case."""

    quantity: str
    unit: str
    to: str | None = None


@dataclass(frozen=True)
class Interval(Expr):
    """`INTERVAL '1' DAY '2' HOUR`."""

    parts: tuple[IntervalPart, ...]


@dataclass(frozen=True)
class Parameter(Expr):
    """`:name`, given a value by the caller."""

    name: str


@dataclass(frozen=True)
class Star(Expr):
    """`*` or `qualifier.*`."""

    qualifier: str | None = None


@dataclass(frozen=True)
class Unary(Expr):
    """`-`, `+` or `~` before an operand."""

    op: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Expr):
    """Arithmetic (`+ - * / % DIV`), bits (`& | ^`), `||`, comparison (`= <> < <= > >= <=>`)."""

    op: str
    left: Expr
    right: Expr


ARITHMETIC = ("+", "-", "*", "/", "%", "DIV")
BITWISE = ("&", "|", "^")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")


@dataclass(frozen=True)
class Conjunction(Expr):
    """`a AND b AND ...`: two or more operands."""

    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class Disjunction(Expr):
    """`a OR b OR ...`: two or more operands."""

    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class Negation(Expr):
    """`NOT a`, in three-valued logic."""

    operand: Expr


@dataclass(frozen=True)
class Between(Expr):
    """`operand [NOT] BETWEEN low AND high`."""

    operand: Expr
    low: Expr
    high: Expr
    negated: bool = False


@dataclass(frozen=True)
class InList(Expr):
    """`operand [NOT] IN (items)`."""

    operand: Expr
    items: tuple[Expr, ...]
    negated: bool = False


@dataclass(frozen=True)
class Like(Expr):
    """`operand [NOT] LIKE | ILIKE | RLIKE pattern [ESCAPE escape]`."""

    operand: Expr
    pattern: Expr
    kind: str = "LIKE"
    escape: str | None = None
    negated: bool = False


@dataclass(frozen=True)
class IsNull(Expr):
    """`operand IS [NOT] NULL`."""

    operand: Expr
    negated: bool = False


@dataclass(frozen=True)
class IsTruth(Expr):
    """`operand IS [NOT] TRUE | FALSE | UNKNOWN`; `value` None is UNKNOWN."""

    operand: Expr
    value: bool | None
    negated: bool = False


@dataclass(frozen=True)
class IsDistinct(Expr):
    """`left IS [NOT] DISTINCT FROM right`."""

    left: Expr
    right: Expr
    negated: bool = False


@dataclass(frozen=True)
class When(Node):
    """One branch of a CASE."""

    condition: Expr
    result: Expr


@dataclass(frozen=True)
class Case(Expr):
    """`CASE [operand] WHEN ... THEN ... [ELSE ...] END`."""

    operand: Expr | None
    whens: tuple[When, ...]
    otherwise: Expr | None = None


@dataclass(frozen=True)
class Cast(Expr):
    """`CAST(operand AS type)`; `safe` is TRY_CAST. `implicit` casts are the binder's and not printed."""

    operand: Expr
    type: DataType
    safe: bool = False
    implicit: bool = False


@dataclass(frozen=True)
class Extract(Expr):
    """`EXTRACT(field FROM operand)`; the field is upper case."""

    field: str
    operand: Expr


@dataclass(frozen=True)
class Call(Expr):
    """`name([DISTINCT] arguments)`. After binding the name is lower case and `type` is the result's.

    `function` is the one of an aggregate that a user has registered, whose `type` is known before binding."""

    name: str
    arguments: tuple[Expr, ...]
    distinct: bool = False
    type: DataType | None = None
    function: Function | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Filtered(Expr):
    """`call FILTER (WHERE condition)`."""

    call: Expr
    condition: Expr


@dataclass(frozen=True)
class NestedQuery(Expr):
    """`(SELECT ...)`, or `EXISTS (SELECT ...)`: a query of Spark's inside an expression. `text` is what it
    has between its parentheses, and `place` where that stands."""

    text: str
    exists: bool = False
    place: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class InQuery(Expr):
    """`operand [NOT] IN (SELECT ...)`; after binding, `item` is what the operand is compared with, of each of
    the query's rows."""

    operand: Expr
    query: NestedQuery
    negated: bool = False
    item: Expr | None = None


@dataclass(frozen=True)
class RunningFinal(Expr):
    """`RUNNING call` or `FINAL call` of MATCH_RECOGNIZE."""

    kind: str
    operand: Expr


@dataclass(frozen=True)
class Same(Expr):
    """`[id]`: these attributes are equal, and not NULL, on every event concerned."""

    attributes: tuple[str, ...]
