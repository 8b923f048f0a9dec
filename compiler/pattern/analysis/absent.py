"""Conditions on variables that are NULL: those of an OR branch that was not taken."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeVar

from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import (
    Attribute,
    EventTime,
    EveryElement,
    ListElement,
    Literal,
    WholeEvent,
    conjoin,
    conjuncts,
    is_array_of_path,
    lists,
    names_in,
)
from neelc.ir.node import Node, map_children, transform, walk
from neelc.ir.patterns import Pattern
from neelc.pattern.analysis.regions import QueryFacts, is_avoidable, range_of
from neelc.runtime.reference.evaluate import evaluate
from neelc.scalar.evaluate_constants import FALSE, NOWHERE, TRUE, as_literal, folded
from neelc.scalar.type_of import type_of

P = TypeVar("P", bound=Pattern)


def without(part: P, names: Collection[str]) -> P | None:
    """`part` with NULL for these variables in all of its conditions; it declares none of them.

    None when a condition names their lists: `count(b[])` and `b[i]` are not NULL where there is no list.

    >>> from pattern_examples import query
    >>> branch = query("OR((A a : b.x IS NULL OR b.x > a.x), B b)").pattern.parts[0]
    >>> print(without(branch, ["b"]))
    (A a : NULL IS NULL OR NULL > a.x)
    >>> without(query("OR((A a : count(b[]) = 0), B+ b[])").pattern.parts[0], ["b"])
    """

    def change(node: Node) -> Node | None:
        match node:
            case Attribute(event, type=kind) | EventTime(event, type=kind) | WholeEvent(event, type=kind):
                if names_in(event).intersection(names) and not any(map(_ranges, walk(event))):
                    return Literal(None, kind)
        return None

    if not any(names_in(node.where).intersection(names) for node in walk(part) if isinstance(node, Pattern)):
        return part
    changed = transform(part, change)
    return changed if isinstance(changed, type(part)) and not names_in(changed).intersection(names) else None


def _ranges(node: Node) -> bool:
    return isinstance(node, EveryElement) or (
        isinstance(node, ListElement) and node.index.anchor == "CURRENT"
    )


# Expressions where some variables are known to be NULL: their branch was not taken, their part is absent.


def mentions(node: Node, names: Collection[str]) -> bool:
    """Whether one of the variables is named, be it as a closure's: `k[1].a`."""
    return any(
        isinstance(inner, e.Variable | e.InnerVariable) and inner.name in names for inner in walk(node)
    )


def conjunct_without(conjunct: e.Expr, names: Collection[str]) -> e.Expr | None:
    """The conjunct where these variables are NULL; None when it cannot be expressed.

    >>> from pattern_examples import query
    >>> def where(text): return query(f"OR(A a, B b, C+ c[]) WHERE {text}").pattern.where
    >>> print(conjunct_without(where("a.x > b.x OR b.n IS NULL AND a.n = 1"), ["b"]))
    a.x > NULL OR TRUE AND a.n = 1

    Where there is no list there is no `i` either, and the conjunct holds. A list that is there may be empty:
    then a conjunct must not lose its `i`.

    >>> print(conjunct_without(where("c[i].x > a.x"), ["c"]))
    TRUE
    >>> one = query("SEQ(SEQ(A a, B? b)* k[], C c) WHERE k[i].b.x > 1").pattern.where
    >>> conjunct_without(one, ["b"])
    """
    elements, _ = range_of(conjunct)
    if elements is not None and mentions(elements, names):
        return TRUE
    changed = value_without(conjunct, names)
    if changed is None or (changed != TRUE and range_of(changed) != range_of(conjunct)):
        return None
    return changed


def pattern_without(pattern: p.Pattern, names: Collection[str]) -> p.Pattern | None:
    """A pattern that no longer declares these variables, with NULL for them in its conditions. None when that
    cannot be expressed. An EXISTS that no longer drops any variable is a list of one part.

    >>> from pattern_examples import query
    >>> print(pattern_without(query("SEQ(A a, EXISTS b : OR(C c, (B b : b.x > 1)))").pattern, ["b"]))
    SEQ(A a, SEQ(OR(C c, (B b : NULL))))
    """

    def change(node: Node) -> Node | None:
        if isinstance(node, p.Exists) and not set(names).isdisjoint(node.variables):
            left = tuple(name for name in node.variables if name not in names)
            alone = p.Seq((node.part,), where=node.where, within=node.within, span=node.span)
            node = replace(node, variables=left) if left else alone
        if isinstance(node, p.Pattern) and node.where is not None and mentions(node.where, names):
            rest = [conjunct_without(conjunct, names) or conjunct for conjunct in conjuncts(node.where)]
            node = replace(node, where=conjoin(rest))
        return node

    changed = transform(pattern, change) if names else pattern
    return changed if isinstance(changed, p.Pattern) and not mentions(changed, names) else None


def value_without(expression: e.Expr, names: Collection[str]) -> e.Expr | None:
    """The value of an expression where these variables are NULL, of the same type; None if it cannot be
    expressed.

    There is no event, so its attributes are NULL. There is no list, so that `b[]` is NULL, and an aggregate
    is that of no values.

    >>> from pattern_examples import query
    >>> example = query("OR(A a, B+ b[]) RETURN a.x + count(b[]) AS n, b[].x AS every, max(b[].x) AS most")
    >>> [str(value_without(output.expression, ["b"])) for output in example.outputs]
    ['a.x + 0.0D', 'NULL', 'NULL']
    """
    gone = frozenset(names)
    changed = _changed(expression, gone)
    assert isinstance(changed, e.Expr)
    return None if mentions(changed, gone) else folded(changed)


def _changed(node: Node, names: frozenset[str]) -> Node:
    """`node` with literals for the parts that name the variables, as far as these have literals."""
    if not mentions(node, names):
        return node
    match node:
        case e.Aggregate(function=function) if function is not None:
            return node  # a user's function is called where the query runs, not to plan it
        case e.Aggregate(argument=e.Expr() as argument) if _range_over(argument, names):
            return as_literal(evaluate(node, NOWHERE), node.type) or node
        case e.Attribute() | e.EventTime() | e.WholeEvent() | e.Field() | e.ElementAccess():
            # The array of `k[].b.x` has an element for each of k, though b is NULL in all of them.
            if not is_array_of_path(node) or mentions(next(lists(node)).base, names):
                return e.Literal(None, type_of(node))
    return map_children(node, lambda child: _changed(child, names))


def _range_over(argument: e.Expr, names: frozenset[str]) -> bool:
    """Whether an aggregate is one over no elements, because a list that it ranges over is not there."""
    return any(mentions(each.base, names) for each in lists(argument))


# Parts that nothing satisfies: there is no node for them, their condition is FALSE.


def is_impossible(part: Pattern) -> bool:
    """Whether a condition of the part is the literal FALSE. An optional part can still be absent.

    >>> from pattern_examples import query
    >>> texts = ("A a WHERE FALSE AND a.x > 1", "A a WHERE a.x <> a.x")
    >>> [is_impossible(query(text).pattern) for text in texts]
    [True, False]
    """
    return FALSE in conjuncts(part.where)


def impossible(part: P, facts: QueryFacts) -> P | None:
    """`part` with the condition FALSE, for one that nothing satisfies; None when FALSE would change matches.

    Under SKIP TILL NEXT MATCH a part with the condition FALSE fails at once, and where a run can do without
    the part that makes a difference: see `is_avoidable`.
    """
    return None if is_impossible(part) or is_avoidable(part, facts) else replace(part, where=FALSE)
