"""`neelc.replay`: events of the past as a stream, to test a streaming query on history.

The events are written to files, in the order in which they are to come, a file for each micro-batch; Spark's
file source reads one of them at a time. A watermark moves only when a later event comes, so that the last
matches would wait forever: a last row, far in the future, lets all of them out. It moves the watermark and
is dropped right after; no query sees it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neelc.api.schemas import columns_of
from neelc.api.streams import (
    TIME_OF,
    Frame,
    RegisteredStream,
    StreamData,
    as_data,
    is_frame,
    no_frame,
)
from neelc.catalog.catalog import clock_of, is_integer
from neelc.catalog.inputs import unit_of, watermark_of
from neelc.catalog.readers.text import likely_timestamp
from neelc.ir.names import find, quote
from neelc.ir.program import Column
from neelc.ir.types import TIMESTAMP
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.spark.expressions import as_number
from neelc.scalar.spark.trees import identifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BATCHES = 10
MOST_BATCHES = 100_000
MILLISECOND = 1000
AFTERWARDS = 100 * 365 * 86_400 * 1_000_000
"""How long after the last event the row comes that lets all matches out, in microseconds."""
LATEST = 9_214_646_400_000_000
"""It comes at the beginning of 2262 at the latest: pandas knows no times after April of that year."""

BATCH, MICROS, EVENT_TIME = "neelc batch", "neelc micros", "neelc event time"
"""Columns of replayed events, beside their own."""


def replay(
    data: DataFrame | StreamData | str,
    *,
    batches: int | None = None,
    shuffle_within: str | None = None,
    speed: float | None = None,
    watermark: str | None = None,
    timestamp: str | None = None,
    unit: str | None = None,
    flush: bool = True,
    seed: int = 0,
    directory: str | None = None,
) -> Any:
    """Events of the past as a streaming DataFrame, to test a streaming query on history.

    Parameters
    ----------
    data : DataFrame, str or StreamData
        A bounded DataFrame, the name of a table, a path, or `neelc.stream(...)` of one of these.
    batches : int, optional
        The number of micro-batches, all of the same size. Default: 10; with `speed`, one for each second.
    shuffle_within : str, optional
        An event comes up to so much later than events that happened after it, such as "10 seconds".
    speed : float, optional
        Let events come as they happened, so many times faster, beginning now. Default: all at once.
    watermark : str, optional
        The delay of the stream's watermark. Default: just long enough that no event is late.
    timestamp, unit : str, optional
        The column of the time, and the unit of integer times, as in `neelc.stream`.
    flush : bool, default True
        Whether the end of the stream lets all matches out, so that the result is that of the same query over
        `data`. Without it, those that wait for later events are not in the result.
    seed : int, default 0
        Draws which events `shuffle_within` delays.
    directory : str, optional
        A directory for the files of the stream that Python and Spark's workers share. Default: a temporary
        one of this machine. The files are removed when Python ends.

    Returns
    -------
    DataFrame or StreamData
        A streaming DataFrame; for `neelc.stream(...)`, that of one, with its settings.

    Examples
    --------
    >>> logins = spark.createDataFrame([(1, "ann"), (2, "ann")], "ts INT, user STRING")
    >>> stream = neelc.stream(neelc.replay(logins, unit="s"), unit="s")
    >>> text = "PATTERN SEQ(Login a, Login b) WHERE [user] WITHIN 1 MINUTE RETURN a.ts, b.ts"
    >>> matches = neelc.sql(spark, text, Login=stream)
    >>> query = matches.writeStream.format("memory").queryName("replayed").start()
    >>> query.processAllAvailable()
    >>> spark.table("replayed").collect()
    [Row(a_ts=1, b_ts=2)]
    >>> query.stop()
    """
    given = as_data(data)
    if not isinstance(given.data, str) and not is_frame(given.data):
        takes = no_frame(given.data, ", the name of a table or a path")
        raise TypeError(f"replay takes {takes}; streams without end run on Spark")
    frame = _bounded(given)
    time = _timestamp(frame, timestamp or given.timestamp)
    chosen = unit_of(unit or given.unit or "ms")
    if chosen is None:
        raise ValueError(f"replay: no unit {unit or given.unit}")
    delay = 0 if shuffle_within is None else watermark_of(shuffle_within)
    # An event at the watermark is late, and Spark's watermarks are whole milliseconds.
    waits = delay + MILLISECOND if watermark is None else watermark_of(watermark)
    _refuse_numbers(batches, speed)
    plan, files = ReplayPlan(frame, time, chosen, delay, waits, flush, seed), ReplayFiles.made(directory)
    times = plan.write(files, batches, speed)
    if speed is None:
        files.release()
    else:
        files.pace(_waits(frame.sparkSession, files, times.first, speed))
    made = plan.stream(files, times.last)
    if not isinstance(data, StreamData):
        return made
    return replace(given, data=made, format=None, options={}, watermark=None)


def _bounded(given: StreamData) -> Frame:
    """The DataFrame of what is replayed."""
    from neelc.api.notebook import active_session

    spark = active_session() if isinstance(given.data, str) else given.data.sparkSession
    if spark is None:
        raise ValueError("replay: no Spark session is active; begin with SparkSession.builder.getOrCreate()")
    found = RegisteredStream("replayed", given, spark)
    if found.is_streaming:
        raise ValueError("replay: takes bounded data, and this is a streaming DataFrame")
    return found.plain_frame


def _timestamp(frame: Frame, name: str | None) -> Column:
    """The column of the time."""
    columns = {column.name: column for column in columns_of(frame.schema)}
    found = find(name, columns) if name is not None else likely_timestamp(columns)
    if found is None:
        what = "which column is the timestamp? Say timestamp=COLUMN" if name is None else f"no column {name}"
        raise ValueError(f"replay: {what}; columns: {', '.join(columns)}")
    if clock_of(columns[found].type, "") is None:
        raise ValueError(f"replay: column {found} is of type {columns[found].type}, which is not a time")
    return columns[found]


def _refuse_numbers(batches: int | None, speed: float | None) -> None:
    if batches is not None and not 1 <= batches <= MOST_BATCHES:
        raise ValueError(f"replay: batches is a number from 1 to {MOST_BATCHES:,}, not {batches}")
    if speed is not None and not speed > 0:
        raise ValueError(f"replay: speed is a number above 0, not {speed}")


@dataclass(frozen=True, eq=False)
class ReplayPlan:
    """What is replayed, and how: an event comes up to `delay` late, and the stream `waits` for late ones.
    Both are in microseconds."""

    frame: Frame
    time: Column
    unit: str
    delay: int
    waits: int
    flush: bool
    seed: int

    @property
    def event_time(self) -> str:
        """The column that has the watermark: Spark takes TIMESTAMPs only."""
        return self.time.name if self.time.type == TIMESTAMP else EVENT_TIME

    @property
    def micros(self) -> str:
        """The time of an event, in microseconds since 1970."""
        name = identifier(self.time.name)
        if is_integer(self.time.type) and self.unit == "NANOSECOND":
            return f"CAST({name} AS BIGINT) DIV 1000"
        return as_number(name, self.time.type, self.unit, "MICROSECOND")

    def write(self, files: ReplayFiles, batches: int | None, speed: float | None) -> ReplayedTimes:
        """Write the files, and say which times they have. Spark sorts the events in one task."""
        from pyspark.sql import functions as F
        from pyspark.sql.window import Window

        events = self.frame.withColumn(MICROS, F.expr(self.micros))
        if self.event_time == EVENT_TIME:
            events = events.withColumn(EVENT_TIME, F.expr(f"timestamp_micros({quote(MICROS)})"))
        micros = F.col(quote(MICROS))
        count, first, last = events.agg(F.count("*"), F.min(micros), F.max(micros)).first()
        if not count:
            return ReplayedTimes(0, 0)
        cuts = batches or _batches(first, last, speed)
        late = F.floor(F.rand(self.seed) * self.delay) if self.delay else F.lit(0)
        place = F.row_number().over(Window.orderBy((micros + late).asc_nulls_first())) - 1
        numbered = events.withColumn(BATCH, F.floor(place * cuts / count))
        if self.flush and last is not None:
            numbered = numbered.unionByName(self._flush(last, cuts), allowMissingColumns=True)
        numbered.write.partitionBy(BATCH).parquet(files.prepared.as_uri())
        return ReplayedTimes(first or 0, last or 0)

    def _flush(self, last: int, batch: int) -> Frame:
        """The row after the last event: it has the time of the watermark and nothing else."""
        far = max(last, min(last + AFTERWARDS, LATEST))
        return self.frame.sparkSession.range(1).selectExpr(
            f"timestamp_micros({far}L) AS {quote(self.event_time)}",
            f"CAST({batch} AS BIGINT) AS {quote(BATCH)}",
        )

    def stream(self, files: ReplayFiles, last: int) -> Frame:
        """The files as a stream, without the row that ends it.

        Spark moves conditions to where the watermark has not seen a row yet, unless they are about its time.
        Conditions of queries would remove the row there; they are not moved past what is not deterministic.
        """
        from pyspark.sql.types import StructField, StructType, TimestampType

        fields = [StructField(one.name, one.dataType) for one in self.frame.schema.fields]
        hidden = [StructField(EVENT_TIME, TimestampType())] if self.event_time == EVENT_TIME else []
        reader = self.frame.sparkSession.readStream.schema(StructType([*fields, *hidden]))
        found = reader.option("maxFilesPerTrigger", 1).parquet(files.live.as_uri())
        if hidden:
            found = found.withMetadata(EVENT_TIME, {TIME_OF: self.time.name})
        time = quote(self.event_time)
        watermarked = found.withWatermark(time, f"{self.waits // MILLISECOND} milliseconds")
        return watermarked.where(
            f"({time} IS NULL OR unix_micros({time}) <= {last}L) AND spark_partition_id() >= 0"
        )


def _batches(first: int | None, last: int | None, speed: float | None) -> int:
    """By default as many micro-batches as seconds pass, where events come as they happened."""
    if speed is None or first is None or last is None:
        return BATCHES
    return max(1, min(int((last - first) / 1_000_000 / speed), MOST_BATCHES))


@dataclass(frozen=True)
class ReplayedTimes:
    """Of the first and of the last event, in microseconds."""

    first: int
    last: int


@dataclass(frozen=True, eq=False)
class ReplayFiles:
    """Where the events are: `prepared`, a directory for each micro-batch, and then `live`, where Spark
    looks."""

    prepared: Path
    live: Path

    @classmethod
    def made(cls, directory: str | None) -> ReplayFiles:
        base = Path(tempfile.mkdtemp(prefix="neelc-replay-", dir=directory)).resolve()
        # Not when the DataFrame is collected: a query that reads it may run without it.
        atexit.register(shutil.rmtree, base, ignore_errors=True)
        (base / "live").mkdir()
        return cls(base / "prepared", base / "live")

    def batches(self) -> list[Path]:
        """The files, those of the first micro-batch first."""
        return sorted(self.prepared.glob(f"{BATCH}=*/*.parquet"), key=lambda path: (_batch(path), path.name))

    def release(self) -> None:
        """Show Spark all files. It reads them by the times at which they were changed."""
        paths = self.batches()
        begin = time.time() - len(paths) / 1000
        for place, path in enumerate(paths):
            self._show(path, begin + place / 1000)

    def pace(self, waits: Mapping[int, float]) -> None:
        """Show Spark the files of each micro-batch so many seconds from now."""
        now = time.monotonic()

        def show_all() -> None:
            for path in self.batches():
                time.sleep(max(0.0, now + waits[_batch(path)] - time.monotonic()))
                if not path.exists():  # removed: Python ends
                    return
                self._show(path, time.time())

        threading.Thread(target=show_all, name="neelc replay", daemon=True).start()

    def _show(self, path: Path, changed: float) -> None:
        os.utime(path, (changed, changed))
        path.rename(self.live / f"{path.parent.name}-{path.name}")


def _batch(path: Path) -> int:
    return int(path.parent.name.rpartition("=")[2])


def _waits(spark: Frame, files: ReplayFiles, first: int, speed: float) -> dict[int, float]:
    """When each micro-batch is shown, in seconds from now: when its last event has happened."""
    from pyspark.sql import functions as F

    found = spark.read.parquet(files.prepared.as_uri()).groupBy(quote(BATCH)).agg(F.max(quote(MICROS)))
    waits, before = dict[int, float](), 0.0
    for batch, micros in sorted(found.collect()):
        before = before if micros is None else max(before, (micros - first) / 1_000_000 / speed)
        waits[batch] = before
    return waits
