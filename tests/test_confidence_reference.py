"""Confidence without possible worlds: for whole queries, compared with the reference interpreter.

Which lists of events are candidates is listed here by hand: those of the right types, in every order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from random import Random
from typing import Any

import numpy as np
import pytest
from asking import ask, table

from neelc.runtime.kernels.confidence.absent import SpoilingEvents
from neelc.runtime.kernels.confidence.confidence import confidences, reaches
from neelc.runtime.kernels.confidence.ranges import PossibleTimes, matrix
from neelc.runtime.reference.events import read_events
from neelc.runtime.reference.model import bound_events
from neelc.runtime.reference.worlds import find_matches

STREAMS = 24
THRESHOLDS = (0.0, 0.25)


@dataclass(frozen=True)
class ConfidenceSample:
    """A query, the types of its lists, and its negations: type and gap; `N-1` is before the last event, `*`
    is any event in any gap."""

    pattern: str
    types: str
    negations: str = ""
    within: int | None = None
    using: str = "SKIP TILL ANY MATCH"

    def __str__(self) -> str:
        return f"{self.pattern} {self.within} {self.using}"


SAMPLES = [
    ConfidenceSample("SEQ(A a, B b, C c)", "A B C"),
    ConfidenceSample("SEQ(A a, B b, C c)", "A B C", within=4),
    ConfidenceSample("SEQ(A a, B+ b[], C c)", "A B+ C", within=5),
    ConfidenceSample("SEQ(A a, B+ b[])", "A B+"),
    ConfidenceSample("SEQ(A a, !N n, C c)", "A C", "N1"),
    ConfidenceSample("SEQ(A a, B+ b[], !N n, C c)", "A B+ C", "N-1", within=6),
    ConfidenceSample("SEQ(A a, !N n, B b, !N m, C c)", "A B C", "N1 N2"),
    ConfidenceSample("SEQ(A a, !B n, B b)", "A B", "B1"),
    ConfidenceSample("SEQ(!N n, A a, B b)", "A B", "N0", within=4),
    ConfidenceSample("SEQ(A a, B b, !N n)", "A B", "N2", within=4),
    ConfidenceSample("SEQ(!N n, A a, !N m, B b, !N o)", "A B", "N0 N1 N2", within=4),
    ConfidenceSample("SEQ(A a, B b, C c)", "A B C", "*", within=6, using="STRICT CONTIGUITY"),
    ConfidenceSample("SEQ(A a, B+ b[], C c)", "A B+ C", "*", using="STRICT CONTIGUITY"),
]


def lists(types: str, by_type: dict[str, list[int]]) -> Iterator[list[int]]:
    """All lists of events of these types: `B+` is any number of them, in any order."""

    def choices(part: str) -> list[tuple[int, ...]]:
        events = by_type[part[0]]
        sizes = range(1, len(events) + 1) if part.endswith("+") else (1,)
        return [chosen for size in sizes for chosen in permutations(events, size)]

    for parts in product(*map(choices, types.split())):
        joined = [event for part in parts for event in part]
        if len(set(joined)) == len(joined):
            yield joined


def absent(negations: str, candidates: list[list[int]], by_type: dict[str, list[int]]) -> SpoilingEvents:
    found = []
    for row, one in enumerate(candidates):
        for negation in negations.split():
            last = int(negation[1:]) % len(one) if negation[1:].startswith("-") else int(negation[1:] or 0)
            gaps = range(1, len(one)) if negation == "*" else [last]
            found += [(row, gap, event) for gap in gaps for event in by_type[negation[0]]]
    return SpoilingEvents(*np.array(found, np.int64).reshape(-1, 3).T)


def by_reference(sample: ConfidenceSample, stream: str, threshold: float) -> dict[tuple[int, ...], float]:
    options: dict[str, Any] = {"within": sample.within, "using": sample.using, "confidence": threshold}
    match = ask(sample.pattern, imprecise=True, **options)
    found: dict[tuple[int, ...], float] = {}
    for each in find_matches(match, read_events(match.streams[0], table(stream))):
        values = [each.binding[name] for name in sorted(each.binding)]
        found[tuple(event.row for value in values for event in bound_events(value))] = float(each.confidence)
    return found


def by_kernel(sample: ConfidenceSample, stream: str, threshold: float) -> dict[tuple[int, ...], float]:
    rows: list[dict[str, Any]] = table(stream)
    by_type: dict[str, list[int]] = {kind: [] for kind in "ABCN"} | {"*": [*range(len(rows))]}
    for number, row in enumerate(rows):
        by_type[row["type"]].append(number)
    candidates = [*lists(sample.types, by_type)]
    times = PossibleTimes(np.array([row["ts"] for row in rows]), np.array([row["te"] for row in rows]))
    spoilers = absent(sample.negations, candidates, by_type)
    found = confidences(times, matrix(candidates), sample.within, spoilers)
    kept = np.flatnonzero(reaches(found, threshold) & (found > 0))
    return {tuple(candidates[row]): float(found[row]) for row in kept}


def stream(random: Random) -> str:
    """Six events, each at up to three instants; A comes early and C late, as a rule."""
    kinds = random.choice(("AABNBC", "ANBBNC", "NABCBC", "ABNABN"))
    starts = [place + random.choice((0, 1, 3)) for place in range(6)]
    ranges = [f"{lo}..{lo + random.choice((0, 1, 2))}" for lo in starts]
    return " ".join(map("".join, zip(kinds, ranges, strict=True)))


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_the_reference_agrees(sample: ConfidenceSample) -> None:
    random = Random(8)
    uncertain = 0
    for number in range(STREAMS):
        given, threshold = stream(random), THRESHOLDS[number % 2]
        expected = by_reference(sample, given, threshold)
        assert by_kernel(sample, given, threshold) == pytest.approx(expected, rel=0, abs=1e-9), given
        uncertain += sum(confidence < 1 for confidence in expected.values())
    assert uncertain > 5
