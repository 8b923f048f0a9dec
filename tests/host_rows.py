"""Queries of Spark's SQL and the rows that Spark finds: tests/host_rows.txt.

A line is a query over the events of tests/expressions.py, whose view is `a`, a word, the names of its columns
and its rows. The word is `rows`, or `fails` if Spark refuses the query or fails; there is nothing behind it.

`pytest tests/spark/test_host_rows.py --update` asks Spark again and writes the file.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Sequence
from pathlib import Path

from neelc.runtime.late_dataclass import dataclass

PATH = Path(__file__).parent / "host_rows.txt"
QUERIES = Path(__file__).parent / "spark" / "host_queries.txt"


@dataclass(frozen=True)
class HostRows:
    """A query, and what Spark makes of it."""

    text: str
    outcome: str
    names: str
    rows: str


def asked() -> list[str]:
    """The queries that Spark is asked."""
    lines = [line for line in QUERIES.read_text().splitlines() if line and not line.startswith("#")]
    whole = ("select ", "with ", "(select ")
    return [line if line.lower().startswith(whole) else f"select {line} from a" for line in lines]


def told() -> list[HostRows]:
    """What the file says."""
    lines = PATH.read_text().splitlines()
    return [HostRows(*line.split("\t")) for line in lines if not line.startswith("#")]


def rows_text(rows: Sequence[Sequence[object]]) -> str:
    """Rows in an order: that of a query without ORDER BY is open.

    >>> rows_text([(2, float("nan")), (1, None)])
    "[(1, None), (2, 'nan')]"
    """
    return str(sorted((tuple(map(_plain, row)) for row in rows), key=repr))


def _plain(value: object) -> object:
    """A value that can be read again."""
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value if isinstance(value, int | str | bytes | None) else str(value)


def rows_of(text: str) -> list[tuple[object, ...]]:
    """The rows of a text."""
    return list(literal_eval(text))
