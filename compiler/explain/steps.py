"""The steps of a rewriting, as a reader wants to see them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby

from neelc.explain.explanation import ShownRefusal, ShownStep
from neelc.explain.words import LONGEST, clauses, pattern_text, query_text
from neelc.ir.node import map_children
from neelc.ir.patterns import Pattern
from neelc.ir.program import Match
from neelc.pattern.rules.rule import Refusal, Rewriting, RuleStep


@cache
def law(rule: str) -> str:
    """The first sentence of a rule's docstring: its law. A rule, its module and its file share a name; one
    that needs statistics is a neighbour of the estimates, or stands where forms are chosen.

    >>> law("flatten_sequence")
    'A SEQ directly inside a SEQ adds no order of its own: splice it in (NEEL, table II).'
    >>> law("order_conditions")
    'Conjuncts of a condition in ascending order of cost by share of bindings that fail them (JEPC, 19.2.1).'
    """
    packages = (f"neelc.{name}.{rule}" for name in ("pattern.rules", "algebra.rules", "algebra.cost"))
    module = next(filter(find_spec, packages), "neelc.pattern.cost.choose")
    text = getattr(import_module(module), rule).__doc__ or ""
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


def _part_step(step: RuleStep, before: Pattern, after: Pattern) -> ShownStep:
    pattern = _put(step.query.pattern, after, before)
    whole_before, whole_after = query_text(replace(step.query, pattern=pattern)), query_text(step.query)
    if max(len(whole_before), len(whole_after)) > LONGEST:
        whole_before = whole_after = ""
    return ShownStep(
        step.rule, law(step.rule), pattern_text(before), pattern_text(after), whole_before, whole_after
    )


def _put(whole: Pattern, old: Pattern, new: Pattern) -> Pattern:
    """`whole` with `new` where `old` stood, found by identity, as parts may be equal."""
    if whole is old:
        return new
    return map_children(whole, lambda child: _put(child, old, new) if isinstance(child, Pattern) else child)


def _query_step(step: RuleStep, before: Match) -> ShownStep:
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


# What changed between two texts, word by word.

Run = tuple[str, bool]
"""A piece of a text, and whether it changed."""

_WORD = re.compile(r"\s+|\w+|'(?:[^']|'')*'|.", re.DOTALL)
MOST = 1_500
"""Words that are compared one by one; what is longer counts as changed as a whole."""


def changes(before: str, after: str) -> tuple[list[Run], list[Run]]:
    """Both texts in pieces. White space alone is no change: a text that is shorter is laid out anew.

    >>> changes("SEQ(A, SEQ(B, C))", "SEQ(A, B, C)")[0]
    [('SEQ(A, ', False), ('SEQ(', True), ('B, C', False), (')', True), (')', False)]
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    kept_old, kept_new = _solid(old), _solid(new)
    left, right = [old[at] for at in kept_old], [new[at] for at in kept_new]
    same_left, same_right = _same(left, right)
    return _runs(old, {kept_old[at] for at in same_left}), _runs(new, {kept_new[at] for at in same_right})


def _solid(words: Sequence[str]) -> list[int]:
    return [at for at, word in enumerate(words) if not word.isspace()]


def _same(left: Sequence[str], right: Sequence[str]) -> tuple[set[int], set[int]]:
    """The places of words that are in both, in order: what begins and ends alike, then what lies between."""
    shorter = min(len(left), len(right))
    head = next((at for at in range(shorter) if left[at] != right[at]), shorter)
    rest = shorter - head
    tail = next((at for at in range(rest) if left[-1 - at] != right[-1 - at]), rest)
    same_left = {*range(head), *range(len(left) - tail, len(left))}
    same_right = {*range(head), *range(len(right) - tail, len(right))}
    middle_left, middle_right = left[head : len(left) - tail], right[head : len(right) - tail]
    if max(len(middle_left), len(middle_right)) <= MOST:
        for block in SequenceMatcher(None, middle_left, middle_right, autojunk=False).get_matching_blocks():
            same_left |= {head + block.a + at for at in range(block.size)}
            same_right |= {head + block.b + at for at in range(block.size)}
    return same_left, same_right


def _runs(words: Sequence[str], same: set[int]) -> list[Run]:
    marks: list[bool] = []
    for at, word in enumerate(words):
        # White space belongs to what stands before it.
        marks.append(marks[-1] if word.isspace() and marks else not word.isspace() and at not in same)
    groups = groupby(zip(words, marks, strict=True), key=lambda pair: pair[1])
    return [("".join(word for word, _ in group), mark) for mark, group in groups]
