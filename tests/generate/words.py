"""Samples with words that say how one part follows another: NEXT, STRICT, EACH, UNTIL and WITHOUT.

    for number in range(1000):
        found = worded_sample(number)

A sample of another generator gets words at random, wherever the binder accepts them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from random import Random

from generate.conditions import number
from generate.repeated import kleene_sample
from generate.rewritable import Sample, sample
from neelc.errors import NeelError
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.node import Node, map_children, walk
from neelc.ir.script import RunQuery, SelectionStrategy
from neelc.ir.types import INT

SHARE = 0.4
"""How many of the parts that may have a word have one."""


def worded_sample(number: int, streams: int = 4) -> Sample | None:
    """The query with this number; None if nothing in it follows, or if the binder refuses it."""
    chance = Random(f"words {number}")
    found = sample(number, streams) if chance.random() < 0.5 else _kleene(chance, number, streams)
    if found is None or found.shared or found.query.partial:
        return None
    pattern = _Words(chance, found.query.pattern).changed(found.query.pattern)
    if pattern == found.query.pattern:
        return None
    asked = replace(found.query, pattern=pattern)
    statements = (*found.script.statements[:-1], RunQuery(asked))
    changed = replace(found, script=replace(found.script, statements=statements))
    try:
        return changed if changed.match else None
    except NeelError:
        return None


def _kleene(chance: Random, number: int, streams: int) -> Sample | None:
    return kleene_sample(number, chance.choice([*SelectionStrategy]), streams)


class _Words:
    """Words for the parts of a pattern, as they are drawn."""

    def __init__(self, chance: Random, pattern: p.Pattern) -> None:
        self.chance = chance
        self.types = sorted({node.type for node in walk(pattern) if isinstance(node, p.Event)})
        self.numbers = count(1)

    def changed(self, part: p.Pattern) -> p.Pattern:
        if isinstance(part, p.Repeat):
            return self._closure(part)
        found = map_children(part, self._child)
        if isinstance(found, p.Seq):
            parts = [one if place == 0 else self._following(one) for place, one in enumerate(found.parts)]
            return replace(found, parts=tuple(parts))
        return found

    def _child(self, node: Node) -> Node:
        return self.changed(node) if isinstance(node, p.Pattern) else node

    def _following(self, part: p.Pattern) -> p.Pattern:
        if self.chance.random() > SHARE:
            return part
        word = self._word()
        return replace(part, follow=p.FollowWord(p.FollowKind.STRICT) if isinstance(part, p.Not) else word)

    def _word(self) -> p.FollowWord:
        kind = self.chance.choice("NEXT NEXT NEXT STRICT STRICT AMONG ANY".split())
        if kind == "AMONG":
            size = min(len(self.types), self.chance.choice([1, 2]))
            return p.FollowWord(p.FollowKind.STRICT, tuple(self.chance.sample(self.types, size)))
        return p.FollowWord(p.FollowKind(kind))

    def _closure(self, part: p.Repeat) -> p.Repeat:
        chance = self.chance
        found = map_children(part, self._child)
        if chance.random() < SHARE:
            found = replace(found, each=self._word())
        if chance.random() < 0.2 and isinstance(part.part, p.Event):
            unit = "EVENT" if chance.random() < 0.3 else None
            found = replace(found, each_within=p.Window(number(chance.randint(1, 4)), unit))
        if chance.random() < 0.3:
            reach = chance.choice([p.GapReach.UNTIL, p.GapReach.WITHOUT])
            found = replace(found, gaps=(p.ClosureGap(self._absent(part), reach),))
        return found

    def _absent(self, closure: p.Repeat) -> p.Pattern:
        """What a closure must lack: an event, or a sequence of two; a condition may name the list."""
        kinds = [self.chance.choice(self.types) for _ in range(self.chance.choice([1, 1, 1, 2]))]
        names = [f"u{next(self.numbers)}" for _ in kinds]
        where: e.Expr | None = None
        if self.chance.random() < 0.3:
            where = e.Binary(">", e.Name((names[0], "x")), e.Literal(1, INT))
        elif self.chance.random() < 0.2 and isinstance(closure.part, p.Event) and closure.variable:
            last = e.Subscript(e.Name((closure.variable,)), e.Name(("last",)))
            where = e.Binary("<>", e.Name((names[0], "x")), e.MemberAccess(last, "x"))
        events = [p.Event(kind, name) for kind, name in zip(kinds, names, strict=True)]
        return replace(events[0], where=where) if len(events) == 1 else p.Seq(tuple(events), where=where)
