"""A line of a breakdown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """One line of a breakdown: `work` is in units of one row scanned."""

    what: str
    work: float
