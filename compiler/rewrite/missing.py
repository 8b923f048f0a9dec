"""Expressions where some variables are known to be NULL: their branch was not taken, their part is absent."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from neelc.ir import expr as e
from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjoin, conjuncts
from neelc.ir.many import is_array_of_path, lists
from neelc.ir.node import Node, map_children, transform, walk
from neelc.ir.typeof import type_of
from neelc.rewrite.constants import NOWHERE, TRUE, as_literal, folded
from neelc.rewrite.judging import range_of
from neelc.runtime.reference.evaluate import evaluate


def mentions(node: Node, names: Collection[str]) -> bool:
    """Whether one of the variables is named, be it as a closure's: `k[1].a`."""
    return any(isinstance(found, e.Variable | e.Inner) and found.name in names for found in walk(node))


def conjunct_without(conjunct: e.Expr, names: Collection[str]) -> e.Expr | None:
    """What a conjunct says where these variables are NULL; None when that cannot be said.

    >>> from neelc.rewrite.examples import query
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
    changed = without(conjunct, names)
    if changed is None or (changed != TRUE and range_of(changed) != range_of(conjunct)):
        return None
    return changed


def pattern_without(pattern: p.Pattern, names: Collection[str]) -> p.Pattern | None:
    """A pattern, in which nothing declares these variables any more, with NULL for them in its conditions.
    None when that cannot be said. An EXISTS that drops nothing any more is a list of one part.

    >>> from neelc.rewrite.examples import query
    >>> print(pattern_without(query("SEQ(A a, EXISTS b : OR(C c, (B b : b.x > 1)))").pattern, ["b"]))
    SEQ(A a, SEQ(OR(C c, (B b : NULL))))
    """

    def change(node: Node) -> Node | None:
        if isinstance(node, p.Exists) and not set(names).isdisjoint(node.variables):
            left = tuple(name for name in node.variables if name not in names)
            alone = p.Seq((node.part,), where=node.where, within=node.within, span=node.span)
            node = replace(node, variables=left) if left else alone
        if isinstance(node, p.Pattern) and node.where is not None and mentions(node.where, names):
            said = [conjunct_without(conjunct, names) or conjunct for conjunct in conjuncts(node.where)]
            node = replace(node, where=conjoin(said))
        return node

    changed = transform(pattern, change) if names else pattern
    return changed if isinstance(changed, p.Pattern) and not mentions(changed, names) else None


def without(expression: e.Expr, names: Collection[str]) -> e.Expr | None:
    """What an expression is worth where these variables are NULL, of the same type; None if it cannot be
    said.

    There is no event, so its attributes are NULL. There is no list, so that `b[]` is NULL, and an aggregate
    is that of no values.

    >>> from neelc.rewrite.examples import query
    >>> asked = query("OR(A a, B+ b[]) RETURN a.x + count(b[]) AS n, b[].x AS every, max(b[].x) AS most")
    >>> [str(without(output.expression, ["b"])) for output in asked.outputs]
    ['a.x + 0.0D', 'NULL', 'NULL']
    """
    gone = frozenset(names)
    changed = _changed(expression, gone)
    assert isinstance(changed, e.Expr)
    return None if mentions(changed, gone) else folded(changed)


def _changed(node: Node, names: frozenset[str]) -> Node:
    """`node` with literals for what speaks of the variables, as far as that can be said."""
    if not mentions(node, names):
        return node
    match node:
        case e.Aggregate(function=function) if function is not None:
            return node  # a user's function is called where the query runs, not to plan it
        case e.Aggregate(argument=e.Expr() as argument) if _range_over(argument, names):
            return as_literal(evaluate(node, NOWHERE), node.type) or node
        case e.Attribute() | e.EventTime() | e.Whole() | e.Field() | e.Item():
            # The array of `k[].b.x` has an element for each of k, though b is NULL in all of them.
            if not is_array_of_path(node) or mentions(next(lists(node)).base, names):
                return e.Literal(None, type_of(node))
    return map_children(node, lambda child: _changed(child, names))


def _range_over(argument: e.Expr, names: frozenset[str]) -> bool:
    """Whether an aggregate is one over no elements, because a list that it ranges over is not there."""
    return any(mentions(each.base, names) for each in lists(argument))
