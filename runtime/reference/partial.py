"""Bindings that are not complete: "all conditions that can be judged with what is bound so far"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from neelc.ir import pattern as p
from neelc.runtime.reference.conditions import Condition, agree, holds, holds_at, places_of
from neelc.runtime.reference.decided import Begun, Knowledge
from neelc.runtime.reference.model import Binding, Context
from neelc.runtime.reference.question import ELEMENT, Question
from neelc.runtime.reference.windows import reach


@dataclass(frozen=True)
class Duty:
    """A part that was begun, so that its conditions must hold. `local` are the values of a closure's inner
    variables in the iteration it belongs to, once that iteration is over. What is `new` has not been judged
    since it was begun."""

    part: p.Pattern
    local: Binding = field(default_factory=dict)
    new: bool = True


@dataclass(frozen=True)
class Partial:
    """What is bound so far.

    A name in `binding` is decided, unless it is in `growing`: a closure whose list may become longer.
    `fresh` names were decided, or grew, since the conditions were last judged. `begun` is the closure
    of a composite of which an iteration has begun and is not over.
    """

    binding: Binding
    growing: frozenset[str] = frozenset()
    duties: tuple[Duty, ...] = ()
    fresh: frozenset[str] = frozenset()
    begun: p.Repeat | None = None

    def begin(self, question: Question, part: p.Pattern) -> Partial:
        """With `part` begun."""
        facts = question.facts(part)
        if part.within or facts.conditions or facts.same:
            return replace(self, duties=(*self.duties, Duty(part)))
        return self

    def bind(self, name: str, value: object, grows: bool = False) -> Partial:
        """With `name` bound to `value`."""
        growing = self.growing | {name} if grows else self.growing - {name}
        around = {self.begun.variable or ELEMENT} if self.begun else set()
        fresh = self.fresh | around | {name}
        return replace(self, binding={**self.binding, name: value}, growing=growing, fresh=fresh)

    def leave_out(self, names: Iterable[str]) -> Partial:
        """With these variables NULL: their OR branch is not taken, or their optional part is absent."""
        names = frozenset(names)
        return replace(self, binding={**self.binding, **dict.fromkeys(names)}, fresh=self.fresh | names)

    def visible(self, question: Question) -> Binding:
        """What conditions see: the iteration that is not over is an element of its closure's list."""
        if self.begun is None:
            return self.binding
        name = self.begun.variable or ELEMENT
        inner = question.facts(self.begun.part).variables & self.binding.keys()
        elements = self.binding[name]
        assert isinstance(elements, tuple), "a closure binds a list"
        return {**self.binding, name: (*elements, Begun((key, self.binding[key]) for key in inner))}


def judged(question: Question, partial: Partial) -> Partial | None:
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
    # Of an iteration that is over, only what waits for variables still to come will be judged again.
    open = (duty for duty in partial.duties if not duty.local or is_open(question, duty, partial))
    duties = tuple(replace(duty, new=False) if duty.new else duty for duty in open)
    return replace(partial, duties=duties, fresh=frozenset())


def is_open(question: Question, duty: Duty, partial: Partial) -> bool:
    """Whether some condition of the part cannot be judged yet."""
    decided = (partial.binding.keys() - partial.growing) | duty.local.keys()
    return any(not condition.names <= decided for condition in question.facts(duty.part).conditions)


def may_hold(condition: Condition, binding: Binding, duty: Duty, partial: Partial) -> bool:
    """False only when the condition can be judged and does not hold.

    "Qualifying means all conditions that can be judged with what is bound so far": those that speak only of
    what can no longer change. Of a condition about each `b[i]`, that is asked for each i. One that names
    nothing new can be judged as soon as its part is begun.
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
        # What it says of the elements before has been judged.
        elements = binding[condition.grows]
        assert isinstance(elements, tuple), "a growing variable is a list"
        return not elements or holds_at(condition, binding, len(elements) - 1)
    return all(
        holds_at(condition, binding, place)
        for place in places_of(condition, binding)
        if Knowledge(Context(binding, place), growing).is_decided(condition.expression)
    )
