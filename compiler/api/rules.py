"""`neelc.rules` and `Session.sql_all`: many queries, executed together, and one table of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from neelc.api.errors import translated
from neelc.api.query import BoundScript, DisplayText, Query, run_source
from neelc.api.streaming import streaming_rules
from neelc.api.streams import Frame, streams_read
from neelc.arguments import Options, UserAgent, UserAggregate
from neelc.errors import NeelError
from neelc.explain.engine import SPARK, Engine
from neelc.explain.rules import rules_text
from neelc.files import CallError
from neelc.ir.names import find, quote, written
from neelc.ir.program import Match, OutputColumn
from neelc.ir.types import STRING, DataType
from neelc.pipeline import compile_query
from neelc.rules_pipeline import CompiledRules, NoRuleLeft, refusal_errors
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.spark.trees import literal, spark_type
from neelc.scalar.type_of import INTERVALS
from neelc.scalar.variants import is_storable
from neelc.syntax.joined import (
    RuleText,
    as_one,
    bound_together,
    joined,
    read_by_all,
    rule_places,
    rule_texts,
    with_rule_names,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from neelc.api.session import Session
    from neelc.engines.spark.compiled import CompiledScript

RulesGiven = str | Path | Mapping[str, str] | Sequence[str | Path | RuleText]
"""A script, a path of a file or a directory, several of these, or a dictionary of names and scripts."""


def rules(
    spark: SparkSession,
    rules: RulesGiven,
    /,
    args: Mapping[str, object] | None = None,
    *,
    strict: bool = False,
    most_matches: int | None = None,
    buckets: int | None = None,
    share: bool = True,
    aggregates: Mapping[str, UserAggregate] | None = None,
    agents: Mapping[str, UserAgent] | None = None,
    untrusted: bool = False,
    **streams: object,
) -> Rules:
    """Many queries over the same streams, executed together: each event is read once for all of them.

    Parameters
    ----------
    spark : SparkSession
        A session, classic or Spark Connect.
    rules : str, Path, list or dict
        A script, the path of a file or of a directory with `*.neel` files, a list of these, or scripts by the
        names of their rules. Every query is a rule.
    args : dict, optional
        Values of the scripts' parameters, by their names.
    strict : bool, default False
        Whether a rule that does not compile raises `NeelQueryError`. By default it is left out, and is among
        the `errors` of the result.
    most_matches : int, optional
        Fail if one task finds more matches than this. Default: 50 million.
    buckets : int, optional
        The number of groups of keys over streaming DataFrames. Default: 16.
    share : bool, default True
        Whether rules that begin alike take their common steps once. False is for measurements.
    aggregates, agents : dict, optional
        Functions that the rules call, by their names: see `neelc.aggregate` and `neelc.agent`.
    untrusted : bool, default False
        Whether the texts may read only the streams given here.
    **streams
        The streams by their names, as in `neelc.sql`.

    Returns
    -------
    Rules
        `df` has the rows of all rules, `result["name"]` those of one rule with its own columns.

    Examples
    --------
    >>> logins = spark.createDataFrame(
    ...     [(1, "Fail", "ann"), (2, "Fail", "ann")], "ts INT, kind STRING, user STRING"
    ... )
    >>> found = neelc.rules(
    ...     spark,
    ...     {"Twice": "PATTERN SEQ(Fail a, Fail b) WHERE [user] WITHIN 1 MINUTE RETURN a.user, b.ts"},
    ...     Logins=neelc.stream(logins, type="kind", unit="s"),
    ... )
    >>> found.names
    ('Twice',)
    >>> found["Twice"].collect()
    [Row(a_user='ann', b_ts=2)]
    """
    from neelc.api.session import Session, own_arguments

    own = own_arguments(streams, args=args, aggregates=aggregates, agents=agents)
    session = Session(spark, untrusted=untrusted)
    for name, given in (own["aggregates"] or {}).items():
        session.register_aggregate(name, given)
    for name, reading in (own["agents"] or {}).items():
        session.register_agent(name, reading)
    return session.rules(
        rules,
        own["args"],
        strict=strict,
        most_matches=most_matches,
        buckets=buckets,
        share=share,
        untrusted=untrusted,
        **streams,
    )


@dataclass(frozen=True, repr=False)
class Rules:
    """Rules, compiled: what `neelc.rules` returns. Nothing is run before rows are asked for.

    `df` has the rows of all of them: `rule`, `key`, `match_start`, `match_end` and `columns`, the rule's own.
    `rules["Burst"]` has the columns of one rule. `errors` are those of rules that are left out.

    Examples
    --------
    >>> import neelc
    >>> rules = neelc.local().rules(
    ...     {"Any": "PATTERN Login a RETURN a.ts", "Wrong": "PATTERN Login a WHERE b.ts > 1"},
    ...     Login=[{"ts": 1}],
    ... )
    >>> rules.names, [error.getCondition() for error in rules.errors]
    (('Any',), ['NEEL2001'])
    >>> rules["Any"].collect()
    [(1,)]
    """

    spark: Any
    bound: BoundScript
    compiled: CompiledRules
    errors: tuple[NeelError, ...]
    _kept: list[Any] = field(default_factory=list, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rules that are executed."""
        found = {*self.compiled.together, *(name for name, _ in self.compiled.alone)}
        return tuple(one.name for one in self.bound.program.queries if one.name and one.name in found)

    @property
    def is_streaming(self) -> bool:
        """Whether the rules read streams without end."""
        return self.compiled.streaming

    @property
    def df(self) -> DataFrame:
        """The rows of all rules as one DataFrame."""
        table: DataFrame = self._kept[0] if self._kept else self._table()
        return table

    def explain(self) -> DisplayText:
        """What the rules share, and why the others are executed alone."""
        return DisplayText(rules_text(self.compiled, self._engine()))

    def persist(self) -> Self:
        """Keep the rows of all rules once they are found, until `unpersist`: what reads several rules finds
        them once. `rules["Burst"]` does so by itself."""
        if not self._kept:
            self._kept.append(self._keeping(self._table()))
        return self

    def unpersist(self) -> None:
        """Let go of the rows."""
        while self._kept:
            self._let_go(self._kept.pop())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.unpersist()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> DataFrame:
        """The rows of one rule, with its own columns, from the rows of all."""
        found = find(written(name), self.names)
        if found is None:
            raise KeyError(f"no rule {name}; rules: {', '.join(self.names)}")
        together = any(found in one.names for one in self.compiled.sets)
        query = next(one.query for one in self.bound.program.queries if one.name == found)
        if not together or not isinstance(query, Match) or not self._has_own_columns(query):
            alone: DataFrame = self._alone(found)
            return alone
        if not self.is_streaming:
            self.persist()
        own: DataFrame = self._own_columns(found, query)
        return own

    def _alone(self, name: str) -> Frame:
        """The rows of a rule that shares nothing."""
        program = self.bound.program
        place = next(n for n, one in enumerate(program.queries) if one.name == name)
        with translated():
            compiled = compile_query(program, place, self.bound.text, Options(streaming=self.is_streaming))
        only = replace(self.bound, program=replace(program, queries=program.queries[: place + 1]))
        return self._query(only, compiled).to_df()

    def __repr__(self) -> str:
        wrong = f", {len(self.errors)} with errors" if self.errors else ""
        return f"Rules({', '.join(self.names)}{wrong})"

    # What other engines do otherwise.

    def _engine(self) -> Engine:
        """What an explanation is about."""
        return SPARK

    @property
    def source(self) -> DisplayText:
        """PySpark source with one function, `query(spark, streams)`: what `df` calls."""
        return DisplayText(self.compiled.script.source)

    def _table(self) -> Frame:
        """The rows of all rules, which are not kept."""
        program = self.bound.program
        places = range(len(program.queries))
        given = {
            name: self.bound.frame(stream)
            for name, stream in streams_read(program, places).items()
            if self.bound.is_given(stream)
        }
        script = self.compiled.script
        return run_source(script.source, self.spark, given, script.aggregates)

    def _keeping(self, table: Frame) -> Frame:
        return table.persist()

    def _let_go(self, table: Frame) -> None:
        table.unpersist()

    def _has_own_columns(self, query: Match) -> bool:
        """Whether the VARIANTs of a query's rows have all that its own columns have."""
        return all(is_storable(one.type) or one.type in INTERVALS for one in query.outputs)

    def _own_columns(self, name: str, query: Match) -> Frame:
        """The rows of a rule that is executed with others, with its own columns."""
        fields = ", ".join(f"{quote(one.name)}: {_stored(one.type)}" for one in query.outputs)
        rows = self.df.where(f"rule = {literal(name, STRING)}")
        stored = rows.selectExpr(f"CAST(columns AS STRUCT<{fields}>) AS columns")
        return stored.selectExpr(*(_restored(one) for one in query.outputs))

    def _query(self, bound: BoundScript, compiled: CompiledScript) -> Query:
        return Query(self.spark, bound, compiled)


