"""How many bytes events take: the columns a query uses, and their types."""

from __future__ import annotations

from neelc.cost.ledger import subject
from neelc.ir import expr as e
from neelc.ir.logical import Match
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.parts import all_parts
from neelc.ir.pattern import Event, Repeat
from neelc.ir.types import Array, DataType, Decimal, Map, Simple, Struct

TIME, TYPE = 8.0, 4.0
"""Every event has a time and a type; types travel as codes."""
TEXT = 20.0
"""A name, a word or an identifier, with its length."""
ITEMS = 10.0
"""Items of an array or map, or of a list that is a result."""

_WIDTHS = {
    "VOID": 1, "BOOLEAN": 1, "TINYINT": 1, "SMALLINT": 2, "INT": 4, "FLOAT": 4, "DATE": 4, "STRING": TEXT,
    "BINARY": 5 * TEXT,
}  # fmt: skip


def width(type: DataType) -> float:
    """
    >>> from neelc.ir.types import BIGINT, INT, STRING, StructField
    >>> width(BIGINT), width(Struct((StructField("a", INT), StructField("b", Array(STRING)))))
    (8.0, 204.0)
    """
    match type:
        case Simple(name):
            return float(_WIDTHS.get(name, 8))
        case Decimal():
            return 16.0
        case Array(element):
            return ITEMS * width(element)
        case Map(key, value):
            return ITEMS * (width(key) + width(value))
        case Struct(fields):
            return sum(width(field.type) for field in fields)
    return TEXT


def used_columns(query: Match) -> dict[str, frozenset[str] | None]:
    """The columns that conditions and results use of the events of each type; None for all of them.

    >>> from neelc.rewrite.examples import query
    >>> found = used_columns(query("SEQ(A a, B b) WHERE [id] AND a.x > 1 RETURN b.user, a AS whole"))
    >>> found["A"], sorted(found["B"])
    (None, ['id', 'user'])
    """
    types: dict[str, set[str]] = {}
    for part in all_parts(query.pattern):
        match part:
            case Event(type, str() as name) | Repeat(Event(type), variable=str() as name):
                types.setdefault(name, set()).add(type)
    found: dict[str, set[str]] = {
        type: set(map(bare, query.partition)) for several in types.values() for type in several
    }
    whole: set[str] = set()
    for node in (node for root in (query.pattern, *query.outputs) for node in walk(root)):
        match node:
            case e.Attribute(event, name):
                for type in types.get(subject(event), ()):
                    found[type].add(bare(name))
            case e.Whole(event):
                whole |= types.get(subject(event), set())
            case e.Same(attributes):
                for columns in found.values():
                    columns.update(map(bare, attributes))
    return {type: None if type in whole else frozenset(columns) for type, columns in found.items()}
