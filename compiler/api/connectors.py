"""Where streams without end come from, and where their matches go: Kafka topics, directories, Delta tables.

A record that cannot be read is never skipped: it fails the run with its place, or goes to a directory of bad
records. Those are written by a query of their own, which reads the same records again, so that both outputs
have each record once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from neelc.api.schemas import ddl
from neelc.api.streams import Frame, fitted, text_columns
from neelc.engines.spark.scans import csv_options, value_of
from neelc.files import CallError, decode, read_bytes
from neelc.ir.names import bare
from neelc.ir.program import Column, Stream
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.spark.trees import alias, identifier

# Addresses.

KAFKA, DELTA, RATE, CONSOLE, FILES = "kafka", "delta", "rate", "console", "files"
RATE_COLUMNS = (Column("timestamp", TIMESTAMP), Column("value", BIGINT))
"""The columns of Spark's rate source."""


@dataclass(frozen=True)
class StreamAddress:
    """One end of a stream. `location` is the servers of Kafka, a directory, or rows per second; `settings`
    are options of Spark's source or sink."""

    kind: str
    location: str = ""
    topic: str = ""
    format: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.kind == KAFKA:
            return f"kafka://{self.location}/{self.topic}"
        if self.kind == RATE:
            return f"rate://{self.location}"
        return f"delta://{self.location}" if self.kind == DELTA else self.location or self.kind


def address_of(text: str, kinds: Iterable[str]) -> StreamAddress:
    """The address that a text spells, one of `kinds`; raises `CallError`.

    >>> address_of("kafka://a:9092,b:9092/payments", [KAFKA]).topic
    'payments'
    >>> address_of("rate", [RATE]).location, address_of("data/in", [FILES]).kind
    ('1', 'files')
    """
    scheme, separator, rest = text.partition("://")
    kind = scheme if separator else text if text in (RATE, CONSOLE) else FILES
    if separator and kind not in (KAFKA, DELTA, RATE):
        kind, rest = FILES, text  # a URL of a file system, such as s3://
    if kind not in kinds:
        raise CallError(f"{text}: not one of {', '.join(kinds)}")
    if kind == KAFKA:
        servers, _, topic = rest.partition("/")
        if not re.fullmatch(r"[^/:,]+:\d+(,[^/:,]+:\d+)*", servers) or not re.fullmatch(r"[\w.-]+", topic):
            raise CallError(f"{text}: not of the form kafka://host:port/topic")
        return StreamAddress(KAFKA, servers, topic)
    if kind == RATE:
        if not re.fullmatch(r"[1-9]\d*", rest or "1"):
            raise CallError(f"{text}: not of the form rate://ROWS-PER-SECOND")
        return StreamAddress(RATE, rest or "1")
    if kind == DELTA and not rest:
        raise CallError(f"{text}: not of the form delta://DIRECTORY")
    return StreamAddress(kind, "" if kind == CONSOLE else rest if kind == DELTA else text)


# What Spark loads for them.

SCALA = "2.13"
PACKAGES = {
    KAFKA: "org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark}",
    "avro": "org.apache.spark:spark-avro_{scala}:{spark}",
    DELTA: "io.delta:delta-spark_{short}_{scala}:latest.release",
}
DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
ALL_PACKAGES, ALL_JARS = "spark.jars.packages", "spark.jars"


def required(addresses: Iterable[StreamAddress]) -> list[str]:
    """The packages that Spark does not have by itself, by the names of `PACKAGES`."""
    found = dict.fromkeys(one.kind for one in addresses if one.kind in PACKAGES)
    found |= dict.fromkeys("avro" for one in addresses if one.format == "avro")
    return list(found)


def with_packages(settings: Mapping[str, str], needed: Sequence[str], version: str) -> dict[str, str]:
    """The settings of Spark with the packages that it needs and the caller has not named, for this version.

    >>> with_packages({}, ["kafka"], "4.1.0")
    {'spark.jars.packages': 'org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.0'}
    >>> with_packages({"spark.jars": "/lib/spark-sql-kafka-0-10_2.13-4.1.0.jar"}, ["kafka"], "4.1.0")
    {'spark.jars': '/lib/spark-sql-kafka-0-10_2.13-4.1.0.jar'}
    """
    found = dict(settings)
    here = f"{found.get(ALL_PACKAGES, '')},{found.get(ALL_JARS, '')}"
    short = ".".join(version.split(".")[:2])
    missing = [
        PACKAGES[name].format(scala=SCALA, spark=version, short=short)
        for name in needed
        if PACKAGES[name].split(":")[1].partition("_")[0] not in here
    ]
    if missing:
        found[ALL_PACKAGES] = ",".join([*filter(None, [found.get(ALL_PACKAGES)]), *missing])
    return DELTA_SETTINGS | found if DELTA in needed else found


