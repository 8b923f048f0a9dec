"""The prefixes of a SEQ, and what each asks for less strictly: what WITH PARTIAL MATCHES looks for.

A step is a positive part that binds an event. What stands before it and binds none, or need not bind any,
belongs to it; what is left at the end belongs to no step: only complete matches have it. A condition, or a
negative part, that names variables of later steps belongs to the prefix in which all of them are bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from neelc.ir import expr as e
from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjoin, conjuncts, names_in
from neelc.ir.node import Node, map_children
from neelc.ir.parts import LISTS, all_parts, declared, may_be_empty

Keep = Callable[[Node], bool]
"""Which conditions, or which negative parts, stay."""

NEGATION, WINDOW, CONDITION = "negation", "window", "condition"


@dataclass(frozen=True)
class Prefix:
    """The first parts of a SEQ, up to a `step`; None if it is all of it and ends with what is no step.

    If it has no match, the first of the `relaxed` patterns that has one tells why. That for WINDOW is to be
    looked for in a longer window.
    """

    pattern: p.Seq
    step: p.Pattern | None
    relaxed: tuple[tuple[str, p.Seq], ...] = ()


def prefixes(whole: p.Seq) -> Iterator[Prefix]:
    """
    >>> from neelc.parse import pattern
    >>> for prefix in prefixes(pattern("SEQ(A a, !X x, (B b : TRUE), C? c, D d, !Y y)")):
    ...     print(prefix.pattern, [f"{why}: {other}" for why, other in prefix.relaxed if why != WINDOW])
    SEQ(A a) []
    SEQ(A a, !X x, (B b : TRUE)) ['negation: SEQ(A a, (B b : TRUE))']
    SEQ(A a, !X x, (B b : TRUE), C? c, D d) []
    SEQ(A a, !X x, (B b : TRUE), C? c, D d, !Y y) ['negation: SEQ(A a, !X x, (B b : TRUE), C? c, D d)']
    """
    before = declared(whole)
    for begin, end in _steps(whole):
        later = _declared(whole.parts[end:])
        step = whole.parts[end - 1]
        known = _naming_none_of(later)
        pattern = _cut(whole, whole.parts[:end], known, known)
        relaxed = _relaxed(whole, begin, end, known, _naming_none_of(before)) if begin else ()
        different = tuple((why, one) for why, one in relaxed if why == WINDOW or one != pattern)
        yield Prefix(pattern, step if _is_step(step) else None, different)
        before = later


def _is_step(part: p.Pattern) -> bool:
    return not isinstance(part, p.Not) and not may_be_empty(part)


def _steps(whole: p.Seq) -> Iterator[tuple[int, int]]:
    """Where the parts of each step begin and end; at last, those that belong to none."""
    begin = 0
    for end, part in enumerate(whole.parts, 1):
        if _is_step(part) or end == len(whole.parts):
            yield begin, end
            begin = end


def _declared(parts: tuple[p.Pattern, ...]) -> frozenset[str]:
    return frozenset(name for part in parts for name in declared(part))


def _naming_none_of(names: frozenset[str]) -> Keep:
    return lambda node: not names_in(node) & names


def _relaxed(whole: p.Seq, begin: int, end: int, known: Keep, old: Keep) -> Iterator[tuple[str, p.Seq]]:
    """A prefix with less of what is new in it: without its negations; and without its conditions, but for
    those that say which events belong together."""
    new = {id(node) for part in whole.parts[begin:end] for node in _negations(part)}
    parts = whole.parts[:end]

    def earlier(negation: Node) -> bool:
        return id(negation) not in new and old(negation)

    def linking(condition: Node) -> bool:
        return known(condition) and (old(condition) or is_link(condition))

    positive = _cut(whole, parts, known, earlier)
    yield NEGATION, positive
    yield WINDOW, positive
    unconditional = _cut(whole, parts, linking, earlier)
    if unconditional != positive:
        yield CONDITION, unconditional


def _negations(part: p.Pattern) -> Iterator[p.Pattern]:
    return (one for one in all_parts(part) if isinstance(one, p.Not))


def is_link(condition: Node) -> bool:
    """Whether a condition says which events belong together, as `[id]` does: an attribute of one event
    equals one of another.

    >>> from neelc.rewrite.examples import query
    >>> pattern = query("SEQ(A a, B b WHERE a.id = b.id AND a.x < b.x)").pattern
    >>> [is_link(one) for one in conjuncts(pattern.where)]
    [True, False]
    """
    match condition:
        case e.Binary("=", left, right):
            sides = [_attribute(left), _attribute(right)]
            return None not in sides and sides[0] != sides[1]
    return False


def _attribute(side: e.Expr) -> frozenset[str] | None:
    match side:
        case e.Cast(operand, implicit=True):
            return _attribute(operand)
        case e.Attribute():
            return names_in(side)
    return None


def _cut(whole: p.Seq, parts: tuple[p.Pattern, ...], condition: Keep, negation: Keep) -> p.Seq:
    cut = _trimmed(replace(whole, parts=parts), condition, negation)
    assert isinstance(cut, p.Seq)
    return cut


def _trimmed(part: p.Pattern, condition: Keep, negation: Keep) -> p.Pattern:
    """A part without the conditions and negations that do not stay. What is inside of a negation stays."""
    if isinstance(part, p.Not):
        return part
    if isinstance(part, LISTS):
        kept = tuple(one for one in part.parts if not isinstance(one, p.Not) or negation(one))
        part = part if len(kept) == len(part.parts) else replace(part, parts=kept)
    where = [one for one in conjuncts(part.where) if isinstance(one, e.Same) or condition(one)]
    if len(where) < len(conjuncts(part.where)):
        part = replace(part, where=conjoin(where))

    def inner(child: Node) -> Node:
        return _trimmed(child, condition, negation) if isinstance(child, p.Pattern) else child

    return map_children(part, inner)
