"""`neelc.sql` and `neelc.Session`: queries on the streams of a Spark session."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neelc.api.analysis import check_session, describing
from neelc.api.errors import translated, warn_of
from neelc.api.query import BoundScript, DisplayText, Query, explanation, frame_of
from neelc.api.streaming import refuse_streaming, with_watermarks
from neelc.api.streams import (
    Frame,
    RegisteredStream,
    StreamData,
    as_data,
    declared_paths,
    given_path,
    in_catalog,
    is_frame,
    is_stream,
    no_frame,
    stream,
    table_of_spark,
)
from neelc.arguments import (
    MOST_ROWS,
    AgentFunction,
    ExecutionStrategy,
    Function,
    Options,
    UserAgent,
    UserAggregate,
    UserFunction,
    agent,
    aggregate,
)
from neelc.catalog.catalog import registered_agents
from neelc.catalog.statistics.file import statistics_in, streams_of
from neelc.catalog.statistics.numbers import Statistics
from neelc.explain.engine import SPARK, Engine
from neelc.files import CallError, decode, read_bytes
from neelc.ir.bound_rows import HostQuery
from neelc.ir.names import find, written
from neelc.ir.node import walk
from neelc.ir.program import Program, Stream
from neelc.ir.script import CreateStream, HostSelect, Script
from neelc.pipeline import bind, compile_query, parse
from neelc.rows.bind.untrusted import refuse_files_and_agents
from neelc.scalar.clock import NOW, asks_for_time
from neelc.scalar.parameters import parameters_of, registered
from neelc.source import Source
from neelc.syntax.joined import RuleText, rule_texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from neelc.api.rules import Rules, RulesGiven
    from neelc.catalog.inputs import Inputs
    from neelc.engines.spark.compiled import CompiledScript
    from neelc.rows.bind.host import Describe
    from neelc.tools.why.model import Why


def sql(
    spark: SparkSession,
    text: str,
    /,
    args: Mapping[str, object] | None = None,
    *,
    strategy: str | None = None,
    most_rows: float | None = None,
    most_matches: int | None = None,
    options: Mapping[str, bool] | None = None,
    buckets: int | None = None,
    aggregates: Mapping[str, UserAggregate] | None = None,
    agents: Mapping[str, UserAgent] | None = None,
    untrusted: bool = False,
    **streams: object,
) -> DataFrame:
    """The matches of a query, as a DataFrame of Spark. Nothing runs before an action of Spark's does.

    Over streaming DataFrames the result is a streaming DataFrame, for `writeStream` in append mode. They
    require a watermark: `withWatermark`, WATERMARK in the script, or `neelc.stream(..., watermark=...)`.

    Parameters
    ----------
    spark : SparkSession
        A session, classic or Spark Connect.
    text : str
        A script: PATTERN, MATCH_RECOGNIZE, SELECT. Its last query is the result.
    args : dict, optional
        Values of the script's parameters, by their names: ``{"w": "10 SECONDS"}`` for ``WITHIN :w``.
    strategy : {"kernel", "join", "window", "counting"}, optional
        How matches are found. By default, the cheapest strategy that can execute the query.
    most_rows : float, optional
        Refuse a query that is expected to return more rows, by statistics that were given. Default: 1e10.
    most_matches : int, optional
        Fail if one task finds more matches than this. Default: 50 million.
    options : dict, optional
        Single decisions of the compiler to turn on or off, for measurements: `shortcuts`, `chunks`.
    buckets : int, optional
        The number of groups of keys over streaming DataFrames. Default: 16.
    aggregates : dict, optional
        Python functions of lists that the query calls, by their names: see `neelc.aggregate`.
    agents : dict, optional
        Functions of DataFrames that stand in FROM, by their names: see `neelc.agent`.
    untrusted : bool, default False
        Whether the text may read only the streams given here.
    **streams
        The streams by their names: DataFrames, names of tables or views, paths, or `neelc.stream(...)` of
        one of these. Names that are not given are looked up in the catalog.

    Returns
    -------
    DataFrame
        The items of RETURN; without RETURN a struct for each variable, `match_start` and `match_end`.

    Raises
    ------
    NeelQueryError
        The query is wrong, or does not fit its data. Its `diagnostics` have codes, places and hints.
    ValueError, TypeError
        The call is wrong: an unknown stream, an argument that the query does not have.

    Examples
    --------
    >>> trades = spark.createDataFrame(
    ...     [(1, "IBM", 10.0), (2, "IBM", 11.0), (3, "MSFT", 12.0)], "ts BIGINT, ticker STRING, price DOUBLE"
    ... )
    >>> neelc.sql(
    ...     spark,
    ...     "PATTERN SEQ(IBM a, IBM b) WHERE b.price > a.price WITHIN :w RETURN a.ts AS began, b.price",
    ...     args={"w": "10 SECONDS"},
    ...     Trades=neelc.stream(trades, timestamp="ts", type="ticker", unit="s"),
    ... ).show()
    +-----+-------+
    |began|b_price|
    +-----+-------+
    |    1|   11.0|
    +-----+-------+
    <BLANKLINE>
    """
    own = own_arguments(streams, aggregates=aggregates, agents=agents)
    session = Session(spark, untrusted=untrusted)
    for name, given in (own["aggregates"] or {}).items():
        session.register_aggregate(name, given)
    for name, reading in (own["agents"] or {}).items():
        session.register_agent(name, reading)
    return session.sql(
        text,
        args,
        strategy=strategy,
        most_rows=most_rows,
        most_matches=most_matches,
        options=options,
        buckets=buckets,
        untrusted=untrusted,
        **streams,
    )


class Session:
    """A Spark session with streams, functions and rules that all its queries know.

    Parameters
    ----------
    spark : SparkSession
        A session, classic or Spark Connect.
    untrusted : bool, default False
        Whether the texts of all queries may read only registered streams, and those of their call.
    stats : str or dict, optional
        Statistics of the streams: the path of a file, or what `Query.statistics` returns.

    Examples
    --------
    >>> trades = spark.createDataFrame([(1, "IBM"), (2, "MSFT")], "ts BIGINT, ticker STRING")
    >>> neel = neelc.Session(spark)
    >>> neel.register("Trades", trades, timestamp="ts", type="ticker", unit="s")
    >>> neel.sql("PATTERN SEQ(IBM a, MSFT b) WITHIN 10 SECONDS RETURN a.ts, b.ts").collect()
    [Row(a_ts=1, b_ts=2)]
    """

    spark: Any
    """The session of Spark; for the local engine, what stands in its place."""

    def __init__(
        self,
        spark: SparkSession,
        *,
        untrusted: bool = False,
        stats: str | Mapping[str, object] | None = None,
    ) -> None:
        self.spark = spark
        self.untrusted = untrusted
        self.stats = stats
        self._streams: dict[str, StreamData] = {}
        self._aggregates: dict[str, UserAggregate] = {}
        self._agents: dict[str, UserAgent] = {}
        self._rules: dict[str, RuleText] = {}

    def register(
        self,
        name: str,
        data: object,
        *,
        timestamp: str | None = None,
        latest: str | None = None,
        end: str | None = None,
        type: str | None = None,
        unit: str | None = None,
        format: str | None = None,
        options: Mapping[str, str] | None = None,
        timestamp_format: str | None = None,
        watermark: str | None = None,
        then_by: str | Sequence[str] | None = None,
    ) -> None:
        """Give the queries of this session a stream; the last one of a name counts. The settings are those of
        `neelc.stream`."""
        if isinstance(data, StreamData):
            raise TypeError("register takes data or a path, not a stream; describe the columns here")
        self._data(data)
        known = find(written(name), self._streams)
        self._streams.pop(known or name, None)
        self._streams[name] = stream(
            data,
            timestamp=timestamp,
            latest=latest,
            end=end,
            type=type,
            unit=unit,
            format=format,
            options=options,
            timestamp_format=timestamp_format,
            watermark=watermark,
            then_by=then_by,
        )

    def register_aggregate(
        self, name: str, function: Function | UserAggregate, *, returns: str | None = None
    ) -> None:
        """Give the queries of this session an aggregate over lists; the last one of a name counts.

        `function` takes the values of a list, at least one, NULLs as None, and gives a value of the type
        `returns` or None.
        """
        if not isinstance(function, UserAggregate):
            if returns is None:
                raise TypeError(f"aggregate {name}: declare its return type, as in returns='DOUBLE'")
            function = aggregate(function, returns=returns)
        elif returns is not None and not isinstance(function, UserFunction):
            function = aggregate(function.function, returns=returns)
        self._register_called(name, function)

    def register_function(self, function: UserFunction) -> None:
        """Give the queries of this session a function that `neelc.function` has made; the last one of a name
        counts."""
        if not isinstance(function, UserFunction):
            raise TypeError(f"not made by neelc.function(name, python=..., ...): {function!r}")
        self._register_called(function.name, function)

    def _register_called(self, name: str, function: UserAggregate) -> None:
        with translated():
            registered({name: function})
        known = (one for one in self._aggregates if one.lower() == name.lower())
        self._aggregates.pop(next(known, name), None)
        self._aggregates[name] = function

    def register_agent(
        self,
        name: str,
        function: AgentFunction | UserAgent,
        *,
        columns: str | None = None,
        inputs: int | None = None,
        rows: AgentFunction | None = None,
    ) -> None:
        """Give the queries of this session an agent for FROM; the last one of a name counts.

        `function` makes one DataFrame, with `columns`, `ts` and `te`, of one for each input; `rows` does the
        same with lists of dictionaries, for the reference interpreter.
        """
        if isinstance(function, UserAgent):
            made = function
        elif columns is None:
            raise TypeError(f"agent {name}: declare the columns of its result, as in columns='id BIGINT'")
        else:
            made = agent(function, columns=columns, inputs=inputs, rows=rows)
        with translated():
            registered_agents({name: made})
        known = (one for one in self._agents if one.lower() == name.lower())
        self._agents.pop(next(known, name), None)
        self._agents[name] = made

    def sql(
        self,
        text: str,
        /,
        args: Mapping[str, object] | None = None,
        *,
        strategy: str | None = None,
        most_rows: float | None = None,
        most_matches: int | None = None,
        options: Mapping[str, bool] | None = None,
        buckets: int | None = None,
        untrusted: bool = False,
        **streams: object,
    ) -> DataFrame:
        """The matches of the script's last query as a DataFrame, as `neelc.sql` gives them. Nothing is run
        yet."""
        return self.compile(
            text,
            args,
            strategy=strategy,
            most_rows=most_rows,
            most_matches=most_matches,
            options=options,
            buckets=buckets,
            untrusted=untrusted,
            **streams,
        ).to_df()

    def compile(
        self,
        text: str,
        /,
        args: Mapping[str, object] | None = None,
        *,
        strategy: str | None = None,
        most_rows: float | None = None,
        most_matches: int | None = None,
        options: Mapping[str, bool] | None = None,
        buckets: int | None = None,
        untrusted: bool = False,
        **streams: object,
    ) -> Query:
        """The script's last query, compiled: a `Query`, with its source, plan and explanation. The arguments
        are those of `neelc.sql`."""
        own = own_arguments(
            streams,
            args=args,
            strategy=strategy,
            most_rows=most_rows,
            most_matches=most_matches,
            options=options,
            buckets=buckets,
        )
        chosen = _options(own["strategy"], own["most_rows"], own["most_matches"], own["options"] or {})
        if own["buckets"] is not None:
            chosen = replace(chosen, buckets=_buckets(own["buckets"]))
        query = self._compiled(Source(text), own["args"], chosen, streams, untrusted)
        warn_of(query.warnings, query.text)
        return query

    def _compiled(
        self,
        text: Source,
        args: Mapping[str, object] | None,
        options: Options,
        streams: Mapping[str, object],
        untrusted: bool = False,
    ) -> Query:
        """The script's last query, without a warning."""
        with translated():
            bound = with_watermarks(self._bound(text, args or {}, streams, untrusted))
            _refuse_options(bound, options)
            options = replace(options, streaming=bound.is_streaming)
            compiled = compile_query(bound.program, bound.last, bound.text, options, bound.statistics)
        return self._query(bound, compiled)

    def rules(
        self,
        rules: RulesGiven,
        /,
        args: Mapping[str, object] | None = None,
        *,
        strict: bool = False,
        most_matches: int | None = None,
        buckets: int | None = None,
        share: bool = True,
        untrusted: bool = False,
        **streams: object,
    ) -> Rules:
        """Many rules, executed together: texts, paths of files and directories, or a dictionary of names and
        texts. Every query of theirs is a rule."""
        from neelc.api.rules import compiled_rules

        own = own_arguments(streams, args=args, most_matches=most_matches, buckets=buckets)
        options = Options(most_matches=own["most_matches"])
        if own["buckets"] is not None:
            options = replace(options, buckets=_buckets(own["buckets"]))
        return compiled_rules(self, rules, own["args"] or {}, streams, options, strict, share, untrusted)

    def sql_all(
        self,
        rules: RulesGiven | None = None,
        /,
        args: Mapping[str, object] | None = None,
        **named: Any,
    ) -> DataFrame:
        """The rows of many rules as one DataFrame, `rules(...).df`; without rules, of those that are
        registered. Warns of each rule that does not compile, and leaves it out."""
        given = list(self._rules.values()) if rules is None else rules
        if not given:
            raise ValueError("no rules: pass some, or register them with register_rules")
        found = self.rules(given, args, **named)
        for error in found.errors:
            warn_of(error.diagnostics, error.source)
        return found.df

    def register_rules(self, rules: RulesGiven) -> None:
        """Give `sql_all` rules; the last one of a name counts."""
        with translated():
            self._rules |= {text.name: text for text in rule_texts(rules)}

    def explain(
        self,
        text: str,
        /,
        args: Mapping[str, object] | None = None,
        *,
        mode: str = "simple",
        format: str = "text",
        untrusted: bool = False,
        **streams: object,
    ) -> DisplayText:
        """How the script's last query is executed, and why. `mode` is simple, rewrite, cost, nfa or
        all, `format` is text, json, html, dot or mermaid."""
        own = own_arguments(streams, args=args, mode=mode, format=format)
        args, mode, format = own["args"] or {}, own["mode"] or "simple", own["format"] or "text"
        with translated():
            bound = with_watermarks(self._bound(Source(text), args, streams, untrusted))
            return explanation(bound, mode, format, self._engine_for(bound))

    def _engine_for(self, bound: BoundScript) -> Engine:
        """What an explanation of a script is about."""
        return SPARK

    def why(
        self,
        text: str,
        /,
        args: Mapping[str, object] | None = None,
        *,
        key: object = None,
        between: Sequence[object] | None = None,
        untrusted: bool = False,
        **streams: object,
    ) -> Why:
        """Why the events of a key, between two times, have matches of the script's last query that start with
        them, or have none, and what would match instead. Only the events of the key are read."""
        own = own_arguments(streams, args=args, key=key, between=between)
        args, key, between = own["args"], own["key"], own["between"]
        from neelc.api.why import why_of

        with translated():
            bound = self._bound(Source(text), args or {}, streams, untrusted)
            refuse_streaming(bound, "why")
            return why_of(self.spark, bound, key, between)

    def _bound(
        self,
        text: Source,
        args: Mapping[str, object],
        streams: Mapping[str, object],
        untrusted: bool = False,
    ) -> BoundScript:
        """A script with its names resolved; what is given must be used."""
        script = parse(text)
        bound = self.bound_script(script, text, args, streams, untrusted)
        refuse_unused_arguments(script, bound.program, args, streams)
        return bound

    def bound_script(
        self,
        script: Script,
        text: Source,
        args: Mapping[str, object],
        streams: Mapping[str, object],
        untrusted: bool = False,
    ) -> BoundScript:
        """A script that is read, with its names resolved."""
        untrusted = untrusted or self.untrusted
        if untrusted:
            refuse_files_and_agents(script, text)
        _refuse_parameters(streams, parameters_of(script))
        here = {name: self._data(value) for name, value in streams.items()}
        registered = {name: data for name, data in self._streams.items() if find(name, here) is None}
        given = registered | here
        given |= dict(declared_paths(script, given, text))
        given |= {} if untrusted else self._in_catalog(script, given)
        declared = [s.name for s in script.statements if isinstance(s, CreateStream)]
        hosts = [node for node in walk(script) if isinstance(node, HostSelect)]
        all_streams = {
            name: self._stream(name, data, bool(hosts or find(written(name), declared)))
            for name, data in given.items()
        }
        describe = self._describing(lambda stream: frame_of(stream, all_streams, text))
        inputs, program = bind(
            script,
            text,
            [one.given() for one in all_streams.values()],
            Path(),
            args,
            self._aggregates,
            self._agents,
            describing=lambda _: describe,
            untrusted=untrusted,
        )
        if untrusted:
            self._check(program)
        if not program.queries:
            raise CallError("the script has no query")
        statistics = self._statistics(inputs, program, all_streams)
        return BoundScript(text, inputs.script, program, all_streams, statistics)

    # What other engines do otherwise.

    def _data(self, value: object) -> StreamData:
        """What a call gives for a stream."""
        if not isinstance(value, StreamData) and not is_stream(given_path(value)):
            raise TypeError(f"a stream is {self._no_stream(value)}")
        return as_data(value)

    def _no_stream(self, value: object) -> str:
        """What fits here, where a value does not."""
        return no_frame(value, ", the name of a table or a path")

    def _in_catalog(self, script: Script, given: Mapping[str, StreamData]) -> dict[str, StreamData]:
        """Tables that the script names and nobody gives."""
        return dict(in_catalog(script, given, partial(table_of_spark, self.spark)))

    def _stream(self, name: str, data: StreamData, is_declared: bool) -> RegisteredStream:
        """A stream of a call."""
        if not isinstance(data.data, str) and not is_frame(data.data):
            raise TypeError(f"a stream is {self._no_stream(data.data)}")
        return RegisteredStream(name, data, self.spark, is_declared)

    def _statistics(self, inputs: Inputs, program: Program, streams: Mapping[str, Any]) -> Statistics:
        """What is known about the streams of a script."""
        return statistics_given(self.stats, program)

    def _describing(self, frame: Callable[[Stream], Frame]) -> Describe:
        """What knows the columns of queries in Spark's SQL."""
        return describing(self.spark, frame)

    def _check(self, program: Program) -> None:
        """Whether untrusted text is safe here."""
        check_session(self.spark, program)

    def rules_over(self, bound: BoundScript, places: Sequence[int], options: Options, share: bool) -> Rules:
        """The queries at these places, compiled to run together; raises `NoRuleLeft`. Those that cannot run
        are among the refused ones."""
        from neelc.api.rules import Rules
        from neelc.rules_pipeline import compile_rules

        made = compile_rules(bound.program, places, options, bound.statistics, share)
        return Rules(self.spark, bound, made, ())

    def _query(self, bound: BoundScript, compiled: CompiledScript) -> Query:
        """What runs."""
        return Query(self.spark, bound, compiled)


