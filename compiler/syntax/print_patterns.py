"""The text of event patterns and windows.

>>> from neelc.ir.expressions import Literal
>>> from neelc.ir.patterns import Event, Not, Repeat, Seq, Window
>>> from neelc.ir.types import INT
>>> print(Seq((Event("A", "a"), Not(Event("B", "b")), Repeat(Event("C"), 1, None, "c"))))
SEQ(A a, !B b, C+ c[])
>>> print(Repeat(Seq((Event("A", "a"),), within=Window(Literal(5, INT), "SECOND")), 1, None, "k"))
(SEQ(A a) WITHIN 5 SECONDS)+ k[]

The text of row patterns, temporal patterns and of the clauses they stand in.

>>> from neelc.ir.row_patterns import RowAlternation, RowRepeat, RowSequence, RowVariable
>>> a, b = RowVariable("A"), RowVariable("B")
>>> print(RowSequence((a, RowRepeat(RowAlternation((a, b)), 1, None, reluctant=True), b)))
A (A | B)+? B
>>> from neelc.ir.row_patterns import AbsentSymbol, Instants, TemporalPattern
>>> from neelc.ir.row_patterns import TemporalRelation, TemporalRelations
>>> met = TemporalRelation((Instants(("A",)), Instants(("A", "B")), Instants(("B",))))
>>> print(TemporalPattern((TemporalRelations((met, met)), AbsentSymbol("C"))))
(AA.BB;AA.BB), !C
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neelc.ir import patterns as p
from neelc.ir import row_patterns as r
from neelc.ir import row_patterns as t
from neelc.ir.expressions import Literal
from neelc.ir.node import Node, transform
from neelc.ir.patterns import Window
from neelc.syntax.print_expressions import Doc, TextBlock, clause, commas, flat, show_expr, wrap

_SIGNS: dict[tuple[int, int | None], str] = {(1, None): "+", (0, None): "*"}


def show_pattern(node: p.Pattern) -> str:
    return flat(pattern_doc(node))


def as_written(part: p.Pattern) -> p.Pattern:
    """A bound part in which a component whose only name is its type's has no name again.

    >>> print(as_written(p.Seq((p.Event("A", "A"), p.Event("A", "A_2")))))
    SEQ(A, A A_2)
    """

    def change(node: Node) -> Node | None:
        match node:
            case p.Event(type, variable) if variable == type:
                return replace(node, variable=None)
        return None

    changed = transform(part, change)
    assert isinstance(changed, p.Pattern)
    return changed


def show_window(window: p.Window) -> str:
    """
    >>> from neelc.ir.types import INT
    >>> one, fifty = Literal(1, INT), Literal(50, INT)
    >>> print(p.Window(one, "SECOND"), p.Window(fifty, "EVENT"), p.Window(fifty))
    1 SECOND 50 EVENTS 50
    """
    count = show_expr(window.count)
    if window.unit is None:
        return count
    one = isinstance(window.count, Literal) and window.count.value == 1
    return f"{count} {window.unit}{'' if one else 'S'}"


def root_doc(node: p.Pattern) -> Doc:
    """A whole pattern. Its own window goes into parentheses, because the query's WITHIN may follow."""
    doc = pattern_doc(node)
    return wrap("(", doc, ")") if node.within else doc


def pattern_doc(node: p.Pattern) -> Doc:
    """A part of a list: with its condition and its window."""
    doc = _with_condition(node)
    if node.within is None:
        return doc
    if isinstance(node, p.Not | p.Exists) and node.where is None:
        doc = wrap("(", doc, ")")  # else the window would belong to their part
    return wrap("", doc, f" WITHIN {show_window(node.within)}")


def _with_condition(node: p.Pattern) -> Doc:
    match node:
        case p.Listing(parts):
            condition = () if node.where is None else (f"WHERE {show_expr(node.where)}",)
            return TextBlock(
                f"{p.KEYWORD_OF[type(node)]}(", (*commas([*map(pattern_doc, parts)]), *condition), ")"
            )
    doc = _without_condition(node)
    return doc if node.where is None else wrap("(", doc, f" : {show_expr(node.where)})")


def _without_condition(node: p.Pattern) -> Doc:
    match node:
        case p.Event(kind, variable):
            return f"{kind} {variable}" if variable else kind
        case p.Not(part):
            return wrap("!", _grouped(part) if part.within else pattern_doc(part))
        case p.Exists(variables, part):
            doc = _grouped(part) if part.within else pattern_doc(part)
            return wrap(f"EXISTS {', '.join(variables)} : ", doc)
        case p.Optional(p.Event(kind, str() as variable, where=None, within=None)):
            return f"{kind}? {variable}"
        case p.Optional(part):
            return wrap("", _operand(part), "?")
        case p.Repeat(part, least, most, variable):
            name = f" {variable}[]" if variable else ""
            return wrap("", _operand(part), show_quantifier(least, most) + name)
    raise AssertionError(f"{type(node).__name__} has no text")


def _operand(part: p.Pattern) -> Doc:
    """What a quantifier may follow: a type, an operator's list, or anything in parentheses."""
    closed = part.where is not None or isinstance(part, p.Listing)
    bare = isinstance(part, p.Event) and part.variable is None
    return pattern_doc(part) if (closed or bare) and part.within is None else _grouped(part)


def _grouped(part: p.Pattern) -> Doc:
    return wrap("(", pattern_doc(part), ")")


def show_quantifier(least: int, most: int | None) -> str:
    """
    >>> show_quantifier(1, None), show_quantifier(0, None), show_quantifier(2, 2), show_quantifier(0, 5)
    ('+', '*', '{2}', '{0,5}')
    """
    if sign := _SIGNS.get((least, most)):
        return sign
    return f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"


# The text of row patterns, temporal patterns and of the clauses they stand in.

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


def show_temporal(
    node: t.TemporalPattern | t.TemporalRelations | t.AbsentSymbol | t.TemporalRelation | t.Instants,
) -> str:
    match node:
        case t.Instants(symbols):
            return ".".join(symbols)
        case t.TemporalRelation(steps):
            return "".join(map(show_temporal, steps))
        case t.TemporalRelations((choice,)):
            return show_temporal(choice)
        case t.TemporalRelations(choices):
            return f"({';'.join(map(show_temporal, choices))})"
        case t.AbsentSymbol(symbol):
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
    return TextBlock(f"{keyword} (", (*partition, *measures, *pattern, *define), ")", always=True)


def _clauses(keyword: str, items: Sequence[str]) -> list[Doc]:
    return [clause(keyword, items)] if items else []


def _within(window: Window | None) -> list[Doc]:
    return [f"WITHIN {show_window(window)}"] if window else []
