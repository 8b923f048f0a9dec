"""The join strategy: each variable is joined to the partial matches before it.

A range of time becomes an equality: time is cut into buckets of one window, an event stands in all buckets
from which it can be reached, and a partial match looks into the bucket of one of its events. Existence is a
semi join, non-existence an anti join. There is no cross join."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field as dataclass_field
from dataclasses import replace

from neelc.engines.spark.relations import Extend, Items, Join, Let, Relation, SelectColumns, Union, Where
from neelc.engines.spark.results import MatchRelation, results
from neelc.engines.spark.scans import ScanRequest, StreamRelations, free, has_role, scans
from neelc.ir.expressions import Attribute, EventTime, Expr, Variable
from neelc.ir.program import Match
from neelc.pattern.plan.relational_plan import JoinCheck, JoinPlan, JoinStep
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    Absent,
    BetweenGroups,
    Bounds,
    EventName,
    FilterStep,
    Present,
    Rename,
    Take,
    Within,
)
from neelc.scalar.spark.expressions import floor_divided, sql
from neelc.scalar.spark.trees import alias, field, identifier, spark_type
from neelc.scalar.type_of import type_of

# The conditions under which an event is joined to a partial match.


@dataclass(frozen=True)
class JoinNaming:
    """How the events of a partial match are written, and their times; an absent variable is not among them.

    `fields` gives the field of a reference.
    """

    events: Mapping[EventName, str]
    field: Callable[[Expr, EventName], str]
    lasting: bool

    def start(self, variable: EventName) -> str:
        return f"{self.events[variable]}.start"

    def end(self, variable: EventName) -> str:
        return f"{self.events[variable]}.{'`end`' if self.lasting else 'start'}"

    def bound(self, names: tuple[EventName, ...]) -> list[EventName]:
        return [name for name in names if name in self.events]

    def sql(self, expression: Expr) -> str:
        return sql(expression, self._reference)

    def _reference(self, node: Expr) -> str | None:
        match node:
            case Attribute(Variable(name)) | EventTime(Variable(name)):
                if name not in self.events:
                    return f"CAST(NULL AS {spark_type(type_of(node))})"
                return field(self.events[name], self.field(node, name))
        return None


def conditions(take: Take[Expr], naming: JoinNaming) -> Iterator[str]:
    """What makes an event, already among the names, fit into a partial match."""
    yield from bounds(take.variable, take.bounds, naming)
    for other in naming.bound(take.differs):
        one, two = naming.events[take.variable], naming.events[other]
        yield f"NOT ({one}.start = {two}.start AND {one}.copy = {two}.copy)"
    yield from (f"({naming.sql(condition)})" for condition in take.where)


def bounds(variable: EventName, limits: Bounds, naming: JoinNaming) -> Iterator[str]:
    start, end = naming.start(variable), naming.end(variable)
    yield from (f"{start} > {naming.end(other)}" for other in naming.bound(limits.after))
    yield from (f"{end} < {naming.start(other)}" for other in naming.bound(limits.before))
    for window in limits.within:
        yield from _within(variable, window, naming)
    for between in limits.between:
        yield _between(start, end, between, naming)


def _within(variable: EventName, window: Within, naming: JoinNaming) -> Iterator[str]:
    others = naming.bound(window.events)
    event = naming.events[variable]
    first, last = ("first", "beyond") if window.counted else ("start", "`end`" if naming.lasting else "start")
    if window.member:
        yield f"{event}.{last} - {event}.{first} <= {window.width}"
    if others:
        lasts = least("greatest", [f"{naming.events[other]}.{last}" for other in others])
        firsts = least("least", [f"{naming.events[other]}.{first}" for other in others])
        yield f"{event}.{first} >= {lasts} - {window.width}"
        yield f"{event}.{last} <= {firsts} + {window.width}"


def _between(start: str, end: str, between: BetweenGroups, naming: JoinNaming) -> str:
    """Strictly between two groups of events, whichever comes first."""
    one, other = naming.bound(between.one), naming.bound(between.other)
    if not one or not other:
        return "FALSE"

    def extent(names: list[EventName]) -> tuple[str, str]:
        starts, ends = [naming.start(n) for n in names], [naming.end(n) for n in names]
        return least("least", starts), least("greatest", ends)

    (a_start, a_end), (b_start, b_end) = extent(one), extent(other)
    return f"(({start} > {a_end} AND {end} < {b_start}) OR ({start} > {b_end} AND {end} < {a_start}))"


def least(function: str, texts: list[str]) -> str:
    """
    >>> least("greatest", ["a", "b"]), least("least", ["a"])
    ('greatest(a, b)', 'a')
    """
    distinct = list(dict.fromkeys(texts))
    return f"{function}({', '.join(distinct)})" if len(distinct) > 1 else distinct[0]


# What joins are made with: the events of a query, partial matches, and what becomes of complete ones.


@dataclass(frozen=True)
class PartialRelation:
    """A relation of partial matches: the keys, and a struct for each variable in `variables`."""

    name: str
    variables: tuple[EventName, ...]


@dataclass
class JoinBuilder:
    """The relations of one query, in the making."""

    planned: JoinPlan
    taken: set[str]
    events: str = ""
    lets: list[Let] = dataclass_field(default_factory=list)
    known: dict[tuple[str, tuple[str, ...]], str] = dataclass_field(default_factory=dict)

    def let(self, wish: str, relation: Relation, comment: str = "") -> str:
        name = free(wish, self.taken)
        self.lets.append(Let(name, relation, comment))
        return name

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(identifier(key.name) for key in self.planned.keys)

    def key_items(self, of: str = "") -> Items:
        """The keys as columns, of a relation with a name or of the only one."""
        return tuple((identifier(key.name, of), key.name) for key in self.planned.keys)

    def column(self, variable: EventName) -> str:
        return self.planned.structs[variable]

    def naming(self, partial: PartialRelation, side: str, new: EventName | None = None) -> JoinNaming:
        prefix = f"{side}." if side else ""
        events = {name: f"{prefix}{self.column(name)}" for name in partial.variables}
        if new is not None:
            events[new] = "e.event"
        return JoinNaming(events, self.planned.field, self.planned.plan.lasting)


def begun(
    query: Match, planned: JoinPlan, sources: StreamRelations, taken: set[str], everything: bool = False
) -> JoinBuilder:
    """The relations of a query's events; with `everything`, also of those that play no role."""
    plan = planned.plan
    read = everything or plan.counted
    request = ScanRequest(
        query, plan.unit, plan.roles, planned.columns, planned.keys, plan.lasting, read, True
    )
    joining = JoinBuilder(planned, taken)
    joining.lets += scans(request, sources, taken)
    joining.events = joining.lets[-1].name
    _number(joining)
    return joining


