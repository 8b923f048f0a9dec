"""`neelc stream`: the matches of a script over streams without end, as the events come."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from neelc.arguments import Options
from neelc.catalog.data_files import is_url
from neelc.catalog.inputs import GivenStream, Inputs
from neelc.catalog.location import Location
from neelc.cli.options import (
    SETTINGS,
    add_inputs,
    add_rules,
    add_spark,
    add_timezone,
    has_rules,
    settings_of,
    with_timezone,
)
from neelc.cli.output import check_page, scripts_of
from neelc.cli.progress import clear_line, write_line
from neelc.cli.run import codes_of
from neelc.errors import Diagnostic, NeelError
from neelc.files import CallError, read_source, write_whole
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source, Span
from neelc.tools.report.live import BatchNumbers, LivePage

if TYPE_CHECKING:
    from neelc.api.connectors import EventSource, Sink, StreamAddress
    from neelc.engines.spark.compiled import CompiledScript
    from neelc.ir.program import Program, Stream

DESCRIPTION = """Run the last query of a script, or the one named by --query, over unbounded streams with
Spark Structured Streaming. Given several scripts, a directory or --all, run all queries and return one table.
Each match is written once, as soon as no later event can revoke it. Ctrl-C stops after the current
micro-batch; run the same command with the same --checkpoint to continue. Kafka, Avro and Delta require Spark
packages, which are downloaded on first use; choose others with --conf spark.jars or --conf
spark.jars.packages."""

EXAMPLES = """examples:
  neelc stream fraud.neel --stream Bank=kafka://localhost:9092/bank --checkpoint state --out alerts
  neelc stream fraud.neel --stream Bank=kafka://localhost:9092/bank,format=avro,schema=bank.avsc \\
    --checkpoint state --out kafka://localhost:9092/alerts --trigger '5 seconds' --bad-records bad
  neelc stream fraud.neel --stream Bank=incoming/ --checkpoint state --out delta://alerts --once
  neelc stream rules/ --stream Bank=kafka://localhost:9092/bank --checkpoint state --out alerts
  neelc stream pairs.neel --stream Ticks=rate://1000 --report pairs.html
