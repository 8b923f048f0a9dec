"""What changed between two texts, word by word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby

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
