"""Pieces of Spark SQL as trees of sqlglot, put together with no more parentheses than they need."""

from __future__ import annotations

import datetime
import decimal
import logging
import re
from collections.abc import Iterator, Sequence
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from neelc.ir.expressions import Literal, Value
from neelc.ir.names import bare, quote
from neelc.ir.types import BIGINT, INT, SMALLINT, TINYINT, Array, DataType, Decimal, Map, SimpleType, Struct
from neelc.ir.types import Decimal as DecimalType
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.times import (
    Months,
    date_of,
    has_zone,
    instant_text,
    timestamp_ntz_of,
    timestamp_of,
    timestamp_text,
)
from neelc.scalar import decimals
from neelc.syntax.print_patterns import show_literal

Sql = exp.Expression

# How tightly each form binds; an operand that binds less tightly than its place requires gets parentheses.
ANY, OR, AND, NOT, PREDICATE, BIT_OR, BIT_XOR, BIT_AND, ADD, MULTIPLY, UNARY, ATOM = range(12)

_BINDING: dict[type[Sql], int] = {
    exp.Or: OR,
    exp.And: AND,
    exp.Not: NOT,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), PREDICATE),
    **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between), PREDICATE),
    **dict.fromkeys((exp.Like, exp.ILike, exp.RegexpLike, exp.Escape), PREDICATE),
    exp.BitwiseOr: BIT_OR,
    exp.BitwiseXor: BIT_XOR,
    exp.BitwiseAnd: BIT_AND,
    **dict.fromkeys((exp.Add, exp.Sub, exp.DPipe), ADD),
    **dict.fromkeys((exp.Mul, exp.Div, exp.Mod, exp.IntDiv), MULTIPLY),
    **dict.fromkeys((exp.Neg, exp.BitwiseNot), UNARY),
}
OPERATORS: dict[str, type[Sql]] = {
    "+": exp.Add,
    "-": exp.Sub,
    "*": exp.Mul,
    "/": exp.Div,
    "%": exp.Mod,
    "DIV": exp.IntDiv,
    "&": exp.BitwiseAnd,
    "|": exp.BitwiseOr,
    "^": exp.BitwiseXor,
    "||": exp.DPipe,
    "=": exp.EQ,
    "<>": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
    "<=>": exp.NullSafeEQ,
    "<!>": exp.NullSafeNEQ,  # IS DISTINCT FROM
}


