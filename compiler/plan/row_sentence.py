"""How a row pattern is searched, in words."""

from __future__ import annotations

from neelc.runtime.rows.program import RowProgram

PATH = "the path of a match"


def rows_sentence(program: RowProgram) -> str:
    """Which way the search goes, how long it may take, and why.

    >>> from neelc.runtime.rows.program import ACCEPT, Condition, Machine
    >>> machine = Machine((0, 1), (False, False), (0,), (0,), ((1,), (1, ACCEPT)), (False, True))
    >>> rows_sentence(RowProgram(machine, ("A", "B"), ("id",), ())).partition(": ")[0]
    'the rows of a partition together, in order; two passes over them, back and forth, in time linear in rows'
    >>> program = RowProgram(machine, ("A", "B"), (), (), conditions=(Condition(1, None, (), ()),))
    >>> rows_sentence(program).partition(": ")[2]
    'the condition of B depends on the path of a match.'
    """
    together = "the rows of a partition together" if program.keys else "all rows together"
    return f"{together}, in order; {_search(program)}."


def _search(program: RowProgram) -> str:
    if program.conditions:
        names = " and ".join(program.names[one.variable] for one in program.conditions)
        several = "conditions of" if len(program.conditions) > 1 else "condition of"
        depend = "depend" if len(program.conditions) > 1 else "depends"
        return f"choices are tried one by one, within a budget: the {several} {names} {depend} on {PATH}"
    has_window = program.reach is not None or program.rows is not None
    linear = "in time linear in rows"
    if program.skip != "PAST":
        linear += " and in those of all matches"
    passes = "two passes over them, back and forth"
    if has_window:
        passes, linear = (
            "how early a match can end, then the matches",
            "in time linear in the rows of all windows",
        )
    return f"{passes}, {linear}: no condition depends on {PATH}"
