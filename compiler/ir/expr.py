"""Scalar expressions.

Identifiers are strings in *source form* everywhere in the IR: `price`, or with the backticks they were
written with: `` `Price` ``. `neelc.ir.names` compares them and strips the quotes.

References come in two forms. The parser writes `Name`, `Member`, `Subscript` and `Slice`, which say only how
the text looked. The binder replaces them by `Attribute` over an `EventRef`, which say what is meant.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass

from neelc.ir.node import Node
from neelc.ir.types import DataType


@dataclass(frozen=True)
class Expr(Node):
    """A scalar expression."""


Value = None | bool | int | float | str | bytes | decimal.Decimal


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
    """`name([DISTINCT] arguments)`. After binding the name is lower case and `type` is the result's."""

    name: str
    arguments: tuple[Expr, ...]
    distinct: bool = False
    type: DataType | None = None


@dataclass(frozen=True)
class RunningFinal(Expr):
    """`RUNNING call` or `FINAL call` of MATCH_RECOGNIZE."""

    kind: str
    operand: Expr


@dataclass(frozen=True)
class Same(Expr):
    """`[id]`: these attributes are equal, and not NULL, on every event concerned."""

    attributes: tuple[str, ...]


# References as the parser leaves them.


@dataclass(frozen=True)
class Name(Expr):
    """A dotted name: `price`, `a.price`, `a.position.x`."""

    parts: tuple[str, ...]


@dataclass(frozen=True)
class Member(Expr):
    """`base.name` where base is not itself a dotted name: `b[i].price`, `START(s).id`."""

    base: Expr
    name: str


@dataclass(frozen=True)
class Subscript(Expr):
    """`base[index]`: an element of a Kleene variable, or of an array or map."""

    base: Expr
    index: Expr


@dataclass(frozen=True)
class Slice(Expr):
    """`base[]` (no upper bound), `base[..i-1]` or `base[1..i-1]`."""

    base: Expr
    upper: Expr | None = None


# References as the binder leaves them.


@dataclass(frozen=True)
class Index(Node):
    """A place in the list of a Kleene variable.

    `anchor` is FIRST (`b[1]` is FIRST with offset 0), LAST (`b[last - 1]`: offset -1)
    or CURRENT (`b[i - 1]`: offset -1).
    """

    anchor: str
    offset: int = 0


@dataclass(frozen=True)
class EventRef(Node):
    """What an attribute is taken from: an event, or an iteration of a composite closure."""


@dataclass(frozen=True)
class Variable(EventRef):
    """A variable of the pattern."""

    name: str


@dataclass(frozen=True)
class At(EventRef):
    """One element of a Kleene variable: `b[i-1]`."""

    base: EventRef
    index: Index


@dataclass(frozen=True)
class Each(EventRef):
    """Every element of a Kleene variable, `b[]`, or those up to `upper`, `b[..i-1]`."""

    base: EventRef
    upper: Index | None = None


@dataclass(frozen=True)
class Inner(EventRef):
    """A variable of a composite closure's body, seen from outside: `k[i].a` is Inner(At(k), a)."""

    base: EventRef
    name: str


@dataclass(frozen=True)
class Attribute(Expr):
    """`event.name`. With `Each` inside the reference it stands for many values: only in aggregates,
    or alone as an array."""

    event: EventRef
    name: str
    type: DataType


@dataclass(frozen=True)
class Whole(Expr):
    """The event itself as a value: a struct of its attributes; `count(b[])` counts these."""

    event: EventRef
    type: DataType


@dataclass(frozen=True)
class Field(Expr):
    """A field of a struct value: `a.position.x` is Field(Attribute(a, position), x)."""

    base: Expr
    name: str
    type: DataType


@dataclass(frozen=True)
class Item(Expr):
    """An element of an array or map value, as Spark's `base[index]`."""

    base: Expr
    index: Expr
    type: DataType


@dataclass(frozen=True)
class MatchProperty(Expr):
    """`match_start`, `match_end` or `confidence` in RETURN."""

    name: str
    type: DataType


@dataclass(frozen=True)
class EventTime(Expr):
    """`a.ts` or `a.te` (`name`) where the stream has no attribute of that name: the event's valid time."""

    event: EventRef
    name: str
    type: DataType


@dataclass(frozen=True)
class Aggregate(Expr):
    """An aggregate.

    Over the elements of one match when its argument holds an `Each`: `sum(b[].price)`; over all matches
    otherwise: `count(*)` (`argument` None) or `max(a.price)`, in RETURN only.
    """

    name: str
    argument: Expr | None
    type: DataType
    distinct: bool = False
