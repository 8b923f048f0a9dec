"""How a program of the kernel is executed, in words."""

from __future__ import annotations

from neelc.plan.aggregate_plan import sentence
from neelc.plan.imprecise_sentence import weighing_sentence
from neelc.plan.row_sentence import rows_sentence
from neelc.plan.sequential_sentence import sequential_sentence
from neelc.runtime.imprecise_program import Imprecise
from neelc.runtime.kernels.counting_chain import Counting
from neelc.runtime.program import Program
from neelc.runtime.rows.program import RowProgram
from neelc.runtime.sequential.program import SequentialProgram


def program_sentence(program: Program | RowProgram | SequentialProgram) -> str:
    """For explanations.

    >>> print(program_sentence(Program((), (), (), keys=("id",))))
    the events of a key together, in the order of time; a program of 0 steps runs over them.
    """
    match program:
        case Counting():
            return sentence(program)
        case Imprecise():
            return weighing_sentence(program)
        case Program():
            return _searching(program)
        case SequentialProgram():
            return sequential_sentence(program)
    return rows_sentence(program)


def _searching(program: Program) -> str:
    together = "all events together" if not program.keys else "the events of a key together"
    if program.chunk is not None:
        together = "time is cut into chunks of eight windows, the events of a chunk together"
    count = "1 step" if len(program.steps) == 1 else f"{len(program.steps)} steps"
    return f"{together}, in the order of time; a program of {count} runs over them."


def counting_degree(program: Program | RowProgram) -> int | None:
    """About how often an event is looked at where matches are counted: as often as there are choices of so
    many events of a window. None where they are not counted.

    >>> from neelc.plan.aggregate_plan import aggregate_plan
    >>> from neelc.rewrite.examples import query
    >>> text = "SEQ(A a, B+ b[], C c) WHERE b[i].x > b[i-1].x WITHIN 9 RETURN count(*)"
    >>> counting_degree(aggregate_plan(query(text), (), "SECOND").program)
    3
    """
    if not isinstance(program, Counting):
        return None
    pairs = any(move.where or move.absent for chain in program.chains for move in chain.moves)
    return 1 + max(len(chain.pins) for chain in program.chains) + pairs
