"""Which strategy a choice would be executed with, and what the others would cost: for explanations."""

from __future__ import annotations

from neelc.cost.choose import Choice
from neelc.emit.relations import Kernel
from neelc.emit.scans import Sources
from neelc.emit.strategies import Planned, Task, cheapest
from neelc.plan.widths import unit_of
from neelc.runtime.program import Program


def considered(choice: Choice) -> Planned:
    """The plan of a choice by itself; raises `Unsupported` if no strategy can execute it.

    >>> from neelc.cost.choose import choose
    >>> from neelc.cost.statistics import Statistics
    >>> from neelc.rewrite.examples import query
    >>> found = considered(choose(query("SEQ(A a, !B b, C c) WHERE [id] WITHIN 9"), Statistics()))
    >>> found.strategy, [(price.strategy, price.refusal) for price in found.prices]
    ('kernel', [('kernel', ''), ('window', 'window functions for a pattern of several events'), ('join', '')])
    """
    chosen = choice.chosen
    query = chosen.form.rewriting.query
    # Only relations between the works matter here, not what streams are called or how an earlier query
    # counts time.
    sources = Sources(
        {stream.name: "stream" for stream in query.streams},
        {stream.query: "MICROSECOND" for stream in query.streams if stream.query},
    )
    taken = tuple(one.shortcut for one in chosen.shortcuts if one.taken)
    task = Task(query, chosen.keys, unit_of(query), sources, "result", False, choice.query, shortcuts=taken)
    return cheapest(task, chosen.estimate, set())


def program_of(found: Planned) -> Program | None:
    """What the kernel of a plan runs, if it has one."""
    programs = (let.relation.program for let in found.lets if isinstance(let.relation, Kernel))
    return next((one for one in programs if isinstance(one, Program)), None)
