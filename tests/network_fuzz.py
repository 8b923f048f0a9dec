"""Queries that read queries over streams, compared with the reference on random scripts, streams,
micro-batches and orders of arrival; part of `make fuzz`.

    PYTHONPATH=tests .venv/bin/python -m network_fuzz --pairs 5000 --seed 7

What is kept is written and read between any two micro-batches. Late events take no part.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from unittest.mock import patch

from answers import MAX_CANDIDATES
from fuzz_runner import fuzz
from generate.stream_networks import mixed_script, row_script, script, tables
from in_network import bound_script, counted, planned_network, streamed_rows
from in_stream import Arrival, arrival

from neelc.errors import NeelError
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.runtime.reference import LimitReached, candidates, run

STREAMS = 3
"""How many streams each script is compared on."""


@dataclass
class NetworkTally:
    """What was compared, and what was left out, and why."""

    pairs: int = 0
    with_rows: int = 0
    bucketed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


def check_script(number: int, tally: NetworkTally) -> None:
    """Compare a random script on some streams."""
    chance = Random(number)
    check_text(number, (script, mixed_script, row_script, row_script)[number % 4](chance), tally, STREAMS)


def check_text(number: int, text: str, tally: NetworkTally, streams: int) -> None:
    """Compare one script on so many streams."""
    chance = Random(number)
    try:
        program = bound_script(text)
        network = planned_network(program)
    except (UnsupportedQuery, NeelError) as refusal:
        tally.refused[str(refusal).splitlines()[0].partition("`")[0]] += 1
        return
    tally.bucketed += network.buckets is not None
    for place in range(streams):
        rows, how = tables(chance), arrival(number * streams + place)
        found = streamed_rows(program, rows, how, network)
        with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
            try:
                _, reference = run(program, found.tables)[-1]
            except LimitReached:
                tally.refused["left out as too large"] += 1
                continue
        expected = [row for row in reference.rows if not reference.has_valid_time or row[-1] is not None]
        tally.pairs += 1
        tally.with_rows += bool(expected)
        if counted(found.rows) != counted(expected):
            tally.broken.append(difference(number, text, how, found.rows, expected))
            return


def difference(
    number: int,
    text: str,
    how: Arrival,
    found: Sequence[tuple[object, ...]],
    reference: Sequence[tuple[object, ...]],
) -> str:
    lost = counted(reference) - counted(found)
    added = counted(found) - counted(reference)
    return f"script {number}, {how}: {lost.total()} rows lost, {added.total()} added\n{text}\n{lost}\n{added}"


def compare(first: int, pairs: int) -> NetworkTally:
    """Compare scripts from number `first` on."""
    tally = NetworkTally()
    number = first
    while tally.pairs < pairs and len(tally.broken) < 5:
        check_script(number, tally)
        number += 1
    return tally


def check_number(number: int, seen: Counter[str]) -> list[str]:
    """What is wrong with the script of a number."""
    tally = NetworkTally()
    check_script(number, tally)
    seen.update({"pairs": tally.pairs, "with rows": tally.with_rows, "by buckets of keys": tally.bucketed})
    seen.update({f"refused: {reason}": count for reason, count in tally.refused.items()})
    return tally.broken


if __name__ == "__main__":
    sys.exit(fuzz(check_number, "network_fuzz", 3000))
