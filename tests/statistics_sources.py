"""The statistics of a script as the commands ask for them."""

from __future__ import annotations

import argparse
from pathlib import Path

from neelc.catalog.statistics.numbers import Statistics
from neelc.cli.options import add_inputs, add_statistics, bound, statistics_of
from neelc.ir.program import Match
from neelc.source import Source

SCRIPT = """
CREATE STREAM Trades (ts BIGINT, kind STRING, id BIGINT, price DOUBLE)
  TIMESTAMP BY ts UNIT SECONDS TYPE BY kind {more};
CREATE QUERY Pairs AS PATTERN SEQ(A a, B b) WHERE a.price > 10 RETURN a.id AS id;
PATTERN SEQ(A a, Pairs p) WHERE a.id = p.id
"""


def gathered(directory: Path, *arguments: str, more: str = "") -> tuple[Statistics, Match]:
    """The statistics of the script with these arguments, and its last query."""
    parser = argparse.ArgumentParser()
    add_inputs(parser)
    add_statistics(parser)
    options = parser.parse_args(arguments)
    inputs, program = bound(Source(SCRIPT.format(more=more), str(directory / "script.neel")), options)
    return statistics_of(inputs, program, options.stats), program.queries[-1].match
