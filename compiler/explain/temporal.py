"""Temporal patterns in words: their constraint graph, the order in which its symbols are joined, and what
decides each relation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.algebra.bind.temporal import relation_text
from neelc.algebra.plan.temporal import join_order
from neelc.ir.allen import Word, deciding_step
from neelc.ir.bound_rows import SymbolAlternative, SymbolRelation, Temporal
from neelc.ir.expressions import AtRow, Attribute, Call, Expr, MemberAccess, Name
from neelc.ir.names import written
from neelc.ir.node import Node, map_children
from neelc.syntax.print_statements import show_symbol

TemporalDetail = tuple[str, str]
"""A label, and what it labels."""


def temporal_details(clause: Temporal) -> Iterator[TemporalDetail]:
    """What `neelc explain` shows of a clause."""
    yield "pattern", clause.text
    lasting = frozenset(one.name for one in clause.symbols if one.lasts)
    for one in clause.symbols:
        condition = None if one.condition is None else in_own_words(one.condition, lasting)
        yield "define", show_symbol(replace(one, condition=condition))
    if clause.within is not None:
        yield "within", str(clause.within)
    if clause.partition:
        yield "by", ", ".join(map(written, clause.partition))
    for number, alternative in enumerate(clause.alternatives, 1):
        label = f"graph {number}" if len(clause.alternatives) > 1 else "graph"
        yield from ((label, text) for text in graph_lines(alternative, clause))
    for measure in clause.measures:
        yield "measures", f"{written(measure.name)} = {in_own_words(measure.expression, lasting)}"


def in_own_words(expression: Expr, lasting: frozenset[str]) -> Expr:
    """Values of symbols as the clause writes them: START(A).x."""

    def change(node: Node) -> Node:
        match node:
            case AtRow(_, Attribute(_, column), (name,), anchor):
                if name not in lasting:
                    return Name((name, column))
                return MemberAccess(Call("START" if anchor == "FIRST" else "END", (Name((name,)),)), column)
        return map_children(node, change)

    changed = change(expression)
    assert isinstance(changed, Expr)
    return changed


def graph_lines(alternative: SymbolAlternative, clause: Temporal) -> Iterator[str]:
    """The constraint graph: the symbols in the order in which they are joined, each with its edges to those
    before."""
    symbols = {one.name: one for one in clause.symbols}
    order = join_order(alternative, symbols)
    for place, name in enumerate(order):
        edges = [
            edge_text(one)
            for one in alternative.relations_of(name)
            if {one.left, one.right} <= set(order[: place + 1])
        ]
        waits = symbols[name].depends_on
        after = f", for each {' and '.join(waits)}" if waits else ""
        joined = f" by {', '.join(edges)}" if edges else "" if place == 0 else ", with every combination"
        yield f"{place + 1}. {name}{after}{joined}"
    for name in alternative.absent:
        edges = [edge_text(one, is_decided=False) for one in alternative.relations_of(name)]
        yield f"no {name}" + (f" by {', '.join(edges)}" if edges else "")


def edge_text(relation: SymbolRelation, is_decided: bool = True) -> str:
    """
    >>> from neelc.ir.allen import ALLEN, word
    >>> edge_text(SymbolRelation("A", "B", (word("ABAB"),)))
    'A -[ABAB]- B at END(A)'
    >>> edge_text(SymbolRelation("A", "B", tuple(map(word, ("ABAB", "ABBA", "ABA.B")))))
    'A -[ABAB; ABBA; ABA.B]- B at START(B)'
    >>> edge_text(SymbolRelation("Hot", "Low", ALLEN["BEFORE"]))
    'Hot BEFORE Low at START(Low)'
    """
    left, right = relation.left, relation.right
    edge = relation_text(relation)
    if len(left) == len(right) == 1:
        edge = f"{left} -[{edge}]- {right}"
    elif ";" in edge:
        edge = f"({edge})"
    if not is_decided:
        return edge
    return f"{edge} at {' or '.join(deciding_ends(relation)) or 'once'}"


def deciding_ends(relation: SymbolRelation) -> tuple[str, ...]:
    """The end points that decide a relation."""
    ends = dict.fromkeys(_deciding_end(one, relation) for one in relation.words)
    return tuple(filter(None, ends))


def _deciding_end(word: Word, relation: SymbolRelation) -> str:
    """The end point that decides a word, when both symbols have started; of several at one instant, one."""
    step = deciding_step(word, relation.words)
    names = {"A": relation.left, "B": relation.right}
    for letter, name in names.items():
        if step and letter not in "".join(word[:step]):
            return f"START({name})"
    if not step:
        return ""
    letter = word[step - 1][-1]
    is_end = "".join(word[:step]).count(letter) == 2
    return f"{'END' if is_end else 'START'}({names[letter]})"
