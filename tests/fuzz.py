"""`make fuzz`: rewriting compared with the reference on many random queries and streams.

    make fuzz                             20,000 pairs of a query and a stream
    make fuzz PAIRS=100000 SEED=7         more, and others
    make fuzz RULES="flatten_sequence"    only these rules, each alone

A query depends on its number only: a counter-example that was found once is found again.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from fuzz_runner import fuzz_parser, outcome, rounds
from generate.ordered import with_order
from generate.rewritable import sample
from rewriting import Broken, Tally, check_sample, rules
from shrinking import counter_example

from neelc.catalog.inputs import aligned

STREAMS = 4
"""Streams for each query: to rewrite it takes time too."""
ROUND = 50
"""Queries that a process takes at a time."""


@dataclass
class Round:
    """What was seen in a row of queries; of each rule that breaks one, the first that it breaks."""

    tally: Tally = field(default_factory=Tally)
    broken: dict[str, str] = field(default_factory=dict)


def run_round(first: int, rules: Sequence[str] = (), known: Collection[str] = ()) -> Round:
    """Check the queries from number `first` on. Rules in `known` are known to be broken."""
    done = Round()
    for number in range(first, first + ROUND):
        found = with_order(sample(number, STREAMS), number)
        try:
            check_sample(found, done.tally, rules or None)
        except Broken as broken:
            if broken.rule not in {*known, *done.broken}:
                small = counter_example(found, broken, rules or None)
                done.broken[broken.rule] = f"query {number}: {small}"
    return done


def until_broken(first: int, pairs: int, rules: Sequence[str]) -> int:
    """One query after the other until a rule breaks one; says after how many pairs."""
    tally = Tally()
    for number in count(first):
        try:
            check_sample(sample(number, STREAMS), tally, rules or None)
        except Broken as broken:
            print(f"{broken}\n{number} after {tally.pairs:,} pairs")
            return 1
        if tally.pairs >= pairs:
            print(f"in {tally.pairs:,} pairs")
            return 0
    raise AssertionError("numbers come to no end")


def table(tally: Tally, seconds: float, names: Iterable[str]) -> str:
    """What was seen, for people."""
    share = 100 * tally.with_matches / max(1, tally.pairs)
    head = [
        ("queries", f"{tally.queries:,}"),
        ("pairs of a query and a stream", f"{tally.pairs:,}"),
        ("of these with matches", f"{tally.with_matches:,} ({share:.0f} %)"),
        ("comparisons after a step", f"{tally.comparisons:,}"),
        ("left out as too large", f"{tally.too_large:,}"),
        ("seconds", f"{seconds:.0f}"),
    ]
    columns = (tally.fired, tally.steps, tally.tested, tally.refused)
    lines = [["rule", "queries it fired on", "steps", "pairs with matches", "queries it refused"]]
    lines += [[name, *(f"{column[name]:,}" for column in columns)] for name in names]
    return "\n".join([*aligned(head), "", *aligned(lines)])


def main() -> int:
    parser = fuzz_parser("fuzz", 20_000)
    parser.add_argument("--rules", nargs="*", default=[], metavar="RULE")
    parser.add_argument("--until-broken", action="store_true", help="stop at the first counter-example")
    options, begin = parser.parse_args(), time.monotonic()
    if unknown := set(options.rules) - set(rules()):
        parser.error(f"no rule {', '.join(sorted(unknown))}; rules: {', '.join(rules())}")
    if options.until_broken:
        return until_broken(options.first, options.count, options.rules)
    tally = Tally()
    broken: dict[str, str] = {}
    known: set[str] = set()
    run = partial(run_round, rules=options.rules, known=known)
    for round in rounds(run, lambda round: round.tally.pairs, options, ROUND):
        tally.add(round.tally)
        broken = {**round.broken, **broken}
        known.update(round.broken)
    return outcome(table(tally, time.monotonic() - begin, options.rules or rules()), [*broken.values()])


if __name__ == "__main__":
    sys.exit(main())
