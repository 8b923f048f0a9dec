"""What a stream is made of: a DataFrame, a table or view of the catalog, or a path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
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

COLUMNS = ("timestamp", "latest", "end", "type")
"""The settings of a stream that name a column."""


@dataclass(frozen=True)
class StreamData:
    """The data of a stream, and what their columns mean where that is not plain. `neelc.stream` makes it.

    `timestamp` is the column of the time, by default one called ts, timestamp or time; `latest` that of the
    latest possible time; `end` that of the end; `type` that of the event type; `unit` the unit of integer
    times, `timestamp_format` the pattern of times that are texts, such as `dd/MM/yyyy HH:mm`. `format` and
    `options` are for paths.
    """

    data: Frame | str
    timestamp: str | None = None
    latest: str | None = None
    end: str | None = None
    type: str | None = None
    unit: str | None = None
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    timestamp_format: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.data, str) and not is_frame(self.data):
            raise TypeError(f"a stream is {no_frame(self.data, ', the name of a table or a path')}")
        for setting in ("timestamp", "latest", "end", "type", "unit", "format", "timestamp_format"):
            value = getattr(self, setting)
            if value is not None and not isinstance(value, str):
                raise TypeError(
                    no_name(setting, value) if setting in COLUMNS else f"{setting} is a text, not {value!r}"
                )
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
    timestamp_format: str | None = None,
) -> StreamData:
    """A stream and what its columns mean.

    `neelc.sql(spark, "PATTERN ...", Trades=neelc.stream(trades, type="ticker"))`.
    """
    return StreamData(data, timestamp, latest, end, type, unit, format, dict(options or {}), timestamp_format)


def is_frame(value: object) -> bool:
    """Whether it looks like a DataFrame of Spark."""
    return all(hasattr(value, name) for name in ("schema", "selectExpr", "sparkSession"))


def no_frame(value: object, others: str = "") -> str:
    """What is wrong with a value that is given where a DataFrame of Spark is wanted, and what would fit.

    >>> no_frame([1])
    'a DataFrame of Spark, not a list'
    """
    module, kind = type(value).__module__.partition(".")[0], type(value).__name__
    found = {
        "pandas": f"a {kind} of pandas: give spark.createDataFrame(pdf)",
        "polars": f"a {kind} of polars: give spark.createDataFrame(df.to_arrow())",
        "pyarrow": f"a {kind} of PyArrow: give spark.createDataFrame(table)",
    }.get(module, f"a {kind}")
    if type(value).__module__.startswith("pyspark.pandas"):
        found = f"a {kind} of pandas on Spark: give df.to_spark()"
    if kind == "DataStreamReader" or kind == "DataFrameReader":
        found = f"a {kind}: call .load() first"
    return f"a DataFrame of Spark{others}, not {found}"


def no_name(argument: str, value: object) -> str:
    """What is wrong with a value that is given where the name of a column is wanted.

    >>> no_name("type", 7)
    'type is the name of a column, as a text, not 7'
    """
    if type(value).__name__ == "Column":
        named = re.fullmatch(r"Column<'([\w.]+)'>", repr(value))
        instead = f': "{named[1]}" instead of F.col("{named[1]}")' if named else ""
        return f"{argument} is the name of a column, as a text, not a Column{instead}"
    return f"{argument} is the name of a column, as a text, not {value!r}"


def names_of(argument: str, given: str | Iterable[str]) -> list[str]:
    """The names of columns that a caller gives, one or several.

    >>> names_of("by", "user"), names_of("by", ("user", "day")), names_of("by", ())
    (['user'], ['user', 'day'], [])
    """
    if isinstance(given, str):
        return [given]
    if type(given).__name__ == "Column" or not isinstance(given, Iterable):
        raise TypeError(no_name(argument, given))
    names = list(given)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(no_name(argument, name))
    return names


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
