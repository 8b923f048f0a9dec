"""The steps of a rewriting, as a reader wants to see them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from neelc.explain.explanation import ShownRefusal, ShownStep
from neelc.explain.query_text import LONGEST, clauses, pattern_text, query_text
from neelc.ir.logical import Match
from neelc.ir.node import map_children
from neelc.ir.pattern import Pattern
from neelc.rewrite.rule import Refusal, Rewriting, Step


@cache
def law(rule: str) -> str:
    """The first sentence of a rule's docstring: its law. A rule, its module and its file share a name; one
    that needs statistics is a neighbour of the estimates.

    >>> law("flatten_sequence")
    'A SEQ directly inside a SEQ adds no order of its own: splice it in (NEEL, table II).'
    """
    package = next(
        name for name in ("rewrite", "rewrite.algebra", "cost") if find_spec(f"neelc.{name}.{rule}")
    )
    text = getattr(import_module(f"neelc.{package}.{rule}"), rule).__doc__ or ""
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s+(?=[A-Z`])", paragraph)[0]


def shown_steps(original: Match, rewriting: Rewriting) -> Iterator[ShownStep]:
    """What each rule that fired did."""
    before = original
    for step in rewriting.steps:
        if step.before is None or step.after is None:
            yield _query_step(step, before)
        else:
            yield _part_step(step, step.before, step.after)
        before = step.query


def _part_step(step: Step, before: Pattern, after: Pattern) -> ShownStep:
    pattern = _put(step.query.pattern, after, before)
    whole_before, whole_after = query_text(replace(step.query, pattern=pattern)), query_text(step.query)
    if max(len(whole_before), len(whole_after)) > LONGEST:
        whole_before = whole_after = ""
    return ShownStep(
        step.rule, law(step.rule), pattern_text(before), pattern_text(after), whole_before, whole_after
    )


def _put(whole: Pattern, old: Pattern, new: Pattern) -> Pattern:
    """`whole` with `new` where `old` stood; which one is told by identity, as parts may be equal."""
    if whole is old:
        return new
    return map_children(whole, lambda child: _put(child, old, new) if isinstance(child, Pattern) else child)


def _query_step(step: Step, before: Match) -> ShownStep:
    """A rule on a whole query: the clauses it changed."""
    old, new = clauses(before), clauses(step.query)
    changed = tuple(word for word in dict.fromkeys((*old, *new)) if old.get(word) != new.get(word))
    words = tuple(dict.fromkeys(("PATTERN", "WITHIN", *changed)))
    return ShownStep(
        step.rule,
        law(step.rule),
        query_text(before, changed),
        query_text(step.query, changed),
        query_text(before, words),
        query_text(step.query, words),
    )


def shown_refusal(refusal: Refusal) -> ShownRefusal:
    part = None if refusal.part is None else pattern_text(refusal.part)
    return ShownRefusal(refusal.rule, law(refusal.rule), refusal.reason, part)
