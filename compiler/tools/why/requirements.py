"""What a query requires of a match, one thing at a time: each may be why there is no match.

Only what restricts matches is a requirement: conditions, windows and negations of positive parts, the
strategy and the confidence. What stands inside a negation makes it hit less often, so it is left alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from itertools import count

from neelc.ir import patterns as p
from neelc.ir.expressions import Conjunction, Expr, SameAttributes, written_conjuncts
from neelc.ir.names import bare
from neelc.ir.node import Node, map_children
from neelc.ir.patterns import Listing, inner_parts
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.runtime.late_dataclass import dataclass
from neelc.syntax.print_patterns import as_written, show_window

Path = tuple[int, ...]
"""The way from a pattern to one of its parts: at each step, which of the inner parts."""


@dataclass(frozen=True)
class Requirement:
    """One thing that a match must fulfil, and its text.

    `kind` is condition, same, partition, window, negation, complete, strategy or confidence. `path` leads to
    the part it applies to; None is the query itself. `place` is the place of a conjunct in its condition. A
    negation that stands for NEXT or STRICT has this `word`.
    """

    kind: str
    text: str
    path: Path | None = None
    place: int = 0
    expression: Expr | None = None
    window: p.Window | None = None
    word: p.FollowKind | None = None


def requirements(match: Match) -> tuple[Requirement, ...]:
    """All that a query requires, beside the types and the order of events.

    >>> from pattern_examples import query
    >>> example = query("SEQ(A a, !(B b : b.x > 1), C+ c[]) WHERE [id] AND a.x < 5 WITHIN 9 SECONDS")
    >>> for one in requirements(example):
    ...     print(one.kind, one.text, sep=": ")
    window: WITHIN 9 SECONDS
    same: [id]
    condition: a.x < 5
    negation: !(B b : b.x > 1)
    >>> print(*(one.text for one in requirements(query("SEQ(A a, NEXT B b, C+ c[] EACH STRICT)"))), sep="; ")
    NEXT b; c[] EACH STRICT
    """
    return tuple(_of_query(match))


def _of_query(match: Match) -> Iterator[Requirement]:
    if match.within is not None:
        yield Requirement("window", f"WITHIN {show_window(match.within)}", window=match.within)
    if match.partition:
        yield Requirement("partition", f"PARTITION BY {', '.join(match.partition)}")
    of_parts = list(_of_part(match.pattern, ()))
    yield from of_parts
    if match.complete and any(one.kind == "negation" for one in of_parts):
        yield Requirement("complete", "WHEN COMPLETE")
    if match.strategy != SelectionStrategy.ANY_MATCH:
        yield Requirement("strategy", f"USING {match.strategy}")
    if match.confidence is not None:
        threshold = f"{match.confidence.op} {match.confidence.threshold}"
        yield Requirement("confidence", f"WITH CONFIDENCE {threshold}")


def _of_part(part: p.Pattern, path: Path) -> Iterator[Requirement]:
    if part.within is not None:
        yield Requirement("window", f"WITHIN {show_window(part.within)}", path, window=part.within)
    for place, conjunct in enumerate(written_conjuncts(part.where)):
        kind = "same" if isinstance(conjunct, SameAttributes) else "condition"
        yield Requirement(kind, str(conjunct), path, place, conjunct)
    for place, inner in enumerate(inner_parts(part)):
        match inner:
            case p.Not(means=p.FollowWord() as word) if isinstance(part, Listing):
                text = f"{word} {_name(part.parts[place + 1 :])}"
                yield Requirement("negation", text, (*path, place), word=word.kind)
            case p.Not() if isinstance(part, Listing):
                yield Requirement("negation", str(as_written(inner)), (*path, place))
            case p.ClosureGap(means=word) if isinstance(part, p.Repeat):
                yield Requirement(
                    "negation",
                    _gap_text(part, inner),
                    (*path, place),
                    word=None if word is None else word.kind,
                )
            case p.Not() | p.ClosureGap():
                pass
            case _:
                yield from _of_part(inner, (*path, place))


def _name(following: tuple[p.Pattern, ...]) -> str:
    """What a word is said of."""
    part = next((one for one in following if not isinstance(one, p.Not)), None)
    match part:
        case None:
            return "the negation after it"
        case p.Event(variable=str() as name):
            return bare(name)
    return str(as_written(part))


def _gap_text(closure: p.Repeat, gap: p.ClosureGap) -> str:
    name = f"{bare(closure.variable or '')}[]"
    if gap.means is None:
        return f"{name} {as_written(gap)}"
    return f"{gap.means} {name}" if gap.reach == p.GapReach.FIRST else f"{name} EACH {gap.means}"


# Queries that require less: requirements dropped, windows widened.


@dataclass(frozen=True)
class RequirementChange:
    """What is required less: `dropped` requirements, and other `windows` in the place of some."""

    dropped: frozenset[Requirement] = frozenset()
    windows: Mapping[Requirement, p.Window] = field(default_factory=dict)
    strategy: SelectionStrategy = SelectionStrategy.ANY_MATCH


def without(match: Match, dropped: Iterable[Requirement]) -> Match:
    """The query without these requirements.

    >>> from pattern_examples import query
    >>> from neelc.tools.why.requirements import requirements
    >>> example = query("SEQ(A a, !B b, C c) WHERE [id] AND a.x < 5 AND c.x < 5 WITHIN 9 SECONDS")
    >>> window, same, first, _, negation = requirements(example)
    >>> print(without(example, [first, negation]).pattern)
    SEQ(A a, C c WHERE [id] AND c.x < 5)
    """
    return changed(match, RequirementChange(frozenset(dropped)))


def changed(match: Match, change: RequirementChange) -> Match:
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
        complete=match.complete and "complete" not in of_query,
    )


@dataclass(frozen=True)
class _Relaxing:
    dropped: Collection[Requirement]
    windows: Mapping[Path | None, p.Window]

    def part(self, part: p.Pattern, path: Path) -> p.Pattern:
        """A part, and all below it, with what is dropped left out."""
        here = [one for one in self.dropped if one.path == path]
        gone = {one.place for one in here if one.kind in ("condition", "same")}
        where = conjoined(one for place, one in enumerate(written_conjuncts(part.where)) if place not in gone)
        is_open = any(one.kind == "window" for one in here)
        within = self.windows.get(path, None if is_open else part.within)
        if isinstance(part, Listing):
            return replace(part, parts=tuple(self.listed(part.parts, path)), where=where, within=within)
        if isinstance(part, p.Repeat):
            kept = (gap for at, gap in enumerate(part.gaps, 1) if not self.is_dropped((*path, at)))
            body = self.part(part.part, (*path, 0))
            return replace(part, part=body, gaps=tuple(kept), where=where, within=within)
        places = count()

        def inner(child: Node) -> Node:
            return self.part(child, (*path, next(places))) if isinstance(child, p.Pattern) else child

        return replace(map_children(part, inner), where=where, within=within)

    def listed(self, parts: tuple[p.Pattern, ...], path: Path) -> Iterator[p.Pattern]:
        """The parts of a list; a negation is dropped as a whole, or stays unchanged."""
        for place, part in enumerate(parts):
            if not isinstance(part, p.Not):
                yield self.part(part, (*path, place))
            elif not self.is_dropped((*path, place)):
                yield part

    def is_dropped(self, path: Path) -> bool:
        return any(one.path == path for one in self.dropped)


def conjoined(conditions: Iterable[Expr]) -> Expr | None:
    """These conjuncts as one condition. None is left out: their places count."""
    found = tuple(conditions)
    return found[0] if len(found) == 1 else Conjunction(found) if found else None
