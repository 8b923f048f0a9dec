"""AFTER MATCH SKIP: where the next match may start."""

from __future__ import annotations

from neelc.runtime.failures import SKIP, Facts, KernelFailure
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
    text = " or ".join(name for v, name in enumerate(program.names) if program.skip_to >> v & 1)
    rule = f"AFTER MATCH SKIP TO {program.skip} {text}"

    def next_start(row: int, places: list[int]) -> int:
        rows = (at for at, place in enumerate(places) if targets[place])
        found = max(rows, default=None) if last else next(rows, None)
        if found is None:
            raise KernelFailure(Facts(SKIP, f"{rule}: no row of the match is mapped to it"))
        if found == 0:
            raise KernelFailure(Facts(SKIP, f"{rule}: the next match would begin where this one does"))
        return row + found

    return next_start
