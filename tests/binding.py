"""What the tests of the binder share: a stream, and queries over it as text."""

from __future__ import annotations

from collections.abc import Mapping

from invariants import check

from neelc import syntax as parse
from neelc.errors import render_all
from neelc.ir.program import Match, Program
from neelc.program import BindingResult, examine
from neelc.source import Source

STREAM = """CREATE STREAM S (id BIGINT, ts BIGINT, kind STRING, price DOUBLE, pos STRUCT<x: INT, y: INT>)
  TIMESTAMP BY ts TYPE BY kind;
"""


def examined(
    text: str, head: str = STREAM, arguments: Mapping[str, object] | None = None
) -> tuple[BindingResult, Source]:
    """What becomes of the script `head` + `text`."""
    source = Source(head + text)
    return examine(parse.script(source), source, arguments=arguments), source


def program(text: str, head: str = STREAM, arguments: Mapping[str, object] | None = None) -> Program:
    """The script bound, with all the promises of a bound plan kept."""
    bound, source = examined(text, head, arguments)
    assert bound.program is not None, render_all(bound.diagnostics, source)
    for query in bound.program.queries:
        check(query.match)
    return bound.program


def match(text: str, head: str = STREAM, arguments: Mapping[str, object] | None = None) -> Match:
    """The last query of the script."""
    return program(text, head, arguments).queries[-1].match


def problems(
    text: str, head: str = STREAM, arguments: Mapping[str, object] | None = None
) -> list[tuple[str, str]]:
    """Each diagnostic: its code and the words it points at."""
    bound, source = examined(text, head, arguments)
    return [(d.code, source.text[d.span.start : d.span.end]) for d in bound.diagnostics]
