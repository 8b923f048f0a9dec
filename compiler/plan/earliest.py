"""WITH PARTIAL MATCHES keeps of each start the match that ends first, then the one whose events come first.
Often no other needs to be found.

If nothing later looks at an event but to start after its end, the earliest that fits leaves the most room,
and a match with it is preferred to the same match with any other. Two of the same time are told apart by what
RETURN names; where it names nothing of them but their time, either will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.ir.logical import Match
from neelc.plan.kernel_outputs import closures_of, is_start, references
from neelc.plan.picks import with_later_uses
from neelc.plan.steps import Plan, Take
from neelc.plan.steps_within import types_of_variables
from neelc.runtime.program import EARLIEST


def with_earliest(plan: Plan, query: Match) -> Plan:
    """The plan of a query with partial matches, each step taking no more events than can be preferred.

    >>> from neelc.plan.match_to_plan import match_to_plan
    >>> from neelc.rewrite.examples import query
    >>> match = query("SEQ(A a, B b, C c) WHERE a.x < c.x WITH PARTIAL MATCHES RETURN a.x, b.ts AS b, c.n")
    >>> plan = with_earliest(match_to_plan(match, (), "MILLISECOND"), match)
    >>> [step.variable for step in plan.steps if isinstance(step, Take) and step.pick == EARLIEST]
    ['b_2', 'b_3']
    """
    if query.partial is None or plan.lasting:
        return plan
    fixed = {name for level in query.partial.levels for name in (level.start, *level.hints)}
    fixed |= set(_told_apart(plan, query))
    steps = tuple(
        replace(step, pick=EARLIEST)
        if isinstance(step, Take)
        and step.variable not in fixed
        and later[step.variable] <= {"after"}  # all that comes later only has to start after the event
        else step
        for step, later in with_later_uses(plan.steps)
    )
    return replace(plan, steps=steps)


def _told_apart(plan: Plan, query: Match) -> Iterator[str]:
    """The variables of which RETURN names more than their time."""
    bodies, types = closures_of(query.pattern), types_of_variables(plan)
    for output in query.outputs:
        for variable, reference in references(output.expression, bodies):
            if reference and not is_start(reference, types.get(variable, ()), query, plan.unit):
                yield variable
