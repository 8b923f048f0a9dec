"""Incomplete bindings: "all conditions that can be judged with what is bound so far" are checked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache

from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import (
    Attribute,
    EventRef,
    EventTime,
    EveryElement,
    Expr,
    Index,
    InnerVariable,
    ListElement,
    Variable,
    WholeEvent,
    element,
    lists,
)
from neelc.ir.names import bare
from neelc.ir.node import Node, children, walk
from neelc.ir.patterns import targets
from neelc.ir.program import FurthestPrefix, Match
from neelc.ir.types import DataType, Struct
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.evaluate import list_of, meaning, places, position
from neelc.runtime.reference.model import Binding, EvaluationContext, ReferenceEvent, attribute, bound_events
from neelc.runtime.reference.question import (
    ELEMENT,
    ReferenceCondition,
    ReferenceQuery,
    agree,
    holds,
    holds_at,
    places_of,
    reach,
)
from neelc.runtime.values.order import Place, place_of

# What a condition can know while a binding is not complete: which references can no longer change.

Path = Attribute | WholeEvent | EventTime


class BegunIteration(dict[str, object]):
    """An iteration of a closure that is not over: those of its variables that are bound so far."""


@dataclass(frozen=True)
class GrowingBinding:
    """What is bound so far, and the lists in it that may become longer."""

    context: EvaluationContext
    growing: Collection[str]

    def is_decided(self, expression: Expr) -> bool:
        """Whether nothing that the expression refers to can change: `b[1]` is decided as soon as it is bound,
        `b[last]` and `b[]` when the list is complete."""
        return all(self.is_known(node) for node in walk(expression) if isinstance(node, Path))

    def is_known(self, path: Expr) -> bool:
        """Whether the event of a path is known, or every event that it ranges over."""
        each = next(lists(path), None)
        if each is None:
            assert isinstance(path, Path), "a path ends at an event"
            return self.is_fixed(path.event) and self.is_whole(path.event)
        return self.has_its_elements(each) and all(
            self.is_known(element(path, each, place)) for place in places(each, self.context)
        )

    def has_its_elements(self, each: EveryElement) -> bool:
        """Whether the elements that `b[]` or `b[..i-1]` ranges over are all there."""
        if each.upper is None:
            return self.is_fixed(each.base) and self.is_complete(each.base)
        return self.is_fixed(ListElement(each.base, each.upper))

    def is_fixed(self, reference: EventRef) -> bool:
        """Whether it is clear which event, list or iteration a reference means."""
        match reference:
            case InnerVariable(base):
                return self.is_fixed(base)
            case ListElement(base, index):
                return self.is_fixed(base) and (self.is_there(base, index) or self.is_complete(base))
        return True

    def is_there(self, base: EventRef, index: Index) -> bool:
        """Whether a list has the element already; which one is the last is not known while the list grows."""
        count = len(list_of(base, self.context))
        place = position(index, count, self.context)
        return index.anchor != "LAST" and place is not None and place < count

    def is_complete(self, reference: EventRef) -> bool:
        """Whether a variable has its value: a list, all its elements."""
        match reference:
            case Variable(name):
                return name not in self.growing
            case InnerVariable(base, name):
                iteration = meaning(base, self.context)
                return not isinstance(iteration, BegunIteration) or (
                    name in iteration and name not in self.growing
                )
        return True

    def is_whole(self, reference: EventRef) -> bool:
        """Whether nothing is still to come inside what a reference means."""
        return self.is_complete(reference) and not isinstance(
            meaning(reference, self.context), BegunIteration
        )


@dataclass(frozen=True)
class Duty:
    """A part that was begun, so that its conditions must hold. `local` are the values of a closure's inner
    variables in the iteration it belongs to, once that iteration is over. A `new` part has not been checked
    since it was begun."""

    part: p.Pattern
    local: Binding = field(default_factory=dict)
    new: bool = True


@dataclass(frozen=True)
class PartialMatch:
    """What is bound so far.

    A name in `binding` is decided, unless it is in `growing`: a closure whose list may become longer.
    `fresh` names were decided, or grew, since the conditions were last checked. `begun` is the closure
    of a composite that has an unfinished iteration.
    """

    binding: Binding
    growing: frozenset[str] = frozenset()
    duties: tuple[Duty, ...] = ()
    fresh: frozenset[str] = frozenset()
    begun: p.Repeat | None = None

    def begin(self, question: ReferenceQuery, part: p.Pattern) -> PartialMatch:
        """With `part` begun."""
        facts = question.facts(part)
        if part.within or facts.conditions or facts.same:
            return replace(self, duties=(*self.duties, Duty(part)))
        return self

    def bind(self, name: str, value: object, grows: bool = False) -> PartialMatch:
        """With `name` bound to `value`."""
        growing = self.growing | {name} if grows else self.growing - {name}
        around = {self.begun.variable or ELEMENT} if self.begun else set()
        fresh = self.fresh | around | {name}
        return replace(self, binding={**self.binding, name: value}, growing=growing, fresh=fresh)

    def leave_out(self, names: Iterable[str]) -> PartialMatch:
        """With these variables NULL: their OR branch is not taken, or their optional part is absent."""
        names = frozenset(names)
        return replace(self, binding={**self.binding, **dict.fromkeys(names)}, fresh=self.fresh | names)

    def visible(self, question: ReferenceQuery) -> Binding:
        """What conditions see: the iteration that is not over is an element of its closure's list."""
        if self.begun is None:
            return self.binding
        name = self.begun.variable or ELEMENT
        inner = question.facts(self.begun.part).variables & self.binding.keys()
        elements = self.binding[name]
        assert isinstance(elements, tuple), "a closure binds a list"
        return {**self.binding, name: (*elements, BegunIteration((key, self.binding[key]) for key in inner))}


