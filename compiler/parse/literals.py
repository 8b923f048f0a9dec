"""Numbers, strings, typed constants, intervals and data types."""

from __future__ import annotations

import difflib
import re
from decimal import Decimal
from typing import Any

from neelc.ir import types
from neelc.ir.expr import Interval, IntervalPart, Literal
from neelc.ir.names import bare
from neelc.parse.problem import fail, span_of
from neelc.parse.units import unit

_NUMBER = re.compile(r"([0-9.]+(?:E[+-]?[0-9]+)?)(L|S|Y|D|F|BD)?\Z", re.IGNORECASE)
_WHOLE = {"L": (types.BIGINT, 63), "S": (types.SMALLINT, 15), "Y": (types.TINYINT, 7)}
_TYPED = {
    "DATE": types.DATE,
    "TIMESTAMP": types.TIMESTAMP,
    "TIMESTAMP_LTZ": types.TIMESTAMP,
    "TIMESTAMP_NTZ": types.TIMESTAMP_NTZ,
}
# Types of other databases.
_MEANT = {"CHAR": "STRING", "DATETIME": "TIMESTAMP", "NUMBER": "DECIMAL(p, s)", "VARCHAR": "STRING"}


def number(token: Any) -> Literal:
    """A number as Spark reads it: `5` INT, `1.5` DECIMAL(2, 1), `1e3` DOUBLE, `0.9f` FLOAT, `5L` BIGINT."""
    span = span_of(token)
    matched = _NUMBER.match(token.getText())
    assert matched is not None
    digits, suffix = matched[1], (matched[2] or "").upper()
    whole = digits.isdigit()
    if suffix in _WHOLE:
        kind, bits = _WHOLE[suffix]
        if not whole or int(digits) >= 2**bits:
            hint = f"the suffix {suffix} makes a {kind.name}; without it, the number has a type that holds it"
            fail("NEEL1005", f"`{token.getText()}` is not a {kind.name}", span, hint)
        return Literal(int(digits), kind, span=span)
    if suffix in ("D", "F") or (not suffix and "e" in digits.lower()):
        value = float(digits)
        if value == float("inf"):
            fail("NEEL1005", f"`{token.getText()}` is too large for a DOUBLE", span)
        return Literal(value, types.FLOAT if suffix == "F" else types.DOUBLE, span=span)
    if whole and not suffix and int(digits) < 2**63:
        return Literal(int(digits), types.INT if int(digits) < 2**31 else types.BIGINT, span=span)
    return _decimal(digits, span, token)


def _decimal(digits: str, span: Any, token: Any) -> Literal:
    value = Decimal(digits)
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    if exponent > 0:
        value, exponent = value.quantize(Decimal(1)), 0
    precision = max(len(value.as_tuple().digits), -exponent)
    if precision > 38:
        hint = "with an exponent it is a DOUBLE: 1e-42"
        fail("NEEL1005", f"`{token.getText()}` has more than the 38 digits of a DECIMAL", span, hint)
    return Literal(value, types.Decimal(precision, -exponent), span=span)


def whole_number(token: Any) -> int:
    """A number that must be a plain whole one: in `{2,3}`, LIMIT and DECIMAL(10, 2)."""
    text: str = token.getText()
    if not text.isdigit():
        fail("NEEL1005", f"`{text}` is not a whole number", token)
    return int(text)


def unquoted(text: str) -> str:
    """
    >>> unquoted("'it''s'"), unquoted('"so"')
    ("it's", 'so')
    """
    return text[1:-1].replace(text[0] * 2, text[0])


def string(token: Any) -> Literal:
    return Literal(unquoted(token.getText()), types.STRING, span=span_of(token))


def binary(token: Any) -> Literal:
    digits = token.getText()[2:-1]
    return Literal(bytes.fromhex("0" * (len(digits) % 2) + digits), types.BINARY, span=span_of(token))


def typed_constant(name: str, text: Any, context: Any) -> Literal:
    """`DATE '2020-01-31'` and its kin."""
    kind = _TYPED.get(name.upper())
    if kind is None:
        fail(
            "NEEL1005",
            f"`{name}` does not begin a constant",
            context,
            "constants: DATE '2020-01-31', TIMESTAMP '2020-01-31 12:00:00', INTERVAL '5' MINUTE, X'1F'",
        )
    return Literal(unquoted(text.getText()), kind, span=span_of(context))


