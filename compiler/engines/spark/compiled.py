"""From a bound script to PySpark source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from neelc.algebra.cost.network import chosen_network
from neelc.algebra.cost.sizes import valid_events
from neelc.catalog.statistics.numbers import Statistics
from neelc.engines.spark.algebra import NetworkOptions, algebra_relations
from neelc.engines.spark.python_source import python_source
from neelc.engines.spark.relations import Let, Read, Relations, SelectColumns
from neelc.engines.spark.scans import StreamRelations, free
from neelc.engines.spark.sql_source import plan_json, plan_text, sql_text
from neelc.engines.spark.strategies import PlanningTask, StrategyPrice, cheapest, planned
from neelc.ir.algebra import Agent, Algebra
from neelc.ir.expressions import Aggregate, Function
from neelc.ir.names import bare, quote
from neelc.ir.node import walk
from neelc.ir.program import Clock, Column, Match, NamedQuery, Program, Stream
from neelc.ir.types import STRING
from neelc.pattern.cost.choose import FormChoice, choose
from neelc.pattern.cost.estimate import Estimate
from neelc.pattern.cost.spark_work import is_skewed
from neelc.pattern.plan.blocks import TooManyRows, UnsupportedQuery
from neelc.pattern.plan.columns import network_unit, unit_of
from neelc.scalar.spark.file_values import by_format, csv_options, value_of
from neelc.scalar.spark.trees import identifier, spark_type
from neelc.source import Span

MOST_ROWS = 1e10


@dataclass(frozen=True)
class Options:
    """How a script is compiled. `strategy` None is the cheapest that can execute a query.

    Without `push_in`, conditions are judged on complete parts; without `shortcuts`, no event is dropped
    because of values that others do not have. Both are there to be measured. `chunks` says whether time is
    cut into chunks where there is a key; None: where statistics tell that few keys have most of the events.

    A result that is expected to have more than `most_rows` is refused, if that rests on statistics that
    somebody gave. One task may find `most_matches`, by default as many as the runtime allows.
    """

    strategy: str | None = None
    push_in: bool = True
    shortcuts: bool = True
    chunks: bool | None = None
    most_rows: float = MOST_ROWS
    most_matches: int | None = None


@dataclass(frozen=True)
class CompiledScript:
    """A script as relations, and as source. `strategies` has the strategy of each query that is executed,
    `prices` what was considered for it."""

    relations: Relations
    title: str
    columns: tuple[Column, ...]
    strategies: tuple[tuple[str, str], ...]
    choices: tuple[FormChoice, ...] = field(default=(), repr=False)
    prices: tuple[tuple[StrategyPrice, ...], ...] = ()
    aggregates: Mapping[str, Function] = field(default_factory=dict, repr=False)
    """The functions of users that `query` is given."""

    @property
    def source(self) -> str:
        return python_source(self.relations, self.title)

    @property
    def plan(self) -> str:
        return plan_text(self.relations, self.strategies)

    @property
    def json(self) -> str:
        return plan_json(self.relations, self.strategies)

    def sql(self) -> str:
        """One statement of Spark SQL; raises `UnsupportedQuery` if the plan is not relational."""
        return sql_text(self.relations)


def compile_script(
    program: Program,
    positions: Sequence[int],
    options: Options | None = None,
    statistics: Statistics | None = None,
) -> CompiledScript:
    """Source for the last of the queries at `positions`, and for all queries that it reads."""
    wanted = positions[-1]
    compiling = _Compiling(program, options or Options(), statistics or Statistics())
    for query in _needed(program, wanted):
        compiling.add(query, is_last=query is program.queries[wanted])
    last = program.queries[wanted].query
    relations = Relations(tuple(compiling.lets))
    return CompiledScript(
        relations,
        last.title if isinstance(last, Match) else str(last),
        last.columns,
        tuple(compiling.strategies),
        tuple(compiling.choices),
        tuple(compiling.prices),
        {
            name: function
            for name, function in _functions(program)
            if name in (*relations.functions, *relations.agents)
        },
    )


def _functions(program: Program) -> Iterator[tuple[str, Function]]:
    """The functions of users that the queries call, by name."""
    for match in (query.match for query in program.pattern_queries):
        for root in (match.pattern, *(output.expression for output in match.outputs)):
            for node in walk(root):
                if isinstance(node, Aggregate) and node.function is not None:
                    yield node.name, node.function
    for query in (query.query for query in program.queries):
        for node in walk(query) if isinstance(query, Algebra) else ():
            if isinstance(node, Agent | Aggregate) and node.function is not None:
                yield node.name, node.function


def _needed(program: Program, wanted: int) -> list[NamedQuery]:
    """The query and those that it reads, in the order of the script."""
    names: set[str | None] = set()
    found = []
    for position in range(wanted, -1, -1):
        query = program.queries[position]
        if position == wanted or query.name in names:
            found.append(query)
            names |= {stream.query for stream in query.query.streams if stream.query}
    return found[::-1]


@dataclass
class _Compiling:
    program: Program
    options: Options
    statistics: Statistics
    lets: list[Let] = field(default_factory=list)
    strategies: list[tuple[str, str]] = field(default_factory=list)
    choices: list[FormChoice] = field(default_factory=list)
    prices: list[tuple[StrategyPrice, ...]] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    clocks: dict[str, Clock] = field(default_factory=dict)
    taken: set[str] = field(
        default_factory=lambda: {
            "spark",
            "streams",
            "aggregates",
            "aggregated",
            "agents",
            "kernel",
            "query",
            "F",
        }
    )

    def add(self, named: NamedQuery, is_last: bool) -> None:
        """Add the relations of one query."""
        if isinstance(named.query, Algebra):
            self._add_network(named, named.query, is_last)
            return
        choice = choose(named.match, self.statistics, compare=False, is_stream=not is_last)
        query = choice.chosen.form.rewriting.query
        self.lets += self._reads(query)
        unit = unit_of(query, self.units)
        name = free("result" if is_last else variable_name(named.name or "matches"), self.taken)
        sources = StreamRelations(dict(self.names), dict(self.units), dict(self.clocks))
        chosen, push_in = choice.chosen, self.options.push_in
        taken = tuple(one.shortcut for one in chosen.shortcuts if one.taken and self.options.shortcuts)
        refuse_too_many(chosen.estimate, self.options.most_rows, query.pattern.span)
        chunks = self.options.chunks
        chunked = is_skewed(query, chosen.keys, self.statistics) if chunks is None else chunks
        most = self.options.most_matches
        task = PlanningTask(
            query, chosen.keys, unit, sources, name, not is_last, named.match, push_in, taken, chunked, most
        )
        if self.options.strategy is None:
            found = cheapest(task, chosen.estimate, self.taken)
        else:
            found = planned(task, self.options.strategy, self.taken)
        self.lets += found.lets
        self.strategies.append((named.name or "", found.strategy))
        self.prices.append(found.prices)
        self.choices.append(choice)
        if named.name is not None:
            self.names[named.name] = name
            self.units[named.name] = unit
            self.clocks[named.name] = query.clock

    def _add_network(self, named: NamedQuery, query: Algebra, is_last: bool) -> None:
        """Add the relations of a SELECT."""
        if self.options.strategy not in (None, "kernel"):
            raise UnsupportedQuery(f"SELECT under the strategy {self.options.strategy}", query.span)
        self.lets += self._reads(query)
        unit = network_unit(query, self.units)
        name = free("result" if is_last else variable_name(named.name or "events"), self.taken)
        options = self.options
        way = NetworkOptions(self.statistics, bool(options.chunks), options.push_in, options.most_matches)
        chosen = chosen_network(query.root, self.statistics, is_read=not is_last)
        root = chosen.root if self.options.push_in else query.root
        sources = StreamRelations(dict(self.names), dict(self.units), dict(self.clocks))
        self.lets += algebra_relations(query, root, unit, sources, self.taken, name, not is_last, way)
        self.strategies.append((named.name or "", "algebra"))
        if named.name is not None:
            self.statistics = self.statistics.holding(named.name, valid_events(root, self.statistics))
            self.names[named.name] = name
            self.units[named.name] = unit
            self.clocks[named.name] = query.clock

    def _reads(self, query: Match | Algebra) -> Iterator[Let]:
        for stream in query.streams:
            if stream.name not in self.names:
                name = free(variable_name(stream.name), self.taken)
                self.names[stream.name] = name
                yield Let(name, stream_read(stream), f"The stream {stream.name}.")
                if stream.timestamp_format is not None:
                    self.names[stream.name] = free(f"{name}_read", self.taken)
                    comment = f"Its times are written as {stream.timestamp_format}."
                    yield Let(
                        self.names[stream.name], SelectColumns(name, tuple(_read_times(stream))), comment
                    )


def _read_times(stream: Stream) -> Iterator[tuple[str, str]]:
    """The columns of a stream, with TIMESTAMPs where it has texts."""
    assert stream.timestamp_format is not None
    for column in stream.columns:
        is_text = column.name in stream.texts
        text = by_format(column.name, stream.timestamp_format, stream.name) if is_text else ""
        yield text or identifier(column.name), column.name


def refuse_too_many(estimate: Estimate, most: float, span: Span | None) -> None:
    """Refuse a result that is too large, unless nobody said how many events there are."""
    streams = [f for f in estimate.facts if f.what.startswith("events") and " of type " not in f.what]
    guessed = any(fact.origin == "assumed" for fact in streams)
    if estimate.rows_produced > most and not guessed:
        raise TooManyRows(f"about {estimate.rows_produced:.2g} rows are expected, more than {most:.2g}", span)


def stream_read(stream: Stream) -> Read:
    """How the rows of a stream are read."""
    options = {bare(option.key): option.value for option in stream.options}
    if stream.path is None:
        return Read(stream.name)
    kind = kind_of(stream.path, stream.format)
    columns = [replace(c, type=STRING) if c.name in stream.texts else c for c in stream.columns]
    if kind == "csv":
        # By name, not by place: the header of a file may have other columns, in another order.
        options = csv_options(stream.path, options)
        values = [(value_of(column.name, column.type, stream.name), column.name) for column in columns]
        return Read(stream.name, stream.path, kind, "", _fail_fast(options), tuple(values))
    if kind == "json":
        schema = ", ".join(f"{quote(column.name)} {spark_type(column.type)}" for column in columns)
        return Read(stream.name, stream.path, kind, schema, _fail_fast(options))
    return Read(stream.name, stream.path, kind, "", tuple(options.items()))


def _fail_fast(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """A malformed row fails the run; it does not become NULLs."""
    return tuple({"mode": "FAILFAST", **options}.items())


def kind_of(path: str, format: str | None) -> str:
    """The format that is said, or else what the ending of the path tells."""
    endings = {"csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json", "ndjson": "json"}
    return bare(format).lower() if format else endings.get(path.rpartition(".")[2].lower(), "parquet")


def variable_name(name: str) -> str:
    """A name for a Python variable.

    >>> variable_name("Trades"), variable_name("2 fast"), variable_name("class")
    ('trades', 'stream_2_fast', 'stream_class')
    """
    import keyword
    import re

    plain = re.sub(r"\W", "_", name.lower(), flags=re.ASCII)
    safe = plain.isidentifier() and not keyword.iskeyword(plain) and not plain.startswith("__")
    return plain if safe else f"stream_{plain}"
