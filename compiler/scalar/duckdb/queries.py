"""Whole queries of Spark's SQL as DuckDB spells them.

The frame of a query, its joins, groups and unions, is the same in both; sqlglot parses it and this module
writes it again. Its expressions are spelled one by one, with the types of the columns that they see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlglot import exp

from neelc.ir.names import bare
from neelc.ir.types import INT, Array, DataType, Map, Struct
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.duckdb.aggregates import AGGREGATES
from neelc.scalar.duckdb.names import column_name
from neelc.scalar.duckdb.operators import INTEGERS, common_pieces, condition
from neelc.scalar.duckdb.pieces import (
    Columns,
    DuckText,
    EvaluatedCall,
    NameScope,
    UnspelledOperation,
    WrongQuery,
    as_column,
    field_of,
    quoted,
    shown,
    unlike,
)
from neelc.scalar.duckdb.spelling import Node, SparkCalls, directed, ordering, parsed, spell, spelled

Types = Mapping[str, DataType]
V = TypeVar("V")


@dataclass(frozen=True)
class SpelledQuery:
    """A query of DuckDB, and the columns of its rows. Several may be `shown` with one name."""

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
    """A part of FROM: its text, and the columns that it has by its names; those that USING has `merged`."""

    text: str
    columns: Columns
    merged: tuple[str, ...] = ()


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
                raise UnspelledOperation("WITH RECURSIVE", clause)
            parts = []
            for one in clause.expressions:
                found = frame.query(one.this, outer)
                listed, types = _renamed(found.types, one.args["alias"])
                parts.append(f"{quoted(one.alias)}{listed} AS ({found.text})")
                hidden = one.alias.lower()
                others = {name: kinds for name, kinds in frame.tables.items() if name.lower() != hidden}
                frame = replace(frame, tables={**others, one.alias: types})
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
                return self._ended(node, self._values(node, outer), outer)
        raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80], node)

    def _set(self, node: Node, outer: Columns) -> SpelledQuery:
        """UNION, INTERSECT and EXCEPT: columns by their places, in types that they have in common."""
        if node.args.get("by_name"):
            raise UnspelledOperation("UNION BY NAME", node)
        both = [self.query(side, outer) for side in (node.this, node.expression)]
        counts = [len(side.types) for side in both]
        if counts[0] != counts[1]:
            raise WrongQuery(
                "NEEL2101", f"queries of {counts[0]} and of {counts[1]} columns together", node=node
            )
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
        scope = self._scope(_Source("", {}), outer)
        rows = [
            [spell(one, scope) for one in (row.expressions if isinstance(row, exp.Tuple) else [row])]
            for row in node.expressions
        ]
        if len({len(row) for row in rows}) > 1:
            raise WrongQuery("NEEL2101", "VALUES with rows of different lengths", node=node)
        columns = [common_pieces(column, scope) for column in zip(*rows, strict=True)]
        alias = node.args.get("alias")
        given = [column.name for column in alias.columns] if alias is not None else []
        names = given or [f"col{place}" for place in range(1, len(columns) + 1)]
        if len(names) != len(columns):
            raise WrongQuery("NEEL2101", f"{len(names)} names for {len(columns)} columns", node=alias)
        texts = (", ".join(pieces[row].text for pieces, _ in columns) for row in range(len(rows)))
        listed = ", ".join(f"({text})" for text in texts)
        titles = ", ".join(map(quoted, names))
        text = f"SELECT * FROM (VALUES {listed}) AS v({titles})"
        return SpelledQuery(text, dict(zip(names, (kind for _, kind in columns), strict=True)))

    # SELECT.

    def _select(self, node: Node, outer: Columns) -> SpelledQuery:
        source = self._from(node, outer)
        windows = {one.this.name.lower(): one for one in node.args.get("windows") or ()}
        scope = replace(self._scope(source, outer), windows=windows)
        scope = replace(scope, grouped=_grouped_by(node, scope))
        items = list(self._items(node, source, scope))
        aliased = {name: piece.type for name, piece in items}
        listed = ", ".join(f"{as_column(piece)} AS {quoted(name)}" for name, piece in items)
        distinct = "DISTINCT " if node.args.get("distinct") else ""
        text = f"SELECT {distinct}{listed or 1}{source.text}"
        where = node.args.get("where")
        if where is not None:
            text += f" WHERE {_condition(where.this, scope)}"
        text += self._grouped(node, items, scope)
        having = node.args.get("having")
        own = replace(scope, aliases=aliased, prefers_aliases=True)
        if having is not None:
            text += f" HAVING {_condition(having.this, own)}"
        qualify = node.args.get("qualify")
        if qualify is not None:
            _check_qualify(node)
            inside = replace(scope, aliases=aliased)
            text += f" QUALIFY {_condition(qualify.this, inside)}"
        return self._ended(node, SpelledQuery(text, aliased), outer, own)

    def _ended(
        self, node: Node, found: SpelledQuery, outer: Columns, scope: NameScope | None = None
    ) -> SpelledQuery:
        """With ORDER BY, LIMIT and OFFSET. What is sorted in each of Spark's partitions is sorted here."""
        scope = scope or self._scope(_Source("", {"": found.types}), outer)
        text, by = found.text, []
        for clause in filter(None, (node.args.get(word) for word in ("order", "sort", "cluster"))):
            for one in clause.expressions:
                place = one.this if isinstance(one, exp.Ordered) else one
                if isinstance(place, exp.Literal) and not place.is_string:
                    name = _at(place, list(found.types))
                    by.append(directed(DuckText(quoted(name), found.types[name]), one))
                else:
                    by.append(ordering(one, scope))
        text += f" ORDER BY {', '.join(by)}" if by else ""
        for word in ("limit", "offset"):
            clause = node.args.get(word)
            if clause is not None and clause.expression.name.upper() != "ALL":
                text += f" {word.upper()} {spell(clause.expression, scope).text}"
        return replace(found, text=text)

    def _scope(self, source: _Source, outer: Columns) -> NameScope:
        return NameScope(
            source.columns,
            calls=self.calls,
            strict=True,
            queries=lambda node, inner: self._nested(node, inner),
            arguments=self.arguments,
            around=outer,
            merged=frozenset(one.lower() for one in source.merged),
        )

    def _nested(self, node: Node, scope: NameScope) -> tuple[str, Types]:
        found = self.query(node, {**scope.around, **scope.columns})
        return found.text, found.types

    def _items(self, node: Node, source: _Source, scope: NameScope) -> Iterator[tuple[str, DuckText]]:
        """What is selected, each with its name; DuckDB has names of its own for those that are there."""
        names: dict[str, DataType] = {}
        for one in node.expressions:
            inside = replace(scope, aliases=dict(names))  # an item sees the names of those before it
            for name, piece in self._item(one, source, inside):
                own = unlike(name, names)
                names[own] = piece.type
                yield own, piece

    def _item(self, node: Node, source: _Source, scope: NameScope) -> Iterator[tuple[str, DuckText]]:
        star = node if isinstance(node, exp.Star) else node.this if isinstance(node, exp.Column) else None
        if isinstance(star, exp.Star):
            left_out = {one.name.lower(): one for one in star.args.get("except_") or ()}
            for name, piece in self._star(node, source, scope):
                if left_out.pop(shown(name).lower(), None) is None:
                    yield shown(name), piece
            for name, one in left_out.items():
                raise WrongQuery("NEEL2003", f"unknown column `{name}`", _hint(source.columns), one)
            return
        inner = node.this if isinstance(node, exp.Alias | exp.Aliases) else node
        made = _generated(inner, scope)
        if made is None:
            yield node.alias if isinstance(node, exp.Alias) else column_name(node, scope), spell(inner, scope)
            return
        given = [one.name for one in node.expressions] if isinstance(node, exp.Aliases) else [node.alias]
        names = given if any(given) else [name for name, _ in made]
        if len(names) != len(made):
            raise WrongQuery("NEEL2101", f"{len(names)} names for {len(made)} columns", node=node)
        yield from zip(names, (piece for _, piece in made), strict=True)

    def _star(self, node: Node, source: _Source, scope: NameScope) -> Iterator[tuple[str, DuckText]]:
        if isinstance(node, exp.Column):
            known = next((name for name in source.columns if name.lower() == node.table.lower()), None)
            whole = scope.column(node.table) if known is None else None
            if whole is not None and isinstance(whole.type, Struct):
                yield from ((bare(one.name), field_of(whole, one)) for one in whole.type.fields)
                return
            if known is None:
                hint = f"relations: {', '.join(filter(None, source.columns))}"
                raise WrongQuery("NEEL2003", f"unknown relation `{node.table}`", hint, node)
            yield from _columns(source.columns, known)
            return
        merged = {one.lower() for one in source.merged}
        first = next(iter(source.columns), "")
        for name in source.merged:
            kind = next(t for n, t in source.columns[first].items() if n.lower() == name.lower())
            yield name, DuckText(quoted(name), kind)
        for relation in source.columns:
            for name, piece in _columns(source.columns, relation):
                if name.lower() not in merged:
                    yield name, piece

    def _grouped(self, node: Node, items: Sequence[tuple[str, DuckText]], scope: NameScope) -> str:
        group = node.args.get("group")
        if group is None:
            return ""
        if group.args.get("all"):
            return " GROUP BY ALL"
        by = [self._group(one, items, scope) for one in group.expressions]
        for word in GROUPS:
            for one in group.args.get(word) or ():
                if one.expressions:
                    by.append(self._group(one, items, scope))
                else:  # GROUP BY a, b WITH ROLLUP
                    by = [f"{word.upper()} ({', '.join(by)})"]
        return f" GROUP BY {', '.join(by)}"

    def _group(self, node: Node, items: Sequence[tuple[str, DuckText]], scope: NameScope) -> str:
        words = {exp.Rollup: "ROLLUP ", exp.Cube: "CUBE ", exp.GroupingSets: "GROUPING SETS ", exp.Tuple: ""}
        word = words.get(type(node))
        if word is not None:
            return f"{word}({', '.join(self._group(one, items, scope) for one in node.expressions)})"
        if isinstance(node, exp.Literal) and not node.is_string:
            return _at(node, [piece.text for _, piece in items])
        if isinstance(node, exp.Column) and not node.table and scope.column(node.name) is None:
            pieces = (piece.text for name, piece in items if shown(name).lower() == node.name.lower())
            found = next(pieces, None)
            if found is not None:
                return found
        return spell(node, scope).text

    # FROM.

    def _from(self, node: Node, outer: Columns) -> _Source:
        clause = node.args.get("from_") or node.args.get("from")
        if clause is None:
            found = _Source("", {})
        else:
            found = self._table(clause.this, outer)
            found = replace(found, text=f" FROM {found.text}")
            for join in [*(clause.this.args.get("joins") or ()), *(node.args.get("joins") or ())]:
                found = self._join(found, join, outer)
        for view in node.args.get("laterals") or ():
            found = self._view(found, view, outer)
        return found

    def _join(self, source: _Source, join: Node, outer: Columns) -> _Source:
        other = self._table(join.this, outer)
        both = self._beside(source, other, join)
        using = _in_common(source, other) if _is_natural(join) else join.args.get("using") or []
        word = _join_word(join, using)
        text = f"{source.text} {word} {other.text}"
        merged = source.merged
        if join.args.get("on") is not None:
            text += f" ON {_condition(join.args['on'], self._scope(both, outer))}"
        elif using:
            names = [self._shared(one, source, other, word) for one in using]
            text += f" USING ({', '.join(map(quoted, names))})"
            merged = tuple(dict.fromkeys((*merged, *names)))
        kept = source if word in ("SEMI JOIN", "ANTI JOIN") else both
        return _Source(text, kept.columns, merged)

    def _shared(self, node: Node, source: _Source, other: _Source, word: str) -> str:
        """The name of a column that both sides of a join have. Where its values can be those of one side, or
        of the other, both are of one type."""
        pieces = [self._scope(one, {}).column(node.name) for one in (source, other)]
        for piece, side in zip(pieces, (source, other), strict=True):
            if piece is None:
                raise WrongQuery("NEEL2003", f"unknown column `{node.name}`", _hint(side.columns), node)
        types = {piece.type for piece in pieces if piece is not None}
        if len(types) > 1 and not (types <= set(INTEGERS) and word in ("JOIN", "INNER JOIN", "LEFT JOIN")):
            raise UnspelledOperation("USING columns of different types", node)
        return str(node.name)

    def _beside(self, source: _Source, other: _Source, node: Node) -> _Source:
        both = {**source.columns, **other.columns}
        if len(both) < len(source.columns) + len(other.columns):
            raise UnspelledOperation("two relations of one name", node)
        return replace(source, columns=both)

    def _view(self, source: _Source, view: Node, outer: Columns) -> _Source:
        """LATERAL VIEW."""
        if not view.args.get("view"):
            raise UnspelledOperation("LATERAL", view)
        made = _generated(view.this, self._scope(source, outer))
        if made is None:
            raise UnspelledOperation(view.sql(dialect=SparkCalls)[:80], view)
        alias = view.args["alias"]
        names = [one.name for one in alias.columns] or [name for name, _ in made]
        if len(names) != len(made):
            raise WrongQuery("NEEL2101", f"{len(names)} names for {len(made)} columns", node=view)
        items = ", ".join(
            f"{piece.text} AS {quoted(name)}" for name, (_, piece) in zip(names, made, strict=True)
        )
        word = "LEFT JOIN" if view.args.get("outer") else "JOIN"
        types = {name: piece.type for name, (_, piece) in zip(names, made, strict=True)}
        both = self._beside(source, _Source("", {alias.name: types}), view)
        inner = f"(SELECT {items}) AS {quoted(alias.name or 'unnamed')}"
        before = source.text or " FROM (SELECT 1) AS one"
        return replace(both, text=f"{before} {word} LATERAL {inner} ON TRUE")

    def _table(self, node: Node, outer: Columns) -> _Source:
        alias = node.args.get("alias")
        match node:
            case exp.Table() if isinstance(node.this, exp.Identifier) and len(node.parts) == 1:
                known = next((name for name in self.tables if name.lower() == node.name.lower()), None)
                if known is None:
                    raise UnspelledOperation(f"the table {node.name}, which is no stream", node)
                name, text, types = node.alias or node.name, quoted(known), self.tables[known]
            case exp.Subquery():
                inner = self.query(node.this, outer)
                name, text, types = node.alias or "", f"({inner.text})", inner.types
            case exp.Values():
                inner = self._values(node, outer)
                return _Source(
                    f"({inner.text}) AS {quoted(node.alias or 'unnamed')}", {node.alias: inner.types}
                )
            case _:
                raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80], node)
        listed, types = _renamed(types, alias)
        if name or listed:
            text += f" AS {quoted(name or 'unnamed')}{listed}"
        return _Source(text, {name: types})


