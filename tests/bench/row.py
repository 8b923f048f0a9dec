"""One line of a benchmark's report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """What was measured, the value as text, the goal as text, and whether the goal is met (None: no goal).

    `numbers` has what was measured by name, in seconds where nothing else is said. A row that belongs to a
    picture names it (`figure`) and its place on the picture's horizontal axis (`at`).
    """

    what: str
    measured: str
    goal: str = ""
    met: bool | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    figure: str = ""
    at: str = ""
