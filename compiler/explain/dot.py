"""Pictures in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.explain.explanation import Report
from neelc.explain.graphs import Graph, graphs

_SHAPES = {
    "box": "shape=box style=rounded",
    "circle": "shape=ellipse",
    "double": "shape=ellipse peripheries=2",
}


def as_dot(report: Report, mode: str) -> str:
    """All pictures of a mode as one graph with a cluster for each."""
    found = graphs(report, mode)
    direction = "LR" if found and all(graph.direction == "right" for graph in found) else "BT"
    lines = ["digraph explain {", f'  rankdir={direction} fontname="sans-serif"']
    lines.append('  node [fontname="sans-serif" fontsize=11]')
    lines.append('  edge [fontname="sans-serif" fontsize=10]')
    for number, graph in enumerate(found):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted((graph.title,))}"]
        lines += [f"    {line}" for line in _lines(graph)]
        lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def _lines(graph: Graph) -> Iterator[str]:
    for node in graph.nodes:
        yield f"{node.name} [{_SHAPES[node.shape]} label={_quoted(node.lines)}]"
    for edge in graph.edges:
        style = " style=dashed color=gray fontcolor=gray" if edge.style == "dashed" else ""
        yield f"{edge.source} -> {edge.target} [label={_quoted(edge.lines)}{style}]"


def _quoted(lines: tuple[str, ...]) -> str:
    r"""Lines as one string, each ended by the mark that aligns it to the left.

    >>> print(_quoted(("a",)), _quoted(('say "x"', "then")))
    "a" "say \"x\"\lthen\l"
    """
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + (escaped[0] if len(escaped) == 1 else "".join(f"{line}\\l" for line in escaped)) + '"'
