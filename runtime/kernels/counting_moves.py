"""What comes to events by a move: from all events before them, or from those that they may follow."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from neelc.runtime.kernels import mentions
from neelc.runtime.kernels.counting_block import Block
from neelc.runtime.kernels.counting_chain import SOURCE, TARGET, ChainMove
from neelc.runtime.kernels.counting_channels import LEAST, Array, Channel, accumulated, nothing
from neelc.runtime.kernels.counting_pairs import is_static
from neelc.runtime.kernels.events import Numbers, Truths
from neelc.runtime.kernels.operations import holds

Tables = dict[Channel, Array]


@lru_cache(maxsize=1024)
def is_judged(move: ChainMove) -> bool:
    """Whether it depends on both events at once which one may follow which."""
    if move.absent or (move.where and move.source == move.target):
        return True
    return any({SOURCE, TARGET} <= set(mentions.of_value(condition)) for condition in move.where)


def sums_of(tables: Tables) -> Tables:
    return {channel: accumulated(channel, rows) for channel, rows in tables.items()}


def kept(tables: Tables, cells: Truths) -> Tables:
    return {channel: np.where(cells, rows, nothing(channel)) for channel, rows in tables.items()}


def plain(block: Block, move: ChainMove, states: list[Tables], sums: dict[int, Tables]) -> Tables:
    """What comes to all cells by a move whose conditions are each about one of its events."""
    leaving = tuple(one for one in move.where if SOURCE in mentions.of_value(one))
    entering = tuple(one for one in move.where if one not in leaving)
    from_all = sums[move.source]
    if leaving:
        from_all = sums_of(kept(states[move.source], block.holding(leaving, SOURCE, block.inside)))
    found = {channel: _up_to(table, block.earlier) for channel, table in from_all.items()}
    if not entering:
        return found
    cells = block.inside & block.on.fits[move.target][block.places]
    return kept(found, block.holding(entering, TARGET, cells))


def _up_to(sums: Array, earlier: Numbers | None) -> Array:
    """For each cell the sum over all cells of its lane that are earlier."""
    return sums[:-1] if earlier is None else np.take_along_axis(sums, earlier, 0)


def judged(block: Block, move: ChainMove, source: Tables, rows: Numbers, lanes: Numbers) -> Tables:
    """What comes to some cells by a move that depends on both of its events."""
    places, base = block.places[rows, lanes], block.lanes.base
    which, earlier = block.pairs(move, places, lanes)
    for condition in move.where:
        if not is_static(condition):
            events = {SOURCE: block.on.numbers[earlier], TARGET: block.on.numbers[places[which]]}
            known = {**events, **block.pinned(lanes[which])}
            fine = holds(condition, known.get, block.on.search.events, len(which))
            which, earlier = which[fine], earlier[fine]
    lane = lanes[which]
    row = earlier - base[lane]
    begins = np.flatnonzero(np.diff(which, prepend=-1))
    found: Tables = {}
    for channel, table in source.items():
        found[channel] = np.full(len(rows), nothing(channel), table.dtype)
        if len(begins):
            add: np.ufunc = np.minimum if channel.kind == LEAST else np.add
            found[channel][which[begins]] = add.reduceat(table[row, lane], begins)
    return found


def judged_everywhere(block: Block, move: ChainMove, source: Tables, fits: Truths) -> Tables:
    """The same for all cells that fit."""
    found = {channel: np.full_like(table, nothing(channel)) for channel, table in source.items()}
    rows, lanes = np.nonzero(fits)
    for some in block.in_parts(move, block.places[rows, lanes], lanes):
        for channel, values in judged(block, move, source, rows[some], lanes[some]).items():
            found[channel][rows[some], lanes[some]] = values
    return found