def _condition(node: Node, scope: NameScope) -> str:
    """A condition of WHERE, HAVING or ON, which Spark casts nothing to."""
    try:
        return condition(spell(node, scope), scope).text
    except UnspelledOperation as refusal:
        refusal.locate(node)
        raise


def _grouped_by(node: Node, scope: NameScope) -> tuple[Node, ...]:
    """What a query is grouped by, each once: GROUP BY x, CUBE (x, y) by x and y."""
    group = node.args.get("group")
    if group is None:
        return ()
    pending = [*group.expressions, *(x for word in GROUPS for x in group.args.get(word) or ())]
    named = {one.alias.lower(): one.this for one in node.expressions if isinstance(one, exp.Alias)}
    found: list[Node] = []
    while pending:
        one = pending.pop(0)
        if isinstance(one, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple | exp.Paren):
            pending[:0] = one.expressions or ([one.this] if isinstance(one, exp.Paren) else [])
            continue
        if isinstance(one, exp.Literal) and not one.is_string:
            one = _at(one, node.expressions).unalias()
        elif isinstance(one, exp.Column) and not one.table and scope.column(one.name) is None:
            one = named.get(one.name.lower(), one)
        if one not in found:
            found.append(one)
    return tuple(found)


GROUPS = ("rollup", "cube", "grouping_sets")


