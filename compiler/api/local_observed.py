"""What a run of the local engine has noticed and counted, as Spark's observations have it.

DuckDB has no observations: what is asked for is a query of its own, which runs when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from neelc.api.gathering import RunObservations
from neelc.api.local_frame import failing_locally
from neelc.api.observed import WAIT, StreamObservations, Values
from neelc.catalog.data_warnings import TypesSeen
from neelc.engines.local.execution import LocalRun
from neelc.engines.local.noticing import ties_seen, times_seen, types_seen
from neelc.ir.program import Stream
from neelc.runtime.late_dataclass import dataclass


@dataclass
class LocalObservations(RunObservations):
    """What a `run` counts; nothing before rows were asked for."""

    run: LocalRun

    def _observed(self, key: str, wait: float) -> Values | None:
        if not self.run.has_run:
            return None
        with failing_locally(self.run):
            return self.run.observed(key)


@dataclass
class LocalStreamObservations(StreamObservations):
    """What a `run` notices about the `streams` that it reads."""

    run: LocalRun = field(kw_only=True)
    streams: Mapping[str, Stream] = field(kw_only=True)

    @property
    def is_empty(self) -> bool:
        return not self.streams

    def values(self, wait: float = WAIT) -> dict[str, Values]:
        """All streams, once the run has read them."""
        return {name: {"events": True} for name in self.streams} if self.run.has_run else {}

    def types(self, wait: float = WAIT) -> dict[str, TypesSeen]:
        found = {
            name: types_seen(self.run, one, self.used.get(name, ())) for name, one in self.streams.items()
        }
        return {name: seen for name, seen in found.items() if seen is not None}

    def ties(self) -> int:
        return ties_seen(self.run, even_if_large=True)

    def times(self, wait: float = WAIT) -> dict[str, tuple[int, int]]:
        found = {name: times_seen(self.run, one) for name, one in self.streams.items()}
        return {name: times for name, times in found.items() if times is not None}
