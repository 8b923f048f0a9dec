"""What the commands that bind a script do with `--stream`, `--arg` and `--aggregates`."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from neelc.arguments import Agent, Aggregate, argument, defined_in, line_of_source
from neelc.commands.output import refuse_inputs
from neelc.data import delimited
from neelc.data.inputs import GUESSES, UNITS, Given, Inputs, complete, unit_of
from neelc.data.location import Location
from neelc.errors import NeelError
from neelc.files import CallError, decode, read_bytes, special_kind
from neelc.ir.expr import Parameter
from neelc.ir.logical import Program
from neelc.ir.names import bare, find
from neelc.ir.node import walk
from neelc.ir.script import CreateStream
from neelc.source import Source, Span

SETTINGS = ("timestamp", "latest", "end", "type", "unit", "format", "timestamp_format")


def given_stream(text: str) -> Given:
    """The stream of `NAME=PATH[,timestamp=COLUMN][,type=COLUMN]...`; a comma in the path is a comma."""
    name, equals, rest = text.partition("=")
    path, *settings = re.split(r",(?=\w+=)", rest)
    if not equals or not name.strip() or not path:
        raise CallError(f"--stream {text}: not of the form NAME=PATH[,timestamp=COLUMN][,type=COLUMN]")
    said = dict(setting.split("=", 1) for setting in settings)
    known = {key.casefold(): key for key in (*SETTINGS, *delimited.OPTIONS)}
    for key in said:
        if key.casefold() not in known:
            close = difflib.get_close_matches(key.casefold(), known, 1)
            hint = f"did you mean {known[close[0]]}?" if close else f"settings: {', '.join(known.values())}"
            raise CallError(f"--stream {text}: no setting {key}; {hint}")
    if not Path(path).exists():
        raise CallError(f"--stream {text}: no such file: {path}")
    if (kind := special_kind(Path(path))) is not None:
        raise CallError(f"--stream {text}: {path} is {kind}, not a file")
    unit = unit_of(said["unit"]) if "unit" in said else None
    if "unit" in said and unit is None:
        raise CallError(f"--stream {text}: no unit {said['unit']}; units: {', '.join(UNITS)}")
    at = text.index(path, len(name) + 1)
    options = {key: value for key, value in said.items() if key not in SETTINGS}
    source = Source(text, "--stream")
    location = Location(path, Path(path), source, Span(at, at + len(path)), said.get("format"), options)
    return Given(
        name.strip(),
        location.tables,
        said.get("timestamp"),
        said.get("latest"),
        said.get("end"),
        said.get("type"),
        unit,
        location,
        said.get("timestamp_format"),
    )


def arguments_of(texts: Sequence[str]) -> dict[str, object]:
    """The values of all `--arg name=value`."""
    try:
        return dict(argument(text) for text in texts)
    except ValueError as error:
        raise CallError(f"--arg: {error}") from None


def defined_by(paths: Sequence[str]) -> tuple[dict[str, Aggregate], dict[str, Agent]]:
    """What all `--aggregates FILE` define, aggregates and agents; the files are run."""
    found: dict[str, Aggregate] = {}
    agents: dict[str, Agent] = {}
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


def bound(source: Source, options: argparse.Namespace) -> tuple[Inputs, Program]:
    """Parse and bind a script; raises `NeelError` with all that is wrong with it."""
    from neelc import parse
    from neelc.bind import bind
    from neelc.host.untrusted import refuse_files_and_agents

    given = [given_stream(text) for text in options.stream]
    for place, stream in enumerate(given):
        if find(stream.name, [other.name for other in given[:place]]) is not None:
            raise CallError(f"--stream {stream.name}=...: given twice")
    arguments = arguments_of(options.arg)
    # Paths in a script are relative to it, so that it can be run from anywhere.
    directory = Path() if source.name == "<stdin>" else Path(source.name).parent
    script = parse.read(source)
    if options.untrusted:
        refuse_files_and_agents(script, source)
    aggregates, agents = defined_by(options.aggregates)
    wrong: list[NeelError] = []
    for guess in GUESSES:
        inputs = complete(script, source, given, directory, guess)
        refuse_inputs(inputs, options)
        try:
            return inputs, bind(inputs.script, source, inputs.streams, arguments, aggregates, agents)
        except NeelError as error:
            wrong.append(error)
            if not inputs.is_guessed:
                break
    raise min(wrong, key=lambda error: len(error.diagnostics))


def refuse_unused(inputs: Inputs, program: Program, options: argparse.Namespace) -> None:
    """What is given and used by nothing is most likely misspelt."""
    read = sorted({stream.name for query in program.queries for stream in query.query.streams})
    declared = [s.name for s in inputs.script.statements if isinstance(s, CreateStream)]
    for given in inputs.given:
        if find(given.name, [*read, *declared]) is None:
            listed = ", ".join(read)
            raise CallError(f"--stream {given.name}=...: no query reads it; streams that are read: {listed}")
    parameters = {node.name for node in walk(inputs.script) if isinstance(node, Parameter)}
    for name in arguments_of(options.arg):
        if find(name, parameters) is None:
            listed = ", ".join(f":{bare(p)}" for p in sorted(parameters)) or "none"
            raise CallError(f"--arg {name}=...: the script has no parameter :{name}; parameters: {listed}")
