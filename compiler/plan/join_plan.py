"""Everything joins need for a query: its steps, the columns of events, and which of them each variable
uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from neelc.bind.coercion import is_orderable
from neelc.ir.expr import Expr
from neelc.ir.logical import Match
from neelc.ir.types import BIGINT
from neelc.plan import steps as s
from neelc.plan.event_columns import EVENT, EventColumn, EventColumns, plain_columns
from neelc.plan.event_roles import renamed
from neelc.plan.kernel_outputs import references, struct_names
from neelc.plan.kernel_plan import KeyColumn, key_column
from neelc.plan.match_to_plan import match_to_plan
from neelc.plan.steps_within import repeats, takes, types_of_variables
from neelc.plan.unsupported import Unsupported
from neelc.rewrite.keys import Key


@dataclass(frozen=True)
class JoinPlan:
    """Steps for joins. `structs` has the column of each variable, `used` the columns of events it needs;
    `numbered`: equal events must be told apart."""

    plan: s.Plan
    columns: tuple[EventColumn, ...]
    keys: tuple[KeyColumn, ...]
    structs: Mapping[str, str]
    used: Mapping[str, tuple[str, ...]]
    numbered: bool

    @property
    def ordered(self) -> tuple[EventColumn, ...]:
        """Columns by which events that differ can be told apart."""
        return tuple(column for column in self.columns if is_orderable(column.type))

    def field(self, reference: Expr, variable: str) -> str:
        plain = renamed(reference, variable, EVENT)
        return self._fields[plain]

    @cached_property
    def _fields(self) -> dict[Expr, str]:
        return plain_columns(self.columns)

    def fields(self, variable: str) -> list[tuple[str, str, str]]:
        """The fields of a variable's struct: name, text and type."""
        own = ["start", *(["end"] if self.plan.lasting else [])]
        found = [(name, f"`{name}`" if name == "end" else name, str(BIGINT)) for name in own]
        if self.plan.counted:
            found += [(name, f"CAST({name} AS BIGINT)", str(BIGINT)) for name in ("first", "beyond")]
        if self.numbered:
            found.append(("copy", "CAST(copy AS BIGINT)", str(BIGINT)))
        types = {column.name: str(column.type) for column in self.columns}
        return found + [(name, f"`{name}`", types[name]) for name in self.used.get(variable, ())]

    def label(self, variable: str) -> str:
        return next((f"{r.type} {r.variable}" for r in self.plan.roles if r.variable == variable), variable)


def join_plan(query: Match, keys: tuple[Key, ...], unit: str, contiguous: bool = False) -> JoinPlan:
    """The plan of a query for joins; raises `Unsupported`."""
    plan = match_to_plan(query, keys, unit, contiguous)
    if plan.collapsed:
        raise Unsupported("RETURN COLLAPSED")
    if query.partial is not None:
        raise Unsupported("WITH PARTIAL MATCHES")
    if any(repeats(plan.steps)):
        raise Unsupported("Kleene closure")
    if plan.counted and (plan.lasting or len(keys) < len(query.partition)):
        raise Unsupported("a window of EVENTS over events that last")
    columns = EventColumns(types_of_variables(plan))
    key_columns = tuple(key_column(key, columns) for key in keys)
    used: dict[str, dict[str, None]] = {}
    wanted = [output.expression for output in query.outputs]
    for expression in (*wanted, *_expressions(plan.steps)):
        for variable, reference in references(expression, {}):
            assert reference is not None, "only lists are counted"
            used.setdefault(variable, {})[columns.column(reference, variable).name] = None
    for old, new in renamed_to(plan.steps):
        used.setdefault(old, {}).update(used.get(new, {}))
    numbered = plan.unique or any(take.differs for take in takes(plan.steps))
    return JoinPlan(
        plan,
        tuple(columns.all()),
        key_columns,
        struct_names(tuple(columns.type_of_variable), tuple(key.name for key in key_columns)),
        {variable: tuple(names) for variable, names in used.items()},
        numbered,
    )


def renamed_to(steps: tuple[s.Step, ...]) -> Iterator[tuple[str, str]]:
    """The variables that get another name: they need what that one needs."""
    return ((step.variable, step.new) for step in steps if isinstance(step, s.Rename))


def _expressions(steps: tuple[s.Step, ...]) -> Iterator[Expr]:
    for step in steps:
        match step:
            case s.Take(where=where):
                yield from where
            case s.Filter(condition):
                yield condition
            case s.Absent(inner) | s.Present(inner):
                yield from _expressions(inner)
