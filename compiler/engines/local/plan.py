"""From the relations of a plan to what runs on DuckDB: views, and kernels that read one of them.

Nothing runs here: a program is text and values, to be printed, or sent to another process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from neelc.engines.local.program import (
    KernelRun,
    LocalProgram,
    LocalStep,
    LocalView,
    StreamTable,
    Types,
    UserCalls,
)
from neelc.engines.spark.relations import (
    AgentCall,
    AggregateRows,
    AnyProgram,
    BesideRow,
    CalledFunctions,
    Extend,
    Items,
    Join,
    Kernel,
    Let,
    LookUp,
    Observed,
    Ordered,
    Read,
    Relation,
    Relations,
    SelectColumns,
    Sorted,
    Union,
    Where,
    functions_of,
)
from neelc.ir.expressions import DeclaredFunction
from neelc.ir.types import DataType, stored
from neelc.rows.bind.host_text import SparkQuery
from neelc.runtime.kernels.rows.program import RowOrder, RowProgram
from neelc.runtime.kernels.rules.program import RuleSet
from neelc.runtime.program import PatternProgram
from neelc.scalar.duckdb.lookups import beside_lookup
from neelc.scalar.duckdb.operators import common_pieces
from neelc.scalar.duckdb.pieces import (
    Columns,
    DuckText,
    EvaluatedCall,
    NameScope,
    UnspelledOperation,
    duck_type,
    quoted,
)
from neelc.scalar.duckdb.queries import SpelledQuery, spelled_query
from neelc.scalar.duckdb.spelling import ordering, parsed, spell, spelled, spelled_schema, spelled_type
from neelc.scalar.spark.trees import identifier

ROLES = "roles"
"""The column with the roles that an event can have, as bits."""


def local_program(
    relations: Relations, streams: Mapping[str, Types], calls: Mapping[str, EvaluatedCall] | None = None
) -> LocalProgram:
    """What runs for a plan over streams with these columns; raises `UnspelledOperation`. `calls` are the
    functions that the queries of the streams need."""
    held = {name: {one: stored(type) for one, type in types.items()} for name, types in streams.items()}
    writer = _ProgramWriter(held, dict(calls or {}), relations.declared)
    for let in in_exact_order(relations.lets):
        writer.add(let)
    texts = [*map(_text, writer.steps), *writer.observed.values()]
    called = {name for text in texts for name in re.findall(r"\bneelc_\w+", text)}
    used = tuple(call for name, call in writer.calls.items() if name in called or name in (calls or {}))
    result = relations.lets[-1].name
    scans = frozenset(calls or {}) - called
    steps = with_tables(writer.steps)
    return LocalProgram(steps, writer.types, used, result, writer.observed, scans)


MOST_READ = 50
"""Views that a query reads, each as often as it is named."""


def with_tables(steps: Sequence[LocalStep]) -> tuple[LocalStep, ...]:
    """The steps, in which a view of very many is a table. DuckDB puts the text of a view in the place of each
    of its names: where each of thirty views names the one before twice, that makes a billion."""
    read: dict[str, int] = {}
    found: list[LocalStep] = []
    for step in steps:
        if isinstance(step, LocalView):
            names = re.findall(r'"((?:[^"]|"")*)"', step.text)
            count = 1 + sum(read.get(name.replace('""', '"'), 0) for name in names)
            if count > MOST_READ:
                step, count = replace(step, is_stored=True), 1
            read[step.name] = count
        found.append(step)
    return tuple(found)


def local_query(
    lets: Sequence[Let], known: Mapping[str, Types], calls: dict[str, EvaluatedCall]
) -> tuple[str, Types]:
    """The last of some relations that are no kernels, as one query over relations with these columns; `calls`
    collects the functions that it needs. Raises `UnspelledOperation`."""
    writer = _ProgramWriter({}, calls)
    writer.types |= known
    for let in lets:
        writer.add(let)
    views = ((step.name, step.text) for step in writer.steps if isinstance(step, LocalView))
    last = lets[-1].name
    parts = ", ".join(f"{quoted(name)} AS ({text})" for name, text in views)
    return f"WITH {parts} SELECT * FROM {quoted(last)}", writer.types[last]


def _text(step: LocalStep) -> str:
    """What DuckDB is given of a step."""
    match step:
        case LocalView(text=text) | KernelRun(order=text):
            return text
    return ""


def spelled_host(
    query: SparkQuery, tables: Mapping[str, Types], calls: dict[str, EvaluatedCall]
) -> SpelledQuery:
    """A query of Spark's own SQL over tables."""
    text = query.text
    if query.names:
        text = re.sub(r"{{|}}|{(\w+)}", lambda m: f"`{m[1]}`" if m[1] else m[0][0], text)
    try:
        return spelled_query(text, tables, {name: value for value, name in query.arguments}, calls)
    except UnspelledOperation as refusal:
        if refusal.place is not None:
            refusal.span = query.span(*refusal.place)
        raise


