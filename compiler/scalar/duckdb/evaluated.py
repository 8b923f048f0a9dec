"""What the runtime computes for DuckDB: operations that DuckDB lacks, or has with another meaning.

DuckDB calls a function for each (`neelc.engines.local.functions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neelc.ir.types import DataType
from neelc.scalar.duckdb.pieces import DuckText, EvaluatedCall, NameScope


def evaluated(
    operation: str, operands: Sequence[DuckText], type: DataType, scope: NameScope, *constants: object
) -> DuckText:
    """A call of an operation of the runtime; `constants` are given to it after the operands."""
    fixed = tuple(enumerate(constants, len(operands)))
    types = tuple(piece.type for piece in operands)
    wanted = EvaluatedCall("", operation, types, type, fixed)
    call = next((one for one in scope.calls.values() if replace(one, name="") == wanted), None)
    if call is None:
        call = replace(wanted, name=f"neelc_{len(scope.calls)}")
        scope.calls[call.name] = call
    return DuckText(f"{call.name}({', '.join(piece.text for piece in operands)})", type)
