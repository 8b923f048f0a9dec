"""Every way to read a pattern with given events, whatever their order."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from neelc.ir.patterns import And, AndNeg, Event, Exists, Not, Optional, Or, Pattern, Repeat, Seq
from neelc.runtime.reference.model import ReferenceEvent as Happening
from neelc.runtime.reference.model import bound_events
from oracle.basics import Question, extent
from oracle.runs import Slot

T = TypeVar("T")
Binding = dict[str, object]
LIMIT = 20_000


class TooMany(Exception):
    """There are too many readings to try them all."""


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
            return [Tree(node), *(Tree(node, (tree,)) for tree in trees(part, question) if tree.own())]
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
    return not {event for other in done for event in other.own()} & set(tree.own())


def is_after(tree: Tree, done: tuple[Tree, ...]) -> bool:
    return extent(done[-1].own())[1] < extent(tree.own())[0] and are_apart(done, tree)
