"""The window strategy: Spark's window functions, for what they can say.

- Contiguity: the events of one instant are put into a list, and the lists of the next instants stand beside
it.
- A single event, and others that must or must not lie near it: these are counted in a frame around it.

What is left after that, checks that look further, is done with joins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from neelc.engines.spark.joins import (
    JoinBuilder,
    JoinNaming,
    PartialRelation,
    begun,
    complete,
    conditions,
    ended,
    run,
)
from neelc.engines.spark.relations import AggregateRows, Extend, Items, Let, SelectColumns
from neelc.engines.spark.scans import StreamRelations, has_role
from neelc.ir.expressions import Expr
from neelc.ir.program import Match
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.join_plan import JoinPlan, alternatives
from neelc.pattern.plan.match_to_plan import CONTIGUITY
from neelc.pattern.plan.steps import PlanStep
from neelc.runtime.program import Absent, Bounds, EventName, Present, Take
from neelc.scalar.operators import is_orderable


def window_relations(
    query: Match, planned: JoinPlan, sources: StreamRelations, taken: set[str], name: str, as_stream: bool
) -> list[Let]:
    """The relations of a query that window functions execute; raises `UnsupportedQuery`."""
    if planned.plan.lasting:
        raise UnsupportedQuery("window functions over events that last")
    if query.strategy in CONTIGUITY:
        joining = begun(query, planned, sources, taken, everything=True)
        branches = alternatives(planned.plan.steps)
        if len(branches) > 1 and any(_checks(steps) for steps in branches):
            # Spark 4.3 prunes fields of structs from a list that a semi join over a union still needs, and
            # fails.
            raise UnsupportedQuery("a negation at the beginning or end of a branch, under contiguity,")
        ways = [complete(joining, _chain(joining, steps)) for steps in branches]
    else:
        joining = begun(query, planned, sources, taken)
        ways = [complete(joining, _alone(joining, steps)) for steps in alternatives(planned.plan.steps)]
    return ended(query, joining, ways, name, as_stream)


def _over(joining: JoinBuilder, frame: str = "") -> str:
    keys = ", ".join(joining.keys)
    return f"OVER ({f'PARTITION BY {keys} ' if keys else ''}ORDER BY start{f' {frame}' if frame else ''})"


def _bit(joining: JoinBuilder, role: str, roles: str = "roles") -> str:
    return has_role(joining.planned.plan.roles, role, roles)


# Contiguity.


def _chain(joining: JoinBuilder, steps: Sequence[PlanStep]) -> PartialRelation:
    """Events of instants that follow one another: simultaneous events are alternatives
    (docs/decisions/0011)."""
    takes = [step for step in steps if isinstance(step, Take)]
    if any(not is_orderable(column.type) for column in joining.planned.columns):
        raise UnsupportedQuery("a list of events that have maps")
    keys = joining.key_items()
    fields = dict.fromkeys(field for take in takes for field in joining.planned.fields(take.variable))
    struct = ", ".join(f"'{name}', {text}" for name, text, _ in [*fields, ("roles", "roles", "")])
    instants = joining.let(
        "instants",
        AggregateRows(
            joining.events,
            (*keys, ("start", "start")),
            ((f"collect_list(named_struct({struct}))", "events"),),
        ),
        "The events of each instant.",
    )
    following = tuple((f"lead(events, {n}) {_over(joining)}", f"events_{n}") for n in range(1, len(takes)))
    chains = joining.let(
        "chains", Extend(instants, following), "Beside them, those of the instants that follow."
    )
    variables: tuple[EventName, ...] = ()
    for number, take in enumerate(takes):
        chains = _spread(joining, chains, take, number, takes, variables)
        variables = (*variables, take.variable)
    partial = PartialRelation(chains, variables)
    return run(joining, partial, [s for s in steps if not isinstance(s, Take) and not _is_vacuous(s, takes)])


def _checks(steps: Sequence[PlanStep]) -> list[PlanStep]:
    """The checks that are more than a look between neighbours."""
    takes = [step for step in steps if isinstance(step, Take)]
    checks = [step for step in steps if isinstance(step, Absent | Present) and step.part]
    return [step for step in checks if not _is_vacuous(step, takes)]


def _is_vacuous(step: PlanStep, takes: Sequence[Take[Expr]]) -> bool:
    """Whether a negation looks between two neighbours: there is no event, they would not be neighbours
    else."""
    if not isinstance(step, Absent):
        return False
    neighbours = [(one.variable, other.variable) for one, other in pairwise(takes)]
    return any(
        one in inner.bounds.after and other in inner.bounds.before
        for inner in step.steps
        if isinstance(inner, Take) and not inner.when
        for one, other in neighbours
    )


def _spread(
    joining: JoinBuilder,
    source: str,
    take: Take[Expr],
    number: int,
    takes: Sequence[Take[Expr]],
    variables: tuple[EventName, ...],
) -> str:
    """One row for each event of an instant that can play its role and fits to those before it."""
    events = "events" if number == 0 else f"events_{number}"
    column = joining.column(take.variable)
    fields = ", ".join(f"'{name}', e.{name}" for name, _, _ in joining.planned.fields(take.variable))
    able = f"filter({events}, e -> {_bit(joining, take.role, 'e.roles')})"
    able = f"transform({able}, e -> named_struct({fields}))"
    later = tuple((f"events_{n}", f"events_{n}") for n in range(number + 1, len(takes)))
    known = ((joining.column(name), joining.column(name)) for name in variables)
    items: Items = (*joining.key_items(), *known, *later, (f"explode({able})", column))
    names = {name: joining.column(name) for name in (*variables, take.variable)}
    naming = JoinNaming(names, joining.planned.field, lasting=False)
    # Instants are in order already: `after` says nothing more.
    tests = " AND ".join(conditions(_without_order(take), naming))
    label = joining.planned.label(take.variable)
    return joining.let(f"with_{column}", SelectColumns(source, items, having=tests or None), f"{label}.")


def _without_order(take: Take[Expr]) -> Take[Expr]:
    return replace(take, bounds=Bounds(within=take.bounds.within), differs=())


# One event, and what lies around it.


def _alone(joining: JoinBuilder, steps: Sequence[PlanStep]) -> PartialRelation:
    takes = [step for step in steps if isinstance(step, Take)]
    checks = [step for step in steps if isinstance(step, Absent | Present) and step.part]
    if len(takes) != 1 or not checks:
        raise UnsupportedQuery("window functions for a pattern of several events")
    take = takes[0]
    counts = [(_count(joining, take, check), f"near_{n}") for n, check in enumerate(checks, 1)]
    counted = joining.let(
        "counted",
        Extend(joining.events, tuple(counts)),
        "How many events of a kind lie in a frame around each.",
    )
    tests = [f"near_{n} {'=' if isinstance(check, Absent) else '>'} 0" for n, check in enumerate(checks, 1)]
    struct = ", ".join(f"'{name}', {text}" for name, text, _ in joining.planned.fields(take.variable))
    column = joining.column(take.variable)
    items: Items = (*joining.key_items(), (f"named_struct({struct})", column))
    where = " AND ".join([_bit(joining, take.role), *tests])
    parts = ", ".join(check.part for check in checks)
    name = joining.let(f"{column}_found", SelectColumns(counted, items, where), f"{parts}.")
    rest = [step for step in steps if step not in checks and step is not take]
    return run(joining, PartialRelation(name, (take.variable,)), rest)


def _count(joining: JoinBuilder, take: Take[Expr], check: Absent[Expr] | Present[Expr]) -> str:
    """How many events a check would find, by the frame of time it looks into."""
    ways = alternatives(check.steps)
    sought = ways[0][0] if len(ways) == 1 and len(ways[0]) == 1 else None
    if not isinstance(sought, Take) or sought.where or sought.bounds.between or joining.planned.plan.counted:
        raise UnsupportedQuery("window functions for a check that is more than one event near in time")
    low, high = _frame(sought.bounds, take.variable)
    itself = f" - IF({_bit(joining, sought.role)}, 1, 0)" if sought.differs else ""
    frame = f"RANGE BETWEEN {low} AND {high}"
    return f"count(IF({_bit(joining, sought.role)}, 1, NULL)) {_over(joining, frame)}{itself}"


def _frame(bounds: Bounds, variable: EventName) -> tuple[str, str]:
    """From where to where, seen from the event.

    >>> from neelc.runtime.program import Within
    >>> _frame(Bounds(before=("c",), within=(Within(("c",), 9),)), "c")
    ('9L PRECEDING', '1L PRECEDING')
    """
    width = min((window.width for window in bounds.within if window.events == (variable,)), default=None)
    low = "UNBOUNDED PRECEDING" if width is None else f"{width}L PRECEDING"
    high = "UNBOUNDED FOLLOWING" if width is None else f"{width}L FOLLOWING"
    if variable in bounds.after:
        low = "1L FOLLOWING"
    if variable in bounds.before:
        high = "1L PRECEDING"
    if width == 0 and (variable in bounds.after or variable in bounds.before):
        raise UnsupportedQuery("a frame that no event fits")
    return low, high
