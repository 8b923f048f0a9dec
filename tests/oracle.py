"""What a pattern query means, once more and in the plainest way: every reading is tried and judged.

A second opinion about `neelc.runtime.reference`, written from the language alone and for tiny streams only. It
shares events and the values of scalar expressions with the reference, and nothing of how matches are found.

A *tree* says which events a pattern is read with: a branch for each OR, a list for each repetition. All trees
are made first, and then judged from the top. `oracle_runs.py` has what the selection strategies ask for.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from oracle_basics import Question, Span, are_same, conditions, extent, is_true, own_attributes
from oracle_runs import Slot, is_run

from neelc.ir.expr import Same
from neelc.ir.logical import Match
from neelc.ir.node import walk
from neelc.ir.pattern import And, AndNeg, Event, Exists, Not, Optional, Or, Pattern, Repeat, Seq
from neelc.runtime.reference.model import Event as Happening
from neelc.runtime.reference.model import binding_key, bound_events

T = TypeVar("T")
Binding = dict[str, object]
LIMIT = 20_000
NOWHERE: Span = (1, 0)


class TooMany(Exception):
    """There are too many readings to try them all."""


def matches(match: Match, events: Iterable[Happening]) -> dict[object, Binding]:
    """ "The result of a query is the set of matches", by their keys."""
    question = Question(match, tuple(events))
    found = (tree.binding() for tree in trees(match.pattern, question) if is_match(tree, question))
    return {binding_key(binding): binding for binding in found}


def confidences(match: Match, events: Sequence[Happening], unit: int) -> dict[object, Fraction]:
    """ "The sum of the probabilities of the possible worlds in which it is a match": all worlds are tried."""
    times = [range(event.start, event.end + 1, unit) for event in events]
    worlds = few(itertools.product(*times))
    found: dict[object, Fraction] = {}
    for world in worlds:
        moved = [replace(event, start=at, end=at) for event, at in zip(events, world, strict=True)]
        for key in matches(match, moved):
            found[key] = found.get(key, Fraction(0)) + Fraction(1, len(worlds))
    return found


def collapsed(match: Match, found: Iterable[Binding]) -> list[Binding]:
    """ "One row per choice of the single variables, with the superset list of each Kleene variable"."""
    lists = {node.variable or "" for node in walk(match.pattern) if isinstance(node, Repeat)}
    groups: dict[object, list[Binding]] = {}
    for binding in found:
        single = {name: value for name, value in binding.items() if name not in lists}
        groups.setdefault(binding_key(single), []).append(binding)
    return [
        {name: union([one[name] for one in group]) if name in lists else group[0][name] for name in group[0]}
        for group in groups.values()
    ]


def union(lists: Iterable[object]) -> object:
    """In order of time; NULL where all are."""
    given = [one for one in lists if isinstance(one, tuple)]
    members = {event for one in given for event in one}
    return tuple(sorted(members, key=lambda e: (e.start, e.end, e.row))) if given else None


@dataclass(frozen=True)
class Tree:
    """One reading of `node`: its event, or the readings of its positive parts, of the branch taken, of its
    iterations. An absent optional part has none."""

    node: Pattern
    parts: tuple[Tree, ...] = ()
    event: Happening | None = None

    def everything(self) -> list[Happening]:
        """All events, those that EXISTS drops included."""
        own = [] if self.event is None else [self.event]
        return own + [event for part in self.parts for event in part.everything()]

    def binding(self) -> Binding:
        """What the variables that are visible outside are bound to."""
        match self.node:
            case Event(variable=name):
                return {name or "": self.event}
            case Repeat(Event(), variable=name):
                return {name or "": tuple(part.event for part in self.parts)}
            case Repeat(variable=name):
                return {name or "": tuple(part.binding() for part in self.parts)}
        bound = {name: value for part in self.parts for name, value in part.binding().items()}
        return {name: bound.get(name) for name in visible(self.node)}

    def own(self) -> list[Happening]:
        """The events bound in it: its start and end are theirs."""
        return list(bound_events(self.binding()))

    def steps(self, path: Slot = ()) -> Iterator[tuple[Slot, Happening]]:
        """Which event takes which place, in order: `("b", 0)` is the first element of `b[]`."""
        match self.node:
            case Event(variable=name) if self.event is not None:
                yield (*path, name) if name else path, self.event
            case Repeat(variable=name):
                for place, part in enumerate(self.parts):
                    yield from part.steps((*path, name or "", place))
            case _:
                for part in self.parts:
                    yield from part.steps(path)


def visible(node: Pattern) -> Iterator[str]:
    """The variables a part binds, as seen from outside."""
    match node:
        case Event(variable=name) | Repeat(variable=name):
            yield name or ""
        case Exists(dropped, part):
            yield from (name for name in visible(part) if name not in dropped)
        case Optional(part):
            yield from visible(part)
        case Seq(parts) | And(parts) | AndNeg(parts) | Or(parts):
            yield from (name for part in parts for name in visible(part))


def trees(node: Pattern, question: Question) -> list[Tree]:
    """Every reading of `node` that uses no event twice."""
    match node:
        case Event(type=name):
            return [Tree(node, event=event) for event in question.of_type(name)]
        case Repeat(part, least, most):
            once = trees(part, question)
            lists: list[tuple[Tree, ...]] = [()]
            for done in lists:  # which grows
                few(lists)
                lists += [(*done, tree) for tree in once if not done or is_after(tree, done)]
            enough = (done for done in lists if least <= len(done) <= (len(done) if most is None else most))
            return [Tree(node, done) for done in enough]
        case Optional(part):
            return [Tree(node), *(Tree(node, (tree,)) for tree in trees(part, question))]
        case Exists(_, part):
            return [Tree(node, (tree,)) for tree in trees(part, question)]
        case Or(parts):
            return [Tree(node, (tree,)) for part in parts for tree in trees(part, question)]
        case Seq(parts) | And(parts) | AndNeg(parts):
            chosen: list[tuple[Tree, ...]] = [()]
            for part in positive(parts):
                more = trees(part, question)
                chosen = few((*done, tree) for done in chosen for tree in more if are_apart(done, tree))
            return [Tree(node, done) for done in chosen]
    raise AssertionError(node)


def few(items: Iterable[T]) -> list[T]:
    found = list(itertools.islice(items, LIMIT))
    if len(found) == LIMIT:
        raise TooMany
    return found


def positive(parts: Iterable[Pattern]) -> list[Pattern]:
    return [part for part in parts if not isinstance(part, Not)]


def are_apart(done: Iterable[Tree], tree: Tree) -> bool:
    return not {event for other in done for event in other.everything()} & set(tree.everything())


def is_after(tree: Tree, done: tuple[Tree, ...]) -> bool:
    return extent(done[-1].own())[1] < extent(tree.own())[0] and are_apart(done, tree)


def is_match(tree: Tree, question: Question) -> bool:
    own, within = tree.own(), question.match.within
    if not own or not question.fits(own, within):
        return False
    judge = Judge(question, {}, tuple(tree.everything()))
    return judge.holds(tree, question.reach(own, within)) and is_run(list(tree.steps()), question)


@dataclass(frozen=True)
class Judge:
    """Judges a part with the binding around it, all events of the match, and each `[id]` around it with the
    events it is about."""

    question: Question
    binding: Binding
    used: tuple[Happening, ...]
    same: tuple[tuple[str, tuple[Happening, ...]], ...] = ()

    def holds(self, tree: Tree, scope: Span) -> bool:
        node, own = tree.node, tree.own()
        if isinstance(node, Optional) and not tree.parts:
            return True  # its condition and its window are about what is not there
        if not self.question.fits(own, node.within):
            return False
        reach = self.question.reach(own, node.within)
        scope = max(scope[0], reach[0]), min(scope[1], reach[1])
        same = tuple((name, tuple(tree.everything())) for name in own_attributes(node))
        inner = replace(self, binding={**self.binding, **tree.binding()}, same=self.same + same)
        if not all(are_same([name], events) for name, events in same):
            return False
        if not all(is_true(c, inner.binding) for c in conditions(node) if not isinstance(c, Same)):
            return False
        match node:
            case Event():
                return all(scope[0] <= event.start and event.end <= scope[1] for event in own)
            case Seq(parts):
                return inner.in_order(in_place(tree), parts, scope)
            case Repeat():
                return inner.in_order(list(tree.parts), [part.node for part in tree.parts], scope)
            case And(parts) | AndNeg(parts):
                spans = [scope if isinstance(node, And) else gap(tree, place) for place in range(len(parts))]
                refused = [(p.part, span) for p, span in zip(parts, spans, strict=True) if isinstance(p, Not)]
                return all(inner.holds(part, scope) for part in tree.parts) and not any(
                    inner.is_found(part, span) for part, span in refused
                )
        return all(inner.holds(part, scope) for part in tree.parts)

    def in_order(self, read: list[Tree | None], parts: Sequence[Pattern], scope: Span) -> bool:
        """A part's scope is open, from the end of what stands before it to the start of what stands after.

        What is empty takes no room; `read` is None where a part is negative.
        """
        room = [extent(tree.own()) if tree and tree.own() else None for tree in read]
        for place, (tree, part) in enumerate(zip(read, parts, strict=True)):
            low = max([scope[0], *(span[1] + 1 for span in room[:place] if span)])
            high = min([scope[1], *(span[0] - 1 for span in room[place + 1 :] if span)])
            if tree is not None and not self.holds(tree, (low, high)):
                return False
            if isinstance(part, Not) and self.is_found(part.part, (low, high)):
                return False
        return True

    def is_found(self, part: Pattern, scope: Span) -> bool:
        """Whether a binding of a negative part's variables extends the match and satisfies the part."""
        if isinstance(part, Not):
            return not self.is_found(part.part, scope)
        return any(self.is_hit(tree, scope) for tree in trees(part, self.question) if tree.own())

    def is_hit(self, tree: Tree, scope: Span) -> bool:
        more = tuple(tree.everything())
        same = tuple((name, (*events, *more)) for name, events in self.same)
        if set(more) & set(self.used) or not all(are_same([name], events) for name, events in same):
            return False
        return replace(self, used=(*self.used, *more), same=same).holds(tree, scope)


def in_place(tree: Tree) -> list[Tree | None]:
    """The reading of each part of a list, None for negative ones."""
    rest = iter(tree.parts)
    assert isinstance(tree.node, Seq | AndNeg)
    return [None if isinstance(part, Not) else next(rest) for part in tree.node.parts]


def gap(tree: Tree, place: int) -> Span:
    """ "Strictly between a and b, whichever comes first": the nearest positive parts on both sides."""
    read = in_place(tree)
    before = [part.own() for part in read[:place] if part]
    after = [part.own() for part in read[place + 1 :] if part]
    if not before or not after or not before[-1] or not after[0]:
        return NOWHERE
    one, other = sorted((extent(before[-1]), extent(after[0])))
    return one[1] + 1, other[0] - 1