def _check_qualify(node: Node) -> None:
    """QUALIFY is about windows, as Spark has it."""
    own = node.args["qualify"].this
    if not any(_parts(one, exp.Window) for one in (*node.expressions, own)):
        raise WrongQuery("NEEL2109", "QUALIFY needs a window function, there or in SELECT", node=own)
    of_windows = {id(one.this) for one in _parts(own, exp.Window)}
    for call in _parts(own, exp.Anonymous):
        if call.name.lower() in (*AGGREGATES, "count") and id(call) not in of_windows:
            hint = "give it a name in SELECT, and use that"
            raise WrongQuery("NEEL2109", "an aggregate in QUALIFY", hint, call)


def _parts(node: Node, kind: type) -> list[Node]:
    """The parts of a kind, but for those of queries inside."""
    return [one for one in node.walk(prune=lambda part: isinstance(part, exp.Query)) if isinstance(one, kind)]


def _renamed(types: Types, alias: Node | None) -> tuple[str, Types]:
    """The columns with the names that an alias lists, and that list."""
    names = [column.name for column in alias.columns] if alias is not None else []
    if not names:
        return "", types
    if len(names) != len(types):
        raise WrongQuery("NEEL2101", f"{len(names)} names for {len(types)} columns", node=alias)
    own: list[str] = []
    for name in names:
        own.append(unlike(name, own))
    return f"({', '.join(map(quoted, own))})", dict(zip(own, types.values(), strict=True))


