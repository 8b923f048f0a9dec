"""Functions that are other expressions of the language: a call of one is read as that expression.

`try_add(x, y)` is `x + y`, which gives NULL where Spark's own sum fails; `int(x)` is a cast. So the rest of
the compiler, the reference and the engines know nothing of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from neelc.ir.expressions import (
    Binary,
    Call,
    Case,
    CaseBranch,
    Cast,
    Expr,
    Extract,
    Like,
    Literal,
    Unary,
)
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    YEAR_INTERVAL,
    DataType,
    Decimal,
)

Rewrite = Callable[[Call], Expr]


def _operator(op: str) -> Rewrite:
    return lambda node: Binary(op, node.arguments[0], node.arguments[1], span=node.span)


def _sign(op: str) -> Rewrite:
    return lambda node: Unary(op, node.arguments[0], span=node.span)


def _constant(value: float) -> Rewrite:
    return lambda node: Literal(value, DOUBLE, span=node.span)


def _cast(type: DataType) -> Rewrite:
    return lambda node: Cast(node.arguments[0], type, span=node.span)


def _called(name: str, *more: Expr) -> Rewrite:
    """Another function, with these arguments after its own."""
    return lambda node: Call(name, (*node.arguments, *more), span=node.span)


def _like(kind: str) -> Rewrite:
    return lambda node: Like(node.arguments[0], node.arguments[1], kind, span=node.span)


def _part(node: Call) -> Expr:
    field, moment = node.arguments
    assert isinstance(field, Literal)
    return Extract(str(field.value).upper(), moment, span=node.span)


def _months_later(node: Call) -> Expr:
    date, months = node.arguments
    count = Cast(Cast(months, INT, span=months.span), YEAR_INTERVAL, span=months.span)
    return Binary("+", Cast(date, DATE, span=date.span), count, span=node.span)


SECONDS = "yyyy-MM-dd HH:mm:ss"


def _from_unixtime(node: Call) -> Expr:
    count, *pattern = node.arguments
    moment = Call("timestamp_seconds", (Cast(count, BIGINT, span=count.span),), span=node.span)
    return Call("date_format", (moment, pattern[0] if pattern else Literal(SECONDS, STRING)), span=node.span)


def _decoded(node: Call) -> Expr:
    """decode(x, search, result, ..., otherwise), in which NULL is found by NULL."""
    sought, *rest = node.arguments
    pairs = zip(rest[:-1:2], rest[1::2], strict=False)
    whens = tuple(CaseBranch(Binary("<=>", sought, one, span=one.span), result) for one, result in pairs)
    return Case(None, whens, rest[-1] if len(rest) % 2 else None, span=node.span)


CASTS: dict[str, DataType] = {
    "bigint": BIGINT,
    "binary": BINARY,
    "boolean": BOOLEAN,
    "date": DATE,
    "decimal": Decimal(10, 0),
    "double": DOUBLE,
    "float": FLOAT,
    "int": INT,
    "smallint": SMALLINT,
    "string": STRING,
    "timestamp": TIMESTAMP,
    "tinyint": TINYINT,
}
"""The names of types as functions."""

REWRITTEN: dict[str, Rewrite] = {
    **{name: _cast(type) for name, type in CASTS.items()},
    "add_months": _months_later,
    "date_part": _part,
    "dateadd": _called("date_add"),
    "datepart": _part,
    "decode": _decoded,
    "e": _constant(math.e),
    "equal_null": _operator("<=>"),
    "from_unixtime": _from_unixtime,
    "ilike": _like("ILIKE"),
    "negative": _sign("-"),
    "nullifzero": _called("nullif", Literal(0, INT)),
    "pi": _constant(math.pi),
    "positive": _sign("+"),
    "regexp": _like("RLIKE"),
    "regexp_like": _like("RLIKE"),
    "rlike": _like("RLIKE"),
    "to_timestamp_ltz": _called("to_timestamp"),
    "to_unix_timestamp": _called("unix_timestamp"),
    "try_add": _operator("+"),
    "try_divide": _operator("/"),
    "try_element_at": _called("element_at"),
    "try_mod": _operator("%"),
    "try_multiply": _operator("*"),
    "try_subtract": _operator("-"),
    "try_to_date": _called("to_date"),
    "zeroifnull": _called("coalesce", Literal(0, INT)),
}


def rewritten(node: Call) -> Expr | None:
    """What a call is read as; None if it is a function of its own, or its arguments do not have the form.

    >>> from neelc.syntax import expression
    >>> print(rewritten(expression("try_add(a.x, 1)")), rewritten(expression("int(a.x)")), sep="; ")
    a.x + 1; CAST(a.x AS INT)
    >>> print(rewritten(expression("decode(a.x, 1, 'one', 'other')")))
    CASE WHEN a.x <=> 1 THEN 'one' ELSE 'other' END
    >>> rewritten(expression("decode(a.x, 'utf-8')")), rewritten(expression("abs(a.x)"))
    (None, None)
    """
    rewrite = REWRITTEN.get(node.name.lower())
    return rewrite(node) if rewrite is not None and not node.distinct and _has_form(node) else None


def _has_form(node: Call) -> bool:
    match node.name.lower(), node.arguments:
        case "decode", arguments:
            return len(arguments) > 2
        case (("date_part" | "datepart"), (first, _)):
            return isinstance(first, Literal) and first.type == STRING
    return True
