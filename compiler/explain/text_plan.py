"""A plan as a tree of lines."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.explain.explanation import PlanNode
from neelc.explain.text_layout import WIDTH, folded, labelled

PAGE = WIDTH - 2
"""What the tree may take: it is indented."""


def plan_lines(node: PlanNode, before: str = "", here: str = "") -> Iterator[str]:
    """The operation that comes last stands on top; what an operation works on stands below it.

    >>> scan = PlanNode("scan", "read S once", (("types", "A, B"),), 1e6)
    >>> for line in plan_lines(PlanNode("sort", "sort by time", (), None, (scan, scan))):
    ...     print(line)
    sort by time
    ├─ read S once                                                                about 1,000,000 rows
    │     types  A, B
    └─ read S once                                                                about 1,000,000 rows
          types  A, B
    """
    rows = node.rows_text
    below = before + {"├─ ": "│  ", "└─ ": "   ", "": ""}[here]
    rail = below + ("│  " if node.inputs else "   ")
    first, *more = folded(node.title, before + here, rail + "  ", PAGE - len(rows) - 2)
    yield (first.ljust(PAGE - len(rows)) + rows).rstrip()
    yield from more
    yield from (line.rstrip() for line in labelled(node.details, rail, PAGE))
    for source in node.inputs[:-1]:
        yield from plan_lines(source, below, "├─ ")
    for source in node.inputs[-1:]:
        yield from plan_lines(source, below, "└─ ")
