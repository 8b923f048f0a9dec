"""Streams as strings, and what `neelc why` prints for queries over them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from neelc import syntax as parse
from neelc.ir.program import Program
from neelc.program import bind
from neelc.source import Source
from neelc.tools.why.explaining import why
from neelc.tools.why.model import Why
from neelc.tools.why.reading import why_request

STREAM = """CREATE STREAM S (ts BIGINT, kind STRING, id BIGINT, user STRING, x DOUBLE)
  TIMESTAMP BY ts UNIT SECONDS TYPE BY kind;
"""
EVENT = re.compile(r"(?P<kind>[A-Z])(?P<ts>\d+)(?:=(?P<x>-?[\d.]+|NULL))?(?:@(?P<id>\d+|NULL))?")

Row = dict[str, object]


def rows(text: str) -> list[Row]:
    """The events of a stream: `A3=5@7` is an A at 3 with x = 5 and id = 7; without, x is 1 and id is 1.

    >>> rows("A3 B4=NULL@7")[1]
    {'ts': 4, 'kind': 'B', 'id': 7, 'user': 'u7', 'x': None}
    """
    found = []
    for word in text.split():
        event = EVENT.fullmatch(word)
        assert event is not None, word
        x, id = event["x"] or "1", event["id"] or "1"
        found.append(
            {
                "ts": int(event["ts"]),
                "kind": event["kind"],
                "id": None if id == "NULL" else int(id),
                "user": f"u{id}",
                "x": None if x == "NULL" else float(x),
            }
        )
    return found


def program(query: str) -> tuple[Program, Source]:
    source = Source(f"{STREAM}PATTERN {query};")
    return bind(parse.script(source), source), source


def whys(query: str, stream: str, key: Sequence[str] = (), between: Sequence[object] | None = None) -> Why:
    """The explanations of the start events of a query over a stream."""
    bound, source = program(query)
    request = why_request(bound, len(bound.queries) - 1, key, between)
    return why(request, {"S": rows(stream)}, source)


def why_lines(query: str, stream: str) -> list[str]:
    """The lines about the first start event."""
    return list(whys(query, stream).explanations[0].lines)
