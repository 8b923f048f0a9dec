"""VARIANTs: which values they hold, and their texts, as Spark's to_json writes them."""

from __future__ import annotations

import base64
import datetime
import decimal
import math
from collections.abc import Iterable, Sequence

from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.types import FLOAT, STRING, Array, DataType, Map, Struct
from neelc.runtime.values.times import timestamp_text, zoned
from neelc.runtime.values.types import float_text, text_of
from neelc.scalar.type_of import INTERVALS, value_type

NamedValue = tuple[str, object, DataType]


def is_storable(kind: DataType) -> bool:
    """Whether a VARIANT can hold values of a type: it has no intervals, and no maps of other keys than
    texts."""
    parts = list(walk(kind))
    return not any(part in INTERVALS or (isinstance(part, Map) and part.key != STRING) for part in parts)


def as_object(values: Sequence[NamedValue]) -> str | None:
    """Named values as a JSON object; None if there are none.

    >>> from neelc.ir.types import BIGINT, DOUBLE
    >>> as_object([("b", 1, BIGINT), ("a", None, DOUBLE)]), as_object([])
    ('{"a":null,"b":1}', None)
    """
    if not values:
        return None
    return _object(
        (name, variant_json(_stored(value, kind), _stored_type(kind))) for name, value, kind in values
    )


def _stored(value: object, kind: DataType) -> object:
    return value if value is None or is_storable(kind) else text_of(value, value_type(kind))


def _stored_type(kind: DataType) -> DataType:
    return kind if is_storable(kind) else STRING


def variant_json(value: object, kind: DataType) -> str:
    """A value as JSON: names in alphabetical order, numbers as Java writes them.

    >>> from neelc.ir.types import DOUBLE, Decimal
    >>> variant_json([1e20, None], Array(DOUBLE)), variant_json(decimal.Decimal("1.50"), Decimal(3, 2))
    ('[1.0E20,null]', '1.5')
    """
    match kind, value:
        case _, None:
            return "null"
        case Array(element), list() | tuple():
            return "[" + ",".join(variant_json(item, element) for item in value) + "]"
        case Map(_, to), dict():
            return _object((str(name), variant_json(item, to)) for name, item in value.items())
        case Struct(fields), dict():
            named = ((bare(field.name), field.type) for field in fields)
            return _object((name, variant_json(value.get(name), of)) for name, of in named)
    return _scalar_json(value, kind)


def _scalar_json(value: object, kind: DataType) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            text = float_text(value, kind == FLOAT)
            return text if math.isfinite(value) else json_string(text)
        case decimal.Decimal():
            text = format(value, "f")
            return text.rstrip("0").rstrip(".") if "." in text else text
        case datetime.datetime() if value.tzinfo:
            return json_string(timestamp_text(value) + zoned(value).isoformat()[-6:])
        case datetime.datetime():
            return json_string(timestamp_text(value))
        case bytes():
            return json_string(base64.b64encode(value).decode())
    return json_string(str(value))


def _object(fields: Iterable[tuple[str, str]]) -> str:
    ordered = sorted(fields, key=lambda field: order_of_name(field[0]))
    return "{" + ",".join(f"{json_string(name)}:{text}" for name, text in ordered) + "}"


def order_of_name(name: str) -> bytes:
    """What the fields of an object are sorted by: Java compares texts by their UTF-16 units."""
    return name.encode("utf-16-be", "surrogatepass")


_ESCAPES = str.maketrans(
    {chr(code): f"\\u{code:04X}" for code in range(32)}
    | {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
)


def json_string(text: str) -> str:
    """A text as JSON, with quotes."""
    return f'"{text.translate(_ESCAPES)}"'
