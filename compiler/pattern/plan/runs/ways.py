"""What runs go through: the components of a pattern's branches, and the ways between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from functools import cached_property

from neelc.ir.expressions import EveryElement, Expr, Index, InnerVariable, ListElement, Variable
from neelc.ir.node import Node, children, remembered
from neelc.pattern.plan.blocks import (
    Block,
    BlockCondition,
    PlacedVariable,
    UnsupportedQuery,
    lag,
    name_of,
    ranges,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    FIRST,
    NEXT,
    SAME,
    ElementName,
    EventName,
    Iteration,
    IterationName,
    ListName,
    State,
    When,
    inner_of,
    is_composite,
)

# The branches of a pattern, and the components of each in their order.


@dataclass(frozen=True, eq=False)
class ComponentEvent:
    """One event of a component: its item, and the marks of the optional parts that it is."""

    item: PlacedVariable
    marks: frozenset[str] = frozenset()

    @property
    def is_optional(self) -> bool:
        return bool(self.marks)


@dataclass(frozen=True, eq=False)
class RunComponent:
    """A single event, or a closure, whose iterations consist of `parts`. `least` is that of a closure that is
    there: one that is optional is absent rather than empty."""

    item: PlacedVariable
    marks: frozenset[str]
    parts: tuple[ComponentEvent, ...]
    least: int = 1
    most: int | None = 1

    @property
    def is_list(self) -> bool:
        return self.item.loop is not None

    @property
    def can_be_skipped(self) -> bool:
        return bool(self.marks) or (self.item.loop is not None and self.item.loop.least == 0)

    @property
    def first_event(self) -> EventName:
        """What is there if the component is."""
        return ElementName(self.item.variable, 1) if self.is_list else self.item.variable

    @property
    def is_composite(self) -> bool:
        return self.item.loop is not None and is_composite(self.item.loop.names, self.item.variable)

    @property
    def ends_open(self) -> bool:
        """Whether an iteration ends in a negation: it is not over with its last event."""
        own = {part.item.variable for part in self.parts}
        checks = self.item.loop.body.checks if self.item.loop is not None else ()
        return any(not own & set(item.before) for check in checks for item in check.items)


@dataclass(frozen=True, eq=False)
class PatternBranch:
    """The components of one branch of a pattern, under its choices."""

    when: When
    components: tuple[RunComponent, ...]

    @cached_property
    def places(self) -> Mapping[EventName, int]:
        """Where the component of each variable stands."""
        return {one.item.variable: place for place, one in enumerate(self.components)}

    def begin(self, names: Sequence[EventName]) -> tuple[int, int]:
        """The component, and the part of it, that the first of some variables stands at."""
        return min((self._begins[name] for name in names if name in self._begins), default=(0, 0))

    @cached_property
    def _begins(self) -> Mapping[EventName, tuple[int, int]]:
        """The component, and the part of it, that each variable stands at first."""
        places = [(name, (place, 0)) for name, place in self.places.items()]
        for place, component in enumerate(self.components):
            if component.is_list:
                places += [(part.item.variable, (place, n)) for n, part in enumerate(component.parts)]
        return dict(sorted(places, key=lambda one: one[1], reverse=True))

    @cached_property
    def marks(self) -> Mapping[str, tuple[int, int | None]]:
        """For the mark of an optional part: its component, and its part of a closure's body, if it is one."""
        marks: dict[str, tuple[int, int | None]] = {}
        for place, component in enumerate(self.components):
            marks |= dict.fromkeys(component.marks, (place, None))
            if component.is_list:
                for number, part in enumerate(component.parts):
                    marks |= dict.fromkeys(part.marks, (place, number))
        return marks


def branches(block: Block) -> list[PatternBranch]:
    """Every branch of an OR of sequences; raises `UnsupportedQuery` for other patterns."""
    optional = _optional_marks(block)
    whens: list[When] = [()]
    for choice in block.choices:
        if choice.mark in optional:
            continue
        begun = [when for when in whens if set(choice.when) <= set(when)]
        rest = [when for when in whens if when not in begun]
        whens = rest + [(*when, (choice.mark, number)) for when in begun for number in range(choice.count)]
    return [PatternBranch(when, tuple(_components(block, when, optional))) for when in whens]


