"""Whole queries of Spark's SQL as DuckDB spells them.

The frame of a query, its joins, groups and unions, is the same in both; sqlglot parses it and this module
writes it again. Its expressions are spelled one by one, with the types of the columns that they see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from neelc.ir.types import BOOLEAN, INT, DataType
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.duckdb.casts import cast_to
from neelc.scalar.duckdb.operators import common_pieces
from neelc.scalar.duckdb.pieces import (
    Columns,
    DuckText,
    EvaluatedCall,
    NameScope,
    UnspelledOperation,
    as_column,
    quoted,
)
from neelc.scalar.duckdb.spelling import Node, SparkCalls, ordering, parsed, spell, spelled

Types = Mapping[str, DataType]


@dataclass(frozen=True)
class SpelledQuery:
    """A query of DuckDB, and the columns of its rows."""

    text: str
    types: Types


def spelled_query(
    text: str,
    tables: Mapping[str, Types],
    arguments: Mapping[str, str],
    calls: dict[str, EvaluatedCall],
) -> SpelledQuery:
    """A query over tables, with the values of its parameters as texts of SQL.

    >>> found = spelled_query("SELECT x + 1 AS y FROM t WHERE x > :low", {"t": {"x": INT}}, {"low": "3"}, {})
    >>> print(found.text)
    SELECT ("x" + 1) AS "y" FROM "t" AS "t" WHERE ("x" > 3)
    """
    tree = parsed(text).copy()
    return _Frame(tables, arguments, calls).query(tree, {})


@dataclass(frozen=True)
class _Source:
    """A part of FROM: its text, and the columns that it has by its names."""

    text: str
    columns: Columns


@dataclass(frozen=True)
class _Frame:
    """What a query sees: tables, and the names that WITH around it defines."""

    tables: Mapping[str, Types]
    arguments: Mapping[str, str]
    calls: dict[str, EvaluatedCall]

    def query(self, node: Node, outer: Columns) -> SpelledQuery:
        """A query; `outer` are the columns of the queries around it."""
        clause = node.args.get("with_") or node.args.get("with")
        frame, prefix = self, ""
        if clause is not None:
            if clause.args.get("recursive"):
                raise UnspelledOperation("WITH RECURSIVE")
            parts = []
            for one in clause.expressions:
                found = frame.query(one.this, outer)
                names = [column.name for column in one.args["alias"].columns]
                types = dict(zip(names or found.types, found.types.values(), strict=True))
                shown = f"({', '.join(map(quoted, names))})" if names else ""
                parts.append(f"{quoted(one.alias)}{shown} AS ({found.text})")
                frame = replace(frame, tables={**frame.tables, one.alias: types})
            prefix = f"WITH {', '.join(parts)} "
        found = frame._plain(node, outer)
        return replace(found, text=prefix + found.text)

    def _plain(self, node: Node, outer: Columns) -> SpelledQuery:
        match node:
            case exp.Subquery():
                inner = self.query(node.this, outer)
                return self._ended(node, replace(inner, text=f"({inner.text})"), outer)
            case exp.SetOperation():
                return self._set(node, outer)
            case exp.Select():
                return self._select(node, outer)
            case exp.Values():
                return self._values(node, outer)
        raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80])

    def _set(self, node: Node, outer: Columns) -> SpelledQuery:
        """UNION, INTERSECT and EXCEPT: columns by their places, in types that they have in common."""
        if node.args.get("by_name"):
            raise UnspelledOperation("UNION BY NAME")
        both = [self.query(side, outer) for side in (node.this, node.expression)]
        if len(both[0].types) != len(both[1].types):
            raise UnspelledOperation("a union of other columns")
        names = list(both[0].types)
        scope = NameScope({}, calls=self.calls, strict=True)
        pairs = zip(names, both[0].types.items(), both[1].types.items(), strict=True)
        columns = {
            name: common_pieces([DuckText(quoted(one), kind), DuckText(quoted(other), type)], scope)
            for name, (one, kind), (other, type) in pairs
        }
        sides = []
        for place, side in enumerate(both):
            items = (f"{pieces[place].text} AS {quoted(name)}" for name, (pieces, _) in columns.items())
            sides.append(f"SELECT {', '.join(items)} FROM ({side.text})")
        word = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}[type(node)]
        word += "" if node.args.get("distinct") else " ALL"
        found = SpelledQuery(f" {word} ".join(sides), {name: kind for name, (_, kind) in columns.items()})
        return self._ended(node, found, outer)

    def _values(self, node: Node, outer: Columns) -> SpelledQuery:
        scope = self._scope({}, outer)
        rows = [
            [spell(one, scope) for one in (row.expressions if isinstance(row, exp.Tuple) else [row])]
            for row in node.expressions
        ]
        columns = [common_pieces(column, scope) for column in zip(*rows, strict=True)]
        alias = node.args.get("alias")
        given = [column.name for column in alias.columns] if alias is not None else []
        names = given or [f"col{place}" for place in range(1, len(columns) + 1)]
        texts = (", ".join(pieces[row].text for pieces, _ in columns) for row in range(len(rows)))
        listed = ", ".join(f"({text})" for text in texts)
        shown = ", ".join(map(quoted, names))
        text = f"SELECT * FROM (VALUES {listed}) AS v({shown})"
        return SpelledQuery(text, dict(zip(names, (kind for _, kind in columns), strict=True)))

    # SELECT.

    def _select(self, node: Node, outer: Columns) -> SpelledQuery:
        for word in ("laterals", "pivots", "match", "qualify", "windows", "connect", "sample"):
            if node.args.get(word):
                raise UnspelledOperation(word.removesuffix("s").upper())
        source = self._from(node, outer)
        scope = self._scope(source.columns, outer)
        items = list(self._items(node, source, scope))
        aliased = {name: piece.type for name, piece in items}
        own = scope.binding({}) if not aliased else replace(scope, aliases=aliased)
        shown = ", ".join(f"{as_column(piece)} AS {quoted(name)}" for name, piece in items)
        distinct = "DISTINCT " if node.args.get("distinct") else ""
        text = f"SELECT {distinct}{shown or 1}{source.text}"
        where = node.args.get("where")
        if where is not None:
            text += f" WHERE {cast_to(spell(where.this, scope), BOOLEAN, scope).text}"
        text += self._grouped(node, items, scope)
        having = node.args.get("having")
        if having is not None:
            text += f" HAVING {cast_to(spell(having.this, own), BOOLEAN, own).text}"
        return self._ended(node, SpelledQuery(text, aliased), outer, own)

    def _ended(
        self, node: Node, found: SpelledQuery, outer: Columns, scope: NameScope | None = None
    ) -> SpelledQuery:
        """With ORDER BY, LIMIT and OFFSET."""
        scope = scope or self._scope({"": found.types}, outer)
        text = found.text
        order = node.args.get("order")
        if order is not None:
            by = []
            for one in order.expressions:
                place = one.this if isinstance(one, exp.Ordered) else one
                if isinstance(place, exp.Literal) and not place.is_string:
                    name = list(found.types)[int(place.this) - 1]
                    named = exp.column(exp.to_identifier(name, quoted=True))
                    one = exp.Ordered(
                        this=named, desc=one.args.get("desc"), nulls_first=one.args.get("nulls_first")
                    )
                by.append(ordering(one, scope))
            text += f" ORDER BY {', '.join(by)}"
        for word in ("limit", "offset"):
            clause = node.args.get(word)
            if clause is not None:
                text += f" {word.upper()} {spell(clause.expression, scope).text}"
        return replace(found, text=text)

    def _scope(self, columns: Columns, outer: Columns) -> NameScope:
        return NameScope(
            {**outer, **columns},
            calls=self.calls,
            strict=True,
            queries=lambda node, inner: self._nested(node, inner),
            arguments=self.arguments,
        )

    def _nested(self, node: Node, scope: NameScope) -> tuple[str, Types]:
        found = self.query(node, scope.columns)
        return found.text, found.types

    def _items(self, node: Node, source: _Source, scope: NameScope) -> Iterator[tuple[str, DuckText]]:
        """What is selected, each with its name."""
        for one in node.expressions:
            if isinstance(one, exp.Star):
                if one.args.get("except_") or one.args.get("except") or one.args.get("replace"):
                    raise UnspelledOperation(one.sql(dialect=SparkCalls))
                for relation in source.columns:
                    yield from _star(source.columns, relation)
            elif isinstance(one, exp.Column) and isinstance(one.this, exp.Star):
                known = next((name for name in source.columns if name.lower() == one.table.lower()), None)
                if known is None:
                    raise UnspelledOperation(one.sql(dialect=SparkCalls))
                yield from _star(source.columns, known)
            else:
                inner = one.this if isinstance(one, exp.Alias) else one
                yield one.alias_or_name or _name(inner), spell(inner, scope)

    def _grouped(self, node: Node, items: Sequence[tuple[str, DuckText]], scope: NameScope) -> str:
        group = node.args.get("group")
        if group is None:
            return ""
        if group.args.get("all"):
            return " GROUP BY ALL"
        for word in ("rollup", "cube", "grouping_sets", "totals"):
            if group.args.get(word):
                raise UnspelledOperation(f"GROUP BY {word.upper()}")
        names = {name.lower(): place for place, (name, _) in enumerate(items, 1)}
        by = []
        for one in group.expressions:
            if isinstance(one, exp.Literal) and not one.is_string:
                by.append(str(one.this))
            elif isinstance(one, exp.Column) and not one.table and scope.column(one.name) is None:
                if one.name.lower() not in names:
                    raise UnspelledOperation(f"the column {one.name}")
                by.append(str(names[one.name.lower()]))
            else:
                by.append(spell(one, scope).text)
        return f" GROUP BY {', '.join(by)}"

    # FROM.

    def _from(self, node: Node, outer: Columns) -> _Source:
        clause = node.args.get("from_") or node.args.get("from")
        if clause is None:
            return _Source("", {})
        found = self._table(clause.this, outer)
        text, columns = f" FROM {found.text}", dict(found.columns)
        joins = [*(clause.this.args.get("joins") or ()), *(node.args.get("joins") or ())]
        for join in joins:
            other = self._table(join.this, outer)
            both = {**columns, **other.columns}
            if len(both) < len(columns) + len(other.columns):
                raise UnspelledOperation("two relations of one name")
            word = _join_word(join)
            text += f" {word} {other.text}"
            if join.args.get("on") is not None:
                on = self._scope(both, outer)
                text += f" ON {cast_to(spell(join.args['on'], on), BOOLEAN, on).text}"
            elif join.args.get("using"):
                raise UnspelledOperation("JOIN USING")
            columns = columns if word in ("SEMI JOIN", "ANTI JOIN") else both
        return _Source(text, columns)

    def _table(self, node: Node, outer: Columns) -> _Source:
        alias = node.args.get("alias")
        names = [column.name for column in alias.columns] if alias is not None else []
        match node:
            case exp.Table() if isinstance(node.this, exp.Identifier) and len(node.parts) == 1:
                known = next((name for name in self.tables if name.lower() == node.name.lower()), None)
                if known is None:
                    raise UnspelledOperation(f"the table {node.name}, which is no stream")
                name, text, types = node.alias or node.name, quoted(known), self.tables[known]
            case exp.Subquery():
                inner = self.query(node.this, outer)
                name, text, types = node.alias or "", f"({inner.text})", inner.types
            case exp.Values():
                inner = self._values(node, outer)
                name, text, types = node.alias or "", f"({inner.text})", inner.types
                names = []
            case _:
                raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80])
        if names:
            types = dict(zip(names, types.values(), strict=True))
        listed = f"({', '.join(map(quoted, names))})" if names else ""
        if name or names:
            text += f" AS {quoted(name or 'unnamed')}{listed}"
        return _Source(text, {name: types})


def _join_word(join: Node) -> str:
    side, kind, method = (str(join.args.get(word) or "").upper() for word in ("side", "kind", "method"))
    if method:
        raise UnspelledOperation(f"{method} JOIN")
    if kind in ("SEMI", "ANTI"):
        return f"{kind} JOIN"
    if kind == "CROSS" or not (side or kind or join.args.get("on")):
        return "CROSS JOIN"
    return f"{side} JOIN".strip()


def _star(columns: Columns, relation: str) -> Iterator[tuple[str, DuckText]]:
    prefix = f"{quoted(relation)}." if relation else ""
    for name, type in columns[relation].items():
        yield name, DuckText(f"{prefix}{quoted(name)}", type)


def _name(node: Node) -> str:
    """The name that Spark gives a column without one."""
    text: str = node.sql(dialect=SparkCalls)
    return text.replace("COUNT(*)", "count(1)")


__all__ = ["INT", "SpelledQuery", "spelled", "spelled_query"]
