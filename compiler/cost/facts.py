"""A number that an estimate rests on, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

ORIGINS = ("declared", "file", "metadata", "counted", "assumed")
"""WITH STATS in the script, a JSON file, the metadata of Parquet files, what was counted in small files, or a
default of ours."""


@dataclass(frozen=True)
class Fact:
    """`what` is `value`, for instance `events per second of type A in Trades`; `origin` is in ORIGINS."""

    what: str
    value: float
    origin: str
