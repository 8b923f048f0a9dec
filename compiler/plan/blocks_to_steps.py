"""Blocks as steps: variables in an order, each condition and each check as soon as it can be judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from neelc.ir.expr import Expr
from neelc.plan.agreements import agreements
from neelc.plan.blocks import Block, Condition, Item, Loop
from neelc.plan.consistency import Kind, consistency
from neelc.plan.event_roles import EventRoles, renamed
from neelc.plan.feasible import feasible
from neelc.plan.known import Known, exclude_each_other
from neelc.plan.list_names import CURRENT, FIRST, element, ends, list_of, looks_back, ranges, without_names
from neelc.plan.names_of_steps import names_of_step
from neelc.plan.picks import with_picks
from neelc.plan.shared_items import shared_items
from neelc.plan.steps import Absent, AnyBound, Bounds, Choose, Filter, Present, Rename, Repeat, Step, Take
from neelc.plan.tight_bounds import tight_bounds
from neelc.runtime.program import When


@dataclass
class Order:
    """The steps of one block, in the making. `around` are the variables of the blocks around it, all bound;
    `chosen` are the marks of choices that are made. `shares`: what branches have in common is taken first.
    `postpones`: lists are put together last."""

    block: Block
    known: Known
    roles: EventRoles
    around: frozenset[str] = frozenset()
    chosen: frozenset[str] = frozenset()
    shares: bool = True
    postpones: bool = True
    steps: list[Step] = field(default_factory=list)
    judged: set[int] = field(default_factory=set)
    checks: list[tuple[Block, Absent | Present]] = field(default_factory=list)
    taken: set[Item] = field(default_factory=set)

    def bound(self, when: When) -> frozenset[str]:
        """The variables that are settled in rows with these choices: their events are taken, or they have
        none. Branches of an OR may share a variable, which is then taken in each."""
        waiting = {
            name
            for item in self.block.items
            if item not in self.taken and not exclude_each_other(item.when, when)
            for name in item.names
        }
        return self.around | (self.own - waiting)

    @property
    def own(self) -> frozenset[str]:
        """What the block binds."""
        return frozenset(name for item in self.block.items for name in item.names)


def blocks_to_steps(
    block: Block,
    known: Known,
    roles: EventRoles,
    shares: bool = True,
    postpones: bool = True,
    around: frozenset[str] = frozenset(),
) -> tuple[Step, ...]:
    """The steps that find all matches. Unless it `shares`, events are taken in the order of the text; unless
    it `postpones`, so are lists, and nothing is dropped early: a list is put together for every start. What
    is `around` is bound already."""
    return tuple(_steps(Order(block, known, roles, around, shares=shares, postpones=postpones)))


def _steps(order: Order) -> list[Step]:
    block = order.block
    order.checks = [(check, _check(order, check)) for check in block.checks]
    _judge(order)
    for place, item in enumerate(_in_order(block.items, order.postpones)):
        if item in order.taken:
            continue  # shared, and taken before the choice
        if block.wanted is None and order.shares:
            _share(order, item.when)
        if item not in order.taken:
            _choose(order, item.when)
            order.steps.append(_take(order, item) if item.loop is None else _repeat(order, item, item.loop))
            order.taken.add(item)
        _judge(order)
        if place == 0 and block.wanted is None and order.postpones:
            order.steps += feasible(order.bound(()), block.items, order.roles, order.known)
    for choice in block.choices:
        _choose(order, (*choice.when, (choice.mark, 0)))
    _judge(order)
    order.steps += [AnyBound(_events(order, some.variables), some.when) for some in block.bound]
    return order.steps


def _events(order: Order, variables: tuple[str, ...]) -> tuple[str, ...]:
    """An event for each variable; a list that is not empty has a first one."""
    return tuple(element(name, FIRST) if order.known.is_list(name) else name for name in variables)


def _in_order(items: list[Item], postpones: bool) -> list[Item]:
    """The order of the text, but what must lie around other events comes after them: they do not know of
    it. Lists come last (SASE++'s postponing): none is put together for a match that cannot be completed."""
    left, ordered = list(items), list[Item]()
    while left:
        waiting = {item.variable for item in left}
        free = [item for item in left if not waiting & set(_looked_at(item))]
        free.sort(key=lambda item: postpones and item.loop is not None)
        assert free, "windows are nested, so there is an order"
        ordered.append(free[0])
        left.remove(free[0])
    return ordered


def _looked_at(item: Item) -> Iterator[str]:
    for window in item.within:
        if not window.member:
            yield from window.events


def _choose(order: Order, when: When) -> None:
    """Make the choices that a step needs, those before which they are made first."""
    for mark, _ in when:
        choice = next((one for one in order.block.choices if one.mark == mark), None)
        if choice is None or mark in order.chosen:
            continue
        _choose(order, choice.when)
        order.steps.append(Choose(choice.mark, choice.count, choice.when))
        order.chosen |= {mark}


def _share(order: Order, when: When) -> None:
    """Before a choice is made: take what all its branches share, and give it the name of each."""
    for mark, _ in when:
        choice = next((one for one in order.block.choices if one.mark == mark), None)
        if choice is None or mark in order.chosen:
            continue
        shared = shared_items(order.block, choice, order.roles.of.__getitem__, order.known)
        _choose(order, choice.when)
        before = order.bound(choice.when)
        for items in shared:
            first = items[0]
            bounds = _bounds(order, replace(first, when=choice.when), before)
            differs = _differs(order, first, before)
            order.steps.append(Take(first.variable, order.roles.of[first], bounds, differs, when=choice.when))
            before |= {first.variable}
        if shared:
            _choose(order, (*choice.when, (mark, 0)))
        for items in shared:
            order.taken |= set(items)
            order.steps += [
                Rename(items[0].variable, item.variable, item.when)
                for item in items[1:]
                if item.variable != items[0].variable
            ]


def _differs(order: Order, item: Item, bound: frozenset[str]) -> tuple[str, ...]:
    """The bound variables whose event an item could be, but must not be."""
    names = (
        name
        for name in sorted(bound)
        if list_of(name) is None
        and name not in item.after
        and name not in item.before
        and order.known.can_be_one_event(item, name)
    )
    return tuple(dict.fromkeys(part for name in names for part in order.known.lists(name)))


def _take(order: Order, item: Item) -> Take:
    """The step that binds an item, with all conditions that can be judged then and concern it."""
    bound = order.bound(item.when) - {item.variable}
    differs = _differs(order, item, bound)
    where = [*agreements(item, bound, order.known), *_conditions_at(order, item)]
    bounds = _bounds(order, item, bound)
    return Take(item.variable, order.roles.of[item], bounds, differs, tuple(where), when=item.when)


def _bounds(order: Order, item: Item, bound: frozenset[str]) -> Bounds:
    return ends(tight_bounds(item, bound, order.known), order.known.is_list)


def _repeat(order: Order, item: Item, loop: Loop) -> Repeat:
    """The step that binds a list. The first iteration is its own `b[1]`, and conditions that look back hold
    for it by definition."""
    around = (order.bound(item.when) - {item.variable}) | {*item.earlier}
    following = [c for c in loop.body.conditions if not _is_of_first(c, item.variable)]
    first = [
        _of_first(condition, item.variable)
        for condition in loop.body.conditions
        if not looks_back(condition.expression)
    ]

    def steps(conditions: list[Condition]) -> tuple[Step, ...]:
        body = replace(loop.body, conditions=conditions)
        iteration = Order(body, order.known, order.roles, around, order.chosen)
        return tuple(_under(step, item.when) for step in _steps(iteration))

    bodies = steps(first), steps(following)
    early = tuple(_early(order, item)) if {*first} <= {*following} and len(loop.names) == 1 else ()
    return Repeat(item.variable, loop.names, *bodies, loop.least, loop.most, early, item.when)


def _early(order: Order, item: Item) -> Iterator[Expr]:
    """Conditions on the list that are false-value consistent (SASE++ 5.2)."""
    bound = order.bound(item.when) | {item.variable}
    for condition in _open_conditions(order):
        fits = item.variable in condition.names <= bound and set(condition.when) == set(item.when)
        kind = consistency(without_names(condition.expression)).kind if fits else None
        if kind in (Kind.FALSE, Kind.BOTH):
            yield condition.expression


def _is_of_first(condition: Condition, variable: str) -> bool:
    """Whether a condition names the first element, and no other one by one."""
    first = any(name.startswith(element(variable, FIRST)) for name in condition.names)
    return first and variable not in ranges(condition.expression)


def _of_first(condition: Condition, variable: str) -> Condition:
    """A condition as it is for the first iteration."""
    begins = {name for name in condition.names if name.startswith(element(variable, FIRST))}
    expression = condition.expression
    for name in begins:
        own = element(variable, CURRENT) + name.removeprefix(element(variable, FIRST))
        expression = renamed(expression, name, own)
    return replace(condition, expression=expression) if begins else condition


def _conditions_at(order: Order, item: Item) -> Iterator[Expr]:
    now = order.bound(item.when) | {item.variable}
    for condition in _open_conditions(order):
        if item.variable in condition.names <= now and set(condition.when) == set(item.when):
            order.judged.add(id(condition))
            yield condition.expression


def _open_conditions(order: Order) -> list[Condition]:
    return [
        condition
        for condition in order.block.conditions
        if id(condition) not in order.judged and not order.roles.is_absorbed(condition)
    ]


def _judge(order: Order) -> None:
    """Add each condition and each check that can be judged now."""
    own = order.own
    for condition in _open_conditions(order):
        if (condition.names & own) <= order.bound(condition.when) and _can_choose(order, condition.when):
            _choose(order, condition.when)
            order.judged.add(id(condition))
            order.steps.append(Filter(condition.expression, condition.when))
    for check, made in order.checks:
        if id(check) in order.judged:
            continue
        chosen = tuple(_choices_in(made))
        if (_needed(check, made) & own) <= order.bound(check.when) and _can_choose(order, chosen):
            _choose(order, chosen)
            order.judged.add(id(check))
            order.steps.append(made)


def _choices_in(step: Step) -> Iterator[tuple[str, int]]:
    """The choices that a check depends on, itself or in what it looks for: they are made before it."""
    yield from step.when
    if isinstance(step, Absent | Present):
        for inner in step.steps:
            yield from _choices_in(inner)


def _can_choose(order: Order, when: When) -> bool:
    """Choices are made as late as possible: not for a check alone, while there are variables to take."""
    left = any(item not in order.taken for item in order.block.items)
    return not left or all(mark in order.chosen or not _is_own(order, mark) for mark, _ in when)


def _is_own(order: Order, mark: str) -> bool:
    return any(choice.mark == mark for choice in order.block.choices)


def _check(order: Order, check: Block) -> Absent | Present:
    """The step of a check, as if all variables around it were bound."""
    around = order.around | order.own
    inner = Order(check, order.known, order.roles, around, order.chosen)
    steps = tuple(_under(step, check.when) for step in with_picks(_steps(inner)))
    kind = Present if check.wanted else Absent
    return kind(steps, check.when, check.part)


def _under(step: Step, when: When) -> Step:
    """The step for rows that all have made these choices."""
    return replace(step, when=tuple(choice for choice in step.when if choice not in when))


def _needed(check: Block, step: Absent | Present) -> frozenset[str]:
    """The variables around a check that it looks at."""
    return frozenset(names_of_step(step)) - set(check.variables)
