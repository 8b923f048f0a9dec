"""The order in which the variables of a block are found, in the making."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from neelc.ir.expr import Expr
from neelc.plan.blocks import Block, Condition, Item
from neelc.plan.event_roles import EventRoles
from neelc.plan.iteration_marks import marks_of, own_choices
from neelc.plan.known import Known, exclude_each_other
from neelc.plan.list_names import CURRENT, ends, is_of_iteration, lag, list_of, place_of, ranges
from neelc.plan.names_of_steps import names_of_step
from neelc.plan.shared_items import shared_items
from neelc.plan.steps import Absent, Bounds, Choose, EachElement, Filter, Present, Rename, Step, Take
from neelc.plan.tight_bounds import tight_bounds
from neelc.runtime.program import When


@dataclass
class Order:
    """The steps of one block, in the making. `around` are the variables of the blocks around it, all bound;
    `chosen` are the marks of choices that are made. `shares`: what branches have in common is taken first.
    `postpones`: lists are put together last. `iterating` are the lists whose `b[i]` is one event here; `late`
    are conditions and checks of their iterations that wait until the lists are complete."""

    block: Block
    known: Known
    roles: EventRoles
    around: frozenset[str] = frozenset()
    chosen: frozenset[str] = frozenset()
    shares: bool = True
    postpones: bool = True
    iterating: frozenset[str] = frozenset()
    steps: list[Step] = field(default_factory=list)
    judged: set[int] = field(default_factory=set)
    checks: list[tuple[Block, Step]] = field(default_factory=list)
    late: list[Condition] = field(default_factory=list)
    taken: set[Item] = field(default_factory=set)

    def take(self, item: Item) -> None:
        """Note that the events of an item are taken."""
        self.taken.add(item)
        self._settled.clear()
        if item in self._waiting:
            del self._waiting[item]

    @cached_property
    def _waiting(self) -> dict[Item, None]:
        """The items that are not taken."""
        return dict.fromkeys(item for item in self.block.items if item not in self.taken)

    @property
    def is_waiting(self) -> bool:
        """Whether there are items that are not taken."""
        return bool(self._waiting)

    @cached_property
    def _settled(self) -> dict[When, frozenset[str]]:
        return {}

    def bound(self, when: When) -> frozenset[str]:
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
    def own(self) -> frozenset[str]:
        """What the block binds."""
        return frozenset(name for item in self.block.items for name in item.names)

    def needs(self, names: frozenset[str]) -> frozenset[str]:
        """What must be bound for a condition: for one about each element of a list, the list."""
        return frozenset(
            found
            if is_of_iteration(name) and (found := list_of(name)) and found not in self.iterating
            else name
            for name in names
        )

    def judging(self, condition: Condition) -> Step:
        """The step that judges a condition; one about each element of a list is asked of each of them."""
        step: Step = Filter(condition.expression, condition.when)
        for name in sorted(ranges(condition.expression) - self.iterating):
            closure = self.known.closure(name)
            own = own_choices(closure, step.when)
            outer = tuple(choice for choice in step.when if choice not in own)
            names, marks = self.known.names_of(name), marks_of(closure, iter((own,)))
            skipped = lag(condition.expression, name)
            step = EachElement(name, names, (replace(step, when=own),), skipped, outer, marks)
        return step


def open_conditions(order: Order) -> list[Condition]:
    return [
        condition
        for condition in (*order.block.conditions, *order.late)
        if id(condition) not in order.judged and not order.roles.is_absorbed(condition)
    ]


def conditions_at(order: Order, item: Item) -> Iterator[Expr]:
    """The conditions that can be judged when an item is taken, and concern it."""
    now = order.bound(item.when) | {item.variable}
    for condition in open_conditions(order):
        if ranges(condition.expression) - order.iterating:
            continue
        if item.variable in condition.names <= now and set(condition.when) == set(item.when):
            order.judged.add(id(condition))
            yield condition.expression


def judge(order: Order) -> None:
    """Add each condition and each check that can be judged now."""
    own = order.own
    for condition in open_conditions(order):
        needed = order.needs(condition.names)
        if (needed & own) <= order.bound(condition.when) and _can_choose(order, condition.when):
            choose(order, condition.when)
            order.judged.add(id(condition))
            order.steps.append(order.judging(condition))
    for check, made in order.checks:
        if id(check) in order.judged:
            continue
        chosen = tuple(_choices_in(made))
        if (_needed(check, made) & own) <= order.bound(check.when) and _can_choose(order, chosen):
            choose(order, chosen)
            order.judged.add(id(check))
            order.steps.append(made)


def _choices_in(step: Step) -> Iterator[tuple[str, int]]:
    """The choices that a check depends on, itself or in what it looks for: they are made before it."""
    yield from step.when
    if isinstance(step, Absent | Present | EachElement):
        for inner in step.steps:
            yield from _choices_in(inner)


def choose(order: Order, when: When) -> None:
    """Make the choices that a step needs, those before which they are made first."""
    for mark, _ in when:
        choice = next((one for one in order.block.choices if one.mark == mark), None)
        if choice is None or mark in order.chosen:
            continue
        choose(order, choice.when)
        order.steps.append(Choose(choice.mark, choice.count, choice.when))
        order.chosen |= {mark}


def share(order: Order, when: When) -> None:
    """Before a choice is made: take what all its branches share, and give it the name of each."""
    for mark, _ in when:
        choice = next((one for one in order.block.choices if one.mark == mark), None)
        if choice is None or mark in order.chosen:
            continue
        shared = shared_items(order.block, choice, order.roles.of.__getitem__, order.known)
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


def differs_of(order: Order, item: Item, bound: frozenset[str]) -> tuple[str, ...]:
    """The bound variables whose event an item could be, but must not be."""
    names = (
        name
        for name in sorted(
            order.known.together(item.when).intersection(bound).difference(item.after, item.before)
        )
        if place_of(name) in (None, CURRENT) and order.known.can_be_one_event(item, name)
    )
    return tuple(dict.fromkeys(part for name in names for part in order.known.lists(name)))


def bounds_of(order: Order, item: Item, bound: frozenset[str]) -> Bounds:
    return ends(tight_bounds(item, bound, order.known), order.known.is_list)


def _can_choose(order: Order, when: When) -> bool:
    """Choices are made as late as possible: not for a check alone, while there are variables to take."""
    return not order.is_waiting or all(mark in order.chosen or not _is_own(order, mark) for mark, _ in when)


def _is_own(order: Order, mark: str) -> bool:
    return any(choice.mark == mark for choice in order.block.choices)


def _needed(check: Block, step: Step) -> frozenset[str]:
    """The variables around a check that it looks at."""
    return frozenset(names_of_step(step)) - set(check.variables)
