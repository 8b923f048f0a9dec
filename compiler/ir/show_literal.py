"""The text of constants.

>>> import decimal
>>> from neelc.ir import types as t
>>> print(Literal(5, t.BIGINT), Literal(1.5, t.DOUBLE), Literal(decimal.Decimal("1.50"), t.Decimal(3, 2)))
5L 1.5D 1.50
>>> print(Literal("it's", t.STRING), Literal(b"\\x1f", t.BINARY), Literal("2020-01-01", t.DATE))
'it''s' X'1F' DATE '2020-01-01'
"""

from __future__ import annotations

import decimal
import math

from neelc.ir.expr import Literal
from neelc.ir.types import Simple

_INTEGER_SUFFIX = {"TINYINT": "Y", "SMALLINT": "S", "BIGINT": "L"}


def quoted(text: str) -> str:
    """A string literal. Backslashes stand for themselves.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def show_literal(node: Literal) -> str:
    name = node.type.name if isinstance(node.type, Simple) else ""
    match node.value:
        case None:
            return "NULL"
        case bool(value):
            return "TRUE" if value else "FALSE"
        case int(value):
            return f"{value}{_INTEGER_SUFFIX.get(name, '')}"
        case float(value):
            return _show_float(value, name)
        case decimal.Decimal() as value:
            text = format(value, "f")
            return text if "." in text else f"{text}BD"
        case bytes(value):
            return f"X'{value.hex().upper()}'"
        case str(value):
            return quoted(value) if name == "STRING" else f"{name} {quoted(value)}"


def _show_float(value: float, name: str) -> str:
    if not math.isfinite(value):  # there is no literal for these; the binder may have folded one
        word = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f"CAST('{word}' AS {name})"
    mantissa, mark, exponent = repr(value).partition("e")
    text = f"{mantissa}E{int(exponent)}" if mark else mantissa
    if name == "FLOAT":
        return f"{text}F"
    return text if mark else f"{text}D"
