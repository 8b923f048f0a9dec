"""Queries answered by Spark, many in one job: for each query a column of structs, its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from bench.baselines import plan_nested
from like_spark import like_ours, widest
from like_spark import spark_type as type_text

from neelc.api.query import run_source
from neelc.arguments import ExecutionStrategy, Options
from neelc.engines.spark.compiled import CompiledScript
from neelc.errors import NeelError
from neelc.ir.algebra import Algebra
from neelc.ir.names import bare
from neelc.ir.program import Column, Program, Stream, streams_read
from neelc.ir.types import Array, DataType, Map, Struct, stored
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pipeline import compile_program
from neelc.runtime.reference import Result, Tables
from neelc.runtime.values.times import in_zone
from neelc.scalar.spark.trees import identifier, spark_type
from neelc.tools.cases.local import columns_of

TOGETHER = 25
"""Queries in one job. A plan of many takes longer to make than several of some."""


@dataclass(frozen=True)
class Question:
    """The last query of a script, run over streams; `name` is for people."""

    name: str
    program: Program
    tables: Tables
    zone: str = "UTC"

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams that its queries read, each once."""
        return tuple(streams_read(self.program, range(len(self.program.queries))).values())

    @property
    def columns(self) -> tuple[Column, ...]:
        return columns_of(self.program)


@dataclass(frozen=True)
class Refusal:
    """Why a strategy does not execute a query."""

    why: str


@dataclass(frozen=True)
class Asking:
    """How a query runs on Spark: the events come in this many partitions, in the order of `seed`, and go into
    `shuffled` ones; Python gets `batch` rows at a time. With `chunks`, time is cut even where there is a
    key."""

    strategy: str | None = None
    partitions: int | None = None
    seed: int | None = None
    shuffled: int = 2
    batch: int = 10_000
    chunks: bool | None = None


@contextmanager
def configured(spark: Any, asking: Asking) -> Iterator[None]:
    """The session for a moment as `asking` wants it."""
    settings = {
        "spark.sql.shuffle.partitions": str(asking.shuffled),
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(asking.batch),
        # It would make one partition of all, and plan a job of many queries anew after each of them.
        "spark.sql.adaptive.enabled": "false",
        # Tables are tiny here: every join would be a broadcast.
        "spark.sql.autoBroadcastJoinThreshold": "-1",
    }
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@contextmanager
def clock(spark: Any, zone: str) -> Iterator[None]:
    """The session, and what is read and compared here, in a time zone."""
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        with in_zone(zone):
            yield
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def compiled(question: Question, asking: Asking) -> CompiledScript | Refusal:
    """The query, or why the strategy does not execute it."""
    nested = asking.strategy == "nested"
    options = Options(
        ExecutionStrategy(asking.strategy) if asking.strategy and not nested else None, chunks=asking.chunks
    )
    try:
        return compile_program(question.program, -1, options, planner=plan_nested if nested else None)
    except (UnsupportedQuery, NeelError) as refusal:
        return Refusal(refusal.what if isinstance(refusal, UnsupportedQuery) else str(refusal))


def built(spark: Any, question: Question, found: CompiledScript, asking: Asking) -> Any:
    """The DataFrame of a query; nothing runs."""
    return run_source(found.source, spark, frames(spark, question, asking), found.aggregates)


def frames(spark: Any, question: Question, asking: Asking) -> dict[str, Any]:
    """The streams of the script as DataFrames, by name."""
    found = {}
    for stream in question.streams:
        rows = list(question.tables[stream.name])
        if asking.seed is not None:
            Random(asking.seed).shuffle(rows)
        frame = frame_of(spark, stream, rows)
        found[stream.name] = frame if asking.partitions is None else frame.repartition(asking.partitions)
    return found


