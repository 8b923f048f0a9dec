"""The events of a picture, from Spark: all of them, or as many as a picture shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from neelc.api.streams import Frame
from neelc.api.values import values_of
from neelc.api.why import time_literal
from neelc.emit.literals import alias, identifier
from neelc.ir.logical import Clock, Column, Stream
from neelc.ir.types import BIGINT
from neelc.report.choosing import chosen_part, cut, hashable
from neelc.report.picture import Lane, Shown
from neelc.runtime.reference.events import in_order, read_events
from neelc.runtime.reference.model import Event

COUNT = Column("count", BIGINT)


class DrawnEvents:
    """The streams of a query, as DataFrames that hold their columns; `clock` is that of the query."""

    def __init__(
        self, spark: Frame, streams: Sequence[Stream], frames: Mapping[str, Frame], clock: Clock
    ) -> None:
        self.spark = spark
        self.streams = streams
        self.clock = clock
        self.frames = {stream.name: _valid(frames[stream.name], stream) for stream in streams}

    def shown(self, keys: Mapping[str, Sequence[str]], matched: Mapping[Lane, int], most: int) -> Shown:
        """All events if there are no more than `most`, else those of some lanes: those with matches first."""
        total = sum(int(frame.count()) for frame in self.frames.values())
        if total <= most:
            return Shown(self._events(self.frames), total)
        if not keys:
            since = min(matched.values(), default=None)
            return cut(self._events(self.frames, since, most), total, None, since, most)
        counts, lanes = self._counts(keys, matched, most)
        part = chosen_part(counts, matched, most)
        frames = {name: self._of_lanes(name, part.lanes, keys.get(name, ())) for name in self.frames}
        if sum(counts[lane] for lane in part.lanes) <= most:
            return Shown(self._events(frames), total, lanes)
        return cut(self._events(frames, part.since, most), total, lanes, part.since, most)

    def _events(
        self, frames: Mapping[str, Frame], since: int | None = None, most: int | None = None
    ) -> tuple[Event, ...]:
        """The events of these DataFrames; of each, the first `most` that start at `since` or later."""
        found: list[Event] = []
        for stream in self.streams:
            frame = frames[stream.name]
            if since is not None:
                frame = frame.where(
                    f"{identifier(stream.start)} >= {time_literal(since, stream, self.clock)}"
                )
            if most is not None:
                frame = frame.orderBy(alias(stream.start)).limit(most)
            names = [column.name for column in stream.columns]
            rows = [dict(zip(names, row, strict=True)) for row in values_of(frame.collect(), stream.columns)]
            found += read_events(stream, rows, self.clock)
        return in_order(found)

    def _counts(
        self, keys: Mapping[str, Sequence[str]], matched: Mapping[Lane, int], most: int
    ) -> tuple[dict[Lane, int], int | None]:
        """The events of lanes, those with matches first, at most `most` lanes; and how many there are."""
        counts: dict[Lane, int] = {}
        lanes = 0
        for stream in self.streams:
            names = keys.get(stream.name, ())
            # Columns of the stream may have any name, such as `count`.
            places = [f"key_{place}" for place in range(len(names))]
            renamed = [f"{identifier(name)} AS {place}" for name, place in zip(names, places, strict=True)]
            frame = self.frames[stream.name]
            grouped = (frame.selectExpr(*renamed) if names else frame).groupBy(*places).count()
            lanes += int(grouped.count())
            first = self._matched_first(grouped, places, matched).limit(most) if names else grouped
            columns = [*(column for name in names for column in stream.columns if column.name == name), COUNT]
            for *lane, number in values_of(first.collect(), columns):
                key = hashable(tuple(lane))
                counts[key] = counts.get(key, 0) + int(str(number))
        return counts, lanes if len(self.streams) == 1 else None

    def _matched_first(self, grouped: Frame, names: Sequence[str], matched: Mapping[Lane, int]) -> Frame:
        from pyspark.sql import functions as F

        known = self._lanes(grouped, names, list(matched))
        joined = grouped.join(known, _same(grouped, known, names), "left")
        return joined.orderBy(F.col("lane_is").isNull(), *map(alias, names)).select(
            *map(alias, grouped.columns)
        )

    def _of_lanes(self, name: str, lanes: Sequence[Lane], names: Sequence[str]) -> Frame:
        frame = self.frames[name]
        if not names:
            return frame if () in lanes else frame.limit(0)
        known = self._lanes(frame, names, lanes)
        return frame.join(known, _same(frame, known, names), "left_semi")

    def _lanes(self, frame: Frame, names: Sequence[str], lanes: Sequence[Lane]) -> Frame:
        """Lanes as a DataFrame. Those whose values are nested are not compared: they come last."""
        plain = [
            (*lane, True)
            for lane in lanes
            if lane and not any(isinstance(v, tuple | frozenset) for v in lane)
        ]
        types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
        columns = [f"lane_{place} {types[name]}" for place, name in enumerate(names)]
        return self.spark.createDataFrame(plain, ", ".join([*columns, "lane_is BOOLEAN"]))


def _same(left: Frame, right: Frame, names: Sequence[str]) -> Frame:
    """NULL is a key like others."""
    pairs = (left[alias(name)].eqNullSafe(right[f"lane_{place}"]) for place, name in enumerate(names))
    return reduce(lambda one, other: one & other, pairs)


def _valid(frame: Frame, stream: Stream) -> Frame:
    """The columns of the stream; rows without a time, or that end before they start, are no events."""
    start, last = (identifier(name) for name in (stream.start, stream.latest or stream.end or stream.start))
    columns = [alias(column.name) for column in stream.columns]
    return frame.select(*columns).where(f"{start} <= {last}")
