"""Options that several commands share."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neelc.arguments import ExecutionStrategy, UserAgent, UserAggregate, argument, defined_in, line_of_source
from neelc.catalog.data_files import FORMATS, is_url, kind_of, path_from
from neelc.catalog.inputs import (
    GUESSES,
    UNITS,
    GivenStream,
    Inputs,
    location_of,
    no_data,
    unit_of,
    watermark_of,
)
from neelc.catalog.location import Location
from neelc.catalog.readers.text import CSV_OPTIONS
from neelc.catalog.statistics.file import statistics_in, streams_of
from neelc.catalog.statistics.numbers import KnownStatistic, Statistics, known, texts_of
from neelc.catalog.statistics.parquet import counted_in, metadata_of
from neelc.cli.output import check_target, refuse_inputs, scripts_of
from neelc.errors import NeelError, render_line
from neelc.files import CallError, decode, read_bytes
from neelc.ir.bound_rows import HostQuery
from neelc.ir.names import Identifier, find, written
from neelc.ir.node import Node, transform
from neelc.ir.program import Program, Stream
from neelc.ir.script import CreateStream, Script
from neelc.scalar.clock import NOW, asks_for_time
from neelc.scalar.parameters import parameters_of
from neelc.source import Source, Span

if TYPE_CHECKING:
    from neelc.api.observed import StreamObservations
    from neelc.rows.bind.host import Describe


STREAM_HELP = (
    "a stream's data: a file, a directory or a pattern such as 'day*.csv', of CSV, JSON, Parquet, ORC or "
    "Arrow; then, as needed, timestamp=COLUMN, type=COLUMN, end=COLUMN, then_by=COLUMN, unit=ms, "
    "timestamp_format='dd/MM/yyyy HH:mm', format=csv, delimiter=';' (repeatable)"
)


def add_inputs(
    parser: argparse.ArgumentParser, metavar: str = "NAME=PATH[,...]", help: str = STREAM_HELP
) -> None:
    """Declare `--stream`, with what it takes, `--arg` and `--aggregates`."""
    add_aggregates(parser)
    parser.add_argument("--stream", metavar=metavar, action="append", default=[], help=help)
    parser.add_argument(
        "--arg",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="the value of :NAME in the script: 10, 0.5, true, text, 'text', 10 SECONDS (repeatable)",
    )
    parser.add_argument(
        "--now",
        metavar="TIME",
        help="the value of current_timestamp, such as '2024-05-01 12:00:00' (default: the current time)",
    )
    add_untrusted(parser)


def add_untrusted(parser: argparse.ArgumentParser) -> None:
    """Declare `--untrusted`."""
    parser.add_argument(
        "--untrusted",
        action="store_true",
        help="let the script read only the streams given here, no other files or tables, and call only "
        "functions from a safe list",
    )


def add_aggregates(parser: argparse.ArgumentParser) -> None:
    """Declare `--aggregates`."""
    parser.add_argument(
        "--aggregates",
        metavar="FILE",
        action="append",
        default=[],
        help="a Python file whose @neelc.aggregate(returns=TYPE) functions scripts can call on lists "
        "(repeatable)",
    )


def add_statistics(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Declare `--stats`."""
    parser.add_argument(
        "--stats",
        metavar="FILE",
        help="a JSON file with statistics of the streams; WITH STATS in the script takes precedence",
    )


def add_statistics_out(parser: argparse.ArgumentParser) -> None:
    """Declare `--stats-out`."""
    parser.add_argument(
        "--stats-out",
        metavar="FILE",
        help="write statistics of the events read and the rows found, for --stats; all events are then read, "
        "not only those that the query needs",
    )


def check_statistics_out(options: argparse.Namespace) -> None:
    """Refuse a file of statistics that would replace an input, before anything runs."""
    if options.stats_out == "-":
        raise CallError("run --stats-out -: statistics are written to a file")
    if options.stats_out:
        check_target("run --stats-out", options.stats_out, *scripts_of(options))
        if options.output and Path(options.stats_out).resolve() == Path(options.output).resolve():
            raise CallError(f"run --stats-out {options.stats_out}: the rows go there, too")


STRATEGIES = [
    one.value for one in (ExecutionStrategy.KERNEL, ExecutionStrategy.JOIN, ExecutionStrategy.WINDOW)
]


