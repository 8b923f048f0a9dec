"""How a MATCH_RECOGNIZE_SEQUENTIAL is executed, in words."""

from __future__ import annotations

from neelc.runtime.sequential.program import SequentialProgram


def sequential_sentence(program: SequentialProgram) -> str:
    """For explanations.

    >>> from neelc.runtime.program import Constant
    >>> from neelc.runtime.sequential.program import Automaton, Condition
    >>> automaton = Automaton(3, ((0, 0, 1), (1, 1, 2)), (2,))
    >>> sequential_sentence(SequentialProgram(automaton, ("A", "B"), (), ())).partition("; ")[2]
    'an automaton of 3 states reads each instant once, and matches are collected from their ends.'
    >>> test = (Condition(1, Constant(True)),)
    >>> sequential_sentence(SequentialProgram(automaton, ("A", "B"), ("id",), (), test)).partition("; ")[2]
    'an automaton of 3 states is followed from every start, since B depends on the events before it.'
    """
    together = "the events of a partition together" if program.keys else "all events together"
    states = f"an automaton of {program.automaton.states} states"
    symbols = list(dict.fromkeys(program.names[one.symbol] for one in program.conditions))
    if not symbols:
        return (
            f"{together}, in the order of time; {states} reads each instant once, and matches "
            "are collected from their ends."
        )
    depends = "depends" if len(symbols) == 1 else "depend"
    return (
        f"{together}, in the order of time; {states} is followed from every "
        f"start, since {', '.join(symbols)} {depends} on the events before it."
    )
