"""What the runtime computes for DuckDB: operations that DuckDB lacks, or has with another meaning.

DuckDB calls a function for each (`neelc.engines.local.functions`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from neelc.ir.expressions import DeclaredFunction
from neelc.ir.types import DataType
from neelc.scalar.duckdb.pieces import DuckText, EvaluatedCall, NameScope, UnspelledOperation, failing

NEVER_NULL = frozenset(
    "+ - * / % DIV neg abs add_months array_insert bit_get bround ceil ceiling convert_timezone date_add"
    " date_sub decode elt encode floor from_utc_timestamp getbit make_date make_dt_interval"
    " make_timestamp make_timestamp_ltz make_timestamp_ntz make_ym_interval map map_concat map_from_arrays"
    " map_from_entries mod next_day pmod regexp_count regexp_extract regexp_extract_all regexp_instr"
    " regexp_replace rlike round sequence slice split_part str_to_map sum to_binary to_date to_timestamp"
    " to_timestamp_ntz to_utc_timestamp unbase64 unix_timestamp url_decode".split()
)
"""Operations that have a value for all values, for Spark: where the runtime has none, Spark fails."""


def evaluated(
    operation: str, operands: Sequence[DuckText], type: DataType, scope: NameScope, *constants: object
) -> DuckText:
    """A call of an operation of the runtime; `constants` are given to it after the operands."""
    fixed = tuple(enumerate(constants, len(operands)))
    types = tuple(piece.type for piece in operands)
    wanted = EvaluatedCall("", operation, types, type, fixed)
    # By what it does, so that a function of a database means one thing.
    name = f"neelc_{hashlib.sha256(repr(wanted).encode()).hexdigest()[:12]}"
    scope.calls.setdefault(name, replace(wanted, name=name))
    found = DuckText(f"{name}({', '.join(piece.text for piece in operands)})", type)
    if scope.strict and operation in NEVER_NULL:
        return failing(
            found, operands, f"{operation}: the result is out of range, or an argument does not fit"
        )
    return found


def operations_of(calls: Iterable[EvaluatedCall]) -> tuple[str, ...]:
    """What the calls are, for people: each operation once, functions of users not.

    >>> from neelc.ir.types import DOUBLE, STRING
    >>> operations_of([EvaluatedCall("", "hex", (), DOUBLE), EvaluatedCall("", "cast", (DOUBLE,), STRING)])
    ('hex', 'CAST(DOUBLE AS STRING)')
    """
    names = (
        f"CAST({one.operands[0]} AS {one.type})" if one.operation == "cast" else one.operation
        for one in calls
        if one.declared is None
    )
    return tuple(dict.fromkeys(names))


def evaluated_with(
    operation: str, operands: Sequence[DuckText], type: DataType, scope: NameScope
) -> DuckText:
    """A call of an operation of the runtime that is given constants once, not with every row."""
    fixed = tuple((place, one.value) for place, one in enumerate(operands) if isinstance(one.value, str))
    if len(fixed) == len(operands):  # DuckDB asks for an argument
        fixed = fixed[1:]
    places = {place for place, _ in fixed}
    given = [one for place, one in enumerate(operands) if place not in places]
    wanted = EvaluatedCall("", operation, tuple(one.type for one in given), type, fixed)
    name = f"neelc_{hashlib.sha256(repr(wanted).encode()).hexdigest()[:12]}"
    scope.calls.setdefault(name, replace(wanted, name=name))
    return DuckText(f"{name}({', '.join(one.text for one in given)})", type)


_NUMBERED: dict[object, int] = {}


def declared_call(function: DeclaredFunction, operands: Sequence[DuckText], scope: NameScope) -> DuckText:
    """A call of a function of users. One of another script may have its name, but not its number."""
    if function.python is None:
        raise UnspelledOperation(
            f"the function {function.name}, which is declared without Python code: give it with "
            f"neelc.function({function.name!r}, ..., python=...)"
        )
    number = _NUMBERED.setdefault(function, len(_NUMBERED))
    name = f"neelc_function_{number}"
    wanted = EvaluatedCall(name, function.name, function.takes, function.returns, declared=function)
    scope.calls.setdefault(name, wanted)
    return DuckText(f"{name}({', '.join(piece.text for piece in operands)})", function.returns)
