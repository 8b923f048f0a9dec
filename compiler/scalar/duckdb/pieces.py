"""A piece of a text of DuckDB: what it says, and Spark's type of its value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from neelc.ir.expressions import DeclaredFunction
from neelc.ir.names import bare
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    FLOAT,
    GEOMETRY,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VARIANT,
    VOID,
    YEAR_INTERVAL,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
    StructField,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Span


class UnspelledOperation(Exception):
    """An operation that is neither DuckDB's nor the runtime's: what it is called. `place`: where it stands in
    the text that was parsed, from one character to another, if that is known; `span`: where in a script."""

    code = "NEEL4150"
    hint: str | None = None

    def __init__(self, message: str, node: Any = None) -> None:
        super().__init__(message)
        self.place: tuple[int, int] | None = None
        self.span: Span | None = None
        self.locate(node)

    def locate(self, node: Any) -> None:
        """It stands where a node does, unless its place is known."""
        if self.place is None and node is not None:
            known = [one.meta for one in node.walk() if "start" in one.meta]
            if known:
                self.place = min(one["start"] for one in known), max(one["end"] for one in known) + 1


class WrongQuery(UnspelledOperation):
    """What is wrong with a query, whatever engine it is for: its code among the errors, and a hint."""

    def __init__(self, code: str, message: str, hint: str | None = None, node: Any = None) -> None:
        super().__init__(message, node)
        self.code, self.hint = code, hint


HERE = "\x01"
"""In the text of an aggregate: where FILTER and OVER may follow a call."""


@dataclass(frozen=True)
class DuckText:
    """An expression of DuckDB and its type. `value`: what is written down, of a constant; it `is_cast` if
    what is written is a cast. DuckDB's own type of the expression is `duck_type(type)`; what is of type VOID
    is NULL, or fails, and has none.

    `days`: the type is Spark's INTERVAL DAY, which has nothing smaller. Of an aggregate, `open` is the text
    with HERE after each call. Of lower(x), `lowered` is x; of trim(x), `trimmed` is x."""

    text: str
    type: DataType
    value: object = None
    is_cast: bool = False
    days: bool = False
    open: str = ""
    lowered: str = ""
    trimmed: str = ""

    def beside(self, *constants: DuckText) -> str:
        """The text where it is tested for being equal to constants. If these are of ASCII, DuckDB's own lower
        is as good as Spark's: only İ is i for DuckDB, and not for Spark.

        >>> from neelc.ir.types import STRING
        >>> small = DuckText("CASE ... END", STRING, lowered="x")
        >>> small.beside(DuckText("'a'", STRING, "a")), small.beside(DuckText("'i'", STRING, "i"))
        ('lower(x)', "lower(replace(x, 'İ', '?'))")
        """
        values = [one.value for one in constants]
        if not self.lowered or not all(isinstance(value, str) and value.isascii() for value in values):
            return self.text
        with_i = any("i" in str(value) for value in values)
        return f"lower(replace({self.lowered}, 'İ', '?'))" if with_i else f"lower({self.lowered})"

    def followed(self, clause: str) -> DuckText:
        """An aggregate with FILTER or OVER.

        >>> from neelc.ir.types import BIGINT
        >>> aggregate_of(f"CAST(sum(x){HERE} AS BIGINT)", BIGINT).followed("OVER ()").text
        'CAST(sum(x) OVER () AS BIGINT)'
        """
        return aggregate_of((self.open or self.text + HERE).replace(HERE, f" {clause}{HERE}"), self.type)

    def opened(self) -> DuckText:
        """An aggregate, from a text that has HERE after each call."""
        return aggregate_of(self.text, self.type)

    @property
    def is_short(self) -> bool:
        """Whether the text may stand several times in another one: nested, such texts grow fast."""
        return len(self.text) <= LONGEST_REPEATED


LONGEST_REPEATED = 400


def aggregate_of(open: str, type: DataType) -> DuckText:
    """An aggregate, from its text with HERE after each call."""
    return DuckText(open.replace(HERE, ""), type, open=open)


_OVER_ROWS = re.compile(
    r'(?<![\w"])(any_value|arg_max(_null)?|arg_min(_null)?|avg|bit_and|bit_or|bit_xor|bool_and|bool_or|count'
    r"|first|last|list|max|min|stddev_pop|stddev_samp|sum|var_pop|var_samp)\(|\bOVER \(|\(SELECT "
)


def over_rows(text: str) -> bool:
    """Whether there is an aggregate, a window or a query in a text."""
    return _OVER_ROWS.search(text) is not None


def attempt(make: Callable[..., str], *operands: DuckText) -> str:
    """What is made of operands; NULL where that fails.

    >>> from neelc.ir.types import INT
    >>> attempt(lambda x: f"(-{x.text})", DuckText("y", INT))
    'TRY((-y))'

    DuckDB has no aggregates, windows and queries inside of TRY: they are computed before.

    >>> attempt(lambda x: f"(-{x.text})", DuckText("max(y)", INT))
    'list_extract(list_transform([struct_pack(x1 := max(y))], lambda s_1: TRY((-s_1.x1))), 1)'
    """
    texts = [one.text for one in operands]
    if not any(map(over_rows, texts)):
        return f"TRY({make(*operands)})"
    row = unused("s", *texts)
    fields = ", ".join(f"x{place} := {text}" for place, text in enumerate(texts, 1))
    inside = make(*(replace(one, text=f"{row}.x{place}") for place, one in enumerate(operands, 1)))
    return f"list_extract(list_transform([struct_pack({fields})], lambda {row}: TRY({inside})), 1)"


def sortable(piece: DuckText) -> str:
    """A value that DuckDB sorts as Spark sorts this one: inside of structs and arrays, NULL comes first."""
    match piece.type:
        case Struct(fields):
            parts = []
            for place, one in enumerate(fields):
                inner = field_of(piece, one)
                parts.append(f"n{place} := {inner.text} IS NOT NULL, x{place} := {sortable(inner)}")
            return f"CASE WHEN {piece.text} IS NOT NULL THEN struct_pack({', '.join(parts)}) END"
        case Array(element):
            name = unused("e", piece.text)
            pair = f"struct_pack(n := {name} IS NOT NULL, x := {sortable(DuckText(name, element))})"
            return f"list_transform({piece.text}, lambda {name}: {pair})"
    return piece.text


def field_of(piece: DuckText, field: StructField) -> DuckText:
    """A field of a struct. DuckDB forgets the type of it if the struct is a constant NULL.

    >>> field_of(DuckText("x", Struct(())), StructField("a", INT)).text
    '(x)."a"'
    >>> field_of(DuckText("CAST(NULL AS STRUCT(a INTEGER))", Struct(())), StructField("a", INT)).text
    'CAST(NULL AS INTEGER)'
    """
    if piece.text.startswith("CAST(NULL AS STRUCT("):
        return DuckText(f"CAST(NULL AS {duck_type(field.type)})", field.type)
    return DuckText(f"({piece.text}).{quoted(bare(field.name))}", field.type)


NULL = "NULL"


def safely(make: Callable[..., str], *operands: DuckText, scope: NameScope) -> str:
    """What is made of operands. Where that fails there is NULL or, in what users write, an error.

    >>> from neelc.ir.types import INT
    >>> safely(lambda x: f"(-{x.text})", DuckText("y", INT), scope=NameScope({}, strict=True))
    '(-y)'
    """
    return make(*operands) if scope.strict else attempt(make, *operands)


def failing(found: DuckText, operands: Iterable[DuckText], message: str) -> DuckText:
    """A value that fails where it is NULL, and none of its operands is.

    >>> from neelc.ir.types import INT
    >>> failing(DuckText("f(x)", INT), [DuckText("x", INT)], "no f").text
    "coalesce(f(x), CASE WHEN x IS NOT NULL THEN CAST(error('no f') AS INTEGER) END)"
    """
    if found.value is not None or found.type == VOID:
        return found
    tests = " AND ".join(f"{one.text} IS NOT NULL" for one in operands if one.value is None) or "TRUE"
    error = f"CAST(error({text_literal(message)}) AS {duck_type(found.type)})"
    return replace(found, text=f"coalesce({found.text}, CASE WHEN {tests} THEN {error} END)")


def apart(
    pieces: Sequence[DuckText], scope: NameScope, make: Callable[[list[DuckText], NameScope], DuckText]
) -> DuckText:
    """What a function makes of pieces that does not fail, as those of Spark that are called try_. What fails
    in a piece itself is an error: so pieces are computed before."""
    if not scope.strict:
        return make(list(pieces), scope)
    inside = replace(scope, strict=False)
    complex = [one for one in pieces if one.value is None and not _PLAIN.fullmatch(one.text)]
    if not complex:
        return make(list(pieces), inside)
    row = unused("s", *(one.text for one in pieces))
    fields = {one.text: f"x{place}" for place, one in enumerate(complex, 1)}
    shown = ", ".join(f"{name} := {text}" for text, name in fields.items())
    given = [replace(one, text=f"{row}.{fields[one.text]}") if one in complex else one for one in pieces]
    found = make(given, inside)
    text = f"list_extract(list_transform([struct_pack({shown})], lambda {row}: {found.text}), 1)"
    return replace(found, text=text, value=None)


_PLAIN = re.compile(r'(NULL|(\w+\.)?"[^"]*"(\."[^"]*")*)')


def as_column(piece: DuckText) -> str:
    """The text of what is selected: it has a type even if it is NULL."""
    if piece.type != VOID:
        return piece.text
    return f"CAST({piece.text} AS {duck_type(VOID)})"


@dataclass(frozen=True)
class EvaluatedCall:
    """An operation that the runtime computes, for DuckDB to call by a `name`: of operands of these types.
    `constants` are those that are written down, by their places; they are not given in the call."""

    name: str
    operation: str
    operands: tuple[DataType, ...]
    type: DataType
    constants: tuple[tuple[int, Any], ...] = ()
    declared: DeclaredFunction | None = None
    """A function of users, in place of an operation."""


TWIN = "\x02"
"""In the name that DuckDB has for a column: what follows tells it from another one of its name."""


def shown(name: str) -> str:
    """The name of a column, as people see it."""
    return name.partition(TWIN)[0]


def unlike(name: str, others: Iterable[str]) -> str:
    """A name for a column beside others.

    >>> unlike("x", ["y"]), shown(unlike("x", ["x"])), unlike("X", ["x"]) == "X"
    ('x', 'x', False)
    """
    known = {one.lower() for one in others}
    number, found = 1, name
    while found.lower() in known:
        number += 1
        found = f"{name}{TWIN}{number}"
    return found


def outside(found: DuckText, test: str, message: str = "an array has no element at that place") -> DuckText:
    """What is at a place, or an error where a test says that there is none."""
    error = f"CAST(error({text_literal(message)}) AS {duck_type(found.type)})"
    return DuckText(f"CASE WHEN {test} THEN {error} ELSE {found.text} END", found.type)


Columns = Mapping[str, Mapping[str, DataType]]
"""The types of the columns of relations, by their names; a relation that is alone has the name ''."""


@dataclass(frozen=True)
class NameScope:
    """What names mean in an expression: columns, and the variables of lambdas around. `calls` collects what
    the runtime computes. `strict`: a cast that fails is an error, as Spark has it in what users write; there,
    columns of SELECT have `aliases`, `queries` spells a query inside of an expression, and `arguments` are
    the values of parameters. `zone` is the time zone of the session that will run the text, if it is known:
    some texts are shorter and faster then."""

    columns: Columns
    variables: Mapping[str, DuckText] = field(default_factory=dict)
    calls: dict[str, EvaluatedCall] = field(default_factory=dict)
    strict: bool = False
    aliases: Mapping[str, DataType] = field(default_factory=dict)
    queries: Callable[[Any, NameScope], tuple[str, Mapping[str, DataType]]] | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    zone: str = ""
    around: Columns = field(default_factory=dict)
    """The columns of the queries around this one."""
    merged: frozenset[str] = frozenset()
    """Columns, in small letters, that USING has made one of two."""
    prefers_aliases: bool = False
    windows: Mapping[str, Any] = field(default_factory=dict)
    """Those that WINDOW names, in small letters."""
    grouped: Sequence[Any] = ()
    """What the query is grouped by."""
    declared: Mapping[str, DeclaredFunction] = field(default_factory=dict)
    """Functions of users, by the names that Spark calls them by, in small letters."""

    def binding(self, variables: Mapping[str, DataType]) -> NameScope:
        """Inside of a lambda."""
        own = {name: DuckText(quoted(name), type) for name, type in variables.items()}
        return replace(self, variables={**self.variables, **own})

    def column(self, name: str, relation: str | None = None) -> DuckText | None:
        """A column of a relation, or of any: those of this query first, then those of the queries around."""
        if self.prefers_aliases and relation is None and (found := self._alias(name)) is not None:
            return found
        for several in (self.columns, self.around):
            found = self._among(several, name, relation)
            if found is not None:
                return found
        return self._alias(name) if relation is None else None

    def _among(self, several: Columns, name: str, relation: str | None) -> DuckText | None:
        lower = name.lower()
        found = [
            (of, column, type)
            for of, columns in several.items()
            for column, type in columns.items()
            if shown(column).lower() == lower and (relation is None or of.lower() == relation.lower())
        ]
        if not found:
            return None
        of, column, type = found[0]
        is_qualified = relation is not None or (len(several) > 1 and lower not in self.merged)
        if len(found) > 1 and self.strict and not (lower in self.merged and relation is None):
            where = ", ".join(f"{one}.{name}" for one, _, _ in found if one)
            hint = (
                f"it could be: {where}" if relation is None and where else "rename one of them in a subquery"
            )
            raise WrongQuery("NEEL2222", f"there are {len(found)} columns `{name}`", hint)
        prefix = f"{quoted(of)}." if of and is_qualified else ""
        return DuckText(f"{prefix}{quoted(column)}", type)

    def _alias(self, name: str) -> DuckText | None:
        known = ((one, type) for one, type in self.aliases.items() if shown(one).lower() == name.lower())
        found = next(known, None)
        return None if found is None else DuckText(quoted(found[0]), found[1])


def quoted(name: str) -> str:
    """
    >>> print(quoted('a "b'))
    "a ""b"
    """
    return '"' + name.replace('"', '""') + '"'


def unused(name: str, *texts: str) -> str:
    """A name for the variable of a lambda that hides none in these texts.

    >>> unused("e", 'list_transform(x, lambda e_1: "e_1" + 1)')
    'e_2'
    """
    number = 1
    while any(f"{name}_{number}" in text for text in texts):
        number += 1
    return f"{name}_{number}"


def text_literal(value: str) -> str:
    """
    >>> print(text_literal("it's"))
    'it''s'
    """
    if "\0" in value:  # ends a text for DuckDB
        return "(" + " || chr(0) || ".join(text_literal(part) for part in value.split("\0")) + ")"
    return "'" + value.replace("'", "''") + "'"


SIMPLE: dict[DataType, str] = {
    VOID: "INTEGER",
    BOOLEAN: "BOOLEAN",
    TINYINT: "TINYINT",
    SMALLINT: "SMALLINT",
    INT: "INTEGER",
    BIGINT: "BIGINT",
    FLOAT: "FLOAT",
    DOUBLE: "DOUBLE",
    STRING: "VARCHAR",
    BINARY: "BLOB",
    GEOMETRY: "VARCHAR",
    DATE: "DATE",
    TIMESTAMP: "TIMESTAMP WITH TIME ZONE",
    TIMESTAMP_NTZ: "TIMESTAMP",
    DAY_INTERVAL: "BIGINT",
    YEAR_INTERVAL: "INTEGER",
    VARIANT: "VARCHAR",
}
"""Intervals are numbers, as in Spark: of microseconds, or of months. VARIANTs are JSON texts."""


def duck_type(type: DataType) -> str:
    """
    >>> from neelc.ir.types import StructField
    >>> duck_type(Array(Struct((StructField("a", INT), StructField("`b c`", STRING)))))
    'STRUCT("a" INTEGER, "b c" VARCHAR)[]'
    """
    match type:
        case Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case Array(element):
            return f"{duck_type(element)}[]"
        case Map(key, value):
            return f"MAP({duck_type(key)}, {duck_type(value)})"
        case Struct(fields):
            return f"STRUCT({', '.join(f'{quoted(bare(one.name))} {duck_type(one.type)}' for one in fields)})"
    if type not in SIMPLE:
        raise UnspelledOperation(f"values of type {type}")
    return SIMPLE[type]
