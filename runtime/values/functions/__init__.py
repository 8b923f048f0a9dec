"""The scalar functions, on single values: of NULL they are NULL, but for those that are about NULL."""

from __future__ import annotations

import math
from collections.abc import Callable

from neelc.runtime.values.functions.arrays import ARRAYS, ARRAYS_AND_NULLS, value_of
from neelc.runtime.values.functions.encodings import ENCODINGS
from neelc.runtime.values.functions.hashes import HASHES
from neelc.runtime.values.functions.json import JSON
from neelc.runtime.values.functions.json_values import (
    from_json,
    is_variant_null,
    parse_json,
    to_json,
    variant_get,
)
from neelc.runtime.values.functions.numbers import NUMBERS
from neelc.runtime.values.functions.regular_expressions import is_like, regular_expression
from neelc.runtime.values.functions.space import SPACE
from neelc.runtime.values.functions.texts import TEXTS, concat_ws, elt, mask
from neelc.runtime.values.functions.times import TIMES, extract
from neelc.runtime.values.order import extreme, order
from neelc.runtime.values.types import StructOf, ValueType

__all__ = [
    "ABOUT_NULL",
    "FUNCTIONS",
    "OF_TYPE",
    "OF_TYPES",
    "STRUCTS",
    "extract",
    "field_of",
    "is_like",
    "item_of",
    "regular_expression",
]

Function = Callable[..., object]


def _first_not_null(*values: object) -> object:
    return next((value for value in values if value is not None), None)


def _nullif(left: object, right: object) -> object:
    same = left is not None and right is not None and order(left, right) == 0
    return None if same else left


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


# These see NULLs.
ABOUT_NULL: dict[str, Function] = {
    **ARRAYS_AND_NULLS,
    **HASHES,
    "to_json": to_json,
    "coalesce": _first_not_null,
    "concat_ws": concat_ws,
    "elt": elt,
    "greatest": lambda *values: extreme(values, 1),
    "if": lambda condition, then, otherwise: then if condition is True else otherwise,
    "ifnull": _first_not_null,
    "is_variant_null": is_variant_null,
    "isnan": _is_nan,
    "isnotnull": lambda value: value is not None,
    "isnull": lambda value: value is None,
    "least": lambda *values: extreme(values, -1),
    "mask": mask,
    "nanvl": lambda value, other: other if _is_nan(value) else value,
    "nullif": _nullif,
    "nvl": _first_not_null,
    "nvl2": lambda value, present, absent: absent if value is None else present,
}


def field_of(value: object, name: str) -> object:
    """A field of a struct; of an array of structs, the array of that field."""
    match value:
        case dict():
            return value.get(name)
        case list() | tuple():
            return [field_of(item, name) for item in value]
    return None


def item_of(value: object, index: object) -> object:
    """An array's element, counted from 0, or a map's value."""
    match value, index:
        case dict(), _:
            return None if index is None else value_of(value, index)
        case ((list() | tuple()), int()):
            return value[index] if 0 <= index < len(value) else None
    return None


# These are given the types of their arguments after these, and see NULLs.
OF_TYPES: dict[str, Function] = {**HASHES, "to_json": to_json}

FUNCTIONS: dict[str, Function] = {
    **ARRAYS,
    **ENCODINGS,
    **JSON,
    **NUMBERS,
    **SPACE,
    **TEXTS,
    **TIMES,
}


def _struct(*values: object, type: ValueType) -> object:
    assert isinstance(type, StructOf)
    return {name: value for (name, _), value in zip(type.fields, values, strict=True)}


def _shifted(value: int, places: int, type: ValueType, left: bool) -> int:
    """Java's shifts: the places are counted modulo the width, and what leaves it is lost."""
    width = _width(type)
    shifted = value << places % width if left else value >> places % width
    return (shifted + (1 << width - 1)) % (1 << width) - (1 << width - 1)


def _width(type: ValueType) -> int:
    return 64 if type == "bigint" else 32


# These need to know the type of their result.
OF_TYPE: dict[str, Function] = {
    "from_json": from_json,
    **dict.fromkeys(("parse_json", "try_parse_json"), lambda text, type: parse_json(text)),
    "shiftleft": lambda value, places, type: _shifted(value, places, type, left=True),
    "shiftright": lambda value, places, type: _shifted(value, places, type, left=False),
    "shiftrightunsigned": lambda value, places, type: _shifted(
        value % (1 << _width(type)), places, type, left=False
    ),
    **dict.fromkeys(("try_variant_get", "variant_get"), variant_get),
}

# These see NULLs, and need to know the type of their result.
STRUCTS: dict[str, Function] = {
    "struct": _struct,
    "named_struct": lambda *names_and_values, type: _struct(*names_and_values[1::2], type=type),
}
