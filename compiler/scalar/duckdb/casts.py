"""Casts, by the types that they are from and to."""

from __future__ import annotations

from neelc.ir.names import bare
from neelc.ir.types import (
    BIGINT,
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
from neelc.scalar.duckdb.evaluated import evaluated
from neelc.scalar.duckdb.pieces import DuckText, NameScope, duck_type, quoted
from neelc.scalar.type_of import value_type

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
EXACT_DIGITS = 15
"""Decimals of so many digits are numbers of DOUBLE, divided by one of them."""


def cast_to(operand: DuckText, target: DataType, scope: NameScope, strict: bool = False) -> DuckText:
    """The operand as a value of another type; NULL, or an error if it is `strict`, where it cannot be one."""
    source = operand.type
    if source == target:
        return operand
    if source == VOID:  # NULL, or a failure
        return DuckText(f"CAST({operand.text} AS {duck_type(target)})", target)
    found = _cast(operand, target, scope)
    if not strict or _never_fails(source, target):
        return found
    error = f"CAST(error('a value of {source} cannot be cast to {target}') AS {duck_type(target)})"
    failed = f"{operand.text} IS NOT NULL AND {found.text} IS NULL"
    return DuckText(f"CASE WHEN {failed} THEN {error} ELSE {found.text} END", target)


def _cast(operand: DuckText, target: DataType, scope: NameScope) -> DuckText:
    source, text = operand.type, operand.text
    to = duck_type(target)
    match source, target:
        case Array(one), Array(other):
            inner = cast_to(DuckText("e_", one), other, scope)
            return DuckText(f"list_transform({text}, lambda e_: {inner.text})", target)
        case Struct(fields), Struct(others):
            parts = ", ".join(
                f"{quoted(bare(o.name))} := "
                + cast_to(DuckText(f"({text}).{quoted(bare(f.name))}", f.type), o.type, scope).text
                for f, o in zip(fields, others, strict=True)
            )
            packed = f"struct_pack({parts})"
            return DuckText(f"CASE WHEN {text} IS NOT NULL THEN {packed} END", target)
    if _is_same_in_duckdb(source, target):
        return DuckText(f"CAST({text} AS {to})", target)
    if source in INTEGERS and (target in INTEGERS or isinstance(target, Decimal)):
        return DuckText(f"TRY_CAST({text} AS {to})", target)
    if isinstance(source, Decimal) and isinstance(target, Decimal):
        return DuckText(f"TRY_CAST({text} AS {to})", target)
    if source == STRING and target in (BIGINT, INT, SMALLINT, TINYINT, DOUBLE):
        return _number_of_text(operand, target, scope)
    return evaluated("cast", [operand], target, scope, value_type(source))


def _is_same_in_duckdb(source: DataType, target: DataType) -> bool:
    """Whether DuckDB's cast has the same values, and never fails."""
    if source in INTEGERS:
        if target in INTEGERS:
            return INTEGERS.index(source) <= INTEGERS.index(target)
        return target in (DOUBLE, FLOAT, STRING, BOOLEAN)
    if isinstance(source, Decimal):
        return target == DOUBLE and source.precision <= EXACT_DIGITS
    return (source, target) in (
        (FLOAT, DOUBLE),
        (BOOLEAN, STRING),
        (BOOLEAN, INT),
        (BOOLEAN, BIGINT),
        (BOOLEAN, DOUBLE),
        (TIMESTAMP_NTZ, DATE),
        (DATE, TIMESTAMP_NTZ),
        (DATE, STRING),
    )


def _never_fails(source: DataType, target: DataType) -> bool:
    return _is_same_in_duckdb(source, target) or (source, target) in (
        (TIMESTAMP, DATE),
        (DATE, TIMESTAMP),
        (TIMESTAMP, TIMESTAMP_NTZ),
        (TIMESTAMP_NTZ, TIMESTAMP),
    )


def _number_of_text(operand: DuckText, target: DataType, scope: NameScope) -> DuckText:
    """The common texts of numbers are read by DuckDB, all others by the runtime."""
    slow = evaluated("cast", [operand], target, scope, value_type(STRING))
    plain = "'-?[0-9]{1,15}(\\.[0-9]{1,15})?'" if target == DOUBLE else "'-?[0-9]{1,18}'"
    fast = f"TRY_CAST({operand.text} AS {duck_type(target)})"
    test = f"regexp_full_match({operand.text}, {plain})"
    return DuckText(f"CASE WHEN {test} THEN {fast} ELSE {slow.text} END", target)
