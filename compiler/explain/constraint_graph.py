"""The constraint graph of a temporal pattern: symbols, and which relations they must have to each other.

Nodes are symbols, edges are lists of relations (JEPC thesis, 15.6); alternatives have a graph each.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from neelc.algebra.plan.temporal import join_order
from neelc.explain.temporal import deciding_ends, in_own_words
from neelc.ir import algebra as a
from neelc.ir.allen import TEXTS, Word, name_of
from neelc.ir.bound_rows import SymbolAlternative, SymbolDefinition, SymbolRelation, Temporal
from neelc.ir.node import walk
from neelc.runtime.late_dataclass import dataclass
from neelc.syntax.print_statements import show_symbol


@dataclass(frozen=True)
class GraphSymbol:
    """A symbol: how it is defined, and at which place it is joined; one that must not occur has no place.
    `kind` is interval, or point for single events. `waits_for` are the symbols that its condition names."""

    name: str
    definition: str
    kind: str
    place: int | None
    waits_for: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"no {self.name}" if self.place is None else f"{self.place}. {self.name}"


@dataclass(frozen=True)
class SpelledRelation:
    """One of Allen's names, and the words of Table 15.2 that are asked for under this name."""

    name: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class GraphRelation:
    """An edge: one of the `relations` of `left` to `right` holds. `decided_by` are the end points that decide
    it; none where one of the symbols must not occur."""

    left: str
    right: str
    relations: tuple[SpelledRelation, ...]
    decided_by: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for each name, with its words.

        >>> from neelc.ir.allen import word
        >>> drawn_relation(SymbolRelation("H", "LOW", (word("ABAB"), word("ABBA"))), {}).lines
        ('H OVERLAPS LOW  (ABAB)', 'H CONTAINS LOW  (ABBA)')
        """
        return tuple(
            f"{self.left} {one.name} {self.right}  ({', '.join(one.words)})" for one in self.relations
        )


@dataclass(frozen=True)
class ConstraintGraph:
    """The graph of one alternative. `symbols` are in the order in which they are joined, those that must not
    occur behind them."""

    title: str
    symbols: tuple[GraphSymbol, ...]
    relations: tuple[GraphRelation, ...]

    def is_absent(self, relation: GraphRelation) -> bool:
        """Whether it is a relation to a symbol that must not occur."""
        absent = {one.name for one in self.symbols if one.place is None}
        return bool({relation.left, relation.right} & absent)


def constraint_graphs(root: a.Operator) -> tuple[ConstraintGraph, ...]:
    """Those of all temporal patterns in a network."""
    clauses = (node.clause for node in walk(root) if isinstance(node, a.TemporalMatcher))
    return tuple(graph for clause in clauses for graph in _graphs(clause))


def _graphs(clause: Temporal) -> Iterator[ConstraintGraph]:
    for number, alternative in enumerate(clause.alternatives, 1):
        title = f"alternative {number} of {clause.text}" if len(clause.alternatives) > 1 else clause.text
        yield _graph(alternative, clause, title)


def _graph(alternative: SymbolAlternative, clause: Temporal, title: str) -> ConstraintGraph:
    symbols = {one.name: one for one in clause.symbols}
    lasting = frozenset(one.name for one in clause.symbols if one.lasts)
    order = join_order(alternative, symbols)
    placed = [_symbol(symbols[name], lasting, place) for place, name in enumerate(order, 1)]
    absent = [_symbol(symbols[name], lasting, None) for name in alternative.absent]
    relations = tuple(drawn_relation(one, symbols, alternative.absent) for one in alternative.relations)
    return ConstraintGraph(title, (*placed, *absent), relations)


def _symbol(symbol: SymbolDefinition, lasting: frozenset[str], place: int | None) -> GraphSymbol:
    condition = None if symbol.condition is None else in_own_words(symbol.condition, lasting)
    definition = show_symbol(replace(symbol, condition=condition)).removeprefix(f"{symbol.name} AS ")
    kind = "interval" if symbol.lasts else "point"
    return GraphSymbol(symbol.name, definition, kind, place, symbol.depends_on)


def drawn_relation(
    relation: SymbolRelation, symbols: Mapping[str, SymbolDefinition], absent: Sequence[str] = ()
) -> GraphRelation:
    """The words of a relation by their names. Symbols of one letter have it in the words; others are A and
    B there, in this order."""
    left, right = relation.left, relation.right
    letters = {"A": left, "B": right} if len(left) == len(right) == 1 else {"A": "A", "B": "B"}
    named = [(name_of(one), spelled(one, letters)) for one in relation.words]
    found = tuple(
        SpelledRelation(name, tuple(word for _, word in words))
        for name, words in groupby(sorted(named, key=lambda one: one[0]), key=lambda one: one[0])
    )
    in_order = sorted(found, key=lambda one: [name for name, _ in named].index(one.name))
    ends = () if {left, right} & {*absent} else deciding_ends(relation)
    return GraphRelation(left, right, tuple(in_order), ends)


def spelled(word: Word, letters: Mapping[str, str]) -> str:
    """A word with the names of symbols for its letters.

    >>> spelled(("A", "AB", "B"), {"A": "H", "B": "P"}), spelled(("A", "AB", "B"), {"A": "B", "B": "A"})
    ('HH.PP', 'BB.AA')
    """
    return "".join(letters.get(letter, letter) for letter in TEXTS[word])


# As text: a tree. Each symbol hangs below the one that it is joined with, with all its edges to those before.

_TREE_WIDTH = 96


def tree_lines(graph: ConstraintGraph) -> Iterator[str]:
    """The graph as a tree of its symbols, in the order of joins from top to bottom.

    >>> a, b = GraphSymbol("A", "TEMP(x > 1)", "interval", 1), GraphSymbol("B", "y", "point", 2)
    >>> edge = GraphRelation("A", "B", (SpelledRelation("CONTAINS", ("ABBA", "AB.BA")),), ("END(A)",))
    >>> for line in tree_lines(ConstraintGraph("", (a, b, GraphSymbol("C", "z", "point", None)), (edge,))):
    ...     print(line)
    1. A  TEMP(x > 1)
    └─ A CONTAINS B  (ABBA, AB.BA)  decided by END(A)
       2. B  y, a point
    no C  z, a point
    """
    hanging: dict[str, list[GraphSymbol]] = {}
    roots: list[GraphSymbol] = []
    for place, symbol in enumerate(graph.symbols):
        before = [one.name for one in graph.symbols[:place] if one.place is not None]
        edges = _edges_of(graph, symbol, before)
        if edges:
            nearest = max(edges, key=lambda one: before.index(_other(one, symbol)))
            hanging.setdefault(_other(nearest, symbol), []).append(symbol)
        else:
            roots.append(symbol)
    for root in roots:
        yield from _branch(graph, root, hanging, "")


def _edges_of(graph: ConstraintGraph, symbol: GraphSymbol, others: Sequence[str]) -> list[GraphRelation]:
    ends = ({one.left, one.right} for one in graph.relations)
    return [
        one
        for one, pair in zip(graph.relations, ends, strict=True)
        if symbol.name in pair and pair <= {symbol.name, *others}
    ]


def _other(relation: GraphRelation, symbol: GraphSymbol) -> str:
    return relation.left if relation.right == symbol.name else relation.right


def _branch(
    graph: ConstraintGraph, symbol: GraphSymbol, hanging: Mapping[str, list[GraphSymbol]], indent: str
) -> Iterator[str]:
    yield from _folded_symbol(symbol, indent)
    below = hanging.get(symbol.name, [])
    for number, child in enumerate(below):
        corner, rail = ("└─ ", "   ") if number == len(below) - 1 else ("├─ ", "│  ")
        names = [one.name for one in graph.symbols if one.place is not None]
        before = names if child.place is None else names[: child.place - 1]
        texts = [
            line
            for edge in sorted(
                _edges_of(graph, child, before), key=lambda one: symbol.name != _other(one, child)
            )
            for line in _relation_texts(edge)
        ]
        yield f"{indent}{corner}{texts[0]}"
        yield from (f"{indent}{rail}{line}" for line in texts[1:])
        yield from _branch(graph, child, hanging, indent + rail)


def _relation_texts(edge: GraphRelation) -> Iterator[str]:
    *first, last = edge.lines
    yield from (f"{line} or" for line in first)
    yield last + (f"  decided by {' or '.join(edge.decided_by)}" if edge.decided_by else "")


def _folded_symbol(symbol: GraphSymbol, indent: str) -> Iterator[str]:
    waits = f", for each {' and '.join(symbol.waits_for)}" if symbol.waits_for else ""
    point = ", a point" if symbol.kind == "point" else ""
    head = f"{symbol.title}  "
    lines = textwrap.wrap(
        f"{symbol.definition}{point}{waits}",
        max(30, _TREE_WIDTH - len(indent) - len(head)),
        break_on_hyphens=False,
    )
    yield f"{indent}{head}{lines[0]}"
    yield from (f"{indent}{' ' * len(head)}{line}" for line in lines[1:])
