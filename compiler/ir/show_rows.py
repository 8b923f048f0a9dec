"""The text of row patterns, temporal patterns and of the clauses they stand in.

>>> from neelc.ir.rows import RowAlternation, RowRepeat, RowSequence, RowVariable
>>> a, b = RowVariable("A"), RowVariable("B")
>>> print(RowSequence((a, RowRepeat(RowAlternation((a, b)), 1, None, reluctant=True), b)))
A (A | B)+? B
>>> from neelc.ir.temporal import Absent, Instants, Relation, Relations, TemporalPattern
>>> met = Relation((Instants(("A",)), Instants(("A", "B")), Instants(("B",))))
>>> print(TemporalPattern((Relations((met, met)), Absent("C"))))
(AA.BB;AA.BB), !C
"""

from __future__ import annotations

from collections.abc import Sequence

from neelc.ir import rows as r
from neelc.ir import temporal as t
from neelc.ir.layout import Block, Doc, clause
from neelc.ir.pattern import Window
from neelc.ir.show_expr import show_expr
from neelc.ir.show_pattern import show_quantifier, show_window

_SEQUENCE, _TERM, _PRIMARY = 1, 2, 3


def show_row_pattern(node: r.RowPattern, place: int = 0) -> str:
    """The text of `node`, in parentheses if it binds less tightly than `place`."""
    match node:
        case r.RowAlternation(parts):
            binding, text = 0, " | ".join(show_row_pattern(part, _SEQUENCE) for part in parts)
        case r.RowSequence(parts):
            binding, text = _SEQUENCE, " ".join(show_row_pattern(part, _TERM) for part in parts)
        case r.RowRepeat(part, least, most, reluctant):
            sign = "?" if (least, most) == (0, 1) else show_quantifier(least, most)
            binding, text = _TERM, show_row_pattern(part, _PRIMARY) + sign + ("?" if reluctant else "")
        case r.RowVariable(name):
            binding, text = _PRIMARY, name
        case r.RowPermute(parts):
            binding, text = _PRIMARY, f"PERMUTE({', '.join(map(show_row_pattern, parts))})"
        case r.RowExclusion(part):
            binding, text = _PRIMARY, f"{{- {show_row_pattern(part)} -}}"
        case r.RowAnchor(kind):
            binding, text = _PRIMARY, kind
        case r.RowEmpty():
            binding, text = _PRIMARY, "()"
        case _:
            raise AssertionError(f"{type(node).__name__} has no text")
    return f"({text})" if binding < place else text


def show_temporal(node: t.TemporalPattern | t.Relations | t.Absent | t.Relation | t.Instants) -> str:
    match node:
        case t.Instants(symbols):
            return ".".join(symbols)
        case t.Relation(steps):
            return "".join(map(show_temporal, steps))
        case t.Relations((choice,)):
            return show_temporal(choice)
        case t.Relations(choices):
            return f"({';'.join(map(show_temporal, choices))})"
        case t.Absent(symbol):
            return f"!{symbol}"
        case t.TemporalPattern(parts):
            return ", ".join(map(show_temporal, parts))


def show_temporal_patterns(patterns: Sequence[t.TemporalPattern]) -> str:
    """A TPL: several patterns stand in parentheses, one alone does not."""
    texts = list(map(show_temporal, patterns))
    return texts[0] if len(texts) == 1 else "; ".join(f"({text})" for text in texts)


def show_output(output: r.Output) -> str:
    return show_expr(output.expression) + (f" AS {output.alias}" if output.alias else "")


def show_sort_item(item: r.SortItem) -> str:
    words = [show_expr(item.expression), *(["DESC"] if item.descending else [])]
    return " ".join([*words, *([f"NULLS {item.nulls}"] if item.nulls else [])])


def show_definition(definition: r.Definition) -> str:
    return f"{definition.name} AS {show_expr(definition.condition)}"


def show_subset(subset: r.Subset) -> str:
    return f"{subset.name} = ({', '.join(subset.members)})"


def show_skip(skip: r.Skip) -> str:
    return f"AFTER MATCH SKIP {skip.kind}" + (f" {skip.variable}" if skip.variable else "")


def matcher_doc(node: r.MatchRecognize | r.MatchSequential | t.MatchTemporal) -> Doc:
    """`MATCH_RECOGNIZE (...)` and JEPC's two kinds of it."""
    partition = _clauses("PARTITION BY", list(map(show_expr, node.partition_by)))
    measures = _clauses("MEASURES", list(map(show_output, node.measures)))
    define = _clauses("DEFINE", list(map(show_definition, node.definitions)))
    within = _within(node.within)
    match node:
        case r.MatchRecognize():
            keyword, sort = "MATCH_RECOGNIZE", _clauses("ORDER BY", list(map(show_sort_item, node.order_by)))
            skip = [show_skip(node.skip)] if node.skip else []
            text = "" if node.pattern == r.RowEmpty() else show_row_pattern(node.pattern)
            subset = _clauses("SUBSET", list(map(show_subset, node.subsets)))
            measures = [*sort, *measures, *([node.rows] if node.rows else []), *skip]
            pattern = [f"PATTERN ({text})", *within, *subset]
        case r.MatchSequential():
            text = show_row_pattern(node.pattern)
            keyword, pattern = "MATCH_RECOGNIZE_SEQUENTIAL", [f"PATTERN {text}", *within]
        case t.MatchTemporal(patterns):
            text = show_temporal_patterns(patterns)
            keyword, pattern = "MATCH_RECOGNIZE_TEMPORAL", [f"PATTERN {text}", *within]
    return Block(f"{keyword} (", (*partition, *measures, *pattern, *define), ")", always=True)


def _clauses(keyword: str, items: Sequence[str]) -> list[Doc]:
    return [clause(keyword, items)] if items else []


def _within(window: Window | None) -> list[Doc]:
    return [f"WITHIN {show_window(window)}"] if window else []
