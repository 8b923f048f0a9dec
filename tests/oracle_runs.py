"""Which matches a selection strategy keeps, said about complete matches: no automaton, no runs.

A *slot* is a place for one event: `("a",)`, `("b", 0)` for the first element of `b[]`, `("k", 1, "a")` for the
`a` in the second iteration of `k[]`. A pattern allows certain sequences of slots, its *words*; a match is a
word whose slots have events.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from oracle_basics import Question, are_same, conditions, instances, own_attributes

from neelc.ir import expr as x
from neelc.ir.node import walk
from neelc.ir.pattern import Event, Not, Optional, Or, Pattern, Repeat, Seq
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import Context
from neelc.runtime.reference.model import Event as Happening

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
            allowed = words(question.match.pattern, len(others) + shortest(question.match.pattern) + 2)
            point = [Point(question, dict(steps[:done]), allowed) for done in range(1, len(steps))]
            return not any(p.passes_over(event) for p, event in zip(point, events[1:], strict=True))
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
    words: frozenset[Word]

    def futures(self) -> list[Word]:
        """What may still come."""
        done = tuple(self.taken)
        return [word[len(done) :] for word in self.words if word[: len(done)] == done]

    def passes_over(self, following: Happening) -> bool:
        last = max(event.end for event in self.taken.values())
        between = [event for event in self.question.events if last < event.start < following.start]
        steps = {word[0] for word in self.futures() if word}
        kinds = {step: type_at(self.question.match.pattern, step) for step in steps}
        return any(
            Point(self.question, {**self.taken, step: event}, self.words).qualifies()
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
            if not isinstance(condition, x.Same)
            for context in instances(condition, binding)
        )


@dataclass(frozen=True)
class Known:
    """What a condition can know: the slots filled so far, and those that may still be filled."""

    path: Slot
    context: Context
    done: Word
    coming: frozenset[Slot]

    def is_decided(self, condition: x.Expr) -> bool:
        """Whether nothing that may still come changes what the condition speaks of."""
        named = [node for node in walk(condition) if isinstance(node, x.Attribute | x.Whole | x.EventTime)]
        return not any(slot in self.slots(node.event) for node in named for slot in self.coming)

    def slots(self, reference: x.EventRef) -> set[Slot]:
        """The slots whose events make up what a reference means."""
        every = {*self.done, *self.coming}
        return {slot for start in self.starts(reference, every) for slot in every if slot[: len(start)] == start}

    def starts(self, reference: x.EventRef, every: set[Slot]) -> set[Slot]:
        """What the slots of a reference begin with."""
        match reference:
            case x.Variable(name):
                mine = (*self.path, name)
                return {mine} if any(slot[: len(mine)] == mine for slot in every) else {(name,)}
            case x.Inner(base, name):
                return {(*start, name) for start in self.starts(base, every)}
            case x.At(base, index):
                lists = self.starts(base, every)
                return {place for start in lists for place in self.places(start, every, index.offset, index)}
            case x.Each(base, upper):
                lists = self.starts(base, every)
                return {place for start in lists for place in self.places(start, every, 0, upper, all=True)}
        raise AssertionError(reference)
