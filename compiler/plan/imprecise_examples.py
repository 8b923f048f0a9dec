"""Queries over imprecise times, for docstrings and tests."""

from __future__ import annotations

from neelc.ir.logical import Match
from neelc.rewrite.examples import query as query_of

STREAM = """CREATE STREAM S (lo BIGINT, hi BIGINT, kind STRING, id BIGINT, user STRING, x DOUBLE, n INT)
  TIMESTAMP BETWEEN lo AND hi UNIT MILLISECONDS TYPE BY kind;
"""


def query(text: str) -> Match:
    """The bound query `PATTERN text`."""
    return query_of(text, STREAM)
