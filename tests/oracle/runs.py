"""Which matches a selection strategy keeps, said about complete matches: no automaton, no runs.

A *slot* is a place for one event: `("a",)`, `("b", 0)` for the first element of `b[]`, `("k", 1, "a")` for
the `a` in the second iteration of `k[]`. A pattern allows certain sequences of slots, its *words*; a match
is a word whose slots have events.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from neelc.ir import expressions as x
from neelc.ir.node import walk
from neelc.ir.patterns import Event, Not, Optional, Or, Pattern, Repeat, Seq
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext
from neelc.runtime.reference.model import ReferenceEvent as Happening
from oracle.basics import Question, are_same, conditions, instances, own_attributes

Slot = tuple[str | int, ...]
Word = tuple[Slot, ...]
Taken = dict[Slot, Happening]


def is_run(steps: Sequence[tuple[Slot, Happening]], question: Question) -> bool:
    """Whether the query's strategy chooses these events, which satisfy the pattern."""
    events = [event for _, event in steps]
    others = question.events
    match question.match.strategy:
        case "SKIP TILL ANY MATCH":
            return True
        case "SKIP TILL NEXT MATCH":
            points = [Point(question, dict(steps[:done])) for done in range(1, len(steps))]
            return not any(p.passes_over(event) for p, event in zip(points, events[1:], strict=True))
        case "PARTITION CONTIGUITY":
            others = tuple(event for event in others if question.are_together([events[0], event]))
    pairs = itertools.pairwise(events)
    return not any(e.end < other.start and other.end < f.start for e, f in pairs for other in others)


@dataclass(frozen=True)
class Point:
    """A point of a run: what is taken so far, and the words the pattern allows.

    SKIP TILL NEXT MATCH: at no point an event that starts earlier than the one taken next, and after the end
    of the one taken last, qualified for some next step.
    """

    question: Question
    taken: Taken

    def futures(self) -> frozenset[Word]:
        # Longer words than the stream count too: an event may be taken for a run that comes to nothing.
        pattern, count = self.question.match.pattern, len(self.question.events)
        return futures(pattern, count + shortest(pattern) + 2, tuple(self.taken))

    def passes_over(self, following: Happening) -> bool:
        last = max(event.end for event in self.taken.values())
        between = [event for event in self.question.events if last < event.start < following.start]
        steps = {word[0] for word in self.futures() if word}
        kinds = {step: type_at(self.question.match.pattern, step) for step in steps}
        return any(
            Point(self.question, {**self.taken, step: event}).qualifies()
            for step in steps
            for event in self.question.of_type(kinds[step])
            if event in between
        )

    def qualifies(self) -> bool:
        """ "Qualifying means all conditions that can be judged with what is bound so far"."""
        query = self.question.match
        return self.question.fits(list(self.taken.values()), query.within) and all(
            self.may_hold(part, path) for part, path in present(query.pattern, self.taken)
        )

    def may_hold(self, part: Pattern, path: Slot) -> bool:
        """Whether nothing known already speaks against a part, which stands in the iteration `path`."""
        own = taken_by(part, path, self.taken)
        if not self.question.fits(own, part.within) or not are_same(own_attributes(part), own):
            return False
        here = {slot[len(path) :]: event for slot, event in self.taken.items() if slot[: len(path)] == path}
        binding = {**bound(self.taken), **bound(here)}
        coming = frozenset(slot for word in self.futures() for slot in word)
        return not any(
            Known(path, context, tuple(self.taken), coming).is_decided(condition)
            and evaluate(condition, context) is not True
            for condition in conditions(part)
            if not isinstance(condition, x.SameAttributes)
            for context in instances(condition, binding)
        )


@dataclass(frozen=True)
class Known:
    """What a condition can know: the slots filled so far, and those that may still be filled."""

    path: Slot
    context: EvaluationContext
    done: Word
    coming: frozenset[Slot]

    def is_decided(self, condition: x.Expr) -> bool:
        """Whether nothing that may still come changes what the condition speaks of."""
        named = [
            node for node in walk(condition) if isinstance(node, x.Attribute | x.WholeEvent | x.EventTime)
        ]
        return not any(slot in self.slots(node.event) for node in named for slot in self.coming)

    def slots(self, reference: x.EventRef) -> set[Slot]:
        """The slots whose events make up what a reference means."""
        every = {*self.done, *self.coming}
        return {
            slot for start in self.starts(reference, every) for slot in every if slot[: len(start)] == start
        }

    def starts(self, reference: x.EventRef, every: set[Slot]) -> set[Slot]:
        """What the slots of a reference begin with."""
        match reference:
            case x.Variable(name):
                mine = (*self.path, name)
                return {mine} if any(slot[: len(mine)] == mine for slot in every) else {(name,)}
            case x.InnerVariable(base, name):
                return {(*start, name) for start in self.starts(base, every)}
            case x.ListElement(base, index):
                lists = {start: self.place(start, index) for start in self.starts(base, every)}
                return {one for start, place in lists.items() for one in at(start, place, every)}
            case x.EveryElement(base, upper):
                lists = {start: self.place(start, upper) for start in self.starts(base, every)}
                return {
                    one
                    for start, place in lists.items()
                    for one in at(start, None, every)
                    if place is None or int(one[-1]) <= place
                }
        raise AssertionError(reference)

    def place(self, start: Slot, index: x.Index | None) -> int | None:
        """An index in the list whose slots begin with `start`; None where any element may change it."""
        if index is None:
            return None
        if index.anchor == "LAST":
            filled = at(start, None, set(self.done))
            return None if at(start, None, self.coming) - filled else len(filled) - 1 + index.offset
        return index.offset + (self.context.current or 0 if index.anchor == "CURRENT" else 0)


