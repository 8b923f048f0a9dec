"""Shapes of nested patterns that rewriting rules have something to do with: lists in lists, negated lists.

`size` bounds the events of a shape: with few of them many streams hold a match, and the reference is fast.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from random import Random

from generate.conditions import number, seen_in
from neelc.ir import patterns as p

TYPES = ("A", "B", "C", "D")
MEMBERS = {"AB": ("A", "B"), "BC": ("B", "C"), "S": TYPES}
"""Types with events in common: two concepts, and a stream's name."""
SHARED = (*TYPES, *TYPES, *MEMBERS, "T")
"""T is the name of a stream of its own."""

_LIMITS: list[tuple[int, int | None]] = [(1, None), (1, 2), (0, 2), (2, 2)]
_LISTS: dict[str, type[p.Seq | p.And | p.Or | p.AndNeg]] = {
    "seq": p.Seq,
    "and": p.And,
    "or": p.Or,
    "and_neg": p.AndNeg,
}
# What a part is, and how often. `events` is a list of events; `list` is a closure of an event.
_ROOT = "seq seq seq seq seq seq and and and or or or exists optional closure".split()
_INNER = "event event event seq seq seq and and or or or exists exists optional closure and_neg".split()
_NEGATED = "event event events events events events seq and or or not exists optional closure".split()
_BODY = "seq seq seq and or event".split()
_SINGLE = "event event event event event event event event list optional".split()


def _window(chance: Random, share: float) -> p.Window | None:
    return p.Window(number(chance.randint(1, 6))) if chance.random() < share else None


def shape(chance: Random, types: Sequence[str], size: int) -> p.Pattern:
    """A positive pattern without names and conditions."""
    return _shape(chance, types, chance.randint(2, size), 3, _ROOT)


def small_shape(chance: Random, types: Sequence[str]) -> p.Pattern:
    """A list of events and of one part that is larger: what most rules look at, and nothing else."""
    parts: list[p.Pattern] = [p.Event(chance.choice(types)) for _ in range(chance.choice([1, 2, 2]))]
    word = chance.choice("seq seq and or".split())
    if word != "or" and chance.random() < 0.5:
        larger: p.Pattern = p.Not(_shape(chance, types, 2, 1, _NEGATED[2:]))
    else:
        larger = _shape(chance, types, 2, 1, _INNER[3:])
    if chance.random() < 0.2 and not isinstance(larger, p.Not):
        larger = replace(larger, within=p.Window(number(chance.randint(1, 6))))
    parts.insert(chance.choice([1, 1, 0, 2]), larger)
    return _LISTS[word](tuple(parts), within=_window(chance, 0.1))


def _shape(chance: Random, types: Sequence[str], size: int, depth: int, kinds: Sequence[str]) -> p.Pattern:
    match chance.choice(kinds if size > 1 and depth > 0 else _SINGLE):
        case "event":
            return p.Event(chance.choice(types), within=_window(chance, 0.02))
        case "list":
            limits = chance.choice(_LIMITS)
            return p.Repeat(p.Event(chance.choice(types)), *limits, within=_window(chance, 0.05))
        case "closure":
            body, limits = _body(chance, types, size, depth), chance.choice(_LIMITS)
            return p.Repeat(body, *limits, within=_window(chance, 0.05))
        case "optional":
            inner = _shape(chance, types, size - 1, depth - 1, _INNER) if size > 1 else None
            return p.Optional(inner or p.Event(chance.choice(types)), within=_window(chance, 0.05))
        case "exists":
            # `named` says which variables; here, how many.
            dropped = ("",) * chance.choice([1, 1, 1, 2, 3])
            body = _shape(chance, types, size, depth, _BODY)
            if chance.random() < 0.2:
                body = p.Exists(("",), body, within=_window(chance, 0.3))
            return p.Exists(dropped, body, within=_window(chance, 0.15))
        case "events":
            kind = _LISTS[chance.choice(["seq", "seq", "seq", "and", "or"])]
            parts = (p.Event(chance.choice(types)) for _ in range(chance.choice([2, 2, 3])))
            return kind(tuple(parts), within=_window(chance, 0.1))
        case "not":
            return p.Not(_shape(chance, types, size, depth - 1, _NEGATED))
        case word:
            return _listing(chance, types, size, depth, _LISTS[word])


