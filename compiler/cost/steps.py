"""Steps of a search for matches: what is tried, what is kept, and where the search stands in the pattern."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from neelc.cost.ways import NOTHING, Ways, in_any_order, in_sequence, widened
from neelc.ir import pattern as p

EXTEND, CHECK = "extend", "check"


@dataclass(frozen=True)
class Step:
    """`tried` bindings of one window cost `comparisons` each and `work` besides, and `kept` of them are good.

    EXTEND binds another event; CHECK looks whether something is there, or is not, as EXISTS and `!` ask.
    """

    kind: str
    what: str
    tried: Ways
    kept: Ways
    comparisons: float = 0.0
    work: float = 0.0


@dataclass(frozen=True)
class Frame:
    """What stands around a part: the ways of the parts before it, a window, a share that is left."""

    combine: Callable[[Ways, Ways], Ways] | None = None
    before: Ways = NOTHING
    window: float = 1.0
    log: float = 0.0

    def around(self, own: Ways) -> Ways:
        both = own if self.combine is None else self.combine(self.before, own)
        return widened(both, self.window).plus(self.log)


@dataclass(frozen=True)
class Place:
    """Where in the pattern a part stands.

    `span` is its scope as a share of the window, `pieces` into how many the events of the SEQ around it cut
    that, 0 outside of a SEQ. `same` are the attributes of the `[id]`s around it. `window` is the narrowest
    window around it, as a share of the whole one: there its events are counted.
    """

    frames: tuple[Frame, ...] = ()
    span: float = 1.0
    pieces: float = 0.0
    same: frozenset[str] = frozenset()
    window: float = 1.0

    def total(self, own: Ways) -> Ways:
        """A partial match: the part's own ways, with all that is bound before it."""
        for frame in reversed(self.frames):
            own = frame.around(own)
        return own

    def inside(self, frame: Frame) -> Place:
        return replace(self, frames=(*self.frames, frame))


def order_of(part: p.Pattern) -> Callable[[Ways, Ways], Ways]:
    """How the parts of a list come together."""
    return in_sequence if isinstance(part, p.Seq) else in_any_order
