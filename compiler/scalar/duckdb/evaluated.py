"""What the runtime computes for DuckDB: operations that DuckDB lacks, or has with another meaning.

DuckDB calls a function for each (`neelc.engines.local.functions`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from neelc.ir.expressions import DeclaredFunction
from neelc.ir.types import DataType
from neelc.scalar.duckdb.pieces import DuckText, EvaluatedCall, NameScope, UnspelledOperation


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
    return DuckText(f"{name}({', '.join(piece.text for piece in operands)})", type)


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
