"""The order in which the variables of a block are found, in the making."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

from neelc.ir.expressions import Expr
from neelc.ir.names import bare
from neelc.pattern.plan.blocks import (
    Block,
    BlockCondition,
    BlockVariables,
    BranchChoice,
    PlacedVariable,
    ends,
    event_names,
    exclude_each_other,
    in_bound,
    lag,
    marks_of,
    own_choices,
    ranges,
    with_lists,
)
from neelc.pattern.plan.columns import EventRoles
from neelc.pattern.plan.plan import PlanStep
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    Bounds,
    Choose,
    EachElement,
    ElementName,
    EventName,
    FilterStep,
    IterationName,
    ListName,
    Rename,
    Take,
    When,
    Within,
    around_of,
    names_of_step,
    walk_steps,
)
from neelc.runtime.program import Bounds as StepBounds

# What all branches of an OR begin with, end with or have in common: it is found once, for all of them.
#
# OR(SEQ(A a, B b, C c), SEQ(A x, B y, D d)) every pair of A and B is found once, and then goes both ways
#
# NEEL's prefix, suffix and middle sharing are one thing here: events can be taken in any order, so those
# that the branches share are taken first, wherever they stand.

Shared = tuple[PlacedVariable, ...]
"""The items, one of each branch, that take the same event."""


def shared_items(
    block: Block, choice: BranchChoice, role: Callable[[PlacedVariable], str], variables: BlockVariables
) -> list[Shared]:
    """The items that every branch of a choice has, in the order of the text; none where they are related in
    different ways."""
    by_choices: dict[frozenset[tuple[str, int]], list[PlacedVariable]] = {}
    for item in block.items:
        if item.loop is None:
            by_choices.setdefault(frozenset(item.when), []).append(item)
    branches = [
        by_choices.get(frozenset({*choice.when, (choice.mark, number)}), []) for number in range(choice.count)
    ]
    roles = [[role(item) for item in items] for items in branches]
    common = roles[0]
    for other in roles[1:]:
        common = _common(common, other)
    if not common or choice.count < 2:
        return []
    aligned = [_aligned(items, names, common) for items, names in zip(branches, roles, strict=True)]
    shared = list(zip(*aligned, strict=True))
    under_choices = frozenset(item.variable for item in block.items if item.when)
    first, *others = (_relations(items, under_choices, variables) for items in aligned)
    return shared if first is not None and all(other == first for other in others) else []


def _common(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The longest sequence that both have.

    >>> _common(["A", "B", "C"], ["D", "A", "C"])
    ['A', 'C']
    """
    length = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, name in enumerate(one, 1):
        for j, also in enumerate(other, 1):
            equal = name == also
            length[i][j] = length[i - 1][j - 1] + 1 if equal else max(length[i][j - 1], length[i - 1][j])
    common: list[str] = []
    i, j = len(one), len(other)
    while i and j:
        if one[i - 1] == other[j - 1]:
            common.append(one[i - 1])
            i, j = i - 1, j - 1
        elif length[i][j - 1] >= length[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return common[::-1]


def _aligned(
    items: Sequence[PlacedVariable], roles: Sequence[str], common: Sequence[str]
) -> list[PlacedVariable]:
    aligned, place = [], 0
    for name in common:
        place = roles.index(name, place)
        aligned.append(items[place])
        place += 1
    return aligned


def _relations(
    items: Sequence[PlacedVariable], under_choices: frozenset[EventName], variables: BlockVariables
) -> list[object] | None:
    """How the items of a branch are related to one another and to what stands around the choice, with
    numbers for their names; None if one depends on more than that."""
    names: dict[EventName, EventName] = {item.variable: f"#{number}" for number, item in enumerate(items)}
    if len(names) < len(items) or any(len(variables.items[item.variable]) > 1 for item in items):
        return None
    relations: list[object] = []
    for item in items:
        if item.between or any(bare(name).casefold() not in variables.keyed for _, name in item.same):
            return None
        windows = {_seen(window, names, under_choices) for window in item.within}
        after, before = (_renamed(bounds, names, under_choices) for bounds in (item.after, item.before))
        relations.append((frozenset(after), frozenset(before), frozenset(windows), item.type))
    return relations


def _seen(
    window: Within, names: Mapping[EventName, EventName], under_choices: frozenset[EventName]
) -> Within:
    return replace(window, events=tuple(sorted(_renamed(window.events, names, under_choices), key=str)))


def _renamed(
    variables: Sequence[EventName],
    names: Mapping[EventName, EventName],
    under_choices: frozenset[EventName],
) -> Iterator[EventName]:
    """Variables of the branch that are not shared have a bound on the item too, and are taken after it."""
    return (names.get(name, name) for name in variables if name in names or name not in under_choices)


# The bounds of an item that do not follow from others, given which variables are bound already.
#
# A bound that follows from others is left out: what is after b is after a, if b is after a. The fewer
# events a check looks at, the sooner it can be made, and the more rows share its answer.


def tight_bounds(item: PlacedVariable, bound: frozenset[EventName], variables: BlockVariables) -> Bounds:
    """The bounds of an item in terms of the variables in `bound`; those of other branches have no event."""
    if item.when:
        bound &= variables.together(item.when)
    after, before = in_bound(item.after, bound), in_bound(item.before, bound)
    within = (_tight_window(window, item, after, before, bound, variables) for window in item.within)
    sure = variables.sure(item.when)
    between = tuple(dict.fromkeys(item.between))
    return Bounds(
        _latest(after, [name for name in reversed(after) if name in sure], variables),
        _earliest(before, [name for name in before if name in sure], variables),
        tuple(dict.fromkeys(window for window in within if window is not None)),
        between,
    )


def _latest(
    names: Iterable[EventName], others: Iterable[EventName], variables: BlockVariables
) -> tuple[EventName, ...]:
    """The names that lie before none of the others."""
    return tuple(name for name in names if variables.later[name].isdisjoint(others))


def _earliest(
    names: Iterable[EventName], others: Iterable[EventName], variables: BlockVariables
) -> tuple[EventName, ...]:
    """The names that lie after none of the others."""
    return tuple(name for name in names if variables.earlier[name].isdisjoint(others))


def _tight_window(
    window: Within,
    item: PlacedVariable,
    after: tuple[EventName, ...],
    before: tuple[EventName, ...],
    bound: frozenset[EventName],
    variables: BlockVariables,
) -> Within | None:
    """The window in terms of what is bound; None if it adds no bound.

    For an event after all of `events` only their earliest start matters, for one before all of them the
    latest end. An event strictly between two events of the window lies in what the window leaves around
    them."""
    events = in_bound(window.events, bound)
    earlier, later, surely = frozenset(after), frozenset(before), variables.sure(item.when)
    sure = [name for name in events if name in surely]
    if not window.member and not earlier.isdisjoint(sure) and not later.isdisjoint(sure):
        return None
    first = _earliest((name for name in events if name in earlier), sure, variables)
    last = _latest((name for name in events if name in later), sure[::-1], variables)
    needless = earlier.difference(first) | later.difference(last)
    needed = tuple(name for name in events if name not in needless)
    measured = window.counted or variables.lasting
    if not needed and not (window.member and measured):
        return None
    return replace(window, events=needed, member=window.member and measured)


@dataclass
class StepOrder:
    """The steps of one block, in the making. `around` are the variables of the blocks around it, all bound;
    `chosen` are the marks of choices that are made. `shares`: what branches have in common is taken first.
    `postpones`: lists are put together last. Variables that come `first` are taken first. `iterating` are
    the lists whose `b[i]` is one event here; `late` are conditions and checks of their iterations that wait
    until the lists are complete; `waiting` are variables of the blocks around it that are bound later.
    `added` are the ids of the conditions and checks that are steps already."""

    block: Block
    variables: BlockVariables
    roles: EventRoles
    around: frozenset[EventName] = frozenset()
    chosen: frozenset[str] = frozenset()
    shares: bool = True
    postpones: bool = True
    iterating: frozenset[ListName] = frozenset()
    waiting: frozenset[EventName] = frozenset()
    first: tuple[EventName, ...] = ()
    steps: list[PlanStep] = field(default_factory=list)
    added: set[int] = field(default_factory=set)
    checks: list[tuple[Block, PlanStep]] = field(default_factory=list)
    late: list[BlockCondition] = field(default_factory=list)
    taken: set[PlacedVariable] = field(default_factory=set)

    def take(self, item: PlacedVariable) -> None:
        """Note that the events of an item are taken."""
        self.taken.add(item)
        self._settled.clear()
        if item in self._waiting:
            del self._waiting[item]

    @cached_property
    def _waiting(self) -> dict[PlacedVariable, None]:
        """The items that are not taken."""
        return dict.fromkeys(item for item in self.block.items if item not in self.taken)

    @property
    def is_waiting(self) -> bool:
        """Whether there are items that are not taken."""
        return bool(self._waiting)

    @cached_property
    def _settled(self) -> dict[When, frozenset[EventName]]:
        return {}

    def bound(self, when: When) -> frozenset[EventName]:
        """The variables that are settled in rows with these choices: their events are taken, or they have
        none. Branches of an OR may share a variable, which is then taken in each."""
        if when not in self._settled:
            waiting = {
                name
                for item in self._waiting
                if not exclude_each_other(item.when, when)
                for name in item.names
            }
            self._settled[when] = self.around | (self.own - waiting)
        return self._settled[when]

    @cached_property
    def own(self) -> frozenset[EventName]:
        """What the block binds."""
        return frozenset(name for item in self.block.items for name in item.names)

    def condition_step(self, condition: BlockCondition) -> PlanStep:
        """The step that checks a condition; one on each element of a list is checked for each of them."""
        step: PlanStep = FilterStep(condition.expression, condition.when)
        ranged = ranges(condition.expression) - self.iterating
        for name in sorted(ranged, key=lambda name: (-len(list(around_of(name))), str(name))):
            if name not in self.variables.items:
                continue  # a list of a certain iteration, which is none of a match's
            closure = self.variables.closure(name)
            own = own_choices(closure, step.when)
            outer = tuple(choice for choice in step.when if choice not in own)
            names, marks = self.variables.names_of(name), marks_of(closure, iter((own,)))
            skipped = lag(condition.expression, name)
            step = EachElement(name, names, (replace(step, when=own),), skipped, outer, marks)
        return step


def open_conditions(order: StepOrder) -> list[BlockCondition]:
    return [
        condition
        for condition in (*order.block.conditions, *order.late)
        if id(condition) not in order.added and not order.roles.is_absorbed(condition)
    ]


def conditions_at(order: StepOrder, item: PlacedVariable) -> Iterator[Expr]:
    """The conditions on an item that can be checked when it is taken."""
    now = order.bound(item.when) | {item.variable}
    for condition in open_conditions(order):
        if ranges(condition.expression) - order.iterating:
            continue
        if item.variable in condition.names <= now and set(condition.when) == set(item.when):
            order.added.add(id(condition))
            yield condition.expression


def add_ready_steps(order: StepOrder) -> None:
    """Add a step for each condition and each check that can be evaluated now."""
    own = order.own
    for condition in open_conditions(order):
        needed = with_lists(condition.names)
        if (needed & own) <= order.bound(condition.when) and _can_choose(order, condition.when):
            choose(order, condition.when)
            order.added.add(id(condition))
            order.steps.append(order.condition_step(condition))
    for check, made in order.checks:
        if id(check) in order.added or not _is_anchored(order, check.when):
            continue
        chosen = tuple(_choices_in(made))
        if (_needed(check, made) & own) <= order.bound(check.when) and _can_choose(order, chosen):
            choose(order, chosen)
            order.added.add(id(check))
            order.steps.append(made)


def _is_anchored(order: StepOrder, when: When) -> bool:
    """Whether rows have an event by which it is known in which partition a check looks."""
    if order.block.must_exist is not None or not order.is_waiting:
        return True
    sure = (item for item in order.taken if item.loop is None or item.loop.least > 0)
    return any(set(item.when) <= set(when) for item in sure)


def _choices_in(step: PlanStep) -> Iterator[tuple[str, int]]:
    """The choices that a check depends on, itself or in what it looks for: they are made before it."""
    return (choice for one in walk_steps((step,)) for choice in one.when)


def choose(order: StepOrder, when: When) -> None:
    """Make the choices that a step needs, those before which they are made first."""
    for mark, _ in when:
        choice = next((one for one in order.block.choices if one.mark == mark), None)
        if choice is None or mark in order.chosen:
            continue
        choose(order, choice.when)
        order.steps.append(Choose(choice.mark, choice.count, choice.when))
        order.chosen |= {mark}


def share(order: StepOrder, when: When) -> None:
    """Before a choice is made: take what all its branches share, and give it the name of each."""
    for mark, _ in when:
        choice = next((one for one in order.block.choices if one.mark == mark), None)
        if choice is None or mark in order.chosen:
            continue
        shared = shared_items(order.block, choice, order.roles.of.__getitem__, order.variables)
        choose(order, choice.when)
        before = order.bound(choice.when)
        for items in shared:
            first = items[0]
            bounds = bounds_of(order, replace(first, when=choice.when), before)
            differs = differs_of(order, first, before)
            order.steps.append(Take(first.variable, order.roles.of[first], bounds, differs, when=choice.when))
            before |= {first.variable}
        if shared:
            choose(order, (*choice.when, (mark, 0)))
        for items in shared:
            for item in items:
                order.take(item)
            order.steps += [
                Rename(items[0].variable, item.variable, item.when)
                for item in items[1:]
                if item.variable != items[0].variable
            ]


def differs_of(order: StepOrder, item: PlacedVariable, bound: frozenset[EventName]) -> tuple[EventName, ...]:
    """The bound variables whose event an item could be, but must not be."""
    others = order.variables.together(item.when).intersection(bound).difference(item.after, item.before)
    names = (
        name
        for name in sorted(others, key=str)
        if not _is_other_element(name) and order.variables.can_be_one_event(item, name)
    )
    return tuple(dict.fromkeys(part for name in names for part in order.variables.lists(name)))


def _is_other_element(name: EventName) -> bool:
    """Whether a name is one of a list's elements beside `b[i]`: who differs from the list differs from it."""
    return isinstance(name, ElementName) or (isinstance(name, IterationName) and name.lag != 0)


def bounds_of(order: StepOrder, item: PlacedVariable, bound: frozenset[EventName]) -> StepBounds:
    return ends(tight_bounds(item, bound, order.variables), order.variables.is_list)


def _can_choose(order: StepOrder, when: When) -> bool:
    """Choices are made as late as possible: not for a check alone, while there are variables to take."""
    return not order.is_waiting or all(mark in order.chosen or not _is_own(order, mark) for mark, _ in when)


def _is_own(order: StepOrder, mark: str) -> bool:
    return any(choice.mark == mark for choice in order.block.choices)


def _needed(check: Block, step: PlanStep) -> frozenset[EventName]:
    """The variables around a check that it looks at."""
    return with_lists(names_of_step(step, event_names)) - set(check.variables)
