"""`neelc run --report`: the matches of a run as a page to look at."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neelc.cli.output import check_page, scripts_of
from neelc.files import CallError, write_whole
from neelc.runtime.late_dataclass import dataclass

if TYPE_CHECKING:
    from neelc.api.timeline import DrawingEngine
    from neelc.arguments import Options
    from neelc.catalog.inputs import Inputs
    from neelc.catalog.statistics.numbers import Statistics
    from neelc.cli.rules import BoundRules
    from neelc.ir.program import Program
    from neelc.runtime.reference import Tables
    from neelc.tools.report.drawing import DrawnQuery
    from neelc.tools.report.picture import Picture


def add_report(parser: argparse.ArgumentParser) -> None:
    """Declare `--report` and the options that belong to it."""
    report = parser.add_argument_group("a picture of the result")
    report.add_argument(
        "--report", metavar="FILE", help="also write an HTML page with events and matches on a time line"
    )
    report.add_argument(
        "--report-key",
        metavar="COLUMN",
        action="append",
        default=[],
        help="group the lanes by this column (repeatable; default: the query's key)",
    )
    report.add_argument(
        "--compare-strategies",
        action="store_true",
        help="show the same events under the four selection strategies, side by side",
    )


def check_report(options: argparse.Namespace) -> None:
    """Refuse before anything runs what cannot be written after it."""
    if options.report is None:
        for name in ("report_key", "compare_strategies"):
            if getattr(options, name):
                raise CallError(f"run --{name.replace('_', '-')} requires --report FILE.html")
        return
    check_page("run --report", options.report, *scripts_of(options))


@dataclass(frozen=True)
class ReportRequest:
    """The queries that are drawn, and where the page goes."""

    path: Path
    inputs: Inputs
    program: Program
    places: tuple[int, ...]
    keys: tuple[str, ...]
    compare: bool

    def page(self, draw: Callable[[DrawnQuery, int], Picture]) -> str:
        from neelc.explain.report import written_queries
        from neelc.tools.report.drawing import DrawnQuery, drawn_query
        from neelc.tools.report.page import report_page

        texts = written_queries(self.inputs.script, self.program)
        file = Path(self.inputs.source.name).name
        source = self.inputs.source
        drawn = [(at, texts[at], drawn_query(self.program.queries[at], source)) for at in self.places]
        subjects = [
            (DrawnQuery(file, text.name, text.text, query, self.keys), at) for at, text, query in drawn
        ]
        return report_page([draw(subject, at) for subject, at in subjects])

    def on_reference(self, tables: Tables) -> str:
        """The page, drawn by the reference interpreter."""
        from neelc.tools.report.drawing import reference_picture

        return self.page(
            lambda subject, at: reference_picture(subject, self.program, at, tables, self.compare)
        )


@dataclass(frozen=True)
class EngineReport:
    """A page of what an engine finds, and what its queries are compiled with."""

    request: ReportRequest
    options: Options
    statistics: Statistics

    @property
    def path(self) -> Path:
        return self.request.path

    def page(self, engine: DrawingEngine, frames: Mapping[str, Any]) -> str:
        """The page; `frames` are those of the streams."""
        from neelc.api.timeline import DrawnScript, FrameDrawing

        request = self.request
        script = DrawnScript(request.inputs.source, request.program, self.options, self.statistics)

        def draw(subject: DrawnQuery, at: int) -> Picture:
            return FrameDrawing(engine, script, at, frames).picture(subject, request.compare)

        return request.page(draw)


@dataclass(frozen=True)
class RulesReport:
    """A page of the rows of many rules. `found` gives these rows, with the DataFrames of streams."""

    path: Path
    file: str
    rules: BoundRules
    found: Callable[[Any, Mapping[str, Any]], Any]

    def page(self, engine: DrawingEngine, frames: Mapping[str, Any]) -> str:
        """The page of the first rows that an engine finds."""
        from neelc.api.schemas import values_of
        from neelc.engines.reference_rules import rules_clock
        from neelc.ir.program import Column
        from neelc.ir.types import STRING
        from neelc.tools.report.picture import MOST_MATCHES

        placed = self.found(engine, frames).where("match_start IS NOT NULL")
        rows, total = engine.first(placed, "match_start", MOST_MATCHES)
        time = rules_clock(self.rules.program, self.rules.places).type
        columns = [Column("", type) for type in (STRING, STRING, time, time, STRING)]
        return self.of(values_of(rows, columns), total)

    def of(self, rows: Iterable[Sequence[object]], total: int) -> str:
        """The page of these rows."""
        from neelc.engines.reference_rules import rules_clock, timeless_rules
        from neelc.tools.report.page import report_page
        from neelc.tools.report.rule_set import DrawnRules

        program, places = self.rules.program, self.rules.places
        timeless = tuple(timeless_rules(program, places))
        drawn = DrawnRules(self.file, self.rules.names, rules_clock(program, places), timeless)
        return report_page([drawn.picture(rows, total)])


def write_report(path: str | Path | None, page: str | None) -> None:
    if path is not None and page is not None:
        write_whole(Path(path), page)
        print(f"{path}: written", file=sys.stderr)


def report_request(
    inputs: Inputs, program: Program, places: Sequence[int], options: argparse.Namespace
) -> ReportRequest | None:
    if options.report is None:
        return None
    from neelc.tools.report.drawing import drawn_query

    for place in places:
        drawn_query(program.queries[place], inputs.source)
    keys = tuple(options.report_key)
    return ReportRequest(
        Path(options.report), inputs, program, tuple(places), keys, options.compare_strategies
    )
