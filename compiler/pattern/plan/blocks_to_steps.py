"""Blocks as steps: variables in an order, each condition and each check as soon as it can be evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from heapq import heapify, heappop, heappush

from neelc.ir.expressions import Binary, Conjunction, Disjunction, EveryElement, Expr, IsNull, WholeEvent
from neelc.ir.names import bare
from neelc.ir.node import walk
from neelc.ir.patterns import GapReach
from neelc.ir.types import Struct
from neelc.pattern.plan.blocks import (
    Block,
    BlockCondition,
    BlockVariables,
    PlacedVariable,
    UnsupportedQuery,
    implies,
    in_bound,
    lag,
    marks_of,
    own_choices,
    ranges,
    reference_to,
    renamed,
    see_each_other,
    with_other_names,
)
from neelc.pattern.plan.columns import EventRoles, attribute
from neelc.pattern.plan.consistency import ConsistencyKind, consistency
from neelc.pattern.plan.order import (
    StepOrder,
    add_ready_steps,
    bounds_of,
    choose,
    conditions_at,
    differs_of,
    open_conditions,
    share,
    tight_bounds,
)
from neelc.pattern.plan.pattern_to_blocks import with_picks
from neelc.pattern.plan.plan import PlanStep
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    Absent,
    AnyBound,
    EachElement,
    ElementName,
    EventName,
    IterationName,
    ListName,
    Present,
    RepeatStep,
    Take,
    When,
    Within,
    around_of,
    iteration_of,
)
from neelc.scalar.operators import cast_to, common_of
from neelc.scalar.type_of import type_of

Closures = tuple[PlacedVariable, ...]
"""Closures, each inside of the one before."""

# `[id]`: an event that is bound agrees with those that are bound already.


def agreements(
    item: PlacedVariable, bound: frozenset[EventName], variables: BlockVariables
) -> Iterator[Expr]:
    """`[id]` between the item and what is bound; one surely bound event is enough, all of them agree."""
    for number, name in item.same:
        if bare(name).casefold() in variables.keyed:
            continue
        others = [
            other
            for other in sorted(bound, key=str)
            if variables.items[other][0].type
            and not variables.is_list(other)
            and not (isinstance(other, IterationName) and other.lag < 0)
            and any(
                (number, name) in one.same and see_each_other(item, one) for one in variables.items[other]
            )
        ]
        sure = [other for other in others if variables.is_sure(other, item.when)]
        yield from (_agreement(variables, item, other, name, bool(sure)) for other in sure[:1] or others)


def _agreement(
    variables: BlockVariables, item: PlacedVariable, other: EventName, name: str, sure: bool
) -> Expr:
    """Equality; of an event that may be absent, only where it is there. Roles have made sure that no value
    is NULL."""
    facts = variables.facts
    one = attribute(item.variable, name, facts.type(item.type))
    two = attribute(other, name, facts.type(variables.items[other][0].type))
    kind = common_of((type_of(one), type_of(two)), strings=False) or type_of(one)
    equal = Binary("=", cast_to(two, type_of(two), kind), cast_to(one, type_of(one), kind))
    return equal if sure else Disjunction((IsNull(two), equal))


# A step that drops rows early for which some event that is still needed cannot be there.


def feasible(
    first: frozenset[EventName], items: Sequence[PlacedVariable], roles: EventRoles, variables: BlockVariables
) -> list[PlanStep]:
    """The rest of the pattern, when the first event is taken, with each event as near as possible and
    conditions left out: so no match is lost."""
    rest = [item for item in items[1:] if not item.when and _is_needed(item)]
    if len(rest) < 2 or items[0].when or items[0].loop:
        return []
    bound, steps = first, list[PlanStep]()
    for item in rest:
        bounds = tight_bounds(item, bound, variables)
        windows = (
            replace(window, events=in_bound(window.events, first), member=False) for window in bounds.within
        )
        within = tuple(window for window in windows if window.events)
        steps.append(Take(item.variable, roles.of[_event_of(item)], replace(bounds, within=within)))
        bound |= {item.variable}
    return [Present(with_picks(steps))]


def _is_needed(item: PlacedVariable) -> bool:
    """Whether an event must be there; for a list, one that can be any of its elements."""
    if item.loop is None:
        return True
    items = item.loop.body.items
    return item.loop.least > 0 and len(items) == 1 and items[0].loop is None


def _event_of(item: PlacedVariable) -> PlacedVariable:
    return item if item.loop is None else item.loop.body.items[0]


# Negations, and what EXISTS looks for, in the iterations of a closure: now, or when its list is complete.
#
# A check in an iteration looks from the iteration before up to the one after, and at the ends of the list
# as far as the scope of the closure and the windows around it reach. All that is known only once the
# list is complete. A check between events of the same iteration has all it needs, and drops lists before
# they grow.


#
# Of a closure inside of a closure: a check in an iteration of the inner one can be made in an iteration of
# the outer one, if all it looks for lies between events of that.


def is_settled(
    check: Block, closures: Closures, order: StepOrder, around: frozenset[EventName], waiting: Set[EventName]
) -> bool:
    """Whether a check of an iteration can be made in it: all it looks for lies between events that are there,
    and can be no event that is taken later, alone or in a list."""
    bodies = (closure.loop.body for closure in closures if closure.loop is not None)
    items = (one for body in bodies for one in body.items)
    inside = {one.variable for one in items if one.loop is None and implies(check.when, one.when)}
    before = inside | {name for name in around if order.variables.is_sure(name, check.when)}
    closure = closures[-1]
    if check.begins_at_element:
        before |= {ElementName(closure.variable, place) for place in (1, -1)}
    if check.reach is not None and (len(closures) > 1 or _looks_beyond(check, closure, order)):
        return False
    for item in check.all_items():
        is_between = item.between or (inside & set(item.before) and before & set(item.after))
        is_early = any(name in waiting for name in item.after)
        if not is_between or is_early or any(_can_be_in(item, name, order) for name in waiting):
            return False
    return True


def _looks_beyond(check: Block, closure: PlacedVariable, order: StepOrder) -> bool:
    """Whether a gap asks for more of its list than the element before it and the first one; or could find an
    element of it, which is none."""
    of = closure.variable
    names = [name for condition in check.all_conditions() for name in condition.names]
    inside = [one for name in names if (one := iteration_of(name, of)) is not None]
    if of in names or not all(map(_is_seen_in_iteration, inside)):
        return True
    is_wide = check.reach in (GapReach.UNTIL, GapReach.WITHOUT)
    items = check.all_items() if is_wide else ()
    return any(order.variables.can_be_one_event(item, closure.variable) for item in items)


def _can_be_in(item: PlacedVariable, name: EventName, order: StepOrder) -> bool:
    apart = name in item.after or name in item.before
    return not apart and order.variables.can_be_one_event(item, name)


def late_check(
    check: Block, closures: Closures, order: StepOrder, find: Callable[[StepOrder], list[PlanStep]]
) -> PlanStep:
    """The step that makes a check for each iteration of a list that is complete; of closures inside of
    closures, the outermost first, for each iteration of the innermost."""
    around, made = order.around | order.own, _by_definition(check, closures[-1])
    for closure in closures:
        around |= {*closure.far_back}
        names = (IterationName(closure.variable, lag=lag) for lag in (1, -1))
        bound = (
            () if closure.loop is None else (name for one in closure.loop.body.items for name in one.names)
        )
        around |= {*bound, *names}
        made = _of_complete_list(made, closure)
    iterating = order.iterating | {closure.variable for closure in closures}
    pairs = zip(check.all_items(), made.all_items(), strict=True)
    of = {**order.roles.of, **{new: order.roles.of[old] for old, new in pairs if old.loop is None}}
    roles = replace(order.roles, of=of)
    inner = StepOrder(made, order.variables, roles, around, order.chosen, iterating=iterating)
    steps = tuple(
        replace(step, when=tuple(choice for choice in step.when if choice not in check.when))
        for step in with_picks(find(inner))
    )
    kind = Present if check.must_exist else Absent
    step: PlanStep = kind(steps, own_choices(closures[-1], check.when), check.part)
    whens = (check.when, *(one.when for block in check.all_blocks() for one in block.items))
    whens = (*whens, *(closure.when for closure in closures))
    for place, closure in reversed([*enumerate(closures)]):
        assert closure.loop is not None, "a closure"
        when = own_choices(closures[place - 1], closure.when) if place else closure.when
        marks = marks_of(closure, iter(whens))
        skipped = 1 if check.begins_at_element and closure is closures[-1] else 0
        step = EachElement(closure.variable, closure.loop.names, (step,), skipped, when, marks)
    return step


def _by_definition(check: Block, closure: PlacedVariable) -> Block:
    """The check with its conditions on elements further back than the one before: they hold where there is
    none. For the one before, such iterations are left out."""
    of, loop = closure.variable, closure.loop
    assert loop is not None, "a closure"

    def changed(condition: BlockCondition) -> BlockCondition:
        back = lag(condition.expression, of)
        if back < 2:
            return condition
        # An iteration of a composite is not there if it has none of its events.
        names = (replace(name, lag=back) for name in loop.names if name.list == of)
        absent = tuple(IsNull(WholeEvent(reference_to(name), Struct(()))) for name in names)
        if not absent:
            what = f"EACH NEXT of iterations that begin with a list, with a condition on `{of}[i-{back}]`,"
            raise UnsupportedQuery(what, condition.expression.span)
        none = absent[0] if len(absent) == 1 else Conjunction(absent)
        return replace(condition, expression=Disjunction((none, condition.expression)))

    if check.reach is None:
        return check
    return replace(check, conditions=[changed(one) for one in check.conditions])


def _of_complete_list(block: Block, closure: PlacedVariable) -> Block:
    """The block of a check with the bounds that are known when the list is complete."""
    items = []
    for item in block.items:
        if item.loop is not None:
            item = replace(item, loop=replace(item.loop, body=_of_complete_list(item.loop.body, closure)))
        items.append(_bounded(item, closure))
    checks = [_of_complete_list(check, closure) for check in block.checks]
    return replace(block, items=items, checks=checks)


def _bounded(item: PlacedVariable, closure: PlacedVariable) -> PlacedVariable:
    """While a list grows, its last element is the one before, and of a window around it the first element
    and the iteration are known."""
    previous, following = (IterationName(closure.variable, lag=lag) for lag in (1, -1))
    last = ElementName(closure.variable, -1)
    after = tuple(previous if name == last else name for name in item.after)
    within = tuple(_around_all(window, closure) for window in item.within)
    return replace(item, after=after, before=(*item.before, following), within=within)


def _around_all(window: Within, closure: PlacedVariable) -> Within:
    first = ElementName(closure.variable, 1)
    bound = () if closure.loop is None else closure.loop.body.variables
    if first not in window.events:
        return window
    others = (name for name in window.events if name not in (first, *bound))
    return replace(window, events=(*others, closure.variable))


# A closure as a step: what is checked while its list grows, and what waits until the list is complete.


def repeat_step(
    order: StepOrder, item: PlacedVariable, find: Callable[[StepOrder], list[PlanStep]]
) -> RepeatStep[Expr]:
    """The step that binds a list; `find` finds an iteration. The first iteration is its own `b[1]`, and
    conditions that look back hold for it by definition."""
    loop = item.loop
    assert loop is not None, "a closure"
    around = (order.bound(item.when) - {item.variable}) | {*item.earlier}
    others = (one for one in order.block.items if one not in order.taken and one != item)
    waiting = order.waiting | {one.variable for one in others}
    now = _now((item,), order, around, waiting)
    order.late += now.late
    order.checks += [(check, late_check(check, each, order, find)) for check, each in now.late_checks]
    conditions = now.body.conditions
    following = [one for one in conditions if not _is_of_first(one, item.variable)]
    first = [_of_first(one, item.variable) for one in conditions if not lag(one.expression, item.variable)]

    def steps(conditions: list[BlockCondition], is_first: bool) -> tuple[PlanStep, ...]:
        checks = [one for one in now.body.checks if _concerns(one, is_first)]
        body = replace(now.body, conditions=conditions, checks=checks)
        iterating = order.iterating | {item.variable}
        iteration = StepOrder(
            body, order.variables, order.roles, around, order.chosen, iterating=iterating, waiting=waiting
        )
        return tuple(under(step, item.when) for step in find(iteration))

    bodies = steps(first, True), steps(following, False)
    of_events = loop.names == (IterationName(item.variable, loop.names[0].inner),)
    # A check before an event asks more of it as the first element than as a later one.
    is_alike = {*first} <= {*following} and not now.body.checks
    early = tuple(_early(order, item)) if is_alike and of_events else ()
    return RepeatStep(
        item.variable,
        loop.names,
        *bodies,
        loop.least,
        loop.most,
        early=early,
        when=item.when,
        places=loop.places,
        lags=loop.lags,
    )


def _concerns(check: Block, is_first: bool) -> bool:
    """Whether a check of an iteration is one of the first, or of those after it."""
    return not check.begins_at_element if is_first else check.reach != GapReach.FIRST


@dataclass(frozen=True)
class IterationBody:
    """The block of an iteration with what can be checked in it, and what waits until the list is complete:
    conditions, and checks with the closures whose iterations they are for."""

    body: Block
    late: tuple[BlockCondition, ...]
    late_checks: tuple[tuple[Block, Closures], ...]


def _now(
    closures: Closures, order: StepOrder, around: frozenset[EventName], waiting: frozenset[EventName]
) -> IterationBody:
    """What can be checked in an iteration of the first of some closures, each inside of the one before: of
    the iterations of the last of them, and of those inside of that."""
    loop, outer = closures[-1].loop, closures[0]
    assert loop is not None, "a closure"
    body = loop.body
    late = [one for one in body.conditions if not _is_early(one, outer, around)]
    checks = [check for check in body.checks if not is_settled(check, closures, order, around, waiting)]
    late_checks = [(check, (*closures, *_closures_of(check, order))) for check in checks]
    items: list[PlacedVariable] = []
    for item in body.items:
        if item.loop is not None:
            inner = _now((*closures, item), order, around, waiting)
            item = replace(item, loop=replace(item.loop, body=inner.body))
            late, late_checks = [*late, *inner.late], [*late_checks, *inner.late_checks]
        items.append(item)
    conditions = [one for one in body.conditions if one not in late]
    kept = [check for check in body.checks if check not in checks]
    return IterationBody(
        replace(body, items=items, conditions=conditions, checks=kept), tuple(late), tuple(late_checks)
    )


def under(step: PlanStep, when: When) -> PlanStep:
    """The step for rows that all have made these choices."""
    return replace(step, when=tuple(choice for choice in step.when if choice not in when))


def _is_early(condition: BlockCondition, item: PlacedVariable, around: frozenset[EventName]) -> bool:
    """Whether a condition can be checked in an iteration. The last element and the whole list are not known
    then; nor are lists that are built later."""
    every = EveryElement(reference_to(item.variable))
    if any(node == every for node in walk(condition.expression)):
        return False
    for name in condition.names - {item.variable}:
        iteration = iteration_of(name, item.variable)
        if iteration is not None:
            if not _is_seen_in_iteration(iteration):
                return False
        elif around.isdisjoint(around_of(name)):
            return False
    return True


def _is_seen_in_iteration(name: ElementName | IterationName) -> bool:
    """Whether an element of a list that still grows is known: this one, the one before, the first."""
    return (isinstance(name, ElementName) and name.place == 1) or (
        isinstance(name, IterationName) and name.lag in (0, 1)
    )


def _early(order: StepOrder, item: PlacedVariable) -> Iterator[Expr]:
    """Conditions on the list that are false-value consistent (SASE++ 5.2)."""
    bound = order.bound(item.when) | {item.variable}
    for condition in open_conditions(order):
        fits = item.variable in condition.names <= bound and set(condition.when) == set(item.when)
        kind = consistency(_without_iterations(condition, order)).kind if fits else None
        if kind in (ConsistencyKind.FALSE, ConsistencyKind.BOTH):
            yield condition.expression


def _without_iterations(condition: BlockCondition, order: StepOrder) -> Expr:
    """The condition with plain names for what the iterations around it have bound."""
    names: dict[EventName, EventName] = {
        one: str(one)
        for name in condition.names
        for one in around_of(name)
        if isinstance(one, IterationName) and one.list in order.iterating
    }
    return with_other_names(condition.expression, names) if names else condition.expression


def _is_of_first(condition: BlockCondition, variable: ListName) -> bool:
    """Whether a condition names the first element, and no other one by one."""
    return bool(_firsts(condition, variable)) and variable not in ranges(condition.expression)


def _firsts(condition: BlockCondition, variable: ListName) -> list[ElementName]:
    """The names of the first element, or of what is in it, that a condition has."""
    iterations = (iteration_of(name, variable) for name in condition.names)
    return [name for name in iterations if isinstance(name, ElementName) and name.place == 1]


def _of_first(condition: BlockCondition, variable: ListName) -> BlockCondition:
    """The form of a condition for the first iteration."""
    expression = condition.expression
    for name in _firsts(condition, variable):
        expression = renamed(expression, name, IterationName(variable, name.inner))
    return condition if expression is condition.expression else replace(condition, expression=expression)


def blocks_to_steps(
    block: Block,
    variables: BlockVariables,
    roles: EventRoles,
    shares: bool = True,
    postpones: bool = True,
    around: frozenset[EventName] = frozenset(),
    first: tuple[EventName, ...] = (),
) -> tuple[PlanStep, ...]:
    """The steps that find all matches. Unless it `shares`, events are taken in the order of the text; unless
    it `postpones`, so are lists, and nothing is dropped early: a list is put together for every start. What
    is `around` is bound already. Variables that others take, too, come `first`."""
    return tuple(
        _steps(StepOrder(block, variables, roles, around, shares=shares, postpones=postpones, first=first))
    )


def _steps(order: StepOrder) -> list[PlanStep]:
    block = order.block
    order.checks = [(check, _check(order, check)) for check in block.checks]
    add_ready_steps(order)
    for place, item in enumerate(_in_order(_first_of(block.items, order.first), order)):
        if item in order.taken:
            continue  # shared, and taken before the choice
        if block.must_exist is None and order.shares:
            share(order, item.when)
        if item not in order.taken:
            choose(order, item.when)
            is_list = item.loop is not None
            order.steps.append(repeat_step(order, item, _steps) if is_list else _take(order, item))
            order.take(item)
        add_ready_steps(order)
        if place == 0 and block.must_exist is None and order.postpones and not order.first:
            order.steps += feasible(order.bound(()), block.items, order.roles, order.variables)
    for choice in block.choices:
        choose(order, (*choice.when, (choice.mark, 0)))
    add_ready_steps(order)
    order.steps += [AnyBound(_events(order, some.variables), some.when) for some in block.bound]
    return order.steps


def _events(order: StepOrder, variables: tuple[EventName, ...]) -> tuple[EventName, ...]:
    """An event for each variable; a list that is not empty has a first one."""
    return tuple(ElementName(name, 1) if order.variables.is_list(name) else name for name in variables)


def _first_of(items: list[PlacedVariable], first: tuple[EventName, ...]) -> list[PlacedVariable]:
    """The items with those of some variables first, in the order of these; then what lies after them, in the
    order of the text, and then what lies before them, from the nearest on."""
    if not first:
        return items
    places = [place for place, item in enumerate(items) if item.variable in first]
    begin = min(places, default=0)
    ranks = {name: rank for rank, name in enumerate(first)}

    def rank(place: int) -> tuple[int, int]:
        if items[place].variable in ranks:
            return 0, ranks[items[place].variable]
        return (1, place) if place > begin else (2, -place)

    return [items[place] for place in sorted(range(len(items)), key=rank)]


def _in_order(items: list[PlacedVariable], order: StepOrder) -> list[PlacedVariable]:
    """The order of the text, but a part that must lie around other events comes after them: their bounds do
    not name it. Lists come last (SASE++'s postponing): none is built for a match that cannot be completed.
    Where an element decides which one is next, there are few lists, and the last element can decide what
    comes after the list."""
    left = Counter(item.variable for item in items)
    waits_for = [{name for name in _looked_at(item) if name in left} for item in items]
    waiting: dict[EventName, list[int]] = {}
    for place, names in enumerate(waits_for):
        for name in names:
            waiting.setdefault(name, []).append(place)
    free = [_rank(items, place, order) for place, names in enumerate(waits_for) if not names]
    heapify(free)
    ordered = list[PlacedVariable]()
    while free:
        item = items[heappop(free)[1]]
        ordered.append(item)
        left[item.variable] -= 1
        for place in waiting.get(item.variable, ()) if not left[item.variable] else ():
            waits_for[place].remove(item.variable)
            if not waits_for[place]:
                heappush(free, _rank(items, place, order))
    assert len(ordered) == len(items), "windows are nested, so there is an order"
    return ordered


def _rank(items: list[PlacedVariable], place: int, order: StepOrder) -> tuple[bool, int]:
    return order.postpones and _is_postponed(items[place], items, order), place


def _is_postponed(item: PlacedVariable, items: list[PlacedVariable], order: StepOrder) -> bool:
    """Whether a list comes last: not a chain, unless another list that comes last lies before it, or an event
    of another part could lie between two of its elements, where it does no harm."""
    if item.loop is None or not any(check.reach == GapReach.EACH for check in item.loop.body.checks):
        return item.loop is not None
    sought = [one for check in item.loop.body.checks for one in check.all_items()]
    others = [one for one in items if one.loop is None]
    if any(_can_be_in(one, other.variable, order) for one in sought for other in others):
        return True
    return any(_is_postponed(one, items, order) for one in items if one.variable in item.after)


def _looked_at(item: PlacedVariable) -> Iterator[EventName]:
    for window in item.within:
        if not window.member:
            yield from window.events


def _take(order: StepOrder, item: PlacedVariable) -> Take[Expr]:
    """The step that binds an item, with all conditions on it that can be checked then."""
    bound = order.bound(item.when) - {item.variable}
    differs = differs_of(order, item, bound)
    where = [*agreements(item, bound, order.variables), *conditions_at(order, item)]
    bounds = bounds_of(order, item, bound)
    return Take(item.variable, order.roles.of[item], bounds, differs, tuple(where), when=item.when)


def _check(order: StepOrder, check: Block) -> PlanStep:
    if not check.each:
        return check_step(order, check)
    return late_check(check, _closures_of(check, order), order, _steps)


def _closures_of(check: Block, order: StepOrder) -> Closures:
    """The closures whose iterations a check is for."""
    return tuple(order.variables.closure(name, check.when) for name in check.each)


def check_step(order: StepOrder, check: Block) -> Absent[Expr] | Present[Expr]:
    """The step of a check, as if all variables around it were bound."""
    around = order.around | order.own
    inner = StepOrder(check, order.variables, order.roles, around, order.chosen, iterating=order.iterating)
    steps = tuple(under(step, check.when) for step in with_picks(_steps(inner)))
    kind = Present if check.must_exist else Absent
    return kind(steps, check.when, check.part)
