"""What a query requires of a match, one thing at a time: each may be why there is no match.

Only what restricts matches is a requirement: conditions, windows and negations of positive parts, the
strategy and the confidence. What stands inside a negation makes it hit less often, so it is left in peace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjuncts
from neelc.ir.expr import Expr, Same
from neelc.ir.logical import Match
from neelc.ir.parts import LISTS, inner_parts
from neelc.ir.show_pattern import as_written, show_window

Path = tuple[int, ...]
"""The way from a pattern to one of its parts: at each step, which of the inner parts."""

ANY, NEXT = "SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH"


@dataclass(frozen=True)
class Requirement:
    """One thing that a match must fulfil, and its text.

    `kind` is condition, same, partition, window, negation, strategy or confidence. `path` leads to the part
    it is said of; None is the query itself. `place` is the place of a conjunct in its condition.
    """

    kind: str
    text: str
    path: Path | None = None
    place: int = 0
    expression: Expr | None = None
    window: p.Window | None = None


def requirements(match: Match) -> tuple[Requirement, ...]:
    """All that a query requires, beside the types and the order of events.

    >>> from neelc.rewrite.examples import query
    >>> asked = query("SEQ(A a, !(B b : b.x > 1), C+ c[]) WHERE [id] AND a.x < 5 WITHIN 9 SECONDS")
    >>> for one in requirements(asked):
    ...     print(one.kind, one.text, sep=": ")
    window: WITHIN 9 SECONDS
    same: [id]
    condition: a.x < 5
    negation: !(B b : b.x > 1)
    """
    return tuple(_of_query(match))


def _of_query(match: Match) -> Iterator[Requirement]:
    if match.within is not None:
        yield Requirement("window", f"WITHIN {show_window(match.within)}", window=match.within)
    if match.partition:
        yield Requirement("partition", f"PARTITION BY {', '.join(match.partition)}")
    yield from _of_part(match.pattern, ())
    if match.strategy != ANY:
        yield Requirement("strategy", f"USING {match.strategy}")
    if match.confidence is not None:
        threshold = f"{match.confidence.op} {match.confidence.threshold}"
        yield Requirement("confidence", f"WITH CONFIDENCE {threshold}")


def _of_part(part: p.Pattern, path: Path) -> Iterator[Requirement]:
    if part.within is not None:
        yield Requirement("window", f"WITHIN {show_window(part.within)}", path, window=part.within)
    for place, conjunct in enumerate(conjuncts(part.where)):
        kind = "same" if isinstance(conjunct, Same) else "condition"
        yield Requirement(kind, str(conjunct), path, place, conjunct)
    for place, inner in enumerate(inner_parts(part)):
        if not isinstance(inner, p.Not):
            yield from _of_part(inner, (*path, place))
        elif isinstance(part, LISTS):
            yield Requirement("negation", str(as_written(inner)), (*path, place))