def frame_of(spark: Any, stream: Stream, rows: Sequence[Mapping[str, object]]) -> Any:
    """A table with the columns of a stream."""
    schema = ", ".join(
        f"{identifier(column.name)} {spark_type(column.type)}" for column in stream.own_columns
    )
    values = [tuple(like_spark(row[c.name], c.type) for c in stream.own_columns) for row in rows]
    return spark.createDataFrame(values, schema)


def like_spark(value: Any, type: DataType) -> object:
    """A value of the reference interpreter as PySpark is given it."""
    match type, value:
        case _, None:
            return None
        case Array(element), _:
            return [like_spark(item, element) for item in value]
        case Map(_, item_type), _:
            return {key: like_spark(item, item_type) for key, item in value.items()}
        case Struct(fields), _:
            return tuple(like_spark(value[bare(f.name)], f.type) for f in fields)
    return value


def ask(
    spark: Any, questions: Sequence[Question], asking: Asking, together: int = TOGETHER
) -> Iterator[tuple[Question, Result | Refusal | str]]:
    """Each question with its result, why it has none, or the text of what went wrong."""
    waiting: list[tuple[Question, Any]] = []
    with configured(spark, asking):
        for question in questions:
            found = compiled(question, asking)
            if isinstance(found, Refusal):
                yield question, found
                continue
            try:
                frame = built(spark, question, found, asking)
                check_columns(question, frame)
                waiting.append((question, frame))
            except Exception as error:  # whatever it is, it belongs to this question
                yield question, f"{type(error).__name__}: {str(error)[:1500]}"
            if len(waiting) == together:
                yield from answered(waiting)
                waiting = []
        yield from answered(waiting)


def answered(questions: Sequence[tuple[Question, Any]]) -> Iterator[tuple[Question, Result | str]]:
    """What the DataFrames hold, found in one job; if that fails, each in a job of its own."""
    try:
        results: list[Result | str] = list(answers(questions)) if questions else []
    except Exception as error:
        if len(questions) > 1:
            for one in questions:
                yield from answered([one])
            return
        results = [f"{type(error).__name__}: {str(error)[:1500]}"]
    for (question, _), result in zip(questions, results, strict=True):
        yield question, result


def check_columns(question: Question, frame: Any) -> None:
    """The names and types of a DataFrame are those that the binder found."""
    found = [(field.name, widest(field.dataType.simpleString())) for field in frame.schema]
    expected = [(column.name, type_text(stored(column.type))) for column in question.columns]
    assert found == expected, f"columns {found} instead of {expected}"


def answers(questions: Sequence[tuple[Question, Any]]) -> Iterator[Result]:
    """What each of the DataFrames holds: a column for each of them, and a row for each of its rows."""
    kinds = [f"STRUCT<{_fields(question.columns)}>" for question, _ in questions]
    selected = []
    for number, (_, frame) in enumerate(questions):
        nothing = [f"CAST(NULL AS {kind}) AS q{place}" for place, kind in enumerate(kinds)]
        nothing[number] = f"struct(*) AS q{number}"
        plain = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
        selected.append(plain.selectExpr(f"{number} AS question", *nothing))
    rows: list[list[Any]] = [[] for _ in questions]
    for row in union(selected).collect():
        rows[row.question].append(row[row.question + 1])
    for (question, _), found in zip(questions, rows, strict=True):
        columns = question.columns
        values = [tuple(like_ours(v, c.type) for v, c in zip(row, columns, strict=True)) for row in found]
        is_algebra = isinstance(question.program.queries[-1].query, Algebra)
        yield Result(columns, values, has_valid_time=is_algebra)


def union(frames: Sequence[Any]) -> Any:
    """The rows of all DataFrames. Spark analyses each union with all that is in it: one of halves, not of all
    before and one more."""
    if len(frames) == 1:
        return frames[0]
    middle = len(frames) // 2
    return union(frames[:middle]).unionAll(union(frames[middle:]))


def _fields(columns: Sequence[Column]) -> str:
    return ", ".join(f"c{place}: {spark_type(column.type)}" for place, column in enumerate(columns))