def _optional_marks(block: Block) -> frozenset[str]:
    """The marks of optional parts: where they are 0, there is nothing."""
    used = {choice for item in block.items for choice in item.when}
    return frozenset(choice.mark for choice in block.choices if (choice.mark, 0) not in used)


def _components(block: Block, when: When, optional: frozenset[str]) -> Iterator[RunComponent]:
    for item in block.items:
        chosen = {choice for choice in item.when if choice[0] not in optional}
        if not chosen <= set(when):
            continue
        if chosen != set(when):
            raise UnsupportedQuery("an OR inside of a SEQ, under this strategy")
        marks = frozenset(mark for mark, _ in item.when if mark in optional)
        if item.loop is None:
            yield RunComponent(item, marks, (ComponentEvent(item),))
            continue
        body = item.loop.body
        inner = _optional_marks(body)
        if len(inner) < len(body.choices):
            raise UnsupportedQuery("an OR inside of a closure, under this strategy")
        if any(one.loop is not None for one in body.items):
            raise UnsupportedQuery("a closure inside of a closure, under this strategy")
        parts = (
            ComponentEvent(one, frozenset(mark for mark, _ in one.when if mark in inner))
            for one in body.items
        )
        least = max(1, item.loop.least)
        yield RunComponent(item, marks, tuple(parts), least, item.loop.most)


# When a condition can be checked while a run goes on, "with what is bound so far".
#
# A condition is checked as soon as no event that it names can change: `b[1]` is known with the first
# element, `b[last]` and `b[]` when the list is complete, `b[i]` for each element when it is taken.


class ManyElements(Enum):
    """All elements of a list, or those before `b[i]`."""

    WHOLE = "all"
    RUNNING = "before"


WHOLE, RUNNING = ManyElements


@dataclass(frozen=True)
class RunPosition:
    """How far a run is: at a part of a component; of a closure, in one of the iterations `low` to `high`.
    After one that `is_full` there can be no other."""

    component: int
    part: int
    low: int = 1
    high: int | None = None
    is_full: bool = False

    @property
    def is_first(self) -> bool:
        return self.high == 1


@dataclass(frozen=True)
class Reference:
    """Something that a condition names: a variable; of a list, one of its elements by its name, or many; and
    what of it."""

    variable: EventName
    element: ElementName | IterationName | ManyElements | None = None
    inner: str | None = None

    @property
    def is_last(self) -> bool:
        """Whether it is the last element, or all elements up to it."""
        return self.element is WHOLE or self.place == -1

    @property
    def place(self) -> int | None:
        """The number of the element, from the beginning or from the end, if it has one."""
        return self.element.place if isinstance(self.element, ElementName) else None


@dataclass(frozen=True, eq=False)
class RunCondition:
    """A condition, and the place of the component in whose body it stands, if any."""

    condition: BlockCondition
    body: int | None = None

    @property
    def expression(self) -> Expr:
        return self.condition.expression

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        return tuple(_references(self.expression))

    @cached_property
    def ranged(self) -> ListName | None:
        """The list whose elements it constrains one by one."""
        lists = ranges(self.expression)
        if len(lists) > 1:
            raise UnsupportedQuery(f"the condition `{self.expression}` under this strategy")
        return next(iter(lists), None)

    @cached_property
    def lag(self) -> int:
        """The number of first elements for which it holds by definition."""
        return 0 if self.ranged is None else lag(self.expression, self.ranged)

    def is_about_whole(self, variable: EventName) -> bool:
        """Whether it is about all elements of a list together."""
        return any(one.element is WHOLE for one in self.references if one.variable == variable)


def _references(node: Node) -> Iterator[Reference]:
    match node:
        case InnerVariable(EveryElement(Variable(name), upper), inner) if upper in (
            None,
            Index("CURRENT", -1),
        ):
            yield Reference(name, WHOLE if upper is None else RUNNING, inner)
        case EveryElement(Variable(name), upper) if upper in (None, Index("CURRENT", -1)):
            yield Reference(name, WHOLE if upper is None else RUNNING)
        case _ if (named := name_of(node)) is not None:
            yield _reference(named)
        case ListElement() | EveryElement():
            raise UnsupportedQuery(f"`{node}` under this strategy")
        case _:
            for child in children(node):
                yield from _references(child)


