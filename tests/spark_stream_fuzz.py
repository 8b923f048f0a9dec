"""Spark's streaming queries compared with the reference on random queries and streams; part of `make fuzz`.

    make fuzz                             300 pairs with matches of a query and a stream
    make fuzz SPARK_PAIRS=2000 SEED=7     more, and others

A query runs over many streams at once. They come in files, one for each micro-batch, out of order; some
events come late, and take no part. The query is stopped in the middle of micro-batches, and started again
from its checkpoint.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any

from fuzz_runner import fuzz_parser, outcome, show_progress
from generate.ordered import with_order
from generate.repeated import kleene_sample
from generate.rewritable import Sample, sample
from kernel_fuzz import Tally, table
from many_streams import Combined, difference, together
from on_streams import Replay, late_events, streamed_result, with_watermark
from stream_fuzz import EXACT, returning

from neelc.api.spark_session import session
from neelc.arguments import Options
from neelc.ir.program import NamedQuery, Program
from neelc.ir.script import SelectionStrategy
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pipeline import compile_program

STREAMS = 30
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # Each plan runs for a few small micro-batches: interpreting it is faster than compiling it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def replay(number: int) -> Replay:
    """One of many ways in which events come."""
    chance = Random(f"replay {number}")
    batches, disorder = chance.choice([1, 2, 4, 7]), chance.choice([0, 2, 10])
    delay = disorder if chance.random() < 0.6 else chance.choice([0, disorder // 2])
    restarts = chance.sample(range(batches + 1), chance.choice([0, 0, 1, 2]))
    return Replay(batches, delay, number, frozenset(restarts), chance.choice([1, 3, 7]), disorder)


def drawn(number: int, streams: int) -> Sample | None:
    """Half of the queries have lists, under one of the selection strategies; some return aggregates over
    matches, and some rows that are DISTINCT."""
    strategies = list(SelectionStrategy)
    found: Sample | None = None
    if number % 4 < 2:
        found = sample(number, streams)
    else:
        found = kleene_sample(number, strategies[number // 4 % len(strategies)], streams)
    chance = Random(f"returned {number}")
    kind = chance.choice(["matches", "matches", "aggregates", "DISTINCT"])
    found = None if found is None else with_order(found, number)
    if found is None or kind == "matches":
        return found
    return returning(found, chance, EXACT if kind == "aggregates" else ())


def question(number: int, how: Replay, tally: Tally, streams: int) -> Combined | None:
    """The query with this number; None if it has no matches, or cannot be compared."""
    found = drawn(number, streams)
    if found is None:
        return None
    tally.queries += 1
    try:
        program = Program(found.match.streams, (NamedQuery(None, found.match),))
        compile_program(with_watermark(program, how.delay), -1, Options(streaming=True))
    except UnsupportedQuery as refusal:
        tally.refused[refusal.what.partition("`")[0].strip()] += 1
        return None
    combined = together(found, number, lambda made: late_events(made.streams, made.tables, how))
    if combined is None:
        tally.refused["left out as too large"] += 1
        return None
    return combined if combined.with_matches else None


def problems(spark: Any, combined: Combined, how: Replay, tally: Tally) -> Iterator[str]:
    """What is wrong with what Spark gives."""
    try:
        rows = streamed_result(spark, combined.question, how).rows
    except UnsupportedQuery as refusal:
        tally.refused[refusal.what.partition("`")[0].strip()] += 1
        return
    except Exception as problem:
        yield f"{how}: {combined.question.name}\n{type(problem).__name__}: {str(problem)[:1500]}"
        return
    tally.pairs += combined.streams
    tally.with_matches += combined.with_matches
    for name, is_so in (
        ("events come late", combined.left_out > 0),
        ("query is restarted", bool(how.restarts)),
        ("in several micro-batches", how.batches > 1),
        ("with aggregates over matches", combined.question.program.queries[0].match.aggregated),
        (f"under {combined.question.program.queries[0].match.strategy}", True),
    ):
        tally.forms[name] += combined.with_matches if is_so else 0
    lost, added = difference(combined, rows)
    if lost or added:
        late = f"{combined.left_out} late events"
        yield f"{how}: {combined.question.name}\n{lost} rows lost, {added} added, {late}"


def compare(spark: Any, pairs: int, first: int, streams: int) -> Tally:
    """Run queries from number `first` on until there are so many pairs with matches."""
    tally = Tally()
    for number in count(first):
        if tally.with_matches >= pairs:
            return tally
        how = replay(number)
        found = question(number, how, tally, streams)
        if found is not None:
            tally.broken += problems(spark, found, how, tally)
            show_progress(tally.with_matches, pairs)
    raise AssertionError("numbers do not end")


def main() -> int:
    parser = fuzz_parser("spark_stream_fuzz", 300, processes=None)
    parser.add_argument("--streams", type=int, default=STREAMS, help="in one query")
    options, begin = parser.parse_args(), time.monotonic()
    with session("local[2]", None, SETTINGS) as spark:
        tally = compare(spark, options.count, options.first, options.streams)
    return outcome(table(tally, time.monotonic() - begin), tally.broken)


if __name__ == "__main__":
    sys.exit(main())
