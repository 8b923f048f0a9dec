"""JSON texts as values of types: from_json, to_json, and what a VARIANT of a text holds.

A VARIANT is the JSON text that parse_json was given: what it holds is read again where it is asked for.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import math
import re
from collections.abc import Iterator
from functools import lru_cache

from neelc.runtime.values.functions.json import (
    ESCAPES,
    JsonArray,
    JsonNumber,
    JsonObject,
    json_text,
    path_of,
    read_json,
)
from neelc.runtime.values.times import zoned
from neelc.runtime.values.types import (
    BITS,
    ArrayOf,
    DecimalOf,
    MapOf,
    StructOf,
    ValueType,
    cast,
    fit,
    float_text,
    quantized,
    text_of,
)

# from_json.


class OtherType(ValueError):
    """A value that is none of the type that is asked for."""


def from_json(text: str, schema: str, type: ValueType) -> object:
    """A text as a value of a type. What does not fit is NULL: a field, or all of an array or a map.

    >>> from_json('{"a": 1, "b": "x"}', "", StructOf((("a", "int"), ("b", "int"))))
    {'a': 1, 'b': None}
    >>> from_json("[1, 2", "", ArrayOf("int")), from_json(" ", "", StructOf((("a", "int"),)))
    (None, None)
    """
    if not text.strip():
        return None
    try:
        return _value(read_json(text), type, is_root=True)
    except (ValueError, KeyError):
        return {name: None for name, _ in type.fields} if isinstance(type, StructOf) else None


def _value(value: object, type: ValueType, is_root: bool = False) -> object:
    if value is None and not is_root:
        return None
    match type, value:
        case StructOf(fields), JsonObject():
            found = dict(value.fields)
            return {name: _field(found.get(name), kind) for name, kind in fields}
        case MapOf(_, to), JsonObject():
            return {name: _value(one, to) for name, one in value.fields}
        case ArrayOf(element), JsonArray():
            return [_value(one, element) for one in value.values]
        case DecimalOf(precision, scale), JsonNumber(text):
            return quantized(decimal.Decimal(text), precision, scale)
        case DecimalOf(precision, scale), str() if _DECIMAL.match(value):
            return quantized(decimal.Decimal(value.replace(",", "")), precision, scale)
        case "string", _:
            return value if isinstance(value, str) else json_text(value)
        case "boolean", bool():
            return value
        case (("float" | "double"), JsonNumber(text)):
            return fit(float(text), type)
        case (("float" | "double"), str()) if value in _SPECIAL:
            return _SPECIAL[value]
        case str(), JsonNumber(text) if type in BITS and text.lstrip("-").isdigit():
            return fit(int(text), type)
    raise OtherType(value)


def _field(value: object, type: ValueType) -> object:
    try:
        return _value(value, type)
    except OtherType:
        return None


_DECIMAL = re.compile(r"[+-]?(?:[0-9][0-9,]*\.?[0-9,]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?\Z")
_SPECIAL = {
    "NaN": math.nan,
    **dict.fromkeys(("INF", "+INF", "Infinity", "+Infinity"), math.inf),
    **dict.fromkeys(("-INF", "-Infinity"), -math.inf),
}


# VARIANTs.


@lru_cache(maxsize=1024)
def variant_of(text: str) -> object:
    """What a VARIANT holds; raises `ValueError` or `KeyError` if the text is no JSON.

    >>> variant_of("[1, 2]"), variant_of("{'a': 1}")
    Traceback (most recent call last):
    ValueError: {'a': 1}
    """
    return read_json(text, is_strict=True)


def parse_json(text: str) -> str:
    """The text, if it is JSON."""
    variant_of(text)
    return text


def is_variant_null(variant: str | None) -> bool:
    """Whether it holds null; without a VARIANT, it does not."""
    return variant is not None and variant_of(variant) is None


def variant_get(variant: str, path: str, target: str, type: ValueType) -> object:
    """What a path leads to, as a value of a type; NULL where it is none.

    >>> variant_get('{"a": [1.50, "x"]}', "$.a[0]", "", "string"), variant_get('{"a": "7"}', "$.a", "", "int")
    ('1.5', 7)
    """
    value = variant_of(variant)
    for step in path_of(path):
        match value, step:
            case JsonObject(fields), str():
                value = dict(fields).get(step)
            case JsonArray(values), int() if step < len(values):
                value = values[step]
            case _:
                return None
    return _converted(value, type)


def _converted(value: object, type: ValueType) -> object:
    match type, value:
        case _, None:
            return None
        case StructOf(of), JsonObject(fields):
            found = dict(fields)
            return {name: _converted(found.get(name), kind) for name, kind in of}
        case MapOf(_, to), JsonObject(fields):
            return {name: _converted(one, to) for name, one in fields}
        case ArrayOf(element), JsonArray(values):
            return [_converted(one, element) for one in values]
        case "string", _:
            return value if isinstance(value, str) else variant_text(value)
        case (_, (JsonObject() | JsonArray())) | ((StructOf() | MapOf() | ArrayOf()), _):
            return None
        case "date", str():
            return cast(value, "string", type)
        case "date", _:
            return None
        case _, JsonNumber(text):
            number, source = _number(text)
            return cast(number, source, type)
    return cast(value, "boolean" if isinstance(value, bool) else "string", type)


LARGEST = 38
"""Digits of a number that is no DOUBLE."""


@lru_cache(maxsize=1024)
def _number(text: str) -> tuple[object, ValueType]:
    """A number and its type: one with an exponent, or with too many digits, is a DOUBLE.

    >>> _number("1.50"), _number("1e3"), _number("-0")
    ((Decimal('1.5'), DecimalOf(precision=38, scale=1)), (1000.0, 'double'), (0, 'bigint'))
    """
    whole, _, fraction = text.lstrip("-").partition(".")
    digits = len((whole + fraction).lstrip("0"))
    if "e" in text or "E" in text or max(digits, len(fraction)) > LARGEST:
        return float(text), "double"
    if not fraction and digits < 19:
        return int(text), "bigint"
    found = decimal.Decimal(text)
    if found.is_zero():
        return 0, "bigint"
    shown = format(found, "f")
    found = decimal.Decimal(shown.rstrip("0").rstrip(".") if fraction else shown)
    exponent = found.as_tuple().exponent
    return found, DecimalOf(LARGEST, max(0, -exponent) if isinstance(exponent, int) else 0)


def variant_text(value: object) -> str:
    """What a VARIANT holds as JSON: the fields of an object in the order of their names.

    >>> variant_text(variant_of('{"b": 1.50, "a": [1e3, null]}'))
    '{"a":[1000.0,null],"b":1.5}'
    """
    match value:
        case None:
            return "null"
        case str():
            return _quoted(value)
        case JsonNumber(text):
            number, _ = _number(text)
            return _scalar(number, False)
        case JsonArray(values):
            return "[" + ",".join(map(variant_text, values)) + "]"
        case JsonObject(fields):
            ordered = sorted(fields, key=lambda field: field[0].encode("utf-16-be", "surrogatepass"))
            return "{" + ",".join(f"{_quoted(name)}:{variant_text(one)}" for name, one in ordered) + "}"
    return "true" if value else "false"


# to_json.


def to_json(value: object, type: ValueType) -> str | None:
    """A value as JSON; fields that are NULL are left out.

    >>> kind = StructOf((("a", "int"), ("b", "int"), ("c", ArrayOf("float"))))
    >>> to_json({"a": 1, "b": None, "c": [0.5, None]}, kind)
    '{"a":1,"c":[0.5,null]}'
    """
    if value is None:
        return None
    if type == "variant":
        assert isinstance(value, str)
        return variant_text(variant_of(value))
    return _json(value, type)


def _json(value: object, type: ValueType) -> str:
    match type, value:
        case _, None:
            return "null"
        case StructOf(fields), dict():
            there = ((name, value.get(name), kind) for name, kind in fields)
            return _object((name, _json(one, kind)) for name, one, kind in there if one is not None)
        case MapOf(key, to), dict():
            return _object((text_of(name, key), _json(one, to)) for name, one in value.items())
        case ArrayOf(element), list() | tuple():
            return "[" + ",".join(_json(one, element) for one in value) + "]"
    return _scalar(value, type == "float")


def _object(fields: Iterator[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{_quoted(name)}:{text}" for name, text in fields) + "}"


def _scalar(value: object, is_single: bool) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            text = float_text(value, is_single)
            return text if math.isfinite(value) else f'"{text}"'
        case decimal.Decimal():
            return format(value, "f")
        case datetime.datetime() if value.tzinfo:
            local = zoned(value)
            offset = local.isoformat()[-6:] if local.utcoffset() else "Z"
            return f'"{_moment(local.replace(tzinfo=None))}{offset}"'
        case datetime.datetime():
            return f'"{_moment(value)}"'
        case bytes():
            return f'"{base64.b64encode(value).decode()}"'
    return _quoted(str(value))


def _moment(local: datetime.datetime) -> str:
    """With thousandths of a second; what is finer is cut off."""
    return local.isoformat(timespec="milliseconds")


def _quoted(text: str) -> str:
    return f'"{text.translate(ESCAPES)}"'
