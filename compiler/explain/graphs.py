"""Plans and automata as plain graphs, which the formats for pictures draw."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from neelc.explain.explanation import Explanation, PlanNode, Report
from neelc.explain.network import NetworkExplanation
from neelc.plan.automaton import Automaton, Edge, State


@dataclass(frozen=True)
class GraphNode:
    """`shape` is box, circle, or double for a state where a match may end."""

    name: str
    lines: tuple[str, ...]
    shape: str = "box"


@dataclass(frozen=True)
class GraphEdge:
    """`style` is solid, or dashed for an event that is passed over."""

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
    """The pictures of a mode: plans, automata, or both."""
    found = []
    for number, explanation in enumerate(report.queries, 1):
        if mode != "nfa":
            found.append(plan_graph(explanation, f"p{number}_"))
        if mode in ("nfa", "all"):
            found.append(automaton_graph(explanation, f"a{number}_"))
    for number, network in enumerate(report.networks if mode != "nfa" else (), 1):
        found.append(plan_graph(network, f"n{number}_"))
    return found


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


def _shape(state: State) -> str:
    return "double" if state.accepts else "circle"


def _state_lines(state: State) -> Iterator[str]:
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
