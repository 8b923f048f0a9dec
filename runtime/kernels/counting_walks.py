"""Walks through a chain, counted: for a block of lanes, state by state.

Tables have a row for each place of a lane, counted from its base, and a column for each lane. A state that
does not lead to itself is filled at once, from the states before it; one that does, row by row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from neelc.runtime.kernels.counting_block import Block
from neelc.runtime.kernels.counting_chain import FIRST, LAST, SOURCE, TARGET, ChainMove
from neelc.runtime.kernels.counting_channels import (
    BLANKS,
    LEAST,
    WALKS,
    Array,
    Channel,
    Material,
    arrived,
    kind_of,
    nothing,
    together,
    total,
    unmet,
)
from neelc.runtime.kernels.counting_moves import (
    Tables,
    is_judged,
    judged,
    judged_everywhere,
    kept,
    plain,
    sums_of,
)
from neelc.runtime.kernels.events import Numbers, Truths

WALK = Channel(WALKS)

Materials = Mapping[Channel, Material | None]


@dataclass(frozen=True, eq=False)
class Walks:
    """What the channels have for matches: for each lane, or for each of `rows` and `lanes` where these say
    which event is the last one. `most` is the greatest number of walks that any state has in one lane."""

    ended: Mapping[Channel, Array]
    lanes: Numbers
    rows: Numbers | None
    most: float


def walks(block: Block, materials: Materials, whole: Any) -> Walks:
    """All channels, with whole numbers of the type `whole`."""
    chain, states, most = block.chain, list[Tables](), 0.0
    sums: dict[int, Tables] = {}
    for state in range(len(chain.states)):
        found = _filled(block, state, materials, whole, states, sums)
        states.append(found)
        if whole is np.float64:
            most = max(most, float(total(WALK, found[WALK]).max(initial=0)))
        if any(move.source == state != move.target and not is_judged(move) for move in chain.moves):
            sums[state] = sums_of(found)
    ended: Tables = {}
    for ending in chain.endings:
        last = states[ending.state]
        if ending.where:
            last = kept(last, block.holding(ending.where, SOURCE, block.inside))
        for channel, rows in last.items():
            ended[channel] = together(channel, ended[channel], rows) if channel in ended else rows
    if chain.ends is not None:
        row, lane = np.nonzero(ended[WALK] > 0)
        return Walks({channel: table[row, lane] for channel, table in ended.items()}, lane, row, most)
    lanes = np.arange(len(block.lanes))
    return Walks({channel: total(channel, table) for channel, table in ended.items()}, lanes, None, most)


def _filled(
    block: Block,
    state: int,
    materials: Materials,
    whole: Any,
    states: list[Tables],
    sums: dict[int, Tables],
) -> Tables:
    """The tables of one state; those of the states before it are there."""
    chain = block.chain
    stage, numbers, fits = chain.states[state].stage, block.on.numbers[block.places], block.fits(state)
    own = {c: m if c.stage == stage else None for c, m in materials.items()}
    into = _begun(block, state, materials, whole)
    again: ChainMove | None = None
    # From other stages first: those walks meet the first event of their list here.
    moves = [move for move in chain.moves if move.target == state]
    for is_inner in (False, True):
        for move in (one for one in moves if (chain.states[one.source].stage == stage) is is_inner):
            if move.source == state:
                again = move
                continue
            if is_judged(move):
                more = judged_everywhere(block, move, states[move.source], fits)
            else:
                more = plain(block, move, states, sums)
            into = {channel: together(channel, table, more[channel]) for channel, table in into.items()}
        if not is_inner:
            firsts = {c: m for c, m in own.items() if m is not None and c.picks == FIRST}
            into |= _arrived(firsts, numbers, into, fits)
            own |= dict.fromkeys(firsts)
    if again is None:
        return _arrived(own, numbers, into, fits)
    return _row_by_row(block, own, numbers, into, fits, again)


def _begun(block: Block, state: int, materials: Materials, whole: Any) -> Tables:
    """The walks that begin at each cell, before its event is looked at."""
    shape = (block.height, len(block.lanes))
    tables = {c: np.full(shape, nothing(c), kind_of(c, m, whole)) for c, m in materials.items()}
    if state > 0:
        return tables
    for channel, table in tables.items():
        counts_least = channel.kind == LEAST and channel.counts
        if channel.kind in (WALKS, BLANKS) or counts_least:
            met = 0 if counts_least else 1
            if block.chain.leads:
                table[0] = met
            else:
                cells = block.inside & block.on.fits[0][block.places]
                table[block.holding(block.chain.begins, TARGET, cells)] = met
    return tables


def _arrived(own: Materials, numbers: Numbers, into: Mapping[Channel, Array], fits: Truths) -> Tables:
    count = np.where(fits, into[WALK], 0)
    arrivals: Tables = {}
    for channel, found in own.items():
        if channel == WALK:
            arrivals[channel] = count
            continue
        before = into[channel]
        if channel.picks == LAST and found is not None:  # what was met before does not count
            before = unmet(channel, count, before.dtype)
        arrivals[channel] = arrived(channel, found, numbers, before, count, fits)
    return arrivals


def _row_by_row(
    block: Block, own: Materials, numbers: Numbers, into: Tables, fits: Truths, again: ChainMove
) -> Tables:
    """A state that leads to itself: the events of a row may follow those of all rows before it."""
    here = {channel: np.full_like(table, nothing(channel)) for channel, table in into.items()}
    sums = {c: np.full((len(t) + 1, t.shape[1]), nothing(c), t.dtype) for c, t in into.items()}
    lanes = np.arange(len(block.lanes))
    used: Truths = np.any(fits, axis=1)
    asks = is_judged(again)
    for row in range(block.height):
        if used[row]:
            before = {channel: table[row] for channel, table in into.items()}
            if asks:
                some = lanes[fits[row]]
                for channel, values in judged(block, again, here, np.full(len(some), row), some).items():
                    before[channel] = before[channel].copy()
                    before[channel][some] = together(channel, before[channel][some], values)
            else:
                earlier = row if block.earlier is None else block.earlier[row]
                for channel, table in sums.items():
                    before[channel] = together(channel, before[channel], table[earlier, lanes])
            for channel, values in _arrived(own, numbers[row], before, fits[row]).items():
                here[channel][row] = values
        if not asks:
            for channel, table in sums.items():
                table[row + 1] = together(channel, table[row], here[channel][row])
    return here