def checked(question: ReferenceQuery, partial: PartialMatch) -> PartialMatch | None:
    """The partial binding with nothing fresh in it; None when a window, an `[id]` or a condition already
    fails."""
    visible = partial.visible(question)
    for duty in partial.duties:
        binding = {**visible, **duty.local}
        events = question.events_in(duty.part, binding)
        facts = question.facts(duty.part)
        if reach(question, duty.part.within, events) is None:
            return None
        if not all(agree(attributes, events) for attributes in facts.same):
            return None
        if not all(may_hold(condition, binding, duty, partial) for condition in facts.conditions):
            return None
    # Of a finished iteration, only conditions that wait for variables still to come are checked again.
    open = (duty for duty in partial.duties if not duty.local or is_open(question, duty, partial))
    duties = tuple(replace(duty, new=False) if duty.new else duty for duty in open)
    return replace(partial, duties=duties, fresh=frozenset())


def is_open(question: ReferenceQuery, duty: Duty, partial: PartialMatch) -> bool:
    """Whether some condition of the part cannot be checked yet."""
    decided = (partial.binding.keys() - partial.growing) | duty.local.keys()
    return any(not condition.names <= decided for condition in question.facts(duty.part).conditions)


def may_hold(condition: ReferenceCondition, binding: Binding, duty: Duty, partial: PartialMatch) -> bool:
    """False only when the condition can be checked and does not hold.

    "Qualifying means all conditions that can be judged with what is bound so far": those that refer only to
    what can no longer change. A condition on each `b[i]` is tested for that separately for each i. One that
    names nothing new can be checked as soon as its part is begun.
    """
    if not duty.new and condition.names.isdisjoint(partial.fresh):
        return True
    if not condition.names <= binding.keys():
        return True
    growing = partial.growing - duty.local.keys()
    unsettled = condition.names & growing
    if not unsettled and not (partial.begun and partial.begun.variable in condition.names):
        return holds(condition, binding)
    if condition.grows is not None and unsettled == {condition.grows} and partial.begun is None:
        # It has been checked for the elements before.
        elements = binding[condition.grows]
        assert isinstance(elements, tuple), "a growing variable is a list"
        return not elements or holds_at(condition, binding, len(elements) - 1)
    return all(
        holds_at(condition, binding, place)
        for place in places_of(condition, binding)
        if GrowingBinding(EvaluationContext(binding, place), growing).is_decided(condition.expression)
    )


# WITH PARTIAL MATCHES: for each start, the match that gets furthest, and the reason why it stops there.

Events = Sequence[ReferenceEvent | None]