def _stored(kind: DataType) -> str:
    """The type that a VARIANT has for a value: intervals are texts."""
    return spark_type(kind) if is_storable(kind) else "STRING"


def _restored(output: OutputColumn) -> str:
    field = f"columns.{quote(output.name)}"
    text = field if is_storable(output.type) else f"CAST({field} AS {spark_type(output.type)})"
    return f"{text} AS {quote(output.name)}"


def compiled_rules(
    session: Session,
    given: object,
    args: Mapping[str, object],
    streams: Mapping[str, object],
    options: Options,
    strict: bool,
    share: bool,
    untrusted: bool,
) -> Rules:
    """Rules as a session has them."""
    from neelc.api.session import refuse_unused_arguments

    with translated():
        texts = rule_texts(given)
        if not texts:
            raise CallError("there is no rule")
        # Spark's working directory may be another one.
        texts = [replace(one, directory=one.directory and one.directory.resolve()) for one in texts]
        together = joined(texts)
        found = bound_together(
            together,
            lambda script: session.bound_script(script, together.source, args, streams, untrusted),
            strict,
        )
        program = with_rule_names(found.bound.program)
        refuse_unused_arguments(together.script, program, args, streams, read_by_all(together))
        over = streaming_rules(replace(found.bound, program=program), rule_places(program))
        mixed = [error for one in over.others for error in together.located(one)]
        if options.buckets is not None and not over.is_streaming:
            raise CallError("buckets: for rules over streaming DataFrames")
        options, bound = replace(options, streaming=over.is_streaming), over.bound
        try:
            made = session.rules_over(bound, over.places, options, share)
            refused = [*mixed, *refusal_errors(made.compiled.refused, program, together)]
        except NoRuleLeft as none:
            wrong = [*found.errors, *mixed, *refusal_errors(none.refused, program, together)]
            raise as_one(wrong) from None
        if refused and strict:
            raise as_one(refused)
    return replace(made, errors=(*found.errors, *refused))
