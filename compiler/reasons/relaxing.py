"""Queries that require less: requirements dropped, windows widened."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjuncts
from neelc.ir.expr import Conjunction, Expr
from neelc.ir.logical import Match
from neelc.ir.node import Node, map_children
from neelc.ir.parts import LISTS
from neelc.reasons.requirements import ANY, Path, Requirement


@dataclass(frozen=True)
class Change:
    """What is required less: `dropped` requirements, and other `windows` in the place of some."""

    dropped: frozenset[Requirement] = frozenset()
    windows: Mapping[Requirement, p.Window] = field(default_factory=dict)
    strategy: str = ANY


def without(match: Match, dropped: Iterable[Requirement]) -> Match:
    """The query without these requirements.

    >>> from neelc.rewrite.examples import query
    >>> from neelc.reasons.requirements import requirements
    >>> asked = query("SEQ(A a, !B b, C c) WHERE [id] AND a.x < 5 AND c.x < 5 WITHIN 9 SECONDS")
    >>> window, same, first, _, negation = requirements(asked)
    >>> print(without(asked, [first, negation]).pattern)
    SEQ(A a, C c WHERE [id] AND c.x < 5)
    """
    return changed(match, Change(frozenset(dropped)))


def changed(match: Match, change: Change) -> Match:
    """The query with a change."""
    of_query = {one.kind: one for one in change.dropped if one.path is None}
    windows = {one.path: window for one, window in change.windows.items()}
    pattern = _Relaxing(change.dropped, windows).part(match.pattern, ())
    within = windows.get(None, None if "window" in of_query else match.within)
    return replace(
        match,
        pattern=pattern,
        within=within,
        partition=() if "partition" in of_query else match.partition,
        strategy=change.strategy if "strategy" in of_query else match.strategy,
        confidence=None if "confidence" in of_query else match.confidence,
    )


@dataclass(frozen=True)
class _Relaxing:
    dropped: Collection[Requirement]
    windows: Mapping[Path | None, p.Window]

    def part(self, part: p.Pattern, path: Path) -> p.Pattern:
        """A part, and all below it, with what is dropped left out."""
        here = [one for one in self.dropped if one.path == path]
        gone = {one.place for one in here if one.kind in ("condition", "same")}
        where = conjoined(one for place, one in enumerate(conjuncts(part.where)) if place not in gone)
        is_open = any(one.kind == "window" for one in here)
        within = self.windows.get(path, None if is_open else part.within)
        if isinstance(part, LISTS):
            return replace(part, parts=tuple(self.listed(part.parts, path)), where=where, within=within)
        places = count()

        def inner(child: Node) -> Node:
            return self.part(child, (*path, next(places))) if isinstance(child, p.Pattern) else child

        return replace(map_children(part, inner), where=where, within=within)

    def listed(self, parts: tuple[p.Pattern, ...], path: Path) -> Iterator[p.Pattern]:
        """The parts of a list; a negation is dropped as a whole, or stays as it is."""
        for place, part in enumerate(parts):
            if not isinstance(part, p.Not):
                yield self.part(part, (*path, place))
            elif not any(one.path == (*path, place) for one in self.dropped):
                yield part


def conjoined(conditions: Iterable[Expr]) -> Expr | None:
    """These conjuncts as one condition. None is left out: their places count."""
    found = tuple(conditions)
    return found[0] if len(found) == 1 else Conjunction(found) if found else None
