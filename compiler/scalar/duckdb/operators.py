"""Operators: what their operands are cast to, and how DuckDB writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from neelc.ir.expressions import (
    Attribute,
    Binary,
    Cast,
    Expr,
    Interval,
    IntervalPart,
    Literal,
    Variable,
)
from neelc.ir.node import walk
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    YEAR_INTERVAL,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
)
from neelc.runtime.values.scalars import MICROSECOND
from neelc.runtime.values.times import Months, interval_of_parts
from neelc.scalar import decimals
from neelc.scalar.duckdb.casts import cast_to
from neelc.scalar.duckdb.evaluated import evaluated
from neelc.scalar.duckdb.pieces import (
    DuckText,
    NameScope,
    UnspelledOperation,
    WrongQuery,
    attempt,
    duck_type,
    safely,
    sortable,
)
from neelc.scalar.duckdb.times import between, clock_of, later
from neelc.scalar.operators import Typed, binary, common, common_of
from neelc.scalar.type_of import DATETIMES, INTERVALS
from neelc.source import Span

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)


def stand_in(place: int, piece: DuckText, is_number: bool = False) -> Typed:
    """An expression for the checker of types, in place of a piece. Beside a DECIMAL, an integer constant has
    as many digits as it shows, unless it is cast; where a number must be written down, it may be cast."""
    if piece.days:
        return Interval((IntervalPart("1", "DAY"),)), piece.type
    if isinstance(piece.value, int | str) and (is_number or not piece.is_cast):
        return Literal(piece.value, piece.type), piece.type
    if piece.type == VOID:
        return Literal(None, VOID), VOID
    return Attribute(Variable("x"), f"x{place}", piece.type), piece.type


def as_typed(pieces: Sequence[DuckText], typed: Sequence[Expr], scope: NameScope) -> list[DuckText]:
    """The pieces with the casts that the checker of types has put around what stands for them."""
    return [
        cast_to(piece, one.type, scope) if isinstance(one, Cast) else piece
        for piece, one in zip(pieces, typed, strict=True)
    ]


def refuse(code: str, message: str, span: Span | None, hint: object) -> None:
    """What the checker of types reports."""
    if code in ("NEEL2101", "NEEL2102"):
        raise WrongQuery(code, message, None if hint is None else str(hint))
    if code != "NEEL2107":  # a constant that has no such value: NULL here, and an error of a script
        raise UnspelledOperation(message)  # Spark may take more


def common_pieces(pieces: Sequence[DuckText], scope: NameScope) -> tuple[list[DuckText], DataType]:
    """The pieces, cast to the type that they have in common."""
    shared = common_of(piece.type for piece in pieces)
    if shared is None:
        kinds = ", ".join(dict.fromkeys(str(piece.type) for piece in pieces))
        raise UnspelledOperation(f"values of {kinds} together")
    return [cast_to(piece, shared, scope) for piece in pieces], shared


def comparison(sign: str, left: DuckText, right: DuckText, scope: NameScope) -> DuckText:
    """`=`, `<` and their kin, and IS [NOT] DISTINCT FROM."""
    shared = common(left.type, right.type)
    if shared is None and any(isinstance(one, Struct) for one in (left.type, right.type)):
        raise UnspelledOperation(f"a comparison of {left.type} and {right.type}")
    if shared is None:
        raise WrongQuery("NEEL2101", f"{left.type} and {right.type} cannot be compared")
    if scope.strict and any(isinstance(one, Map) for one in walk(shared)):
        raise WrongQuery("NEEL2101", "maps cannot be compared")
    one, other = cast_to(left, shared, scope), cast_to(right, shared, scope)
    if sign in ("<", "<=", ">", ">="):
        return DuckText(f"({sortable(one)} {sign} {sortable(other)})", BOOLEAN)
    return DuckText(f"({one.beside(other)} {sign} {other.beside(one)})", BOOLEAN)


def _operation(sign: str) -> Callable[[DuckText, DuckText], str]:
    return lambda one, other: f"({one.text} {sign} {other.text})"


def apply(make: Callable[..., str], *operands: DuckText) -> str:
    """What is made of operands; it may fail."""
    return make(*operands)


def condition(operand: DuckText, scope: NameScope, texts: bool = False) -> DuckText:
    """What must be true or false. Spark casts nothing to it but `texts`: operands of AND, OR and NOT,
    and arguments of functions."""
    if scope.strict and operand.type not in (BOOLEAN, VOID) and not (texts and operand.type == STRING):
        raise WrongQuery("NEEL2103", f"a condition must be BOOLEAN, not {operand.type}")
    return cast_to(operand, BOOLEAN, scope)


NATIVE = {"+": "+", "-": "-", "*": "*", "&": "&", "|": "|"}


def arithmetic(op: str, left: DuckText, right: DuckText, scope: NameScope, tried: bool = False) -> DuckText:
    """`left op right`; NULL where it fails, if it is `tried` or, in a plan, a division."""
    first, second = stand_in(1, left), stand_in(2, right)
    typed, type = binary(Binary(op, first[0], second[0]), first, second, refuse)
    assert isinstance(typed, Binary)
    one, other = as_typed((left, right), (typed.left, typed.right), scope)
    if op == "||":
        return joined(one, other, type)
    kinds = (one.type, other.type)
    if any(kind in (*DATETIMES, *INTERVALS) for kind in kinds):
        return of_times(op, one, other, type, scope)
    if isinstance(type, Decimal) and all(isinstance(kind, Decimal) for kind in kinds):
        return of_decimals(op, one, other, type, scope)
    if any(isinstance(kind, Decimal) or kind not in (*INTEGERS, FLOAT, DOUBLE) for kind in kinds):
        return evaluated(op, [one, other], type, scope)
    if op in NATIVE:
        fails = tried and op in "+-*" and one.type in INTEGERS
        return DuckText((attempt if fails else apply)(_operation(NATIVE[op]), one, other), type)
    if op == "^":
        return DuckText(f"xor({one.text}, {other.text})", type)
    return divided(op, one, other, type, scope)


def of_times(op: str, one: DuckText, other: DuckText, type: DataType, scope: NameScope) -> DuckText:
    """Arithmetic of dates, timestamps and intervals."""
    text = None
    if one.type in DATETIMES and other.type in DATETIMES:
        sides = [
            DuckText(clock_of(side.text, scope), TIMESTAMP_NTZ) if side.type == TIMESTAMP else side
            for side in (one, other)
        ]
        return DuckText(between(*sides), type, days=one.type == DATE)
    if one.type in DATETIMES:
        text = later(op, one, other, scope)
    elif other.type in DATETIMES:
        text = later(op, other, one, scope)
    elif one.type == other.type and op in ("+", "-"):
        return DuckText(safely(_operation(op), one, other, scope=scope), type, days=one.days and other.days)
    elif one.type == other.type and op == "DIV":
        divisor = DuckText(_divisor(DuckText(f"CAST({other.text} AS BIGINT)", BIGINT), scope), BIGINT)
        dividend = DuckText(f"CAST({one.text} AS BIGINT)", BIGINT)
        text = safely(_operation("//"), dividend, divisor, scope=scope)
    elif op == "*" and all(side.type in (*INTEGERS, *INTERVALS) for side in (one, other)):
        numbers = [DuckText(f"CAST({side.text} AS BIGINT)", BIGINT) for side in (one, other)]
        product = safely(_operation("*"), *numbers, scope=scope)
        text = f"{'CAST' if scope.strict else 'TRY_CAST'}({product} AS {duck_type(type)})"
    return evaluated(op, [one, other], type, scope) if text is None else DuckText(text, type)


def of_decimals(op: str, one: DuckText, other: DuckText, type: Decimal, scope: NameScope) -> DuckText:
    """Arithmetic of decimals: by DuckDB where no digit can be lost before the end."""
    assert isinstance(one.type, Decimal) and isinstance(other.type, Decimal)
    to = duck_type(type)
    if op in ("+", "-") and type.scale == max(one.type.scale, other.type.scale):
        sides = [DuckText(f"CAST({side.text} AS {to})", type) for side in (one, other)]
        return DuckText(
            safely(lambda x, y: f"CAST({x.text} {op} {y.text} AS {to})", *sides, scope=scope), type
        )
    if op == "*" and one.type.precision + other.type.precision < decimals.MAX_PRECISION:
        # DuckDB's product of DECIMALs of up to 18 digits has no more than 18 digits itself.
        wide = f"CAST({one.text} AS {duck_type(Decimal(decimals.MAX_PRECISION, one.type.scale))})"
        return DuckText(f"CAST({wide} * {other.text} AS {to})", type)
    return evaluated(op, [one, other], type, scope)


def divided(op: str, one: DuckText, other: DuckText, type: DataType, scope: NameScope) -> DuckText:
    """`/`, `%` and DIV of numbers that are no decimals."""
    if op == "DIV":  # the least INT has no opposite, but a BIGINT holds it
        one, other = cast_to(one, BIGINT, scope), cast_to(other, BIGINT, scope)
    divisor = other.text
    if other.value in (None, 0):
        divisor = _divisor(other, scope)
    if op == "%" and other.type in INTEGERS and other.value in (None, -1):
        # For DuckDB, there is no remainder where there is no quotient.
        one_instead = f"CAST(1 AS {duck_type(other.type)})"
        divisor = f"CASE WHEN {other.text} = -1 THEN {one_instead} ELSE {divisor} END"
    operation = _operation("//" if op == "DIV" else op)
    fails = op == "DIV" and other.value in (None, 0, -1)
    fails = fails and not scope.strict
    return DuckText((attempt if fails else apply)(operation, one, DuckText(divisor, other.type)), type)


def _divisor(other: DuckText, scope: NameScope) -> str:
    """NULL, or an error, where it is zero."""
    if not scope.strict:
        return f"nullif({other.text}, {_zero(other.type)})"
    failed = f"CAST(error('Division by zero') AS {duck_type(other.type)})"
    return f"CASE WHEN {other.text} = 0 THEN {failed} ELSE {other.text} END"


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
    if operand.type in (*INTEGERS, *INTERVALS):
        kind = duck_type(operand.type)
        text = safely(
            lambda one: f"CAST((-{one.text}) AS {kind})" if scope.strict else f"(-{one.text})",
            operand,
            scope=scope,
        )
        return DuckText(text, operand.type, days=operand.days)
    if operand.type in (FLOAT, DOUBLE) or isinstance(operand.type, Decimal):
        return DuckText(f"(-{operand.text})", operand.type)
    if scope.strict and operand.type not in (STRING, VOID):
        raise WrongQuery("NEEL2102", f"`-` takes a number or an interval, not {operand.type}")
    if operand.type in (STRING, VOID):
        return negative(cast_to(operand, DOUBLE, scope), scope)
    return evaluated("neg", [operand], operand.type, scope)


def interval(text: str) -> DuckText:
    """An interval constant.

    >>> interval("INTERVAL '1.5' SECOND").text, interval("INTERVAL '1-2' YEAR TO MONTH").text
    ('CAST(1500000 AS BIGINT)', 'CAST(14 AS INTEGER)')
    >>> interval("INTERVAL '1 00:00:01' DAY TO SECOND").text
    'CAST(86401000000 AS BIGINT)'
    """
    found = _INTERVAL.match(text)
    parts = () if found is None else _PART.findall(found["parts"])
    if not parts:
        raise UnspelledOperation(text)
    quantities = [
        (quoted or plain, unit.upper().removesuffix("S"), to.upper() or None)
        for quoted, plain, unit, to in parts
    ]
    try:
        value = interval_of_parts(quantities)
    except ValueError as problem:
        raise UnspelledOperation(f"{text}: {problem}") from problem
    if isinstance(value, Months):
        return DuckText(f"CAST({value.count} AS INTEGER)", YEAR_INTERVAL, value)
    days = all(unit in ("DAY", "WEEK") and to is None for _, unit, to in quantities)
    return DuckText(f"CAST({value // MICROSECOND} AS BIGINT)", DAY_INTERVAL, value, days=days)


_INTERVAL = re.compile(r"INTERVAL\s+(?P<parts>.*)\Z", re.IGNORECASE | re.DOTALL)
_PART = re.compile(
    r"(?:'([^']*)'|([^'\s]+))\s+([a-z]+)(?:\s+TO\s+([a-z]+))?\s*(?=\Z|'|[+-]?\d)", re.IGNORECASE
)


# Numbers that are looked up by texts.

FEWEST = 4
"""With fewer texts, CASE is as fast. DuckDB finds a text in a constant map faster than it compares it with
each of several."""


def looked_up(
    operand: str, tests: Sequence[DuckText], results: Sequence[DuckText], last: DuckText
) -> str | None:
    """The text of a lookup; None if the tests are not different texts, or the results not numbers."""
    texts = [test.value for test in tests]
    is_lookup = (
        len(texts) >= FEWEST
        and all(isinstance(text, str) for text in texts)
        and len(set(texts)) == len(texts)
        and all(isinstance(one.value, int) for one in (*results, last))
    )
    if not is_lookup:
        return None
    pairs = (f"{test.text}: {result.text}" for test, result in zip(tests, results, strict=True))
    return f"coalesce(MAP {{{', '.join(pairs)}}}[{operand}], {last.text})"