def _body(chance: Random, types: Sequence[str], size: int, depth: int) -> p.Pattern:
    """A SEQ that binds an event: every iteration of a closure must."""
    first = p.Event(chance.choice(types))
    rest = _shape(chance, types, min(size - 1, 2), depth - 1, _INNER)
    negative = (p.Not(p.Event(chance.choice(types))),) if chance.random() < 0.3 else ()
    return p.Seq((first, *negative, rest))


def _listing(
    chance: Random, types: Sequence[str], size: int, depth: int, kind: type[p.Seq | p.And | p.Or | p.AndNeg]
) -> p.Pattern:
    """A list of parts that share `size`; all lists but OR may have negative parts."""
    least = 1 if chance.random() < 0.08 and kind is not p.AndNeg else 2
    parts: list[p.Pattern] = []
    for left in range(chance.randint(least, max(least, min(3, size))), 0, -1):
        share = max(1, size if left == 1 else chance.randint(1, max(1, size - left + 1)))
        size -= share
        parts.append(_shape(chance, types, share, depth - 1, _INNER))
    if kind is p.AndNeg:
        parts.insert(1, p.Not(_shape(chance, types, 2, depth - 1, _NEGATED)))
        return kind(tuple(parts))  # it has no window of its own
    if kind is not p.Or:
        for _ in range(chance.choice([0, 0, 1, 1, 1, 2])):
            negative = p.Not(_shape(chance, types, chance.randint(2, 3), depth, _NEGATED))
            # Between two parts more often than at an end.
            parts.insert(chance.choice([1, 1, 1, len(parts) - 1, len(parts), 0]), negative)
    return kind(tuple(parts), within=_window(chance, 0.15))


def flat_shape(chance: Random, types: Sequence[str]) -> p.Pattern:
    """What every selection strategy is defined for: SEQ of components and negations, and OR of such."""
    sequences = tuple(_flat_sequence(chance, types) for _ in range(chance.choice([1, 1, 2])))
    return p.Or(sequences) if len(sequences) == 2 else sequences[0]


def _flat_sequence(chance: Random, types: Sequence[str]) -> p.Pattern:
    parts: list[p.Pattern] = []
    for _ in range(chance.randint(1, 3)):
        parts.append(_shape(chance, types, 1, 0, _SINGLE))
        if chance.random() < 0.4:
            parts.append(p.Not(_shape(chance, types, 2, 1, _NEGATED)))
    if chance.random() < 0.25:
        body = p.Seq((p.Event(chance.choice(types)), p.Event(chance.choice(types))))
        parts.append(p.Repeat(body, 1, 2))
    return p.Seq(tuple(parts))


def named(shape: p.Pattern) -> p.Pattern:
    """Every event and every list gets a variable: `A a1`, `B+ b2[]`; EXISTS drops as many as it says.

    >>> print(named(p.Seq((p.Event("A"), p.Exists(("",), p.Seq((p.Event("B"), p.Event("A"))))))))
    SEQ(A a1, EXISTS b2 : SEQ(B b2, A a3))

    It leaves one unless an event beside it is bound in any case: a match binds an event.

    >>> print(named(p.Exists(("",) * 3, p.Seq((p.Event("B"), p.Event("A"))))))
    EXISTS b1 : SEQ(B b1, A a2)
    """
    return _named(shape, count(1), accompanied=False)


def _named(node: p.Pattern, numbers: Iterator[int], accompanied: bool) -> p.Pattern:
    match node:
        case p.Event(kind) | p.Repeat(p.Event(kind)):
            return replace(node, variable=f"{kind.lower()}{next(numbers)}")
        case p.Repeat(part):
            return replace(node, part=_named(part, numbers, False), variable=f"k{next(numbers)}")
        case p.Exists(wanted, part):
            inner = _named(part, numbers, accompanied)
            names = [variable.name for variable in seen_in(inner)]
            dropped = tuple(names[: len(wanted) if accompanied else min(len(wanted), len(names) - 1)])
            return replace(node, part=inner, variables=dropped) if dropped else inner
        case p.Not(part) | p.Optional(part):
            return replace(node, part=_named(part, numbers, False))
        case p.Seq(parts) | p.And(parts) | p.AndNeg(parts) | p.Or(parts):
            beside = not isinstance(node, p.Or) and any(isinstance(part, p.Event) for part in parts)
            return replace(node, parts=tuple(_named(part, numbers, beside) for part in parts))
    raise AssertionError(type(node).__name__)
