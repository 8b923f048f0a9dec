"""Many rules on the command line: the queries of several files, of a directory, or of one script."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from neelc.cli.engine import AUTO, SparkNeeded, check_is_here, engine_over, only_for_spark
from neelc.cli.options import bound_script, refuse_unused, statistics_of, streams_given
from neelc.errors import NeelError, render_line
from neelc.explain.engine import SPARK, Engine
from neelc.files import CallError
from neelc.ir.names import find
from neelc.runtime.late_dataclass import dataclass
from neelc.syntax.joined import (
    JoinedScript,
    as_one,
    bound_together,
    joined,
    read_by_all,
    rule_files,
    rule_places,
    with_rule_names,
)

if TYPE_CHECKING:
    from neelc.arguments import Options
    from neelc.catalog.inputs import GivenStream, Inputs
    from neelc.catalog.statistics.numbers import Statistics
    from neelc.engines.local.tables import LocalTable
    from neelc.ir.program import Program
    from neelc.rows.bind.host import Describe
    from neelc.rules_pipeline import CompiledRules


@dataclass(frozen=True)
class BoundRules:
    """The rules of a call, bound. Those at `places` are to run; `left_out` are the names of those with
    errors."""

    joined: JoinedScript
    inputs: Inputs
    program: Program
    places: tuple[int, ...]
    errors: tuple[NeelError, ...]
    left_out: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rules that are to run."""
        return tuple(self.program.queries[place].name or "" for place in self.places)

    def without(self, refused: Sequence[str], errors: Iterable[NeelError]) -> BoundRules:
        """The rules without those that cannot be executed; raises `NeelError` if none is left."""
        places = tuple(place for place in self.places if self.program.queries[place].name not in refused)
        left_out = [name for name in self.names if name in refused]
        found = replace(
            self,
            places=places,
            errors=(*self.errors, *errors),
            left_out=(*self.left_out, *left_out),
        )
        if not places:
            raise as_one(found.errors)
        return found

    def over(self, program: Program) -> BoundRules:
        """The rules over other streams."""
        return replace(self, program=program)

    def refuse_errors(self) -> None:
        """Raises `NeelError` if a rule is left out."""
        if self.errors:
            raise as_one(self.errors)

    @property
    def summary(self) -> str | None:
        """A line about the rules that are left out.

        It names all of them: an alarm that never comes is noticed by nobody.
        """
        if not self.left_out:
            return None
        count, all_rules = len(self.left_out), len(self.left_out) + len(self.places)
        verb = "is" if count == 1 else "are"
        return f"{count} of {all_rules} rules {verb} left out: {', '.join(self.left_out)}"


def bound_rules(
    options: argparse.Namespace,
    describing: Callable[[Inputs], Describe] | None = None,
    given: Sequence[GivenStream] | None = None,
) -> BoundRules:
    """The rules of a call, bound; raises `NeelError` if there is no rule without errors."""
    rules = joined(rule_files(options.files))
    if not rules.rule_names:
        raise CallError(f"{options.command}: no query in {', '.join(options.files)}")
    chosen = rules
    if options.query:
        try:
            chosen = rules.only(options.query)
        except CallError as error:
            raise CallError(f"{options.command} --query: {error}") from None
    streams = streams_given(options) if given is None else given
    # Paths are relative to the file that they stand in: `joined` has made them relative to here.
    found = bound_together(
        chosen, lambda script: bound_script(script, chosen.source, Path(), options, streams, describing)
    )
    inputs, program = found.bound[0], with_rule_names(found.bound[1])
    refuse_unused(replace(inputs, script=rules.script), program, options, read_by_all(rules))
    places = [place for place in rule_places(program) if _is_chosen(program, place, options.query)]
    return BoundRules(chosen, inputs, program, tuple(places), found.errors, found.left_out)


def _is_chosen(program: Program, place: int, names: Sequence[str]) -> bool:
    name = program.queries[place].name or ""
    return not names or any(find(one, [name]) for one in names)


@contextmanager
def located_in(rules: JoinedScript) -> Iterator[None]:
    """Errors that point into the joined text point into the file that they are about."""
    try:
        yield
    except NeelError as error:
        raise as_one(rules.located(error)) from None