def at(start: Slot, place: int | None, slots: Iterable[Slot]) -> set[Slot]:
    """The element at a place of the list whose slots begin with `start`; all of them without a place."""
    if place is not None:
        return {(*start, place)}
    return {slot[: len(start) + 1] for slot in slots if slot[: len(start)] == start}


@lru_cache(1000)
def futures(pattern: Pattern, most: int, done: Word) -> frozenset[Word]:
    """What may still come when the slots `done` are filled."""
    if not done:
        return words(pattern, most)
    *before, last = done
    return frozenset(word[1:] for word in futures(pattern, most, tuple(before)) if word[:1] == (last,))


def words(node: Pattern, most: int, path: Slot = ()) -> frozenset[Word]:
    """The sequences of at most `most` slots that a pattern allows; negations filter afterwards."""
    match node:
        case Event(variable=name):
            return frozenset([((*path, name) if name else path,)] if most else [])
        case Optional(part):
            return words(part, most, path) | {()}
        case Or(parts):
            return frozenset(word for part in parts for word in words(part, most, path))
        case Seq(parts):
            return joined([(part, path) for part in parts if not isinstance(part, Not)], most)
        case Repeat(part, least, limit, name):
            counts = range(least, (most if limit is None else min(limit, most)) + 1)
            times = [[(part, (*path, name or "", place)) for place in range(count)] for count in counts]
            return frozenset(word for parts in times for word in joined(parts, most))
    raise AssertionError(node)


def joined(parts: Sequence[tuple[Pattern, Slot]], most: int) -> frozenset[Word]:
    found: set[Word] = {()}
    for part, path in parts:
        found = {word + more for word in found for more in words(part, most - len(word), path)}
    return frozenset(found)


def shortest(node: Pattern) -> int:
    """The length of the shortest word."""
    match node:
        case Event():
            return 1
        case Or(parts):
            return min(shortest(part) for part in parts)
        case Seq(parts):
            return sum(shortest(part) for part in parts)
        case Repeat(part, least):
            return least * shortest(part)
    return 0


def type_at(node: Pattern, slot: Slot) -> str:
    """The type of event that a slot takes."""
    name = [part for part in slot if isinstance(part, str)][-1]
    for part in walk(node):
        match part:
            case Event(kind, variable) | Repeat(Event(kind), variable=variable) if variable == name:
                return kind
    raise AssertionError(slot)


def taken_by(node: Pattern, path: Slot, taken: Taken) -> list[Happening]:
    """The events of a part that stands in the iteration `path`."""
    names = {part.variable for part in walk(node) if isinstance(part, Event | Repeat)}
    here = [slot for slot in taken if slot[: len(path)] == path]
    return [taken[slot] for slot in here if slot[len(path)] in names]


def present(node: Pattern, taken: Taken, path: Slot = ()) -> Iterator[tuple[Pattern, Slot]]:
    """The parts whose conditions count, each with the iteration it stands in: of an OR the branch that was
    taken, of an optional part what is there."""
    if isinstance(node, Event | Optional) and not taken_by(node, path, taken):
        return
    yield node, path
    match node:
        case Optional(part):
            yield from present(part, taken, path)
        case Seq(parts):
            for part in parts:
                yield from [] if isinstance(part, Not) else present(part, taken, path)
        case Or(parts):
            for part in parts:
                yield from present(part, taken, path) if taken_by(part, path, taken) else []
        case Repeat(part, variable=name) if name and not isinstance(part, Event):
            for iteration in at((*path, name), None, taken):
                yield from present(part, taken, iteration)


def bound(taken: Taken) -> dict[str, object]:
    """The binding that slots with events make."""
    found: dict[str, object] = {}
    for name in dict.fromkeys(str(slot[0]) for slot in taken):
        event = taken.get((name,))
        count = len(at((name,), None, taken))
        lists = [{slot[2:]: e for slot, e in taken.items() if slot[:2] == (name, i)} for i in range(count)]
        found[name] = event or tuple(one.get(()) or bound(one) for one in lists)
    return found