def _reference(name: EventName) -> Reference:
    if isinstance(name, ElementName | IterationName):
        return Reference(name.list, name, name.inner)
    return Reference(name)


@remembered
def _begin(question: RunCondition, branch: PatternBranch) -> tuple[int, int]:
    """Where the part begins that a condition stands at."""
    return branch.begin(question.condition.home)


def is_decided(
    question: RunCondition, at: RunPosition, branch: PatternBranch, of_earlier: bool = False
) -> bool:
    """Whether a condition can be checked when a run is there; in a closure, for the iteration that the run is
    in, or `of_earlier` ones."""
    if (at.component, at.part) < _begin(question, branch) and not of_earlier:
        return False  # "a part that was begun, so that its conditions must hold"
    if question.body is not None and at.component < question.body:
        return False
    for mark, _ in question.condition.when:
        if mark in branch.marks:
            place, part = branch.marks[mark]
            is_inside = at.component == place and part is not None and not of_earlier
            if at.component < place or (is_inside and at.part < (part or 0)):
                return False
    return all(_is_known(reference, at, branch, of_earlier) for reference in question.references)


def _is_known(reference: Reference, at: RunPosition, branch: PatternBranch, of_earlier: bool) -> bool:
    place = branch.places.get(reference.variable)
    if place is None:  # of another branch: NULL from the beginning
        return True
    if place != at.component or reference.element is None:
        return place <= at.component
    there = _is_there(reference, at.part, branch.components[place])
    if reference.is_last:
        return there and at.is_full
    match reference.element:
        case IterationName(lag=0):
            return there or of_earlier
        case ElementName(place=number) if number > 0:
            return at.low > number or (at.low == number and there) or (at.is_full and at.low < number)
        case ElementName():
            return at.is_full
    return True


def _is_there(reference: Reference, part: int, component: RunComponent) -> bool:
    """Whether an iteration has what a reference is to, once it has come to a part."""
    if not component.is_composite:
        return True
    if not reference.inner:
        return part == len(component.parts) - 1 and not component.ends_open
    names = [inner_of(one.item.variable) for one in component.parts]
    return names.index(reference.inner) <= part