def compiled_rules(
    rules: BoundRules,
    options: Options,
    statistics: Statistics,
    compile: Callable[..., CompiledRules] | None = None,
) -> tuple[BoundRules, CompiledRules]:
    """The rules, compiled, without those that cannot be executed; raises `NeelError` if none is left. Another
    engine than Spark has its own `compile_rules`."""
    from neelc.rules_pipeline import NoRuleLeft, compile_rules, refusal_errors

    try:
        made = (compile or compile_rules)(rules.program, rules.places, options, statistics)
    except NoRuleLeft as none:
        errors = refusal_errors(none.refused, rules.program, rules.joined)
        raise as_one([*rules.errors, *errors]) from None
    refused = [name for name, _ in made.refused]
    return rules.without(refused, refusal_errors(made.refused, rules.program, rules.joined)), made


def print_errors(rules: BoundRules, out: TextIO | None = None) -> None:
    """What is wrong with the rules that are left out."""
    if rules.errors:
        print(*rules.errors, sep="\n\n", file=out or sys.stderr)


def warnings_of(rules: BoundRules) -> list[NeelError]:
    """The warnings about rules, for each file."""
    from neelc.tools.lints import lints

    found = lints(rules.program, rules.joined.source)
    return rules.joined.located(NeelError(found, rules.joined.source)) if found else []


def print_warnings(rules: BoundRules) -> None:
    """What is valid but probably not intended, a line each."""
    for one in warnings_of(rules):
        for warning in one.diagnostics:
            print(render_line(warning, one.source), file=sys.stderr)


def explicable_rules(
    options: argparse.Namespace, how: Options | None = None, locally: bool = False
) -> tuple[BoundRules, CompiledRules]:
    """The rules of a call, compiled without data; raises `NeelError`. `--streaming`: for streams without end;
    `locally`: for the local engine."""
    from neelc.arguments import Options

    rules, compile = bound_rules(options, _describing_locally if locally else None), None
    program = rules.program
    if locally:
        from neelc.api.streams import streams_read
        from neelc.rules_pipeline import compile_local_rules

        streams = streams_read(program, rules.places)
        types = {
            name: {column.name: column.type for column in one.own_columns} for name, one in streams.items()
        }
        compile = partial(compile_local_rules, types=types, calls={})
    if options.streaming:
        program = program.with_streams(
            lambda one: one if one.producer or one.is_relation else replace(one, is_streaming=True)
        )
    statistics = statistics_of(rules.inputs, program, options.stats)
    buckets = getattr(options, "buckets", None)
    settings = replace(how or Options(), streaming=options.streaming, buckets=buckets)
    rules, compiled = compiled_rules(rules.over(program), settings, statistics, compile)
    if options.strict:
        rules.refuse_errors()
    return rules, compiled


def rules_on_engine(options: argparse.Namespace) -> tuple[BoundRules, CompiledRules, Engine]:
    """The rules of a call, compiled without data for the engine that `neelc run` takes for them; raises
    `NeelError`."""
    if options.streaming or options.engine == "spark":
        return *explicable_rules(options), SPARK
    from neelc.scalar.duckdb.evaluated import operations_of

    found: list[tuple[BoundRules, CompiledRules]] = []

    def tables() -> Mapping[str, LocalTable]:
        found.append(explicable_rules(options, locally=True))
        return _tables_of_rules(found[0][0], options.engine)

    engine = engine_over(tables, options.engine)
    if not found or (options.engine == AUTO and not engine.is_local):
        return *explicable_rules(options), engine
    rules, compiled = found[0]
    calls = () if compiled.local is None else compiled.local.evaluated
    return rules, compiled, replace(engine, evaluated=operations_of(calls))


def _tables_of_rules(rules: BoundRules, asked: str) -> Mapping[str, LocalTable]:
    """What rules read; raises `SparkNeeded` if Spark executes rules that the local engine leaves out."""
    from neelc.api.streams import streams_read
    from neelc.engines.local.inputs import local_tables

    reason = next((why for why in map(only_for_spark, rules.errors) if why is not None), None)
    if reason is not None and asked == AUTO:
        raise SparkNeeded(reason)
    streams = streams_read(rules.program, rules.places)
    check_is_here(rules.inputs, streams)
    with located_in(rules.joined):
        return local_tables(rules.inputs, streams, {}, {}, "UTC")


def _describing_locally(_: Inputs) -> Describe:
    from neelc.api.local import describing_locally

    return describing_locally


def print_left_out(rules: BoundRules) -> None:
    """What is wrong with rules, and which of them are left out."""
    print_errors(rules)
    print_warnings(rules)
    if rules.summary is not None:
        print(rules.summary, file=sys.stderr)
