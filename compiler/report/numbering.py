"""Times and texts as small numbers."""

from __future__ import annotations

from collections.abc import Iterable

from neelc.ir.algebra import instant
from neelc.ir.logical import Clock
from neelc.ir.types import DATE


class Ticks:
    """Times as numbers that a browser counts exactly: ticks of the clock since the first time shown."""

    def __init__(self, clock: Clock, first: int) -> None:
        self.length = instant(clock)
        self.first = first // self.length
        self.kind = "number" if clock.unit else "date" if clock.type == DATE else "time"
        self.unit = clock.unit

    def of(self, time: int | None) -> float | None:
        """
        >>> from neelc.ir.types import BIGINT
        >>> ticks = Ticks(Clock(BIGINT, "MILLISECOND"), 5_000_000)
        >>> ticks.of(7_000_000), ticks.of(7_500_000), ticks.of(None)
        (2, 2.5, None)
        """
        if time is None:
            return None
        since = time - self.first * self.length
        return since // self.length if since % self.length == 0 else since / self.length


class Names:
    """Texts by their places, in the order in which they come.

    >>> names = Names(["a"])
    >>> [names.place(text) for text in ("b", "a", "b")], list(names.places)
    ([1, 0, 1], ['a', 'b'])
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.places = {text: place for place, text in enumerate(known)}

    def place(self, text: str) -> int:
        return self.places.setdefault(text, len(self.places))
