"""Plans and automata as plain graphs, which the formats for pictures draw."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from neelc.explain.automaton import Automaton, AutomatonState, Edge
from neelc.explain.constraint_graph import ConstraintGraph
from neelc.explain.explanation import Explanation, PlanNode, Report
from neelc.explain.network import NetworkExplanation
from neelc.runtime.late_dataclass import dataclass


@dataclass(frozen=True)
class GraphNode:
    """`shape` is box, circle, or double for a state where a match may end. `style` is solid, or dashed for a
    symbol that must not occur."""

    name: str
    lines: tuple[str, ...]
    shape: str = "box"
    style: str = "solid"


@dataclass(frozen=True)
class GraphEdge:
    """`style` is solid, or dashed for an event that is passed over, or a relation that must not be."""

    source: str
    target: str
    lines: tuple[str, ...] = ()
    style: str = "solid"


@dataclass(frozen=True)
class Graph:
    """`direction` is where edges lead: up, from what is read to the result, or right."""

    title: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    direction: str


def graphs(report: Report, mode: str) -> list[Graph]:
    """The pictures of a mode: plans, automata and the constraint graphs of temporal patterns, or all."""
    found = []
    for number, explanation in enumerate(report.queries, 1):
        if mode != "nfa":
            found.append(plan_graph(explanation, f"p{number}_"))
        if mode in ("nfa", "all"):
            found.append(automaton_graph(explanation, f"a{number}_"))
    for number, network in enumerate(report.networks, 1):
        if mode != "nfa":
            found.append(plan_graph(network, f"n{number}_"))
        if mode in ("nfa", "all"):
            found += constraint_pictures(network, f"c{number}_")
    return found


def constraint_pictures(network: NetworkExplanation, prefix: str = "") -> Iterator[Graph]:
    """The constraint graphs of a SELECT."""
    for number, graph in enumerate(network.graphs, 1):
        yield _constraints(graph, f"{network.name}: {graph.title}", f"{prefix}{number}_")


def _constraints(graph: ConstraintGraph, title: str, prefix: str) -> Graph:
    names = {symbol.name: f"{prefix}{place}" for place, symbol in enumerate(graph.symbols)}
    nodes = tuple(
        GraphNode(
            names[one.name],
            (one.title, *_wrapped(one.definition, 40), *(["a point"] if one.kind == "point" else [])),
            "circle" if one.kind == "point" else "box",
            "dashed" if one.place is None else "solid",
        )
        for one in graph.symbols
    )
    edges = []
    for one in graph.relations:
        decided = [f"decided by {' or '.join(one.decided_by)}"] if one.decided_by else []
        style = "dashed" if graph.is_absent(one) else "solid"
        edges.append(GraphEdge(names[one.left], names[one.right], (*one.lines, *decided), style))
    return Graph(title, nodes, tuple(edges), "right")


def plan_graph(explanation: Explanation | NetworkExplanation, prefix: str = "") -> Graph:
    nodes: list[GraphNode] = []
    edges: list[GraphEdge] = []

    def add(node: PlanNode) -> str:
        name = f"{prefix}{len(nodes)}"
        nodes.append(GraphNode(name, tuple(_plan_lines(node))))
        for source in node.inputs:
            rows = (source.rows_text,) if source.rows_text else ()
            edges.append(GraphEdge(add(source), name, rows))
        return name

    add(explanation.plan)
    return Graph(f"{explanation.name}: plan", tuple(nodes), tuple(edges), "up")


def _plan_lines(node: PlanNode) -> Iterator[str]:
    yield node.title
    for label, text in node.details:
        lines = [piece for line in text.split("\n") for piece in _wrapped(line, 60)]
        yield f"{label}: {lines[0]}"
        yield from lines[1:]


def automaton_graph(explanation: Explanation, prefix: str = "") -> Graph:
    found = explanation.automaton
    nodes = tuple(GraphNode(f"{prefix}{s.number}", tuple(_state_lines(s)), _shape(s)) for s in found.states)
    edges = tuple(_edge(edge, prefix) for edge in found.edges)
    return Graph(f"{explanation.name}: {automaton_title(found)}", nodes, edges, "right")


def automaton_title(automaton: Automaton) -> str:
    return automaton.strategy + (f", WITHIN {automaton.window}" if automaton.window else "")


def _shape(state: AutomatonState) -> str:
    return "double" if state.accepts else "circle"


def _state_lines(state: AutomatonState) -> Iterator[str]:
    yield state.label
    for check in state.checks:
        yield from _wrapped(f"if {check}", 30)


def _edge(edge: Edge, prefix: str) -> GraphEdge:
    style = "dashed" if edge.kind == "ignore" else "solid"
    return GraphEdge(f"{prefix}{edge.source}", f"{prefix}{edge.target}", tuple(edge_lines(edge)), style)


def edge_lines(edge: Edge, width: int = 34) -> Iterator[str]:
    """What stands at an edge: the event, then each thing that must hold."""
    yield edge.text + (" (dropped)" if edge.dropped else "")
    for test in edge.tests:
        yield from _wrapped(f"if {test}", width)


def _wrapped(text: str, width: int) -> Sequence[str]:
    return textwrap.wrap(
        text, width, break_long_words=False, break_on_hyphens=False, subsequent_indent="  "
    ) or [""]


# Pictures in the language of Graphviz.

_SHAPES = {
    "box": "shape=box style=rounded",
    "circle": "shape=ellipse",
    "double": "shape=ellipse peripheries=2",
}
_DASHED = {"box": 'shape=box style="rounded,dashed"', "circle": "shape=ellipse style=dashed"}


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
        shape = (_DASHED if node.style == "dashed" else _SHAPES)[node.shape]
        yield f"{node.name} [{shape} label={_quoted(node.lines)}]"
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


# Pictures in the language of Mermaid, which many pages of documentation draw.

_MERMAID_SHAPES = {"box": ("[", "]"), "circle": ("(", ")"), "double": ("(((", ")))")}


def as_mermaid(report: Report, mode: str) -> str:
    """All pictures of a mode as one flowchart with a subgraph for each."""
    found = graphs(report, mode)
    direction = "LR" if found and all(graph.direction == "right" for graph in found) else "BT"
    lines = [f"flowchart {direction}"]
    for number, graph in enumerate(found):
        lines.append(f"  subgraph g{number}[{_mermaid_text((graph.title,))}]")
        lines.append(f"    direction {'LR' if graph.direction == 'right' else 'BT'}")
        lines += [f"    {line}" for line in _mermaid_lines(graph)]
        lines.append("  end")
    return "\n".join(lines) + "\n"


def _mermaid_lines(graph: Graph) -> Iterator[str]:
    for node in graph.nodes:
        opening, closing = _MERMAID_SHAPES[node.shape]
        yield f"{node.name}{opening}{_mermaid_text(node.lines)}{closing}"
        if node.style == "dashed":
            yield f"style {node.name} stroke-dasharray:5"
    for edge in graph.edges:
        arrow = "-.->" if edge.style == "dashed" else "-->"
        label = f"|{_mermaid_text(edge.lines)}|" if edge.lines else ""
        yield f"{edge.source} {arrow}{label} {edge.target}"


def _mermaid_text(lines: tuple[str, ...]) -> str:
    """Lines as one text; what means something to Mermaid is written as its number.

    >>> print(_mermaid_text(("a.x > 1", 'b = "c"')))
    "a.x #62; 1<br/>b = #34;c#34;"
    """
    escaped = (re.sub(r'[#"<>&;`]', lambda found: f"#{ord(found[0])};", line) for line in lines)
    return '"' + "<br/>".join(line.replace("  ", "#160;#160;") for line in escaped) + '"'