def in_exact_order(lets: Sequence[Let]) -> Iterator[Let]:
    """Rows by their keys and their time. Spark sorts by one number, nearly in this order, which is faster
    there; for DuckDB it is slower."""
    sorts = {let.name: let.relation for let in lets if isinstance(let.relation, Sorted)}
    kernels = (let.relation for let in lets if isinstance(let.relation, Kernel))
    exact = {
        one.source: found
        for one in kernels
        if one.source in sorts and (found := _exact_order(one.program)) is not None
    }
    for let in lets:
        match let.relation:
            case Sorted(source, keys) if let.name in exact:
                yield replace(let, relation=Sorted(source, keys, (*keys, exact[let.name][1])))
            case Kernel(source) if source in exact:
                yield replace(let, relation=replace(let.relation, program=exact[source][0]))
            case _:
                yield let


def _exact_order(program: AnyProgram) -> tuple[AnyProgram, str] | None:
    """The program for rows in the exact order, and what they are sorted by behind their keys; None if it
    takes them in this order already."""
    match program:
        case PatternProgram(grain=int()):
            return replace(program, grain=None), "start"
        case RuleSet(events=PatternProgram(grain=int())):
            return replace(program, events=replace(program.events, grain=None)), "start"
        case RowProgram(order=RowOrder(column, descending=descending, nulls_last=nulls_last)):
            direction = "DESC" if descending else "ASC"
            nulls = "LAST" if nulls_last else "FIRST"
            return replace(program, order=None), f"{identifier(column)} {direction} NULLS {nulls}"
    return None


