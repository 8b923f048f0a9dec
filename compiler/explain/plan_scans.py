"""The leaves of a plan: each stream, read once for all its types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.cost.ledger import Ledger
from neelc.cost.setting import Setting
from neelc.cost.spark_work import Data
from neelc.cost.statistics import Statistics
from neelc.explain import numbers
from neelc.explain.explanation import PlanNode
from neelc.ir.logical import Match, Stream
from neelc.ir.names import written
from neelc.plan.scans import Scan, scans


def scan_nodes(query: Match, statistics: Statistics) -> tuple[PlanNode, ...]:
    """A node for each stream that is read.

    >>> from neelc.rewrite.examples import query
    >>> (node,) = scan_nodes(query("SEQ(A a, !B b, A c) WHERE a.x > 1 RETURN c.user"), Statistics())
    >>> for label, text in node.details:
    ...     print(f"{label}: {text}")
    rows: about 1,000,000, a default
    types: A, B
    columns: ts, kind, user, x (2 of 6 are not read)
    """
    data = Data(Setting(Ledger(query, statistics)))
    return tuple(_node(scan, data) for scan in scans(query))


def _node(scan: Scan, data: Data) -> PlanNode:
    name = written(scan.stream.name)
    title = f"read {name} once" if scan.stream.query is None else f"take the matches of {name}"
    rows = data.setting.ledger.stream_events(scan.stream)
    details = (("rows", _counted(rows, scan.stream, data)), *_details(scan))
    return PlanNode("scan", title, details, rows if scan.everything else min(rows, _kept(scan.stream, data)))


def _counted(rows: float, stream: Stream, data: Data) -> str:
    """How many there are, and how that is known."""
    origin = data.setting.ledger.origin_of_events(stream)
    if origin == "counted":
        return f"{rows:,.0f}, counted"
    if origin == "assumed" and stream.query is None:
        return f"about {numbers.amount(rows)}, a default"
    return f"about {numbers.amount(rows)}"


def _kept(stream: Stream, data: Data) -> float:
    """The rows that pass; those of a type in several streams are divided evenly among them."""
    streams = {known.name: [member.stream for member in known.members] for known in data.setting.query.types}
    return sum(
        kept * streams[type].count(stream.name) / len(streams[type]) for type, kept in data.kept.items()
    )


def _details(scan: Scan) -> Iterator[tuple[str, str]]:
    if scan.types:
        yield "types", ", ".join(scan.types)
    elif scan.everything:
        yield "types", f"all: {scan.everything}"
    yield from (("only", text) for text in _filters(scan))
    unused = scan.width - len(scan.columns)
    columns = ", ".join(map(written, scan.columns))
    yield "columns", columns + (f" ({unused} of {scan.width} are not read)" if unused else "")
    if scan.stream.path:
        yield "from", scan.stream.path


def _filters(scan: Scan) -> Iterator[str]:
    """The conditions that are judged while reading. Where several components can use an event, it is read if
    one of them can: a component without conditions lets all events of its types pass."""
    if scan.everything:
        return
    shared = _shared(scan)
    yield from shared
    own = [replace(wanted, conditions=_without(wanted.conditions, shared)) for wanted in scan.wanted]
    for wanted in own:
        rivals = [other for other in own if _overlap(wanted.types, other.types)]
        if all(other.conditions for other in rivals) and wanted is rivals[0]:
            texts = [f"{other.component}: {' AND '.join(other.conditions)}" for other in rivals]
            yield " or ".join(dict.fromkeys(texts))


def _shared(scan: Scan) -> tuple[str, ...]:
    """Conditions that every component has, such as `id IS NOT NULL`: written once, without a variable."""
    texts = [[text.partition(".")[2] for text in wanted.conditions] for wanted in scan.wanted]
    found = [text for text in texts[0] if text.endswith(" IS NOT NULL")]
    return tuple(text for text in found if len(texts) > 1 and all(text in others for others in texts))


def _without(conditions: tuple[str, ...], shared: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in conditions if text.partition(".")[2] not in shared)


def _overlap(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Whether an event can be of both; no types at all are all of them."""
    return not left or not right or bool(set(left) & set(right))
