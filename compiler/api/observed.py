"""What Spark notices about the events of a stream while it reads them for a query: no job is run for it.

A pattern whose types are misspelt finds nothing, and says nothing. So neelc notes, in passing, which of its
types events have: with an observation of Spark's, whose facts are aggregates. Spark computes those
row by row, so that facts are few. An observation also keeps conditions from being pushed into what it
observes: where a source makes use of them, as Parquet does, it is left out, unless requested.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from neelc.api.streams import Frame
from neelc.catalog.data_warnings import TypesSeen
from neelc.ir.names import bare, find, is_quoted, written
from neelc.ir.program import Stream
from neelc.ir.types import BIGINT, INT, SMALLINT, STRING, TINYINT
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.spark.trees import identifier, literal

MOST_TYPES = 62
"""How many types fit into a BIGINT, one bit each."""
SPELT = 8
"""For how many types similar names are searched."""
WAIT = 10.0
"""Seconds to wait for what was observed, after an action."""

Values = Mapping[str, Any]


@dataclass
class StreamObservations:
    """The observations of the streams of one query; `used` are the types that it names, by stream. With
    `everything`, names that are nearly those of types are noted, too, and the first and the last time: that
    takes more time than to read the events of a CSV file."""

    used: Mapping[str, tuple[str, ...]]
    everything: bool = False
    _observations: dict[str, Any] = field(default_factory=dict)
    _values: dict[str, Values] = field(default_factory=dict)

    def on(self, frame: Frame, stream: Stream) -> Frame:
        """The DataFrame, observed; itself if there is nothing to notice."""
        used = self.used.get(stream.name, ())
        facts = dict(_type_facts(frame, stream, used))
        if self.everything:
            facts |= {**dict(_name_facts(frame, stream, used)), **dict(_time_facts(frame, stream))}
        if not facts:
            return frame
        from pyspark.sql import Observation
        from pyspark.sql.functions import expr

        self._observations[stream.name] = Observation()
        self._values.pop(stream.name, None)
        columns = [expr(text).alias(name) for name, text in facts.items()]
        return frame.observe(self._observations[stream.name], *columns)

    @property
    def is_empty(self) -> bool:
        return not self._observations

    def values(self, wait: float = WAIT) -> dict[str, Values]:
        """What was observed in the first action, by stream; nothing of those that none has read. Where Spark
        found out that it need not read a stream to its end, there are no facts."""
        for name in self._observations.keys() - self._values.keys():
            found = got(self._observations[name], wait)
            if found is not None:
                self._values[name] = found
        return dict(self._values)

    def types(self, wait: float = WAIT) -> dict[str, TypesSeen]:
        """The types that were seen, by stream, where they are known."""
        return {
            name: _types(values, self.used.get(name, ()))
            for name, values in self.values(wait).items()
            if "loose" in values
        }

    def ties(self) -> int:
        """How many events are known to have the time of another one of their key, where that matters. Spark
        would have to group all events for it: nothing is known."""
        return 0

    def times(self, wait: float = WAIT) -> dict[str, tuple[int, int]]:
        """The least and the greatest time of streams whose times are integers."""
        found = ((name, one.get("least"), one.get("greatest")) for name, one in self.values(wait).items())
        return {name: (least, most) for name, least, most in found if least is not None and most is not None}


def got(observation: Any, wait: float) -> Values | None:
    """What was observed; None if there was no action yet. Asking waits for one: it is done in a thread."""
    found: list[Values] = []

    def ask() -> None:
        try:
            found.append(observation.get)
        except Exception:  # Spark has dropped what was observed, and returns nothing
            found.append({})

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(wait)
    return found[0] if found else None


def _type_facts(frame: Frame, stream: Stream, used: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Which types events have, as bits: names of facts, and aggregates that compute them in one pass."""
    column = _type_column(frame, stream)
    if column is not None and 0 < len(used) <= MOST_TYPES:
        yield (
            "loose",
            _bits(f"lower({column})", {n: v.lower() for n, v in enumerate(used) if not is_quoted(v)}),
        )
        exact = {place: bare(value) for place, value in enumerate(used) if is_quoted(value)}
        if exact:
            yield "exact", _bits(column, exact)


def _bits(column: str, values: Mapping[int, str]) -> str:
    """The bits of the values that a column has; NULL if there are no rows.

    >>> _bits("kind", {0: "A", 2: "B"}), _bits("kind", {})
    ("bit_or(CASE kind WHEN 'A' THEN 1L WHEN 'B' THEN 4L ELSE 0L END)", 'bit_or(0L)')
    """
    whens = "".join(f" WHEN {literal(text, STRING)} THEN {2**place}L" for place, text in values.items())
    return f"bit_or(CASE {column}{whens} ELSE 0L END)" if values else "bit_or(0L)"


def _name_facts(frame: Frame, stream: Stream, used: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Names of types that are nearly the same as those of the query."""
    column = _type_column(frame, stream)
    if column is not None and 0 < len(used) <= SPELT:
        near = " OR ".join(f"({_is_near(column, value)})" for value in used)
        yield "names", f"collect_set(IF({near}, {column}, NULL))"


def _type_column(frame: Frame, stream: Stream) -> str | None:
    found = find(written(stream.type_column), map(written, frame.columns)) if stream.type_column else None
    return None if found is None else identifier(bare(found))


def _time_facts(frame: Frame, stream: Stream) -> Iterator[tuple[str, str]]:
    """What is to be known of times that are integers."""
    time = find(written(stream.start), map(written, frame.columns))
    kind = next((column.type for column in stream.columns if column.name == stream.start), None)
    if time is not None and kind in (TINYINT, SMALLINT, INT, BIGINT):
        number = f"try_cast({identifier(bare(time))} AS BIGINT)"
        yield "least", f"min({number})"
        yield "greatest", f"max({number})"


def _is_near(column: str, value: str) -> str:
    """Whether the name of a type is nearly the same. Few names are, so that a set of them stays small."""
    text = bare(value).lower()
    most = 2 if len(text) < 9 else 3  # two letters that have changed places count as two
    near = f"levenshtein(lower({column}), {literal(text, STRING)}, {most}) >= 0"
    return f"abs(length({column}) - {len(text)}) <= {most} AND {near}"


def _types(values: Values, used: tuple[str, ...]) -> TypesSeen:
    """
    >>> _types({"loose": 0b01, "exact": 0b100, "names": ["C", "c"]}, ("A", "B", "`C`"))
    TypesSeen(is_empty=False, absent=frozenset({'B'}), others=('C', 'c'))
    >>> _types({"loose": None}, ("A",)).is_empty
    True
    """
    bits = (values["loose"] or 0) | (values.get("exact") or 0)
    absent = frozenset(value for place, value in enumerate(used) if not bits & 2**place)
    return TypesSeen(values["loose"] is None, absent, tuple(sorted(map(str, values.get("names") or ()))))
