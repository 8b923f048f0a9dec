"""What NEXT, STRICT, EACH, UNTIL and WITHOUT mean, in the plainest way: every choice of events is made, and
the sentences of the language about the events between two parts are asked of it as they stand there.

It shares nothing with neelc, not even the parts of a pattern: `generate.followed` draws them, with text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise


@dataclass(frozen=True)
class Happening:
    number: int
    t: int
    kind: str
    x: int
    id: int | None


Bound = Mapping[str, tuple[Happening, ...]]
"""The events of each variable: none for one that is absent."""


@dataclass(frozen=True)
class Test:
    """A condition; `about` are its variables. `test` gets the events of all, and which element is meant."""

    text: str
    about: frozenset[str]
    test: Callable[[Bound, int], bool]


@dataclass(frozen=True)
class Word:
    kind: str
    among: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} AMONG ({', '.join(self.among)})" if self.among else self.kind


@dataclass(frozen=True)
class One:
    """`word KIND name`, or `KIND? name`."""

    kind: str
    name: str
    word: Word | None = None
    optional: bool = False


@dataclass(frozen=True)
class Lacking:
    """UNTIL (KIND name : test), or WITHOUT."""

    clause: str
    kind: str
    name: str
    test: Test | None


@dataclass(frozen=True)
class Many:
    kind: str
    name: str
    word: Word | None = None
    each: Word | None = None
    each_within: int | None = None
    lacking: Lacking | None = None


@dataclass(frozen=True)
class Group:
    """SEQ, AND or OR of events."""

    operator: str
    parts: tuple[One, ...]
    word: Word | None = None


@dataclass(frozen=True)
class Negative:
    """`!KIND name`, or `!SEQ(...)`; STRICT before it if `strict`."""

    parts: tuple[One, ...]
    strict: bool = False


Part = One | Many | Group | Negative


@dataclass(frozen=True)
class Sequence_:
    """SEQ(parts) WHERE tests [AND [id]] WITHIN within."""

    parts: tuple[Part, ...]
    tests: tuple[Test, ...]
    within: int
    same_id: bool
    order: tuple[str, ...] = field(default=())

    def matches(self, events: Sequence[Happening]) -> set[tuple[tuple[int, ...], ...]]:
        """The numbers of the events of each variable, in the order of `order`."""
        found = set()
        for bound in self._choices(self.parts, {}, events):
            if self._is_match(bound, events):
                found.add(tuple(tuple(one.number for one in bound.get(name, ())) for name in self.order))
        return found

    # All choices whose parts come one after the other.

    def _choices(self, parts: Sequence[Part], bound: Bound, events: Sequence[Happening]) -> Iterator[Bound]:
        if not parts:
            yield bound
            return
        first, *rest = parts
        last = max((one.t for some in bound.values() for one in some), default=None)
        after = [one for one in events if last is None or one.t > last]
        for own in choices_of(first, after):
            yield from self._choices(rest, {**bound, **own}, events)

    def _is_match(self, bound: Bound, events: Sequence[Happening]) -> bool:
        own = [one for some in bound.values() for one in some]
        if not own or len({one.number for one in own}) < len(own):
            return False
        first, last = min(one.t for one in own), max(one.t for one in own)
        if last - first > self.within:
            return False
        if self.same_id and (own[0].id is None or any(one.id != own[0].id for one in own)):
            return False
        if self.same_id:
            events = [one for one in events if one.id == own[0].id]
        if not all(self._is_true(test, bound) for test in self.tests if self._is_positive(test)):
            return False
        others = [one for one in events if one not in own]
        scope = last - self.within, first + self.within
        return all(self._follows(place, bound, others, scope) for place in range(len(self.parts)))

    def _is_positive(self, test: Test) -> bool:
        return test.about <= set(self.order)

    def _is_true(self, test: Test, bound: Bound) -> bool:
        """For a list: of each of its elements."""
        longest = max((len(bound.get(name, ())) for name in test.about), default=1)
        return all(test.test(bound, place) for place in range(longest))

    # What lies between.

    def _follows(self, place: int, bound: Bound, others: Sequence[Happening], scope: tuple[int, int]) -> bool:
        part = self.parts[place]
        before = [name for one in self.parts[:place] for name in names_of(one)]
        ended = [one.t for name in before for one in bound[name]]
        end = max(ended, default=scope[0] - 1)
        match part:
            case One(word=word) | Group("OR" | "AND", word=word):
                own = [one for name in names_of(part) for one in bound[name]]
                return not own or self._is_next(part, word, end, own, before, bound, others)
            case Group("SEQ", parts, word):
                first = parts[0]
                good = self._is_next(first, word, end, bound[first.name], before, bound, others)
                return good and self._inside(parts, before, bound, others)
            case Many():
                return self._is_list(part, end, before, bound, others)
        following = [one.t for inner in self.parts[place + 1 :] for n in names_of(inner) for one in bound[n]]
        begin = min(following, default=scope[1] + 1)
        assert isinstance(part, Negative)
        return not self._is_there(part, end, begin, before, bound, others)

    def _inside(
        self, parts: Sequence[One], before: Sequence[str], bound: Bound, others: Sequence[Happening]
    ) -> bool:
        known = list(before)
        for earlier, one in pairwise(parts):
            known.append(earlier.name)
            end = bound[earlier.name][0].t
            if not self._is_next(one, one.word, end, bound[one.name], known, bound, others):
                return False
        return True

    def _is_next(
        self,
        part: One | Group,
        word: Word | None,
        end: int,
        own: Sequence[Happening],
        before: Sequence[str],
        bound: Bound,
        others: Sequence[Happening],
    ) -> bool:
        """No event strictly between the end of the part before and the start of this one qualifies."""
        if word is None or word.kind == "ANY":
            return True
        start = min(one.t for one in own)
        between = [one for one in others if end < one.t < start]
        if word.kind == "STRICT":
            return not any(not word.among or one.kind in word.among for one in between)
        first = part.parts if isinstance(part, Group) else (part,)
        return not any(
            one.kind == beginning.kind and self._qualifies(one, beginning.name, before, bound)
            for beginning in first
            for one in between
        )

    def _qualifies(self, event: Happening, name: str, before: Sequence[str], bound: Bound) -> bool:
        """It satisfies all conditions on the variable that name only it and parts before it."""
        known = {name, *before}
        asked = [test for test in self.tests if name in test.about and test.about <= known]
        return all(self._is_true(test, {**bound, name: (event,)}) for test in asked)

    def _is_list(
        self, part: Many, end: int, before: Sequence[str], bound: Bound, others: Sequence[Happening]
    ) -> bool:
        elements = bound[part.name]
        first, last = elements[0].t, elements[-1].t
        as_one = One(part.kind, part.name)
        if not self._is_next(as_one, part.word, end, elements[:1], before, bound, others):
            return False
        for place in range(1, len(elements)):
            one, other = elements[place - 1].t, elements[place].t
            if part.each_within is not None and other - one > part.each_within:
                return False
            between = [event for event in others if one < event.t < other]
            if part.each is not None and any(
                self._is_between(event, part, place, before, bound) for event in between
            ):
                return False
        lacking = part.lacking
        if lacking is None:
            return True
        least = end if lacking.clause == "UNTIL" else first
        return not any(
            event.kind == lacking.kind
            and least < event.t < last
            and (lacking.test is None or lacking.test.test({**bound, lacking.name: (event,)}, 0))
            for event in others
        )

    def _is_between(
        self, event: Happening, part: Many, place: int, before: Sequence[str], bound: Bound
    ) -> bool:
        """Whether EACH does not allow the event before the element of this place."""
        assert part.each is not None
        if part.each.kind == "ANY":
            return False
        if part.each.kind == "STRICT":
            return not part.each.among or event.kind in part.each.among
        known = {part.name, *before}
        asked = [test for test in self.tests if part.name in test.about and test.about <= known]
        changed = {**bound, part.name: (*bound[part.name][:place], event)}
        return event.kind == part.kind and all(test.test(changed, place) for test in asked)

    def _is_there(
        self,
        part: Negative,
        end: int,
        begin: int,
        before: Sequence[str],
        bound: Bound,
        others: Sequence[Happening],
    ) -> bool:
        """Whether the negative part has events in its scope that satisfy it."""
        inside = [one for one in others if end < one.t < begin]
        for own in choices_of(Group("SEQ", part.parts), inside):
            both, known = {**bound, **own}, list(before)
            left = [one for one in others if (one,) not in own.values()]
            names = {one.name for one in part.parts}
            tests = [test for test in self.tests if test.about & names]
            if not all(self._is_true(test, both) for test in tests):
                continue
            first = own[part.parts[0].name][0]
            if part.strict and any(end < one.t < first.t for one in left):
                continue
            if self._inside(part.parts, known, both, left):
                return True
        return False


def names_of(part: Part) -> list[str]:
    """The variables that a match binds."""
    match part:
        case One(name=name) | Many(name=name):
            return [name]
        case Group(parts=parts):
            return [one.name for one in parts]
    return []


def choices_of(part: Part, events: Sequence[Happening]) -> Iterator[Bound]:
    """The ways to bind a part to some of the events."""
    match part:
        case One(kind, name, optional=optional):
            yield from ({name: (one,)} for one in events if one.kind == kind)
            if optional:
                yield {name: ()}
        case Many(kind, name):
            some = sorted((one for one in events if one.kind == kind), key=lambda one: one.t)
            for size in range(1, len(some) + 1):
                for chosen in combinations(some, size):
                    if all(one.t < other.t for one, other in pairwise(chosen)):
                        yield {name: chosen}
        case Group("OR", parts):
            for one in parts:
                none: Bound = {other.name: () for other in parts}
                yield from ({**none, **own} for own in choices_of(one, events))
        case Group(operator, parts):
            if not parts:
                yield {}
                return
            for own in choices_of(parts[0], events):
                at = own[parts[0].name][0].t
                left = [one for one in events if operator == "AND" or one.t > at]
                yield from ({**own, **rest} for rest in choices_of(Group(operator, parts[1:]), left))
        case Negative():
            yield {}