def add_strategy(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Declare `--strategy` and the limits, `--most-rows` and `--most-matches`."""
    parser.add_argument(
        "--strategy", choices=STRATEGIES, help="how to search for the pattern (default: the cheapest way)"
    )
    parser.add_argument(
        "--most-rows",
        metavar="N",
        type=float,
        help="reject a query with more expected rows (default: 10 billion)",
    )
    parser.add_argument(
        "--most-matches",
        metavar="N",
        type=int,
        help="fail if one task finds more matches (default: 50 million)",
    )


def add_streaming(parser: argparse.ArgumentParser) -> None:
    """Declare `--streaming`."""
    parser.add_argument(
        "--streaming",
        action="store_true",
        help="treat streams as unbounded: matches are emitted as soon as no later event can revoke them",
    )


TIME_ZONE = "spark.sql.session.timeZone"


def add_timezone(
    parser: argparse.ArgumentParser,
    help: str = "the session time zone, such as Europe/Berlin or +02:00 (default: UTC)",
) -> None:
    """Declare `--timezone`."""
    parser.add_argument("--timezone", metavar="ZONE", type=_time_zone, help=help)


def _time_zone(name: str) -> str:
    from neelc.runtime.values.times import zone_of

    try:
        zone_of(name)
    except ValueError:
        message = f"{name}: no time zone has this name; such as Europe/Berlin, UTC or +02:00"
        raise argparse.ArgumentTypeError(message) from None
    return name


def with_timezone(settings: dict[str, str], zone: str | None) -> dict[str, str]:
    """The settings of Spark with the requested time zone."""
    if zone is None:
        return settings
    configured = settings.get(TIME_ZONE, zone)
    if configured != zone:
        raise CallError(f"--timezone {zone}: --conf {TIME_ZONE}={configured} sets another one")
    return {**settings, TIME_ZONE: zone}


def add_spark(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Declare `--master`, `--remote` and `--conf`; more may be added to their group."""
    spark = parser.add_argument_group("Spark")
    where = spark.add_mutually_exclusive_group()
    where.add_argument("--master", metavar="URL", help="the Spark master (default: local[*])")
    where.add_argument("--remote", metavar="URL", help="a Spark Connect server, sc://host:port")
    spark.add_argument(
        "--conf",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a Spark setting (repeatable)",
    )
    return spark


def settings_of(texts: Sequence[str]) -> dict[str, str]:
    """
    >>> settings_of(["spark.driver.memory=8g"])
    {'spark.driver.memory': '8g'}
    """
    for text in texts:
        if "=" not in text:
            raise CallError(f"--conf {text}: not of the form KEY=VALUE")
    return dict(text.split("=", 1) for text in texts)


OF_PLANS = ("strategy", "most-rows", "most-matches", "stats")
"""Settings of the engines that execute plans."""


def refuse_spark(command: str, options: argparse.Namespace, *more: str) -> None:
    """Refuse settings of Spark, and `more`, for a run without it."""
    for name in ("master", "remote", "conf", *more):
        if getattr(options, name.replace("-", "_")):
            if name in OF_PLANS:
                others = f"the local engine and Spark, not of --engine {options.engine}"
                raise CallError(f"{command} --{name}: a setting of {others}")
            without = f"--engine {options.engine} does without"
            raise CallError(f"{command} --{name}: a setting of Spark, which {without}")


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Declare the scripts, `--all` and `--strict`."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="a script; - is standard input. In several scripts, or a directory of *.neel files, each query "
        "is a rule",
    )
    parser.add_argument("--all", action="store_true", help="treat each query of the script as a rule")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="run nothing if any rule has an error (default: leave that rule out)",
    )


def has_rules(options: argparse.Namespace) -> bool:
    """Whether a call is about many rules, not about one script."""
    many: bool = options.all or len(options.files) > 1 or Path(options.files[0]).is_dir()
    if options.strict and not many:
        raise CallError(f"{options.command} --strict: for rules; a script with an error never runs")
    return many


def refuse_for_rules(options: argparse.Namespace, *names: str) -> None:
    """Refuse settings that are for one query."""
    for name in names:
        if getattr(options, name.replace("-", "_")):
            raise CallError(f"{options.command} --{name}: for one query, not for rules")


# What the commands that bind a script do with `--stream`, `--arg` and `--aggregates`.

SETTINGS = (
    "timestamp",
    "latest",
    "end",
    "type",
    "unit",
    "format",
    "timestamp_format",
    "watermark",
    "then_by",
)


