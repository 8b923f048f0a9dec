"""What joins are made with: the events of a query, partial matches, and what becomes of complete ones."""

from __future__ import annotations

from dataclasses import dataclass, field

from neelc.emit.join_conditions import Naming, least
from neelc.emit.literals import alias, identifier
from neelc.emit.relations import Extend, Items, Let, Relation, Select, Union
from neelc.emit.results import Matches, results
from neelc.emit.scans import Sources, Wanted, free, scans
from neelc.ir.logical import Match
from neelc.plan.join_plan import JoinPlan


@dataclass(frozen=True)
class Partial:
    """A relation of partial matches: the keys, and a struct for each variable in `variables`."""

    name: str
    variables: tuple[str, ...]


@dataclass
class Joining:
    """The relations of one query, in the making."""

    planned: JoinPlan
    taken: set[str]
    events: str = ""
    lets: list[Let] = field(default_factory=list)
    known: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)

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

    def column(self, variable: str) -> str:
        return self.planned.structs[variable]

    def naming(self, partial: Partial, side: str, new: str | None = None) -> Naming:
        prefix = f"{side}." if side else ""
        events = {name: f"{prefix}{self.column(name)}" for name in partial.variables}
        if new is not None:
            events[new] = "e.event"
        return Naming(events, self.planned.field, self.planned.plan.lasting)


def begun(
    query: Match, planned: JoinPlan, sources: Sources, taken: set[str], everything: bool = False
) -> Joining:
    """The relations of a query's events; with `everything`, also of those that play no role."""
    plan = planned.plan
    read = everything or plan.counted
    wanted = Wanted(query, plan.unit, plan.roles, planned.columns, planned.keys, plan.lasting, read, True)
    joining = Joining(planned, taken)
    joining.lets += scans(wanted, sources, taken)
    joining.events = joining.lets[-1].name
    _number(joining)
    return joining


def _number(joining: Joining) -> None:
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


def complete(joining: Joining, partial: Partial) -> str:
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
    return joining.let("matches", Select(partial.name, tuple(items)), "Complete matches.")


def _struct_type(joining: Joining, variable: str) -> str:
    fields = [(name, kind) for name, _, kind in joining.planned.fields(variable)]
    return "STRUCT<" + ", ".join(f"{alias(name)}: {kind}" for name, kind in fields) + ">"


def ended(query: Match, joining: Joining, ways: list[str], name: str, as_stream: bool) -> list[Let]:
    """All relations, with those that make the result out of the matches of each way through the choices."""
    plan = joining.planned.plan
    found = (
        ways[0] if len(ways) == 1 else joining.let("matches", Union(tuple(ways)), "All branches together.")
    )
    if plan.unique:
        columns = (*(joining.column(v) for v in plan.variables), "match_start", "match_end")
        items = tuple((identifier(column), column) for column in columns)
        found = joining.let("distinct_matches", Select(found, items, distinct=True), "Each match once.")
    structs = joining.planned.structs
    matches = Matches(
        found, query, plan.unit, structs.__getitem__, joining.planned.field, frozenset(plan.variables)
    )
    joining.lets += results(matches, (), joining.taken, name, as_stream)
    return joining.lets
