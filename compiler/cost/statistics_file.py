"""Statistics in a JSON file: the same as WITH STATS can say, for any stream and any named query.

The format is in docs/reference/statistics.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from neelc.bind.statistics import misfits, resolved
from neelc.cost.statistics_json import JsonFile
from neelc.cost.statistics_known import Known, known
from neelc.errors import NeelError
from neelc.ir.logical import Stream
from neelc.ir.names import find
from neelc.ir.statistics import Statistic
from neelc.parse import expression

# Keys that hold a number, and the measures they are.
_OF_STREAM = {"events": "EVENTS", "events_per_second": "RATE", "seconds": "SPAN"}
_OF_TYPE = {"events": "EVENTS", "events_per_second": "RATE", "share": "SHARE"}
_OF_COLUMN = {"distinct": "DISTINCT", "nulls": "NULLS", "most_frequent": "MOST FREQUENT"}
_RANGE = ("least", "greatest")
_UNITS = {"RATE": "SECOND", "SPAN": "SECOND"}

# A place in the file, and what is said there.
Said = tuple[str, Statistic]


def statistics_in(
    text: str, name: str, streams: Mapping[str, Stream]
) -> tuple[tuple[Known, ...], tuple[str, ...]]:
    """What a file, called `name`, says about the streams of a program; and notes about what it says in vain.

    Raises `CallError` with a sentence and the place in the file when it is malformed, or says what cannot be.
    """
    reader = _Reader(name)
    whole = reader.entries("", reader.load(text), ("streams",))
    found: list[Known] = []
    notes: list[str] = []
    for key, value in reader.entries("streams", whole.get("streams", {})).items():
        place = f"streams.{key}"
        stream_name = find(key, streams)
        if stream_name is None:
            # One file may describe the streams of many scripts.
            listed = ", ".join(streams) or "none"
            notes.append(f"{name}: {place}: the script has no such stream; streams: {listed}")
            continue
        stream = streams[stream_name]
        if any(one.stream == stream.name for one in found):
            reader.fail(place, f"stream {stream.name} stands twice in the file")
        said = list(reader.stream(place, value))
        for misfit in misfits(stream, [statistic for _, statistic in said]):
            at = next(place for place, statistic in said if statistic is misfit.statistic)
            reader.fail(at, misfit.message + (f"; {misfit.hint}" if misfit.hint else ""))
        found += known(stream.name, resolved(stream, [statistic for _, statistic in said]), "file")
    return tuple(found), tuple(notes)


class _Reader(JsonFile):
    """A file of statistics: places in it, and what is said there."""

    def stream(self, place: str, value: object) -> Iterator[Said]:
        found = self.entries(place, value, (*_OF_STREAM, "types", "columns", "selectivities"))
        yield from self._measures(place, found, _OF_STREAM)
        yield from self._inner(place, found)
        for name, inner in self.entries(f"{place}.types", found.get("types", {})).items():
            at = f"{place}.types.{name}"
            typed = self.entries(at, inner, (*_OF_TYPE, "columns", "selectivities"))
            yield from self._measures(at, typed, _OF_TYPE, name)
            yield from self._inner(at, typed, name)

    def _inner(self, place: str, found: Mapping[str, object], type: str | None = None) -> Iterator[Said]:
        for name, value in self.entries(f"{place}.columns", found.get("columns", {})).items():
            at = f"{place}.columns.{name}"
            column = self.entries(at, value, (*_OF_COLUMN, *_RANGE))
            yield from self._measures(at, column, _OF_COLUMN, type, name)
            bounds = [self.number(f"{at}.{key}", column[key]) for key in _RANGE if key in column]
            if len(bounds) == 1:
                self.fail(at, "least and greatest belong together")
            if bounds:
                yield at, Statistic("RANGE", tuple(bounds), type, name)
        conditions = self.entries(f"{place}.selectivities", found.get("selectivities", {}))
        for text, value in conditions.items():
            at = f"{place}.selectivities.{json.dumps(text)}"
            number = self.number(at, value)
            try:
                yield at, Statistic("SELECTIVITY", (number,), type, condition=expression(text))
            except NeelError as error:
                self.fail(at, f"not a condition: {error.diagnostics[0].message}")

    def _measures(
        self,
        place: str,
        found: Mapping[str, object],
        measures: Mapping[str, str],
        type: str | None = None,
        column: str | None = None,
    ) -> Iterator[Said]:
        for key, measure in measures.items():
            if key in found:
                at = f"{place}.{key}"
                number = self.number(at, found[key])
                yield at, Statistic(measure, (number,), type, column, unit=_UNITS.get(measure))
