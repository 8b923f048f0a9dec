"""AFTER MATCH SKIP: where the next match may start."""

from __future__ import annotations

from neelc.runtime.failures import SKIP, Facts
from neelc.runtime.rows.failing import RowFailure
from neelc.runtime.rows.program import RowProgram
from neelc.runtime.rows.walking import NextStart


def next_start_of(program: RowProgram) -> NextStart:
    """The rule of a program; it fails where it leads nowhere."""
    match program.skip:
        case "PAST":
            return lambda row, places: row + len(places)
        case "NEXT":
            return lambda row, places: row + 1
    variables, last = program.machine.variables, program.skip == "LAST"
    targets = [program.skip_to >> variable & 1 for variable in variables]

    def next_start(row: int, places: list[int]) -> int:
        rows = (at for at, place in enumerate(places) if targets[place])
        found = max(rows, default=None) if last else next(rows, None)
        if not found:
            raise leads_nowhere(program, found is None, row)
        return row + found

    return next_start


def leads_nowhere(program: RowProgram, is_missing: bool, start: int) -> RowFailure:
    """The failure of a skip to a row that is not there, or to `start`, where the match began."""
    names = " or ".join(name for v, name in enumerate(program.names) if program.skip_to >> v & 1)
    why = (
        "no row of the match is mapped to it"
        if is_missing
        else "the next match would begin where this one does"
    )
    return RowFailure(Facts(SKIP, f"AFTER MATCH SKIP TO {program.skip} {names}: {why}"), start)