class _ProgramWriter:
    """The steps so far, and the columns of each relation."""

    def __init__(
        self,
        streams: Mapping[str, Types],
        calls: dict[str, EvaluatedCall],
        declared: Sequence[DeclaredFunction] = (),
    ) -> None:
        self.declared = {one.spelled.lower(): one for one in declared}
        self.streams = streams
        self.calls = calls
        self.steps: list[LocalStep] = []
        self.types: dict[str, Types] = {}
        self.sorts: dict[str, Sorted] = {}
        self.observed: dict[str, str] = {}

    def add(self, let: Let) -> None:
        """One more relation."""
        relation, name = let.relation, let.name
        match relation:
            case Kernel():
                self.types[name] = spelled_schema(relation.schema)
                self.steps.append(self._kernel(name, relation, let.comment))
            case CalledFunctions(source, calls):
                lists = {call.values for call in calls}
                kept = {column: type for column, type in self.types[source].items() if column not in lists}
                self.types[name] = {**kept, **{call.name: spelled_type(call.type) for call in calls}}
                texts = tuple((call.function, call.values, call.name, call.type) for call in calls)
                self.steps.append(UserCalls(name, source, texts, let.comment))
            case Observed(source, key, items, dropped):
                assert source == name, "what is observed keeps its name"
                columns, _ = self._items(items, self._scope({"": self.types[source]}))
                read = source if dropped is None else self._drop(name, dropped)
                self.observed[key] = f"SELECT {columns} FROM {quoted(read)}"
            case Read(stream):
                self.types[name] = self.streams[stream]
                self.steps.append(StreamTable(name, stream, let.comment))
            case _:
                if isinstance(relation, Sorted):
                    self.sorts[name] = relation
                text, self.types[name] = self._select(relation)
                self.steps.append(LocalView(name, text, let.comment))

    def _drop(self, name: str, dropped: str) -> str:
        """Take a column out of the relation that was made last, and the rows that have it; gives the name of
        that relation, as it was."""
        step = self.steps.pop()
        assert isinstance(step, KernelRun) and step.name == name, "kernels count their steps"
        whole = f"{name} {dropped}"
        self.steps.append(replace(step, name=whole))
        self.types[whole] = self.types[name]
        self.types[name] = {column: type for column, type in self.types[name].items() if column != dropped}
        kept = ", ".join(map(quoted, self.types[name])) or "1"
        text = f"SELECT {kept} FROM {quoted(whole)} WHERE {quoted(dropped)} IS NULL"
        self.steps.append(LocalView(name, text, "Without the rows that have counts."))
        return whole

    def _kernel(self, name: str, kernel: Kernel, comment: str) -> KernelRun:
        arguments: dict[str, object] = {}
        if kernel.most_matches is not None:
            arguments["most_matches"] = kernel.most_matches
        if kernel.measured:
            arguments["measured"] = True
        zoned = isinstance(kernel.program, RowProgram) and kernel.program.zoned
        sorts = self.sorts.get(kernel.source)
        source = kernel.source if sorts is None else sorts.source
        return KernelRun(
            name,
            kernel.program,
            tuple(arguments.items()),
            source,
            self.types[kernel.source],
            self.types[name],
            "" if sorts is None else self._order_by(sorts),
            () if sorts is None else tuple(map(_bare, sorts.keys)),
            tuple(functions_of(kernel.program)),
            zoned,
            comment,
        )

    # All other relations are queries of DuckDB.

    def _select(self, relation: Relation) -> tuple[str, Types]:
        match relation:
            case SelectColumns(source, items, where, having, distinct):
                scope = self._scope({"": self.types[source]})
                columns, types = self._items(items, scope)
                text = f"SELECT {columns} FROM {quoted(source)}"
                roles = next((one for one, name in items if name == ROLES), None)
                beside = beside_lookup(roles, where) if roles and where else None
                if beside is not None:  # who has no role needs no other test
                    having = f"{ROLES} <> 0" + (f" AND ({having})" if having else "")
                    tests = [spell(one, scope).text for one in beside]
                    text += f" WHERE {' AND '.join(tests)}" if tests else ""
                elif where:
                    text += f" WHERE {spelled(where, scope).text}"
                if having:
                    condition = spelled(having, self._scope({"": types})).text
                    text = f"SELECT * FROM ({text}) WHERE {condition}"
                return (f"SELECT DISTINCT * FROM ({text})" if distinct else text), types
            case Extend(source, items):
                own = self.types[source]
                columns, types = self._items(items, self._scope({"": own}))
                return f"SELECT *, {columns} FROM {quoted(source)}", {**own, **types}
            case Where(source, condition):
                own = self.types[source]
                test = spelled(condition, self._scope({"": own})).text
                return f"SELECT * FROM {quoted(source)} WHERE {test}", own
            case Union(sources):
                return self._union(sources)
            case Join():
                return self._join(relation)
            case LookUp(source, column, values, name):
                text = (
                    f"SELECT event.*, known.value AS {quoted(name)} FROM {quoted(source)} AS event"
                    f" LEFT JOIN {quoted(values)} AS known ON event.{quoted(column)} = known.key"
                )
                return text, {**self.types[source], name: self.types[values]["value"]}
            case BesideRow(source, row):
                added = self.types[row]
                columns = ", ".join(
                    f"(SELECT {name} FROM {quoted(row)}) AS {name}" for name in map(quoted, added)
                )
                return f"SELECT *, {columns} FROM {quoted(source)}", {**self.types[source], **added}
            case AggregateRows(source, groups, items):
                scope = self._scope({"": self.types[source]})
                columns, types = self._items((*groups, *items), scope)
                by = ", ".join(str(place) for place in range(1, len(groups) + 1))
                return f"SELECT {columns} FROM {quoted(source)}" + (f" GROUP BY {by}" if by else ""), types
            case Ordered(source, order, limit):
                scope = self._scope({"": self.types[source]})
                by = ", ".join(ordering(parsed_order(" ".join(item)), scope) for item in order)
                text = f"SELECT * FROM {quoted(source)} ORDER BY {by}"
                return (text if limit is None else f"{text} LIMIT {limit}"), self.types[source]
            case Sorted(source):
                return f"SELECT * FROM {quoted(source)}{self._order_by(relation)}", self.types[source]
            case SparkQuery():
                return self._query(relation)
            case AgentCall(agent):
                raise UnspelledOperation(f"the agent {agent}, a function of Spark's DataFrames")
        raise AssertionError(f"{type(relation).__name__} is for streams without end")

    def _order_by(self, relation: Sorted) -> str:
        scope = self._scope({"": self.types[relation.source]})
        by = ", ".join(ordering(parsed_order(text), scope) for text in relation.order)
        return f" ORDER BY {by}" if by else ""

    def _query(self, relation: SparkQuery) -> tuple[str, Types]:
        """A query of Spark's own SQL. `{name}` stands for a relation, if there is any."""
        found = spelled_host(relation, {name: self.types[name] for name in relation.names}, self.calls)
        return found.text, found.types

    def _union(self, sources: tuple[str, ...]) -> tuple[str, Types]:
        """Columns are found by name, and have a type in common."""
        names = list(self.types[sources[0]])
        scope = self._scope({})
        columns = {
            name: common_pieces(
                [DuckText(quoted(name), _column(self.types[source], name)) for source in sources], scope
            )
            for name in names
        }
        selects = []
        for place, source in enumerate(sources):
            items = (f"{pieces[place].text} AS {quoted(name)}" for name, (pieces, _) in columns.items())
            selects.append(f"SELECT {', '.join(items)} FROM {quoted(source)}")
        return " UNION ALL ".join(selects), {name: type for name, (_, type) in columns.items()}

    def _join(self, relation: Join) -> tuple[str, Types]:
        (left, one), (right, other) = relation.left, relation.right
        scope = self._scope({one: self.types[left], other: self.types[right]})
        how = JOINS[relation.kind]
        columns, types = f"{quoted(one)}.*", self.types[left]
        if relation.items:
            columns, types = self._items(relation.items, scope)
        on = spelled(relation.on, scope).text
        sides = f"{quoted(left)} AS {quoted(one)} {how} {quoted(right)} AS {quoted(other)}"
        return f"SELECT {columns} FROM {sides} ON {on}", types

    def _scope(self, columns: Columns) -> NameScope:
        return NameScope(columns, calls=self.calls, declared=self.declared)

    def _items(self, items: Items, scope: NameScope) -> tuple[str, Types]:
        if not items:  # rows without columns, of which there is a number
            return "1", {}
        pieces = [(spelled(text, scope), name) for text, name in items]
        texts = (
            f"{f'CAST({one.text} AS {duck_type(one.type)})' if one.text == 'NULL' else one.text}"
            f" AS {quoted(name)}"
            for one, name in pieces
        )
        return ", ".join(texts), {name: piece.type for piece, name in pieces}


JOINS = {
    "INNER": "JOIN",
    "LEFT OUTER": "LEFT JOIN",
    "LEFT SEMI": "SEMI JOIN",
    "LEFT ANTI": "ANTI JOIN",
}


def _column(types: Types, name: str) -> DataType:
    return next(type for known, type in types.items() if known.lower() == name.lower())


def parsed_order(text: str) -> Any:
    """What to sort by, which a direction may follow."""
    return parsed(f"SELECT 1 ORDER BY {text}").args["order"].expressions[0]


def _bare(text: str) -> str:
    """The name of the column that a text of Spark stands for."""
    return str(parsed(text).name)
