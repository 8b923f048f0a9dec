"""Queries as rewriting leaves them: branches of an OR that share variables, which no script can write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from invariants import check

from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import names_in
from neelc.ir.node import walk
from neelc.ir.patterns import all_parts, renamed, targets
from neelc.ir.program import Match
from neelc.pattern.rules.rebuilding import replaced


def with_shared_variables(match: Match) -> Match:
    """The query with the events of each OR's later branches named as those of its first, where that can be.

    >>> from pattern_examples import query
    >>> print(with_shared_variables(query("SEQ(A a, OR(SEQ(B b, C c), (B d : d.x > a.x)))")).pattern)
    SEQ(A a, OR(SEQ(B b, C c), (B b : b.x > a.x)))
    """
    for part in list(all_parts(match.pattern)):
        if isinstance(part, p.Or):
            changed = _shared(match, part)
            match = changed if _is_right(changed) else match
    return match


def _shared(match: Match, part: p.Or) -> Match:
    first, *others = part.parts
    pattern, gone = match.pattern, set[str]()
    for branch in others:
        names = dict(zip(_events(branch), _events(first), strict=False))
        gone.update(names)
        pattern = replaced(pattern, branch, renamed(branch, names))
    outputs = tuple(output for output in match.outputs if not names_in(output) & gone)
    return replace(match, pattern=pattern, outputs=outputs)


def _events(part: p.Pattern) -> Iterator[str]:
    """The variables of single events that a part binds."""
    bound = targets(part)
    for node in walk(part):
        if isinstance(node, p.Event) and node.variable in bound:
            yield node.variable or ""


def _is_right(match: Match) -> bool:
    """Whether a result is left, and all conditions still name what is there."""
    try:
        check(match)
    except AssertionError:
        return False
    # `k[i].c` is no longer there if the body of `k` calls it `d`.
    there = {node.variable for node in walk(match.pattern) if isinstance(node, p.Event)}
    asked = {node.name for node in walk(match.pattern) if isinstance(node, e.InnerVariable)}
    return bool(match.outputs) and asked <= there