def _number(joining: JoinBuilder) -> None:
    """Columns that need a look at other events: which of equal events it is, and its place for windows of
    events."""
    items: list[tuple[str, str]] = []
    keys = ", ".join(joining.keys)
    by = f"PARTITION BY {keys} " if keys else ""
    if joining.planned.plan.counted:
        items.append((f"rank() OVER ({by}ORDER BY start) - 1", "first"))
        items.append((f"count(*) OVER ({by}ORDER BY start RANGE UNBOUNDED PRECEDING)", "beyond"))
    if joining.planned.numbered:
        order = ", ".join(("roles", *(identifier(c.name) for c in joining.planned.ordered)))
        last = "`end`, " if joining.planned.plan.lasting else ""
        items.append(
            (
                f"row_number() OVER (PARTITION BY {keys}{', ' if keys else ''}start ORDER BY {last}{order})",
                "copy",
            )
        )
    if items:
        joining.events = joining.let(
            "numbered", Extend(joining.events, tuple(items)), "Events by their place."
        )


KEY = "key "
"""What the names of keys begin with in relations of complete matches."""


def complete(joining: JoinBuilder, partial: PartialRelation) -> str:
    """Partial matches that are complete, with their times; a variable that is absent is NULL."""
    plan = joining.planned.plan
    naming = joining.naming(partial, "")
    items: list[tuple[str, str]] = []
    for variable in plan.variables:
        column = joining.column(variable)
        empty = f"CAST(NULL AS {_struct_type(joining, variable)})"
        items.append((identifier(column) if variable in partial.variables else empty, column))
    bound = [name for name in plan.variables if name in partial.variables]
    items.append((least("least", [naming.start(name) for name in bound]), "match_start"))
    items.append((least("greatest", [naming.end(name) for name in bound]), "match_end"))
    if plan.unique:  # events of other keys have the same numbers
        items += ((key, f"{KEY}{number}") for number, key in enumerate(joining.keys))
    return joining.let("matches", SelectColumns(partial.name, tuple(items)), "Complete matches.")


