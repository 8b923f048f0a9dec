"""Several input streams of MATCH_RECOGNIZE_SEQUENTIAL and _TEMPORAL (JEPC thesis, 15.2.3), as one.

An event of the one stream has the columns of its own stream, NULL in those of the others, and the number of
its stream. "This function is evaluated for each incoming event of an arbitrary but fixed point event stream":
the condition of a symbol is about the events of one stream, so that number is part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from neelc.catalog.streams import ColumnSource
from neelc.findings import Findings
from neelc.ir import algebra as a
from neelc.ir import expressions as e
from neelc.ir import row_patterns as r
from neelc.ir.names import bare, find_variable, meant, written
from neelc.ir.node import Node, map_children, walk
from neelc.ir.program import Column, OutputColumn
from neelc.ir.types import INT, VOID
from neelc.rows.bind.recognize import pattern_variables
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Span

VARIABLE = "all streams"
"""The name of the merged events: nobody writes it by chance."""


@dataclass(frozen=True)
class MergedStreams:
    """The clause over one stream, its columns, and the operator that makes it. The column `number` has the
    number of the stream that an event is of; `homes` are those of the symbols."""

    clause: MatcherOfStreams
    relation: ColumnSource
    operator: a.Operator
    number: str
    homes: Mapping[str, int]


MatcherOfStreams = r.MatchSequential | r.MatchTemporal


def merged_streams(
    clause: MatcherOfStreams,
    relations: Sequence[ColumnSource],
    operators: Sequence[a.Operator],
    findings: Findings,
    named: Mapping[str, str] = MappingProxyType({}),
) -> MergedStreams | None:
    """The clause with all its streams as one; None, and reports, if it is wrong. `named` are the streams that
    symbols name apart from their conditions."""
    streams = _Streams(clause, tuple(relations), findings, named)
    definitions = tuple(streams.definition(one) for one in clause.definitions)
    measures = tuple(
        replace(one, expression=streams.rewritten(one.expression, None)) for one in clause.measures
    )
    keys = streams.keys()
    if streams.failed:
        return None
    columns = streams.columns(keys)
    inputs = tuple(
        a.Projection(operator, written(VARIABLE), tuple(streams.outputs(number, operator, keys, columns)))
        for number, operator in enumerate(operators)
    )
    names = tuple(e.Name((written(name),)) for name in streams.key_names(keys))
    changed = replace(clause, definitions=definitions, measures=measures, partition_by=names, streams=())
    homes = {name: number + 1 for name, number in streams.home.items() if number is not None}
    merger = a.Merger(inputs, span=clause.span)
    return MergedStreams(changed, ColumnSource(VARIABLE, columns), merger, streams.number, homes)


Keys = tuple[tuple[str, ...], ...]
"""For each stream the columns that partition it."""


class _Streams:
    """What names of a clause mean, with several streams."""

    def __init__(
        self,
        clause: MatcherOfStreams,
        relations: tuple[ColumnSource, ...],
        findings: Findings,
        named: Mapping[str, str],
    ) -> None:
        self.clause, self.relations, self.findings, self.given = clause, relations, findings, named
        self.failed = False
        self.symbols = pattern_variables(clause)
        self.known = [tuple(one.columns or ()) for one in relations]
        self.names = _merged_names(relations)
        self.number = _free("input", self.names.values())
        self.unclear: set[str] = set()
        self.home: dict[str, int | None] = {one.name: self._stream_of(one) for one in clause.definitions}

    def _report(self, code: str, message: str, place: Span | None, hint: str | None = None) -> None:
        # What has been reported before is not added to the findings again, and is as wrong.
        self.failed = True
        self.findings.report(code, message, place, hint)

    # Names.

    def _column(self, number: int, name: str) -> str | None:
        return meant(name, [one.name for one in self.known[number]])

    def _having(self, name: str) -> list[int]:
        return [number for number in range(len(self.known)) if self._column(number, name) is not None]

    def _called(self, name: str) -> int | None:
        """The stream of that name."""
        found = meant(name, [one.name for one in self.relations])
        return next((n for n, one in enumerate(self.relations) if one.name == found), None)

    def _is_symbol(self, name: str) -> bool:
        return find_variable(name, self.symbols) is not None

    def _stream_of(self, definition: r.Definition) -> int | None:
        """The stream whose events emit a symbol; None if those of all do."""
        named, columns = set[int](), set[str]()
        if (given := self._called(self.given.get(definition.name, ""))) is not None:
            named.add(given)
        for node in walk(definition.condition):
            if not isinstance(node, e.Name):
                continue
            first, *others = node.parts
            if others and self._is_symbol(first):
                columns |= {others[0]} if find_variable(first, [definition.name]) else set()
            elif others and (number := self._called(first)) is not None:
                named.add(number)
            elif self._having(first):
                columns.add(first)
        able = named or set(range(len(self.known))).intersection(*map(self._having, columns))
        if len(able) == 1:
            return able.pop()
        if named or columns or isinstance(self.clause, r.MatchTemporal):
            self.unclear.add(definition.name)
            streams = " and ".join(f"`{self.relations[one].name}`" for one in sorted(able)) or "no stream"
            message = f"the condition of `{definition.name}` concerns {streams}, but must concern one stream"
            hint = f"qualify it, for example {self.relations[0].name}.x"
            self._report("NEEL3201", message, definition.span, hint)
        return None

    def _check_measures(self, definition: r.Definition) -> None:
        """A column alone must not be called like a measure."""
        aliases = [bare(one.alias) for one in self.clause.measures if one.alias is not None]
        for node in walk(definition.condition):
            if isinstance(node, e.Name) and len(node.parts) == 1:
                having = self._having(node.parts[0])
                if having and meant(node.parts[0], aliases) is not None:
                    stream = written(self.relations[having[0]].name)
                    message = f"column `{bare(node.parts[0])}` is in `{bare(stream)}` and `MEASURES`"
                    hint = f"qualify it: {stream}.{node.parts[0]}"
                    self._report("NEEL3201", message, node.span, hint)

    def definition(self, definition: r.Definition) -> r.Definition:
        self._check_measures(definition)
        number = self.home[definition.name]
        if definition.name in self.unclear:
            return definition
        condition = self.rewritten(definition.condition, number)
        if number is not None and isinstance(self.clause, r.MatchSequential):
            stream = e.Name((written(VARIABLE), written(self.number)))
            own = e.Binary("=", stream, e.Literal(number + 1, INT))
            condition = e.Conjunction((own, condition), span=condition.span)
        return replace(definition, condition=condition)

    def rewritten(self, expression: e.Expr, home: int | None) -> e.Expr:
        """An expression with the names of the merged columns; columns alone are of the stream `home`, if that
        has them."""

        def change(node: Node) -> Node:
            match node:
                case e.Name():
                    return self._name(node, home)
                case e.Call(name) if name.lower() == "prev":
                    message = "PREV is not supported with several input streams"
                    self._report("NEEL3206", message, node.span, "read one stream")
                    return node
            return map_children(node, change)

        changed = change(expression)
        assert isinstance(changed, e.Expr)
        return changed

    def _name(self, node: e.Name, home: int | None) -> e.Name:
        first, *others = node.parts
        if others and self._is_symbol(first):
            own = next((self.home[one] for one in self.home if find_variable(first, [one])), None)
            column = self._merged(others[0], own, node)
            return node if column is None else replace(node, parts=(first, written(column), *others[1:]))
        number = self._called(first) if others else None
        if number is not None:
            column = self._merged(others[0], number, node)
            return node if column is None else _of_all(node, column, others[1:])
        column = self._merged(first, home if home in self._having(first) else None, node)
        return node if column is None else _of_all(node, column, others)

    def _merged(self, name: str, number: int | None, node: e.Name) -> str | None:
        """The merged column of a name; None if it is no column. It is reported if several streams have it."""
        having = self._having(name) if number is None else [number]
        if len(having) > 1 and not self.unclear:
            streams = " and ".join(f"`{self.relations[one].name}`" for one in having)
            message = f"column `{bare(name)}` is in {streams}"
            hint = f"qualify it: {written(self.relations[having[0]].name)}.{name}"
            self._report("NEEL3201", message, node.span, hint)
        column = self._column(having[0], name) if having else None
        if column is None and number is not None:
            message = f"`{self.relations[number].name}` has no column `{bare(name)}`"
            self._report("NEEL2003", message, node.span)
        return None if column is None else self.names[having[0], column]

    # Partitions.

    def keys(self) -> Keys:
        """For each stream as many columns, which are compared in their order."""
        found: list[list[str]] = [[] for _ in self.known]
        for item in self.clause.partition_by:
            for number, column in self._partitioned(item):
                found[number].append(column)
        if len({len(one) for one in found}) > 1 and not self.failed:
            message = "PARTITION BY must name the same number of columns of each stream"
            hint = "for example PARTITION BY a.room, b.room"
            self._report("NEEL3208", message, self.clause.partition_by[0].span, hint)
            return ()
        if self.failed:
            return ()
        keys = tuple(map(tuple, found))
        for several in zip(*keys, strict=True):
            types = {str(self._type(number, name)) for number, name in enumerate(several)}
            if len(types) > 1:
                message = f"PARTITION BY compares {' and '.join(sorted(types))}"
                hint = "cast one of them in an earlier query"
                self._report("NEEL3208", message, self.clause.partition_by[0].span, hint)
        return keys

    def _partitioned(self, item: e.Expr) -> Iterator[tuple[int, str]]:
        match item:
            case e.Name((name,)):
                wanted = [(number, name) for number in range(len(self.known))]
            case e.Name((stream, name)) if (number := self._called(stream)) is not None:
                wanted = [(number, name)]
            case _:
                message, hint = "PARTITION BY takes columns", "compute it in a subquery first"
                self._report("NEEL3208", message, item.span, hint)
                return
        for number, name in wanted:
            column = self._column(number, name)
            if column is None:
                message = f"`{self.relations[number].name}` has no column `{bare(name)}`"
                self._report("NEEL2003", message, item.span)
            else:
                yield number, column

    def _type(self, number: int, name: str) -> object:
        return next(one.type for one in self.known[number] if one.name == name)

    def key_names(self, keys: Keys) -> list[str]:
        taken = [*self.names.values(), self.number]
        return [_free(f"key_{number + 1}", taken) for number in range(len(keys[0]) if keys else 0)]

    # What is computed of the events of each stream.

    def columns(self, keys: Keys) -> tuple[Column, ...]:
        """Those of all streams, the number of the stream, and the keys."""
        own = [
            Column(self.names[number, one.name], one.type)
            for number, several in enumerate(self.known)
            for one in several
        ]
        types = [next(c.type for c in self.known[0] if c.name == name) for name in (keys[0] if keys else ())]
        of_keys = [Column(name, kind) for name, kind in zip(self.key_names(keys), types, strict=True)]
        return (*own, Column(self.number, INT), *of_keys)

    def outputs(
        self, number: int, operator: a.Operator, keys: Keys, columns: Sequence[Column]
    ) -> Iterator[OutputColumn]:
        """The columns of an event of one stream."""
        attributes = {bare(one.name): one for one in operator.payload}
        values: dict[str, e.Expr] = {self.names[number, name]: one for name, one in attributes.items()}
        values[self.number] = e.Literal(number + 1, INT)
        own = keys[number] if keys else ()
        values |= {name: attributes[key] for name, key in zip(self.key_names(keys), own, strict=True)}
        for column in columns:
            none = e.Cast(e.Literal(None, VOID), column.type)
            yield OutputColumn(column.name, values.get(column.name, none), column.type)


def _of_all(node: e.Name, column: str, fields: Sequence[str]) -> e.Name:
    return replace(node, parts=(written(VARIABLE), written(column), *fields))


def _merged_names(relations: Sequence[ColumnSource]) -> Mapping[tuple[int, str], str]:
    """The merged column of each column of each stream: by its own name, or if another stream has that too,
    with the name of the stream."""
    every = [one.name.casefold() for relation in relations for one in relation.columns or ()]
    found: dict[tuple[int, str], str] = {}
    for number, relation in enumerate(relations):
        for one in relation.columns or ():
            is_shared = every.count(one.name.casefold()) > 1
            wanted = f"{relation.name}_{one.name}" if is_shared else one.name
            found[number, one.name] = _free(wanted, found.values())
    return found


def _free(name: str, taken: Iterable[str]) -> str:
    known = {one.casefold() for one in taken}
    while name.casefold() in known:
        name += "_"
    return name
