"""What operators of the event algebra are written with: relations of events, and the names of their columns.

Every relation has the columns of the payload and, unless it is valid forever, `start` and `end`: whole
numbers of one unit. An event is valid from its start to before its end; `FOREVER` is the end of what has
none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from neelc.emit.expressions import sql
from neelc.emit.literals import identifier
from neelc.emit.relations import Items, Let, Relation
from neelc.emit.scans import Sources, free
from neelc.ir.algebra import Operator
from neelc.ir.expr import Attribute, Expr, Variable
from neelc.ir.logical import Clock
from neelc.ir.names import bare, written
from neelc.ir.node import walk
from neelc.plan.event_columns import PLAIN_NAME
from neelc.runtime.algebra import program as kernel

FOREVER = f"{kernel.FOREVER}L"

OWN = ("start", "end", "chunk", "bucket", "width", "last", "place", "passed", "latest", "next")
"""Names of columns that no payload may have."""

Key = tuple[str, str]
"""A variable and a bare name of a column."""


@dataclass(frozen=True)
class Stage:
    """A relation of events. `length` is the most that one can be valid, None if nobody knows; a `timeless`
    one has no times: it is valid forever."""

    relation: str
    columns: Mapping[Key, str]
    length: int | None = None
    timeless: bool = False

    def items(self, of: str = "") -> Items:
        """The columns of the payload, of a relation with a name or of the only one."""
        return tuple((identifier(name, of), name) for name in self.columns.values())

    def reference(self, node: Expr, of: str = "") -> str | None:
        """The column of an attribute; None for what is none."""
        match node:
            case Attribute(Variable(), _):
                return identifier(self.columns[key_of(node)], of)
        return None

    def sql(self, expression: Expr) -> str:
        return sql(expression, self.reference)


@dataclass
class Emitting:
    """The relations of one query, in the making. `unit` is what times are counted in, by its `clock`."""

    unit: str
    clock: Clock
    sources: Sources
    taken: set[str]
    lets: list[Let] = field(default_factory=list)
    most_matches: int | None = None

    def let(self, wish: str, relation: Relation, comment: str = "") -> str:
        name = free(wish, self.taken)
        self.lets.append(Let(name, relation, comment))
        return name


def key_of(attribute: Attribute) -> Key:
    assert isinstance(attribute.event, Variable), "an attribute of a payload"
    return attribute.event.name, bare(attribute.name)


def used(payload: Iterable[Attribute], needed: Iterable[Expr]) -> tuple[Attribute, ...]:
    """Of a payload, the attributes that the expressions name."""
    named = {key_of(node) for one in needed for node in walk(one) if isinstance(node, Attribute)}
    return tuple(one for one in payload if key_of(one) in named)


def named(attributes: Iterable[Attribute]) -> dict[Key, str]:
    """Columns for attributes: named like them if that is a plain word, with the variable where two have one
    name.

    >>> from neelc.ir.types import INT
    >>> names = (("a", "x"), ("b", "X"), ("b", "end"), ("b", "`unit price`"))
    >>> list(named(Attribute(Variable(variable), name, INT) for variable, name in names).values())
    ['a_x', 'b_X', 'end_2', 'value']
    """
    keys = [key_of(one) for one in attributes]
    columns = [name.lower() for _, name in keys]
    taken = set(OWN)
    found: dict[Key, str] = {}
    for variable, name in keys:
        wish = name if columns.count(name.lower()) == 1 else f"{bare(variable)}_{name}"
        wish = wish if PLAIN_NAME.match(wish) else "value"
        number, column = 1, wish
        while column.lower() in taken:
            number += 1
            column = f"{wish}_{number}"
        taken.add(column.lower())
        found[variable, name] = column
    return found


def attribute_of(operator: Operator, name: str) -> Attribute:
    """The attribute of an operator's payload that has this bare name."""
    return next(one for one in operator.payload if written(bare(one.name)) == written(name))