def _struct_type(joining: JoinBuilder, variable: EventName) -> str:
    fields = [(name, kind) for name, _, kind in joining.planned.fields(variable)]
    return "STRUCT<" + ", ".join(f"{alias(name)}: {kind}" for name, kind in fields) + ">"


def ended(query: Match, joining: JoinBuilder, ways: list[str], name: str, as_stream: bool) -> list[Let]:
    """All relations, with those that make the result out of the matches of each way through the choices."""
    plan = joining.planned.plan
    matched = (
        ways[0] if len(ways) == 1 else joining.let("matches", Union(tuple(ways)), "All branches together.")
    )
    if plan.unique:
        keys = (f"{KEY}{number}" for number in range(len(joining.keys)))
        columns = (*(joining.column(v) for v in plan.variables), "match_start", "match_end", *keys)
        items = tuple((identifier(column), column) for column in columns)
        matched = joining.let(
            "distinct_matches", SelectColumns(matched, items, distinct=True), "Each match once."
        )
    structs = joining.planned.structs
    matches = MatchRelation(
        matched, query, plan.unit, structs.__getitem__, joining.planned.field, frozenset(plan.variables)
    )
    joining.lets += results(matches, (), joining.taken, name, as_stream)
    return joining.lets


def join_relations(
    query: Match, planned: JoinPlan, sources: StreamRelations, taken: set[str], name: str, as_stream: bool
) -> list[Let]:
    """The relations of a query that joins execute."""
    joining = begun(query, planned, sources, taken)
    ways = [complete(joining, run(joining, None, steps)) for steps in planned.branches]
    return ended(query, joining, ways, name, as_stream)


def run(joining: JoinBuilder, partial: PartialRelation | None, steps: Sequence[JoinStep]) -> PartialRelation:
    for step in steps:
        match step:
            case Take():
                partial = _take(joining, partial, step)
            case Rename(variable, new) if partial is not None:
                partial = _rename(joining, partial, variable, new)
            case FilterStep(condition) if partial is not None:
                text = joining.naming(partial, "").sql(condition)
                partial = replace(
                    partial, name=joining.let("judged", Where(partial.name, text), f"WHERE {condition}")
                )
            case JoinCheck() if partial is not None:
                partial = _check(joining, partial, step)
    assert partial is not None, "a match has an event"
    return partial


def _rename(
    joining: JoinBuilder, partial: PartialRelation, variable: EventName, new: EventName
) -> PartialRelation:
    """The struct of one variable as that of another; it has the fields that the other one needs."""
    old, column = joining.column(variable), joining.column(new)
    fields = ", ".join(f"'{name}', {field(old, name)}" for name, _, _ in joining.planned.fields(new))
    others = [name for name in partial.variables if name != variable]
    kept = ((joining.column(name), joining.column(name)) for name in others)
    items: Items = (*joining.key_items(), *kept, (f"named_struct({fields})", column))
    name = joining.let(f"as_{column}", SelectColumns(partial.name, items), f"{joining.planned.label(new)}.")
    return PartialRelation(name, (*others, new))


def _events_of(joining: JoinBuilder, variable: EventName, role: str, anchored: bool) -> str:
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
            SelectColumns(joining.events, items, condition),
            f"Events for {label}.",
        )
    return joining.known[key]


