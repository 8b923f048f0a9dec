"""The window strategy: Spark's window functions, as their plan says (`pattern/plan/window_plan.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
from neelc.pattern.plan.relational_plan import EventChain, FramedEvent, NearbyCount, WindowPlan
from neelc.runtime.program import Bounds, EventName, Take


def window_relations(
    query: Match, planned: WindowPlan, sources: StreamRelations, taken: set[str], name: str, as_stream: bool
) -> list[Let]:
    """The relations of a query that window functions execute."""
    chained = any(isinstance(branch, EventChain) for branch in planned.branches)
    joining = begun(query, planned.joined, sources, taken, everything=chained)
    ways = [
        complete(
            joining, _chain(joining, branch) if isinstance(branch, EventChain) else _alone(joining, branch)
        )
        for branch in planned.branches
    ]
    return ended(query, joining, ways, name, as_stream)


def _over(joining: JoinBuilder, frame: str = "") -> str:
    keys = ", ".join(joining.keys)
    return f"OVER ({f'PARTITION BY {keys} ' if keys else ''}ORDER BY start{f' {frame}' if frame else ''})"


def _bit(joining: JoinBuilder, role: str, roles: str = "roles") -> str:
    return has_role(joining.planned.plan.roles, role, roles)


# Contiguity.


def _chain(joining: JoinBuilder, branch: EventChain) -> PartialRelation:
    """Events of instants that follow one another."""
    takes = branch.takes
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
    return run(joining, PartialRelation(chains, variables), branch.rest)


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


def _alone(joining: JoinBuilder, branch: FramedEvent) -> PartialRelation:
    take = branch.take
    counts = [(_count(joining, one), f"near_{n}") for n, one in enumerate(branch.counts, 1)]
    counted = joining.let(
        "counted",
        Extend(joining.events, tuple(counts)),
        "How many events of a kind lie in a frame around each.",
    )
    tests = [f"near_{n} {'=' if one.absent else '>'} 0" for n, one in enumerate(branch.counts, 1)]
    struct = ", ".join(f"'{name}', {text}" for name, text, _ in joining.planned.fields(take.variable))
    column = joining.column(take.variable)
    items: Items = (*joining.key_items(), (f"named_struct({struct})", column))
    where = " AND ".join([_bit(joining, take.role), *tests])
    parts = ", ".join(one.part for one in branch.counts)
    name = joining.let(f"{column}_found", SelectColumns(counted, items, where), f"{parts}.")
    return run(joining, PartialRelation(name, (take.variable,)), branch.rest)


def _count(joining: JoinBuilder, one: NearbyCount) -> str:
    is_sought = f"IF({_bit(joining, one.role)}, 1"
    itself = f" - {is_sought}, 0)" if one.differs else ""
    return f"count({is_sought}, NULL)) {_over(joining, _frame(one.low, one.high))}{itself}"


def _frame(low: int | None, high: int | None) -> str:
    """
    >>> _frame(-9, -1), _frame(0, None)
    ('RANGE BETWEEN 9L PRECEDING AND 1L PRECEDING', 'RANGE BETWEEN 0L PRECEDING AND UNBOUNDED FOLLOWING')
    """
    first, last = "UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING"
    if low is not None:
        first = f"{low}L FOLLOWING" if low > 0 else f"{-low}L PRECEDING"
    if high is not None:
        last = f"{-high}L PRECEDING" if high < 0 else f"{high}L FOLLOWING"
    return f"RANGE BETWEEN {first} AND {last}"
