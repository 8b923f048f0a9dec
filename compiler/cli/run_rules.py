"""`neelc run` of many rules: one table of their rows, on each of the engines."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from neelc.cli.engine import AUTO, check_is_here, on_local_or_spark, settle_on_local
from neelc.cli.options import refuse_for_rules
from neelc.cli.report import RulesReport, check_report, write_report
from neelc.cli.rules import (
    BoundRules,
    bound_rules,
    compiled_rules,
    located_in,
    print_errors,
    print_warnings,
)
from neelc.cli.run import RowTally, codes_of, counted, stopped, unit_of
from neelc.errors import NeelError
from neelc.files import CallError, whole_file, write_whole
from neelc.runtime.late_dataclass import dataclass
from neelc.tools.result_text import TEXT_FORMATS

if TYPE_CHECKING:
    from neelc.api.gathering import RunObservations, WrittenStatistics
    from neelc.api.local_frame import LocalFrame
    from neelc.api.timeline import SparkDrawing
    from neelc.catalog.inputs import Inputs
    from neelc.cli.progress import Progress
    from neelc.engines.local.execution import LocalEngine
    from neelc.engines.local.tables import LocalTable
    from neelc.ir.program import Program, Stream
    from neelc.pattern.cost.gathering import StreamQuestions
    from neelc.rows.bind.host import Describe
    from neelc.rules_pipeline import CompiledRules
    from neelc.scalar.duckdb.pieces import EvaluatedCall

COUNTED_RULES = 20
"""Up to so many rules, the summary has the number of rows of each."""


@dataclass(frozen=True)
class RuleTally:
    """How many rows there are, and how many of each rule, if that is known."""

    rows: int
    by_rule: Mapping[str, int] | None = None


def run_rules(kind: str, options: argparse.Namespace) -> int:
    """Run the rules of a call; gives the exit code."""
    refuse_for_rules(options, "strategy", "report-key", "compare-strategies")
    check_report(options)
    if options.engine == AUTO:
        return on_local_or_spark(options, lambda: _on_local(kind, options), lambda: _on_spark(kind, options))
    return ENGINES[options.engine](kind, options)


def summary_of(rules: BoundRules, tally: RuleTally) -> str:
    """How much was found, in words."""
    unit = unit_of(rules.program.queries[place].query for place in rules.places)
    found = counted(RowTally(tally.rows), "match" if unit == "match" else "row")
    return f"{found} of {len(rules.places)} rule{'' if len(rules.places) == 1 else 's'}"


def details_of(rules: BoundRules, tally: RuleTally) -> Iterator[str]:
    """What follows the summary: the rows of each rule, and the rules that are left out."""
    if tally.by_rule is not None and 1 < len(rules.names) <= COUNTED_RULES:
        width = max(map(len, rules.names))
        yield from (f"  {name:{width}}  {tally.by_rule.get(name, 0):,}" for name in rules.names)
    if rules.summary is not None:
        yield rules.summary


def rows_of(rules: BoundRules, tally: RuleTally) -> dict[str, int]:
    """The rows of each rule, those without any among them."""
    found = tally.by_rule or {}
    return {name: found.get(name, 0) for name in rules.names}


# The reference interpreter.


def _on_reference(kind: str, options: argparse.Namespace) -> int:
    from neelc.catalog.data_warnings import missing_types, seen_in_tables, unit_notes
    from neelc.catalog.inputs import read
    from neelc.cli.progress import Progress
    from neelc.engines.reference_rules import rules_result

    rules = _executable(bound_rules(options))
    _report(rules, options)
    start = time.perf_counter()
    with located_in(rules.joined), Progress(sys.stderr) as progress:
        progress.begin("reading events")
        tables, failures = read(rules.inputs, rules.program)
        if not failures:
            progress.begin(f"finding matches among {sum(map(len, tables.values())):,} events")
            result = rules_result(rules.inputs, rules.program, tables, rules.places)
    if failures:
        found = (one for failure in failures for one in rules.joined.located(failure))
        print(*found, sep="\n\n", file=sys.stderr)
        return 3
    seconds = time.perf_counter() - start
    text = TEXT_FORMATS[kind](result)
    if options.output:
        write_whole(Path(options.output), text)
    else:
        sys.stdout.write(text)
    if options.report:
        rows = [row for row in result.rows if row[2] is not None]
        write_report(options.report, report_of(rules, options, lambda *_: None).of(rows, len(rows)))
    types = missing_types(rules.program, seen_in_tables(rules.program, tables))
    for note in (*types, *unit_notes(rules.inputs, rules.program, tables)):
        print(f"note: {note}", file=sys.stderr)
    tally = RuleTally(len(result.rows), Counter(str(row[0]) for row in result.rows))
    if options.stats_out:
        from neelc.engines.reference_counts import counted_in_tables
        from neelc.pattern.cost.gathering import questions, statistics_json

        asked = questions(rules.program, rules.places)
        counts = counted_in_tables(asked, tables)
        write_whole(Path(options.stats_out), statistics_json(asked, counts, rows_of(rules, tally)))
    print(f"{summary_of(rules, tally)} in {seconds:.2f} s (reference engine)", file=sys.stderr)
    _print(details_of(rules, tally))
    return 0


def report_of(
    rules: BoundRules, options: argparse.Namespace, found: Callable[[Any, Mapping[str, Any]], Any]
) -> RulesReport:
    """The page that is asked for; `found` gives the rows of all rules."""
    return RulesReport(Path(options.report), ", ".join(options.files), rules, found)


def _executable(rules: BoundRules) -> BoundRules:
    """The rules without those that only Spark can execute."""
    from neelc.engines.reference_rules import have_common_time, unsupported_rules

    refused = unsupported_rules(rules.program, rules.places, rules.joined.source)
    names = [rules.program.queries[place].name or "" for place in refused]
    errors = [one for error in refused.values() for one in rules.joined.located(error)]
    found = rules.without(names, errors)
    if not have_common_time(found.program, found.places):
        raise CallError("some rules use numbers as times, others timestamps: run them separately")
    return found


def _report(rules: BoundRules, options: argparse.Namespace) -> None:
    """Say which rules have errors, before the others run; `--strict`, instead."""
    if options.strict:
        rules.refuse_errors()
    print_errors(rules)
    print_warnings(rules)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr)


# The local engine.


def _on_local(kind: str, options: argparse.Namespace) -> int:
    from neelc.cli.progress import Progress
    from neelc.cli.run_local import without_pandas
    from neelc.engines.local.execution import LocalEngine

    start = time.perf_counter()
    try:
        with Progress(sys.stderr) as progress:
            progress.begin("reading the rules")
            job = _local_job(options)
            progress.begin("finding matches")
            frame = job.frame(LocalEngine(options.timezone or "UTC"))
            with located_in(job.rules.joined), without_pandas(options):
                tally = job.write(frame, kind, options, progress)
                notes = job.notes(frame)
                if options.stats_out:
                    write_whole(Path(options.stats_out), job.statistics(frame, tally))
                page = job.page(frame, options, progress)
    except KeyboardInterrupt as stop:
        return stopped(stop)
    write_report(options.report, page)
    _print(f"note: {note}" for note in notes)
    seconds = time.perf_counter() - start
    how = f"(local engine: {strategies_of(job.compiled)})"
    print(f"{summary_of(job.rules, tally)} in {seconds:.2f} s {how}", file=sys.stderr)
    _print(details_of(job.rules, tally))
    return 0


@dataclass(frozen=True)
class LocalRulesJob:
    """Rules, compiled for the local engine, and the data that they read. `asked` is counted of these, for
    --stats-out."""

    rules: BoundRules
    compiled: CompiledRules
    tables: Mapping[str, LocalTable]
    asked: Mapping[str, StreamQuestions]

    def frame(self, engine: LocalEngine) -> LocalFrame:
        """The rows of all rules: nothing has run yet."""
        from neelc.api.local_frame import LocalFrame

        assert self.compiled.local is not None
        return LocalFrame.of(engine.run(self.compiled.local, self.tables, self.compiled.script.aggregates))

    def write(
        self, frame: LocalFrame, kind: str, options: argparse.Namespace, progress: Progress
    ) -> RuleTally:
        """Find the rows and write them."""
        from neelc.cli.run_local import print_frame

        if kind == "parquet":
            count = frame.write(options.output, format=kind, overwrite=options.overwrite)
            return RuleTally(count, dict(frame.run.query(_BY_RULE.format(frame.text)).fetchall()))
        if options.output is None:
            return RuleTally(*print_frame(frame, kind, sys.stdout, progress, counted="rule"))
        with whole_file(Path(options.output)) as out:
            return RuleTally(*print_frame(frame, kind, out, progress, counted="rule"))

    def page(self, frame: LocalFrame, options: argparse.Namespace, progress: Progress) -> str | None:
        """The report, if one is requested: the rows are found once more."""
        from neelc.api.local_drawing import LocalDrawing

        if not options.report:
            return None
        progress.begin("drawing the report")
        return report_of(self.rules, options, lambda *_: frame).page(LocalDrawing(frame.run.engine), {})

    def notes(self, frame: LocalFrame) -> list[str]:
        """What is noticed about the events."""
        from neelc.cli.run_local import type_notes

        return list(type_notes(self.rules.program, self.rules.places, [frame.run]))

    def statistics(self, frame: LocalFrame, tally: RuleTally) -> str:
        """What is counted of the streams and of the rules, as a file has it."""
        from neelc.api.gathering import written_statistics
        from neelc.api.local_observed import LocalObservations

        observed = LocalObservations(self.compiled.script, self.asked, frame.run)
        return written_statistics(self.asked, observed.streams(), rows_of(self.rules, tally)).text


_BY_RULE = "SELECT rule, count(*) FROM ({}) GROUP BY rule"


def _local_job(options: argparse.Namespace) -> LocalRulesJob:
    from neelc.api.local import describing_locally
    from neelc.api.streams import streams_read
    from neelc.catalog.data_warnings import unit_notes
    from neelc.cli.compile import options_in
    from neelc.cli.options import statistics_of
    from neelc.engines.local.inputs import local_tables
    from neelc.pattern.cost.gathering import questions
    from neelc.rules_pipeline import compile_local_rules

    rules = bound_rules(options, lambda _: describing_locally)
    statistics = statistics_of(rules.inputs, rules.program, options.stats)
    calls: dict[str, EvaluatedCall] = {}
    streams = streams_read(rules.program, rules.places)
    check_is_here(rules.inputs, streams)
    with located_in(rules.joined):
        tables = local_tables(rules.inputs, streams, {}, calls, options.timezone or "UTC")
    types = {name: table.types for name, table in tables.items()}
    asked = questions(rules.program, rules.places) if options.stats_out else {}
    compile = partial(compile_local_rules, types=types, calls=calls, asked=asked)
    rules, compiled = compiled_rules(rules, options_in(options), statistics, compile)
    settle_on_local(options, tables, rules.errors)
    _report(rules, options)
    _print(f"note: {note}" for note in unit_notes(rules.inputs, rules.program))
    return LocalRulesJob(rules, compiled, tables, asked)


# Spark.


@dataclass(frozen=True)
class RulesJob:
    """Rules, compiled, and where their rows go: `output` None is standard output."""

    rules: BoundRules
    compiled: CompiledRules
    program: Program
    streams: Mapping[str, Stream]
    kind: str
    overwrite: bool
    report: RulesReport | None = None
    statistics_out: str | None = None
    asked: Mapping[str, StreamQuestions] = field(default_factory=dict)
    """What is counted of the streams, for `statistics_out`."""
    _observed: list[RunObservations] = field(default_factory=list)

    @property
    def inputs(self) -> Inputs:
        return self.rules.inputs

    def write(
        self, spark: Any, frames: Mapping[str, Any], target: TextIO | str, progress: Progress
    ) -> RuleTally:
        """Find the rows and write them."""
        from neelc.api.query import run_source

        script, observed = self.compiled.script, None
        if self.statistics_out is not None:
            from neelc.api.gathering import RunObservations
            from neelc.engines.spark.observing import observed_script

            script = observed_script(script, self.asked)
            self._observed.append(RunObservations(script, self.asked))
            observed = self._observed[0].by_key
        frame = run_source(script.source, spark, frames, script.aggregates, observed)
        if isinstance(target, str):
            return self._as_parquet(frame, target)
        return self._as_text(frame, target, progress)

    def _as_parquet(self, frame: Any, path: str) -> RuleTally:
        from neelc.api.spark_session import counting_all
        from neelc.ir.types import STRING
        from neelc.scalar.spark.trees import literal

        is_counted = len(self.rules.names) <= COUNTED_RULES or self.statistics_out is not None
        names = self.rules.names if is_counted else ()
        frame, counts = counting_all(frame, ["true", *(f"rule = {literal(name, STRING)}" for name in names)])
        frame.write.mode("overwrite" if self.overwrite else "errorifexists").parquet(path)
        rows, *each = counts()
        return RuleTally(rows, dict(zip(names, each, strict=True)) if names else None)

    def _as_text(self, frame: Any, out: TextIO, progress: Progress) -> RuleTally:
        from neelc.cli.run_on_spark import print_rows

        by_rule = Counter[str]()
        texts = with_json(frame)
        columns = self.compiled.script.columns
        tally = print_rows(texts, columns, self.kind, out, "", progress, counts=by_rule)
        return RuleTally(tally.rows, by_rule)

    def summary(self, tally: RuleTally) -> str:
        return summary_of(self.rules, tally)

    def details(self, tally: RuleTally) -> Iterator[str]:
        return details_of(self.rules, tally)

    def statistics(self, tally: RuleTally) -> WrittenStatistics | None:
        """What was counted in passing, if that is asked for."""
        from neelc.api.gathering import written_statistics

        if not self._observed:
            return None
        return written_statistics(self.asked, self._observed[0].streams(), rows_of(self.rules, tally))

    @property
    def strategies(self) -> str:
        return strategies_of(self.compiled)


def strategies_of(compiled: CompiledRules) -> str:
    """The names of the strategies by which rules are executed."""
    return ", ".join(dict.fromkeys(name for _, name in compiled.script.strategies))


def with_json(frame: Any) -> Any:
    """The table of rules with texts for its VARIANTs."""
    return frame.selectExpr(
        "rule", "to_json(key) AS key", "match_start", "match_end", "to_json(columns) AS columns"
    )


def _on_spark(kind: str, options: argparse.Namespace) -> int:
    from neelc.cli.engine import KNOWN_TO_SPARK
    from neelc.cli.options import settings_of, with_timezone
    from neelc.cli.run_on_spark import run_job

    settings = with_timezone(settings_of(options.conf), options.timezone)
    job: RulesJob | None = None
    try:
        rules = bound_rules(options)
        if KNOWN_TO_SPARK not in codes_of(rules.errors):
            job = _job(rules, kind, options)
    except NeelError as error:
        if KNOWN_TO_SPARK not in codes_of([error]):
            raise
    return run_job(lambda spark: job or _described_job(spark, kind, options), kind, options, settings)


def _described_job(spark: Any, kind: str, options: argparse.Namespace) -> RulesJob:
    """The job, where only Spark knows the columns of some queries."""
    from neelc.api.analysis import describing
    from neelc.cli.options import frames_of

    def describe(inputs: Inputs) -> Describe:
        return describing(spark, lambda stream: frames_of(spark, inputs, {stream.name: stream})[stream.name])

    return _job(bound_rules(options, describe), kind, options)


def _job(rules: BoundRules, kind: str, options: argparse.Namespace) -> RulesJob:
    from neelc.api.streams import streams_read
    from neelc.catalog.data_warnings import unit_notes
    from neelc.cli.compile import options_in
    from neelc.cli.options import check_data, located, statistics_of
    from neelc.pattern.cost.gathering import questions

    program = located(rules.program, Path().resolve())
    statistics = statistics_of(rules.inputs, program, options.stats)
    rules, compiled = compiled_rules(rules.over(program), options_in(options), statistics)
    streams = streams_read(program, rules.places)
    with located_in(rules.joined):
        check_data(rules.inputs, streams)
    _report(rules, options)
    for note in unit_notes(rules.inputs, program):
        print(f"note: {note}", file=sys.stderr)
    asked = questions(program, rules.places) if options.stats_out else {}
    out = options.stats_out
    report = report_of(rules, options, partial(_rows_on_spark, compiled)) if options.report else None
    return RulesJob(rules, compiled, program, streams, kind, options.overwrite, report, out, asked)


def _rows_on_spark(compiled: CompiledRules, engine: SparkDrawing, frames: Mapping[str, Any]) -> Any:
    from neelc.api.query import run_source

    script = compiled.script
    return with_json(run_source(script.source, engine.spark, frames, script.aggregates))


ENGINES = {"reference": _on_reference, "local": _on_local, "spark": _on_spark}
