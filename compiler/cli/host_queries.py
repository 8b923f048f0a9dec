"""Scripts whose queries are Spark's, around MATCH_RECOGNIZE: which of them a command is about."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from neelc.cli.options import arguments_of, given_stream, located
from neelc.cli.output import refuse_inputs
from neelc.engines.host.inputs import HostInputs, host_inputs, used_parameters, used_streams
from neelc.engines.host.tables import declared_tables
from neelc.files import CallError
from neelc.ir.names import find, written
from neelc.ir.program import Program
from neelc.source import Source
from neelc.syntax.host import HostScript, host_script


def asked_of_host(
    source: Source, options: argparse.Namespace, everything: bool = False
) -> tuple[HostInputs, list[int]] | None:
    """The script, and the places of the queries that are asked for, if they are Spark's; None if they are
    ours. With `everything`, all of Spark's are."""
    script = host_script(source)
    if script is None:
        return None
    places = list(range(len(script.statements))) if everything else _places(script, _names(options))
    return (_inputs(script, options), places) if places else None


def _names(options: argparse.Namespace) -> list[str]:
    names = getattr(options, "query", None) or []
    return [names] if isinstance(names, str) else names


def _places(script: HostScript, names: list[str]) -> list[int]:
    if not names:
        return [len(script.statements) - 1] if script.is_last else []
    known = [one.name or "" for one in script.statements]
    found = [find(name, map(written, filter(None, known))) for name in names]
    if any(found) and not all(found):
        raise CallError("--query: a query of Spark's and another one; ask for them one by one")
    return [[written(one) for one in known].index(name) for name in found if name is not None]


def _inputs(script: HostScript, options: argparse.Namespace) -> HostInputs:
    source = script.source
    given = [given_stream(text) for text in options.stream]
    directory = Path() if source.name == "<stdin>" else Path(source.name).parent
    arguments = arguments_of(options.arg)
    found = host_inputs(script, given, directory, arguments, options.untrusted)
    refuse_inputs(found.inputs, options)
    for name in (one.name for one in given):
        if not used_streams(script, [name]):
            there = ", ".join(stream.name for stream in found.streams) or "none is declared"
            raise CallError(f"--stream {name}=...: no query reads it; streams: {there}")
    for name in arguments:
        if name not in used_parameters(script):
            listed = ", ".join(f":{p}" for p in used_parameters(script)) or "none"
            raise CallError(f"--arg {name}=...: the script has no parameter :{name}; parameters: {listed}")
    return found


def with_located_streams(host: HostInputs) -> HostInputs:
    """With paths as they are from here: those of a script are relative to its directory."""
    streams = located(Program(host.streams, ()), host.inputs.directory.resolve()).streams
    return replace(host, streams=streams, tables={**host.tables, **declared_tables(streams)})
