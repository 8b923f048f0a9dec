"""The matches of rows whose partitions are complete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from neelc.runtime.rows import automaton
from neelc.runtime.rows.automaton import Ints
from neelc.runtime.rows.backtracking import Search
from neelc.runtime.rows.judging import Judge
from neelc.runtime.rows.lanes import matches_in_lanes
from neelc.runtime.rows.letters import letters, masks
from neelc.runtime.rows.matches import Matches
from neelc.runtime.rows.preference import matches_past_last_row
from neelc.runtime.rows.program import RowProgram, looked_columns
from neelc.runtime.rows.skipping import next_start_of
from neelc.runtime.rows.viability import Viability
from neelc.runtime.rows.walking import ViableWays, Ways, from_every_row, one_by_one
from neelc.runtime.rows.windowed import WindowedWays, are_short, row_limits, time_limits

TIME = "time"

LARGEST_TABLE = 20_000_000
"""A pattern of thousands of places meets thousands of states: what is not used of their table would fill the
memory."""

Columns = Mapping[str, pa.Array]


def recognize(program: RowProgram, columns: Columns, heads: Ints, count: int) -> Iterator[Matches]:
    """The matches in `count` rows, sorted, whose partitions begin at `heads`; in one or more pieces."""
    bits = masks(program, columns, heads, count)
    has_window = program.reach is not None or program.rows is not None
    many = len(heads) > automaton.FEW
    if has_window and not program.conditions and len(program.machine.after) * count < LARGEST_TABLE:
        limits = _limits(program, columns, heads, count)
        if many or (program.skip == "NEXT" and are_short(limits)):
            yield from _together(program, WindowedWays(program.machine, bits, heads, limits), heads, count)
            return
    alphabet, read = letters(bits)
    viability = Viability(program.machine, alphabet)
    states = viability.states(read, heads, backwards=True)
    if has_window or program.conditions:
        yield _searched(program, columns, viability, states, heads)
    elif len(viability.sets) * len(program.machine.after) > LARGEST_TABLE:
        yield one_by_one(ViableWays(viability, states, heads), heads, next_start_of(program))
    elif program.skip == "PAST":
        yield matches_past_last_row(viability, states, heads)
    elif program.skip == "NEXT" or many:
        yield from _together(program, ViableWays(viability, states, heads), heads, count)
    else:
        yield one_by_one(ViableWays(viability, states, heads), heads, next_start_of(program))


def _together(program: RowProgram, ways: Ways, heads: Ints, count: int) -> Iterator[Matches]:
    if program.skip == "NEXT":
        yield from from_every_row(ways, heads, count)
    else:
        yield matches_in_lanes(program, ways, heads, count)


def _searched(
    program: RowProgram, columns: Columns, viability: Viability, states: Ints, heads: Ints
) -> Matches:
    judge = Judge(program, {name: columns[name].to_pylist() for name in looked_columns(program)})
    times = columns[TIME].to_pylist() if program.reach is not None else None
    return Search(program, viability, states, judge, times).matches(heads, next_start_of(program))


def _limits(program: RowProgram, columns: Columns, heads: Ints, count: int) -> Ints:
    """How far a match from each row may reach."""
    if program.rows is not None:
        return row_limits(heads, count, program.rows)
    assert program.reach is not None
    times = columns[TIME]
    valid = np.asarray(times.is_valid())
    return time_limits(np.asarray(times.fill_null(0)).astype(np.int64), valid, heads, program.reach)
