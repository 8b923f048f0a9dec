"""Streams compared with the reference on random queries, streams, micro-batches and orders of arrival; part
of `make fuzz`.

    make fuzz                             pairs of a query, in one of its forms, and a stream
    make fuzz PAIRS=100000 SEED=7         more, and others

What a kernel keeps is written and read between any two micro-batches. Late events take no part.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from unittest.mock import patch

from answers import MAX_CANDIDATES
from generate.repeated import kleene_sample
from generate.rewritable import Sample, sample
from in_kernel import as_bindings, planned_for
from in_stream import arrival, stream_matches
from kernel_fuzz import ROUND, Different, Tally, different, run_rounds, show_progress, table, ways_to_write
from shrinking import shrunk

from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.kernel_plan import KernelPlan
from neelc.runtime.reference import LimitReached, Tables, candidates
from neelc.runtime.reference.worlds import find_matches


def check_pair(match: Match, tables: Tables, seed: int, planned: KernelPlan) -> bool:
    """Whether there are matches; `Different` if the stream has others."""
    how = arrival(seed)
    streamed = stream_matches(match, tables, how, planned)
    with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
        reference = [one.binding for one in find_matches(match, streamed.events)]
    expected = Counter(dict.fromkeys(as_bindings(reference), 1))
    found = as_bindings(streamed.matches)
    if found != expected:
        lost, added = (expected - found).total(), (found - expected).total()
        raise Different(f"the stream, {how}, gives something else: {lost} matches lost, {added} added")
    return bool(expected)


def check_sample(found: Sample, tally: Tally, seed: int) -> None:
    """Raise `Different` if a query of the sample has another answer over a stream."""
    tally.queries += 1
    for name, match in ways_to_write(found.match):
        for tables in found.tables:
            try:
                planned = planned_for(match)
                has_matches = check_pair(match, tables, seed + tally.pairs, planned)
                tally.pairs += 1
                tally.with_matches += has_matches
                tally.forms[name] += 1
            except UnsupportedQuery as refusal:
                tally.refused[refusal.what.partition("`")[0].strip()] += 1
            except LimitReached:
                tally.refused["left out as too large"] += 1
            except Exception as problem:
                raise different(found, name, match, tables, problem) from None


def differing(found: Sample, seed: int) -> Different | None:
    for other in range(seed, seed + 12):
        try:
            check_sample(found, Tally(), other)
        except Different as problem:
            return problem
    return None


def smallest(found: Sample, seed: int) -> Different | None:
    return differing(shrunk(found, lambda smaller: differing(smaller, seed) is not None), seed)


def drawn(number: int) -> Sample | None:
    """Every other query has lists, under one of the selection strategies."""
    if number % 2:
        return sample(number)
    strategies = list(SelectionStrategy)
    return kleene_sample(number, strategy=strategies[number // 2 % len(strategies)])


def run_round(first: int, size: int = ROUND) -> Tally:
    """Compare the queries from number `first` on; those that differ are made small."""
    tally = Tally()
    for number in range(first, first + size):
        found = drawn(number)
        if found is None:
            continue
        try:
            check_sample(found, tally, number)
        except Different as problem:
            tally.broken.append(f"query {number}: {smallest(found, number) or problem}")
    return tally


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="stream_fuzz", description="compare streams with the reference")
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    tally, start = Tally(), time.monotonic()
    for round in run_rounds(options.seed * 1_000_000, options.pairs, options.processes, run_round):
        tally.add(round)
        show_progress("", tally.pairs, options.pairs)
    print("\n" + table(tally, time.monotonic() - start))
    print(*tally.broken, sep="\n\n")
    return bool(tally.broken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
