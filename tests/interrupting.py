"""Runs of the worker that stop between batches: the state is written as bytes, read again, and the run goes
on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from neelc.runtime import worker
from neelc.runtime.worker import (
    WorkerKernel,
    WorkerState,
    advance,
    initial_state,
    state_from_bytes,
    state_to_bytes,
)

Kernel = WorkerKernel[Any, Any]
State = WorkerState[Any]
Results = list[list[dict[str, Any]]]
"""The rows of each batch."""


def advanced(
    kernel: Kernel, state: State, batches: Iterable[pa.RecordBatch], is_last: bool
) -> tuple[list[pa.RecordBatch], State]:
    """The results, and the state after them."""
    results: list[pa.RecordBatch] = []
    going = advance(kernel, state, batches, is_last)
    while True:
        try:
            results.append(next(going))
        except StopIteration as end:
            return results, end.value


@dataclass(frozen=True, eq=False)
class KernelRun:
    """A kernel, and the batches that came for it."""

    kernel: Kernel
    batches: Sequence[pa.RecordBatch]

    def whole(self) -> Results:
        return [batch.to_pylist() for batch in worker.run(self.kernel, iter(self.batches))]

    def states(self) -> Iterator[State]:
        """The state after each batch."""
        state = initial_state(self.kernel)
        for batch in self.batches:
            _, state = advanced(self.kernel, state, [batch], is_last=False)
            yield state

    def interrupted(self, *cuts: int, spoiled: Callable[[State], State] | None = None) -> Results:
        """The results if the run stops before each of these batches; `spoiled` loses something then."""
        found: Results = []
        state = initial_state(self.kernel)
        for first, beyond in zip((0, *cuts), (*cuts, len(self.batches)), strict=True):
            is_last = beyond == len(self.batches)
            results, state = advanced(self.kernel, state, self.batches[first:beyond], is_last)
            found += [batch.to_pylist() for batch in results]
            state = state_from_bytes(self.kernel, state_to_bytes(spoiled(state) if spoiled else state))
        assert not state.parts and state.facts == self.kernel.facts(), "at the end nothing is left"
        return found


def recorded(harness: Callable[[], object]) -> list[KernelRun]:
    """The runs of kernels that a harness makes."""
    runs: list[KernelRun] = []
    original = worker.run

    def run(kernel: Kernel, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        runs.append(KernelRun(kernel, list(batches)))
        return original(kernel, iter(runs[-1].batches))

    with patch.object(worker, "run", run):
        harness()
    return runs
