"""Some lanes of a chain, side by side: a row for each place of a lane, counted from its base."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neelc.runtime.kernels.counting_chain import TARGET, Chain, ChainMove
from neelc.runtime.kernels.counting_lanes import Ground, Lanes
from neelc.runtime.kernels.counting_pairs import Before, Index, before, in_parts, index
from neelc.runtime.kernels.events import Numbers, Truths
from neelc.runtime.kernels.operations import holds
from neelc.runtime.program import Value


@dataclass(frozen=True, eq=False)
class Block:
    """Some lanes of a chain."""

    chain: Chain
    on: Ground
    lanes: Lanes

    @cached_property
    def height(self) -> int:
        return int((self.lanes.stop - self.lanes.base).max())

    @cached_property
    def places(self) -> Numbers:
        """Row and lane -> place; the last one of all for rows behind the end of a lane."""
        places: Numbers = self.lanes.base[None, :] + np.arange(self.height)[:, None]
        np.minimum(places, len(self.on.numbers) - 1, out=places)
        return places

    @cached_property
    def inside(self) -> Truths:
        length = self.lanes.stop - self.lanes.base
        return np.arange(self.height)[:, None] < length[None, :]

    @cached_property
    def earlier(self) -> Numbers | None:
        """For each cell the row of the first event of the same time; None: all times differ."""
        if not self.on.has_ties:
            return None
        rows: Numbers = self.on.ties[self.places] - self.lanes.base[None, :]
        np.maximum(rows, 0, out=rows)
        return rows

    def fits(self, state: int) -> Truths:
        """The cells whose event can be in the state."""
        wanted = self.chain.states[state]
        cells = self.inside & self.on.fits[state][self.places]
        if wanted.pinned is not None:
            cells &= self.on.numbers[self.places] == self.lanes.pins[wanted.pinned][None, :]
        return self.holding(wanted.where, TARGET, cells)

    def holding(self, conditions: tuple[Value, ...], name: str, cells: Truths) -> Truths:
        """Those of the cells for whose event, under this name, the conditions hold."""
        for condition in conditions:
            row, lane = np.nonzero(cells)
            known = {name: self.on.numbers[self.places[row, lane]], **self.pinned(lane)}
            cells = cells.copy()
            cells[row, lane] = holds(condition, known.get, self.on.search.events, len(row))
        return cells

    def pinned(self, lane: Numbers) -> dict[str, Numbers]:
        return {pin: numbers[lane] for pin, numbers in self.lanes.pins.items()}

    @cached_property
    def _known(self) -> dict[ChainMove, tuple[Index, Before | None]]:
        return {}

    def _before(self, move: ChainMove) -> tuple[Index, Before | None]:
        """What each event may follow: found once, where lanes share events."""
        if move not in self._known:
            found = index(move, self.on)
            self._known[move] = (found, None if len(self.lanes) == 1 else self._shared(found))
        return self._known[move]

    def _shared(self, found: Index) -> Before:
        low, high = int(self.lanes.base.min()), int(self.lanes.stop.max())
        earliest = np.full(high - low, len(self.on.numbers))
        # Lanes are in the order of their base: the earliest is written last.
        backwards = self.inside[:, ::-1].T
        places = self.places[:, ::-1].T[backwards]
        bases = np.broadcast_to(self.lanes.base[::-1, None], backwards.shape)[backwards]
        earliest[places - low] = bases
        return before(found, earliest, low)

    def pairs(self, move: ChainMove, places: Numbers, lanes: Numbers) -> tuple[Numbers, Numbers]:
        """Which of some places may follow which earlier one of its lane, if nothing is pinned."""
        found, shared = self._before(move)
        base = self.lanes.base[lanes]
        if shared is None:
            return found.pairs(places, *found.ranges(places, base))
        which, earlier = shared.of(places)
        inside = earlier >= base[which]
        return which[inside], earlier[inside]

    def in_parts(self, move: ChainMove, places: Numbers, lanes: Numbers) -> list[slice]:
        """Slices of some places that do not have too many pairs."""
        found, _ = self._before(move)
        return in_parts(found.ranges(places, self.lanes.base[lanes])[1])
