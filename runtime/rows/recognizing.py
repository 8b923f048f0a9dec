"""The matches of rows whose partitions are complete."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from neelc.runtime.rows.backtracking import Search
from neelc.runtime.rows.judging import Judge
from neelc.runtime.rows.navigation import Found
from neelc.runtime.rows.program import RowProgram
from neelc.runtime.rows.skipping import next_start_of
from neelc.runtime.rows.viability import Ints, Viability
from neelc.runtime.rows.walking import walk

BITS = "bits"
"""The column whose bits say which variables' conditions a row meets, as far as they can be judged alone."""
TIME = "time"


def recognize(program: RowProgram, columns: Mapping[str, pa.Array], heads: Ints) -> Found:
    """The matches in rows, sorted, whose partitions begin at `heads`."""
    bits = np.asarray(columns[BITS].fill_null(0)).astype(np.int64, copy=False)
    alphabet, letters = _letters(bits)
    viability = Viability(program.machine, alphabet)
    states = viability.states(letters, heads)
    next_start = next_start_of(program)
    if not program.conditions and program.reach is None and program.rows is None:
        matches = walk(viability, states, heads, next_start)
    else:
        asked = {one.column for condition in program.conditions for one in condition.looked} - {None}
        judge = Judge(program, {name: columns[name].to_pylist() for name in asked if name is not None})
        times = columns[TIME].to_pylist() if program.reach is not None else None
        matches = Search(program, viability, states, judge, times).matches(heads, next_start)
    return Found(program, matches, heads, len(bits))


def _letters(bits: Ints) -> tuple[list[int], Ints]:
    """The different masks, and for each row the number of its own."""
    most = int(bits.max()) if len(bits) else 0
    if most < 1 << 16:
        known = np.flatnonzero(np.bincount(bits, minlength=1))
        table = np.zeros(most + 1, dtype=np.int64)
        table[known] = np.arange(len(known))
        return known.tolist(), table[bits]
    masks, letters = np.unique(bits, return_inverse=True)
    return masks.tolist(), letters.astype(np.int64, copy=False)
