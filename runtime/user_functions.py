"""Aggregates that users register: Python functions of the values of a list, called and checked in one place.

The reference interpreter and the kernels both come here, so that they agree on what a function may return.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence

from neelc.runtime.values.functions.space import MissingPackage
from neelc.runtime.values.functions.space_aggregates import AGGREGATES

Function = Callable[[list[object]], object]

BUILT_IN = {name: function for name, (function, _) in AGGREGATES.items()}
"""Functions that need not be given."""

MOST_SHOWN = 200
"""Characters of a value in a message."""

BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(-?\d+)\)\Z")
_EXACT = decimal.Context(prec=200, rounding=decimal.ROUND_HALF_UP, Emax=10**6, Emin=-(10**6))


class AggregateFailure(RuntimeError):
    """A function has raised, or has returned an invalid value. `name` is that of the aggregate."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(name, message)
        self.name, self.message = name, message

    def __str__(self) -> str:
        return self.message


class _Misfit(ValueError):
    """A value that is not of a type."""


def needed(registered: Mapping[str, Function], names: Iterable[str]) -> dict[str, Function]:
    """The functions of these names; `ValueError` if one is not there. What `neelc.aggregate` makes is a
    function with a type: the function alone goes to workers."""
    functions = {}
    for name in dict.fromkeys(names):
        if name not in registered and name in BUILT_IN:
            functions[name] = BUILT_IN[name]
            continue
        if name not in registered:
            there = ", ".join(registered) or "none"
            raise ValueError(f"the query calls the aggregate {name}, which is not given; given are: {there}")
        function = getattr(registered[name], "function", registered[name])
        if not callable(function):
            raise ValueError(f"the aggregate {name} must be a function, not {function!r}")
        functions[name] = function
    return functions


def called(name: str, function: Function, type: str, values: Sequence[object]) -> object:
    """The function of the values, as a value of the type, which is written as Spark does. Without
    values the function is not called: that is NULL, whether a list is empty or absent.

    >>> called("spread", lambda values: max(values) - min(values), "DOUBLE", [2, 5])
    3.0
    >>> called("worst", lambda values: "x", "DOUBLE", [2, 5])
    Traceback (most recent call last):
    neelc.runtime.user_functions.AggregateFailure: aggregate `worst` gave 'x', which is no DOUBLE, for [2, 5]
    """
    if not values:
        return None
    try:
        result = function(list(values))  # a list of its own: it may sort it
    except MissingPackage:
        raise
    except Exception as error:
        reason = f"{error.__class__.__name__}: {error}" if str(error) else error.__class__.__name__
        message = f"aggregate `{name}` raised {_cut(reason)} for {_shown(list(values))}"
        raise AggregateFailure(name, message) from error
    try:
        return fitted(result, type.upper())
    except (_Misfit, ArithmeticError, ValueError):
        message = f"aggregate `{name}` gave {_shown(result)}, which is no {type.upper()}, for "
        raise AggregateFailure(name, message + _shown(list(values))) from None


def _shown(value: object) -> str:
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + " ..."


def fitted(value: object, type: str) -> object:
    """The value as one of the type: a whole number may be a DOUBLE or a DECIMAL, which is rounded to its
    scale. Raises `ValueError` or `ArithmeticError` if it is none.

    >>> fitted(3, "DOUBLE"), fitted(decimal.Decimal("2.345"), "DECIMAL(5, 2)"), fitted((1,), "ARRAY<INT>")
    (3.0, Decimal('2.35'), [1])
    """
    if value is None:
        return None
    if value.__class__.__module__ == "numpy" and hasattr(value, "item"):
        value = value.tolist() if type.startswith("ARRAY<") and hasattr(value, "tolist") else value.item()
    if type.startswith("ARRAY<"):
        if not isinstance(value, list | tuple):
            raise _Misfit
        return [fitted(one, type[len("ARRAY<") : -1]) for one in value]
    if size := _DECIMAL.match(type):
        return _decimal(value, int(size[1]), int(size[2]))
    return FITS[type](value)


def _boolean(value: object) -> object:
    return _of(value, bool)


def _whole(bits: int) -> Callable[[object], object]:
    limit = 1 << bits - 1

    def fit(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int) or not -limit <= value < limit:
            raise _Misfit
        return int(value)

    return fit


def _double(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Misfit
    return float(value)


def _single(value: object) -> float:
    try:
        (rounded,) = struct.unpack("f", struct.pack("f", _double(value)))
    except OverflowError:
        return math.copysign(math.inf, _double(value))
    return float(rounded)


def _decimal(value: object, precision: int, scale: int) -> decimal.Decimal:
    if isinstance(value, bool) or not isinstance(value, int | decimal.Decimal):
        raise _Misfit
    number = decimal.Decimal(value)
    if not number.is_finite() or (number and number.adjusted() > precision - scale):
        raise _Misfit
    unit = decimal.Decimal(1).scaleb(-scale)
    rounded = number.quantize(unit, decimal.ROUND_HALF_UP, _EXACT)
    if rounded and rounded.adjusted() >= precision - scale:
        raise _Misfit
    return rounded if rounded else abs(rounded)  # no zero of Spark's has a sign


def _text(value: object) -> object:
    found = _of(value, str)
    str(found).encode()  # half of a character is no text
    return str(found)


def _bytes(value: object) -> object:
    if not isinstance(value, bytes | bytearray):
        raise _Misfit
    return bytes(value)


def _date(value: object) -> object:
    if isinstance(value, datetime.datetime):
        raise _Misfit
    return _of(value, datetime.date)


def _instant(value: object) -> object:
    if not isinstance(value, datetime.datetime) or value.tzinfo is None:
        raise _Misfit
    return value.astimezone(datetime.UTC)


def _local(value: object) -> object:
    if not isinstance(value, datetime.datetime) or value.tzinfo is not None:
        raise _Misfit
    return value


def _of(value: object, kind: type) -> object:
    if not isinstance(value, kind):
        raise _Misfit
    return value


FITS: dict[str, Callable[[object], object]] = {
    "BOOLEAN": _boolean,
    **{name: _whole(bits) for name, bits in BITS.items()},
    "FLOAT": _single,
    "DOUBLE": _double,
    "STRING": _text,
    "BINARY": _bytes,
    "GEOMETRY": _text,
    "DATE": _date,
    "TIMESTAMP": _instant,
    "TIMESTAMP_NTZ": _local,
}
