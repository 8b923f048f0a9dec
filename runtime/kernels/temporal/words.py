"""What words say of the end points of two runs: as tables, for many pairs at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from neelc.runtime.columns import Bools, Ints
from neelc.runtime.kernels.temporal.program import (
    FIRST_END,
    FIRST_START,
    SECOND_END,
    SECOND_START,
    WORDS,
    Word,
    mirrored,
)
from neelc.runtime.late_dataclass import dataclass

Codes = NDArray[np.int16]
POINTS = (FIRST_START, FIRST_END, SECOND_START, SECOND_END)


def codes_of(first_start: Ints, first_end: Ints, second_start: Ints, second_end: Ints) -> Codes:
    """A number for each pair of runs, the same for pairs that form the same word."""
    code = _compared(first_start, second_start)
    code = code * 3 + _compared(first_start, second_end)
    code = code * 3 + _compared(first_end, second_start)
    code = code * 3 + _compared(first_end, second_end)
    code = code * 2 + (first_start == first_end)
    found: Codes = code * 2 + (second_start == second_end)
    return found


def _compared(one: Ints, other: Ints) -> Codes:
    """0, 1 and 2: less, equal, greater."""
    return (one > other).astype(np.int16) + (one >= other)


CODES = 3**4 * 4


def _ranks(word: Word) -> list[int]:
    """The step of each of POINTS."""
    return [next(step for step, points in enumerate(word) if points & point) for point in POINTS]


def _code(word: Word) -> int:
    ranks = (np.array([rank]) for rank in _ranks(word))
    return int(codes_of(*ranks)[0])


WORD_OF = {_code(word): word for word in WORDS}


def decided_step(word: Word, words: Iterable[Word]) -> int:
    """The number of steps of a word after which it is certain that one of `words`, to which it belongs, is
    formed: all that begin so are among them.

    >>> a_before_b = [(1, 2, 4, 8), (1, 2, 12)]
    >>> decided_step((1, 2, 4, 8), a_before_b), decided_step((1, 4, 2, 8), [(1, 4, 2, 8)])
    (2, 3)
    >>> decided_step((1, 2, 4, 8), WORDS)
    0
    """
    others = set(WORDS) - set(words)
    return next(
        steps for steps in range(len(word) + 1) if not any(other[:steps] == word[:steps] for other in others)
    )


@dataclass(frozen=True)
class Hull:
    """The regions, between the end points of one run, that the start and the end of another can be in: it is
    before the start (0), equals it (1), between (2), equals the end (3), or comes after it (4)."""

    least_start: int
    most_start: int
    least_end: int
    most_end: int


def hull_of(words: Iterable[Word], is_point: bool) -> Hull | None:
    """The regions of the second run that forms one of the words with a first one that is a point, or is none;
    None if it can form none.

    >>> hull_of([(1, 4, 2, 8), (5, 2, 8)], is_point=False)
    Hull(least_start=1, most_start=2, least_end=4, most_end=4)
    """
    starts: list[int] = []
    ends: list[int] = []
    for word in words:
        start, end, *second = _ranks(word)
        if (start == end) == is_point:
            regions = [_region(start, end, rank) for rank in second]
            starts.append(regions[0])
            ends.append(regions[1])
    return Hull(min(starts), max(starts), min(ends), max(ends)) if starts else None


def _region(start: int, end: int, rank: int) -> int:
    if rank <= start:
        return 0 if rank < start else 1
    return 2 if rank < end else 3 if rank == end else 4


class WordTable:
    """The words of a constraint, by number: whether pairs are allowed, and when that is decided."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = frozenset(words)
        self.allowed = np.zeros(CODES, dtype=np.bool_)
        self.point = np.zeros(CODES, dtype=np.int8)
        decided = set()
        for code, word in WORD_OF.items():
            if word in self.words:
                self.allowed[code] = True
                steps = decided_step(word, self.words)
                # Nothing is decided before both have started, which is seen to elsewhere.
                point = next(n for n, one in enumerate(POINTS) if word[max(steps - 1, 0)] & one)
                self.point[code] = point
                decided.add(point)
        self.same = decided.pop() if len(decided) == 1 else None
        self.hulls = tuple(hull_of(self.words, is_point) for is_point in (False, True))
        mirror = [mirrored(word) for word in self.words]
        self.mirrored_hulls = tuple(hull_of(mirror, is_point) for is_point in (False, True))

    def decided(self, codes: Codes, points: Sequence[Ints]) -> Ints:
        """The instant at which each pair is decided, of those of its end points."""
        if self.same is not None:
            return points[self.same]
        chosen: Ints = np.choose(self.point[codes], points)
        return chosen

    def allows(self, codes: Codes) -> Bools:
        return self.allowed[codes]
