"""What the grammar has and the compiler does not run yet."""

from __future__ import annotations

from neelc.ir.rows import MatchRecognize
from neelc.ir.script import FromAgent, FromItem, FromMatchmaker, FromQuery, PatternQuery, Query, Select
from neelc.ir.temporal import MatchTemporal


def unsupported(query: Query) -> str | None:
    """The construct of `query` that is not supported yet, None when all of it is.

    >>> from neelc.ir.script import FromStream
    >>> unsupported(Select((), (FromStream(name="trades"),)))
    >>> unsupported(Select((), (FromMatchmaker(),)))
    'MATCH(...) in FROM'
    """
    match query:
        case PatternQuery():
            return None
        case Select(sources=sources):
            return next(filter(None, map(_construct, sources)), None)
    return "this kind of query"


def _construct(source: FromItem) -> str | None:
    match source.matcher:
        case MatchRecognize():
            return "MATCH_RECOGNIZE"
        case MatchTemporal():
            return "MATCH_RECOGNIZE_TEMPORAL"
    match source:
        case FromMatchmaker():
            return "MATCH(...) in FROM"
        case FromQuery(query=Select(sources=sources)) | FromAgent(inputs=sources):
            return next(filter(None, map(_construct, sources)), None)
    return None
