"""Queries answered by Spark's Structured Streaming: events come in files, one for each micro-batch, out of
order."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
from like_spark import like_ours
from on_spark import Question, frame_of

import neelc
from neelc.api.query import run_source
from neelc.arguments import Options
from neelc.ir.program import Program, Stream
from neelc.ir.types import LENGTHS
from neelc.pipeline import compile_program
from neelc.runtime.reference import Result

Row = Mapping[str, Any]
FAR = 1_000_000
"""Milliseconds. An event without a type that comes last, so that the watermark passes all others."""


@dataclass(frozen=True)
class Replay:
    """How events come: in so many micro-batches, up to `disorder` milliseconds after events that happened
    later. The query waits `delay` milliseconds for them; if that is less, some are late. It is stopped in
    each of the micro-batches of `restarts`, and started again."""

    batches: int = 4
    delay: int = 3
    seed: int = 0
    restarts: frozenset[int] = frozenset()
    buckets: int = 3
    disorder: int | None = None


def with_watermark(program: Program, delay: int) -> Program:
    """The program, whose streams come at most so many milliseconds late."""

    def changed(stream: Stream) -> Stream:
        return stream if stream.producer else replace(stream, watermark=delay * 1000, is_streaming=True)

    queries = tuple(
        replace(named, query=replace(named.match, streams=tuple(map(changed, named.query.streams))))
        for named in program.queries
    )
    return Program(tuple(map(changed, program.streams)), queries)


def micro_batches(stream: Stream, rows: Sequence[Row], how: Replay) -> list[list[Row]]:
    """The events of a stream as they come."""
    chance = Random(how.seed)
    disorder = how.delay if how.disorder is None else how.disorder
    unit = units_in_millisecond(stream)
    ordered = sorted(rows, key=lambda row: row[stream.start] / unit + chance.uniform(0, disorder))
    size = max(1, -(-len(ordered) // how.batches))
    return [ordered[first : first + size] for first in range(0, len(ordered), size)]


def units_in_millisecond(stream: Stream) -> int:
    return LENGTHS["MILLISECOND"] // LENGTHS[stream.unit] or 1


def late_events(streams: Iterable[Stream], tables: Mapping[str, Sequence[Row]], how: Replay) -> list[Row]:
    """The events that start at the watermark of their micro-batch or before. Spark's watermark is that of the
    stream that is furthest behind, whole milliseconds, and does not fall; after a restart Spark knows how
    far all streams together had come, but not each of them."""
    known = {one.name: (one, micro_batches(one, tables[one.name], how)) for one in streams}
    found: list[Row] = []
    watermark, reached = 0, dict.fromkeys(known, 0)
    for number in range(max(len(batches) for _, batches in known.values())):
        if number in how.restarts:
            reached = dict.fromkeys(known, 0)
        for name, (stream, batches) in known.items():
            batch = batches[number] if number < len(batches) else []
            starts = [row[stream.start] // units_in_millisecond(stream) for row in batch]
            found += [row for row, start in zip(batch, starts, strict=True) if 0 < watermark >= start]
            reached[name] = max([reached[name], *(start - how.delay for start in starts)])
        watermark = max(watermark, min(reached.values()))
    return found


def write_batches(spark: Any, stream: Stream, rows: Sequence[Row], how: Replay, directory: Path) -> None:
    """The events of a stream as files, one for each micro-batch, and one more with the event that comes
    last. It comes last in all streams, even in those with few events: after a restart Spark does not know how
    far each of them had come, and the watermark of all would stay where it is."""
    last: dict[str, object] = {column.name: None for column in stream.columns}
    last |= {name: FAR * units_in_millisecond(stream) for name in (stream.start, stream.end) if name}
    batches: list[list[Row]] = micro_batches(stream, rows, how)
    batches += [[] for _ in range(how.batches - len(batches))]
    batches.append([last])
    table = frame_of(spark, stream, [row for batch in batches for row in batch]).toArrow()
    begin = 0
    for number, batch in enumerate(batches):
        path = directory / f"{number:03}.parquet"
        pq.write_table(table.slice(begin, len(batch)), path)
        os.utime(path, (number + 1, number + 1))
        begin += len(batch)


def streamed_result(spark: Any, question: Question, how: Replay) -> Result:
    """What a streaming query gives over the events of a question; raises `UnsupportedQuery`."""
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    program = with_watermark(question.program, how.delay)
    compiled = compile_program(program, -1, Options(streaming=True, buckets=how.buckets))
    streams = {one.name: one for one in question.streams}
    with tempfile.TemporaryDirectory(prefix="neelc-stream-") as place:
        root = Path(place)
        for name, stream in streams.items():
            (root / name).mkdir()
            write_batches(spark, stream, list(question.tables[name]), how, root / name)

        def build() -> Any:
            return run_source(compiled.source, spark, dict(read(spark, root, streams)), compiled.aggregates)

        rows = list(run_to_the_end(build, root, how))
    columns = question.columns
    values = [tuple(like_ours(v, c.type) for v, c in zip(row, columns, strict=True)) for row in rows]
    return Result(columns, values)


def read(spark: Any, root: Path, streams: dict[str, Stream]) -> Iterator[tuple[str, Any]]:
    for name in streams:
        schema = spark.read.parquet(str(root / name)).schema
        yield name, spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(root / name))


def run_to_the_end(build: Callable[[], Any], root: Path, how: Replay) -> Iterator[Any]:
    """The rows that a query gives; it goes on from its checkpoint after each restart."""
    found: list[Any] = []

    def keep(frame: Any, number: int) -> None:
        rows = frame.collect()
        if number in how.restarts and number not in stopped:
            stopped.add(number)  # the batch has run, and is not committed: it runs again
            raise Stopped
        found.extend(rows)

    stopped: set[int] = set()
    while True:
        query = (
            build()
            .writeStream.foreachBatch(keep)
            .option("checkpointLocation", str(root / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
        except Exception as error:
            if "Stopped" not in str(error):
                raise
            continue
        return iter(found)


class Stopped(Exception):
    """A query is stopped in the middle of a micro-batch."""


class StreamedFiles:
    """A directory of JSON files, which become micro-batches one after the other, and a query over them."""

    def __init__(self, spark: Any, directory: Path, name: str, schema: str) -> None:
        self.spark, self.directory, self.name, self.schema = spark, directory, name, schema
        self.rows: list[tuple[object, ...]] = []
        self.files = count()
        self.query: Any = None
        (directory / "in").mkdir()
        spark.conf.set("spark.sql.shuffle.partitions", "2")  # each costs time in every micro-batch

    def frame(self) -> Any:
        reader = self.spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1)
        return reader.json(str(self.directory / "in"))

    def start(self, text: str, **given: Any) -> None:
        """Start a query; it goes on from the checkpoint, if there is one. `given` are more arguments."""
        self.run(neelc.sql(self.spark, text, **{self.name: self.frame()}, **given))

    def run(self, frame: Any) -> None:
        """Start a query that has been compiled."""
        writer = frame.writeStream.foreachBatch(lambda rows, _: self.rows.extend(map(tuple, rows.collect())))
        self.query = writer.option("checkpointLocation", str(self.directory / "checkpoint")).start()

    def come(self, *values: tuple[object, ...]) -> list[tuple[object, ...]]:
        """What a micro-batch with these rows gives, and the empty one after it."""
        names = [field.split()[0] for field in self.schema.split(", ")]
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in values]
        number = next(self.files)
        hidden = self.directory / "in" / f".{number}"
        hidden.write_text("\n".join(lines))
        hidden.rename(self.directory / "in" / f"{number:03}.json")
        self.rows.clear()
        self.query.processAllAvailable()
        return sorted(self.rows)

    def metric(self, name: str) -> int:
        """The sum of a number over all micro-batches."""
        return sum(self._metrics(name))

    def last_metric(self, name: str) -> int:
        """A number of the last micro-batch."""
        return self._metrics(name)[-1]

    def _metrics(self, name: str) -> list[int]:
        seen = (progress.observedMetrics.get("neelc") for progress in self.query.recentProgress)
        return [int(row[name]) for row in seen if row is not None]

    def stop(self) -> None:
        if self.query is not None:
            self.query.stop()