def given_stream(text: str) -> GivenStream:
    """The stream of `NAME=PATH[,timestamp=COLUMN][,type=COLUMN]...`; a comma in the path is a comma."""
    name, equals, rest = text.partition("=")
    path = re.split(r",(?=\w+=)", rest)[0]
    if not equals or not name.strip() or not path:
        raise CallError(f"--stream {text}: not of the form NAME=PATH[,timestamp=COLUMN][,type=COLUMN]")
    at = len(name) + 1
    written_settings = _settings(text, at + len(path))
    settings = {str(key): str(value) for key, value in written_settings.items()}
    known = {key.casefold(): key for key in (*SETTINGS, *CSV_OPTIONS)}
    for key in settings:
        if key.casefold() not in known:
            close = difflib.get_close_matches(key.casefold(), known, 1)
            hint = f"did you mean {known[close[0]]}?" if close else f"settings: {', '.join(known.values())}"
            raise CallError(f"--stream {text}: no setting {key}; {hint}")
    options = {key: str(value) for key, value in written_settings.items() if key not in SETTINGS}
    span, format = Span(at, at + len(path)), written_settings.get("format")
    location = Location(path, path_from(Path(), path), Source(text, "--stream"), span, format, options)
    _check_there(location)
    unit = unit_of(settings["unit"]) if "unit" in settings else None
    if "unit" in settings and unit is None:
        raise CallError(f"--stream {text}: no unit {settings['unit']}; units: {', '.join(UNITS)}")
    try:
        watermark = watermark_of(settings["watermark"]) if "watermark" in settings else None
    except ValueError as problem:
        raise CallError(f"--stream {text}: watermark: {problem}") from None
    return GivenStream(
        name.strip(),
        location.tables,
        settings.get("timestamp"),
        settings.get("latest"),
        settings.get("end"),
        settings.get("type"),
        unit,
        location,
        settings.get("timestamp_format"),
        watermark,
        then_by=tuple(name.strip() for name in settings.get("then_by", "").split(",") if name.strip()),
    )


def _check_there(location: Location) -> None:
    """Raises `CallError` if there is no such file here, or if it is none."""
    try:
        location.check_kind()
        if not location.path.exists():
            location.check_there()
    except NeelError as error:
        raise CallError(f"--stream {location.source.text}: {error.diagnostics[0].message}") from None


def _settings(text: str, at: int) -> dict[str, str]:
    """What follows the path, `,key=value`, each with its place in the text."""
    found = re.compile(r",(\w+)=(.*?)(?=,\w+=|\Z)", re.DOTALL).finditer(text, at)
    return {Identifier(one[1], Span(*one.span(1))): Identifier(one[2], Span(*one.span(2))) for one in found}


def arguments_of(texts: Sequence[str]) -> dict[str, object]:
    """The values of all `--arg name=value`."""
    try:
        return dict(argument(text) for text in texts)
    except ValueError as error:
        raise CallError(f"--arg: {error}") from None


def given_arguments(options: argparse.Namespace) -> dict[str, object]:
    """The values of all `--arg name=value`, and that of `--now`."""
    from neelc.runtime.values.types import cast

    arguments = arguments_of(options.arg)
    if options.now is None:
        return arguments
    if cast(options.now, "string", "timestamp") is None:
        raise CallError(f"--now {options.now}: no time; for example '2024-05-01 12:00:00'")
    return {NOW: options.now, **arguments}


def defined_by(paths: Sequence[str]) -> tuple[dict[str, UserAggregate], dict[str, UserAgent]]:
    """What all `--aggregates FILE` define, aggregates and agents; the files are run."""
    found: dict[str, UserAggregate] = {}
    agents: dict[str, UserAgent] = {}
    for path in paths:
        text = decode(read_bytes(Path(path), path), path)
        try:
            here, more = defined_in(text, path)
        except Exception as error:
            line = line_of_source(error, path)
            place = path if line is None else f"{path}:{line}"
            raise CallError(f"--aggregates {place}: {type(error).__name__}: {error}") from None
        if not here and not more:
            way = "a function with @neelc.aggregate(returns=...)"
            raise CallError(f"--aggregates {path}: it defines no aggregate: {way}")
        if twice := (here.keys() & found.keys()) | (more.keys() & agents.keys()):
            raise CallError(f"--aggregates {path}: {min(twice)} is defined in another file, too")
        found |= here
        agents |= more
    return found, agents


def bound(
    source: Source,
    options: argparse.Namespace,
    describing: Callable[[Inputs], Describe] | None = None,
    given: Sequence[GivenStream] | None = None,
) -> tuple[Inputs, Program]:
    """Parse and bind a script; raises `NeelError` with all that is wrong with it. `describing` makes what
    asks Spark for columns that only it knows. Streams are those of `--stream`, if none are `given`."""
    from neelc.pipeline import parse

    # Paths in a script are relative to it, so that it can be run from anywhere.
    directory = Path() if source.name == "<stdin>" else Path(source.name).parent
    streams = streams_given(options) if given is None else given
    return bound_script(parse(source), source, directory, options, streams, describing)