def interval(context: Any) -> Interval:
    """`INTERVAL '1' DAY 2 HOURS`, `INTERVAL '1 day 2 hours'`, `INTERVAL '1 10:00' DAY TO MINUTE`.

    A sign before the first quantity belongs to that one, as Spark has it.
    """
    parts: list[IntervalPart] = []
    sign = "-" if context.MINUS() else ""
    for part in context.intervalPart():
        quoted, names = part.STRING(), part.name()
        quantity = sign + (unquoted(quoted.getText()).strip() if quoted else part.NUMBER().getText())
        sign = ""
        if names:
            first, *second = (unit(n.getText(), n) for n in names)
            parts.append(IntervalPart(quantity, first, second[0] if second else None, span=span_of(part)))
        else:
            parts.extend(_words(quantity, part))
    return Interval(tuple(parts), span=span_of(context))


def _words(text: str, place: Any) -> list[IntervalPart]:
    words = text.split()
    if not words or len(words) % 2:
        fail("NEEL1005", f"`{text}` is not an interval", place, "for example INTERVAL '1 day 2 hours'")
    return [
        IntervalPart(q, unit(u, place), span=span_of(place))
        for q, u in zip(words[::2], words[1::2], strict=True)
    ]


def data_type(context: Any) -> types.DataType:
    """A type as Spark SQL writes it."""
    names = context.name() if isinstance(context.name(), list) else [context.name()]
    if context.getChild(0).getText().upper() == "INTERVAL":
        first = unit(names[0].getText(), names[0])
        return types.YEAR_INTERVAL if first in ("YEAR", "MONTH") else types.DAY_INTERVAL
    written = bare(names[0].getText()).upper()
    name = types.SYNONYMS.get(written, written)
    numbers = [whole_number(n) for n in context.NUMBER()]
    inner = context.typeArgument()
    if name == "DECIMAL" and not inner and len(numbers) <= 2:
        return _decimal_type(numbers, context)
    if name == "ARRAY" and len(inner) == 1 and not inner[0].name():
        return types.Array(data_type(inner[0].dataType()), span=span_of(context))
    if name == "MAP" and len(inner) == 2 and not any(i.name() for i in inner):
        return types.Map(
            data_type(inner[0].dataType()), data_type(inner[1].dataType()), span=span_of(context)
        )
    if name == "STRUCT" and inner and all(i.name() for i in inner):
        fields = (
            types.StructField(i.name().getText(), data_type(i.dataType()), span=span_of(i)) for i in inner
        )
        return types.Struct(tuple(fields), span=span_of(context))
    if name in ("CHAR", "VARCHAR") and len(numbers) == 1 and not inner:
        return types.STRING
    if name not in types.SIMPLE_TYPES or numbers or inner:
        fail("NEEL1005", f"`{context.getText()}` is not a type", context, _type_hint(name))
    return types.SIMPLE_TYPES[name]


def _type_hint(name: str) -> str:
    known = [n for n in types.SIMPLE_TYPES if " " not in n and n != "VOID"]
    close = difflib.get_close_matches(name, [*known, *types.SYNONYMS], 1, 0.75)
    meant = _MEANT.get(name) or (close[0] if close and close[0] != name else None)
    if meant is not None:
        return f"did you mean {meant}?"
    return "types: " + ", ".join([*known, "DECIMAL(p, s)", "ARRAY<t>", "MAP<k, v>", "STRUCT<name: t>"])


def _decimal_type(numbers: list[int], context: Any) -> types.Decimal:
    precision, scale = (numbers + [10, 0][len(numbers) :])[:2]
    if not 1 <= precision <= 38 or scale > precision:
        hint = "a DECIMAL(p, s) has p digits, 38 at most, and s of them stand after the point"
        fail("NEEL1005", f"`{context.getText()}` is not a type", context, hint)
    return types.Decimal(precision, scale, span=span_of(context))
