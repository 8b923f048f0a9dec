"""The matches of rows whose partitions are complete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from neelc.runtime.rows.automaton import Ints
from neelc.runtime.rows.backtracking import Search
from neelc.runtime.rows.judging import Judge
from neelc.runtime.rows.letters import letters, masks
from neelc.runtime.rows.matches import Matches
from neelc.runtime.rows.preference import matches_past_last_row
from neelc.runtime.rows.program import RowProgram
from neelc.runtime.rows.skipping import next_start_of
from neelc.runtime.rows.viability import Viability
from neelc.runtime.rows.walking import Walk

TIME = "time"

LARGEST_TABLE = 4_000_000
"""A pattern of thousands of places meets thousands of states: what is not used of their table would fill the
memory."""


def recognize(
    program: RowProgram, columns: Mapping[str, pa.Array], heads: Ints, count: int
) -> Iterator[Matches]:
    """The matches in `count` rows, sorted, whose partitions begin at `heads`; in one or more pieces."""
    alphabet, read = letters(masks(program, columns, heads, count))
    viability = Viability(program.machine, alphabet)
    states = viability.states(read, heads, backwards=True)
    if program.conditions or program.reach is not None or program.rows is not None:
        asked = {one.column for condition in program.conditions for one in condition.looked} - {None}
        judge = Judge(program, {name: columns[name].to_pylist() for name in asked if name is not None})
        times = columns[TIME].to_pylist() if program.reach is not None else None
        yield Search(program, viability, states, judge, times).matches(heads, next_start_of(program))
    elif program.skip == "PAST" and _fits(viability):
        yield matches_past_last_row(viability, states, heads)
    elif program.skip == "NEXT" and _fits(viability):
        yield from Walk(viability, states, heads).from_every_row()
    else:
        yield Walk(viability, states, heads).one_by_one(next_start_of(program))


def _fits(viability: Viability) -> bool:
    return len(viability.sets) * len(viability.machine.after) <= LARGEST_TABLE
