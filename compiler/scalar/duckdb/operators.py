"""Operators: what their operands are cast to, and how DuckDB writes them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from neelc.ir.expressions import Attribute, Binary, Cast, Expr, Literal, Variable
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DAY_INTERVAL,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    YEAR_INTERVAL,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
)
from neelc.scalar import decimals
from neelc.scalar.duckdb.casts import cast_to
from neelc.scalar.duckdb.evaluated import evaluated
from neelc.scalar.duckdb.pieces import DuckText, NameScope, UnspelledOperation, duck_type
from neelc.scalar.operators import Typed, binary, common, common_of
from neelc.source import Span

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)


def stand_in(place: int, piece: DuckText) -> Typed:
    """An expression for the checker of types, in place of a piece."""
    if piece.value is not None and isinstance(piece.value, int | str):
        return Literal(piece.value, piece.type), piece.type
    return Attribute(Variable("x"), f"x{place}", piece.type), piece.type


def as_typed(pieces: Sequence[DuckText], typed: Sequence[Expr], scope: NameScope) -> list[DuckText]:
    """The pieces with the casts that the checker of types has put around what stands for them."""
    return [
        cast_to(piece, one.type, scope) if isinstance(one, Cast) else piece
        for piece, one in zip(pieces, typed, strict=True)
    ]


def refuse(code: str, message: str, span: Span | None, hint: object) -> None:
    """What the checker of types reports."""
    raise UnspelledOperation(message)


def common_pieces(pieces: Sequence[DuckText], scope: NameScope) -> tuple[list[DuckText], DataType]:
    """The pieces, cast to the type that they have in common."""
    shared = common_of(piece.type for piece in pieces)
    if shared is None:
        raise UnspelledOperation(f"values of {', '.join(str(piece.type) for piece in pieces)} together")
    return [cast_to(piece, shared, scope) for piece in pieces], shared


def comparison(sign: str, left: DuckText, right: DuckText, scope: NameScope) -> DuckText:
    """`=`, `<` and their kin, and IS [NOT] DISTINCT FROM."""
    shared = common(left.type, right.type)
    if shared is None:
        raise UnspelledOperation(f"a comparison of {left.type} and {right.type}")
    one, other = cast_to(left, shared, scope), cast_to(right, shared, scope)
    if isinstance(shared, Array | Struct | Map) and sign in ("<", "<=", ">", ">="):
        return evaluated(sign, [one, other], BOOLEAN, scope)
    return DuckText(f"({one.text} {sign} {other.text})", BOOLEAN)


NATIVE = {"+": "+", "-": "-", "*": "*", "&": "&", "|": "|"}


def arithmetic(op: str, left: DuckText, right: DuckText, scope: NameScope, tried: bool = False) -> DuckText:
    """`left op right`; NULL where it fails, if it is `tried` or a division."""
    first, second = stand_in(1, left), stand_in(2, right)
    typed, type = binary(Binary(op, first[0], second[0]), first, second, refuse)
    assert isinstance(typed, Binary)
    one, other = as_typed((left, right), (typed.left, typed.right), scope)
    if op == "||":
        return joined(one, other, type)
    kinds = (one.type, other.type)
    if isinstance(type, Decimal) and all(isinstance(kind, Decimal) for kind in kinds):
        return of_decimals(op, one, other, type, scope)
    if any(isinstance(kind, Decimal) or kind not in (*INTEGERS, FLOAT, DOUBLE) for kind in kinds):
        return evaluated(op, [one, other], type, scope)
    if op in NATIVE:
        text = f"({one.text} {NATIVE[op]} {other.text})"
        fails = tried and op in "+-*" and one.type in INTEGERS
        return DuckText(f"TRY({text})" if fails else text, type)
    if op == "^":
        return DuckText(f"xor({one.text}, {other.text})", type)
    return divided(op, one, other, type, scope)


def of_decimals(op: str, one: DuckText, other: DuckText, type: Decimal, scope: NameScope) -> DuckText:
    """Arithmetic of decimals: by DuckDB where no digit can be lost before the end."""
    assert isinstance(one.type, Decimal) and isinstance(other.type, Decimal)
    to = duck_type(type)
    if op in ("+", "-") and type.scale == max(one.type.scale, other.type.scale):
        return DuckText(f"TRY(CAST(CAST({one.text} AS {to}) {op} CAST({other.text} AS {to}) AS {to}))", type)
    if op == "*" and one.type.precision + other.type.precision < decimals.MAX_PRECISION:
        return DuckText(f"CAST({one.text} * {other.text} AS {to})", type)
    return evaluated(op, [one, other], type, scope)


def divided(op: str, one: DuckText, other: DuckText, type: DataType, scope: NameScope) -> DuckText:
    """`/`, `%` and DIV of numbers that are no decimals."""
    sign = {"/": "/", "%": "%", "DIV": "//"}[op]
    divisor = other.text if other.value not in (None, 0) else f"nullif({other.text}, {_zero(other.type)})"
    if scope.strict and other.value in (None, 0):
        failed = f"CAST(error('Division by zero') AS {duck_type(other.type)})"
        divisor = f"CASE WHEN {other.text} = 0 THEN {failed} ELSE {other.text} END"
    text = f"({one.text} {sign} {divisor})"
    if op == "DIV":
        text = f"TRY({text})" if one.type == BIGINT else f"CAST({text} AS BIGINT)"
    return DuckText(text, type)


def _zero(type: DataType) -> str:
    return f"CAST(0 AS {duck_type(type)})"


def joined(one: DuckText, other: DuckText, type: DataType) -> DuckText:
    if isinstance(type, Array):
        null = f"{one.text} IS NULL OR {other.text} IS NULL"
        return DuckText(f"CASE WHEN {null} THEN NULL ELSE list_concat({one.text}, {other.text}) END", type)
    assert type in (STRING, BINARY)
    return DuckText(f"({one.text} || {other.text})", type)


def negative(operand: DuckText, scope: NameScope) -> DuckText:
    """`-x`; NULL where it does not fit."""
    if operand.type in INTEGERS:
        return DuckText(f"TRY(-{operand.text})", operand.type)
    if operand.type in (FLOAT, DOUBLE) or isinstance(operand.type, Decimal):
        return DuckText(f"(-{operand.text})", operand.type)
    return evaluated("neg", [operand], operand.type, scope)


_PART = re.compile(r"INTERVAL\s+'(?P<value>[^']*)'\s+(?P<unit>\w+)\Z", re.IGNORECASE)
_SECONDS = {"WEEK": 604_800, "DAY": 86_400, "HOUR": 3_600, "MINUTE": 60, "SECOND": 1}


def interval(text: str) -> DuckText:
    """An interval constant of one unit.

    >>> interval("INTERVAL '1.5' SECOND")
    DuckText(text='CAST(1500000 AS BIGINT)', type=SimpleType(name='INTERVAL DAY TO SECOND'), value=None)
    """
    found = _PART.match(text)
    if found is None:
        raise UnspelledOperation(text)
    unit, value = found["unit"].upper().removesuffix("S"), found["value"]
    if unit in ("YEAR", "MONTH"):
        months = int(value) * (12 if unit == "YEAR" else 1)
        return DuckText(str(months), YEAR_INTERVAL)
    if unit not in _SECONDS:
        raise UnspelledOperation(text)
    whole, _, places = value.partition(".")
    micros = int(whole.lstrip("+-") or 0) * 10**6 + int(places.ljust(6, "0")[:6] or 0)
    micros *= _SECONDS[unit] * (-1 if whole.startswith("-") else 1)
    return DuckText(f"CAST({micros} AS BIGINT)", DAY_INTERVAL)
