"""How a query over imprecise times is executed, in words."""

from __future__ import annotations

from neelc.runtime.imprecise_program import Imprecise
from neelc.runtime.weighing import Weigh


def weighing_sentence(program: Imprecise) -> str:
    """For explanations.

    >>> from textwrap import fill
    >>> from neelc.plan.imprecise_examples import query
    >>> from neelc.plan.imprecise_plan import imprecise_plan
    >>> asked = query("SEQ(A a, !N n, B b) WITHIN 9 WITH CONFIDENCE >= 0.4")
    >>> print(fill(weighing_sentence(imprecise_plan(asked, (), "MILLISECOND").program), 90))
    all events together, by their earliest time; a program of 4 steps runs over them. It finds
    what can be in order, and computes the confidence by dynamic programming, negations
    included, without making possible worlds; after each event it drops partial matches that
    cannot reach 0.4.
    """
    together = "the events of a key together" if program.keys else "all events together"
    if program.is_cut:
        widest = "or as wide as the widest range of times"
        together = f"time is cut into chunks of eight windows, {widest}, the events of a chunk together"
    last = program.steps[-1]
    assert isinstance(last, Weigh), "matches are weighed at last"
    count = f"a program of {len(program.steps)} steps"
    negations = ", negations included" if last.negations else ""
    dropped = f"cannot {'exceed' if last.strictly else 'reach'} {last.least:g}"
    return (
        f"{together}, by their earliest time; {count} runs over them. It finds what can be in order, and"
        f" computes the confidence by dynamic programming{negations}, without making possible worlds;"
        f" after each event it drops partial matches that {dropped if last.least else 'no world has'}."
    )
