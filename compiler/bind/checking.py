"""What the parts of the type checker hand to each other."""

from __future__ import annotations

from collections.abc import Callable

from neelc.bind.coercion import cast_to
from neelc.ir.expr import Expr, Literal, Unary
from neelc.ir.types import VOID, DataType
from neelc.source import Span

# Records a diagnostic: code, message, place, hint.
Report = Callable[[str, str, Span | None, str | None], None]

# An expression and its type. What is wrong, and has been reported, has the type of NULL, which fits
# everywhere: one mistake gives one message.
Typed = tuple[Expr, DataType]


def wrong(expression: Expr) -> Typed:
    """An expression that has been reported."""
    return expression, VOID


def cast(typed: Typed, target: DataType) -> Expr:
    """The expression as a value of `target`."""
    return cast_to(*typed, target)


def literal_integer(expression: Expr) -> int | None:
    """The value of an integer that is written down, with or without a sign.

    >>> from neelc.ir.types import INT
    >>> literal_integer(Unary("-", Literal(5, INT)))
    -5
    """
    match expression:
        case Literal(bool()):
            return None
        case Literal(int(value)):
            return value
        case Unary("-", Literal(int(value))) if not isinstance(value, bool):
            return -value
        case Unary("+", Literal(int(value))) if not isinstance(value, bool):
            return value
    return None