def _at(place: Node, values: Sequence[V]) -> V:
    """What GROUP BY 2 or ORDER BY 2 stands for."""
    number = int(place.this) if str(place.this).isdigit() else 0
    if not 1 <= number <= len(values):
        raise WrongQuery("NEEL2003", f"there is no column {place.this} of {len(values)}", node=place)
    return values[number - 1]


def _hint(columns: Columns) -> str:
    names = dict.fromkeys(shown(one) for several in columns.values() for one in several)
    return f"columns: {', '.join(names)}"


def _generated(node: Node, scope: NameScope) -> list[tuple[str, DuckText]] | None:
    """The columns of a function that makes rows; None if it is another one."""
    if not isinstance(node, exp.Anonymous) or node.name.lower() not in GENERATORS:
        return None
    if len(node.expressions) != 1:
        raise WrongQuery("NEEL2105", f"{node.name.lower()} takes 1 argument", node=node)
    name, values = node.name.lower(), spell(node.expressions[0], scope)
    if isinstance(values.type, Map):
        keys = DuckText(f"map_keys({values.text})", Array(values.type.key))
        lists = [("key", keys), ("value", DuckText(f"map_values({values.text})", Array(values.type.value)))]
    elif isinstance(values.type, Array):
        lists = [("col", values)]
    else:
        raise WrongQuery("NEEL2106", f"{name} takes an array or a map, not {values.type}", node=node)
    if name.startswith("pos"):
        count = f"generate_series(1, len({lists[0][1].text}))"
        places = f"list_transform({count}, lambda place: CAST(place - 1 AS INTEGER))"
        lists.insert(0, ("pos", DuckText(places, Array(INT))))
    made = []
    for title, one in lists:
        assert isinstance(one.type, Array)
        text = one.text
        if name.endswith("_outer"):
            text = f"CASE WHEN len({lists[-1][1].text}) > 0 THEN {text} ELSE [NULL] END"
        made.append((title, DuckText(f"unnest({text})", one.type.element)))
    return made