def spark_version() -> str:
    """The version of the installed PySpark."""
    import pyspark

    return str(pyspark.__version__)


# Events.

MALFORMED = "__neelc_malformed"
SHOWN = 300
"""Characters of a record that a message shows."""
EARLIEST = {"startingOffsets": "earliest"}
FORMATS = {KAFKA: ("json", "avro"), FILES: ("json", "csv", "parquet")}


@dataclass(frozen=True)
class EventSource:
    """Where the events of a stream come from. `avro` is the schema of the writer, None: that of the declared
    columns. With `sets_aside`, bad records are left out of the events: `bad_records` has them."""

    stream: Stream
    address: StreamAddress
    avro: str | None = None
    sets_aside: bool = False

    @property
    def format(self) -> str:
        return self.address.format or "json"

    @property
    def has_records(self) -> bool:
        """Whether single records can be bad: those of other formats are checked file by file."""
        return self.address.kind in (KAFKA, FILES) and self.format in ("json", "avro")

    def events(self, spark: Frame) -> Frame:
        """The events, with the columns that the stream declares."""
        if self.address.kind == RATE:
            reader = spark.readStream.format("rate").option("rowsPerSecond", self.address.location)
            return fitted(_configured(reader, self.address.settings).load(), self.stream)
        if not self.has_records:
            return fitted(self._files(spark), self.stream)
        from pyspark.sql import functions as F

        decoded = self._decoded(spark)
        if self.sets_aside:
            kept = decoded.where("NOT malformed")
        else:
            failure = F.concat(
                F.lit(f"NEEL5090: stream `{self.stream.name}`: {self._complaint} ("),
                F.col("place"),
                F.lit("): "),
                F.translate(F.substring("record", 1, SHOWN), "\n\r", "  "),
            )
            event = F.when(F.col("malformed"), F.raise_error(failure)).otherwise(F.col("event"))
            kept = decoded.withColumn("event", event)
        return fitted(kept.select("event.*").drop(MALFORMED), self.stream)

    def bad_records(self, spark: Frame) -> Frame:
        """The records that cannot be read: which stream, where it was, and what it is."""
        from pyspark.sql import functions as F

        wrong = self._decoded(spark).where("malformed")
        return wrong.select(
            F.lit(self.stream.name).alias("stream"), "place", F.lit(self._complaint).alias("reason"), "record"
        )

    @property
    def _complaint(self) -> str:
        kind = {"json": "a JSON object", "avro": "an Avro record"}[self.format]
        return f"a record is not {kind} with the declared columns"

    def _decoded(self, spark: Frame) -> Frame:
        """`event`, `malformed`, and for people `record` and its `place`."""
        from pyspark.sql import functions as F

        columns = text_columns(self.stream)
        records = self._records(spark)
        if self.format == "avro":
            from pyspark.sql.avro.functions import from_avro

            schema = self.avro or avro_schema(columns)
            event = from_avro("value", schema, {"mode": "PERMISSIVE"})
            found = records.withColumn("event", event)
            # What cannot be decoded is a record of NULLs then.
            nulls = (f"event.{alias(column.name)} IS NULL" for column in columns)
            return found.withColumn("malformed", F.expr(" AND ".join(nulls)))
        schema = f"{ddl(columns)}, {MALFORMED} STRING"
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": MALFORMED}
        found = records.withColumn("event", F.from_json("record", schema, options))
        return found.withColumn(
            "malformed", F.col("event").isNull() | F.col(f"event.{MALFORMED}").isNotNull()
        )

    def _records(self, spark: Frame) -> Frame:
        """`record` as text, its `place` and, of Kafka, its `value`."""
        if self.address.kind == FILES:
            lines = _configured(spark.readStream.format("text"), self.address.settings)
            found = lines.load(self.address.location).where("trim(value) <> ''")
            return found.selectExpr("value AS record", "_metadata.file_path AS place")
        reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", self.address.location)
        reader = reader.option("subscribe", self.address.topic)
        found = _configured(reader, {**EARLIEST, **self.address.settings}).load()
        place = "concat('topic ', topic, ', partition ', partition, ', offset ', offset)"
        text = "hex(value)" if self.format == "avro" else "CAST(value AS STRING)"
        shown = f"IF(value IS NULL, 'no value', {text})"
        return found.selectExpr("value", f"{shown} AS record", f"{place} AS place")

    def _files(self, spark: Frame) -> Frame:
        """Files of other formats: Spark fails the run if one cannot be read."""
        columns, location = text_columns(self.stream), self.address.location
        reader = spark.readStream.option("mode", "FAILFAST")
        if self.format == "parquet":
            return _configured(reader, self.address.settings).schema(ddl(columns)).parquet(location)
        known = {"enforceSchema": "false", **csv_options(location, self.address.settings)}
        texts = ddl(Column(column.name, STRING) for column in columns)
        found = _configured(reader, known).schema(texts).csv(location)
        values = (value_of(column.name, column.type, self.stream.name) for column in columns)
        pairs = zip(values, columns, strict=True)
        return found.selectExpr(*(f"{value} AS {alias(column.name)}" for value, column in pairs))


