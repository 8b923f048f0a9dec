"""The rows of each key together and in the order of time, whatever order they came in.

Rows come in one of two orders. Sorted by keys and start, they are as the kernel needs them. Sorting them by
one number is several times cheaper for Spark: some bits of the keys' hash, then the start in ticks of
`grain`; what that leaves in disorder is mended. Either way rows come in sections: no key is in two of them,
and the times of one do not fall.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from neelc.runtime import columns as segments
from neelc.runtime.columns import FIRST_TIME, LAST_TIME, Bools, Columns, Ints
from neelc.runtime.failures import UNSORTED, FailureDetails, KernelFailure
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.moments import order_codes, order_of_ties
from neelc.runtime.program import PatternProgram


@dataclass(frozen=True)
class SectionProgress:
    """How far the section has been searched that the first of the waiting rows is of: whatever belongs to a
    time before `low` is done."""

    low: int = FIRST_TIME


# Rows put in order that were sorted by one number: some bits of their keys' hash, then time in ticks.
#
# Keys with the same bits come mixed, and rows of one tick in any order; both is rare, found by comparing
# neighbours, and only the rows concerned are sorted again. A section is a stretch of rows whose ticks do
# not fall: no key is in two of them.


def section_heads(floor: Ints) -> Ints:
    """The rows at which sections begin: `floor` is the beginning of each row's tick.

    >>> section_heads(np.array([8, 8, 16, 0, 8])).tolist()
    [0, 3]
    """
    falls = np.flatnonzero(floor[1:] < floor[:-1]) + 1
    return np.concatenate([np.zeros(1, dtype=np.int64), falls])


def mended(keys: Sequence[pa.Array], start: Ints, floor: Ints, begins: Ints) -> tuple[Ints | None, Ints]:
    """The order in which the rows of each key are together and their `start` does not fall, None if it is the
    present one; and the rows at which keys begin then. Rows stay in the section that they are in, which begin
    at `begins`.

    >>> keys, start = pa.array(["a", "b", "a", "c"]), np.array([3, 3, 4, 1])
    >>> order, heads = mended([keys], start, start, section_heads(start))
    >>> order.tolist(), heads.tolist()
    ([0, 2, 1, 3], [0, 2, 3])
    """
    count = len(start)
    heads = segments.heads(keys, count)
    lengths = np.diff(heads, append=count)
    first = first_pieces([key.take(pa.array(heads)) for key in keys])
    moved = _of_mixed_sections(first, heads, begins)
    owner = np.repeat(first, lengths)
    astray = _in_disorder(start, floor, owner)
    if moved.any():
        astray |= np.repeat(moved, lengths)
    if not astray.any():
        return None, heads
    rows = np.flatnonzero(astray)
    order = np.arange(count)
    order[rows] = rows[np.lexsort((start[rows], owner[rows]))]
    return order, np.flatnonzero(np.diff(owner[order], prepend=-1))


def first_pieces(keys: list[pa.Array]) -> Ints:
    """For each of some keys, given by their columns, the place of the first that equals it.

    >>> first_pieces([pa.array(["a", "b", "a", None, "a"]), pa.array([1, 1, 1, 1, 2])]).tolist()
    [0, 1, 0, 3, 4]
    """
    codes = key_codes(keys, len(keys[0]))
    _, first, group = np.unique(codes, return_index=True, return_inverse=True)
    return first[group].astype(np.int64, copy=False)


def key_codes(keys: Sequence[pa.Array], count: int) -> Ints:
    """Of `count` rows, a number for the key of each: equal ones have the same.

    >>> key_codes([pa.array(["a", "b", "a", None]), pa.array([1, 1, 2, 1])], 4).tolist()
    [0, 2, 1, 3]
    """
    codes = np.zeros(count, dtype=np.int64)
    for place, key in enumerate(keys):
        codes = codes * count + _codes(key)
        if place:
            _, codes = np.unique(codes, return_inverse=True)
    return codes


def by_key_and_time(key: Ints, start: Ints) -> Ints:
    """The order of rows by the numbers of their keys, and then by time; equal ones as they are. Rows that are
    in order already cost little.

    >>> by_key_and_time(np.array([1, 0, 1, 0]), np.array([5, 9, -5, 7])).tolist()
    [3, 1, 2, 0]
    """
    # One number to sort by: four times as fast as two.
    number = joint_numbers(key, start)
    return np.lexsort((start, key)) if number is None else np.argsort(number, kind="stable")


def joint_numbers(codes: Ints, times: Ints, gap: int = 0) -> Ints | None:
    """Numbers in the order of keys, and for each key in the order of times, as far apart as these; between
    two keys there is more than `gap`. None if the numbers would be too large.

    >>> joint_numbers(np.array([0, 0, 1]), np.array([5, 7, 6]), gap=10).tolist()
    [0, 2, 14]
    """
    if not len(times):
        return times
    first, last = int(times.min()), int(times.max())
    width = last - first + gap + 1
    if (int(codes.max()) + 1) * width > LAST_TIME:
        return None
    return codes * width + (times - first)


def _codes(column: pa.Array) -> Ints:
    """Equal values have equal numbers, less than there are rows; NULL is a value."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        indices = column.dictionary_encode(null_encoding="encode").indices
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # structs and arrays: rare as keys
        indices = pa.array(list(map(repr, column.to_pylist()))).dictionary_encode().indices
    found: Ints = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _of_mixed_sections(first: Ints, heads: Ints, begins: Ints) -> Bools:
    """The pieces of sections in which a key comes back after another one."""
    again: Bools = first != np.arange(len(first))
    if not again.any():
        return again
    section = np.searchsorted(begins, heads, side="right")
    mixed: Bools = np.isin(section, section[again])
    return mixed


