"""The part of a script that is ours, beside queries of Spark's, which it cannot read."""

from __future__ import annotations

from collections.abc import Iterator

from neelc import parse
from neelc.errors import Diagnostic, NeelError
from neelc.host.script import HostScript, host_script
from neelc.ir.names import find, written
from neelc.ir.node import walk
from neelc.ir.pattern import Event
from neelc.source import Source, Span

HINT = "give the query another name if a type is meant; else run it first, and give its DataFrame as a stream"


def own_part(source: Source) -> Source:
    """The script with blanks where the queries for Spark are; raises `NeelError` if a PATTERN reads one."""
    script = host_script(source)
    if script is None:
        return source
    found = list(_read_by_patterns(script))
    if found:
        raise NeelError(found, source)
    return script.own


def _read_by_patterns(script: HostScript) -> Iterator[Diagnostic]:
    """Without a report, the name would be taken for a type of events, of which there are none."""
    names = [written(one.name) for one in script.statements if one.name is not None]
    for statement in parse.read(script.own).statements if names else ():
        for node in walk(statement):
            if isinstance(node, Event) and find(node.type, names) is not None:
                message = f"{node.type} is a query of Spark's around MATCH_RECOGNIZE: no PATTERN can read it"
                yield Diagnostic("NEEL4001", message, node.span or Span(0, 0), HINT)
