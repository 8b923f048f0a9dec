"""Programs under names that do not depend on how their authors call things: variables are numbered in the
order in which steps name them, and roles and columns are those of a set of rules. So rules that do the same
have equal steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, fields, is_dataclass, replace
from enum import Enum
from typing import TypeVar, cast

from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    Choose,
    Constant,
    ElementName,
    EventName,
    Follow,
    InnerList,
    IterationName,
    KernelStep,
    PatternProgram,
    Rename,
    RepeatStep,
    Take,
    VariableOutput,
)

ROLES = {("Take", "role")}
COLUMNS = {("ColumnValue", "name"), ("Fold", "column")}
"""Fields that hold names of roles and of columns; all other texts in steps are names of events and lists, or
of marks and totals, but for these:"""
TEXTS = {
    ("Apply", "operation"),
    ("Absent", "part"),
    ("Present", "part"),
    ("Fold", "function"),
    ("Fold", "type"),
    ("ApplyLambda", "operation"),
    ("ApplyLambda", "parameters"),
    ("LambdaArgument", "name"),
    ("VariableOutput", "name"),
}

Names = Callable[[str], str]
T = TypeVar("T")


@dataclass
class CanonicalNames:
    """Names of variables: v1, v2, ... for those that rows keep, in the order in which they are bound; n1, n2,
    ... for what only one step knows, such as the events of a negation. So a negation that one rule has and
    another has not does not change the names of what comes after it. What begins with # is a name of the
    runtime's own."""

    kept: dict[str, str] = field(default_factory=dict)
    local: dict[str, str] = field(default_factory=dict)

    def __call__(self, name: str) -> str:
        if name.startswith("#"):
            return name
        return self.kept.get(name) or self.local.setdefault(name, f"n{len(self.local) + 1}")

    def keep(self, names: Iterable[str]) -> None:
        """Names that rows keep."""
        for name in names:
            self.kept.setdefault(name, f"v{len(self.kept) + 1}")

    def in_step(self) -> CanonicalNames:
        """The names for one more step."""
        return CanonicalNames(self.kept)


def renamed(value: T, variables: Names, roles: Names, columns: Names) -> T:
    """The value, of a program or a part of one, with other names.

    >>> from neelc.runtime.program import Absent, Bounds, Take
    >>> steps = (Take("x", "A"), Absent((Take("n", "B", Bounds(after=("x",))),), part="!B n"))
    >>> first, second = renamed(steps, CanonicalNames({"x": "v1"}), str.lower, str)
    >>> first.variable, first.role, second.steps[0].variable, second.steps[0].bounds.after, second.part
    ('v1', 'a', 'n1', ('v1',), '!B n')
    """
    return cast(T, _renamed(value, variables, roles, columns))


def _renamed(value: object, variables: Names, roles: Names, columns: Names) -> object:
    match value:
        case Enum() | Constant() | None | bool() | int() | float():
            return value
        case str():
            return variables(value)
        case tuple():
            return tuple(_renamed(one, variables, roles, columns) for one in value)
        case InnerList():
            return InnerList(renamed(value.list, variables, roles, columns), variables(value.inner))
        case ElementName() | IterationName():
            inner = None if value.inner is None else variables(value.inner)
            return replace(value, list=renamed(value.list, variables, roles, columns), inner=inner)
        case VariableOutput():
            return replace(
                value,
                variable=renamed(value.variable, variables, roles, columns),
                fields=tuple((columns(name), columns(column)) for name, column in value.fields),
                inner=renamed(value.inner, variables, roles, columns),
            )
    assert is_dataclass(value) and not isinstance(value, type), f"{value!r} is part of a program"
    changed = {
        slot.name: _of_field(
            (type(value).__name__, slot.name), getattr(value, slot.name), variables, roles, columns
        )
        for slot in fields(value)
    }
    return replace(value, **changed)


def _of_field(
    place: tuple[str, str], value: object, variables: Names, roles: Names, columns: Names
) -> object:
    if isinstance(value, str) and not isinstance(value, Enum):
        if place in ROLES:
            return roles(value)
        if place in COLUMNS:
            return columns(value)
    if place in TEXTS:
        return value
    if place in (("Apply", "type"), ("Constant", "value")):
        return value
    return _renamed(value, variables, roles, columns)


def canonical_program(
    program: PatternProgram, roles: Mapping[str, str], columns: Mapping[str, str]
) -> PatternProgram:
    """A program under canonical names of variables, with the names of roles and columns that a set of rules
    has. What only concerns messages, and how its events come, is left out: the set has it."""
    names = CanonicalNames()
    for step in program.steps:
        names.keep(_kept_names(step))

    def role(name: str) -> str:
        return roles[name]

    def column(name: str) -> str:
        return columns.get(name, name)

    steps = tuple(renamed(step, names.in_step(), role, column) for step in program.steps)
    outputs = renamed(program.outputs, names, role, column)
    leader = None if program.leader is None else renamed(program.leader, names, role, column)
    furthest = program.furthest
    if furthest is not None:
        levels = renamed(furthest.levels, names, role, column)
        compared = tuple(
            (renamed(variable, names, role, column), tuple(map(column, values)))
            for variable, values in furthest.compared
        )
        furthest = replace(furthest, levels=levels, compared=compared)
    return replace(
        program,
        steps=steps,
        outputs=outputs,
        roles=tuple(roles[name] for name in program.roles),
        keys=(),
        codings=tuple(tuple(map(column, coding)) for coding in program.codings),
        leader=leader,
        furthest=furthest,
        chunk=None,
        grain=None,
        labels=(),
    )


def _kept_names(step: KernelStep) -> Iterator[str]:
    """The names that rows have after a step, in order."""
    match step:
        case Take(variable):
            yield from _parts(variable)
        case Rename(new=new):
            yield from _parts(new)
        case Choose(mark):
            yield mark
        case RepeatStep(variable, iteration):
            yield from _parts(variable)
            for name in iteration:
                yield from _parts(name)
            yield from (fold.name for fold in (*step.running, *step.final))
            yield from (name for inner in (*step.first, *step.next) for name in _kept_names(inner))
        case Follow(states, moves, closures):
            yield from (name for state in states for name in _parts(state.variable))
            yield from (name for move in moves for name in _parts(move.take.variable))
            for closure in closures:
                yield from _parts(closure.variable)
                yield from (name for one in closure.names for name in _parts(one))
            yield from (fold.name for fold in (*step.running, *step.final))
            yield from (mark for mark, _ in step.marks)


def _parts(name: EventName) -> Iterator[str]:
    match name:
        case ElementName() | IterationName() | InnerList():
            yield from _parts(name.list)
            yield from () if name.inner is None else (name.inner,)
        case str() if not name.startswith("#"):
            yield name