_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# Control characters, odd separators and halves of surrogate pairs are better not in a text.
_ESCAPED = re.compile("[\\\\'\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def quoted(value: str) -> str:
    r"""A string literal.

    >>> print(quoted("it's \\d"), quoted("a\0"), quoted("${env:HOME}"))
    'it\'s \\d' 'a\u0000' '$\{env:HOME}'
    """
    escaped = _ESCAPED.sub(lambda found: _ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}", value)
    # `$\{` is read as `${`, but too late for the replacement of variables.
    return "'" + escaped.replace("${", "$\\{") + "'"


def string(value: str) -> Sql:
    """A string literal as a tree. sqlglot's own has NUL as `\\0`, before digits another character."""
    return raw(quoted(value))


def text(tree: Sql) -> str:
    """The text of a tree; names of functions stay as they are."""
    return str(tree.sql("spark", normalize_functions=False))


def at(tree: Sql, place: int) -> Sql:
    """The tree, in parentheses if it binds less tightly than `place`.

    >>> text(at(binary("+", raw("a"), raw("b")), MULTIPLY))
    '(a + b)'
    """
    return exp.Paren(this=tree) if _BINDING.get(type(tree), ATOM) < place else tree


def raw(words: str) -> Sql:
    """Words that stand in the text as they are: never a name or a constant of the user."""
    return exp.Var(this=words)


def call(name: str, *arguments: Sql) -> Sql:
    """`name(arguments)`."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def binary(op: str, left: Sql, right: Sql) -> Sql:
    """`left op right`.

    >>> text(binary("-", raw("a"), binary("-", raw("b"), raw("c"))))
    'a - (b - c)'
    """
    operator = OPERATORS[op]
    place = _BINDING[operator]
    # Comparisons do not associate; everything else does, to the left.
    return operator(this=at(left, place + (place == PREDICATE)), expression=at(right, place + 1))


def junction(word: type[Sql], operands: Sequence[Sql]) -> Sql:
    """Operands joined by AND or OR.

    >>> text(junction(exp.And, [raw("a"), junction(exp.Or, [raw("b"), raw("c")])]))
    'a AND (b OR c)'
    """
    first, *others = (at(operand, _BINDING[word] + 1) for operand in operands)
    for other in others:
        first = word(this=first, expression=other)
    return first


def negation(operand: Sql) -> Sql:
    return exp.Not(this=at(operand, NOT))


def is_null(operand: Sql) -> Sql:
    return exp.Is(this=at(operand, BIT_OR), expression=exp.Null())


def is_not_null(operand: Sql) -> Sql:
    return exp.Is(this=at(operand, BIT_OR), expression=exp.Not(this=exp.Null()))


def when(*branches: tuple[Sql, Sql], otherwise: Sql | None = None, subject: Sql | None = None) -> Sql:
    """`CASE [subject] WHEN ... THEN ... [ELSE ...] END`."""
    ifs = [exp.If(this=test, true=result) for test, result in branches]
    return exp.Case(this=subject, ifs=ifs, default=otherwise)


def cast(operand: Sql, type: str) -> Sql:
    """`CAST(operand AS type)`."""
    return call("CAST", exp.Alias(this=operand, alias=raw(type)))


def try_cast(operand: Sql, type: str) -> Sql:
    """`try_cast(operand AS type)`; sqlglot's own node of that name is written as CAST, which may fail."""
    return call("try_cast", exp.Alias(this=operand, alias=raw(type)))


def one_of(operand: Sql, items: Sequence[Sql]) -> Sql:
    """`operand IN (items)`."""
    return exp.In(this=at(operand, BIT_OR), expressions=list(items))


def between(operand: Sql, low: Sql, high: Sql) -> Sql:
    return exp.Between(this=at(operand, BIT_OR), low=at(low, BIT_OR), high=at(high, BIT_OR))


def rlike(operand: Sql, pattern: str) -> Sql:
    """`operand RLIKE pattern`, for a pattern of the compiler's own."""
    return exp.RegexpLike(this=at(operand, BIT_OR), expression=string(pattern))


# An operand: its text as a tree, its type, and its value where it is a constant.

Constant = Value | datetime.timedelta | Months
INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)


@dataclass(frozen=True)
class TypedSql:
    """`value` is None where it is not known, or NULL."""

    sql: Sql
    type: DataType
    value: Constant = None

    @property
    def is_integer(self) -> bool:
        return self.type in INTEGERS

    @property
    def is_decimal(self) -> bool:
        return isinstance(self.type, Decimal)

    @property
    def as_decimal(self) -> Decimal:
        """The decimal type that holds the values of this number."""
        return decimals.as_decimal(self.type) or Decimal(decimals.MAX_PRECISION, 0)


# Words that are not written as names unless quoted.

# Spark's reserved words (most can be names too unless the ANSI standard is enforced), and words that begin a
# constant or a function without parentheses.
KEYWORDS = frozenset(
    """
    all and anti any as asc at authorization between both by call case cast check collate collation
    collations column constraint create cross current_database current_date current_path current_schema
    current_time current_timestamp current_user date default desc distinct div else end escape except
    execute exists extract false fetch filter for foreign from full function grant group grouping having
    identifier if ilike in inner intersect interval into is join lateral leading left like limit localtime
    minus named_struct natural not null offset on only or order outer over overlaps partition pivot
    position primary qualify recursive references regexp right rlike select semi session_user set some sql
    struct substr substring table tablesample then time timestamp timestamp_ltz timestamp_ntz timestampadd
    timestampdiff to trailing transform trim true try_cast union unique unknown unnest unpivot user using
    values when where window with within
    """.split()
)


