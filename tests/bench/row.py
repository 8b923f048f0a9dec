"""One line of a benchmark's report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """What was measured, the value as text, the goal as text, and whether the goal is met (None: no goal)."""

    what: str
    measured: str
    goal: str = ""
    met: bool | None = None