def statistics_given(stats: str | Mapping[str, object] | None, program: Program) -> Statistics:
    """What a file of statistics says about the streams of a program, or what stands in place of a file."""
    if stats is None:
        return Statistics()
    name = stats if isinstance(stats, str) else "stats"
    text = decode(read_bytes(Path(stats), stats), stats) if isinstance(stats, str) else json.dumps(stats)
    return Statistics(*statistics_in(text, name, streams_of(program)))


SWITCHES = ("shortcuts", "chunks")
"""Single decisions of the compiler that can be turned on or off, mostly to measure what they are worth."""


def _options(
    strategy: str | None, most_rows: float | None, most_matches: int | None, switches: Mapping[str, bool]
) -> Options:
    """
    >>> _options("quick", None, None, {})
    Traceback (most recent call last):
    neelc.files.CallError: strategy: there is no quick; there are: kernel, window, join, counting
    """
    for name in switches:
        if name not in SWITCHES:
            raise CallError(f"options: no switch {name}; there are: {', '.join(SWITCHES)}")
    if strategy is not None and strategy not in [*ExecutionStrategy]:
        raise CallError(f"strategy: there is no {strategy}; there are: {', '.join(ExecutionStrategy)}")
    rows = MOST_ROWS if most_rows is None else most_rows
    chosen = None if strategy is None else ExecutionStrategy(strategy)
    return Options(chosen, rows, most_matches, **switches)


