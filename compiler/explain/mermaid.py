"""Pictures in the language of Mermaid, which many pages of documentation draw."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neelc.explain.explanation import Report
from neelc.explain.graphs import Graph, graphs

_SHAPES = {"box": ("[", "]"), "circle": ("(", ")"), "double": ("(((", ")))")}


def as_mermaid(report: Report, mode: str) -> str:
    """All pictures of a mode as one flowchart with a subgraph for each."""
    found = graphs(report, mode)
    direction = "LR" if found and all(graph.direction == "right" for graph in found) else "BT"
    lines = [f"flowchart {direction}"]
    for number, graph in enumerate(found):
        lines.append(f"  subgraph g{number}[{_quoted((graph.title,))}]")
        lines.append(f"    direction {'LR' if graph.direction == 'right' else 'BT'}")
        lines += [f"    {line}" for line in _lines(graph)]
        lines.append("  end")
    return "\n".join(lines) + "\n"


def _lines(graph: Graph) -> Iterator[str]:
    for node in graph.nodes:
        opening, closing = _SHAPES[node.shape]
        yield f"{node.name}{opening}{_quoted(node.lines)}{closing}"
    for edge in graph.edges:
        arrow = "-.->" if edge.style == "dashed" else "-->"
        label = f"|{_quoted(edge.lines)}|" if edge.lines else ""
        yield f"{edge.source} {arrow}{label} {edge.target}"


def _quoted(lines: tuple[str, ...]) -> str:
    """Lines as one text; what means something to Mermaid is written as its number.

    >>> print(_quoted(("a.x > 1", 'b = "c"')))
    "a.x #62; 1<br/>b = #34;c#34;"
    """
    escaped = (re.sub(r'[#"<>&;`]', lambda found: f"#{ord(found[0])};", line) for line in lines)
    return '"' + "<br/>".join(line.replace("  ", "#160;#160;") for line in escaped) + '"'