# Names, types and constants as Spark SQL writes them: whatever they hold, they end where they should.

MICROSECOND = "INTERVAL '0.000001' SECOND"
NTZ_EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*\Z", re.ASCII)


def alias(name: str) -> str:
    r"""A bare name where one is given, after AS and in types: quoted, unless it is a plain word without
    another meaning.

    >>> print(alias("price"), alias("Price"), alias("select"), alias("a` --"))
    price `Price` `select` `a`` --`

    Spark replaces `${env:HOME}` and the like in a text before it reads it, quoted or not.

    >>> print(alias("${env:HOME}"))
    IDENTIFIER('`$\{env:HOME}`')
    """
    if _PLAIN.match(name) and name not in KEYWORDS:
        return name
    if _is_replaced(name):
        return f"IDENTIFIER({quoted(quote(name))})"
    return text(exp.to_identifier(name, quoted=True))


def identifier(name: str, of: str = "") -> str:
    """The column of that bare name, of the relation `of` or of the only one.

    >>> print(identifier("price"), identifier("Price", "l"), identifier("end"), identifier("größe"))
    price l.`Price` `end` `größe`

    With spark.sql.parser.quotedRegexColumnNames, what is not made of letters and digits is a regular
    expression between backticks, wherever a column can stand.

    >>> print(identifier("unit price"), identifier("x.y", "l"))
    IDENTIFIER('`unit price`') IDENTIFIER('l.`x.y`')
    """
    prefix = f"{of}." if of else ""
    if _is_word(name):
        return f"{prefix}{alias(name)}"
    return f"IDENTIFIER({quoted(prefix + quote(name))})"


def with_alias(text: str, name: str) -> str:
    """An expression as the column of that bare name.

    >>> print(with_alias("x + 1", "y"), with_alias("y", "y"), with_alias("`Y`", "Y"), sep=", ")
    x + 1 AS y, y, `Y`
    """
    return text if text == alias(name) == identifier(name) else f"{text} AS {alias(name)}"


def field(base: str, name: str) -> str:
    r"""The field of that bare name in the struct that an atom stands for.

    >>> print(field("r", "price"), field("r", "end"), field("r", "unit price"), field("r", "${env:HOME}"))
    r.price r.`end` r['unit price'] r['$\{env:HOME}']
    """
    return f"{base}.{alias(name)}" if _is_word(name) else f"{base}[{quoted(name)}]"


def _is_word(name: str) -> bool:
    """Whether Spark takes a name for one even where backticks hold regular expressions."""
    return all(c <= "\uffff" and (c.isalpha() or c.isdecimal() or c == "_") for c in name)


def _is_replaced(name: str) -> bool:
    """Whether backticks do not keep a name unchanged: see `alias`; or it is no valid text."""
    return "${" in name or any("\ud800" <= character <= "\udfff" for character in name)


