"""The kernel compared with the reference on random queries and streams; the second part of `make fuzz`.

    make fuzz                             10,000 pairs of a query, in one of its forms, and a stream
    make fuzz PAIRS=100000 SEED=7         more, and others

Each pair is asked twice: of the kernel itself, and through the bridge, in small batches and chunks of time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import count
from unittest.mock import patch

from answers import MAX_CANDIDATES, case_text
from generate.rewritable import Sample, sample
from generate.witnesses import Tables
from in_bridge import bridge_matches, way
from in_kernel import as_bindings, kernel_matches
from shrinking import shrunk

from neelc.data.layout import aligned
from neelc.ir.logical import Match
from neelc.plan.unsupported import Unsupported
from neelc.rewrite.forms import forms
from neelc.runtime.reference import LimitReached, candidates, matches

ROUND = 25
"""Queries that a process takes at a time."""
MOST_ROWS = (1, 3, 2_000_000)


@dataclass
class Tally:
    """What was compared, and why the rest was not."""

    queries: int = 0
    pairs: int = 0
    with_matches: int = 0
    chunked: int = 0
    forms: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


class Different(AssertionError):
    """The kernel finds something else."""


def ways_to_write(match: Match) -> Iterator[tuple[str, Match]]:
    """The query as it is written, and in each form that differs from it."""
    seen = {match}
    yield "written", match
    for form in forms(match):
        if form.rewriting.query not in seen:
            seen.add(form.rewriting.query)
            yield form.name, form.rewriting.query


def check_sample(found: Sample, tally: Tally, seed: int) -> None:
    """Raise `Different` if a query of the sample has another answer by the kernel."""
    tally.queries += 1
    for name, match in ways_to_write(found.match):
        for tables in found.tables:
            try:
                check_pair(match, tables, tally, seed + tally.pairs)
                tally.forms[name] += 1
            except Unsupported as refusal:
                tally.refused[refusal.what.partition("`")[0].strip()] += 1
            except LimitReached:
                tally.refused["left out as too large"] += 1
            except Different as different:
                text = f"{different}\n{name}: {match.pattern}\n\n{case_text(found, tables, 'the kernel')}"
                raise Different(text) from None


def check_pair(match: Match, tables: Tables, tally: Tally, seed: int) -> None:
    by_kernel = as_bindings(kernel_matches(match, tables, MOST_ROWS[seed % 3]))
    how = way(seed)
    by_bridge = as_bindings(bridge_matches(match, tables, how))
    with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
        expected = Counter(dict.fromkeys(as_bindings(matches(match, tables)), 1))
    tally.pairs += 1
    tally.with_matches += bool(expected)
    tally.chunked += bool(expected and how.chunk and match.within and match.within.unit != "EVENT")
    for found, by in ((by_kernel, "the kernel"), (by_bridge, f"the bridge, {how},")):
        if found != expected:
            lost, added = (expected - found).total(), (found - expected).total()
            raise Different(f"{by} finds something else: {lost} matches lost, {added} added")


def run_round(first: int, size: int = ROUND, streams: int = 4) -> Tally:
    """Compare the queries from number `first` on; the first that differs is made small."""
    tally = Tally()
    for number in range(first, first + size):
        found = sample(number, streams)
        try:
            check_sample(found, tally, number)
        except Different:
            tally.broken.append(f"query {number}: {smallest(found, number)}")
    return tally


def smallest(found: Sample, seed: int) -> Different | None:
    return differing(shrunk(found, lambda smaller: differing(smaller, seed) is not None), seed)


def differing(found: Sample, seed: int) -> Different | None:
    """What is wrong with a sample in one of some ways."""
    for other in range(seed, seed + 12):
        try:
            check_sample(found, Tally(), other)
        except Different as different:
            return different
    return None


def run_rounds(first: int, pairs: int, processes: int) -> Iterator[Tally]:
    """Rounds as they come to an end, until there are enough pairs."""
    numbers = count(first, ROUND)
    with ProcessPoolExecutor(processes) as pool:
        waiting = {pool.submit(run_round, next(numbers)) for _ in range(processes)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for tally in (future.result() for future in done):
                yield tally
                pairs -= tally.pairs
                if pairs > 0:
                    waiting.add(pool.submit(run_round, next(numbers)))


def table(tally: Tally, seconds: float) -> str:
    """What was seen, for people."""
    share = 100 * tally.with_matches / max(1, tally.pairs)
    lines = [
        ("queries", f"{tally.queries:,}"),
        ("pairs of a query, in some form, and a stream", f"{tally.pairs:,}"),
        ("of these with matches", f"{tally.with_matches:,} ({share:.0f} %)"),
        ("with matches, and time cut into chunks", f"{tally.chunked:,}"),
        *((f"form {name}", f"{pairs:,}") for name, pairs in sorted(tally.forms.items())),
        *((f"not compared: {why}", f"{pairs:,}") for why, pairs in tally.refused.most_common()),
        ("seconds", f"{seconds:.0f}"),
    ]
    return "\n".join(aligned(lines))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="kernel_fuzz", description="compare the kernel with the reference")
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, help="the number of the first query")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    tally, start = Tally(), time.monotonic()
    for round in run_rounds(options.first or options.seed * 1_000_000, options.pairs, options.processes):
        tally.add(round)
        if sys.stderr.isatty():
            print(f"\r{tally.pairs:,} of {options.pairs:,} pairs ", end="", file=sys.stderr, flush=True)
    print("\n" + table(tally, time.monotonic() - start))
    print("\n".join(["", *tally.broken]) if tally.broken else "\nno difference was found")
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