def furthest(match: Match, partial: FurthestPrefix, bindings: Sequence[Binding]) -> list[Binding]:
    """ "The furthest prefix that has a match from a start": an event of the first step. Each branch of the
    pattern has a variable of its own for it."""
    names = [name for level in partial.levels for name in (level.start, *level.hints)]
    starts: dict[ReferenceEvent, dict[str, list[Binding]]] = {}
    for binding in bindings:
        for name in names:
            if isinstance(start := binding.get(name), ReferenceEvent):
                starts.setdefault(start, {}).setdefault(name, []).append(binding)
    order = MatchOrder(match)
    kept: list[Binding] = []
    for start, branches in starts.items():
        reached = [level for level in partial.levels if level.start in branches][-1:]
        for level in reached:
            best = min(branches[level.start], key=order.place)
            why = [hint for hint in level.hints if hint in branches][:1]
            kept.append({**best, **dict.fromkeys(why, start)})
    return kept


class MatchOrder:
    """Which of several matches is kept: the one that ends first; then by the times of its events, variable by
    variable; then by the values that RETURN names. The order of the input never matters. Without `variables`,
    their order is that of the pattern."""

    def __init__(self, match: Match, variables: Sequence[str] | None = None) -> None:
        self.variables = targets(match.pattern) if variables is None else variables
        outputs = [output.expression for output in match.outputs]
        self.mentioned = cache(
            lambda name: tuple(dict.fromkeys(m for o in outputs for m in mentions(name, o)))
        )

    def place(self, binding: Binding) -> tuple[int, Place, Place]:
        lists = [one for name in self.variables for one in leaves(name, binding.get(name))]
        end = max(event.last for event in bound_events(binding))
        times = [None if events is None else [_time(event) for event in events] for _, events in lists]
        values = [[self._values(name, event) for event in events or ()] for name, events in lists]
        return end, place_of(times), place_of(values)

    def _values(self, name: str, event: ReferenceEvent | None) -> list[object]:
        return [None if event is None else attribute(event, one) for one in self.mentioned(name)]


def _time(event: ReferenceEvent | None) -> list[int] | None:
    return None if event is None else [event.first, event.last]


def leaves(name: str, value: object) -> Iterator[tuple[str, Events | None]]:
    """The events of a variable, None if it is absent; those of a closure of a composite by its variables.

    >>> a, b = (ReferenceEvent("S", row, "A", row, row, {}, (row, row)) for row in (1, 2))
    >>> [(name, len(events)) for name, events in leaves("k", ({"a": a, "b": b}, {"a": b, "b": None}))]
    [('a', 2), ('b', 2)]
    """
    match value:
        case ReferenceEvent():
            yield name, (value,)
        case (Mapping() as first, *_):
            for inner in sorted(first):
                yield inner, tuple(event for one in value for event in _in_iteration(one, inner))
        case tuple():
            yield name, tuple(bound_events(value))
        case _:
            yield name, None


def _in_iteration(iteration: object, name: str) -> Events:
    assert isinstance(iteration, Mapping), "an iteration of a composite is a binding"
    value = iteration[name]
    return (None,) if value is None else tuple(bound_events(value))


def mentions(variable: str, node: Node) -> Iterator[str]:
    """The attributes of a variable that an expression names; all of them where it names the whole event."""
    match node:
        case e.Aggregate("count", e.WholeEvent(), distinct=False):
            return
        case e.Attribute(event, name) if _variable(event) == variable:
            yield name
        case e.WholeEvent(event, kind):
            yield from _fields(variable, _variable(event), kind)
    for child in children(node):
        yield from mentions(variable, child)


def _fields(variable: str, whole: str, kind: DataType) -> Iterator[str]:
    """The fields of a struct that is an event of the variable, or an iteration that has one."""
    for part in kind.fields if isinstance(kind, Struct) else ():
        if whole == variable:
            yield part.name
        elif bare(part.name) == bare(variable) and isinstance(part.type, Struct):
            yield from (inner.name for inner in part.type.fields)


def _variable(event: e.EventRef) -> str:
    match event:
        case e.ListElement(base) | e.EveryElement(base):
            return _variable(base)
        case e.Variable(name) | e.InnerVariable(_, name):
            return name
    raise AssertionError(f"{event} is of no variable")
