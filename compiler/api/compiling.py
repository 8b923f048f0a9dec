"""One query of a bound script, compiled; with an error of the query's if Spark cannot run it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from neelc.catalog.statistics.numbers import Statistics
from neelc.errors import Diagnostic, NeelError
from neelc.files import CallError
from neelc.ir.node import Node
from neelc.ir.program import Match, Program, Stream
from neelc.pattern.plan.blocks import TooManyRows, UnsupportedQuery
from neelc.source import Source, Span

if TYPE_CHECKING:
    from neelc.engines.spark.compiled import CompiledScript, Options

SWITCHES = ("push_in", "shortcuts", "chunks")
"""Single decisions of the compiler that can be turned on or off, mostly to measure what they are worth."""


@dataclass(frozen=True)
class Settings:
    """What a caller may say about how a query is compiled; None leaves it to the compiler."""

    strategy: str | None = None
    most_rows: float | None = None
    most_matches: int | None = None
    switches: Mapping[str, bool] = field(default_factory=dict)

    def options(self) -> Options:
        from neelc.engines.spark.compiled import Options

        for name in self.switches:
            if name not in SWITCHES:
                raise CallError(f"options: no switch {name}; there are: {', '.join(SWITCHES)}")
        known = Options(strategy=self.strategy, most_matches=self.most_matches, **self.switches)
        return known if self.most_rows is None else replace(known, most_rows=self.most_rows)


def compiled_query(
    program: Program,
    place: int,
    source: Source,
    settings: Settings | None = None,
    statistics: Statistics | None = None,
    way_out: str | None = None,
) -> CompiledScript:
    """The query at a place of the script; `way_out` is the hint where Spark cannot run it yet."""
    from neelc.engines.spark.compiled import compile_script

    settings = settings or Settings()
    hint = "leave the strategy to neelc: another one might be able to" if settings.strategy else way_out
    with _refused("not supported on Spark yet", program, place, source, hint):
        return compile_script(program, [place], settings.options(), statistics or Statistics())


def sql_of(compiled: CompiledScript, program: Program, place: int, source: Source) -> str:
    """The query as one statement of Spark SQL; raises `NeelError` if its plan is not relational."""
    with _refused(
        "not possible", program, place, source, "the strategy join is relational, where it can be used"
    ):
        return compiled.sql()


@contextmanager
def _refused(message: str, program: Program, place: int, source: Source, hint: str | None) -> Iterator[None]:
    try:
        yield
    except TooManyRows as error:
        raise _error(error, error.what, program, place, source) from None
    except UnsupportedQuery as error:
        raise _error(error, f"{message}: {error.what}", program, place, source, hint) from None


def _error(
    error: UnsupportedQuery,
    message: str,
    program: Program,
    place: int,
    source: Source,
    hint: str | None = None,
) -> NeelError:
    span = error.span or _span(program.queries[place].query) or Span(0, 1)
    return NeelError([Diagnostic(error.code, message, span, error.hint or hint)], source)


def _span(query: Node) -> Span | None:
    return query.pattern.span if isinstance(query, Match) else query.span


def streams_read(program: Program, places: Iterable[int]) -> dict[str, Stream]:
    """The streams that these queries read, and those of the queries that they read, by name."""
    wanted = set(places)
    names: set[str | None] = set()
    found: dict[str, Stream] = {}
    for place in range(len(program.queries) - 1, -1, -1):
        query = program.queries[place]
        if place in wanted or (query.name is not None and query.name in names):
            names |= {stream.query for stream in query.query.streams}
            found |= {stream.name: stream for stream in query.query.streams if stream.query is None}
    return found
