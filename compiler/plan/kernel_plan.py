"""Everything the kernel needs for a query: its program, and the columns of events that it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from neelc.ir.conjuncts import names_in
from neelc.ir.expr import Expr
from neelc.ir.logical import Match
from neelc.ir.names import bare
from neelc.ir.show_pattern import as_written
from neelc.ir.typeof import type_of
from neelc.ir.types import DATE, DOUBLE, FLOAT, TIMESTAMP, TIMESTAMP_NTZ, DataType
from neelc.plan import steps as s
from neelc.plan.earliest import with_earliest
from neelc.plan.event_columns import EVENT, PLAIN_NAME, EventColumn, EventColumns, plain_columns
from neelc.plan.event_roles import renamed
from neelc.plan.furthest_of import furthest_of
from neelc.plan.kernel_outputs import START, is_start, outputs_of
from neelc.plan.match_to_plan import match_to_plan
from neelc.plan.plan_to_program import plan_to_steps
from neelc.plan.steps_within import takes, types_of_variables
from neelc.plan.unsupported import Unsupported
from neelc.plan.until_negation import until_negation
from neelc.rewrite.facts import ANY_MATCH
from neelc.rewrite.keys import STRICT, Key
from neelc.rewrite.shortcuts import Shortcut
from neelc.runtime.program import Program


@dataclass(frozen=True)
class KeyColumn:
    """A column that events are partitioned by: for events of some types, what gives the value. One that is a
    `column` of the events anyway is not computed again."""

    name: str
    type: DataType
    terms: tuple[tuple[Expr, tuple[str, ...]], ...]
    is_column: bool = False


@dataclass(frozen=True)
class Cut:
    """Events lose the role `outer` if no event of the role `inner` has their value (NEEL+'s shortcuts).
    Both values are columns of events."""

    outer: str
    outer_column: str
    inner: str
    inner_column: str


@dataclass(frozen=True)
class KernelPlan:
    """A program and where its columns come from. `residual` conditions are judged on complete matches.

    `fields` says, for a variable and an expression over it, in which field of the variable's struct its
    value is."""

    plan: s.Plan
    program: Program
    columns: tuple[EventColumn, ...]
    keys: tuple[KeyColumn, ...]
    residual: tuple[Expr, ...]
    query: Match
    text: str = ""
    cuts: tuple[Cut, ...] = ()

    def struct(self, variable: str) -> str:
        """The column of a variable's event."""
        return self._structs[variable]

    @cached_property
    def _structs(self) -> dict[str, str]:
        return {output.variable: output.name for output in reversed(self.program.outputs)}

    def inner(self, closure: str, variable: str) -> str:
        """The field of an iteration that holds a variable of the closure's body."""
        return self._inner[f"{closure}.{variable}"]

    @cached_property
    def _inner(self) -> dict[str, str]:
        found = [inner for output in self.program.outputs for inner in output.inner]
        return {inner.variable: inner.name for inner in reversed(found)}

    def field(self, reference: Expr, variable: str) -> str:
        """The field of the variable's struct that holds an attribute: START if it is the start of the
        event."""
        if is_start(reference, types_of_variables(self.plan)[variable], self.query, self.plan.unit):
            return START
        plain = renamed(reference, variable, EVENT)
        return self._fields[plain]

    @cached_property
    def _fields(self) -> dict[Expr, str]:
        return plain_columns(self.columns)


Change = Callable[[s.Plan], s.Plan]


def kernel_plan(
    query: Match,
    keys: tuple[Key, ...],
    unit: str,
    changed: Change | None = None,
    nested: bool = False,
    shortcuts: tuple[Shortcut, ...] = (),
    postpones: bool = True,
) -> KernelPlan:
    """The plan of a query for the kernel; raises `Unsupported`. A baseline is a plan that is `changed`, or
    that puts lists together as it comes to them (SASE's cloning of runs) instead of last.

    >>> from neelc.rewrite.examples import query
    >>> found = kernel_plan(query("SEQ(A a, B b) WHERE a.x < b.x RETURN b.user"), (), "MILLISECOND")
    >>> [column.name for column in found.columns], found.program.outputs[1].fields
    (['x', 'user'], (('user', 'user'),))
    """
    if changed is not None and query.strategy != ANY_MATCH:
        raise Unsupported(query.strategy)
    plan = match_to_plan(query, keys, unit, postpones=postpones, follows=True)
    plan = with_earliest(plan, query) if changed is None else changed(plan)
    by_key = plan.counted or (plan.everything and query.strategy != STRICT)
    if by_key and len(keys) < len(query.partition):
        what = "a window of EVENTS" if plan.counted else query.strategy
        why = "with RETURN COLLAPSED of lists alone" if query.collapsed else "whose values differ by type"
        raise Unsupported(f"{what} in a partition {why}")
    columns = EventColumns(types_of_variables(plan))
    key_columns = tuple(key_column(key, columns) for key in keys)
    kernel = plan_to_steps(plan, columns)
    steps = kernel.steps if changed else until_negation(kernel.steps)
    if plan.collapsed and kernel.residual:
        conditions = " AND ".join(map(str, kernel.residual))
        raise Unsupported(f"RETURN COLLAPSED with the condition `{conditions}`")
    if query.partial is not None and kernel.residual:
        conditions = " AND ".join(map(str, kernel.residual))
        raise Unsupported(f"WITH PARTIAL MATCHES with the condition `{conditions}`")
    outputs = outputs_of(query, plan, kernel.residual, columns)
    cuts = tuple(cut for shortcut in shortcuts for cut in _cut(shortcut, plan, columns))
    program = Program(
        steps,
        outputs,
        tuple(role.name for role in plan.roles),
        tuple(column.name for column in key_columns),
        kernel.codings,
        lasting=plan.lasting,
        counted=plan.counted,
        everything=plan.everything,
        reach=plan.reach,
        looks_back=plan.looks_back,
        leader=plan.leader,
        unique=plan.unique,
        collapsed=plan.collapsed,
        nested=nested,
        furthest=furthest_of(query, outputs),
        labels=tuple((role.variable, f"{role.type} {role.variable}") for role in plan.roles),
        clock=_clock(query, unit),
    )
    text = str(as_written(query.pattern)) if query.partial is None else query.title
    return KernelPlan(plan, program, tuple(columns.all()), key_columns, kernel.residual, query, text, cuts)


def _clock(query: Match, unit: str) -> str:
    """What the times of a program are, for messages."""
    known: dict[DataType, str] = {TIMESTAMP: "MICROSECOND", TIMESTAMP_NTZ: "MICROSECOND", DATE: "DAY"}
    return str(query.clock.type) if known.get(query.clock.type) == unit else unit


def key_column(key: Key, columns: EventColumns) -> KeyColumn:
    shapes: dict[Expr, tuple[str, ...]] = {}
    for variable, term in key.terms:
        types = columns.type_of_variable.get(variable, ())
        shape = renamed(term, variable, EVENT)
        shapes[shape] = tuple(dict.fromkeys((*shapes.get(shape, ()), *types)))
    kind = type_of(next(iter(shapes)))
    if len(shapes) == 1 and kind not in (FLOAT, DOUBLE):
        variables = columns.type_of_variable
        known = [columns.column(term, name) for name, term in key.terms if name in variables]
        return KeyColumn(known[0].name, kind, tuple(shapes.items()), is_column=True)
    plain = f"{bare(key.name)}_key"
    name = columns.free(plain if PLAIN_NAME.match(plain) else "key")
    return KeyColumn(name, kind, tuple(shapes.items()))


def _cut(shortcut: Shortcut, plan: s.Plan, columns: EventColumns) -> Iterator[Cut]:
    """What a shortcut takes from events. Only from those that no other variable could use; and a negation
    that has nothing to look for costs the kernel nothing anyway."""
    (outer,), (inner,) = names_in(shortcut.outer), names_in(shortcut.inner)
    roles = {
        name: {take.role for take in takes(plan.steps) if take.variable == name} for name in (outer, inner)
    }
    users = {take.variable for take in takes(plan.steps) if {take.role} == roles[outer]}
    if not shortcut.negative and users == {outer} and len(roles[inner]) == 1:
        one, two = columns.column(shortcut.outer, outer), columns.column(shortcut.inner, inner)
        yield Cut(roles[outer].pop(), one.name, roles[inner].pop(), two.name)
