"""`make fuzz`: MATCH_RECOGNIZE_TEMPORAL, the kernel against the choice of all events of all symbols.

python tests/temporal_fuzz.py 10000 [first seed]
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from random import Random
from unittest.mock import patch

from fuzz_runner import fuzz
from generate.temporal import clause, events
from in_stream import arrival
from in_temporal import Row, bound, by_definition, by_kernel, by_stream

from neelc.ir.bound_rows import Temporal
from neelc.pattern.plan.blocks import UnboundedState, UnsupportedQuery
from neelc.runtime.reference import temporal as reference
from neelc.runtime.reference.model import LimitReached

MAX_CONFIGURATIONS = 20_000


def pair(seed: int) -> int | None:
    """How many matches both have of a random clause and events; AssertionError if they do not agree. None:
    not comparable."""
    random = Random(f"temporal {seed}")
    text, streams = clause(random)
    rows = events(random, most=random.choice((6, 12, 20)))
    query = bound(text, streams)
    rows_at_once, batch = random.choice(((1, 1), (2, 3), (1000, 4), (1000, 1000)))
    try:
        with patch.object(reference, "MAX_CONFIGURATIONS", MAX_CONFIGURATIONS):
            expected = by_definition(query, rows)
        found = by_kernel(query, rows, rows_at_once, batch)
    except (LimitReached, UnsupportedQuery):
        return None
    assert found == expected, (
        f"seed {seed}: {text} {streams}\n{rows}\n{found - expected} too many, {expected - found} missing"
    )
    check_stream(seed, text, query, rows)
    return expected.total()


def check_stream(seed: int, text: str, query: Temporal, rows: Sequence[Row]) -> None:
    """Fails if the clause has other matches over the same events as a stream, or has them too late."""
    how = arrival(seed)
    try:
        found, expected = by_stream(query, rows, how)
    except UnboundedState:
        return
    assert found == expected, (
        f"seed {seed}: {text}\n{rows}\n{how}\n{found - expected} too many, {expected - found} missing"
    )


def check_pair(number: int, seen: Counter[str]) -> None:
    matches = pair(number)
    seen["pairs" if matches is not None else "not compared"] += 1
    seen["matches"] += matches or 0


if __name__ == "__main__":
    sys.exit(fuzz(check_pair, "temporal_fuzz", 10_000))
