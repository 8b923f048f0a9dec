"""Several of JEPC's patterns on the worker, in one pass over the events that they share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from neelc.runtime.failures import FailureContext
from neelc.runtime.kernels.sequential.kernel import SearchedEvents, SequentialSearch
from neelc.runtime.kernels.sequential.matching import PartialSequences
from neelc.runtime.kernels.sequential.program import MEMBER, TIME, GroupMember, SequentialGroup
from neelc.runtime.worker import (
    MOST_MATCHES,
    ROWS_AT_ONCE,
    Batches,
    BatchFunction,
    NeededRows,
    WorkerKernel,
    WorkerLimits,
    WorkerSearch,
    WorkerState,
)

MemberMatches = tuple[int, PartialSequences]
"""Matches of the clause of a number."""


def sequential_group(
    group: SequentialGroup, rows_at_once: int = ROWS_AT_ONCE, most_matches: int = MOST_MATCHES
) -> BatchFunction:
    """The function that finds the matches of all clauses in one of Spark's partitions. As many as one clause
    may find, each of them may."""
    context = FailureContext(group.label or None, held="the events of a window")
    limits = WorkerLimits(rows_at_once, most_matches * len(group.programs))
    return WorkerKernel(partial(_begin, group), SearchedEvents, limits, context).function()


def _begin(group: SequentialGroup, state: WorkerState[SearchedEvents], is_last: bool) -> GroupSearch:
    return GroupSearch(group, state.joined(), state.facts, is_last)


class GroupSearch(WorkerSearch[SearchedEvents, MemberMatches]):
    """A search for the matches of all clauses among the same events."""

    def __init__(
        self, group: SequentialGroup, rows: pa.RecordBatch, facts: SearchedEvents, is_last: bool
    ) -> None:
        self.group, self.rows = group, rows
        self.searches = [SequentialSearch(one, rows, facts, is_last) for one in group.programs]

    def matches(self) -> Iterator[MemberMatches]:
        for number, search in enumerate(self.searches):
            for found in search.matches():
                yield number, found

    def needed(self) -> NeededRows[SearchedEvents]:
        """What one of them needs: the most that is known, and the most rows, have the same end."""
        return max((one.needed() for one in self.searches), key=lambda one: one.facts.known)

    def count(self, found: MemberMatches) -> int:
        number, several = found
        return self.searches[number].count(several)

    def gather(self, found: MemberMatches) -> Batches:
        number, several = found
        for batch in self.searches[number].gather(several):
            yield self._in_slots(number, batch)

    def _in_slots(self, number: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        size, known = batch.num_rows, set(batch.schema.names)
        columns = {MEMBER: pa.repeat(pa.scalar(number, pa.int32()), size)}
        for slot, column in self.group.slots:
            type = self.rows.schema.field(column).type
            columns[slot] = batch.column(slot) if slot in known else pa.nulls(size, type)
        return pa.RecordBatch.from_pydict({**columns, TIME: batch.column(TIME)})

    def location(self, found: MemberMatches, number: int) -> Mapping[str, object]:
        member, several = found
        return self.searches[member].location(several, number)


def group_member(member: GroupMember) -> BatchFunction:
    """The function that takes the matches of one clause out of those of a group."""
    return partial(_members, member)


def _members(member: GroupMember, batches: Batches) -> Batches:
    for batch in batches:
        own = batch.filter(pc.equal(batch.column(MEMBER), member.number))
        columns = {name: own.column(slot) for slot, name in member.outputs}
        yield pa.RecordBatch.from_pydict({**columns, TIME: own.column(TIME)})
