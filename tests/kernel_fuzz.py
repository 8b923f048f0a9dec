"""The kernel compared with the reference on random queries and streams; the second part of `make fuzz`.

    make fuzz                             10,000 pairs of a query, in one of its forms, and a stream
    make fuzz PAIRS=100000 SEED=7         more, and others

Each pair is run twice: by the kernel itself, and through the bridge, in small batches and chunks of time.
Then come as many pairs of each other family, such as closures inside of closures, and as many with Kleene
closure under each selection strategy (`kleene_fuzz.py`); `--family NAME` runs one of them alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from unittest.mock import patch

from answers import MAX_CANDIDATES, case_text
from fuzz_runner import ROUND, fuzz_parser, outcome, rounds
from generate.chains import chain_sample
from generate.inner_closures import inner_closure_sample
from generate.inner_runs import contiguous_inner_run_sample, inner_run_sample
from generate.ordered import with_order
from generate.rewritable import Sample, sample
from generate.value_lists import value_list_sample
from generate.witnesses import Tables
from in_bridge import bridge_matches, way
from in_kernel import as_bindings, kernel_matches, planned_for
from shrinking import shrunk

from neelc.catalog.inputs import aligned
from neelc.ir.program import Match
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.kernel_plan import KernelPlan
from neelc.pattern.rules.driver import forms
from neelc.runtime.reference import LimitReached, candidates, matches

MOST_ROWS = (1, 3, 2_000_000)
FAMILIES: dict[str, Callable[[int], Sample | None]] = {
    "all": sample,
    "closures in closures": inner_closure_sample,
    "closures in closures, other strategies": inner_run_sample,
    "closures in closures, contiguous": contiguous_inner_run_sample,
    "EACH of elements further back": chain_sample,
    "lists of values": value_list_sample,
}
"""What draws the query of a number, for each kind of queries; None if it has none."""
KLEENE = "kleene"


@dataclass
class Tally:
    """What was compared, and why the rest was not. `forms` counts the pairs of each form, `matched` those of
    them that have matches."""

    queries: int = 0
    pairs: int = 0
    with_matches: int = 0
    chunked: int = 0
    forms: Counter[str] = field(default_factory=Counter)
    matched: Counter[str] = field(default_factory=Counter)
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
        try:
            planned = planned_for(match)
        except UnsupportedQuery as refusal:
            tally.refused[refusal.what.partition("`")[0].strip()] += len(found.tables)
            continue
        except Exception as problem:
            raise different(found, name, match, found.tables[0], problem) from None
        for tables in found.tables:
            try:
                has_matches = check_pair(match, tables, tally, seed + tally.pairs, planned)
                tally.forms[name] += 1
                tally.matched[name] += has_matches
            except LimitReached:
                tally.refused["left out as too large"] += 1
            except Exception as problem:  # whatever it is, the reference has an answer
                raise different(found, name, match, tables, problem) from None


def different(found: Sample, form: str, match: Match, tables: Tables, problem: Exception) -> Different:
    """A counter-example with what is wrong with it, as a case file."""
    what = str(problem) if isinstance(problem, Different) else f"{type(problem).__name__}: {problem}"
    return Different(f"{what}\n{form}: {match.pattern}\n\n{case_text(found, tables, 'the kernel')}")


def check_pair(
    match: Match, tables: Tables, tally: Tally, seed: int, planned: KernelPlan | None = None
) -> bool:
    """Whether there are matches; `Different` if the kernel finds others."""
    by_kernel = as_bindings(kernel_matches(match, tables, MOST_ROWS[seed % 3], planned))
    how = way(seed)
    by_bridge = as_bindings(bridge_matches(match, tables, how, planned))
    with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
        expected = Counter(dict.fromkeys(as_bindings(matches(match, tables)), 1))
    tally.pairs += 1
    tally.with_matches += bool(expected)
    tally.chunked += bool(expected and how.chunk and match.within and match.within.unit != "EVENT")
    for found, by in ((by_kernel, "the kernel"), (by_bridge, f"the bridge, {how},")):
        if found != expected:
            lost, added = (expected - found).total(), (found - expected).total()
            raise Different(f"{by} finds something else: {lost} matches lost, {added} added")
    return bool(expected)


def run_round(first: int, size: int = ROUND, drawn: Callable[[int], Sample | None] = sample) -> Tally:
    """Compare the queries from number `first` on; those that differ are made small."""
    tally = Tally()
    for number in range(first, first + size):
        found = drawn(number)
        if found is None:
            continue
        found = with_order(found, number)
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


def main() -> int:
    import kleene_fuzz  # which is made of what is above

    parser = fuzz_parser("kernel_fuzz", 10_000)
    parser.add_argument("--family", choices=(*FAMILIES, KLEENE), help="only queries of this kind")
    options, broken = parser.parse_args(), []
    for name, drawn in FAMILIES.items():
        if options.family in (None, name):
            begin = time.monotonic()
            tally = tally_of(partial(run_round, drawn=drawn), options, what=f"{name}: ")
            print(f"\n{name}\n{table(tally, time.monotonic() - begin)}", flush=True)
            broken += tally.broken
    begin = time.monotonic()
    kleene = kleene_fuzz.run(options) if options.family in (None, KLEENE) else {}
    broken += [text for one in kleene.values() for text in one.broken]
    return outcome(kleene_fuzz.table(kleene, time.monotonic() - begin) if kleene else "", broken)


def tally_of(
    run: Callable[[int], Tally],
    options: argparse.Namespace,
    counted: Callable[[Tally], int] = lambda tally: tally.pairs,
    what: str = "",
) -> Tally:
    """What was seen until there are enough pairs; `counted` gives how many a round has."""
    tally = Tally()
    for one in rounds(run, counted, options, what=what):
        tally.add(one)
    return tally


if __name__ == "__main__":
    sys.exit(main())
