"""How far kernels are: what they have read and found so far, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from neelc.runtime.late_dataclass import dataclass


@dataclass(frozen=True)
class WorkState:
    """Which `share` of its rows a kernel has read, from 0 to 1; how many rows it has `read` and `found`, and
    whether it `is_searching` now, rather than reading."""

    share: float = 0.0
    read: int = 0
    found: int = 0
    is_searching: bool = False


def together(states: Iterable[WorkState]) -> WorkState:
    """Several kernels as one.

    >>> together([WorkState(0.5, 10, 1), WorkState(1.0, 20, 2, True)])
    WorkState(share=0.75, read=30, found=3, is_searching=False)
    """
    known = list(states)
    share = sum(one.share for one in known) / max(len(known), 1)
    is_searching = bool(known) and all(one.is_searching for one in known)
    return WorkState(share, sum(one.read for one in known), sum(one.found for one in known), is_searching)


class KernelWork:
    """Counts what goes through a kernel. `share` tells how much of the query that it reads is done."""

    def __init__(self, share: Callable[[], float]) -> None:
        self._share = share
        self._read = self._found = 0
        self._is_searching = False

    def reading(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The same batches: between two of them, the kernel searches."""
        for batch in batches:
            self._read += batch.num_rows
            self._is_searching = True
            yield batch
            self._is_searching = False
        self._is_searching = True

    def finding(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The same batches, which are the results."""
        for batch in batches:
            self._found += batch.num_rows
            yield batch

    def state(self) -> WorkState:
        """How far it is. For other threads."""
        return WorkState(self._share(), self._read, self._found, self._is_searching)
