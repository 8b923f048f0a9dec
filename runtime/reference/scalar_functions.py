"""Calls of scalar functions: NULL in, NULL out, but for those that are about NULL."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from neelc.ir.names import bare
from neelc.ir.types import BIGINT, DataType, Struct
from neelc.runtime.reference.functions_of_numbers import NUMBERS
from neelc.runtime.reference.functions_of_texts import TEXTS, concat_ws
from neelc.runtime.reference.functions_of_times import TIMES
from neelc.runtime.reference.values import FAILURES, fit, order

Function = Callable[..., object]


def _first_not_null(*values: object) -> object:
    return next((value for value in values if value is not None), None)


def extreme(values: Sequence[object], sign: int) -> object:
    """The greatest (`sign` 1) or least (-1) value; NULLs do not count, and of nothing it is NULL."""
    found: object = None
    for value in values:
        if value is not None and (found is None or order(value, found) == sign):
            found = value
    return found


def _nullif(left: object, right: object) -> object:
    same = left is not None and right is not None and order(left, right) == 0
    return None if same else left


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _array_contains(array: Sequence[object] | None, value: object) -> bool | None:
    if array is None or value is None:
        return None
    if any(item is not None and order(item, value) == 0 for item in array):
        return True
    return None if any(item is None for item in array) else False


# These see NULLs.
ABOUT_NULL: dict[str, Function] = {
    "array": lambda *values: list(values),
    "array_contains": _array_contains,
    "coalesce": _first_not_null,
    "concat_ws": concat_ws,
    "greatest": lambda *values: extreme(values, 1),
    "if": lambda condition, then, otherwise: then if condition is True else otherwise,
    "ifnull": _first_not_null,
    "isnan": _is_nan,
    "isnotnull": lambda value: value is not None,
    "isnull": lambda value: value is None,
    "least": lambda *values: extreme(values, -1),
    "nanvl": lambda value, other: other if _is_nan(value) else value,
    "nullif": _nullif,
    "nvl": _first_not_null,
    "nvl2": lambda value, present, absent: absent if value is None else present,
}


def _element_at(collection: object, key: object) -> object:
    """An array's element, counted from 1 or, if negative, from the end; a map's value."""
    if isinstance(collection, dict):
        return value_of(collection, key)
    if key == 0:
        raise IndexError
    return collection[key - 1 if key > 0 else key]  # type: ignore[index, operator]


def value_of(mapping: dict[object, object], key: object) -> object:
    """The value of a key, as Spark compares keys."""
    return next((value for other, value in mapping.items() if order(other, key) == 0), None)


FUNCTIONS: dict[str, Function] = {
    **NUMBERS,
    **TEXTS,
    **TIMES,
    "cardinality": len,
    "element_at": _element_at,
    "size": len,
}


def _struct(type: DataType, *values: object) -> object:
    assert isinstance(type, Struct)
    return {bare(field.name): value for field, value in zip(type.fields, values, strict=True)}


def _shifted(type: DataType, value: int, places: int, left: bool) -> int:
    """Java's shifts: the places are counted modulo the width, and what leaves it is lost."""
    width = 64 if type == BIGINT else 32
    shifted = value << places % width if left else value >> places % width
    return (shifted + (1 << width - 1)) % (1 << width) - (1 << width - 1)


# These need to know the type of their result.
OF_TYPE: dict[str, Function] = {
    "shiftleft": lambda type, value, places: _shifted(type, value, places, left=True),
    "shiftright": lambda type, value, places: _shifted(type, value, places, left=False),
}


def call(name: str, arguments: Sequence[object], type: DataType) -> object:
    """The value of a function.

    >>> from neelc.ir.types import INT
    >>> call("coalesce", (None, 5), INT), call("abs", (-(2**31),), INT), call("abs", (None,), INT)
    (5, None, None)
    """
    try:
        match name:
            case "struct":
                return _struct(type, *arguments)
            case "named_struct":
                return _struct(type, *arguments[1::2])
        if name in ABOUT_NULL:
            return fit(ABOUT_NULL[name](*arguments), type)
        if any(argument is None for argument in arguments):
            return None
        if name in OF_TYPE:
            return OF_TYPE[name](type, *arguments)
        return fit(FUNCTIONS[name](*arguments), type)
    except FAILURES:
        return None