def _in_disorder(start: Ints, floor: Ints, owner: Ints) -> Bools:
    """The rows of ticks of a key in which the start falls."""
    same = (floor[1:] == floor[:-1]) & (owner[1:] == owner[:-1])
    falls = same & (start[1:] < start[:-1])
    if not falls.any():
        return np.zeros(len(start), dtype=np.bool_)
    tick = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(~same)])
    wrong = np.zeros(int(tick[-1]) + 1, dtype=np.bool_)
    wrong[tick[1:][falls]] = True
    found: Bools = wrong[tick]
    return found


def floors(program: PatternProgram, start: Ints) -> Ints:
    """For each row a time that neither it nor a later one of its section starts before.

    >>> floors(PatternProgram((), (), (), grain=8), np.array([9, 8, 17, -1])).tolist()
    [8, 8, 16, -8]
    """
    return start if program.grain is None else start & -program.grain


def sections(program: PatternProgram, columns: Columns, floor: Ints) -> Ints:
    """The rows at which sections begin."""
    if program.grain is not None:
        return section_heads(floor)
    falls = np.flatnonzero(floor[1:] < floor[:-1]) + 1
    heads = key_heads(program, columns)
    wrong = falls[~np.isin(falls, heads)]
    if len(wrong):
        key = columns.key_text(program, int(wrong[0]))
        raise KernelFailure(
            FailureDetails(UNSORTED, "the rows of a key are not in the order of their start", key=key)
        )
    return heads


def key_heads(program: PatternProgram, columns: Columns) -> Ints:
    """The rows whose key is another than that of the row before."""
    return segments.heads([columns.arrays[key] for key in program.keys], len(columns.start))


def in_order(program: PatternProgram, columns: Columns, begins: Ints, floor: Ints) -> tuple[Columns, Ints]:
    """The rows of each key together, in the order of time, and the rows at which keys begin. Rows stay in
    the section that they are in."""
    if program.grain is None:
        heads = key_heads(program, columns)
        return with_ordered_ties(program, columns, heads), heads
    order, heads = mended([columns.arrays[key] for key in program.keys], columns.start, floor, begins)
    return with_ordered_ties(program, columns if order is None else columns.take(order), heads), heads


def with_ordered_ties(program: PatternProgram, columns: Columns, heads: Ints) -> Columns:
    """The rows, which are in the order of time, with those of the same time in the order that the program
    has for them."""
    if not program.order:
        return columns
    codes = order_codes([columns.arrays[name] for name in program.order])
    order = order_of_ties(segments.numbers(heads, len(codes)), columns.start, codes)
    return columns if order is None else columns.take(order)
