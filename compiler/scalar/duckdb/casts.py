"""Casts, by the types that they are from and to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from neelc.ir.names import bare
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
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    Array,
    DataType,
    Decimal,
    Struct,
)
from neelc.runtime.values.types import cast as computed
from neelc.scalar.duckdb.evaluated import evaluated
from neelc.scalar.duckdb.pieces import (
    DuckText,
    NameScope,
    WrongQuery,
    duck_type,
    failing,
    field_of,
    quoted,
    text_literal,
    unused,
)
from neelc.scalar.duckdb.times import clock_of, constant_time, floored, instant_of, of_seconds
from neelc.scalar.operators import can_cast
from neelc.scalar.type_of import value_type

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
LARGEST: dict[DataType, int] = {TINYINT: 2**7, SMALLINT: 2**15, INT: 2**31, BIGINT: 2**63}
EXACT_DIGITS = 15
"""Decimals of so many digits are numbers of DOUBLE, divided by one of them."""


def cast_to(operand: DuckText, target: DataType, scope: NameScope, strict: bool | None = None) -> DuckText:
    """The operand as a value of another type; NULL where it cannot be one, or an error if it is `strict`, as
    it is in what users write, whether the cast is written there or not."""
    if strict is not None and strict != scope.strict:
        return cast_to(operand, target, replace(scope, strict=strict))
    source = operand.type
    if source == target:
        return operand
    if scope.strict and not can_cast(source, target):
        raise WrongQuery("NEEL2108", f"a value of {source} cannot be cast to {target}")
    if source == VOID:  # NULL, or a failure
        return DuckText(f"CAST({operand.text} AS {duck_type(target)})", target)
    found = _constant(operand, target, scope) or _cast(operand, target, scope)
    if not scope.strict or _never_fails(source, target):
        return found
    return failing(found, [operand], f"a value of {source} cannot be cast to {target}")


# Constants.


def number(value: int, type: DataType) -> DuckText:
    """An integer of a type of integers; NULL if it is too large.

    >>> number(5, INT).text, number(-5, BIGINT).text, number(300, TINYINT).text
    ('5', 'CAST(-5 AS BIGINT)', 'CAST(NULL AS TINYINT)')
    """
    if not -LARGEST[type] <= value < LARGEST[type]:
        return DuckText(f"CAST(NULL AS {duck_type(type)})", type)
    shown = str(value) if type == INT and value >= 0 else f"CAST({value} AS {duck_type(type)})"
    return DuckText(shown, type, value)


def real(value: float, type: DataType = DOUBLE) -> DuckText:
    """
    >>> real(1.5).text, real(float("-inf")).text
    ("CAST('1.5' AS DOUBLE)", "CAST('-inf' AS DOUBLE)")
    """
    return DuckText(f"CAST('{value!r}' AS {duck_type(type)})", type, value)


def truth(value: bool) -> DuckText:
    return DuckText("TRUE" if value else "FALSE", BOOLEAN, value)


def text(value: str) -> DuckText:
    return DuckText(text_literal(value), STRING, value)


def _constant(operand: DuckText, target: DataType, scope: NameScope) -> DuckText | None:
    """What is written down, as a constant of another type, where it is one in every session."""
    value = operand.value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if operand.type not in (*INTEGERS, DOUBLE, STRING):
        return None
    if isinstance(value, str) and target in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        time = constant_time(value, target, scope)
        return None if time is None else DuckText(time, target)
    write = _CONSTANTS.get(target)
    if write is None:
        return None
    found = computed(value, value_type(operand.type), value_type(target))
    return DuckText(f"CAST(NULL AS {duck_type(target)})", target) if found is None else write(found)


_CONSTANTS: dict[DataType, Callable[..., DuckText]] = {
    **{type: lambda value, type=type: number(value, type) for type in INTEGERS},
    DOUBLE: real,
    FLOAT: lambda value: real(value, FLOAT),
    STRING: text,
    BOOLEAN: truth,
}


# All else.


def _cast(operand: DuckText, target: DataType, scope: NameScope) -> DuckText:
    source = operand.type
    match source, target:
        case Array(one), Array(other):
            name = unused("e", operand.text)
            inner = cast_to(DuckText(name, one), other, scope)
            return DuckText(f"list_transform({operand.text}, lambda {name}: {inner.text})", target)
        case Struct(fields), Struct(others):
            parts = ", ".join(
                f"{quoted(bare(o.name))} := " + cast_to(field_of(operand, f), o.type, scope).text
                for f, o in zip(fields, others, strict=True)
            )
            packed = f"struct_pack({parts})"
            return DuckText(f"CASE WHEN {operand.text} IS NOT NULL THEN {packed} END", target)
    if _is_same_in_duckdb(source, target):
        return DuckText(f"CAST({operand.text} AS {duck_type(target)})", target)
    slow = evaluated("cast", [operand], target, scope, value_type(source))
    fast = _fast(operand, target, slow.text, scope) if operand.is_short else None
    return slow if fast is None else DuckText(fast, target)


def _is_same_in_duckdb(source: DataType, target: DataType) -> bool:
    """Whether DuckDB's cast has the same values, and never fails."""
    if source in INTEGERS:
        if target in INTEGERS:
            return INTEGERS.index(source) <= INTEGERS.index(target)
        return target in (DOUBLE, FLOAT, STRING, BOOLEAN)
    if isinstance(source, Decimal):
        if target == STRING:  # DuckDB writes .5 if there is no place before the point
            return source.precision > source.scale
        return target == DOUBLE and source.precision <= EXACT_DIGITS
    return (source, target) in (
        (FLOAT, DOUBLE),
        *((BOOLEAN, type) for type in (STRING, *INTEGERS, FLOAT, DOUBLE)),
        (TIMESTAMP_NTZ, DATE),
        (TIMESTAMP_NTZ, STRING),
        (DATE, TIMESTAMP_NTZ),
        (DATE, STRING),
    )


