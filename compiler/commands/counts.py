"""How much a run has found, in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neelc.ir.algebra import Algebra
    from neelc.ir.logical import Match

IS_COMPLETE = "stopped = 'complete'"
"""What tells complete matches from other starts of WITH PARTIAL MATCHES, as a condition of Spark's."""


@dataclass(frozen=True)
class Tally:
    """How many rows there are; where they are starts, how many of them are complete matches."""

    rows: int = 0
    complete: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.rows + other.rows, self.complete + other.complete)


def unit_of(queries: Iterable[Match | Algebra]) -> str:
    """What the rows of these queries are: matches, starts, or just rows."""
    units = {"row" if query.aggregated else "start" if has_starts(query) else "match" for query in queries}
    return units.pop() if len(units) == 1 else "row"


def has_starts(query: Match | Algebra) -> bool:
    """Whether each row is a start, as WITH PARTIAL MATCHES has it; DISTINCT rows may stand for several."""
    from neelc.ir.logical import Match

    return isinstance(query, Match) and query.partial is not None and not query.distinct


def counted(tally: Tally, unit: str) -> str:
    """
    >>> counted(Tally(1), "match"), counted(Tally(6000), "match"), counted(Tally(2), "row")
    ('1 match', '6,000 matches', '2 rows')
    >>> counted(Tally(3, complete=1), "start")
    '3 starts, 1 complete'
    """
    ending = "" if tally.rows == 1 else "es" if unit == "match" else "s"
    complete = f", {tally.complete:,} complete" if unit == "start" else ""
    return f"{tally.rows:,} {unit}{ending}{complete}"
