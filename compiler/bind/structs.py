"""The types of what references reach: values, events, iterations of closures."""

from __future__ import annotations

from neelc.bind.event_types import KnownType
from neelc.bind.scopes import CLOSURE, EVENT, Declared
from neelc.bind.visibility import Place
from neelc.ir import expr as e
from neelc.ir.names import bare, same, written
from neelc.ir.types import VOID, Array, DataType, Struct, StructField


def value_type(value: e.Expr) -> DataType:
    """The type of a bound value; over a list, that of one element."""
    match value:
        case e.Attribute() | e.Whole() | e.EventTime() | e.Field() | e.Item() | e.MatchProperty():
            return value.type
        case e.Literal() | e.Cast() | e.Aggregate():
            return value.type
        case e.Call(type=DataType() as kind):
            return kind
    return VOID


def event_time(known: KnownType, name: str) -> str | None:
    """Which end of an event's time `name` means: a match of a named query also has a `match_start`."""
    names = {"ts": "ts", "te": "te"}
    if known.is_query:
        names |= {"match_start": "ts", "match_end": "te"}
    return next((end for word, end in names.items() if same(name, word)), None)


def struct_of(variable: Declared, place: Place) -> DataType | None:
    known = place.types.get(variable.type or "")
    return None if known is None else known.struct


def iteration_struct(closure: Declared, place: Place) -> DataType | None:
    """One iteration of a closure: a struct with a field for each variable of its body."""
    fields = []
    for v in place.scopes.iteration(closure):
        kind = iteration_struct(v, place) if v.kind == CLOSURE else struct_of(v, place)
        if kind is None:
            return None
        fields.append(StructField(written(bare(v.name)), kind if v.kind == EVENT else Array(kind)))
    return Struct(tuple(fields))