def _buckets(given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise ValueError(f"buckets: a number of at least 1, not {given!r}")
    return given


def _refuse_options(bound: BoundScript, options: Options) -> None:
    """Options are for PATTERN queries: `CallError` if only queries around MATCH_RECOGNIZE are compiled."""
    queries = [bound.program.queries[place].query for place in bound.program.needed([bound.last])]
    if options.buckets is not None and not bound.is_streaming:
        raise CallError("buckets: for queries over streaming DataFrames")
    if options.strategy not in (None, ExecutionStrategy.KERNEL) and bound.is_streaming:
        raise CallError(f"strategy: {options.strategy} is for bounded data; over streams, the kernel runs")
    if replace(options, buckets=None) != Options() and all(isinstance(query, HostQuery) for query in queries):
        raise CallError("strategy, most_rows, most_matches and options are for PATTERN queries")


# Arguments of neelc's own whose value can be a text: a text given for any other one is a table or a path.
_TEXTS = ("strategy", "mode", "format", "key")


def own_arguments(streams: dict[str, object], **own: Any) -> dict[str, Any]:
    """The values of arguments of neelc's own. A stream can have the name of one: what can only be a stream is
    put to the `streams`.

    >>> streams = {"Trades": "trades.csv"}
    >>> own_arguments(streams, options="options.csv", strategy="join"), streams
    ({'options': None, 'strategy': 'join'}, {'Trades': 'trades.csv', 'options': 'options.csv'})
    """
    for name, value in own.items():
        is_text = isinstance(value, str) and name not in _TEXTS
        if is_text or isinstance(value, StreamData) or is_frame(value):
            streams[name] = value
            own[name] = None
    return own


def refuse_unused_arguments(
    script: Script,
    program: Program,
    args: Mapping[str, object],
    streams: Mapping[str, object],
    read_too: Iterable[str] = (),
) -> None:
    """What is given must be used: declared by the script, read by a query, or among `read_too`."""
    declared = [s.name for s in script.statements if isinstance(s, CreateStream)]
    read = (stream for query in program.queries for stream in query.query.streams)
    read_by = {table.name for stream in read for table in stream.tables}
    _refuse_unused("stream", streams, [*declared, *sorted(read_by), *read_too])
    asked = [NOW] if asks_for_time(script) else []
    _refuse_unused("argument", args, [*parameters_of(script), *asked])


def _refuse_parameters(streams: Mapping[str, object], used: Iterable[str]) -> None:
    """A parameter is no stream, although a keyword looks as if it could give it a value."""
    names = list(used)
    for name, value in streams.items():
        if name in names and not isinstance(value, StreamData) and not is_frame(value):
            raise CallError(f'`{name}` is a parameter of the query: give it in args={{"{name}": {value!r}}}')


def _refuse_unused(what: str, given: Mapping[str, object], used: list[str]) -> None:
    """What is given and used by nothing is most likely misspelt."""
    for name in given:
        if find(written(name), used) is None:
            close = difflib.get_close_matches(name, used, 1)
            raise CallError(f"unknown {what} `{name}`: {_known(what, used, close)}")


def _known(what: str, used: Sequence[str], close: Sequence[str]) -> str:
    if close:
        return f"did you mean `{close[0]}`?"
    listed = ", ".join(f"`{name}`" for name in dict.fromkeys(used))
    if what == "stream":
        return f"the query reads {listed}" if used else "the query reads no stream that can be given"
    return f"the query's parameters are {listed}" if used else "the query has no parameters"
