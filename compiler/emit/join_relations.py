"""The join strategy: each variable is joined to the partial matches before it.

A range of time becomes an equality: time is cut into buckets of one window, an event stands in all buckets
from which it can be reached, and a partial match looks into the bucket of one of its events. Existence is a
semi join, non-existence an anti join. There is no cross join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neelc.bind.coercion import is_orderable
from neelc.emit.join_conditions import Naming, conditions
from neelc.emit.joining import Joining, Partial, begun, complete, ended
from neelc.emit.literals import field
from neelc.emit.relations import Items, Join, Let, Select, Union, Where
from neelc.emit.scans import Sources, has_role
from neelc.emit.times import floor_divided
from neelc.ir.conjuncts import names_in
from neelc.ir.expr import Binary, Expr
from neelc.ir.logical import Match
from neelc.plan.alternatives import alternatives
from neelc.plan.join_plan import JoinPlan
from neelc.plan.names_of_steps import names_of_step
from neelc.plan.steps import Absent, Filter, Present, Rename, Step, Take
from neelc.plan.unsupported import Unsupported


def join_relations(
    query: Match, planned: JoinPlan, sources: Sources, taken: set[str], name: str, as_stream: bool
) -> list[Let]:
    """The relations of a query that joins execute; raises `Unsupported`."""
    joining = begun(query, planned, sources, taken)
    ways = [complete(joining, run(joining, None, steps)) for steps in alternatives(planned.plan.steps)]
    return ended(query, joining, ways, name, as_stream)


def run(joining: Joining, partial: Partial | None, steps: Sequence[Step]) -> Partial:
    first = next((n for n, step in enumerate(steps) if isinstance(step, Take)), 0)
    for step in (
        steps if partial is not None else (*steps[first : first + 1], *steps[:first], *steps[first + 1 :])
    ):
        assert partial is not None or isinstance(step, Take), "a match has an event"
        match step:
            case Take():
                partial = _take(joining, partial, step)
            case Rename(variable, new) if partial is not None:
                partial = _rename(joining, partial, variable, new)
            case Filter(condition) if partial is not None:
                text = joining.naming(partial, "").sql(condition)
                partial = replace(
                    partial, name=joining.let("judged", Where(partial.name, text), f"WHERE {condition}")
                )
            case Present(part=""):
                continue  # it only drops early what a join drops as well
            case Absent() | Present() if partial is not None:
                partial = _check(joining, partial, step)
    assert partial is not None, "a match has an event"
    return partial


def _rename(joining: Joining, partial: Partial, variable: str, new: str) -> Partial:
    """The struct of one variable as that of another; it has the fields that the other one needs."""
    old, column = joining.column(variable), joining.column(new)
    fields = ", ".join(f"'{name}', {field(old, name)}" for name, _, _ in joining.planned.fields(new))
    others = [name for name in partial.variables if name != variable]
    kept = ((joining.column(name), joining.column(name)) for name in others)
    items: Items = (*joining.key_items(), *kept, (f"named_struct({fields})", column))
    name = joining.let(f"as_{column}", Select(partial.name, items), f"{joining.planned.label(new)}.")
    return Partial(name, (*others, new))


def _events_of(joining: Joining, variable: str, role: str, anchored: bool) -> str:
    """Events that can play a role, as a struct with the fields that are used of the variable."""
    fields = joining.planned.fields(variable)
    key = (role, tuple(name for name, _, _ in fields) + (("bucket",) if anchored else ()))
    if key not in joining.known:
        struct = ", ".join(f"'{name}', {text}" for name, text, _ in fields)
        items: Items = (*joining.key_items(), (f"named_struct({struct})", "event"))
        if anchored:
            items = (*items, (_buckets(joining), "bucket"))
        condition = has_role(joining.planned.plan.roles, role)
        label = joining.planned.label(variable)
        joining.known[key] = joining.let(
            f"{joining.column(variable)}_events",
            Select(joining.events, items, condition),
            f"Events for {label}.",
        )
    return joining.known[key]


def _buckets(joining: Joining) -> str:
    """The buckets of one window from which an event can be reached: its own and its neighbours."""
    bucket = _bucket(joining, "start")
    return f"explode(sequence({bucket} - 1, {bucket} + 1))"


def _bucket(joining: Joining, time: str) -> str:
    return floor_divided(time, max(1, joining.planned.plan.reach or 0))


def _take(joining: Joining, partial: Partial | None, step: Take) -> Partial:
    column = joining.column(step.variable)
    label = joining.planned.label(step.variable)
    if partial is None:
        events = _events_of(joining, step.variable, step.role, False)
        tests = conditions(
            step, Naming({step.variable: "event"}, joining.planned.field, joining.planned.plan.lasting)
        )
        items: Items = (*joining.key_items(), ("event", column))
        name = joining.let(
            f"from_{column}", Select(events, items, " AND ".join(tests) or None), f"{label} first."
        )
        return Partial(name, (step.variable,))
    items = (
        *joining.key_items("m"),
        *((f"m.{joining.column(name)}", joining.column(name)) for name in partial.variables),
        ("e.event", column),
    )
    joined = replace(_join(joining, partial, step, "INNER"), items=items)
    name = joining.let(f"with_{column}", joined, f"{label} joined to what comes before it.")
    return Partial(name, (*partial.variables, step.variable))


def _join(joining: Joining, partial: Partial, step: Take, kind: str) -> Join:
    """Partial matches `m` and events `e` that fit."""
    anchored = joining.planned.plan.reach is not None and bool(partial.variables)
    on = [f"m.{key} <=> e.{key}" for key in joining.keys]
    naming = joining.naming(partial, "m", step.variable)
    if anchored:
        on.append(f"{_bucket(joining, naming.start(partial.variables[0]))} = e.bucket")
    if not on and not any(_is_equality(condition) for condition in step.where):
        raise Unsupported("a join of events that nothing but time relates, without WITHIN")
    on += conditions(step, naming)
    events = _events_of(joining, step.variable, step.role, anchored)
    return Join((partial.name, "m"), (events, "e"), " AND ".join(on), kind)


def _is_equality(condition: Expr) -> bool:
    return isinstance(condition, Binary) and condition.op == "=" and len(names_in(condition)) > 1


def _check(joining: Joining, partial: Partial, step: Absent | Present) -> Partial:
    """Keep the partial matches for which there is, or is not, what the check looks for."""
    kind = "LEFT ANTI" if isinstance(step, Absent) else "LEFT SEMI"
    ways = alternatives(step.steps)
    if len(ways) == 1 and len(ways[0]) == 1 and isinstance(ways[0][0], Take):
        name = joining.let("checked", _join(joining, partial, ways[0][0], kind), _what(step))
        return replace(partial, name=name)
    if any(not is_orderable(column.type) for column in joining.planned.columns):
        raise Unsupported("a check with several events, where events have maps,")
    inner = {name for way in ways for name in names_of_step(Present(way))}
    outer = tuple(name for name in partial.variables if name in inner) or partial.variables[:1]
    fields = {name: joining.planned.fields(name) for name in outer}
    asked: Items = (
        *joining.key_items(),
        *((joining.column(name), joining.column(name)) for name in outer),
    )
    question = joining.let(
        "asked", Select(partial.name, asked, distinct=True), f"What {step.part} is asked of."
    )
    hits = []
    for way in ways:
        found = run(joining, Partial(question, outer), way)
        hits.append(
            joining.let("hits", Select(found.name, asked, distinct=True), f"Where {step.part} is found.")
        )
    hit = hits[0] if len(hits) == 1 else joining.let("hits", Union(tuple(hits)))
    same = [f"m.{key} <=> h.{key}" for key in joining.keys]
    for name in outer:
        column = joining.column(name)
        same += [f"{field(f'm.{column}', one)} <=> {field(f'h.{column}', one)}" for one, _, _ in fields[name]]
    joined = Join((partial.name, "m"), (hit, "h"), " AND ".join(same), kind)
    return replace(partial, name=joining.let("checked", joined, _what(step)))


def _what(step: Absent | Present) -> str:
    return f"{step.part}: {'none may be there' if isinstance(step, Absent) else 'one must be there'}."
