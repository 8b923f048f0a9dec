"""Values as the strings that Spark casts them to."""

from __future__ import annotations

import datetime
import decimal
import math

from neelc.ir.moments import day_interval_text, timestamp_text
from neelc.ir.types import FLOAT, Array, DataType, Map, Struct
from neelc.runtime.reference.values import single


def text_of(value: object, type: DataType) -> str:
    """The string that CAST(value AS STRING) gives.

    >>> from neelc.ir.types import DOUBLE, INT
    >>> text_of(1e10, DOUBLE), text_of(0.1, DOUBLE), text_of([1, None], Array(INT))
    ('1.0E10', '0.1', '[1, null]')
    """
    if value is None:
        return "null"
    match type, value:
        case Array(element), list() | tuple():
            return "[" + ", ".join(text_of(item, element) for item in value) + "]"
        case Struct(fields), dict():
            pairs = zip(value.values(), fields, strict=False)
            return "{" + ", ".join(text_of(item, field.type) for item, field in pairs) + "}"
        case Map(of, to), dict():
            return "{" + ", ".join(f"{text_of(k, of)} -> {text_of(v, to)}" for k, v in value.items()) + "}"
    return _scalar_text(value, type == FLOAT)


def _scalar_text(value: object, is_single: bool) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return float_text(value, is_single)
        case decimal.Decimal():
            return format(value, "f")
        case bytes():
            return value.decode("utf-8", "replace")
        case datetime.datetime():
            return timestamp_text(value)
        case datetime.timedelta():
            return day_interval_text(value)
    return str(value)  # strings, integers, dates; Months says itself how it is written


def float_text(value: float, is_single: bool = False) -> str:
    """Java's text of a DOUBLE, or of a FLOAT: plain from 0.001 to 10 million, else with an exponent.

    >>> float_text(123456789.0), float_text(0.001), float_text(1e-4), float_text(float("inf"))
    ('1.23456789E8', '0.001', '1.0E-4', 'Infinity')
    >>> float_text(0.10000000149011612, is_single=True)
    '0.1'
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign, digits, exponent = (
        decimal.Decimal(_shortest(value) if is_single else repr(value)).normalize().as_tuple()
    )
    assert isinstance(exponent, int)
    figures, point = "".join(map(str, digits)), len(digits) + exponent
    if not 1e-3 <= abs(value) < 1e7:
        text = f"{figures[0]}.{figures[1:] or '0'}E{point - 1}"
    elif point <= 0:
        text = "0." + "0" * -point + figures
    else:
        text = figures[:point].ljust(point, "0") + "." + (figures[point:] or "0")
    return "-" * sign + text


def _shortest(value: float) -> str:
    """The fewest digits that only this FLOAT is nearest to."""
    return next(text for digits in range(1, 10) if single(float(text := f"{value:.{digits}g}")) == value)
