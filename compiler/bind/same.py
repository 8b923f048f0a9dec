"""`[id]` and PARTITION BY: one attribute that all events have, and have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from neelc.bind.coercion import common_of, is_orderable
from neelc.bind.components import paths
from neelc.bind.event_types import KnownType, why_no_attribute
from neelc.bind.visibility import Place
from neelc.ir.expr import Same
from neelc.ir.names import bare, written
from neelc.ir.pattern import Event, Pattern
from neelc.ir.types import DataType
from neelc.source import Span


def bind_same(node: Same, part: Pattern, place: Place) -> Same | None:
    """`[id]` on all events of a part, the negative ones included."""
    found = shared_attributes(
        {name: place.findings.word(name, node) for name in node.attributes}, part, place
    )
    return None if found is None else replace(node, attributes=found)


def shared_attributes(names: Mapping[str, Span], part: Pattern, place: Place) -> tuple[str, ...] | None:
    """The attributes as the types of the part declare them; None, after a report, if a type lacks one."""
    types: dict[str, KnownType] = {}
    for _, event in paths(part):
        if isinstance(event, Event):
            known = place.types.get(event.type)
            if known is None:
                return None  # an unknown type has been reported
            types[event.type] = known
    found = [_shared(name, span, types, place) for name, span in names.items()]
    return None if None in found else tuple(name for name in found if name is not None)


def _shared(name: str, span: Span, types: Mapping[str, KnownType], place: Place) -> str | None:
    kinds: dict[str, DataType] = {}
    declared = name
    for type_name, known in types.items():
        column = known.attribute(name)
        if column is None:
            _, message, hint = why_no_attribute(known, name, type_name)
            said = f"`{bare(name)}` must be an attribute of every event concerned: {message}"
            place.findings.report("NEEL2015", said, span, hint)
            return None
        declared = written(column.name) if not kinds else declared
        kinds[type_name] = column.type
    if common_of(kinds.values(), strings=False) is None or not all(map(is_orderable, kinds.values())):
        said = ", ".join(f"{kind} in {type_name}" for type_name, kind in kinds.items())
        message = f"attribute `{bare(name)}` cannot be compared: it is {said}"
        hint = f"compare converted values instead: CAST(a.{name} AS STRING) = b.{name}"
        place.findings.report("NEEL2016", message, span, hint)
        return None
    return declared