def _never_fails(source: DataType, target: DataType) -> bool:
    return _is_same_in_duckdb(source, target) or (source, target) in (
        (TIMESTAMP, DATE),
        (TIMESTAMP, STRING),
        (DATE, TIMESTAMP),
        (TIMESTAMP, TIMESTAMP_NTZ),
        (TIMESTAMP_NTZ, TIMESTAMP),
        (STRING, BINARY),
        (DOUBLE, FLOAT),
        (DOUBLE, STRING),
        (FLOAT, STRING),
    )


def _fast(operand: DuckText, target: DataType, slow: str, scope: NameScope) -> str | None:
    """What DuckDB does faster than the runtime, at least for common values."""
    source, value, to = operand.type, operand.text, duck_type(target)
    if source == STRING:
        return _of_text(operand, target, slow, scope)
    if source == TIMESTAMP:
        return _of_instant(value, target, scope)
    if target == TIMESTAMP and source in (DATE, TIMESTAMP_NTZ):
        clock = value if source == TIMESTAMP_NTZ else f"CAST({value} AS TIMESTAMP)"
        return instant_of(clock, slow, scope)
    if target == TIMESTAMP and source in INTEGERS:
        return of_seconds(operand, scope)
    if source in INTEGERS and (target in INTEGERS or isinstance(target, Decimal)):
        return f"TRY_CAST({value} AS {to})"
    if source == BOOLEAN and isinstance(target, Decimal):
        return f"TRY_CAST(CAST({value} AS INTEGER) AS {to})"
    if isinstance(source, Decimal):
        return _of_decimal(value, source, target)
    if source in (FLOAT, DOUBLE):
        return _of_real(value, target, slow)
    return None


def _of_decimal(value: str, source: Decimal, target: DataType) -> str | None:
    if isinstance(target, Decimal):
        return f"TRY_CAST({value} AS {duck_type(target)})"
    if target in INTEGERS:
        whole = f"trunc({value})" if source.scale else value
        return f"TRY_CAST({whole} AS {duck_type(target)})"
    return f"({value} <> 0)" if target == BOOLEAN else None


