"""Times and texts as small numbers."""

from __future__ import annotations

from collections.abc import Iterable

from neelc.ir.algebra import instant
from neelc.ir.logical import Clock
from neelc.ir.types import DATE
from neelc.report.choosing import hashable
from neelc.report.picture import Lane
from neelc.report.texts import lane_text


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


class LaneNumbers:
    """Lanes by their places: equal values are one lane, whatever they look like.

    >>> lanes = LaneNumbers([("NULL",), (None,)])
    >>> [lanes.place(lane) for lane in ((None,), ("x",), ("NULL",))], lanes.texts
    ([1, 2, 0], ["'NULL'", 'NULL', 'x'])
    """

    def __init__(self, known: Iterable[Lane] = ()) -> None:
        self.places: dict[Lane, int] = {}
        self.texts: list[str] = []
        for lane in known:
            self.place(lane)

    def place(self, lane: Lane, text: str | None = None) -> int:
        """The number of a lane, which has its values beside it unless there is another `text`."""
        key = hashable(lane)
        if key not in self.places:
            self.places[key] = len(self.texts)
            self.texts.append(lane_text(lane) if text is None else text)
        return self.places[key]