def _configured(reader: Frame, settings: Mapping[str, str]) -> Frame:
    for key, value in settings.items():
        reader = reader.option(key, value)
    return reader


# Avro.

_AVRO: dict[DataType, Any] = {
    BOOLEAN: "boolean",
    TINYINT: "int",
    SMALLINT: "int",
    INT: "int",
    BIGINT: "long",
    FLOAT: "float",
    DOUBLE: "double",
    STRING: "string",
    BINARY: "bytes",
    DATE: {"type": "int", "logicalType": "date"},
    TIMESTAMP: {"type": "long", "logicalType": "timestamp-micros"},
    TIMESTAMP_NTZ: {"type": "long", "logicalType": "local-timestamp-micros"},
}


def avro_schema(columns: Iterable[Column], name: str = "event") -> str:
    """The schema of records with these columns, each of which may be null.

    >>> avro_schema([Column("id", BIGINT)])
    '{"type": "record", "name": "event", "fields": [{"name": "id", "type": ["null", "long"]}]}'
    """
    fields = [(column.name, column.type) for column in columns]
    return json.dumps(_avro_record(fields, name))


def _avro_record(fields: Iterable[tuple[str, DataType]], name: str) -> dict[str, Any]:
    made = [{"name": field, "type": ["null", _avro(type, f"{name}_{field}")]} for field, type in fields]
    return {"type": "record", "name": name, "fields": made}


def _avro(type: DataType, name: str) -> Any:
    match type:
        case Array(element):
            return {"type": "array", "items": ["null", _avro(element, name)]}
        case Map(_, value):
            return {"type": "map", "values": ["null", _avro(value, name)]}
        case Struct(fields):
            return _avro_record([(bare(one.name), one.type) for one in fields], name)
        case Decimal(precision, scale):
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
    if type not in _AVRO:
        raise CallError(f"format=avro: a column of type {type} has no form in Avro; name a schema=FILE")
    return _AVRO[type]


def avro_file(path: str) -> str:
    """The text of a schema; raises `CallError` if it is none."""
    text = decode(read_bytes(Path(path), path), path)
    try:
        json.loads(text)
    except ValueError as error:
        raise CallError(f"{path}: not a schema of Avro: {error}") from None
    return text


# Results.


@dataclass(frozen=True)
class Sink:
    """Where the rows of a query go, and how often: `trigger` is a length of time, None: as fast as possible.
    `once`: until all that is there now has been read."""

    address: StreamAddress
    format: str
    checkpoint: str
    trigger: str | None = None
    once: bool = False

    def start(self, frame: Frame, name: str, show: Callable[[Frame, int], None] | None = None) -> Any:
        """Start the query. `show` gets the rows of each micro-batch that go to the console."""
        written = self._rows(frame).writeStream.outputMode("append").queryName(name)
        written = written.option("checkpointLocation", self.checkpoint)
        if self.once:
            written = written.trigger(availableNow=True)
        elif self.trigger is not None:
            written = written.trigger(processingTime=self.trigger)
        if self.address.kind == CONSOLE:
            assert show is not None
            return written.foreachBatch(show).start()
        if self.address.kind == KAFKA:
            written = written.format("kafka").option("kafka.bootstrap.servers", self.address.location)
            written = written.option("topic", self.address.topic)
        else:
            kind = "delta" if self.address.kind == DELTA else self.format
            written = written.format(kind).option("path", self.address.location)
        options = {key: value for key, value in self.address.settings.items() if key != "key"}
        nulls = {"ignoreNullFields": "false"} if self.format == "json" else {}
        return _configured(written, {**nulls, **options}).start()

    def _rows(self, frame: Frame) -> Frame:
        """Kafka takes texts: each row is a JSON object."""
        if self.address.kind != KAFKA:
            return frame
        key = self.address.settings.get("key")
        keys = [] if key is None else [f"CAST({alias(key)} AS STRING) AS key"]
        return frame.selectExpr(*keys, "to_json(struct(*), map('ignoreNullFields', 'false')) AS value")


ROWS = "neelc rows"
"""The name of what is observed of the rows that are written."""


def observed(frame: Frame, with_example: bool) -> Frame:
    """The rows; Spark's progress reports for each micro-batch how many there were, and one of them, for
    which each is written as JSON."""
    from pyspark.sql import functions as F

    metrics = ["count(1) AS rows"]
    if with_example:
        fields = ", ".join(identifier(name) for name in frame.columns)
        metrics.append(f"max(to_json(struct({fields}))) AS example")
    return frame.observe(ROWS, *map(F.expr, metrics))
