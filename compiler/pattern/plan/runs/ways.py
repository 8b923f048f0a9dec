"""What runs go through: the components of a pattern's branches, and the ways between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from functools import cached_property

from neelc.ir.expressions import EventRef, EveryElement, Expr, Index, InnerVariable, ListElement, Variable
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
    """One event of a component, or one list that each of its iterations has: its item, and the marks of the
    optional parts that it is."""

    item: PlacedVariable
    marks: frozenset[str] = frozenset()

    @property
    def is_list(self) -> bool:
        return self.item.loop is not None

    @property
    def event(self) -> PlacedVariable:
        """What takes an event: of a list, its elements."""
        return self.item if self.item.loop is None else self.item.loop.body.items[0]

    @property
    def is_optional(self) -> bool:
        """Whether an iteration needs no event of it."""
        return bool(self.marks) or (self.item.loop is not None and self.item.loop.least == 0)

    @property
    def least(self) -> int:
        """How many elements it has at least, if it has any."""
        return 1 if self.item.loop is None else max(1, self.item.loop.least)

    @property
    def most(self) -> int | None:
        return 1 if self.item.loop is None else self.item.loop.most

    @property
    def can_be_taken(self) -> bool:
        return self.most != 0


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
    def is_nested(self) -> bool:
        """Whether iterations have lists of their own."""
        return self.is_list and any(part.is_list for part in self.parts)

    @property
    def ends_open(self) -> bool:
        """Whether an iteration ends in a negation, or in a list: it is not over with its last event."""
        if self.parts[-1].is_list:
            return True
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
        inside = [one.loop.body for one in body.items if one.loop is not None]
        if any(len(one.items) != 1 or one.items[0].loop is not None for one in inside):
            raise UnsupportedQuery("a closure of a composite inside of a closure, under this strategy")
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
class InnerPosition:
    """How many elements the list has that a run is in, inside of an iteration."""

    low: int = 1
    high: int | None = None
    is_full: bool = False


@dataclass(frozen=True)
class RunPosition:
    """How far a run is: at a part of a component; of a closure, in one of the iterations `low` to `high`.
    After one that `is_full` there can be no other. `inner` is the same of a part that is a list."""

    component: int
    part: int
    low: int = 1
    high: int | None = None
    is_full: bool = False
    inner: InnerPosition = InnerPosition()

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
    inside: ElementName | IterationName | ManyElements | None = None
    """Of a list that an iteration has: one of its elements, or many."""

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
        lists = {one for one in ranges(self.expression) if isinstance(one, str)}
        if len(lists) > 1 or any(not isinstance(one, str | IterationName) for one in ranges(self.expression)):
            raise UnsupportedQuery(f"the condition `{self.expression}` under this strategy")
        return next(iter(lists), None)

    @property
    def ranged_inside(self) -> frozenset[ListName]:
        """The lists that iterations have, whose elements it constrains one by one."""
        return frozenset(one for one in ranges(self.expression) if not isinstance(one, str))

    @cached_property
    def lag(self) -> int:
        """The number of first elements for which it holds by definition."""
        return 0 if self.ranged is None else lag(self.expression, self.ranged)

    def is_about_whole(self, variable: EventName) -> bool:
        """Whether it is about all elements of a list together."""
        return any(one.element is WHOLE for one in self.references if one.variable == variable)


def _references(node: Node) -> Iterator[Reference]:
    match node:
        case EveryElement(InnerVariable(base, inner), upper) if upper in _MANY and (
            inside := _list_inside(base, inner)
        ):
            yield replace(inside, inside=_MANY[upper])
        case InnerVariable(EveryElement(Variable(name), upper), inner) if upper in _MANY:
            yield Reference(name, _MANY[upper], inner)
        case EveryElement(Variable(name), upper) if upper in _MANY:
            yield Reference(name, _MANY[upper])
        case _ if (named := name_of(node)) is not None:
            yield _reference(named)
        case ListElement() | EveryElement():
            raise UnsupportedQuery(f"`{node}` under this strategy")
        case _:
            for child in children(node):
                yield from _references(child)


_MANY: Mapping[Index | None, ManyElements] = {None: WHOLE, Index("CURRENT", -1): RUNNING}
"""Up to where all elements of a list are meant."""


def _list_inside(base: EventRef, inner: str) -> Reference | None:
    """What an iteration, or each of many, has a list for."""
    match base:
        case EveryElement(Variable(name), upper) if upper in _MANY:
            return Reference(name, _MANY[upper], inner)
        case ListElement() if isinstance(named := name_of(base), ElementName | IterationName):
            return Reference(named.list, named, inner)
    return None


def _reference(name: EventName) -> Reference:
    if not isinstance(name, ElementName | IterationName):
        return Reference(name)
    if not isinstance(name.list, ElementName | IterationName):
        return Reference(name.list, name, name.inner)
    around = name.list
    return Reference(around.list, around, around.inner, name)


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
    there = _is_there(reference, at, branch.components[place])
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


def _is_there(reference: Reference, at: RunPosition, component: RunComponent) -> bool:
    """Whether an iteration has what a reference is to, once a run has come there."""
    if not component.is_composite:
        return True
    if not reference.inner:
        return at.part == len(component.parts) - 1 and not component.ends_open
    names = [inner_of(one.item.variable) for one in component.parts]
    place = names.index(reference.inner)
    if place != at.part or not component.parts[place].is_list:
        return place <= at.part
    match reference.inside:
        case IterationName() | ManyElements.RUNNING:
            return True
        case ElementName(place=number) if number > 0:
            return at.inner.is_full or at.inner.low >= number
    return at.inner.is_full


@dataclass(frozen=True)
class RunTransition:
    """From a position (None: from nothing) to another, for lists of `least` to `most` iterations; `left_out`
    are the marks of optional parts that are skipped. The event is the FIRST of a list inside of the
    iteration, or the NEXT; what has been taken of the list that the run was in is of the size `left`."""

    source: RunPosition | None
    target: RunPosition
    iteration: Iteration
    least: int = 0
    most: int | None = None
    left_out: frozenset[str] = frozenset()
    inner: Iteration = SAME
    left: tuple[int, int | None] = (0, None)


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
        part = component.parts[number]
        ends = all(one.is_optional for one in component.parts[number + 1 :])
        accepts = component.least if ends and all(one.can_be_skipped for one in rest) else None
        of_list = component.item.variable if component.is_list else None
        least = part.least if component.is_list else 1
        return State(part.event.variable, of_list, accepts, least)

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
        part = component.parts[number]
        left = (part.least if component.is_list and part.is_list else 0, None)
        yield from self._longer(component, source)
        yield from self._inside(component, source, left)
        rest = component.parts[number + 1 :]
        if not all(part.is_optional for part in rest):
            return
        left_out = frozenset(mark for part in rest for mark in part.marks)
        if component.is_list:
            yield from self._again(component, source, left_out, left)
        least = component.least if component.is_list else 0
        for way in self._entering(place, source, least, left_out):
            yield replace(way, left=left)

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
                    way = RunTransition(source, target, FIRST, least, None, left_out | skipped)
                    yield self._begun(component, way)
            if not component.can_be_skipped:
                return
            left_out |= component.marks

    def _inside(
        self, component: RunComponent, source: RunPosition, left: tuple[int, int | None]
    ) -> Iterator[RunTransition]:
        """The first event of another part of the same iteration."""
        for number, left_out in _reachable(component.parts, source.part + 1):
            for low, high in self._classes(component):
                before = _in_iterations(source, low, high, component)
                target = replace(before, part=number)
                way = RunTransition(before, target, SAME, low, high, left_out, left=left)
                yield self._begun(component, way)

    def _longer(self, component: RunComponent, source: RunPosition) -> Iterator[RunTransition]:
        """One more element of a list inside of the iteration."""
        part = component.parts[source.part]
        if not component.is_list or not part.is_list:
            return
        for low, high in self._classes(component):
            at = _in_iterations(source, low, high, component)
            for begin, end in _classes(part.most, self.numbered.get(part.item.variable, 1)):
                if end == 1:
                    continue
                left = (begin - 1, None if end is None else end - 1)
                before = replace(at, inner=InnerPosition(*left))
                target = replace(at, inner=InnerPosition(begin, end, begin == part.most))
                yield RunTransition(before, target, SAME, low, high, inner=NEXT, left=left)

    def _begun(self, component: RunComponent, way: RunTransition) -> RunTransition:
        """The way, with the first element of a list where it comes to one."""
        part = component.parts[way.target.part]
        if not component.is_list or not part.is_list:
            return replace(way, target=replace(way.target, inner=InnerPosition()))
        target = replace(way.target, inner=InnerPosition(1, 1, part.most == 1))
        return replace(way, target=target, inner=FIRST)

    def _again(
        self,
        component: RunComponent,
        source: RunPosition,
        left_out: frozenset[str],
        left: tuple[int, int | None],
    ) -> Iterator[RunTransition]:
        """The first event of another iteration."""
        for number, skipped in _reachable(component.parts, 0):
            for low, high in self._classes(component):
                if high != 1:
                    last = None if high is None else high - 1
                    before = _in_iterations(source, low - 1, last, component)
                    target = replace(_in_iterations(source, low, high, component), part=number)
                    way = RunTransition(before, target, NEXT, low - 1, last, left_out | skipped, left=left)
                    yield self._begun(component, way)

    def _classes(self, component: RunComponent) -> list[tuple[int, int | None]]:
        return _classes(component.most, self.numbered.get(component.item.variable, 1))

    def renames(self, way: RunTransition) -> Iterator[tuple[EventName, EventName]]:
        """The names that the events of a list get when an iteration is over."""
        if way.source is None or (way.iteration == SAME and way.inner != NEXT):
            return
        before = self.branch.components[way.source.component]
        if before.item.loop is None:
            return
        numbered = self.numbered.get(before.item.variable, 1)
        for part in before.parts:
            name = part.event.variable
            assert isinstance(name, IterationName), "an event of an iteration"
            if part.is_list:
                # Its last event is needed only to compare the next one with it.
                yield name, replace(name, lag=1)
            elif way.iteration == SAME:
                continue
            elif way.iteration != NEXT:
                yield name, name.at(-1)
            else:
                # The oldest first: what was b[i-1] makes room for what was b[i].
                yield from (
                    (replace(name, lag=lag - 1), replace(name, lag=lag)) for lag in range(numbered, 0, -1)
                )


def _reachable(parts: Sequence[ComponentEvent], first: int) -> Iterator[tuple[int, frozenset[str]]]:
    """The parts from `first` on that can be next, with the marks of those that are left out before each."""
    left_out = frozenset[str]()
    for number in range(first, len(parts)):
        if parts[number].can_be_taken:
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
