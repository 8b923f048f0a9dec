"""A piece of a text of DuckDB: what it says, and Spark's type of its value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
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


class UnspelledOperation(Exception):
    """An operation that is neither DuckDB's nor the runtime's: what it is called."""


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
    if not any(map(_OVER_ROWS.search, texts)):
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
    declared: Mapping[str, DeclaredFunction] = field(default_factory=dict)
    """Functions of users, by the names that Spark calls them by, in small letters."""

    def binding(self, variables: Mapping[str, DataType]) -> NameScope:
        """Inside of a lambda."""
        own = {name: DuckText(quoted(name), type) for name, type in variables.items()}
        return replace(self, variables={**self.variables, **own})

    def column(self, name: str) -> tuple[str, DataType] | None:
        """A column of one of the relations: its name as it is written there, and its type."""
        for columns in (*self.columns.values(), self.aliases):
            for known, type in columns.items():
                if known.lower() == name.lower():
                    return known, type
        return None


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