def streams_given(options: argparse.Namespace) -> list[GivenStream]:
    """The streams of all `--stream`."""
    return [given_stream(text) for text in options.stream]


def bound_script(
    script: Script,
    source: Source,
    directory: Path,
    options: argparse.Namespace,
    given: Sequence[GivenStream],
    describing: Callable[[Inputs], Describe] | None = None,
) -> tuple[Inputs, Program]:
    """Bind a script that is read, with paths relative to `directory`; raises `NeelError`."""
    from neelc.pipeline import bind

    for place, stream in enumerate(given):
        if find(stream.name, [other.name for other in given[:place]]) is not None:
            raise CallError(f"--stream {stream.name}=...: given twice")
    arguments = given_arguments(options)
    if options.untrusted:
        from neelc.rows.bind.untrusted import refuse_files_and_agents  # it reads Spark's SQL: slow to load

        refuse_files_and_agents(script, source)
    aggregates, agents = defined_by(options.aggregates)
    inputs, program = bind(
        script,
        source,
        given,
        directory,
        arguments,
        aggregates,
        agents,
        GUESSES,
        describing,
        options.untrusted,
    )
    refuse_inputs(inputs, options)
    return inputs, program


def refuse_unused(
    inputs: Inputs, program: Program, options: argparse.Namespace, read_too: Iterable[str] = ()
) -> None:
    """What is given and used by nothing is most likely misspelt; `read_too` are names of streams that are
    used."""
    used = (stream for query in program.queries for stream in query.query.streams)
    read = sorted({table.name for stream in used for table in stream.tables})
    declared = [s.name for s in inputs.script.statements if isinstance(s, CreateStream)]
    for given in inputs.given:
        if find(given.name, [*read, *declared, *read_too]) is None:
            listed = ", ".join(read)
            raise CallError(f"--stream {given.name}=...: no query reads it; streams that are read: {listed}")
    parameters = parameters_of(inputs.script)
    if options.now is not None and not asks_for_time(inputs.script) and NOW not in parameters:
        raise CallError("--now: the script does not use the current time; current_timestamp() does")
    for name in arguments_of(options.arg):
        if name == NOW and asks_for_time(inputs.script):
            continue
        if find(name, map(written, parameters)) is None:
            listed = ", ".join(f":{p}" for p in parameters) or "none"
            raise CallError(f"--arg {name}=...: the script has no parameter :{name}; parameters: {listed}")


def refuse_for_rows(
    command: str, program: Program, places: Sequence[int], options: argparse.Namespace, *more: str
) -> None:
    """The settings of PATTERN queries, and `more` of them, have no effect on MATCH_RECOGNIZE alone."""
    for name in ("strategy", "most-rows", "most-matches", *more):
        if getattr(options, name.replace("-", "_")) and has_rows_only(program, places):
            raise CallError(f"{command} --{name}: for PATTERN queries; MATCH_RECOGNIZE has one way to run")


def has_rows_only(program: Program, places: Sequence[int]) -> bool:
    """Whether queries, and those that they read, are all around MATCH_RECOGNIZE."""
    return all(isinstance(program.queries[at].query, HostQuery) for at in program.needed(places))


def chosen(program: Program, names: Sequence[str], command: str = "run") -> list[int]:
    """The places of the queries to print: those named, else the last one."""
    if not program.queries:
        raise CallError(f"{command}: the script has no query")
    if not names:
        return [len(program.queries) - 1]
    known = [query.name or "" for query in program.queries]
    positions = []
    for name in names:
        found = find(name, known)
        if not found:
            listed = ", ".join(name for name in known if name) or "none has a name"
            raise CallError(f"{command} --query {name}: no such query; queries: {listed}")
        positions.append(known.index(found))
    return positions


def print_warnings(program: Program, source: Source) -> None:
    """What is right but most likely not meant, a line each."""
    from neelc.tools.lints import lints

    for warning in lints(program, source):
        print(render_line(warning, source), file=sys.stderr)


# `--stats FILE`, and all sources of statistics put together for a script.


