"""Parts that nothing satisfies: there is no node for them, their condition is FALSE."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from neelc.ir.conjuncts import conjuncts
from neelc.ir.pattern import Pattern
from neelc.rewrite.constants import FALSE
from neelc.rewrite.facts import Facts
from neelc.rewrite.judging import is_avoidable

P = TypeVar("P", bound=Pattern)


def is_impossible(part: Pattern) -> bool:
    """Whether a condition of the part is the literal FALSE. An optional part can still be absent.

    >>> from neelc.rewrite.examples import query
    >>> texts = ("A a WHERE FALSE AND a.x > 1", "A a WHERE a.x <> a.x")
    >>> [is_impossible(query(text).pattern) for text in texts]
    [True, False]
    """
    return FALSE in conjuncts(part.where)


def impossible(part: P, facts: Facts) -> P | None:
    """`part` with the condition FALSE, for one that nothing satisfies; None when it must not say so.

    Under SKIP TILL NEXT MATCH a part fails at once when it says so, and where a run can do without the part
    that is a difference: see `is_avoidable`.
    """
    return None if is_impossible(part) or is_avoidable(part, facts) else replace(part, where=FALSE)
