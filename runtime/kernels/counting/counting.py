"""Aggregates over the matches of chains, without the matches: dynamic programming over events.

The number of matches may be exponential in the number of events; what is done here is not. Whole numbers are
exact: 64 bits where it is sure that they are enough, and as many as are needed where it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import log2

import numpy as np

from neelc.runtime.failures import SUM_OVERFLOW, KernelError
from neelc.runtime.kernels.counting.chain import Chain, CountingProgram
from neelc.runtime.kernels.counting.walks import (
    LEAST,
    WALK,
    WEIGHTS,
    Array,
    Channel,
    LaneBlock,
    Lanes,
    Material,
    Materials,
    Walks,
    channels_of,
    depends_on_both,
    ground,
    lanes,
    material,
    nothing,
    part,
    walks,
)
from neelc.runtime.kernels.events import KernelEvents, Numbers
from neelc.runtime.kernels.frontier import distinct
from neelc.runtime.kernels.taking import KernelSearch, groups
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import EventName
from neelc.runtime.values.operations import check

CELLS = 4_000_000
"""How many numbers are held at once; more if one lane has more."""
PAIRS = 8_000_000
SURE = 61.0
"""Sums of whole numbers with up to this many bits cannot overflow."""


@dataclass(frozen=True, eq=False)
class CountedGroups:
    """For each group the events that it is grouped by, and the aggregates of its matches. Of all first events
    the one at `heaviest` (its key and its time) has the most matches: there a number grows too large."""

    groups: Mapping[EventName, Numbers]
    channels: Mapping[Channel, Array]
    materials: Materials
    heaviest: tuple[int, int, int] = (0, 0, 0)

    def __len__(self) -> int:
        return len(self.channels[WALK])


def counted(program: CountingProgram, events: KernelEvents, cells: int = CELLS) -> CountedGroups:
    """The aggregates, for each group that has a match."""
    check(program)
    channels = dict.fromkeys(channel for tally in program.tallies for channel in channels_of(tally))
    materials: Materials = {WALK: None, **{channel: material(channel, events) for channel in channels}}
    pieces = list(_pieces(program, events, materials, cells))
    return _united(pieces, [output.variable for output in program.outputs], materials)


def _pieces(
    program: CountingProgram, events: KernelEvents, materials: Materials, cells: int
) -> Iterator[CountedGroups]:
    for begin, group, line in groups(events):
        search = KernelSearch(program, group, line, 2_000_000)
        here = {
            c: None if m is None else part(m, begin, begin + len(group.start)) for c, m in materials.items()
        }
        for chain in program.chains:
            on = ground(chain, search)
            for every in lanes(program, chain, on):
                for some in _blocks(chain, every, len(here), cells):
                    block = LaneBlock(chain, on, some)
                    counts = _exact(block, here)
                    grouped = _grouped_by(program, block, counts, begin)
                    yield _reduced(CountedGroups(grouped, counts.ended, here, _heaviest(block, counts)))


def _blocks(chain: Chain, lanes: Lanes, channels: int, cells: int) -> Iterator[Lanes]:
    """The lanes in blocks: tables have the height of the longest lane of a block."""
    length = lanes.stop - lanes.base
    has_pairs = any(map(depends_on_both, chain.moves))
    most = max(1, cells // (2 * channels * len(chain.states)))
    begin = 0
    while begin < len(lanes):
        # No more lanes are looked at than fit if all are as short as the first.
        some = length[begin : begin + most // int(length[begin]) + 1]
        height = np.maximum.accumulate(some)
        area = height * np.arange(1, len(some) + 1)
        fits = (area <= most) & ((area * height <= PAIRS) | (not has_pairs))
        end = begin + max(1, len(some) if fits.all() else int(np.argmin(fits)))
        yield lanes.take(slice(begin, end))
        begin = end


def _exact(block: LaneBlock, materials: Materials) -> Walks:
    """What the lanes have, in 64 bits if that is sure to be enough."""
    _refuse_long_sums(block, materials)
    largest = max(one.largest for one in (*materials.values(), ONE) if one is not None)
    spare = SURE - log2(block.height) - log2(largest)
    with np.errstate(all="ignore"):
        if _bits(block) < spare:
            return walks(block, materials, np.int64)
        most = walks(block, {WALK: None}, np.float64).most
        if log2(max(1.0, most * len(block.chain.states))) < spare:
            return walks(block, materials, np.int64)
        return _without_limit(block, materials)


def _without_limit(block: LaneBlock, materials: Materials) -> Walks:
    """The same with whole numbers of any length. Numbers with a point have their limit all the same."""
    try:
        result = walks(block, materials, object)
    except OverflowError as error:
        raise _beyond_doubles(block) from error
    for channel, read in materials.items():
        numbers = result.ended[channel]
        needs_no_check = read is None or not np.isfinite(read.weight).all() or numbers.dtype != np.float64
        if not needs_no_check and not np.isfinite(numbers).all():
            raise _beyond_doubles(block)
    return result


def _beyond_doubles(block: LaneBlock) -> KernelError:
    message = "a sum is over so many matches that it has more than 300 digits"
    return KernelError(SUM_OVERFLOW, message, *_place(block))


ONE = Material(np.ones(1, np.int64), np.zeros(1, bool), np.zeros(1, np.int64), np.zeros(1, np.int64))


def _bits(block: LaneBlock) -> float:
    """No more bits than these are needed for the number of walks: each event is in one of the lists or in
    none, and each other state has one of the events."""
    loops = sum(move.source == move.target for move in block.chain.moves)
    states = len(block.chain.states)
    return (states + 1) * log2(block.height + 1) + block.height * log2(loops + 1)


def _refuse_long_sums(block: LaneBlock, materials: Materials) -> None:
    """The sum of a list that does not fit into 64 bits would be NULL in each match that has it."""
    stages = [state.stage for state in block.chain.states]
    loops = {stages[move.source] for move in block.chain.moves if move.source == move.target}
    lists = loops | {stage for stage in stages if stages.count(stage) > 1}
    for channel, one in materials.items():
        whole = channel.kind == WEIGHTS and not channel.picks and one is not None and one.is_whole
        if whole and one is not None and channel.stage in lists and one.largest * block.height >= 2.0**63:
            message = "the values of a list are so large that their sum may not fit into a BIGINT"
            raise KernelError(SUM_OVERFLOW, message, *_place(block))


def _heaviest(block: LaneBlock, counted: Walks) -> tuple[int, int, int]:
    """The most matches of a first event, its key and its time."""
    counts = counted.ended[WALK]
    if not len(counts):
        return 0, 0, 0
    row = int(np.argmax(counts))
    return (int(counts[row]), *_place(block, int(counted.lanes[row])))


def _place(block: LaneBlock, lane: int = 0) -> tuple[int, int]:
    """The key and the time of a first event."""
    events, number = block.on.search.events, block.on.numbers[block.lanes.base[lane]]
    return int(events.segment[number]), int(events.start[number])


def _grouped_by(
    program: CountingProgram, block: LaneBlock, counted: Walks, begin: int
) -> dict[EventName, Numbers]:
    """For each row of the walks the events that its matches are grouped by."""
    events, numbers = block.on.search.events, block.on.numbers
    roles, lanes = dict(program.keyed), counted.lanes
    grouped_by = {}
    for output in program.outputs:
        name = output.variable
        if name in roles:
            # All events of the key that play the role have the same value; one of them is in each match.
            players = events.roles[roles[name]]
            first = np.searchsorted(
                events.segment[players], events.segment[numbers[block.lanes.base[lanes]]], "left"
            )
            members = players[np.minimum(first, len(players) - 1)] if len(players) else np.zeros_like(lanes)
        elif name == block.chain.ends and counted.rows is not None:
            members = numbers[block.places[counted.rows, lanes]]
        else:
            members = block.lanes.pins[name][lanes]
        grouped_by[name] = members + begin
    return grouped_by


def _reduced(piece: CountedGroups) -> CountedGroups:
    """One row for each group, and only those with matches."""
    kept = np.flatnonzero(piece.channels[WALK] > 0)
    columns = [numbers[kept] for numbers in piece.groups.values()]
    if not len(kept):
        channels = {channel: table[kept] for channel, table in piece.channels.items()}
        return replace(piece, groups=dict(zip(piece.groups, columns, strict=True)), channels=channels)
    like = distinct(columns)[1] if columns else np.zeros(len(kept), np.int64)
    return united_groups(piece, kept, like)


def united_groups(found: CountedGroups, rows: Numbers, like: Numbers) -> CountedGroups:
    """Some of the rows, those with the same number added up; there is one at least."""
    order = np.argsort(like, kind="stable")
    begins = np.flatnonzero(np.diff(like[order], prepend=-1))
    sorted_rows = rows[order]
    return replace(
        found,
        groups={name: numbers[sorted_rows[begins]] for name, numbers in found.groups.items()},
        channels={c: _added(c, table[sorted_rows], begins) for c, table in found.channels.items()},
    )


def _added(channel: Channel, table: Array, begins: Numbers) -> Array:
    """The sums, or the least, of the rows from each of `begins` to the next."""
    if channel.kind == LEAST:
        return np.minimum.reduceat(table, begins)
    if table.dtype == np.int64 and float(np.abs(table.astype(np.float64)).sum()) >= 2.0**SURE:
        table = table.astype(object)
    with np.errstate(all="ignore"):
        return np.add.reduceat(table, begins)


def _united(
    pieces: Sequence[CountedGroups], names: Sequence[EventName], materials: Materials
) -> CountedGroups:
    if not pieces:
        return CountedGroups({name: np.zeros(0, np.int64) for name in names}, _none(materials), materials)
    whole = CountedGroups(
        {name: np.concatenate([piece.groups[name] for piece in pieces]) for name in names},
        {channel: np.concatenate([piece.channels[channel] for piece in pieces]) for channel in materials},
        materials,
        max(piece.heaviest for piece in pieces),
    )
    return whole if len(pieces) == 1 else _reduced(whole)


def _none(materials: Materials) -> dict[Channel, Array]:
    return {channel: np.full(0, nothing(channel), np.int64) for channel in materials}
