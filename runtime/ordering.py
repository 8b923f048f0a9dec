"""The rows of each key together and in the order of time, whatever order they came in.

Rows come in one of two orders. Sorted by keys and start, they are as the kernel wants them. Sorting them by
one number is several times cheaper for Spark: some bits of the keys' hash, then the start in ticks of
`grain`; what that leaves in disorder is mended. Either way rows come in sections: no key is in two of them,
and the times of one do not fall.
"""

from __future__ import annotations

import numpy as np

from neelc.runtime import segments
from neelc.runtime.columns import Columns
from neelc.runtime.failures import UNSORTED, Facts, KernelFailure
from neelc.runtime.mending import mended, section_heads
from neelc.runtime.program import Program
from neelc.runtime.segments import Ints


def floors(program: Program, start: Ints) -> Ints:
    """For each row a time that neither it nor a later one of its section starts before.

    >>> floors(Program((), (), (), grain=8), np.array([9, 8, 17, -1])).tolist()
    [8, 8, 16, -8]
    """
    return start if program.grain is None else start & -program.grain


def sections(program: Program, columns: Columns, floor: Ints) -> Ints:
    """The rows at which sections begin."""
    if program.grain is not None:
        return section_heads(floor)
    falls = np.flatnonzero(floor[1:] < floor[:-1]) + 1
    heads = key_heads(program, columns)
    wrong = falls[~np.isin(falls, heads)]
    if len(wrong):
        key = columns.key_text(program, int(wrong[0]))
        raise KernelFailure(Facts(UNSORTED, "the rows of a key are not in the order of their start", key=key))
    return heads


def key_heads(program: Program, columns: Columns) -> Ints:
    """The rows whose key is another than that of the row before."""
    return segments.heads([columns.arrays[key] for key in program.keys], len(columns.start))


def in_order(program: Program, columns: Columns, begins: Ints, floor: Ints) -> tuple[Columns, Ints]:
    """The rows of each key together, in the order of time, and the rows at which keys begin. Rows stay in
    the section that they are in."""
    if program.grain is None:
        return columns, key_heads(program, columns)
    order, heads = mended([columns.arrays[key] for key in program.keys], columns.start, floor, begins)
    return (columns if order is None else columns.take(order)), heads
