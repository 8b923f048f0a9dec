"""Counting on the worker: partial aggregates of the matches of one partition.

Rows wait as they do for patterns (`pattern_kernel.py`); a match belongs to the search that it starts in, so
partial aggregates of all searches together are those of all matches. Spark adds them up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from neelc.runtime.columns import Columns
from neelc.runtime.failures import COUNT_OVERFLOW, SUM_OVERFLOW, KernelError
from neelc.runtime.kernels.counting.chain import AVERAGE, COUNT, MAX, MIN, SUM, CountingProgram, Tally
from neelc.runtime.kernels.counting.counting import CountedGroups, counted
from neelc.runtime.kernels.counting.walks import BLANKS, NOTHING, WALK, Array, Channel, channels_of
from neelc.runtime.kernels.pattern_kernel import SectionSearch, context_of, cut, events_of
from neelc.runtime.order import SectionProgress
from neelc.runtime.worker import ROWS_AT_ONCE, Batches, BatchFunction, WorkerKernel, WorkerLimits, WorkerState

LARGEST_COUNT = 2**63 - 1
"""What a BIGINT holds: if a part is more, so is the whole."""
LARGEST_WIDE = 10**38 - 1
"""What a DECIMAL(38, 0) holds."""
LARGEST_SUM = 10**30
"""Sums are NULL where they do not fit; parts of them may have other signs. DECIMAL(38) holds 100 million
parts of this size."""


def counting(program: CountingProgram, rows_at_once: int = ROWS_AT_ONCE) -> BatchFunction:
    """The function that aggregates over the matches of one partition."""
    begin = partial(_begin, program)
    return WorkerKernel(begin, SectionProgress, WorkerLimits(rows_at_once), context_of(program)).function()


def _begin(program: CountingProgram, state: WorkerState[SectionProgress], is_last: bool) -> CountingSearch:
    return CountingSearch(program, *cut(program, state, is_last))


class CountingSearch(SectionSearch[SectionProgress, CountedGroups]):
    """A search that counts the matches of rows."""

    program: CountingProgram

    def matches(self) -> Iterator[CountedGroups]:
        if self.rows is not None:
            found = counted(self.program, events_of(self.program, self.rows))
            if len(found):
                yield found

    def gather(self, found: CountedGroups) -> Batches:
        assert self.rows is not None, "there is a match"
        yield as_batch(self.program, found, self.rows.columns)


def as_batch(program: CountingProgram, found: CountedGroups, columns: Columns) -> pa.RecordBatch:
    """A struct for each variable that is grouped by, and then the columns of each tally."""
    arrays: dict[str, pa.Array] = {}
    for output in program.outputs:
        rows = pa.array(found.groups[output.variable])
        taken = {name: columns.arrays[column].take(rows) for name, column in output.fields}
        arrays[output.name] = pa.StructArray.from_arrays(list(taken.values()), names=list(taken))
    for tally in program.tallies:
        arrays.update(tallied(tally, found))
    return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


def tallied(tally: Tally, found: CountedGroups) -> dict[str, pa.Array]:
    """The columns of a tally: counts and sums of whole numbers as DECIMAL(38, 0); of an average a sum and a
    count, as numbers with a point."""
    return TALLIES[tally.function](tally, found)


def valued(tally: Tally, found: CountedGroups) -> list[int]:
    """For each group the number of matches that have a value."""
    blanks = Channel(BLANKS, tally.stage, tally.column, picks=tally.picks)
    walks = [int(count) for count in found.channels[WALK]]
    if blanks not in channels_of(tally):
        return walks
    return [count - int(blank) for count, blank in zip(walks, found.channels[blanks], strict=True)]


def _count(tally: Tally, found: CountedGroups) -> dict[str, pa.Array]:
    counts = valued(tally, found)
    limit, kind = (LARGEST_WIDE, "DECIMAL(38, 0)") if tally.wide else (LARGEST_COUNT, "BIGINT")
    if max(counts, default=0) > limit:
        message = f"{_short(max(counts))} matches are more than a {kind} can count"
        raise KernelError(COUNT_OVERFLOW, message, *found.heaviest[1:], max(counts), limit)
    return {tally.name: pa.array(counts, pa.decimal128(38, 0))}


def _short(number: int) -> str:
    """A number of many digits for people.

    >>> _short(2**64), _short(2**2000)
    ('18446744073709551616', '1.1e602')
    """
    digits = str(number)
    return digits if len(digits) <= 45 else f"{digits[0]}.{digits[1]}e{len(digits) - 1}"


def _sum(tally: Tally, found: CountedGroups) -> dict[str, pa.Array]:
    known = np.array(valued(tally, found), object) > 0
    sums = found.channels[channels_of(tally)[0]]
    if sums.dtype == np.float64:
        return {tally.name: pa.array(sums, mask=~known.astype(bool))}
    whole = [int(one) if is_known else None for one, is_known in zip(sums, known, strict=True)]
    most = max((abs(one) for one in whole if one is not None), default=0)
    limit = LARGEST_WIDE if tally.wide else LARGEST_SUM
    if most >= limit:
        message = f"the sum over the matches of one task, {_short(most)}, is beyond {limit}"
        raise KernelError(SUM_OVERFLOW, message, *found.heaviest[1:], most, limit)
    return {tally.name: pa.array(whole, pa.decimal128(38, 0))}


def _average(tally: Tally, found: CountedGroups) -> dict[str, pa.Array]:
    sums = found.channels[channels_of(tally)[0]]
    return {
        f"{tally.name}_sum": pa.array(_floats(sums, found)),
        f"{tally.name}_count": pa.array(_floats(np.array(valued(tally, found), object), found)),
    }


def _floats(numbers: Array, found: CountedGroups) -> Array:
    try:
        return numbers.astype(np.float64)
    except OverflowError as error:
        message = "a sum over all matches has more than 300 digits"
        raise KernelError(SUM_OVERFLOW, message, *found.heaviest[1:]) from error


def _extreme(tally: Tally, found: CountedGroups) -> dict[str, pa.Array]:
    (channel,) = channels_of(tally)
    if channel.counts:
        return {tally.name: pa.array(np.abs(found.channels[channel]), pa.int64())}
    read = found.materials[channel]
    assert read is not None, "an extreme has a column"
    ranks = found.channels[channel]
    none = ranks == NOTHING
    values = read.ranked[np.where(none, 0, ranks)] if len(read.ranked) else np.zeros(len(ranks))
    return {tally.name: pa.array(values, mask=none)}


TALLIES: dict[str, Callable[[Tally, CountedGroups], dict[str, pa.Array]]] = {
    COUNT: _count,
    SUM: _sum,
    AVERAGE: _average,
    MIN: _extreme,
    MAX: _extreme,
}
