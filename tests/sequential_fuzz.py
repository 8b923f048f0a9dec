"""`make fuzz`: MATCH_RECOGNIZE_SEQUENTIAL, the kernel against the enumeration of universes, and over streams.

python tests/sequential_fuzz.py 10000 [first seed]
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from random import Random
from unittest.mock import patch

from fuzz_runner import fuzz
from generate.sequential import clause, events
from in_sequential import Row, bound, by_definition, by_group, by_kernel, by_stream
from in_stream import arrival

from neelc.ir.bound_rows import Sequential
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.runtime.kernels.sequential import matching as backward
from neelc.runtime.kernels.sequential import matching as forward
from neelc.runtime.kernels.sequential import matching as ways
from neelc.runtime.reference import sequential as reference
from neelc.runtime.reference.model import LimitReached

MAX_SEQUENCES = 20_000


def pair(seed: int) -> bool:
    """Whether the two agree on a random clause and events; AssertionError if they do not. False: not
    comparable."""
    random = Random(seed)
    text = clause(random, variables=seed % 2 == 1)
    rows = events(random, most=random.choice((5, 8, 12)))
    query = bound(text)
    rows_at_once, batch = random.choice(((1, 1), (2, 3), (1000, 4), (1000, 1000)))
    try:
        with patch.object(reference, "MAX_SEQUENCES", MAX_SEQUENCES):
            expected = by_definition(query, rows)
        together, few = random.choice(((2, 0), (10, 3), (200_000, 1_000)))
        with (
            patch.object(backward, "MOST_TOGETHER", together),
            patch.object(ways, "MOST_TOGETHER", together),
            patch.object(forward, "FEW", few),
        ):
            found = by_kernel(query, rows, rows_at_once, batch, windows=random.randint(1, 3))
    except (LimitReached, UnsupportedQuery):
        return False
    assert found == expected, (
        f"seed {seed}: {text}\n{rows}\n{found - expected} too many, {expected - found} missing"
    )
    check_stream(seed, text, query, rows)
    return True


def group(seed: int) -> int:
    """How many random clauses were compared that one kernel runs together; AssertionError if one of them has
    other matches than by itself."""
    random = Random(f"group {seed}")
    rows = events(random, most=random.choice((5, 8, 12)))
    clauses = [bound(clause(random, variables=number % 2 == 1)) for number in range(6)]
    together = [one for one in clauses if one.skip is None]
    alike = [one for one in together if one.partition == together[0].partition]
    if not alike:
        return 0
    rows_at_once, batch = random.choice(((1, 1), (2, 3), (1000, 4), (1000, 1000)))
    try:
        with patch.object(reference, "MAX_SEQUENCES", MAX_SEQUENCES):
            expected = [by_definition(one, rows) for one in alike]
        found = by_group(alike, rows, rows_at_once, batch)
    except (LimitReached, UnsupportedQuery):
        return 0
    assert found == expected, f"seed {seed}: {[str(one.pattern) for one in alike]}\n{rows}"
    return len(alike)


def check_stream(seed: int, text: str, query: Sequential, rows: Sequence[Row]) -> None:
    """Fails if the clause has other matches over the same events as a stream."""
    how = arrival(seed)
    try:
        found, on_time = by_stream(query, rows, how)
    except UnsupportedQuery:  # of unbounded state, or with AFTER MATCH SKIP
        return
    expected = by_definition(query, on_time)
    assert found == expected, (
        f"seed {seed}: {text}\n{rows}\n{how}\n{found - expected} too many, {expected - found} missing"
    )


def check_pair(number: int, seen: Counter[str]) -> None:
    seen["pairs" if pair(number) else "not compared"] += 1
    seen["clauses in groups"] += group(number)


if __name__ == "__main__":
    sys.exit(fuzz(check_pair, "sequential_fuzz", 10_000))
