"""Statistics in a JSON file: the same as WITH STATS can say, for any stream and any named query.

The format is in docs/reference/statistics.md.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NoReturn

from neelc.catalog.statistics.declared import misfits, resolved
from neelc.catalog.statistics.numbers import KnownStatistic, known
from neelc.errors import NeelError
from neelc.files import CallError
from neelc.ir.names import find
from neelc.ir.program import Program, Stream
from neelc.ir.script import Statistic
from neelc.syntax import expression

# JSON read with care: whatever is not as expected is reported with its place in the file.


class JsonFile:
    """A file called `name`. Every question gives up, with a `CallError`, at the first place that is wrong."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fail(self, place: str, message: str) -> NoReturn:
        raise CallError(f"{self.name}: {place + ': ' if place else ''}{message}")

    def load(self, text: str) -> object:
        try:
            return json.loads(
                text,
                parse_int=Decimal,
                parse_float=Decimal,
                parse_constant=lambda word: self.fail("", f"{word} is not a number"),
                object_pairs_hook=self._once,
            )
        except json.JSONDecodeError as error:
            self.fail("", f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})")
        except RecursionError:
            self.fail("", "nested too deeply")

    def _once(self, pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, value in pairs:
            if key in found:
                self.fail("", f"the key {json.dumps(key)} occurs twice in one object")
            found[key] = value
        return found

    def entries(self, place: str, value: object, keys: Sequence[str] = ()) -> dict[str, object]:
        """The value, which must be an object; with these keys only, if they are given."""
        if not isinstance(value, dict):
            self.fail(place, f"an object is expected, found {_shown(value)}")
        for key in value if keys else ():
            if key not in keys:
                close = difflib.get_close_matches(key, keys, 1)
                hint = f"did you mean {close[0]}?" if close else f"keys: {', '.join(keys)}"
                self.fail(place, f"no key {json.dumps(key)} belongs here; {hint}")
        return value

    def number(self, place: str, value: object) -> Decimal:
        if not isinstance(value, Decimal):
            self.fail(place, f"a number is expected, found {_shown(value)}")
        if not math.isfinite(float(value)):
            self.fail(place, f"{_shown(value)} is too large")
        return value


def _shown(value: object) -> str:
    """What stands in the file, cut if it is long.

    >>> _shown("many"), _shown({"a": Decimal(1)})
    ('"many"', 'an object')
    """
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}..."


# Keys that hold a number, and the measures they are.
_OF_STREAM = {"events": "EVENTS", "events_per_second": "RATE", "seconds": "SPAN"}
_OF_TYPE = {"events": "EVENTS", "events_per_second": "RATE", "share": "SHARE"}
_OF_COLUMN = {"distinct": "DISTINCT", "nulls": "NULLS", "most_frequent": "MOST FREQUENT"}
_RANGE = ("least", "greatest")
_UNITS = {"RATE": "SECOND", "SPAN": "SECOND"}

# A place in the file, and what it states.
Said = tuple[str, Statistic]


def streams_of(program: Program) -> dict[str, Stream]:
    """The declared streams, and the named queries that serve as streams, by name."""
    used = (stream for query in program.queries for stream in query.query.streams)
    return {stream.name: stream for stream in (*program.streams, *used)}


def statistics_in(
    text: str, name: str, streams: Mapping[str, Stream]
) -> tuple[tuple[KnownStatistic, ...], tuple[str, ...]]:
    """What a file, called `name`, says about the streams of a program; and notes about what it says in vain.

    Raises `CallError` with a sentence and the place in the file when it is malformed, or says what cannot be.
    """
    reader = _Reader(name)
    whole = reader.entries("", reader.load(text), ("streams", "queries"))
    found: list[KnownStatistic] = []
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
            reader.fail(place, f"stream {stream.name} occurs twice in the file")
        stated = list(reader.stream(place, value))
        for misfit in misfits(stream, [statistic for _, statistic in stated]):
            at = next(place for place, statistic in stated if statistic is misfit.statistic)
            reader.fail(at, misfit.message + (f"; {misfit.hint}" if misfit.hint else ""))
        found += known(stream.name, resolved(stream, [statistic for _, statistic in stated]), "file")
    for name_of_query, rows in reader.queries(whole.get("queries", {})):
        # What a query has found are the events of those that read it; of the others it is for people.
        stream_name = find(name_of_query, streams)
        if stream_name is not None and not any(one.stream == stream_name for one in found):
            found.append(KnownStatistic(stream_name, "EVENTS", float(rows), "file"))
    return tuple(found), tuple(notes)


class _Reader(JsonFile):
    """A file of statistics: places in it, and what it states."""

    def stream(self, place: str, value: object) -> Iterator[Said]:
        found = self.entries(place, value, (*_OF_STREAM, "types", "columns", "selectivities"))
        yield from self._measures(place, found, _OF_STREAM)
        yield from self._inner(place, found)
        for name, inner in self.entries(f"{place}.types", found.get("types", {})).items():
            at = f"{place}.types.{name}"
            typed = self.entries(at, inner, (*_OF_TYPE, "columns", "selectivities"))
            yield from self._measures(at, typed, _OF_TYPE, name)
            yield from self._inner(at, typed, name)

    def queries(self, value: object) -> Iterator[tuple[str, Decimal]]:
        """The rows of queries, by name."""
        for name, inner in self.entries("queries", value).items():
            at = f"queries.{name}"
            found = self.entries(at, inner, ("rows",))
            if "rows" in found:
                rows = self.number(f"{at}.rows", found["rows"])
                if rows < 0:
                    self.fail(f"{at}.rows", f"at least 0, not {rows}")
                yield name, rows

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
