"""One query under each of the selection strategies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from neelc.bind.findings import Findings
from neelc.bind.strategies import check_strategy
from neelc.ir.logical import Match
from neelc.ir.script import STRATEGIES
from neelc.rewrite.consequences import same_at
from neelc.rewrite.keys import PARTITIONED
from neelc.source import Source


@dataclass(frozen=True)
class Way:
    """A query under a strategy, or why it cannot be."""

    strategy: str
    query: Match
    problem: str | None = None


def ways(match: Match, compare: bool) -> tuple[Way, ...]:
    """The query as it is, or with `compare` under all four strategies.

    >>> from neelc.rewrite.examples import query
    >>> for way in ways(query("SEQ(A a, B b) WITHIN 5"), compare=True):
    ...     print(way.strategy, "-", way.problem)
    SKIP TILL ANY MATCH - None
    SKIP TILL NEXT MATCH - None
    STRICT CONTIGUITY - None
    PARTITION CONTIGUITY - it requires a partition: PARTITION BY id, or a condition [id]
    """
    return tuple(_all_ways(match)) if compare else (Way(match.strategy, match),)


def _all_ways(match: Match) -> Iterator[Way]:
    for strategy in STRATEGIES:
        partition = match.partition
        if strategy == PARTITIONED and not partition:
            partition = tuple(same_at(match.pattern))
        query = replace(match, strategy=strategy, partition=partition)
        yield Way(strategy, query, _problem(query))


def _problem(query: Match) -> str | None:
    findings = Findings(Source(""))
    check_strategy(query.strategy, query.pattern, findings)
    if findings.diagnostics:
        return findings.diagnostics[0].message
    if query.strategy == PARTITIONED and not query.partition:
        return "it requires a partition: PARTITION BY id, or a condition [id]"
    return None
