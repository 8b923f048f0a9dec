"""Functions of arrays and maps. Those of `ARRAYS` are of values that are not NULL; what is in an array may
be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key

from neelc.runtime.values.functions.texts import LONGEST
from neelc.runtime.values.order import comparable, extreme, order

Function = Callable[..., object]
Values = Sequence[object]


def value_of(mapping: dict[object, object], key: object) -> object:
    """The value of a key, as Spark compares keys."""
    return next((value for other, value in mapping.items() if order(other, key) == 0), None)


def element_at(collection: object, key: object) -> object:
    """An array's element, counted from 1 or, if negative, from the end; a map's value."""
    if isinstance(collection, dict):
        return value_of(collection, key)
    if key == 0:
        raise IndexError
    return collection[key - 1 if key > 0 else key]  # type: ignore[index, operator]


def array_contains(array: Values | None, value: object) -> bool | None:
    if array is None or value is None:
        return None
    if any(item is not None and order(item, value) == 0 for item in array):
        return True
    return None if any(item is None for item in array) else False


def distinct(values: Iterable[object]) -> list[object]:
    """Each value where it is first.

    >>> distinct([1, None, 1, None, 2])
    [1, None, 2]
    """
    found: dict[object, object] = {}
    for value in values:
        found.setdefault(comparable(value), value)
    return list(found.values())


def common_values(one: Values, other: Values, wanted: bool = True) -> list[object]:
    """The distinct values of an array that are in the other, or that are not."""
    known = {comparable(value) for value in other}
    return [value for value in distinct(one) if (comparable(value) in known) == wanted]


def overlap(one: Values, other: Values) -> bool | None:
    """Whether the arrays have a value in common; NULL if one that is NULL could be it."""
    if any(value is not None for value in common_values(one, other)):
        return True
    return None if one and other and (None in one or None in other) else False


def place(array: Values, value: object) -> int:
    """Where a value is first, counted from 1; 0 if it is not there."""
    return next(
        (number for number, item in enumerate(array, 1) if item is not None and order(item, value) == 0), 0
    )


def without(array: Values, value: object) -> list[object]:
    """array_remove: NULLs stay."""
    return [item for item in array if item is None or order(item, value) != 0]


def in_order(array: Values, descends: bool = False, nulls_first: bool = True) -> list[object]:
    """
    >>> in_order([3, None, 1]), in_order([3, None, 1], descends=True, nulls_first=False)
    ([None, 1, 3], [3, 1, None])
    """
    known = sorted((item for item in array if item is not None), key=cmp_to_key(order), reverse=descends)
    nulls = [None] * (len(array) - len(known))
    return [*nulls, *known] if nulls_first else [*known, *nulls]


def sort_array(array: Values, ascends: bool = True) -> list[object]:
    return in_order(array, not ascends, ascends)


def cut_out(array: Values, start: int, length: int) -> list[object]:
    """slice: from a place on, counted from 1 or from the end.

    >>> cut_out([1, 2, 3, 4], -2, 2), cut_out([1, 2, 3, 4], -5, 2)
    ([3, 4], [])
    """
    if start == 0 or length < 0:
        raise ValueError
    begin = start - 1 if start > 0 else len(array) + start
    return list(array[begin : begin + length]) if begin >= 0 else []


def joined(array: Values, separator: str, null: str | None = None) -> str:
    """array_join: NULLs are left out, or are what stands for them."""
    return separator.join(
        str(null if item is None else item) for item in array if item is not None or null is not None
    )


def flatten(arrays: Sequence[Values | None]) -> list[object] | None:
    """NULL if one of the arrays is."""
    if None in arrays:
        return None
    return [item for array in arrays if array is not None for item in array]


def sequence(start: int, stop: int, step: int | None = None) -> list[int]:
    """The numbers from one to another; without a step, one by one, upwards or downwards.

    >>> sequence(1, 5, 2), sequence(3, 1)
    ([1, 3, 5], [3, 2, 1])
    """
    step = step if step is not None else 1 if start <= stop else -1
    if start == stop:
        return [start]
    if step == 0 or (step > 0) != (start < stop):
        raise ValueError(step)
    if abs(stop - start) // abs(step) + 1 > LONGEST:
        raise OverflowError
    return list(range(start, stop + (1 if step > 0 else -1), step))


def mapping_of(keys: Values, values: Values) -> dict[object, object]:
    """A map; no key may be NULL, or there twice."""
    if len(keys) != len(values) or None in keys or len({comparable(key) for key in keys}) < len(keys):
        raise ValueError(keys)
    return dict(zip(keys, values, strict=True))


def joined_maps(*maps: dict[object, object]) -> dict[object, object]:
    keys = [key for one in maps for key in one]
    return mapping_of(keys, [value for one in maps for value in one.values()])


def map_from_entries(entries: Sequence[dict[str, object] | None]) -> dict[object, object] | None:
    """NULL if one of the entries is."""
    pairs = [tuple(entry.values()) for entry in entries if entry is not None]
    if len(pairs) < len(entries):
        return None
    return mapping_of([key for key, _ in pairs], [value for _, value in pairs])


ARRAYS: dict[str, Function] = {
    "array_compact": lambda array: [item for item in array if item is not None],
    "array_distinct": distinct,
    "array_except": lambda one, other: common_values(one, other, wanted=False),
    "array_intersect": common_values,
    "array_join": joined,
    "array_max": lambda array: extreme(array, 1),
    "array_min": lambda array: extreme(array, -1),
    "array_position": place,
    "array_remove": without,
    "array_size": len,
    "array_sort": lambda array: in_order(array, nulls_first=False),
    "array_union": lambda one, other: distinct([*one, *other]),
    "arrays_overlap": overlap,
    "cardinality": len,
    "element_at": element_at,
    "flatten": flatten,
    "get": lambda array, index: array[index] if 0 <= index < len(array) else None,
    "map_concat": joined_maps,
    "map_contains_key": lambda mapping, key: any(order(other, key) == 0 for other in mapping),
    "map_entries": lambda mapping: [{"key": key, "value": value} for key, value in mapping.items()],
    "map_from_arrays": mapping_of,
    "map_from_entries": map_from_entries,
    "map_keys": list,
    "map_values": lambda mapping: list(mapping.values()),
    "sequence": sequence,
    "size": len,
    "slice": cut_out,
    "sort_array": sort_array,
}


def array_insert(array: Values | None, number: int | None, value: object) -> list[object] | None:
    """A value at a place, counted from 1 or from the end; NULLs fill what is missing before it.

    >>> array_insert([1, 2], 4, 5), array_insert([1, 2], -1, 5), array_insert([1, 2], -5, 5)
    ([1, 2, None, 5], [1, 2, 5], [5, None, None, 1, 2])
    """
    if array is None or number is None:
        return None
    if number == 0:
        raise IndexError
    if max(abs(number), len(array) + 1) > LONGEST:
        raise OverflowError
    at = number - 1 if number > 0 else len(array) + number + 1
    if at < 0:
        return [value, *[None] * -at, *array]
    return [*array[:at], *[None] * (at - len(array)), value, *array[at:]]


def array_repeat(value: object, times: int | None) -> list[object] | None:
    if times is None:
        return None
    if times > LONGEST:
        raise OverflowError
    return [value] * times


# These see NULLs.
ARRAYS_AND_NULLS: dict[str, Function] = {
    "array": lambda *values: list(values),
    "array_append": lambda array, value: None if array is None else [*array, value],
    "array_contains": array_contains,
    "array_insert": array_insert,
    "array_prepend": lambda array, value: None if array is None else [value, *array],
    "array_repeat": array_repeat,
    "map": lambda *values: mapping_of(values[::2], values[1::2]),
}
