"""Whether a reading of a pattern is a match, judged from the top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from neelc.ir.expressions import SameAttributes
from neelc.ir.patterns import And, AndNeg, Event, Exists, Not, Optional, Pattern, Repeat, Seq
from neelc.runtime.reference.model import ReferenceEvent as Happening
from oracle.basics import Question, Span, are_same, conditions, extent, is_true, own_attributes
from oracle.runs import is_run
from oracle.trees import Binding, Tree, trees

NOWHERE: Span = (1, 0)


def is_match(tree: Tree, question: Question) -> bool:
    own, within = tree.own(), question.match.within
    if not own or not question.fits(own, within):
        return False
    judge = Judge(question, {}, tuple(own))
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
        same = tuple((name, tuple(own)) for name in own_attributes(node))
        inner = replace(self, binding={**self.binding, **tree.binding()}, same=self.same + same)
        if not all(are_same([name], events) for name, events in same):
            return False
        if not all(is_true(c, inner.binding) for c in conditions(node) if not isinstance(c, SameAttributes)):
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
            case Exists():
                dropped = [event for event in tree.parts[0].own() if event not in own]
                return inner.holds_with(dropped, tree.parts[0], scope)
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
        readings = [tree for tree in trees(part, self.question) if tree.everything()]
        return any(self.holds_with(tree.own(), tree, scope) for tree in readings)

    def holds_with(self, more: Sequence[Happening], tree: Tree, scope: Span) -> bool:
        """Whether events that extend the match are other ones, agree with each `[id]` around and satisfy
        a part: those of a negative part, or those that EXISTS drops."""
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