def spark_type(type: DataType) -> str:
    """The type as DDL.

    >>> from neelc.ir.types import INT, StructField
    >>> spark_type(Struct((StructField("`x y`", INT), StructField("z", Array(DecimalType(5, 2))))))
    'STRUCT<`x y`: INT, z: ARRAY<DECIMAL(5, 2)>>'
    """
    match type:
        case SimpleType("GEOMETRY"):
            return "STRING"
        case SimpleType(name):
            return name
        case DecimalType(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case Array(element):
            return f"ARRAY<{spark_type(element)}>"
        case Map(key, value):
            return f"MAP<{spark_type(key)}, {spark_type(value)}>"
        case Struct(fields):
            inside = ", ".join(f"{alias(bare(f.name))}: {spark_type(f.type)}" for f in fields)
            return f"STRUCT<{inside}>"
    raise AssertionError(f"{type} has no text")


def literal(value: object, type: DataType) -> str:
    """The text of a constant of that type.

    >>> from neelc.ir.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP
    >>> print(literal(5, BIGINT), literal(-1.5, DOUBLE), literal("x", STRING), literal(None, INT))
    5L -1.5D 'x' CAST(NULL AS INT)
    >>> print(literal("2020-01-31 12:00:00+02:00", TIMESTAMP), literal("2020-1-31", TIMESTAMP))
    TIMESTAMP '2020-01-31 10:00:00Z' TIMESTAMP '2020-01-31 00:00:00'
    """
    return text(constant(value, type))


def constant(value: object, type: DataType) -> Sql:
    """A constant as a tree."""
    match value:
        case None:
            return exp.Null() if type == SimpleType("VOID") else cast(exp.Null(), spark_type(type))
        case decimal.Decimal():
            return _decimal(value, type)
        case bytes() | bool():
            return raw(show_literal(Literal(value, type)))
        case int() | float():
            return _number(Literal(value, type))
        case datetime.timedelta() | Months():
            return interval(value)
        case str() if type == SimpleType("STRING"):
            return string(value)
    return _moment(value, type)


def _number(node: Literal) -> Sql:
    shown = show_literal(node)
    return exp.Neg(this=raw(shown[1:])) if shown.startswith("-") else raw(shown)


def _decimal(value: decimal.Decimal, type: DataType) -> Sql:
    number = _number(Literal(value, type))
    scale = max(-int(value.as_tuple().exponent), 0)
    written = max(len(format(abs(value), "f").replace(".", "").lstrip("0")), scale, 1)
    return number if type == DecimalType(written, scale) else cast(number, spark_type(type))


def _moment(value: object, type: DataType) -> Sql:
    """A date or a timestamp, given as one or as the text of one. An instant is written in UTC; a text
    without a zone stays without, so that it is read in that of the session that runs the query."""
    assert isinstance(type, SimpleType), type
    match type.name, value:
        case "DATE", _:
            date = date_of(value) if isinstance(value, str) else value
            return raw(f"DATE '{date}'")
        case "TIMESTAMP", str() | datetime.datetime():
            if isinstance(value, str) and not has_zone(value):
                local = timestamp_ntz_of(value)
                assert local is not None
                return raw(f"TIMESTAMP '{timestamp_text(local)}'")
            instant = timestamp_of(value) if isinstance(value, str) else value
            assert instant is not None
            return raw(f"TIMESTAMP '{instant_text(instant)}'")
        case "TIMESTAMP_NTZ", str() | datetime.datetime():
            local = timestamp_ntz_of(value) if isinstance(value, str) else value
            assert local is not None
            return raw(f"TIMESTAMP_NTZ '{timestamp_text(local)}'")
    raise AssertionError(f"{value!r} is no constant of {type}")


_LENGTHS = {
    "DAY": datetime.timedelta(days=1),
    "HOUR": datetime.timedelta(hours=1),
    "MINUTE": datetime.timedelta(minutes=1),
}


def interval(value: datetime.timedelta | Months) -> Sql:
    """An interval constant, in the largest unit that it is a whole number of.

    >>> text(interval(datetime.timedelta(hours=26))), text(interval(datetime.timedelta(seconds=-1.5)))
    ("INTERVAL '26' HOUR", "INTERVAL '-1.5' SECOND")
    """
    if isinstance(value, Months):
        years, rest = divmod(value.count, 12)
        return raw(f"INTERVAL '{value.count}' MONTH" if rest or not years else f"INTERVAL '{years}' YEAR")
    for unit, length in _LENGTHS.items():
        if not value % length:
            return raw(f"INTERVAL '{value // length}' {unit}")
    microseconds = value // datetime.timedelta(microseconds=1)
    seconds = decimal.Decimal(microseconds).scaleb(-6).normalize()
    return raw(f"INTERVAL '{seconds:f}' SECOND")


# Texts of Spark SQL, as sqlglot reads them: whether one is a query, and which tables it reads.

QUERY = "QUERY"

Tree = Any
"""A node of sqlglot's; versions differ in the class that all of them have in common."""


@dataclass(frozen=True)
class SparkStatement:
    """A text that was understood: `kind` is QUERY, or the word for another statement; `tables` are the names,
    part by part, that no WITH of the text defines; `does_more` if a query writes or starts a program."""

    kind: str
    tables: tuple[tuple[str, ...], ...] = ()
    does_more: str | None = None

    @property
    def is_query(self) -> bool:
        return self.kind == QUERY


def read_statement(text: str) -> SparkStatement | None:
    """The one statement of a text; None if sqlglot does not understand it.

    >>> read_statement("WITH c AS (SELECT * FROM t) FROM c SELECT x")
    SparkStatement(kind='QUERY', tables=(('t',),), does_more=None)
    >>> read_statement("FROM t INSERT INTO u SELECT *").kind
    'INSERT'
    >>> read_statement("SELECT 1; SELECT 2") is read_statement("SELECT FROM FROM") is None
    True
    """
    log = logging.getLogger("sqlglot")
    before, log.disabled = log.disabled, True  # what it does not understand, it logs there as well
    try:
        statements = [one for one in sqlglot.parse(text, dialect="spark") if one is not None]
    except (SqlglotError, RecursionError):
        return None
    finally:
        log.disabled = before
    if len(statements) != 1:
        return None
    return _statement(statements[0])


def _statement(tree: Tree) -> SparkStatement | None:
    kind = _kind(tree)
    if kind is None:
        return None
    into = tree.find(exp.Into)
    script = tree.find(exp.QueryTransform)
    more = "INTO" if into is not None else "TRANSFORM" if script is not None else None
    tables = tuple(_parts(one) for one in tree.find_all(exp.Table) if _is_read(one))
    return SparkStatement(kind, tables, more)


def _kind(tree: Tree) -> str | None:
    """What a statement is; None for what is none, such as an expression."""
    if isinstance(tree, exp.Query | exp.Values):
        inner = tree.find(exp.DML, exp.DDL, exp.Command)
        is_plain = inner is None or isinstance(inner, exp.Query)
        return QUERY if is_plain else _word(inner)
    return None if isinstance(tree, exp.Condition | exp.Alias) else _word(tree)


def _word(tree: Tree | None) -> str:
    """
    >>> _word(sqlglot.parse_one("CREATE TABLE t AS SELECT 1")), _word(exp.MultitableInserts())
    ('CREATE', 'INSERT')
    """
    match tree:
        case exp.MultitableInserts():
            return "INSERT"
        case exp.Command():
            return str(tree.this).upper()
    return type(tree).__name__.upper()


def _parts(table: exp.Table) -> tuple[str, ...]:
    """The parts of a table's name."""
    return tuple(part.name for part in table.parts)


def _is_read(table: exp.Table) -> bool:
    """Whether it names a table: no function, and no name that a WITH around it defines. A definition sees
    those before it, and itself if they are RECURSIVE."""
    if isinstance(table.this, exp.Func):
        return False
    return len(table.parts) != 1 or not any(same_name(table.name, name) for name in _names_around(table))


def _names_around(node: Tree) -> Iterator[str]:
    below, here = node, node.parent
    while here is not None:
        if isinstance(here, exp.With):
            place = next(place for place, one in enumerate(here.expressions) if one is below)
            yield from (one.alias for one in here.expressions[: place + bool(here.args.get("recursive"))])
            below, here = here, here.parent  # the query that has this WITH has been looked at
            if here is None:
                return
        elif isinstance(here, exp.Query | exp.DML):
            yield from (one.alias for one in _definitions(here))
        below, here = here, here.parent


def _definitions(query: Tree) -> list[Tree]:
    # Versions of sqlglot differ in the name of this argument.
    clause = query.args.get("with_") or query.args.get("with")
    return clause.expressions if isinstance(clause, exp.With) else []


def same_name(left: str, right: str) -> bool:
    """Whether two bare names are one for Spark, which does not look at their case."""
    return left.casefold() == right.casefold()