"""

OUT_FORMATS = ("json", "parquet", "csv")
TRIGGER = re.compile(r"\d+ (millisecond|second|minute|hour)s?", re.IGNORECASE)

SOURCE_SETTINGS = {
    "kafka": (
        "startingOffsets",
        "startingTimestamp",
        "maxOffsetsPerTrigger",
        "minOffsetsPerTrigger",
        "maxTriggerDelay",
        "minPartitions",
        "failOnDataLoss",
        "groupIdPrefix",
    ),
    "files": (
        "maxFilesPerTrigger",
        "maxBytesPerTrigger",
        "latestFirst",
        "maxFileAge",
        "cleanSource",
        "sourceArchiveDir",
        "pathGlobFilter",
        "recursiveFileLookup",
    ),
    "rate": ("rampUpTime", "numPartitions"),
}
"""The options of Spark's sources that --stream may set. Those that begin with `kafka.` are Kafka's own."""
SINK_SETTINGS = {"kafka": ("key",), "delta": ("mergeSchema",)}


def add(parser: argparse.ArgumentParser) -> None:
    add_rules(parser)
    add_inputs(
        parser,
        "NAME=SOURCE[,...]",
        "where a stream's events come from: kafka://host:port/topic, a directory that files are added to, or "
        "rate[://ROWS-PER-SECOND]; then format=json (avro, csv, parquet), timestamp=COLUMN, type=COLUMN and "
        "options of Spark's source as needed (repeatable)",
    )
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="where progress is stored, for a later run to continue; optional for the console",
    )
    parser.add_argument(
        "-o",
        "--out",
        dest="output",
        metavar="SINK",
        default="console",
        help="a directory, delta://DIR, kafka://host:port/topic[,key=COLUMN], or console (default: console)",
    )
    parser.add_argument(
        "--format", choices=OUT_FORMATS, help="the format of files and of console lines (default: json)"
    )
    often = parser.add_mutually_exclusive_group()
    often.add_argument(
        "--trigger",
        metavar="TIME",
        help="how often to start a micro-batch, such as '5 seconds' (default: immediately)",
    )
    often.add_argument("--once", action="store_true", help="read what is available now, then stop")
    parser.add_argument(
        "--buckets",
        metavar="N",
        type=int,
        help="groups of keys searched in parallel (default: 16); cannot change for a checkpoint",
    )
    parser.add_argument(
        "--bad-records",
        metavar="DIR",
        help="write unreadable records to this directory and continue (default: fail)",
    )
    parser.add_argument(
        "--query",
        metavar="NAME",
        action="append",
        default=[],
        help="return the rows of this query, or of these rules (repeatable)",
    )
    parser.add_argument(
        "--report", metavar="FILE", help="write an HTML page that shows the run, and keep it up to date"
    )
    add_timezone(parser)
    add_spark(parser)


def run(options: argparse.Namespace) -> int:
    from neelc.runtime.values.times import in_zone

    _check(options)
    make = _rules_job if has_rules(options) else _script_job
    try:
        with in_zone(options.timezone or "UTC"):
            return _run(make, options)
    except NeelError as error:
        print(error, file=sys.stderr)
        return 3 if all(code.startswith("NEEL5") for code in codes_of([error])) else 1


def _check(options: argparse.Namespace) -> None:
    """Refuse before anything starts what cannot run."""
    if options.trigger is not None and not TRIGGER.fullmatch(options.trigger.strip()):
        raise CallError(f"stream --trigger {options.trigger}: not a length of time, such as '5 seconds'")
    if options.buckets is not None and options.buckets < 1:
        raise CallError(f"stream --buckets {options.buckets}: at least 1 is required")
    if not options.stream:
        raise CallError("stream: no stream is given; --stream NAME=SOURCE says where its events come from")
    if len(options.query) > 1 and not has_rules(options):
        raise CallError(f"stream --query: one query of a script, here are {len(options.query)}; --all")
    check_page("stream --report", options.report, *scripts_of(options))


# Sources and sinks, as the call spells them.


@dataclass(frozen=True)
class RequestedSource:
    """A stream of the call: its name, its address, and what it says of its columns."""

    name: str
    address: StreamAddress
    given: GivenStream
    schema: str | None = None


def requested_source(text: str) -> RequestedSource:
    """The source of `NAME=ADDRESS[,key=value]...`; raises `CallError`."""
    from neelc.api.connectors import FILES, FORMATS, KAFKA, RATE, address_of, avro_file
    from neelc.cli.options import given_stream, literal

    name, equals, rest = text.partition("=")
    if not equals or not name.strip() or not rest:
        raise CallError(f"--stream {text}: not of the form NAME=SOURCE[,key=value]")
    written, settings = _settings(rest)
    address = address_of(written, (KAFKA, RATE, FILES))
    if address.kind == FILES and not is_url(written) and not Path(written).is_dir():
        if Path(written).exists():
            raise CallError(
                f"--stream {text}: {written} is a file; name the directory that files are added to"
            )
        raise CallError(f"--stream {text}: no such directory: {written}")
    own = {key: settings.pop(key) for key in (*SETTINGS, "schema") if key in settings}
    _refuse_unknown(f"--stream {text}", settings, [*SOURCE_SETTINGS[address.kind], *SETTINGS, "schema"])
    format = own.pop("format", None) or _format_of(address)
    formats = FORMATS.get(address.kind, ())
    if format is not None and format not in formats:
        listed = ", ".join(formats) or "none can be chosen"
        raise CallError(f"--stream {text}: no format {format} here; formats: {listed}")
    schema = own.pop("schema", None)
    if schema is not None and format != "avro":
        raise CallError(f"--stream {text}: schema=FILE is for format=avro")
    if address.kind == FILES:
        address = replace(address, location=literal(_absolute(written)))
    address = replace(address, format=format, settings=settings)
    columns = ",".join([f"{name}=.", *(f"{key}={value}" for key, value in own.items())])
    try:
        given = given_stream(columns)
    except CallError as error:  # which shows the call without the address
        raise CallError(str(error).replace(columns, text, 1)) from None
    location = None
    if address.kind == FILES and not is_url(written):
        at = len(name) + 1
        span = Span(at, at + len(written))
        location = Location(written, Path(written), Source(text, "--stream"), span, format)
    given = replace(given, location=location, open=_opener(name.strip(), address, location))
    return RequestedSource(name.strip(), address, given, None if schema is None else avro_file(schema))


class _Undeclared(CallError):
    """A stream whose columns are not known."""


def _opener(name: str, address: StreamAddress, location: Location | None) -> Any:
    """How the columns of a stream that no CREATE STREAM declares are found."""
    from neelc.api.connectors import RATE, RATE_COLUMNS
    from neelc.catalog.readers.text import CellTable

    def tables(schema_only: bool) -> list[Any]:
        if address.kind == RATE:
            names = [column.name for column in RATE_COLUMNS]
            types = {column.name: column.type for column in RATE_COLUMNS}
            return [CellTable(Source(", ".join(names), f"stream {name}"), names, (), declared=types)]
        if location is None or not any(location.path.iterdir()):
            raise _Undeclared(f"stream {name}: declare its columns: CREATE STREAM {name} (...)")
        return location.tables(schema_only)

    return tables


def _settings(text: str) -> tuple[str, dict[str, str]]:
    """An address, and the settings after it.

    >>> _settings("kafka://a:9092,b:9092/topic,format=avro,kafka.security.protocol=SSL")
    ('kafka://a:9092,b:9092/topic', {'format': 'avro', 'kafka.security.protocol': 'SSL'})
    """
    address, *pairs = re.split(r",(?=[\w.]+=)", text)
    return address, dict(pair.split("=", 1) for pair in pairs)


def _refuse_unknown(where: str, settings: Mapping[str, str], known: Sequence[str]) -> None:
    for key in settings:
        if key not in known and not key.startswith("kafka."):
            close = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {close[0]}?" if close else f"settings: {', '.join(known)}"
            raise CallError(f"{where}: no setting {key}; {hint}")


def _format_of(address: StreamAddress) -> str | None:
    """The format of the files that are in a directory already."""
    from neelc.api.connectors import FILES
    from neelc.catalog.data_files import kind_of

    if address.kind != FILES or is_url(address.location):
        return None
    names = sorted(one for one in Path(address.location).iterdir() if one.name[0] not in "._")
    return next(filter(None, (kind_of(one, None) for one in names)), None)


def requested_sink(options: argparse.Namespace, scratch: str) -> Sink:
    """Where the rows go; raises `CallError`."""
    from neelc.api.connectors import CONSOLE, DELTA, FILES, KAFKA, Sink, address_of

    text, settings = _settings(options.output)
    address = address_of(text, (FILES, DELTA, KAFKA, CONSOLE))
    where = f"stream --out {options.output}"
    _refuse_unknown(where, settings, SINK_SETTINGS.get(address.kind, ()))
    if options.format is not None and address.kind in (DELTA, KAFKA):
        raise CallError(f"{where}: its rows are not {options.format}; leave out --format")
    if options.format == "parquet" and address.kind == CONSOLE:
        raise CallError(f"{where}: lines are json or csv")
    if options.checkpoint is None and address.kind != CONSOLE:
        raise CallError(f"{where}: name a directory for the state: --checkpoint DIR")
    checkpoint = options.checkpoint or str(Path(scratch) / "checkpoint")
    if address.kind in (FILES, DELTA):
        address = replace(address, location=_absolute(address.location))
        _refuse_other_output(address, _absolute(checkpoint), where)
    return Sink(
        replace(address, settings=settings),
        options.format or "json",
        _absolute(checkpoint),
        options.trigger,
        options.once,
    )


def _absolute(path: str) -> str:
    return path if is_url(path) else str(Path(path).resolve())


def _refuse_other_output(address: StreamAddress, checkpoint: str, where: str) -> None:
    """The files in a directory say which micro-batches they are of: with a new checkpoint, Spark would take
    the first new ones for these, and not write them."""
    if is_url(address.location) or is_url(checkpoint):
        return
    out, kept = Path(address.location), Path(checkpoint)
    if out == kept or out in kept.parents:
        raise CallError(f"{where}: --checkpoint {checkpoint} is inside it; use separate directories")
    if (out / "_spark_metadata").is_dir() and not (kept / "offsets").is_dir():
        raise CallError(
            f"{where}: it holds rows of a run with another checkpoint; name that one, or a new directory"
        )


# The query of a checkpoint.

QUERY = Path("neelc", "query.json")
"""The file in a checkpoint that says what its state depends on."""


def keep_query(checkpoint: str, identity: Sequence[tuple[str, str]]) -> None:
    """Raises `NeelError` if a checkpoint holds the state of another query. One that no micro-batch has ended
    in belongs to this query from now on.

    Each bucket's state says whose it is, too, but is read only when there are events for it.
    """
    from neelc.api.errors import NeelRunError
    from neelc.runtime.streaming import FORMAT, another_query

    directory = Path(checkpoint)
    try:
        if any(one.name.isdecimal() for one in directory.glob("commits/*")):
            kept = _kept_query(directory / QUERY)
            if kept is None:
                return
            if kept["format"] != FORMAT:
                message = f"the state has format {kept['format']}, and this neelc reads format {FORMAT}"
                raise NeelRunError(f"{message}. Start with a new checkpoint and a new output", "NEEL5091")
            if changed := another_query(kept["identity"], identity):
                raise NeelRunError(changed, "NEEL5091")
            return
        (directory / QUERY).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CallError(f"stream --checkpoint {checkpoint}: {error.strerror}") from None
    write_whole(directory / QUERY, json.dumps({"format": FORMAT, "identity": identity}, indent=1) + "\n")


def _kept_query(file: Path) -> Any:
    """None for a checkpoint of the library, or one whose file is damaged: then its buckets are checked."""
    try:
        found = json.loads(file.read_text())
        return found if isinstance(found, dict) and found.keys() >= {"format", "identity"} else None
    except (FileNotFoundError, ValueError):
        return None


# The run.


@dataclass(frozen=True)
class StreamJob:
    """A query, or many rules, compiled, and both of its ends. `has_variants`: its rows have VARIANTs, as
    those of rules do."""

    inputs: Inputs
    name: str
    compiled: CompiledScript
    sources: tuple[EventSource, ...]
    static: Mapping[str, Stream]
    """The streams that do not change while the query runs."""
    has_variants: bool = False

    def rows(self, spark: Any) -> Any:
        """The DataFrame of the matches, streaming."""
        from neelc.api.query import run_source
        from neelc.cli.options import frames_of

        frames = {one.stream.name: one.events(spark) for one in self.sources}
        frames |= frames_of(spark, self.inputs, self.static)
        return run_source(self.compiled.source, spark, frames, self.compiled.aggregates)


def _script_job(requested: Sequence[RequestedSource], options: argparse.Namespace) -> StreamJob:
    from neelc.cli.options import bound, chosen, located, print_warnings, refuse_unused
    from neelc.ir.script import CreateStream
    from neelc.pipeline import compile_query, parse

    source = read_source(options.files[0])
    try:
        inputs, program = bound(source, options, given=[one.given for one in requested])
    except _Undeclared as error:
        declared = [one.name for one in parse(source).statements if isinstance(one, CreateStream)]
        if not declared:
            raise
        raise CallError(f"{error}; the script declares {', '.join(declared)}") from None
    (at,) = chosen(program, options.query, "stream")
    refuse_unused(inputs, program, options)
    print_warnings(program, source)
    program = _without_end(located(program, inputs.directory.resolve()), [at], requested, source)
    compiled = compile_query(program, at, source, Options(streaming=True, buckets=options.buckets))
    sources, static = _sources(inputs, program, [at], requested, options)
    name = program.queries[at].name or Path(source.name).stem
    return StreamJob(inputs, name, compiled, sources, static)


def _rules_job(requested: Sequence[RequestedSource], options: argparse.Namespace) -> StreamJob:
    """The rules of a call, without those that have errors, or cannot run over streams."""
    from neelc.catalog.statistics.numbers import Statistics
    from neelc.cli.options import located
    from neelc.cli.rules import bound_rules, compiled_rules, located_in, print_left_out

    rules = bound_rules(options, given=[one.given for one in requested])
    with located_in(rules.joined):
        here = located(rules.program, Path().resolve())
        program = _without_end(here, rules.places, requested, rules.joined.source)
        how = Options(streaming=True, buckets=options.buckets)
        rules, compiled = compiled_rules(rules.over(program), how, Statistics())
        if options.strict:
            rules.refuse_errors()
        sources, static = _sources(rules.inputs, program, rules.places, requested, options)
    print_left_out(rules)
    name = Path(options.files[0]).stem if len(options.files) == 1 else "rules"
    return StreamJob(rules.inputs, name, compiled.script, sources, static, has_variants=True)


def _sources(
    inputs: Inputs,
    program: Program,
    places: Sequence[int],
    requested: Sequence[RequestedSource],
    options: argparse.Namespace,
) -> tuple[tuple[EventSource, ...], dict[str, Stream]]:
    """Where streams without end come from, and the other streams that the queries at these places read."""
    from neelc.api.connectors import EventSource
    from neelc.api.streams import streams_read
    from neelc.cli.options import check_data
    from neelc.ir.names import find, written

    streams = streams_read(program, places)
    sets_aside = options.bad_records is not None
    sources = [
        EventSource(streams.pop(find(written(one.name), streams) or ""), one.address, one.schema, sets_aside)
        for one in requested
    ]
    check_data(inputs, streams)
    if options.bad_records is not None:
        _check_bad_records(sources, options)
    return tuple(sources), streams


def _without_end(
    program: Program, places: Sequence[int], requested: Sequence[RequestedSource], source: Source
) -> Program:
    """The program whose streams of the call have no end; raises `NeelError` if one has no watermark."""
    from neelc.api.streaming import refuse_mixtures
    from neelc.api.streams import streams_read
    from neelc.ir.names import find, written

    streams = streams_read(program, places)
    endless: dict[str, Stream] = {}
    for one in requested:
        name = find(written(one.name), streams)
        if name is None:
            who = "the query does not read it" if len(places) == 1 else "no rule reads it"
            raise CallError(f"--stream {one.name}=...: {who}")
        endless[name] = replace(streams[name], is_streaming=True)
    for place in places:
        refuse_mixtures(program, place, endless, source)
    missing = [
        Diagnostic(
            "NEEL4140",
            f"stream `{one.name}` has no watermark: it is not known how long to wait for late events",
            one.span or Span(0, 1),
            "say WATERMARK 10 SECONDS in CREATE STREAM, or --stream NAME=SOURCE,watermark='10 seconds'",
        )
        for one in endless.values()
        if one.watermark is None
    ]
    if missing:
        raise NeelError(missing, source)
    return program.with_streams(lambda one: endless.get(one.name, one) if one.producer is None else one)


def _check_bad_records(sources: Iterable[EventSource], options: argparse.Namespace) -> None:
    if options.checkpoint is None:
        raise CallError("stream --bad-records: it requires --checkpoint DIR, so that each is written once")
    without = [one.stream.name for one in sources if not one.has_records]
    if without:
        listed = ", ".join(without)
        raise CallError(f"stream --bad-records: only for JSON and Avro, not for the format of {listed}")


MakeJob = Callable[[Sequence[RequestedSource], argparse.Namespace], StreamJob]


def _run(make: MakeJob, options: argparse.Namespace) -> int:
    from neelc.api.connectors import CONSOLE, required, spark_version, with_packages
    from neelc.api.spark_session import NoSpark, session

    requested = [requested_source(text) for text in options.stream]
    with tempfile.TemporaryDirectory(prefix="neelc-") as scratch:
        sink = requested_sink(options, scratch)
        if sink.address.kind == CONSOLE and options.remote:
            raise CallError("stream --remote: rows of a remote session go to a directory or to Kafka: --out")
        job = make(requested, options)
        if options.checkpoint is not None and not options.remote and not is_url(options.checkpoint):
            keep_query(options.checkpoint, job.compiled.relations.state_identity)
        settings = with_timezone(settings_of(options.conf), options.timezone)
        settings = {**_own_settings(options.master), **settings}
        needed = required([sink.address, *(one.address for one in job.sources)])
        if not options.remote:
            settings = with_packages(settings, needed, spark_version())
        try:
            print("starting Spark", file=sys.stderr)
            with session(options.master, options.remote, settings) as spark:
                return StreamRun(job, sink, options).run(spark)
        except NoSpark as error:
            print(f"neelc: Spark cannot be started: {error}", file=sys.stderr)
            print(_way_out(settings, needed), file=sys.stderr)
            return 3


def _own_settings(master: str | None) -> dict[str, str]:
    """A micro-batch has a task for each partition, and each costs time in every one of them: in local mode,
    there are as many as cores."""
    found = re.fullmatch(r"local(?:\[(\*|\d+)(?:,\d+)?\])?", master or "local[*]")
    if found is None:
        return {}
    cores = (os.cpu_count() or 1) if found[1] == "*" else int(found[1] or 1)
    return {"spark.sql.shuffle.partitions": str(cores)}


def _way_out(settings: Mapping[str, str], needed: Sequence[str]) -> str:
    if not needed:
        return "`neelc doctor` looks for the reason"
    packages = settings.get("spark.jars.packages", "")
    return (
        f"Spark requires packages for {' and '.join(needed)}: {packages or 'none is named'}. If they, or "
        "what they depend on, cannot be downloaded, name files, --conf spark.jars=..., or other packages, "
        "--conf spark.jars.packages=...; docs/tutorial/streaming.md names files that work with Spark 4.3"
    )


class StreamRun:
    """A query that runs: progress, stopping, and what is said at the end."""

    def __init__(self, job: StreamJob, sink: Sink, options: argparse.Namespace) -> None:
        self.job, self.sink, self.options = job, sink, options
        self.line = StreamLine(sys.stderr)
        self.name = job.name
        self.page = LivePage(job.name, self._facts())
        self.batches = 0
        self.matches = 0
        self._seen: tuple[int, str] = (-1, "")
        self._waiting = ""

    def _facts(self) -> dict[str, str]:
        found = {f"stream {one.stream.name}": str(one.address) for one in self.job.sources}
        found |= {"matches go to": str(self.sink.address)}
        return found | ({} if self.options.checkpoint is None else {"checkpoint": self.sink.checkpoint})

    def run(self, spark: Any) -> int:
        """The exit code; raises `NeelError` for what failed."""
        from neelc.api.errors import run_error
        from neelc.api.schemas import clock_of

        queries: list[Any] = []
        try:
            with clock_of(spark), _stopping() as stop:
                queries += self._started(spark)
                print(self._announcement(), file=sys.stderr)
                self._follow(queries, stop)
        except Exception as error:
            failure = None if isinstance(error, NeelError) else run_error(error)
            self._write_page("failed")
            if failure is None:
                raise
            raise failure from None
        finally:
            self.line.end()
            for query in queries:
                with suppress(Exception):
                    query.stop()
        self._write_page("stopped" if stop.is_set() else "complete")
        print(self._farewell(stop.is_set()), file=sys.stderr)
        return 0

    def _started(self, spark: Any) -> Iterator[Any]:
        from neelc.api.connectors import CONSOLE, observed
        from neelc.cli.run_rules import with_json

        frame = self.job.rows(spark)
        if self.job.has_variants and (self.sink.address.kind == CONSOLE or self.sink.format == "csv"):
            frame = with_json(frame)
        frame = observed(frame, with_example=self.options.report is not None)
        yield self.sink.start(frame, f"neelc {self.name}", self._show)
        for one in self.job.sources if self.options.bad_records is not None else ():
            yield self._bad_records(one).start(one.bad_records(spark), f"bad records of {one.stream.name}")

    def _bad_records(self, source: EventSource) -> Sink:
        from neelc.api.connectors import FILES, Sink, StreamAddress

        directory = Path(_absolute(self.options.bad_records)) / source.stream.name
        address = StreamAddress(FILES, str(directory))
        checkpoint = f"{self.sink.checkpoint}/bad-records/{source.stream.name}"
        return Sink(address, "json", checkpoint, self.sink.trigger, self.sink.once)

    def _announcement(self) -> str:
        streams = ", ".join(f"{one.stream.name} from {one.address}" for one in self.job.sources)
        return f"{self.name}: {streams}; matches to {self.sink.address}; Ctrl-C stops"

    def _follow(self, queries: Sequence[Any], stop: threading.Event) -> None:
        """Report each micro-batch until the query ends, or is to stop and has ended a micro-batch."""
        main = queries[0]
        while True:
            # Looked at first: what has ended by now is in the report that follows.
            is_over = not any(query.isActive for query in (queries if self.sink.once else [main]))
            before = self.batches
            self._report(main)
            for query in queries:
                if (failure := query.exception()) is not None:
                    raise failure
            status = main.status
            self._wait(status)
            has_paused = self.batches > before or not status["isTriggerActive"]
            if is_over or (stop.is_set() and has_paused):
                return
            time.sleep(0.1)

    def _wait(self, status: Mapping[str, Any]) -> None:
        """Say what is going on until the first micro-batch has ended."""
        is_waiting = status["message"].startswith("Waiting")
        text = "waiting for events" if is_waiting else "first micro-batch"
        if self.batches == 0 and text != self._waiting:
            self._waiting = text
            self.line.show(text)

    def _report(self, query: Any) -> None:
        """What is known of micro-batches that have ended since the last look."""
        for progress in query.recentProgress:
            numbers = numbers_of(json.loads(progress.json))
            if (numbers.batch, numbers.at) <= self._seen:
                continue
            self._seen = (numbers.batch, numbers.at)
            self.batches += 1
            self.matches += numbers.matches
            self.line.show(line_of(self.page.add(numbers)))
            self._write_page("running")

    def _write_page(self, status: str) -> None:
        if self.options.report is not None:
            write_whole(Path(self.options.report), self.page.html(status))

    def _show(self, batch: Any, _: int) -> None:
        """The rows of a micro-batch, on standard output."""
        from neelc.api.schemas import columns_of, values_of
        from neelc.tools.result_text import LINES

        columns = self.job.compiled.columns if self.job.has_variants else columns_of(batch.schema)
        rows = batch.collect()
        if not rows:
            return
        kind = self.sink.format
        lines = list(LINES[kind](columns, values_of(rows, columns)))
        if kind == "csv" and self.matches_shown:
            lines = lines[1:]
        self.matches_shown += len(rows)
        self.line.clear()
        sys.stdout.writelines(lines)
        sys.stdout.flush()

    matches_shown = 0

    def _farewell(self, is_stopped: bool) -> str:
        counted = f"{_counted(self.matches, 'match')} in {_counted(self.batches, 'micro-batch')}"
        if self.options.checkpoint is None:
            return counted
        again = f"the same command goes on from {self.options.checkpoint}"
        return f"stopped: {counted}; {again}" if is_stopped else f"{counted}; {again}"


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that Ctrl-C, or SIGTERM, sets; the second time the run ends at once."""
    stop = threading.Event()

    def handle(number: int, _: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt(number)
        stop.set()
        print("\nstopping after this micro-batch; once more stops at once", file=sys.stderr)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# What is known of each micro-batch.


def numbers_of(progress: Mapping[str, Any]) -> BatchNumbers:
    """The numbers in Spark's record of a micro-batch."""
    from neelc.api.connectors import ROWS

    metrics = progress.get("observedMetrics") or {}
    found = {name: value for name, value in metrics.items() if name != ROWS}
    kernels = [value for value in found.values() if isinstance(value, Mapping)]
    rows = metrics.get(ROWS) or {}
    durations = progress.get("durationMs") or {}
    times = progress.get("eventTime") or {}
    return BatchNumbers(
        batch=int(progress["batchId"]),
        at=str(progress["timestamp"]),
        events=sum(int(one.get("numInputRows") or 0) for one in progress.get("sources") or ()),
        seconds=int(durations.get("triggerExecution") or 0) / 1000,
        matches=int(rows.get("rows") or 0),
        late=sum(int(one.get("late") or 0) for one in kernels),
        state=sum(_state_bytes(one) for one in progress.get("stateOperators") or ()),
        watermark=_time(times.get("watermark")),
        newest=_time(times.get("max")),
        example=rows.get("example"),
    )


def _state_bytes(operator: Mapping[str, Any]) -> int:
    """The size of the state as it is now, where Spark knows it: its memory holds older versions, too."""
    known = operator.get("customMetrics") or {}
    return int(known.get("stateOnCurrentVersionSizeBytes") or operator.get("memoryUsedBytes") or 0)


def _time(text: str | None) -> float | None:
    """Seconds since 1970; None for the beginning of 1970, which is Spark's watermark before any event."""
    if text is None:
        return None
    seconds = datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    return seconds or None


def line_of(numbers: BatchNumbers) -> str:
    """
    >>> print(line_of(BatchNumbers(7, "", 25_000, 0.2, 340, 3, 12_300_000, 100.0, 110.0)))
    batch 7: 25,000 events (125,000/s), 340 matches, 3 late, state 12.3 MB, watermark 10 s behind
    """
    words = [f"{_counted(numbers.events, 'event')} ({numbers.speed:,.0f}/s)"]
    words.append(_counted(numbers.matches, "match"))
    words += [f"{numbers.late:,} late", f"state {numbers.state / 1e6:.1f} MB"]
    if numbers.lag is not None:
        words.append(f"watermark {numbers.lag:,.0f} s behind")
    return f"batch {numbers.batch}: {', '.join(words)}"


def _counted(count: int, what: str) -> str:
    """
    >>> _counted(1, "match"), _counted(1200, "match"), _counted(0, "event")
    ('1 match', '1,200 matches', '0 events')
    """
    plural = "es" if what.endswith("ch") else "s"
    return f"{count:,} {what}{'' if count == 1 else plural}"


class StreamLine:
    """The line of progress: refreshed in place on a terminal, a new one for each micro-batch elsewhere."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.is_terminal = out.isatty()
        self._is_shown = False
        self._writing = threading.Lock()

    def show(self, text: str) -> None:
        with self._writing, suppress(OSError, ValueError):
            write_line(self.out, text, self.is_terminal)
            self._is_shown = True

    def clear(self) -> None:
        """Make room for rows on the same terminal."""
        with self._writing, suppress(OSError, ValueError):
            if self.is_terminal and self._is_shown:
                clear_line(self.out)

    def end(self) -> None:
        """Leave the last line where it is."""
        with self._writing, suppress(OSError, ValueError):
            if self.is_terminal and self._is_shown:
                self.out.write("\n")
                self.out.flush()
