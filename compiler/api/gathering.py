"""Statistics of a run: observations of a script's relations, and what they have counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

from neelc.api.observed import WAIT, Values, got
from neelc.engines.spark.compiled import CompiledScript
from neelc.engines.spark.observing import roles_key, rows_key, steps_key, stream_counts, stream_key
from neelc.explain.analysis import QueryMeasures
from neelc.pattern.cost.gathering import StreamCounts, StreamQuestions, statistics_json
from neelc.runtime.kernels.measuring import StepMeasures
from neelc.runtime.late_dataclass import dataclass


@dataclass
class RunObservations:
    """The observations of one run of a script, which is an `observed_script`."""

    compiled: CompiledScript
    asked: Mapping[str, StreamQuestions]
    _values: dict[str, Values] = field(default_factory=dict, kw_only=True)

    @cached_property
    def by_key(self) -> dict[str, Any]:
        """The observations of Spark, by their keys."""
        from pyspark.sql import Observation

        return {key: Observation() for key in self.keys}

    @property
    def keys(self) -> tuple[str, ...]:
        return self.compiled.relations.observations

    def values(self, key: str, wait: float = WAIT) -> Values:
        """What was observed in the first action; nothing, if there was none, or if Spark found out that it
        need not read a relation to its end."""
        if key not in self.keys:
            return {}
        if key not in self._values:
            found = self._observed(key, wait)
            if found is None:
                return {}
            self._values[key] = found
        return self._values[key]

    def _observed(self, key: str, wait: float) -> Values | None:
        return got(self.by_key[key], wait)

    def streams(self, wait: float = WAIT) -> dict[str, StreamCounts]:
        """The counts of streams, where they are known."""
        values = {name: self.values(stream_key(name), wait) for name in self.asked}
        return {name: stream_counts(self.asked[name], found) for name, found in values.items() if found}

    def rows(self, last: str, wait: float = WAIT) -> dict[str, int]:
        """The rows of queries, by name; the `last` one is called so if it has none."""
        names = ((number, name or last) for number, (name, _) in enumerate(self.compiled.results))
        found = ((name, self.values(rows_key(number), wait)) for number, name in names)
        return {name: int(values["rows"]) for name, values in found if values}


def measures_of(
    observed: RunObservations, number: int, roles: int, streams: Mapping[str, StreamCounts]
) -> QueryMeasures:
    """What was counted of one of a script's queries, which has so many roles; `streams` are those that it
    reads."""
    prefix = roles_key(number, "")
    scans = [observed.values(key) for key in observed.keys if key.startswith(prefix)]
    counted = tuple(sum(int(one.get(f"role_{bit}", 0)) for one in scans) for bit in range(roles))
    steps = observed.values(steps_key(number)).get("steps")
    rows = observed.values(rows_key(number)).get("rows")
    return QueryMeasures(
        streams,
        counted if any(scans) else (),
        None if steps is None else StepMeasures.added(steps),
        None if rows is None else int(rows),
    )


def uncounted(asked: Iterable[str], counted: Mapping[str, StreamCounts]) -> list[str]:
    """Notes about streams that nothing is known of."""
    return [
        f"Spark did not read stream `{name}` to its end, so there are no statistics for it"
        for name in asked
        if name not in counted
    ]


@dataclass(frozen=True)
class WrittenStatistics:
    """The text of a file of statistics, and what it lacks."""

    text: str
    notes: tuple[str, ...]


def written_statistics(
    asked: Mapping[str, StreamQuestions], counted: Mapping[str, StreamCounts], rows: Mapping[str, int]
) -> WrittenStatistics:
    """The file of what was asked of streams, as far as it was counted, and of the rows of queries."""
    in_order = {name: counted[name] for name in asked if name in counted}
    return WrittenStatistics(statistics_json(asked, in_order, rows), tuple(uncounted(asked, counted)))


def statistics_of_runs(runs: Iterable[tuple[str, RunObservations]]) -> WrittenStatistics:
    """The file of several queries, each with what its last one is called."""
    asked: dict[str, StreamQuestions] = {}
    counted: dict[str, StreamCounts] = {}
    rows: dict[str, int] = {}
    for name, observed in runs:
        asked |= observed.asked
        counted |= observed.streams()
        rows |= observed.rows(name)
    return written_statistics(asked, counted, rows)
