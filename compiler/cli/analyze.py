"""`neelc explain --analyze`: run queries on Spark, and show estimates beside what was counted."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
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
from neelc.engines.spark.observing import observed_script
from neelc.errors import NeelError
from neelc.explain.analysis import AnalysedQuery, analysed, analysis_json, analysis_text, roles_of
from neelc.explain.rules import MeasuredSharing, rules_record, rules_text
from neelc.files import CallError
from neelc.pattern.cost.gathering import StreamCounts, query_name, questions
from neelc.pipeline import analyse_query
from neelc.rules_pipeline import CompiledRules, compile_rules

if TYPE_CHECKING:
    from neelc.catalog.inputs import Inputs
    from neelc.catalog.statistics.numbers import Statistics
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
    inputs, program = bound(source, options)
    positions = chosen(program, options.query) if options.query else [len(program.queries) - 1]
    refuse_unused(inputs, program, options)
    program = located(program, inputs.directory.resolve())
    check_data(inputs, streams_read(program, positions))
    statistics = statistics_of(inputs, program, options.stats)
    try:
        found = _run(inputs, program, positions, statistics, options)
    except NoSpark as error:
        print(f"neelc: Spark cannot be started: {error}", file=sys.stderr)
        print("`neelc doctor` looks for the reason", file=sys.stderr)
        return 3
    except NeelError as error:
        print(error, file=sys.stderr)
        # What is wrong with the data, or too much for the engine, is not the query's fault.
        return 3 if all(diagnostic.code.startswith("NEEL5") for diagnostic in error.diagnostics) else 1
    put(analysis_text(found) if kind == "text" else analysis_json(source.name, found), options.output)
    return 0


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
        asked = {name: one for name, one in questions(program, [place]).items() if name in compiled.reads}
        self.roles = [len(roles_of(one)) for one in self.planned]
        self.observed = RunObservations(observed_script(compiled, asked, self.roles), asked)

    def on(self, spark: Any) -> list[AnalysedQuery]:
        compiled, query = self.observed.compiled, self.program.queries[self.place].query
        frames = frames_of(spark, self.inputs, streams_read(self.program, [self.place]))
        with analysing(query, self.inputs.source) as bounded:
            observations = self.observed.by_key
            frame = bounded(run_source(compiled.source, spark, frames, compiled.aggregates, observations))
        # All rows, with all of their columns, and nothing is kept of them.
        frame.write.format("noop").mode("overwrite").save()
        streams = self.observed.streams()
        found: list[AnalysedQuery] = []
        for number, (one, roles) in enumerate(zip(self.planned, self.roles, strict=True)):
            measures = measures_of(self.observed, number, roles, streams)
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
    from neelc.cli.rules import bound_rules, compiled_rules, located_in, print_left_out

    rules = bound_rules(options)
    program = located(rules.program, Path().resolve())
    statistics = statistics_of(rules.inputs, program, options.stats)
    rules, shared = compiled_rules(rules.over(program), Options(), statistics)
    unshared = compile_rules(program, rules.places, Options(), statistics, shares=False)
    both = [shared, unshared] if shared.script.source != unshared.script.source else [shared]
    streams = streams_read(program, rules.places)
    if options.strict:
        rules.refuse_errors()
    print_left_out(rules)
    try:
        with located_in(rules.joined):
            check_data(rules.inputs, streams)
            measured = _measured_rules(both, rules.inputs, program, streams, options)
    except NoSpark as error:
        print(f"neelc: Spark cannot be started: {error}", file=sys.stderr)
        print("`neelc doctor` looks for the reason", file=sys.stderr)
        return 3
    except NeelError as error:
        print(error, file=sys.stderr)
        return 3
    if kind == "json":
        record = {**rules_record(shared, rules.errors), "measured": measured.record}
        put(json.dumps(record, indent=2, ensure_ascii=False) + "\n", options.output)
    else:
        put(f"{rules_text(shared)}\n\n{measured}\n", options.output)
    return 0


def _measured_rules(
    ways: Sequence[CompiledRules],
    inputs: Inputs,
    program: Program,
    streams: Mapping[str, Stream],
    options: argparse.Namespace,
) -> MeasuredSharing:
    """How long rules take with what they share, and without, if these are two `ways`."""
    seconds: list[list[float]] = [[] for _ in ways]
    rows = 0
    with Progress(sys.stderr) as progress:
        progress.begin("starting Spark")
        with session(options.master, options.remote, settings_of(options.conf)) as spark, clock_of(spark):
            if options.untrusted:
                check_session(spark, program)
            frames = frames_of(spark, inputs, streams)
            with failing_as_runs_do():
                for turn in range(RUNS + 1):  # the first one warms up
                    which = f"run {turn} of {RUNS}" if turn else "warming up"
                    progress.begin(f"running the rules, {which}", Stages(spark))
                    for one, taken in zip(ways, seconds, strict=True):
                        script, start = one.script, time.perf_counter()
                        frame, counts = counting_all(
                            run_source(script.source, spark, frames, script.aggregates), ["true"]
                        )
                        frame.write.format("noop").mode("overwrite").save()
                        (rows,) = counts()
                        if turn:
                            taken.append(time.perf_counter() - start)
            progress.begin("stopping Spark")
    return MeasuredSharing(rows, *map(tuple, seconds))