GENERATORS = ("explode", "explode_outer", "posexplode", "posexplode_outer")


def _is_natural(join: Node) -> bool:
    return str(join.args.get("method") or "").upper() == "NATURAL"


def _in_common(source: _Source, other: _Source) -> list[Node]:
    """The names of the columns that both sides of a join have, as the left one has them."""
    right = {shown(name).lower() for columns in other.columns.values() for name in columns}
    left = dict.fromkeys(shown(name) for columns in source.columns.values() for name in columns)
    return [exp.to_identifier(name) for name in left if name.lower() in right]


def _join_word(join: Node, using: Sequence[Node]) -> str:
    side, kind, method = (str(join.args.get(word) or "").upper() for word in ("side", "kind", "method"))
    if method and not _is_natural(join):
        raise UnspelledOperation(f"{method} JOIN", join)
    if kind in ("SEMI", "ANTI"):
        return f"{kind} JOIN"
    if kind == "CROSS" or not (side or kind or join.args.get("on") or using):
        return "CROSS JOIN"
    return f"{side} JOIN".strip()


def _columns(columns: Columns, relation: str) -> Iterator[tuple[str, DuckText]]:
    prefix = f"{quoted(relation)}." if relation else ""
    for name, type in columns[relation].items():
        yield name, DuckText(f"{prefix}{quoted(name)}", type)


__all__ = ["INT", "SpelledQuery", "spelled", "spelled_query"]
