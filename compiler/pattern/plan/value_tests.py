"""Conditions on one event that compare a column with constants, as ranges of its values: what a worker looks
up for all rules of a set together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from neelc.ir.expressions import Between, Binary, Expr, InList, Like, Literal, names_in
from neelc.ir.types import BIGINT, DOUBLE, INT, SMALLINT, STRING, TINYINT
from neelc.runtime.kernels.rules.program import ValueRange
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.type_of import type_of

COMPARED = (TINYINT, SMALLINT, INT, BIGINT, DOUBLE, STRING)
"""Types whose values a worker compares exactly as Spark does."""

FLIPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

Scalar = int | float | str


@dataclass(frozen=True)
class TestedValue:
    """The value of an expression over one event lies in one of the ranges, which are in order and do not
    overlap."""

    expression: Expr
    ranges: tuple[ValueRange, ...]


def tested_value(condition: Expr) -> TestedValue | None:
    """A condition as a test; None if it is none.

    >>> from network_examples import condition
    >>> def show(text):
    ...     found = tested_value(condition(text))
    ...     print(found and [(one.low, one.high, one.has_low, one.has_high) for one in found.ranges])
    >>> show("s.x > 5")
    [(5, None, False, True)]
    >>> show("3 >= s.x")
    [(None, 3, True, True)]
    >>> show("s.x IN (7, 2, 7)")
    [(2, 2, True, True), (7, 7, True, True)]
    >>> show("s.x BETWEEN 2 AND 4")
    [(2, 4, True, True)]
    >>> show("s.x > s.y")
    None
    """
    match condition:
        case Binary(op, operand, Literal() as constant) if op in FLIPPED:
            return _compared(op, operand, constant)
        case Binary(op, Literal() as constant, operand) if op in FLIPPED:
            return _compared(FLIPPED[op], operand, constant)
        case Between(operand, Literal() as low, Literal() as high, False):
            least, most = _scalar(operand, low), _scalar(operand, high)
            return None if least is None or most is None else TestedValue(operand, (ValueRange(least, most),))
        case InList(operand, items, False):
            return _listed(operand, items)
        case Like(operand, Literal(str() as pattern), "LIKE", None, False):
            return _prefix(operand, pattern)
    return None


def _compared(op: str, operand: Expr, constant: Literal) -> TestedValue | None:
    bound = _scalar(operand, constant)
    if bound is None:
        return None
    ranges: dict[str, Callable[[Scalar], ValueRange]] = {
        "=": lambda value: ValueRange(value, value),
        "<": lambda value: ValueRange(high=value, has_high=False),
        "<=": lambda value: ValueRange(high=value),
        ">": lambda value: ValueRange(low=value, has_low=False),
        ">=": lambda value: ValueRange(low=value),
    }
    return TestedValue(operand, (ranges[op](bound),))


def _listed(operand: Expr, items: Sequence[Expr]) -> TestedValue | None:
    bounds = [_scalar(operand, one) if isinstance(one, Literal) else None for one in items]
    values = sorted({value for value in bounds if value is not None}, key=_order)
    if None in bounds or not values:
        return None
    return TestedValue(operand, tuple(ValueRange(value, value) for value in values))


def _order(value: Scalar) -> Any:
    return value.encode() if isinstance(value, str) else value


def _prefix(operand: Expr, pattern: str) -> TestedValue | None:
    """`LIKE 'ab%'`: texts from ab on, before ac. Texts are in the order of their bytes, which is that of
    their characters.

    >>> from pattern_examples import query
    >>> found = tested_value(query("A a WHERE a.user LIKE 'ab%'").pattern.where)
    >>> [(one.low, one.high) for one in found.ranges]
    [('ab', 'ac')]
    """
    begin = pattern.removesuffix("%")
    is_plain = not set(begin) & set("%_\\") and type_of(operand) == STRING and names_in(operand)
    if not is_plain or begin == pattern or not begin or ord(begin[-1]) >= 0xD7FF:
        return None
    beyond = begin[:-1] + chr(ord(begin[-1]) + 1)
    return TestedValue(operand, (ValueRange(begin, beyond, has_high=False),))


def _scalar(operand: Expr, constant: Literal) -> Scalar | None:
    """The constant, if the worker compares values of this type as Spark does; NaN it does not."""
    kind, value = type_of(operand), constant.value
    if kind not in COMPARED or constant.type != kind or not names_in(operand):
        return None
    if kind == STRING:
        return value if isinstance(value, str) and not _has_surrogate(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return float(value) if kind == DOUBLE else int(value)


def _has_surrogate(text: str) -> bool:
    return any(0xD800 <= ord(character) <= 0xDFFF for character in text)
