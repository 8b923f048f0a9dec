"""References: what an expression says about events.

They come in two forms. The parser writes `Name`, `Member`, `Subscript` and `Slice`, which say only how the
text looked. The binder replaces them by `Attribute` and its kin over an `EventRef`, which say what is meant.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from neelc.ir.node import Node
from neelc.ir.scalar import Expr, Function
from neelc.ir.types import DataType

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

    One that a user has registered has its `function`: of all the values, NULLs as None, in the list's order.
    Nothing is known of it, but that it is one of its values alone.
    """

    name: str
    argument: Expr | None
    type: DataType
    distinct: bool = False
    function: Function | None = field(default=None, repr=False)
