"""What a pattern query means, once more and in the plainest way: every reading is tried and judged.

A second opinion about `neelc.runtime.reference`, written from the language alone and for tiny streams only.
It shares events and values of scalar expressions with the reference, and nothing of how matches are found.

- `trees`: which events a pattern is read with, a branch for each OR, a list for each repetition. All trees
  are made first, whatever the order of their events.
- `judge`: whether a tree is a match. It says what the operators, scopes, windows and conditions mean.
- `runs`: what the selection strategies ask of a complete match.
- `basics`: windows and conditions on given events.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from neelc.ir.program import Match
from neelc.runtime.reference.model import ReferenceEvent, binding_key
from oracle.basics import Question
from oracle.judge import is_match
from oracle.trees import Binding, TooMany, few, trees

__all__ = ["Binding", "TooMany", "collapsed", "confidences", "matches"]


def matches(match: Match, events: Iterable[ReferenceEvent]) -> dict[object, Binding]:
    """ "The result of a query is the set of matches", by their keys."""
    question = Question(match, tuple(events))
    found = (tree.binding() for tree in trees(match.pattern, question) if is_match(tree, question))
    return {binding_key(binding): binding for binding in found}


def confidences(match: Match, events: Sequence[ReferenceEvent], unit: int) -> dict[object, Fraction]:
    """ "The sum of the probabilities of the possible worlds in which it is a match": all worlds are tried."""
    times = [range(event.start, event.end + 1, unit) for event in events]
    worlds = few(itertools.product(*times))
    found: dict[object, Fraction] = {}
    for world in worlds:
        moved = [replace(event, start=at, end=at) for event, at in zip(events, world, strict=True)]
        for key in matches(match, moved):
            found[key] = found.get(key, Fraction(0)) + Fraction(1, len(worlds))
    return found


def collapsed(found: Iterable[Binding]) -> list[Binding]:
    """ "One row per choice of the single variables, with the superset list of each Kleene variable".

    Whether a list is there at all, its OR branch being taken, is a choice too.
    """
    groups: dict[object, list[Binding]] = {}
    for binding in found:
        choice = {name: () if isinstance(value, tuple) else value for name, value in binding.items()}
        groups.setdefault(binding_key(choice), []).append(binding)
    return [
        {name: union([one[name] for one in group]) for name in binding}
        for group in groups.values()
        for binding in group[:1]
    ]


def union(values: Sequence[object]) -> object:
    """The events of lists, in order of time; of single variables, the one value they all have."""
    if not isinstance(values[0], tuple):
        return values[0]
    events = {event for value in values if isinstance(value, tuple) for event in value}
    return tuple(sorted(events, key=lambda event: (event.start, event.end, event.stream, event.row)))
