"""What a program says of partial matches: WITH PARTIAL MATCHES."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Level:
    """A prefix of a sequence: `start` is the variable of its first event. `hints` are the first variables of
    the branches that tell why the next prefix was not reached: the first of them that has a match does."""

    start: str
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Furthest:
    """Of the matches with the same start, one of the last level that has any is kept. Among those of one
    level, times decide, and then the values of the `compared` columns of variables."""

    levels: tuple[Level, ...]
    compared: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def starts(self) -> tuple[str, ...]:
        """The first variables of all branches."""
        return tuple(name for level in self.levels for name in (level.start, *level.hints))

    @property
    def columns(self) -> frozenset[str]:
        """The columns whose values can decide."""
        return frozenset(column for _, columns in self.compared for column in columns)
