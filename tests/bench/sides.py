"""Two ways to do the same, measured in turn, so that a busy machine slows down both."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

from bench.row import Row

REPETITIONS = 3
PATIENCE = 90.0
"""Seconds that one side may take in all, after which it is not run again."""


class Aborted(Exception):
    """A side that was stopped because it took too long."""


@dataclass(frozen=True)
class Measured:
    """The seconds of each run. `is_bound`: it was stopped, and takes at least that long."""

    runs: tuple[float, ...]
    is_bound: bool = False

    @property
    def seconds(self) -> float:
        return median(self.runs)

    def __str__(self) -> str:
        """
        >>> print(Measured((0.5, 0.25, 1)), Measured((20,)), Measured((300,), True), sep="; ")
        0.50 s; 20.0 s (1 run); > 300 s (stopped)
        """
        digits = 2 if self.seconds < 10 else 1 if self.seconds < 100 else 0
        if self.is_bound:
            return f"> {self.seconds:.0f} s (stopped)"
        few = "" if len(self.runs) >= REPETITIONS else f" ({len(self.runs)} run{'s'[: len(self.runs) > 1]})"
        return f"{self.seconds:.{digits}f} s{few}"


Side = Callable[[], object]


def in_turn(sides: Mapping[str, Side], repetitions: int = REPETITIONS, warm: int = 1) -> dict[str, Measured]:
    """Run the sides in turn, first `warm` times each to warm up: Java compiles what it runs often. A slow
    side is run once."""
    runs: dict[str, list[float]] = {name: [] for name in sides}
    stopped: set[str] = set()
    for turn in range(-warm, repetitions):
        for name, side in sides.items():
            if name in stopped or sum(runs[name]) > PATIENCE:
                continue
            taken, aborted = seconds(side)
            if aborted:
                stopped.add(name)
                runs[name] = [taken]
            elif turn >= 0 or taken > PATIENCE:
                runs[name].append(taken)
    return {name: Measured(tuple(found), name in stopped) for name, found in runs.items()}


def seconds(side: Side) -> tuple[float, bool]:
    """How long it takes, and whether it was stopped."""
    begin = time.perf_counter()
    try:
        side()
    except Aborted:
        return time.perf_counter() - begin, True
    return time.perf_counter() - begin, False


def faster(
    what: str,
    measured: Mapping[str, Measured],
    least: float | None = None,
    figure: str = "",
    at: str = "",
) -> Row:
    """How many times faster the first side is than the second, with the goal `least`.

    >>> print(faster("joins", {"ours": Measured((1, 2, 3)), "theirs": Measured((50, 60, 70))}, 10).measured)
    30.0x: theirs 60.0 s, ours 2.00 s
    """
    (ours, first), (theirs, second) = measured.items()
    ratio = second.seconds / first.seconds
    sign = "> " if second.is_bound else ""
    # A side that was stopped is slower than measured: a bound that misses the goal says nothing.
    met = None if least is None or (second.is_bound and ratio < least) else ratio >= least
    shown = f"{sign}{digits(ratio)}x: {theirs} {second}, {ours} {first}"
    goal = "" if least is None else f">= {least:g}x"
    return Row(what, shown, goal, met, numbers(measured, ratio), figure, at)


def of(measured: Mapping[str, Measured], *names: str) -> dict[str, Measured]:
    """Some of the sides."""
    return {name: measured[name] for name in names}


def slower(
    what: str,
    measured: Mapping[str, Measured],
    most: float | None = None,
    figure: str = "",
    at: str = "",
) -> Row:
    """How many times longer the first side takes than the second, with the goal `most`.

    >>> slower("floor", {"ours": Measured((6, 6, 6)), "floor": Measured((5, 5, 5))}, 1.25).measured
    '1.20x: ours 6.00 s, floor 5.00 s'
    """
    (ours, first), (theirs, second) = measured.items()
    ratio = first.seconds / second.seconds
    shown = f"{ratio:.2f}x: {ours} {first}, {theirs} {second}"
    goal = "" if most is None else f"<= {most:g}x"
    met = None if most is None else ratio <= most
    return Row(what, shown, goal, met, numbers(measured, ratio), figure, at)


def numbers(measured: Mapping[str, Measured], ratio: float) -> dict[str, float]:
    return {name: round(side.seconds, 4) for name, side in measured.items()} | {"ratio": round(ratio, 3)}


def digits(ratio: float) -> str:
    """
    >>> digits(1.234), digits(12.34), digits(123.4)
    ('1.23', '12.3', '123')
    """
    return f"{ratio:.{2 if ratio < 10 else 1 if ratio < 100 else 0}f}"


def agree(what: str, counts: Mapping[str, int]) -> Row:
    """That all sides found equally many matches.

    >>> agree("matches", {"ours": 1200, "theirs": 1200}).measured
    '1,200'
    """
    same = len(set(counts.values())) == 1
    shown = f"{next(iter(counts.values())):,}"
    if not same:
        shown = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    return Row(what, shown, "equal", same, {name: float(count) for name, count in counts.items()})
