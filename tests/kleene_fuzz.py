"""Kleene closure compared with the reference: under each selection strategy, and counted without matches.

A pair is a query as it is written and a stream; the query's other forms run over the same stream, beside
it. Aggregates that need no matches are compared with the aggregates of the matches that the reference finds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from random import Random

from fuzz_runner import ROUND
from generate.counted import events, query_text
from generate.repeated import kleene_sample
from in_bridge import way
from in_counting import bound, differing_rows, planned
from kernel_fuzz import Tally, run_round, tally_of

from neelc.catalog.inputs import aligned
from neelc.ir import patterns as p
from neelc.ir.node import walk
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.runtime.reference import LimitReached

COUNTING = "counted without matches"
STREAMS = 4


def run(options: argparse.Namespace) -> dict[str, Tally]:
    """As many pairs as the options say for each strategy, and for counting."""
    rounds: dict[str, Callable[[int], Tally]] = {
        strategy: partial(run_round, drawn=partial(kleene_sample, strategy=strategy))
        for strategy in SelectionStrategy
    }
    return {
        name: tally_of(round, options, written, f"{name}: ")
        for name, round in {**rounds, COUNTING: counting_round}.items()
    }


def written(tally: Tally) -> int:
    """The pairs of a query as it is written."""
    return tally.forms["written"]


def counting_round(first: int, size: int = ROUND) -> Tally:
    """Aggregates of the queries from number `first` on, with and without their matches."""
    tally = Tally()
    for number in range(first, first + size):
        chance = Random(number)
        text = query_text(chance)
        match = bound(text)
        if match is None or not has_list(match):
            continue
        if planned(match) is None:
            tally.refused["matches are enumerated"] += STREAMS
            continue
        tally.queries += 1
        for stream in range(STREAMS):
            check_counted(text, match, {"S": events(chance)}, tally, number * STREAMS + stream)
    return tally


def has_list(match: Match) -> bool:
    return any(isinstance(node, p.Repeat) for node in walk(match.pattern))


def check_counted(
    text: str, match: Match, tables: dict[str, list[dict[str, object]]], tally: Tally, seed: int
) -> None:
    try:
        has_matches, difference = differing_rows(match, tables, way(seed))
    except LimitReached:
        tally.refused["left out as too large"] += 1
        return
    tally.pairs += 1
    tally.forms["written"] += 1
    tally.matched["written"] += has_matches
    if difference:
        tally.broken.append(f"{text}\n{tables}\n{way(seed)}: {difference}")


def table(found: Mapping[str, Tally], seconds: float) -> str:
    """What was seen, for people."""
    lines = [["with Kleene closure", "queries", "pairs", "with matches", "beside, in other forms", "refused"]]
    for name, tally in found.items():
        pairs, hits = written(tally), tally.matched["written"]
        share = f"{hits:,} ({100 * hits / max(1, pairs):.0f} %)"
        others, refused = tally.pairs - pairs, tally.refused.total()
        lines.append([name, f"{tally.queries:,}", f"{pairs:,}", share, f"{others:,}", f"{refused:,}"])
    reasons = [
        (f"{name}, refused: {why}", f"{pairs:,}")
        for name, tally in found.items()
        for why, pairs in tally.refused.most_common()
    ]
    return "\n".join([*aligned(lines), "", *aligned([*reasons, ("seconds", f"{seconds:.0f}")])])