def statistics_of(inputs: Inputs, program: Program, stats_file: str | None = None) -> Statistics:
    """What is known about the streams of a bound script: from the file, from the metadata of Parquet files.

    What WITH STATS says is in the streams already, and goes before all other. Raises `CallError` if the file
    cannot be read or says what cannot be.
    """
    streams = streams_of(program)
    from_file, notes = _from_file(stats_file, streams)
    metadata: list[KnownStatistic] = []
    # Of the rows of a relation, which are no events, nothing is estimated.
    for stream in (one for one in streams.values() if not one.is_relation):
        found = metadata_of(inputs, stream)
        metadata += known(stream.name, found.statistics, "metadata")
        metadata += known(stream.name, counted_in(inputs, stream), "counted")
        notes = (*notes, *found.notes)
    statistics = Statistics((*from_file, *metadata), notes)
    return Statistics(statistics.known, (*notes, *_unused(statistics, program)))


def _from_file(
    name: str | None, streams: dict[str, Stream]
) -> tuple[tuple[KnownStatistic, ...], tuple[str, ...]]:
    if name is None:
        return (), ()
    return statistics_in(decode(read_bytes(Path(name), name), name), name, streams)


def _unused(statistics: Statistics, program: Program) -> Iterator[str]:
    """A selectivity that fits no condition is most likely misspelt."""
    used = {text for query in program.pattern_queries for text in texts_of(query.match.pattern)}
    for stream in streams_of(program).values():
        for one in statistics.knowledge.about(stream, "SELECTIVITY"):
            if one.subject not in used:
                yield f"{stream.name}: no condition reads `{one.subject}`, for which a selectivity is given"


# A bound script and its data files: where Spark finds them.


def located(program: Program, directory: Path) -> Program:
    """The program with paths as they are from here: those of a script are relative to its directory."""

    def moved(node: Node) -> Node | None:
        if not isinstance(node, Stream) or node.path is None or is_url(node.path):
            return None
        return replace(node, path=str(directory / node.path))

    found = transform(program, moved)
    assert isinstance(found, Program)
    return found


def check_data(inputs: Inputs, streams: Mapping[str, Stream]) -> None:
    """Raises `NeelError` if a stream has no data, or its file is not there: Spark is not started for that."""
    for name in streams:
        location = location_of(inputs, name)
        if location is None:
            raise no_data(inputs, name)
        location.check_there()


def frames_of(
    spark: Any, inputs: Inputs, streams: Mapping[str, Stream], observed: StreamObservations | None = None
) -> dict[str, Any]:
    """The DataFrames of the streams, from the files that the call or the script names. Texts are `observed`:
    no condition is pushed into them, so that it costs next to nothing."""
    from neelc.api.errors import reading
    from neelc.api.streams import fitted, read_path, text_columns

    frames = {}
    for name, stream in streams.items():
        location = location_of(inputs, name)
        if location is not None:
            path = _path_for_spark(location)
            kind = _kind(location)
            with reading(name):
                looked_at = _looking(observed, stream, location)
                columns = text_columns(stream)
                frame = read_path(spark, path, kind, location.options, columns, name, looked_at)
                frames[name] = fitted(frame, stream)
    return frames


def _path_for_spark(location: Location) -> str:
    """What is there is one file or directory, whatever its name; else it is a pattern of names."""
    if is_url(location.name):
        return location.name
    path = str(location.path.resolve())
    return literal(path) if location.path.exists() else path


def _looking(observed: StreamObservations | None, stream: Stream, location: Location) -> Callable[[Any], Any]:
    """A function that observes the texts of a stream. It does nothing where there are directories below:
    they may be partitions, and conditions may select some of them."""
    if observed is None or is_url(location.name):
        return lambda frame: frame
    has_more = location.path.is_dir() and any(path.is_dir() for path in location.path.iterdir())
    if has_more or not location.path.exists():  # a pattern may lead to partitions, too
        return lambda frame: frame
    return lambda frame: observed.on(frame, stream)


def literal(path: str) -> str:
    """A path that stands for one file, although Spark takes it for a pattern of files.

    >>> print(literal("day [1].csv"))
    day \\[1\\].csv
    """
    return re.sub(r"([\\*?{}\[\]])", r"\\\1", path)


def _kind(location: Location) -> str:
    """The format of a file, or of the first file of a directory."""
    kind = kind_of(location.name, location.format)
    if not kind and not location.is_elsewhere:
        kind = location.kind(location.files()[0])
    if kind == "arrow":
        message = f"{location.name}: Spark does not read Arrow files"
        location.fail("NEEL5006", message, "choose the local engine: --engine local")
    if kind not in FORMATS:
        location.fail("NEEL5006", f"unknown format of {location.name}", "state it, for example format=csv")
    return kind
