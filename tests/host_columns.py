"""Expressions of queries around MATCH_RECOGNIZE, and what Spark makes of each: tests/host_columns.txt.

Each line of the file is an expression over the events of tests/expressions.py, whose view is `a`, a word, and
the name that Spark gives the column. The word is `value`, or `fails` if Spark fails on the ordinary event, or
`refused` if Spark does not take the expression; there is no name then.

`pytest tests/spark/test_host_columns.py --update` asks Spark again and writes the file.
"""

from __future__ import annotations

from pathlib import Path

from like_spark import AGGREGATES, AGREED, FAILING, REFUSED

from neelc.runtime.late_dataclass import dataclass

PATH = Path(__file__).parent / "host_columns.txt"

MORE = [
    line
    for line in (Path(__file__).parent / "spark" / "host_expressions.txt").read_text().splitlines()
    if not line.startswith("#")
]


@dataclass(frozen=True)
class HostColumn:
    """An expression, and what Spark makes of it."""

    text: str
    outcome: str
    name: str


CORPUS = frozenset([theirs or ours for ours, theirs in AGREED] + FAILING)


def asked() -> list[str]:
    """The expressions that Spark is asked about: those of host_expressions.txt and of expressions.txt."""
    corpus = [theirs or ours for ours, theirs in AGREED] + FAILING + REFUSED
    corpus += [theirs or ours.replace("b[]", "a") for ours, theirs in AGGREGATES]
    # A backslash means what a setting of the session says.
    return [one for one in dict.fromkeys(MORE + corpus) if "\\" not in one and one.isprintable()]


def columns() -> list[HostColumn]:
    """What the file says."""
    lines = PATH.read_text().splitlines()
    return [HostColumn(*line.split("\t")) for line in lines if not line.startswith("#")]
