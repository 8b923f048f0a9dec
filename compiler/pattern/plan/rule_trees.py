"""Steps that rules have in common, as trees: what the first steps of several rules are is done once.

A rule's steps bind events, one after the other, and check what is bound. Rules whose next step binds the same
events go on together; what only some of them require is a check of these. So two rules that begin alike share
what they begin with (NEEL's prefix caching), rules that differ in their negations share the whole positive
part (its bit-marking), and a rule that asks for more than another takes what that one finds and checks the
rest: SEQ from AND, SEQ_NEG from SEQ, a type from a concept (MQOS's reuse of results).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from neelc.runtime.kernels.rules.program import (
    BITS,
    RuleCheck,
    RuleNode,
    RuleTree,
    is_single,
    role_name,
    role_number,
    with_roles,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    Absent,
    AnyBound,
    Apply,
    Choose,
    ColumnValue,
    EachElement,
    EventName,
    EventPick,
    FilterStep,
    KernelStep,
    PatternProgram,
    Present,
    Rename,
    RepeatStep,
    Take,
    Value,
    Within,
)

CHECKS = (FilterStep, AnyBound, Absent, Present)
BINDING = (Take, Choose, Rename, RepeatStep, EachElement)


@dataclass(frozen=True)
class RuleSteps:
    """A rule of a set: its number, its canonical program, and the set's roles that the program's are."""

    number: int
    program: PatternProgram
    roles: tuple[int, ...]

    @property
    def steps(self) -> tuple[KernelStep, ...]:
        """The steps with the names that the set has for roles."""
        names = {own: role_name(role) for own, role in zip(self.program.roles, self.roles, strict=True)}
        return tuple(with_roles(step, names) for step in self.program.steps)


WiderRoles = Callable[[int], Mapping[int, float]]
"""The roles of the set whose events include all of a role's, itself among them, each with the share of its
events that have the narrower role."""


def only_itself(role: int) -> Mapping[int, float]:
    """Where nothing is known of roles."""
    return {role: 1.0}


LEAST_SHARE = 0.15
"""A rule takes the rows of a wider one, and checks them, if at least this share of them is its own. Measured
with one million events and shares from 0.5 to 0.01, that takes 0.7 to 1.3 times what steps of its own do: it
gains where more steps follow, and loses where a row has five events or more to choose from and none do."""


def can_share(program: PatternProgram) -> bool:
    """Whether the steps of a program can be taken together with those of others: its matches are those rows
    that are left, each once."""
    if is_single(program):
        return False  # rules that ask for one event are looked up together anyway
    whole = program.collapsed or program.unique or program.nested or program.furthest is not None
    return not whole and all(isinstance(step, (*CHECKS, *BINDING)) for step in program.steps)


def rule_trees(rules: Sequence[RuleSteps], wider: WiderRoles = only_itself) -> tuple[RuleTree, ...]:
    """The trees of rules that have at least their first step in common; others are in none."""
    able = [rule for rule in rules if can_share(rule.program)]
    kinds: dict[object, list[_Open]] = {}
    for rule in able:
        program = rule.program
        kinds.setdefault((program.lasting, program.counted), []).append(_Open(rule, rule.steps))
    trees: list[RuleTree] = []
    for waiting in kinds.values():
        for together in _clusters(waiting, wider):
            if len(together.rules) > 1:
                ordered = sorted(together.rules, key=lambda one: _path(one.steps))
                for first in range(0, len(ordered), BITS):
                    some = ordered[first : first + BITS]
                    if len(some) > 1:
                        trees.append(_tree(some, wider))
    return tuple(trees)


def _path(steps: tuple[KernelStep, ...]) -> str:
    """Rules with the same beginning are neighbours in this order."""
    return repr(steps)


@dataclass(frozen=True)
class _Open:
    """A rule on its way: the steps that are left."""

    rule: RuleSteps
    steps: tuple[KernelStep, ...]


@dataclass
class _Together:
    """Rules whose next step is that of the widest of them."""

    step: KernelStep
    rules: list[_Open]


def _tree(rules: Sequence[_Open], wider: WiderRoles) -> RuleTree:
    places = {one.rule.number: place for place, one in enumerate(rules)}
    root = _node(None, rules, places, wider)
    outputs = tuple(one.rule.program.outputs for one in rules)
    leaders = {one.rule.program.leader for one in rules}
    leader = leaders.pop() if len(leaders) == 1 else None
    return RuleTree(tuple(one.rule.number for one in rules), root, outputs, leader)


def _node(
    step: KernelStep | None, rules: Sequence[_Open], places: dict[int, int], wider: WiderRoles
) -> RuleNode:
    """The part of a tree where these rules take a step; their own step is the first of what is left, unless
    there is none at the root."""
    checks: dict[KernelStep, int] = {}
    forecasts: dict[int, KernelStep] = {}
    left: list[_Open] = []
    for one in rules:
        bit = 1 << places[one.rule.number]
        steps = one.steps
        if step is not None:
            if steps[0] != step:
                checks[steps[0]] = checks.get(steps[0], 0) | bit
            steps = steps[1:]
        while steps and isinstance(steps[0], CHECKS):
            if is_forecast(steps[0], taken_by(steps[1:])):
                forecasts[one.rule.number] = steps[0]
            else:
                checks[steps[0]] = checks.get(steps[0], 0) | bit
            steps = steps[1:]
        left.append(_Open(one.rule, steps))
    complete = tuple(places[one.rule.number] for one in left if not one.steps)
    clusters = _clusters([one for one in left if one.steps], wider)
    then = tuple(_node(together.step, together.rules, places, wider) for together in clusters)
    for together in clusters:
        # A row is of use as long as one of the rules that go on together may have a match.
        expected = {forecasts.get(one.rule.number) for one in together.rules}
        if len(expected) == 1 and (forecast := expected.pop()) is not None:
            own = sum(1 << places[one.rule.number] for one in together.rules)
            checks[forecast] = checks.get(forecast, 0) | own
    bits = sum(1 << places[one.rule.number] for one in rules)
    made = tuple(RuleCheck(check, of) for check, of in checks.items())
    return RuleNode(bits, step, made, complete, then)


def is_forecast(step: KernelStep, later: Collection[EventName]) -> bool:
    """Whether a check only drops early what cannot become a match: it looks for events that `later` steps
    take. What EXISTS or a double negation looks for, no other step does."""
    if not isinstance(step, Present):
        return False
    return all(isinstance(inner, Take) and inner.variable in later for inner in step.steps)


def taken_by(steps: Iterable[KernelStep]) -> frozenset[EventName]:
    """The variables that steps bind to one event."""
    return frozenset(step.variable for step in steps if isinstance(step, Take))


def _clusters(rules: Sequence[_Open], wider: WiderRoles) -> list[_Together]:
    """Rules by what they do next: each with those whose step finds all that its own does, if that pays."""
    same: dict[KernelStep, _Together] = {}
    for one in rules:
        step = one.steps[0]
        # A step of some branches leaves rows of others without the event: it is no check of all rows.
        general = replace(step, until=()) if isinstance(step, Take) and not step.when else step
        same.setdefault(general, _Together(general, [])).rules.append(one)
    for together in same.values():
        steps = {one.steps[0] for one in together.rules}
        if len(steps) == 1:  # where all look up to the same negation, that is part of the step
            together.step = steps.pop()
    # Those that ask for least come first: they can take others along.
    found: list[_Together] = []
    by_role: dict[tuple[object, int], list[_Together]] = {}
    for together in sorted(same.values(), key=lambda one: _demand(one.step)):
        step = together.step
        if not isinstance(step, Take):
            found.append(together)
            continue
        shares = wider(role_number(step.role))
        others = (
            (other, share * _share_of_window(other.step, step))
            for role, share in shares.items()
            for other in by_role.get((step.variable, role), ())
        )
        covering = next(
            (other for other, share in others if share >= LEAST_SHARE and _covers(other.step, step)), None
        )
        if covering is None:
            found.append(together)
            by_role.setdefault((step.variable, role_number(step.role)), []).append(together)
        else:
            covering.rules += together.rules
    return found


def _demand(step: KernelStep) -> tuple[int, int]:
    """How much a step asks for: one that covers another asks for less, or has a wider window."""
    if not isinstance(step, Take):
        return 0, 0
    bounds = step.bounds
    limits = (*step.where, *step.until, *bounds.after, *bounds.before, *bounds.within, *bounds.between)
    return len(limits), -sum(window.width for window in bounds.within)


def _share_of_window(wide: KernelStep, narrow: Take[Value]) -> float:
    """How much of a step's window another one's is."""
    if not isinstance(wide, Take):
        return 1.0
    widths = [max((one.width for one in step.bounds.within), default=0) for step in (wide, narrow)]
    return min(1.0, widths[1] / widths[0]) if all(widths) else 1.0


def _covers(wide: KernelStep, narrow: Take[Value]) -> bool:
    """Whether one step finds all that another one does, if its role does."""
    if not isinstance(wide, Take) or wide.when or narrow.when or wide.until:
        return False
    if wide.pick != EventPick.ALL or narrow.pick != EventPick.ALL:
        return False
    more = set(narrow.where) - set(wide.where)
    return not any(map(is_equation, more)) and _asks_less(wide, narrow)


def is_equation(condition: Value) -> bool:
    """Whether a condition says that columns of two events are equal. The kernel finds events by that, so a
    step that has one more is cheaper than a check of the rows of another: measured for decision 0137."""
    match condition:
        case Apply("=" | "agrees", (ColumnValue(one), ColumnValue(other))):
            return one != other
    return False


def _asks_less(wide: Take[Value], narrow: Take[Value]) -> bool:
    one, other = wide.bounds, narrow.bounds
    # An event that lies after another, or before it, is not the same.
    apart = {*narrow.differs, *other.after, *other.before}
    return (
        set(one.after) <= set(other.after)
        and set(one.before) <= set(other.before)
        and set(wide.where) <= set(narrow.where)
        and set(wide.differs) <= apart
        and set(one.between) <= set(other.between)
        and all(any(_is_wider(window, inner) for inner in other.within) for window in one.within)
    )


def _is_wider(wide: Within, narrow: Within) -> bool:
    same = replace(wide, width=narrow.width) == narrow
    return same and wide.width >= narrow.width
