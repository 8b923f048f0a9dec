"""What a stream is made of: a DataFrame, a table or view of the catalog, or a path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from neelc.data.inputs import UNITS, unit_of

Frame = Any
"""A DataFrame of a classic session or of Spark Connect: the two have no class in common in all versions."""

_ENDINGS = {
    "csv": "csv",
    "tsv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "parquet": "parquet",
}


@dataclass(frozen=True)
class StreamData:
    """The data of a stream, and what their columns mean where that is not plain. `neelc.stream` makes it.

    `timestamp` is the column of the time, by default one called ts, timestamp or time; `latest` that of the
    latest possible time; `end` that of the end; `type` that of the event type; `unit` the unit of integer
    times. `format` and `options` are for paths.
    """

    data: Frame | str
    timestamp: str | None = None
    latest: str | None = None
    end: str | None = None
    type: str | None = None
    unit: str | None = None
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.data, str) and not is_frame(self.data):
            kind = type(self.data).__name__
            raise TypeError(f"a stream is a DataFrame, the name of a table or a path, not a {kind}")
        if self.unit is not None and unit_of(self.unit) is None:
            raise ValueError(f"no unit {self.unit}; units: {', '.join(UNITS)}")


def stream(
    data: Frame | str,
    *,
    timestamp: str | None = None,
    latest: str | None = None,
    end: str | None = None,
    type: str | None = None,
    unit: str | None = None,
    format: str | None = None,
    options: Mapping[str, str] | None = None,
) -> StreamData:
    """A stream and what its columns mean.

    `neelc.sql(spark, "PATTERN ...", Trades=neelc.stream(trades, type="ticker"))`.
    """
    return StreamData(data, timestamp, latest, end, type, unit, format, dict(options or {}))


def is_frame(value: object) -> bool:
    """Whether it looks like a DataFrame of Spark."""
    return all(hasattr(value, name) for name in ("schema", "selectExpr", "sparkSession"))


def is_path(text: str) -> bool:
    """Whether a text is a path of files rather than the name of a table.

    >>> [is_path(text) for text in ("trades", "db.trades", "trades.csv", "data/trades", "s3://bucket/trades")]
    [False, False, True, True, True]
    """
    return "/" in text or "\\" in text or format_of(text) is not None


def format_of(path: str) -> str | None:
    """The format that the ending of a path tells.

    >>> format_of("trades.JSONL"), format_of("day=1/part.csv.gz"), format_of("db.trades")
    ('json', 'csv', None)
    """
    found = re.search(r"\.(\w+)(\.gz|\.zst|\.bz2)?/?$", path.lower())
    return _ENDINGS.get(found[1]) if found else None
