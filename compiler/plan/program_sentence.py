"""How a program of the kernel is executed, in words."""

from __future__ import annotations

from neelc.plan.aggregate_plan import sentence
from neelc.plan.imprecise_sentence import weighing_sentence
from neelc.runtime.imprecise_program import Imprecise
from neelc.runtime.kernels.counting_chain import Counting
from neelc.runtime.program import Program
from neelc.runtime.rows.program import RowProgram


def program_sentence(program: Program | RowProgram) -> str:
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
    return "one pass over the rows of each partition, from match to match."


def _searching(program: Program) -> str:
    together = "all events together" if not program.keys else "the events of a key together"
    if program.chunk is not None:
        together = "time is cut into chunks of eight windows, the events of a chunk together"
    count = "1 step" if len(program.steps) == 1 else f"{len(program.steps)} steps"
    return f"{together}, in the order of time; a program of {count} runs over them."
