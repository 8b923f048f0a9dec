"""Conditions by their text: a declared selectivity belongs to the conditions that read the same.

Casts that the binder adds, the case of words, the spelling of numbers and the direction of a comparison
make no difference.

>>> from neelc.parse import expression
>>> text_of(expression("A.Price > 10")) == text_of(expression("10.0 < a.`price`"))
True
>>> text_of(expression("a.kind = 'x'")) == text_of(expression("a.kind = 'X'"))
False
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

from neelc.ir.conjuncts import conjuncts, names_in
from neelc.ir.expr import (
    At,
    Attribute,
    Binary,
    Cast,
    EventTime,
    Expr,
    Index,
    Name,
    Variable,
)
from neelc.ir.names import bare, written
from neelc.ir.node import Node, transform
from neelc.ir.parts import all_parts
from neelc.ir.pattern import Pattern

_MIRRORED = {"=": "=", "<>": "<>", "<=>": "<=>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TOKEN = re.compile(
    r"""
    (?P<string>'(?:[^']|'')*')
    | (?P<name>`(?:[^`]|``)+`|[^\W\d]\w*)
    | (?P<number>[0-9]+(?:\.[0-9]+)?(?:E[+-]?[0-9]+)?)(?:L|S|Y|D|F|BD)?\b
    """,
    re.VERBOSE,
)


@lru_cache(maxsize=4096)
def text_of(condition: Expr) -> str:
    """The text that conditions of the same form share."""
    return _folded(transform(condition, _canonical))


@lru_cache(maxsize=4096)
def plain_text_of(condition: Expr) -> tuple[str, str] | None:
    """For a bound condition on one event: its variable, and its text with the attributes alone.

    >>> from neelc.rewrite.examples import query
    >>> plain_text_of(query("SEQ(A a, B b) WHERE a.x > 1").pattern.where)
    ('a', '1 < x')
    >>> plain_text_of(query("SEQ(A a, B b) WHERE a.x > b.x").pattern.where) is None
    True
    """
    names = names_in(condition)
    if len(names) != 1:
        return None
    plain = transform(condition, _without_variable)
    assert isinstance(plain, Expr)
    return None if names_in(plain) else (next(iter(names)), text_of(plain))


def _folded(node: Node) -> str:
    """The text without backticks and capitals, except in strings, and with one spelling of each number."""
    return _TOKEN.sub(_folded_token, str(node))


def _folded_token(found: re.Match[str]) -> str:
    if found["number"]:
        return format(Decimal(found["number"]).normalize(), "f")
    return found["string"] or bare(found["name"]).casefold()


def _canonical(node: Node) -> Node | None:
    match node:
        case Cast(operand, implicit=True):
            return operand
        case Binary(op, left, right) if op in _MIRRORED and _folded(left) > _folded(right):
            return Binary(_MIRRORED[op], right, left)
    return None


def _without_variable(node: Node) -> Node | None:
    match node:
        case Attribute(Variable() | At(Variable(), Index("CURRENT", 0)), name):
            return Name((written(bare(name)),))
        case EventTime(Variable() | At(Variable(), Index("CURRENT", 0)), name):
            return Name((name,))
    return None


def texts_of(pattern: Pattern) -> frozenset[str]:
    """The texts of all conditions in a pattern, with their variables and without."""
    found = [conjunct for part in all_parts(pattern) for conjunct in conjuncts(part.where)]
    plain = (plain_text_of(conjunct) for conjunct in found)
    return frozenset((*map(text_of, found), *(pair[1] for pair in plain if pair is not None)))