def _of_real(value: str, target: DataType, slow: str) -> str | None:
    if target == BIGINT:  # no DOUBLE is nearer to the largest BIGINT than the one after it
        largest = f"{value} = 9223372036854775808"
        return f"CASE WHEN {largest} THEN {2**63 - 1} ELSE TRY_CAST(trunc({value}) AS BIGINT) END"
    if target in INTEGERS:
        return f"TRY_CAST(trunc({value}) AS {duck_type(target)})"
    if target == BOOLEAN:
        return f"({value} <> 0)"
    if target == FLOAT:
        infinite = f"CASE WHEN {value} > 0 THEN CAST('inf' AS FLOAT) ELSE CAST('-inf' AS FLOAT) END"
        return f"CASE WHEN {value} IS NOT NULL THEN coalesce(TRY_CAST({value} AS FLOAT), {infinite}) END"
    if target == STRING:  # beyond, Java writes an exponent
        plain = f"{value} = 0 OR (abs({value}) >= 0.001 AND abs({value}) < 10000000)"
        return f"CASE WHEN {plain} THEN CAST({value} AS VARCHAR) ELSE {slow} END"
    return None


def _of_instant(value: str, target: DataType, scope: NameScope) -> str | None:
    if target in (DATE, STRING, TIMESTAMP_NTZ):
        clock = clock_of(value, scope)
        return clock if target == TIMESTAMP_NTZ else f"CAST({clock} AS {duck_type(target)})"
    seconds = floored(f"epoch_us({value})", 1_000_000)
    if target in INTEGERS:
        return seconds if target == BIGINT else f"TRY_CAST({seconds} AS {duck_type(target)})"
    return f"(CAST(epoch_us({value}) AS DOUBLE) / 1000000)" if target == DOUBLE else None


# Texts: the common forms are read by DuckDB, all others by the runtime.

_WHOLE = "-?[0-9]{1,18}"
# With a zone, the last days that Python can count may be too late.
_DATE = "[1-8][0-9]{3}-(0[1-9]|1[0-2])-[0-3][0-9]"
_MINUTES = "([01][0-9]|2[0-3]):[0-5][0-9]"
_SECONDS = r":[0-5][0-9](\.[0-9]{1,6})?"
_OFFSET = "[+-](0[0-9]|1[0-7]):[0-5][0-9]"
_CLOCK = f"{_DATE}([ T]{_MINUTES}({_SECONDS})?)?"
_TIMESTAMP = f"{_DATE}([ T]{_MINUTES}({_SECONDS}(Z|{_OFFSET})?)?)?"


def _of_text(operand: DuckText, target: DataType, slow: str, scope: NameScope) -> str | None:
    # What has one of the forms has no blanks around it: DuckDB's trim takes longer than all the rest.
    value = operand.trimmed or operand.text
    read = f"TRY_CAST({value} AS {duck_type(target)})"
    if target in INTEGERS:
        return _read_by_form(value, [(_WHOLE, read)], slow)
    if target == DOUBLE:
        return _read_by_form(value, [(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", read)], slow)
    if isinstance(target, Decimal):
        places = rf"(\.[0-9]{{1,{target.scale}}})?" if target.scale else ""
        return _read_by_form(value, [(_WHOLE + places, read)], slow)
    if target == BOOLEAN:
        words = "WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE"
        return f"CASE {value} {words} ELSE {slow} END"
    if target == BINARY:
        return f"encode({operand.text})"
    if target == DATE:
        first = f"TRY_CAST(left({value}, 10) AS DATE)"  # what follows a date does not matter
        return _read_by_form(value, [(f"{_DATE}([ T].*)?", first)], slow)
    clock = f"TRY_CAST({value} AS TIMESTAMP)"
    if target == TIMESTAMP_NTZ:
        return _read_by_form(value, [(_CLOCK, clock)], slow)
    if target == TIMESTAMP:
        # Without a zone, what is longer than seconds has a fraction behind them.
        in_utc = (
            f"WHEN strlen({value}) > 19 AND suffix({value}, 'Z') THEN make_timestamptz(epoch_us({clock}))"
        )
        zoned = f"WHEN strlen({value}) > 19 AND {value}[-6] IN ('+', '-') THEN {read}"
        read = f"CASE {in_utc} {zoned} ELSE {instant_of(clock, slow, scope)} END"
        return _read_by_form(value, [(_TIMESTAMP, read)], slow)
    return None


def _read_by_form(value: str, forms: list[tuple[str, str]], slow: str) -> str:
    whens = "".join(
        f" WHEN regexp_full_match({value}, {text_literal(form)}) THEN {read}" for form, read in forms
    )
    return f"CASE{whens} ELSE {slow} END"
