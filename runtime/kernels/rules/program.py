"""A set of rules: programs that read the same events in the same order.

Events are cut and put in order once, and each is judged once: which roles it can play is looked up for all
rules together. Then each rule runs its own program, or a part of a tree that rules have in common.

Rules that differ only in the events that they ask for have one program: a rule says which role of the set
each role of its program is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    Emission,
    EventName,
    Follow,
    KernelStep,
    PatternProgram,
    StreamedPattern,
    Take,
    Value,
    VariableOutput,
    Weigh,
    WeighedCheck,
    WeighTimes,
    with_inner,
)

BITS = 62
"""Roles in one column of bits."""

PART = "part"
"""The column with the number of a part, where a set has several: the first of its keys."""

RULE, SHAPE = "rule", "shape"
"""Columns of results: the number of the rule, and for each shape of matches a struct."""


def word_name(number: int) -> str:
    """The column with these bits of roles.

    >>> word_name(0), word_name(1)
    ('roles', 'roles_2')
    """
    return "roles" if number == 0 else f"roles_{number + 1}"


@dataclass(frozen=True)
class ValueRange:
    """Values from `low` to `high`, either of which may be left out; None is no limit. NaN is the greatest
    number, as in Spark, and texts are ordered by their bytes in UTF-8."""

    low: int | float | str | None = None
    high: int | float | str | None = None
    has_low: bool = True
    has_high: bool = True


@dataclass(frozen=True)
class ValueTest:
    """The value of a column lies in one of the `ranges`; NULL lies in none."""

    column: str
    ranges: tuple[ValueRange, ...]


@dataclass(frozen=True)
class JudgedRole:
    """A role of a set: the events with this `bit` that pass all `tests`. What no test can say, Spark has
    judged before it set the bit."""

    bit: int
    tests: tuple[ValueTest, ...] = ()


@dataclass(frozen=True)
class RuleEntry:
    """A rule of a set: the number of its program, and of the set's roles that the program's roles are."""

    name: str
    program: int
    roles: tuple[int, ...]


@dataclass(frozen=True)
class RuleCheck:
    """A step that only drops rows, and the rules that require it, by their places in the tree, as bits."""

    step: KernelStep
    rules: int


@dataclass(frozen=True)
class RuleNode:
    """A part of a tree: the `step` that its rules take next, None at the root; what they require of the rows
    then, each of some rules; the rules that are complete, and what the others do next. `rules` are all that
    come here: places in the tree, as bits."""

    rules: int
    step: KernelStep | None = None
    checks: tuple[RuleCheck, ...] = ()
    complete: tuple[int, ...] = ()
    then: tuple[RuleNode, ...] = ()


@dataclass(frozen=True)
class RuleTree:
    """Rules that have steps in common, at most 62, by their numbers in the set. The steps of the tree have
    canonical names of variables; `outputs` are those of each rule by these names, and `leader` is the
    variable that starts the matches of all of them, if there is one. Roles are called by their number in the
    set: see `role_name`."""

    members: tuple[int, ...]
    root: RuleNode
    outputs: tuple[tuple[VariableOutput, ...], ...]
    leader: EventName | None = None


@dataclass(frozen=True)
class RuleSet:
    """Rules over the same events. `events` says how these come, are cut and put in order: a program without
    steps, with the widest window and the keys of all rules. `columns` are what rules read of them.

    Matches have one of the `shapes`: the outputs of a program, by which it is known which rules share a
    column of results. Rules that are in none of the `trees` run alone."""

    events: PatternProgram
    columns: tuple[str, ...]
    roles: tuple[JudgedRole, ...]
    programs: tuple[PatternProgram, ...]
    rules: tuple[RuleEntry, ...]
    shapes: tuple[int, ...]
    trees: tuple[RuleTree, ...] = ()

    @property
    def words(self) -> int:
        """How many columns of bits there are."""
        return 1 + max((role.bit for role in self.roles), default=0) // BITS


# Over streams without end.


@dataclass(frozen=True)
class RuleTiming:
    """When the matches of a rule are sure, and how far they reach: see `StreamedPattern`. The rule reads the
    events of one `part`."""

    emission: Emission = field(default_factory=Emission)
    window: int | None = None
    events: int | None = None
    single: bool = False
    part: int = 0


@dataclass(frozen=True)
class StreamedRules:
    """Rules whose matches are emitted as soon as they are sure, each by its own timing."""

    rules: RuleSet
    timings: tuple[RuleTiming, ...]


def streamed_rule(streamed: StreamedRules, number: int) -> StreamedPattern:
    """A rule as if it were alone over the stream."""
    timing = streamed.timings[number]
    return StreamedPattern(
        program_of(streamed.rules, number),
        timing.emission,
        timing.window,
        timing.events,
        single=timing.single,
    )


# Results.


def shape_name(number: int) -> str:
    """The column of the matches of a shape.

    >>> shape_name(0)
    'shape_1'
    """
    return f"{SHAPE}_{number + 1}"


def shape_outputs(rules: RuleSet) -> dict[int, tuple[VariableOutput, ...]]:
    """The outputs of each shape that has a column."""
    outputs = {shape: rules.programs[number].outputs for number, shape in enumerate(rules.shapes)}
    return {shape: found for shape, found in sorted(outputs.items()) if any(one.name for one in found)}


def role_name(number: int) -> str:
    """What steps call a role of the set.

    >>> role_name(3)
    'role 3'
    """
    return f"role {number}"


def role_number(name: str) -> int:
    """The number of a role that steps call by this name.

    >>> role_number("role 3")
    3
    """
    return int(name.removeprefix("role "))


def is_single(program: PatternProgram) -> bool:
    """Whether matches are single events that have a role, and nothing else is required.

    >>> steps, outputs = (Take("a", "A"),), (VariableOutput("a", "e1"),)
    >>> is_single(PatternProgram(steps, outputs, ("A",)))
    True
    """
    whole = program.collapsed or program.unique or program.nested or program.furthest is not None
    if whole or len(program.steps) != 1 or len(program.outputs) != 1:
        return False
    (step,), (output,) = program.steps, program.outputs
    is_plain = isinstance(step, Take) and step == Take(step.variable, step.role)
    return is_plain and isinstance(step, Take) and step.variable == output.variable


def program_of(rules: RuleSet, number: int) -> PatternProgram:
    """What a rule runs: its program with the roles of the set."""
    rule = rules.rules[number]
    program = rules.programs[rule.program]
    names = {own: role_name(role) for own, role in zip(program.roles, rule.roles, strict=True)}
    steps = tuple(with_roles(step, names) for step in program.steps)
    return replace(program, steps=steps, roles=tuple(names.values()))


def with_roles(step: KernelStep, names: Mapping[str, str]) -> KernelStep:
    """The step with other names of roles, wherever they stand.

    >>> from neelc.runtime.program import Absent
    >>> with_roles(Absent((Take("b", "B"),)), {"B": "role 7"})
    Absent(steps=(Take(variable='b', role='role 7', bounds=Bounds(after=(), before=(), within=(), \
between=()), differs=(), where=(), pick=<EventPick.ALL: 'ALL'>, when=(), until=(), \
includes=False),), when=(), part='')
    """
    match step:
        case Take():
            return _take(step, names)
        case Follow(moves=moves):
            changed = tuple(
                replace(
                    move,
                    take=_take(move.take, names),
                    checks=tuple(with_roles(check, names) for check in move.checks),
                )
                for move in moves
            )
            return replace(step, moves=changed)
        case Weigh(negations=negations):
            return replace(
                step,
                negations=tuple(
                    replace(one, steps=tuple(with_roles(inner, names) for inner in one.steps))
                    for one in negations
                ),
            )
        case WeighTimes(steps=steps, checks=checks):
            return replace(
                step,
                steps=tuple(with_roles(inner, names) for inner in steps),
                checks=tuple(_check(check, names) for check in checks),
            )
    return with_inner(step, lambda inner: with_roles(inner, names))


def _check(check: WeighedCheck[Value], names: Mapping[str, str]) -> WeighedCheck[Value]:
    return replace(
        check,
        steps=tuple(with_roles(inner, names) for inner in check.steps),
        searches=tuple(tuple(with_roles(inner, names) for inner in steps) for steps in check.searches),
        checks=tuple(_check(inner, names) for inner in check.checks),
    )


def _take(step: Take[Value], names: Mapping[str, str]) -> Take[Value]:
    until = tuple(tuple(_take(one, names) for one in chain) for chain in step.until)
    return replace(step, role=names[step.role], until=until)


def tree_program(rules: RuleSet, tree: RuleTree) -> PatternProgram:
    """What the search for a tree goes by: its steps, and what all of its rules have in common."""
    programs = [rules.programs[rules.rules[number].program] for number in tree.members]
    nodes = list(walk_nodes(tree.root))
    steps = [node.step for node in nodes if node.step is not None]
    checks = [check.step for node in nodes for check in node.checks]
    bound = [{output.variable for output in outputs} for outputs in tree.outputs]
    common = tuple(one for one in tree.outputs[0] if all(one.variable in names for names in bound))
    codings = joined_codings(coding for program in programs for coding in program.codings)
    return replace(
        programs[0], steps=(*steps, *checks), outputs=common, codings=codings, leader=tree.leader, roles=()
    )


def joined_codings(codings: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Groups of columns that are compared with each other: those that have one in common are one.

    >>> joined_codings([("a", "b"), ("c", "d"), ("b", "c")])
    (('a', 'b', 'c', 'd'),)
    """
    groups: list[tuple[str, ...]] = []
    for coding in codings:
        own = [group for group in groups if set(group) & set(coding)]
        names = dict.fromkeys(name for group in (*own, coding) for name in group)
        groups = [group for group in groups if group not in own] + [tuple(names)]
    return tuple(groups)


def walk_nodes(node: RuleNode) -> Iterator[RuleNode]:
    """The node and all below it."""
    yield node
    for below in node.then:
        yield from walk_nodes(below)
