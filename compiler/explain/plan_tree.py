"""The plan of a query as a tree: what is read, how it is brought together, what is looked for in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neelc.cost.estimate import Estimate
from neelc.cost.statistics import Statistics
from neelc.explain.explanation import PlanNode
from neelc.explain.plan_scans import scan_nodes
from neelc.explain.query_text import pattern_text
from neelc.ir.expr import Aggregate
from neelc.ir.logical import Match, OutputColumn
from neelc.ir.names import bare, written
from neelc.ir.node import walk
from neelc.rewrite.keys import Key

LONGEST = 60
"""Names of columns that are still written into a title."""

Details = tuple[tuple[str, str], ...]


def plan_tree(query: Match, keys: Sequence[Key], estimate: Estimate, statistics: Statistics) -> PlanNode:
    """project or aggregate <- match <- sort <- shuffle <- scan of each stream.

    >>> from neelc.cost.estimate import estimate
    >>> from neelc.rewrite.examples import query
    >>> from neelc.rewrite.keys import partition_keys
    >>> match, known = query("SEQ(A a, B b) WHERE [id] WITHIN 10 RETURN a.x"), Statistics()
    >>> node = plan_tree(match, partition_keys(match), estimate(match, known), known)
    >>> while True:
    ...     print(node.title)
    ...     if not node.inputs: break
    ...     node = node.inputs[0]
    return a_x
    match
    sort by id, then time
    shuffle by id
    read S once
    """
    sources = scan_nodes(query, statistics)
    shuffled = PlanNode("shuffle", *_shuffle(query, keys), estimate.rows_sorted, sources)
    order = [written(key.name) for key in keys]
    title = f"sort by {', '.join([*order, 'then time'])}" if order else "sort by time"
    ordered = PlanNode("sort", title, (), estimate.rows_sorted, (shuffled,))
    matches = PlanNode("match", "match", tuple(_match(query)), _matches(query, estimate), (ordered,))
    return _result(query, estimate, matches)


def _matches(query: Match, estimate: Estimate) -> float | None:
    """The rows that matching gives; several matches may become one row afterwards."""
    return None if query.aggregated or query.distinct else estimate.rows_produced


def _result(query: Match, estimate: Estimate, matches: PlanNode) -> PlanNode:
    names = ", ".join(written(output.name) for output in query.outputs)
    texts = tuple((output.name, str(output.expression)) for output in query.outputs)
    details = tuple(pair for pair in texts if pair[0] != pair[1])
    if query.aggregated:
        groups = [written(output.name) for output in query.outputs if not _is_aggregate(output)]
        title = f"aggregate by {', '.join(groups)}" if groups else "aggregate all matches"
        return PlanNode("aggregate", title, details, estimate.rows_produced, (matches,))
    words = ("return distinct" if query.distinct else "return") + (" collapsed" if query.collapsed else "")
    if len(names) > LONGEST:
        words, details = f"{words} {len(query.outputs)} columns", (("columns", names), *details)
    else:
        words = f"{words} {names}"
    return PlanNode("project", words, details, estimate.rows_produced, (matches,))


def _is_aggregate(output: OutputColumn) -> bool:
    return any(isinstance(node, Aggregate) for node in walk(output.expression))


def _match(query: Match) -> Iterator[tuple[str, str]]:
    yield "pattern", pattern_text(query.pattern)
    if query.within:
        yield "window", str(query.within)
    yield "strategy", query.strategy
    if query.partition:
        yield "partition", ", ".join(query.partition)
    if query.confidence:
        yield "confidence", str(query.confidence)
    if query.partial:
        levels = ", ".join(level.start for level in query.partial.levels)
        yield "keep", f"of each start one match, that of the last of {levels}; the other branches tell why"


def _shuffle(query: Match, keys: Sequence[Key]) -> tuple[str, Details]:
    if keys:
        title = f"shuffle by {', '.join(written(key.name) for key in keys)}"
        return title, tuple(("why", _reason(key)) for key in keys)
    if query.within is not None and query.within.unit != "EVENT":
        reason = "no attribute is equal on all events of a match: each chunk of time gets one window more"
        return "shuffle by chunks of time", (("why", reason), ("overlap", str(query.within)))
    reason = "no attribute is equal on all events of a match, and no window of time bounds it"
    return "bring everything to one place", (("why", reason),)


def _reason(key: Key) -> str:
    """
    >>> from neelc.rewrite.examples import query
    >>> from neelc.rewrite.keys import partition_keys
    >>> [_reason(key) for key in partition_keys(query("SEQ(A a, B b) WHERE a.id = b.n"))]
    ['all events of a match agree: a.id = b.n']
    >>> [_reason(key) for key in partition_keys(query("SEQ(A a, B b) WHERE [id]"))]
    ['all events of a match have the same id']
    """
    texts = [str(term) for _, term in key.terms]
    if all(bare(text.rpartition(".")[2]) == key.name for text in texts):
        return f"all events of a match have the same {written(key.name)}"
    return f"all events of a match agree: {' = '.join(texts)}"