@dataclass(frozen=True)
class RunTransition:
    """From a position (None: from nothing) to another, for lists of `least` to `most` iterations; `left_out`
    are the marks of optional parts that are skipped."""

    source: RunPosition | None
    target: RunPosition
    iteration: Iteration
    least: int = 0
    most: int | None = None
    left_out: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class RunGraph:
    """The states of one branch, and all ways between them."""

    branch: PatternBranch
    numbered: Mapping[EventName, int] = field(default_factory=dict)
    """The highest number by which conditions name an iteration of a list, if that is more than 1."""

    @cached_property
    def spots(self) -> list[tuple[int, int]]:
        """The states, each a component and a part of it."""
        return [
            (place, number)
            for place, component in enumerate(self.branch.components)
            for number in range(len(component.parts))
        ]

    def number(self, at: RunPosition) -> int:
        """The number of the state."""
        return self._numbers[at.component, at.part]

    @cached_property
    def _numbers(self) -> dict[tuple[int, int], int]:
        return {spot: number for number, spot in enumerate(self.spots)}

    @cached_property
    def states(self) -> tuple[State, ...]:
        return tuple(self._state(*spot) for spot in self.spots)

    def _state(self, place: int, number: int) -> State:
        component = self.branch.components[place]
        rest = self.branch.components[place + 1 :]
        ends = all(part.is_optional for part in component.parts[number + 1 :])
        accepts = component.least if ends and all(one.can_be_skipped for one in rest) else None
        of_list = component.item.variable if component.is_list else None
        return State(component.parts[number].item.variable, of_list, accepts)

    def accepting(self) -> list[RunPosition]:
        """Where runs can be complete, with as little as can be known there."""
        spots = zip(self.spots, self.states, strict=True)
        return [self._weakest(*spot) for spot, state in spots if state.accepts is not None]

    def _weakest(self, place: int, number: int) -> RunPosition:
        return RunPosition(place, number)

    def all(self) -> Iterator[RunTransition]:
        yield from self._entering(-1, None, 0, frozenset())
        for place, number in self.spots:
            yield from self._from(place, number)

    def _from(self, place: int, number: int) -> Iterator[RunTransition]:
        component = self.branch.components[place]
        source = self._weakest(place, number)
        yield from self._inside(component, source)
        rest = component.parts[number + 1 :]
        if not all(part.is_optional for part in rest):
            return
        left_out = frozenset(mark for part in rest for mark in part.marks)
        if component.is_list:
            yield from self._again(component, source, left_out)
        yield from self._entering(place, source, component.least if component.is_list else 0, left_out)

    def _entering(
        self, place: int, source: RunPosition | None, least: int, left_out: frozenset[str]
    ) -> Iterator[RunTransition]:
        """The first event of a component that comes later."""
        for later in range(place + 1, len(self.branch.components)):
            component = self.branch.components[later]
            if component.most != 0:
                is_full = component.is_list and component.most == 1
                for number, skipped in _reachable(component.parts, 0):
                    target = RunPosition(later, number, 1, 1, is_full)
                    yield RunTransition(source, target, FIRST, least, None, left_out | skipped)
            if not component.can_be_skipped:
                return
            left_out |= component.marks

    def _inside(self, component: RunComponent, source: RunPosition) -> Iterator[RunTransition]:
        """One more event of the same iteration."""
        for number, left_out in _reachable(component.parts, source.part + 1):
            for low, high in self._classes(component):
                before = _in_iterations(source, low, high, component)
                yield RunTransition(before, replace(before, part=number), SAME, low, high, left_out)

    def _again(
        self, component: RunComponent, source: RunPosition, left_out: frozenset[str]
    ) -> Iterator[RunTransition]:
        """The first event of another iteration."""
        for number, skipped in _reachable(component.parts, 0):
            for low, high in self._classes(component):
                if high != 1:
                    last = None if high is None else high - 1
                    before = _in_iterations(source, low - 1, last, component)
                    target = replace(_in_iterations(source, low, high, component), part=number)
                    yield RunTransition(before, target, NEXT, low - 1, last, left_out | skipped)

    def _classes(self, component: RunComponent) -> list[tuple[int, int | None]]:
        return _classes(component.most, self.numbered.get(component.item.variable, 1))

    def renames(self, way: RunTransition) -> Iterator[tuple[EventName, EventName]]:
        """The names that the events of a list get when an iteration is over."""
        if way.source is None or way.iteration == SAME:
            return
        before = self.branch.components[way.source.component]
        if before.item.loop is not None:
            numbered = self.numbered.get(before.item.variable, 1)
            for name in (part.item.variable for part in before.parts):
                assert isinstance(name, IterationName), "an event of an iteration"
                if way.iteration != NEXT:
                    yield name, name.at(-1)
                    continue
                # The oldest first: what was b[i-1] makes room for what was b[i].
                yield from (
                    (replace(name, lag=lag - 1), replace(name, lag=lag)) for lag in range(numbered, 0, -1)
                )


def _reachable(parts: Sequence[ComponentEvent], first: int) -> Iterator[tuple[int, frozenset[str]]]:
    """The parts from `first` on that can be next, with the marks of those that are left out before each."""
    left_out = frozenset[str]()
    for number in range(first, len(parts)):
        yield number, left_out
        if not parts[number].is_optional:
            return
        left_out |= parts[number].marks


def _in_iterations(at: RunPosition, low: int, high: int | None, component: RunComponent) -> RunPosition:
    return replace(at, low=low, high=high, is_full=low == component.most)


def _classes(most: int | None, numbered: int = 1) -> list[tuple[int, int | None]]:
    """Ranges of iterations that are alike: each of the first ones, which conditions name by number, those in
    the middle, the last one.

    >>> _classes(None), _classes(1), _classes(2), _classes(5)
    ([(1, 1), (2, None)], [(1, 1)], [(1, 1), (2, 2)], [(1, 1), (2, 4), (5, 5)])
    >>> _classes(None, 2), _classes(2, 3)
    ([(1, 1), (2, 2), (3, None)], [(1, 1), (2, 2)])
    """
    first = [(number, number) for number in range(1, numbered + 1)]
    if most is None:
        return [*first, (numbered + 1, None)]
    classes = [*first, (numbered + 1, most - 1), (most, most)]
    return list(dict.fromkeys((low, high) for low, high in classes if low <= high <= most))
