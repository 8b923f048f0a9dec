"""Programs for events whose times are imprecise."""

from __future__ import annotations

from dataclasses import dataclass

from neelc.runtime.program import Program

CHUNK, CHUNK_WIDTH = "chunk", "chunk_width"
"""Columns of events where time is cut: the number of the chunk, and how wide all chunks are. How imprecise
times are is known only when they are read."""


@dataclass(frozen=True)
class Imprecise(Program):
    """A program that gives each match its confidence. Of the input, `start` is the earliest time of an event
    and `end` the latest; its last step is `Weigh`. `reach` is the window; the keys may end in CHUNK_WIDTH and
    CHUNK."""

    @property
    def is_cut(self) -> bool:
        return self.keys[-1:] == (CHUNK,)