def _buckets(joining: JoinBuilder) -> str:
    """The buckets of one window from which an event can be reached: its own and its neighbours."""
    bucket = _bucket(joining, "start")
    return f"explode(sequence({bucket} - 1, {bucket} + 1))"


def _bucket(joining: JoinBuilder, time: str) -> str:
    return floor_divided(time, max(1, joining.planned.plan.reach or 0))


def _take(joining: JoinBuilder, partial: PartialRelation | None, step: Take[Expr]) -> PartialRelation:
    column = joining.column(step.variable)
    label = joining.planned.label(step.variable)
    if partial is None:
        events = _events_of(joining, step.variable, step.role, False)
        tests = conditions(
            step, JoinNaming({step.variable: "event"}, joining.planned.field, joining.planned.plan.lasting)
        )
        items: Items = (*joining.key_items(), ("event", column))
        name = joining.let(
            f"from_{column}", SelectColumns(events, items, " AND ".join(tests) or None), f"{label} first."
        )
        return PartialRelation(name, (step.variable,))
    items = (
        *joining.key_items("m"),
        *((f"m.{joining.column(name)}", joining.column(name)) for name in partial.variables),
        ("e.event", column),
    )
    joined = replace(_join(joining, partial, step, "INNER"), items=items)
    name = joining.let(f"with_{column}", joined, f"{label} joined to what comes before it.")
    return PartialRelation(name, (*partial.variables, step.variable))


def _join(joining: JoinBuilder, partial: PartialRelation, step: Take[Expr], kind: str) -> Join:
    """Partial matches `m` and events `e` that fit."""
    anchored = joining.planned.plan.reach is not None and bool(partial.variables)
    on = [f"m.{key} <=> e.{key}" for key in joining.keys]
    naming = joining.naming(partial, "m", step.variable)
    if anchored:
        on.append(f"{_bucket(joining, naming.start(partial.variables[0]))} = e.bucket")
    on += conditions(step, naming)
    events = _events_of(joining, step.variable, step.role, anchored)
    return Join((partial.name, "m"), (events, "e"), " AND ".join(on), kind)


def _check(joining: JoinBuilder, partial: PartialRelation, checked: JoinCheck) -> PartialRelation:
    """Keep the partial matches for which there is, or is not, what the check looks for."""
    step = checked.check
    kind = "LEFT ANTI" if isinstance(step, Absent) else "LEFT SEMI"
    if checked.single is not None:
        name = joining.let("checked", _join(joining, partial, checked.single, kind), _what(step))
        return replace(partial, name=name)
    outer = tuple(name for name in partial.variables if name in checked.names) or partial.variables[:1]
    fields = {name: joining.planned.fields(name) for name in outer}
    items: Items = (
        *joining.key_items(),
        *((joining.column(name), joining.column(name)) for name in outer),
    )
    question = joining.let(
        "asked", SelectColumns(partial.name, items, distinct=True), f"The bindings to check for {step.part}."
    )
    hits = []
    for way in checked.ways:
        occurring = run(joining, PartialRelation(question, outer), way)
        hits.append(
            joining.let(
                "hits",
                SelectColumns(occurring.name, items, distinct=True),
                f"Where {step.part} is found.",
            )
        )
    hit = hits[0] if len(hits) == 1 else joining.let("hits", Union(tuple(hits)))
    same = [f"m.{key} <=> h.{key}" for key in joining.keys]
    for variable in outer:
        column = joining.column(variable)
        same += [
            f"{field(f'm.{column}', one)} <=> {field(f'h.{column}', one)}" for one, _, _ in fields[variable]
        ]
    joined = Join((partial.name, "m"), (hit, "h"), " AND ".join(same), kind)
    return replace(partial, name=joining.let("checked", joined, _what(step)))


def _what(step: Absent[Expr] | Present[Expr]) -> str:
    return f"{step.part}: {'none may be there' if isinstance(step, Absent) else 'one must be there'}."
