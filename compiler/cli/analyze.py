"""`neelc explain --analyze`: run queries, and show estimates beside what was counted."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neelc.api.analysis import analysing, check_session
from neelc.api.errors import failing_as_runs_do
from neelc.api.gathering import RunObservations, measures_of
from neelc.api.query import run_source
from neelc.api.schemas import clock_of
from neelc.api.spark_session import NoSpark, counting_all, session
from neelc.api.streams import streams_read
from neelc.arguments import Options
from neelc.cli.compile import WAY_OUT
from neelc.cli.engine import AUTO, check_is_here, on_local_or_spark, settle_on_local
from neelc.cli.explain import chosen
from neelc.cli.options import (
    bound,
    check_data,
    frames_of,
    located,
    refuse_unused,
    settings_of,
    statistics_of,
)
from neelc.cli.output import put
from neelc.cli.progress import Progress, Stages
from neelc.cli.run import codes_of
from neelc.engines.spark.observing import observed_script
from neelc.errors import NeelError
from neelc.explain.analysis import AnalysedQuery, analysed, analysis_json, analysis_text, roles_of
from neelc.explain.engine import SPARK, Engine
from neelc.explain.rules import MeasuredSharing, rules_record, rules_text
from neelc.files import CallError
from neelc.pattern.cost.gathering import StreamCounts, query_name, questions
from neelc.pipeline import analyse_query
from neelc.rules_pipeline import CompiledRules, compile_rules

if TYPE_CHECKING:
    from neelc.catalog.inputs import Inputs
    from neelc.catalog.statistics.numbers import Statistics
    from neelc.cli.rules import BoundRules
    from neelc.ir.program import Program, Stream
    from neelc.source import Source

WRITERS = ("text", "json")


def check_analyze(options: argparse.Namespace, kind: str) -> None:
    """Refuse what an analysis cannot show."""
    if kind not in WRITERS:
        raise CallError(f"explain --analyze --format {kind}: as text or as json")
    if options.mode != "simple":
        raise CallError(
            f"explain --analyze --mode {options.mode}: it shows the steps of the plan; leave out --mode"
        )
    if options.streaming:
        raise CallError("explain --analyze --streaming: it runs over bounded data")


def analyze(source: Source, kind: str, options: argparse.Namespace) -> int:
    """Run the requested queries, each with those that it reads, and write what was found; without a name, the
    last one. Gives the exit code."""
    return _on_engine(
        options,
        lambda: _analyzed_locally(source, kind, options),
        lambda: _analyzed_on_spark(source, kind, options),
    )


def _on_engine(options: argparse.Namespace, local: Callable[[], int], spark: Callable[[], int]) -> int:
    """Run on one of the engines; gives the exit code."""
    try:
        if options.engine == AUTO:
            return on_local_or_spark(options, local, spark)
        return local() if options.engine == "local" else spark()
    except NoSpark as error:
        print(f"neelc: Spark cannot be started: {error}", file=sys.stderr)
        print("`neelc doctor` looks for the reason", file=sys.stderr)
        return 3
    except NeelError as error:
        print(error, file=sys.stderr)
        # What is wrong with the data, or too much for the engine, is not the query's fault.
        return 3 if all(code.startswith("NEEL5") for code in codes_of([error])) else 1


def _write(found: list[AnalysedQuery], source: Source, kind: str, options: argparse.Namespace) -> int:
    put(analysis_text(found) if kind == "text" else analysis_json(source.name, found), options.output)
    return 0


def _places(program: Program, options: argparse.Namespace) -> list[int]:
    return chosen(program, options.query) if options.query else [len(program.queries) - 1]


def _analyzed_locally(source: Source, kind: str, options: argparse.Namespace) -> int:
    from neelc.api.local import describing_locally, unspelled
    from neelc.api.local_frame import LocalFrame
    from neelc.api.local_observed import LocalObservations
    from neelc.engines.local.execution import LocalEngine
    from neelc.engines.local.inputs import local_tables
    from neelc.engines.local.plan import local_program
    from neelc.scalar.duckdb.pieces import EvaluatedCall, UnspelledOperation

    inputs, program = bound(source, options, lambda _: describing_locally)
    positions = _places(program, options)
    refuse_unused(inputs, program, options)
    streams = streams_read(program, positions)
    check_is_here(inputs, streams)
    statistics = statistics_of(inputs, program, options.stats)
    calls: dict[str, EvaluatedCall] = {}
    tables = local_tables(inputs, streams, {}, calls, "UTC")
    types = {name: table.types for name, table in tables.items()}
    planned = []
    for place in positions:
        analysis = _Analysis(inputs, program, place, statistics)
        try:
            planned.append((analysis, local_program(analysis.script.relations, types, calls)))
        except UnspelledOperation as error:
            raise unspelled(error, program, place, source) from None
    settle_on_local(options, tables)
    engine, found = LocalEngine(), list[AnalysedQuery]()
    with Progress(sys.stderr) as progress:
        progress.begin("finding matches")
        for analysis, made in planned:
            run = engine.run(made, tables, analysis.script.aggregates)
            for _ in LocalFrame.of(run):
                pass  # all rows, with all of their columns, and nothing is kept of them
            found += analysis.measured(LocalObservations(analysis.script, analysis.asked, run))
    return _write(found, source, kind, options)


def _analyzed_on_spark(source: Source, kind: str, options: argparse.Namespace) -> int:
    inputs, program = bound(source, options)
    positions = _places(program, options)
    refuse_unused(inputs, program, options)
    program = located(program, inputs.directory.resolve())
    check_data(inputs, streams_read(program, positions))
    statistics = statistics_of(inputs, program, options.stats)
    return _write(_run(inputs, program, positions, statistics, options), source, kind, options)


def _run(
    inputs: Inputs,
    program: Program,
    positions: Sequence[int],
    statistics: Statistics,
    options: argparse.Namespace,
) -> list[AnalysedQuery]:
    # What cannot be executed is refused before Spark is started.
    analyses = [_Analysis(inputs, program, place, statistics) for place in positions]
    found: list[AnalysedQuery] = []
    with Progress(sys.stderr) as progress:
        progress.begin("starting Spark")
        settings = settings_of(options.conf)
        with session(options.master, options.remote, settings) as spark, clock_of(spark):
            if options.untrusted:
                check_session(spark, program)
            progress.begin("finding matches", Stages(spark))
            with failing_as_runs_do():
                for analysis in analyses:
                    found += analysis.on(spark)
            progress.begin("stopping Spark")
    return found


class _Analysis:
    """A query that is to be run, with those that it reads; all of its relations that say something are
    observed."""

    def __init__(self, inputs: Inputs, program: Program, place: int, statistics: Statistics) -> None:
        self.inputs, self.program, self.place = inputs, program, place
        self.planned, compiled = analyse_query(
            program, place, inputs.source, statistics=statistics, hint=WAY_OUT
        )
        self.asked = {
            name: one for name, one in questions(program, [place]).items() if name in compiled.reads
        }
        self.roles = [len(roles_of(one)) for one in self.planned]
        self.script = observed_script(compiled, self.asked, self.roles)

    def on(self, spark: Any) -> list[AnalysedQuery]:
        script, query = self.script, self.program.queries[self.place].query
        observed = RunObservations(script, self.asked)
        frames = frames_of(spark, self.inputs, streams_read(self.program, [self.place]))
        with analysing(query, self.inputs.source) as bounded:
            frame = bounded(run_source(script.source, spark, frames, script.aggregates, observed.by_key))
        # All rows, with all of their columns, and nothing is kept of them.
        frame.write.format("noop").mode("overwrite").save()
        return self.measured(observed)

    def measured(self, observed: RunObservations) -> list[AnalysedQuery]:
        """What was counted in a run."""
        streams = observed.streams()
        found: list[AnalysedQuery] = []
        for number, (one, roles) in enumerate(zip(self.planned, self.roles, strict=True)):
            measures = measures_of(observed, number, roles, streams)
            name = one.named.name or query_name(self.program, self.place)
            found.append(analysed(name, one, measures))
            if one.named.name is not None and measures.rows is not None:
                streams = {**streams, one.named.name: StreamCounts(measures.rows)}
        return found


# Many rules: what they share is worth the time that it saves.

RUNS = 3
"""How often rules run with what they share, and without."""


def analyze_rules(kind: str, options: argparse.Namespace) -> int:
    """Run rules with what they share and without, in turn, and write what that saves; gives the exit code."""
    return _on_engine(
        options,
        lambda: _analyzed_rules_locally(kind, options),
        lambda: _analyzed_rules_on_spark(kind, options),
    )


def _write_rules(
    rules: BoundRules,
    compiled: CompiledRules,
    measured: MeasuredSharing,
    kind: str,
    options: argparse.Namespace,
    engine: Engine = SPARK,
) -> int:
    if kind == "json":
        record = {**rules_record(compiled, rules.errors, engine), "measured": measured.record}
        put(json.dumps(record, indent=2, ensure_ascii=False) + "\n", options.output)
    else:
        put(f"{rules_text(compiled, engine)}\n\n{measured}\n", options.output)
    return 0


def _analyzed_rules_locally(kind: str, options: argparse.Namespace) -> int:
    from neelc.api.local import describing_locally, engine_in_words
    from neelc.api.local_frame import LocalFrame
    from neelc.cli.rules import bound_rules, compiled_rules, located_in, print_left_out
    from neelc.engines.local.execution import LocalEngine
    from neelc.engines.local.inputs import local_tables
    from neelc.rules_pipeline import compile_local_rules
    from neelc.scalar.duckdb.pieces import EvaluatedCall

    rules = bound_rules(options, lambda _: describing_locally)
    statistics = statistics_of(rules.inputs, rules.program, options.stats)
    calls: dict[str, EvaluatedCall] = {}
    streams = streams_read(rules.program, rules.places)
    check_is_here(rules.inputs, streams)
    with located_in(rules.joined):
        tables = local_tables(rules.inputs, streams, {}, calls, "UTC")
    types = {name: table.types for name, table in tables.items()}
    compile = partial(compile_local_rules, types=types, calls=calls)
    rules, shared = compiled_rules(rules, Options(), statistics, compile)
    unshared = compile(rules.program, rules.places, Options(), statistics, shares=False)
    settle_on_local(options, tables, rules.errors)
    if options.strict:
        rules.refuse_errors()
    print_left_out(rules)
    engine = LocalEngine()

    def rows_of(one: CompiledRules) -> int:
        assert one.local is not None
        frame = LocalFrame.of(engine.run(one.local, tables, one.script.aggregates))
        return sum(batch.num_rows for batch in frame)

    with Progress(sys.stderr) as progress, located_in(rules.joined):
        measured = _in_turn(_ways(shared, unshared), rows_of, progress.begin)
    return _write_rules(rules, shared, measured, kind, options, engine_in_words(engine, tables))


def _ways(shared: CompiledRules, unshared: CompiledRules) -> list[CompiledRules]:
    """With what rules share, and without, if these are not the same."""
    return [shared, unshared] if shared.script.source != unshared.script.source else [shared]


def _in_turn(
    ways: Sequence[CompiledRules], rows_of: Callable[[CompiledRules], int], begin: Callable[[str], object]
) -> MeasuredSharing:
    """How long rules take in each of the ways, run in turn."""
    seconds: list[list[float]] = [[] for _ in ways]
    rows = 0
    for turn in range(RUNS + 1):  # the first one warms up
        which = f"run {turn} of {RUNS}" if turn else "warming up"
        begin(f"running the rules, {which}")
        for one, taken in zip(ways, seconds, strict=True):
            start = time.perf_counter()
            rows = rows_of(one)
            if turn:
                taken.append(time.perf_counter() - start)
    return MeasuredSharing(rows, *map(tuple, seconds))


def _analyzed_rules_on_spark(kind: str, options: argparse.Namespace) -> int:
    from neelc.cli.rules import bound_rules, compiled_rules, located_in, print_left_out

    rules = bound_rules(options)
    program = located(rules.program, Path().resolve())
    statistics = statistics_of(rules.inputs, program, options.stats)
    rules, shared = compiled_rules(rules.over(program), Options(), statistics)
    unshared = compile_rules(program, rules.places, Options(), statistics, shares=False)
    streams = streams_read(program, rules.places)
    if options.strict:
        rules.refuse_errors()
    print_left_out(rules)
    with located_in(rules.joined):
        check_data(rules.inputs, streams)
        measured = _measured_rules(_ways(shared, unshared), rules.inputs, program, streams, options)
    return _write_rules(rules, shared, measured, kind, options)


def _measured_rules(
    ways: Sequence[CompiledRules],
    inputs: Inputs,
    program: Program,
    streams: Mapping[str, Stream],
    options: argparse.Namespace,
) -> MeasuredSharing:
    """How long rules take with what they share, and without, if these are two `ways`."""
    with Progress(sys.stderr) as progress:
        progress.begin("starting Spark")
        with session(options.master, options.remote, settings_of(options.conf)) as spark, clock_of(spark):
            if options.untrusted:
                check_session(spark, program)
            frames = frames_of(spark, inputs, streams)

            def rows_of(one: CompiledRules) -> int:
                frame = run_source(one.script.source, spark, frames, one.script.aggregates)
                frame, counts = counting_all(frame, ["true"])
                frame.write.format("noop").mode("overwrite").save()
                (rows,) = counts()
                return rows

            with failing_as_runs_do():
                found = _in_turn(ways, rows_of, lambda what: progress.begin(what, Stages(spark)))
            progress.begin("stopping Spark")
    return found
