"""The text of event patterns and windows.

>>> from neelc.ir.expr import Literal
>>> from neelc.ir.pattern import Event, Not, Repeat, Seq, Window
>>> from neelc.ir.types import INT
>>> print(Seq((Event("A", "a"), Not(Event("B", "b")), Repeat(Event("C"), 1, None, "c"))))
SEQ(A a, !B b, C+ c[])
>>> print(Repeat(Seq((Event("A", "a"),), within=Window(Literal(5, INT), "SECOND")), 1, None, "k"))
(SEQ(A a) WITHIN 5 SECONDS)+ k[]
"""

from __future__ import annotations

from dataclasses import replace

from neelc.ir import pattern as p
from neelc.ir.expr import Literal
from neelc.ir.layout import Block, Doc, commas, flat, wrap
from neelc.ir.node import Node, transform
from neelc.ir.show_expr import show_expr

_OPERATORS: dict[type[p.Pattern], str] = {p.Seq: "SEQ", p.And: "AND", p.AndNeg: "AND_NEG", p.Or: "OR"}
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
        doc = wrap("(", doc, ")")  # else the window would belong to what they are said of
    return wrap("", doc, f" WITHIN {show_window(node.within)}")


def _with_condition(node: p.Pattern) -> Doc:
    match node:
        case p.Seq(parts) | p.And(parts) | p.AndNeg(parts) | p.Or(parts):
            condition = () if node.where is None else (f"WHERE {show_expr(node.where)}",)
            return Block(f"{_OPERATORS[type(node)]}(", (*commas([*map(pattern_doc, parts)]), *condition), ")")
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
    closed = part.where is not None or isinstance(part, p.Seq | p.And | p.AndNeg | p.Or)
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
