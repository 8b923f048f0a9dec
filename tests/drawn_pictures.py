"""Pictures of small scripts, drawn by the reference interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neelc import syntax as parse
from neelc.explain.report import written_queries
from neelc.ir.program import Program
from neelc.program import bind
from neelc.source import Source
from neelc.tools.report.drawing import DrawnQuery, drawn_query, reference_picture
from neelc.tools.report.picture import MOST_EVENTS, Picture, StartNote

Rows = Sequence[Mapping[str, object]]

STREAM = """CREATE STREAM S (ts BIGINT, kind STRING, id BIGINT, x STRING)
  TIMESTAMP BY ts UNIT SECONDS TYPE BY kind;
"""
LASTING = """CREATE STREAM S (ts BIGINT, te BIGINT, kind STRING, id BIGINT, x STRING)
  TIMESTAMP BY ts UNIT SECONDS END BY te TYPE BY kind;
"""


def rows(text: str, key: int = 1) -> list[dict[str, object]]:
    """The events of a text: a second and a row for each letter, of one key; a point is a second without one.

    >>> rows("A.b", 7)
    [{'ts': 0, 'kind': 'A', 'id': 7, 'x': 'A0'}, {'ts': 2, 'kind': 'B', 'id': 7, 'x': 'b2'}]
    """
    return [
        {"ts": at, "kind": letter.upper(), "id": key, "x": f"{letter}{at}"}
        for at, letter in enumerate(text)
        if letter != "."
    ]


def bound(text: str, head: str = STREAM) -> tuple[Source, Program]:
    source = Source(head + text)
    return source, bind(parse.read(source), source)


def drawn(
    text: str,
    events: Rows,
    *,
    head: str = STREAM,
    key: Sequence[str] = (),
    compare: bool = False,
    notes: Sequence[StartNote] = (),
    most: int = MOST_EVENTS,
) -> Picture:
    """The picture of the last query over the stream S."""
    source, program = bound(text, head)
    place = len(program.queries) - 1
    written = written_queries(parse.read(source), program)[place]
    subject = DrawnQuery(
        "some.neel", written.name, written.text, drawn_query(program.queries[place], source), tuple(key)
    )
    return reference_picture(subject, program, place, {"S": events}, compare, notes, most)
