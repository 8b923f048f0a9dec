"""Expressions of Spark SQL as DuckDB spells them.

Each part of an expression is spelled with its type, from the leaves up: by its type it is known what Spark
makes of it. All calls of functions come by the names that Spark has for them.
"""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from typing import Any, ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import SqlglotError
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from neelc.ir.names import bare, same, written
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    FLOAT,
    INT,
    SIMPLE_TYPES,
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
from neelc.runtime.values.types import single
from neelc.scalar.duckdb.aggregates import AGGREGATES, OF_WINDOWS, check_count
from neelc.scalar.duckdb.casts import cast_to, number, real, truth
from neelc.scalar.duckdb.casts import text as text_constant
from neelc.scalar.duckdb.evaluated import evaluated
from neelc.scalar.duckdb.functions import extracted, hashed, spelled_call
from neelc.scalar.duckdb.operators import (
    arithmetic,
    common_pieces,
    comparison,
    condition,
    interval,
    looked_up,
    negative,
)
from neelc.scalar.duckdb.percentiles import joined, mode, percentile
from neelc.scalar.duckdb.pieces import (
    HERE,
    NULL,
    DuckText,
    NameScope,
    UnspelledOperation,
    WrongQuery,
    aggregate_of,
    as_column,
    duck_type,
    field_of,
    outside,
    over_rows,
    quoted,
    safely,
    shown,
    sortable,
    unused,
)
from neelc.scalar.duckdb.reading import refuse_what_is_not_read
from neelc.scalar.duckdb.times import DAY
from neelc.scalar.duckdb.variants import variant_object
from neelc.scalar.signatures import SCALAR_SIGNATURES

Node = Any
"""A node of sqlglot's; versions differ in the class that all of them have in common."""


# sqlglot has 5L as a cast: to types that Spark does not have, here.
SUFFIXES = {
    "Y": TokenType.UTINYINT,
    "S": TokenType.USMALLINT,
    "L": TokenType.UBIGINT,
    "BD": TokenType.BIGDECIMAL,
}
SUFFIXED = {"UTINYINT": TINYINT, "USMALLINT": SMALLINT, "UBIGINT": BIGINT}


def _marking(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What reads a call with words inside. CAST is told from 5L and DATE '2020-01-01', which are casts for
    sqlglot, too; of the others, the words are kept."""

    def read(parser: Any) -> Any:
        first = parser._index
        found = parse(parser)
        found.meta[WRITTEN] = [token.text for token in parser._tokens[first : parser._index]]
        return found

    return read


WRITTEN = "written"


def _call_of(name: str, arguments: Sequence[Node]) -> Node:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _with_words(name: str, *words: str) -> Callable[[Any], Any]:
    """What reads a call with words between its arguments, such as substring(x FROM 2 FOR 3), or commas."""

    def read(parser: Any) -> Any:
        following, arguments = iter(words), [parser._parse_lambda(alias=False)]
        has_words = parser._curr.token_type != TokenType.COMMA
        while parser._match(TokenType.COMMA) or any(map(parser._match_text_seq, islice(following, 1))):
            arguments.append(parser._parse_lambda(alias=False))
        called = "substring" if has_words and name == "substr" and len(arguments) > 1 else name
        return _call_of(called, [one for one in arguments if one is not None])

    return read


def _trim(parser: Any) -> Any:
    """trim(BOTH 'x' FROM text), trim(LEADING FROM text), or a call."""
    start, side = parser._index, parser._curr.text.lower()
    is_word = parser._curr.token_type != TokenType.STRING and parser._next.text not in (")", ",", ".", "[")
    if side in TRIMMED and is_word:
        parser._advance()
    else:
        side = "both"
    characters = [] if parser._curr.text.upper() == "FROM" else [parser._parse_lambda(alias=False)]
    if parser._match(TokenType.FROM):
        return _call_of(TRIMMED[side], [*characters, parser._parse_lambda(alias=False)])
    parser._retreat(start)
    return _call_of("trim", parser._parse_csv(lambda: parser._parse_lambda(alias=False)))


TRIMMED = {"both": "trim", "leading": "ltrim", "trailing": "rtrim"}


class UnsignedRightShift(exp.BitwiseRightShift):
    """`x >>> 1`, which sqlglot does not know."""


class SparkCalls(Databricks):
    """Spark's SQL. Unlike sqlglot's own, it leaves calls of functions as they are written."""

    # NOT x IS NULL is told from x IS NOT NULL.
    NORMALIZE_NOT_NULL = False

    class Tokenizer(Databricks.Tokenizer):
        # 'it''s' is one text.
        STRING_ESCAPES: ClassVar[Any] = ["\\", "'", '"']
        # `~~` is twice `~` here, no other word for LIKE.
        KEYWORDS: ClassVar[Any] = {
            **{word: token for word, token in Databricks.Tokenizer.KEYWORDS.items() if "~" not in word},
            **{token.name: token for token in SUFFIXES.values()},
        }
        # Beside a DECIMAL, 5L has as many digits as it shows, unlike CAST(5 AS BIGINT).
        NUMERIC_LITERALS: ClassVar[Any] = {
            **Databricks.Tokenizer.NUMERIC_LITERALS,
            **{suffix: token.name for suffix, token in SUFFIXES.items()},
        }

    class Parser(Databricks.Parser):  # type: ignore[misc, valid-type]
        FUNCTIONS: ClassVar[Any] = {}
        FUNCTION_PARSERS: ClassVar[Any] = {
            name: _marking(parse)
            for name, parse in Databricks.Parser.FUNCTION_PARSERS.items()
            if name in ("CAST", "TRY_CAST", "EXTRACT", "POSITION")
        } | {
            "OVERLAY": _with_words("overlay", "PLACING", "FROM", "FOR"),
            "SUBSTR": _with_words("substr", "FROM", "FOR"),
            "SUBSTRING": _with_words("substring", "FROM", "FOR"),
            "TRIM": _trim,
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar[Any] = {
            name: parse
            for name, parse in Databricks.Parser.NO_PAREN_FUNCTION_PARSERS.items()
            if name != "TRANSFORM"
        }

        # +'1' is a DOUBLE: sqlglot leaves the sign out.
        UNARY_PARSERS: ClassVar[Any] = {
            **Databricks.Parser.UNARY_PARSERS,
            TokenType.PLUS: lambda parser: exp.Anonymous(
                this="positive", expressions=[parser._parse_unary()]
            ),
        }

        # array(1, 2)[0] is an element: sqlglot would take [0] for all there is in an array.
        ARRAY_CONSTRUCTORS: ClassVar[Any] = {}

        # `||` stands with + and -, and shifts before &, & before ^, ^ before |: for sqlglot, all are equal.
        TERM: ClassVar[Any] = {**Databricks.Parser.TERM, TokenType.DPIPE: exp.DPipe}

        def _parse_bitwise(self) -> Any:
            levels = ((TokenType.AMP, exp.BitwiseAnd), (TokenType.CARET, exp.BitwiseXor))
            parse = self._parse_shift
            for token, kind in (*levels, (TokenType.PIPE, exp.BitwiseOr)):
                parse = partial(self._parse_level, token, kind, parse)
            return parse()

        def _parse_level(self, token: Any, kind: Any, parse: Callable[[], Any]) -> Any:
            found = parse()
            while self._match(token):
                found = kind(this=found, expression=parse())
            return found

        def _parse_shift(self) -> Any:
            found = self._parse_term()
            while True:
                if self._match_pair(TokenType.LT, TokenType.LT):
                    kind: Any = exp.BitwiseLeftShift
                elif self._match_pair(TokenType.GT, TokenType.GT):
                    kind = UnsignedRightShift if self._match(TokenType.GT) else exp.BitwiseRightShift
                else:
                    return found
                found = self.expression(kind(this=found, expression=self._parse_term()))


_STATEMENT = re.compile(
    r"(alter|analyze|begin|cache|call|comment|commit|copy|create|declare|delete|desc|describe|drop|execute|explain|grant"
    r"|insert|kill|load|merge|optimize|pivot|prepare|pragma|refresh|rename|reset|revoke|rollback|set|show|truncate"
    r"|uncache|unpivot|update|use|vacuum)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def parsed(text: str) -> Node:
    """A text of Spark SQL as a tree. A column may be called like a statement.

    >>> parsed("begin").sql(), parsed("set + 1").sql()
    ('begin', 'set + 1')
    """
    plain = without_identifier_clauses(text)
    try:
        if _STATEMENT.match(plain):
            tree = sqlglot.parse_one(f"SELECT {plain}", dialect=SparkCalls).expressions[0]
        else:
            tree = sqlglot.parse_one(plain, dialect=SparkCalls)
        refuse_what_is_not_read(tree)
    except UnspelledOperation as refusal:
        if plain != text or _STATEMENT.match(plain):
            refusal.place = None  # it is in another text
        raise
    except (SqlglotError, RecursionError) as error:
        raise _misread(text, error) from error
    return tree


def _misread(text: str, error: Exception) -> UnspelledOperation:
    """Why a text has no tree: it is wrong, unless another reader of Spark's SQL takes it."""
    found = UnspelledOperation(text if len(text) <= 80 else f"{text[:80]} ...")
    (first, *_) = getattr(error, "errors", None) or [None]
    if not isinstance(first, dict) or _ODD.match(text):
        return found
    try:
        sqlglot.parse_one(text, dialect="databricks")
    except SqlglotError:
        lines = text.splitlines(keepends=True)
        word = str(first["highlight"] or "")
        end = sum(map(len, lines[: first["line"] - 1])) + first["col"]
        if _STATEMENT.fullmatch(word):  # a column may be called so
            return found
        place = (end - len(word), end)
        if text[slice(*place)] != word:
            place = (max(0, end - 1), end)
        wrong = WrongQuery(
            "NEEL1001", f"this is no SQL of Spark's, at `{word}`" if word else "unfinished SQL"
        )
        wrong.place = place
        return wrong
    except RecursionError:
        pass
    return found


_ODD = re.compile(
    r"\s*(FROM|VALUES)\b"
    r"|.*(\(\s*(FROM|VALUES)\b|\(\s*WITH\b.*\)\s*FROM\b[^()]*\bSELECT\b|\|>)",
    re.IGNORECASE | re.DOTALL,
)
"""Queries that begin with FROM or VALUES, and those of pipes: sqlglot does not read all that Spark does."""


_QUOTED = r"'(?:[^'\\]|\\.)*'"
_CLAUSE = re.compile(
    rf"(?P<other>{_QUOTED}|\"(?:[^\"\\]|\\.)*\"|`(?:[^`]|``)*`)|\bIDENTIFIER\(\s*(?P<name>{_QUOTED})\s*\)",
    re.IGNORECASE | re.DOTALL,
)


def without_identifier_clauses(text: str) -> str:
    r"""A text whose names are all written as names, also those that Spark is given as texts.

    >>> print(without_identifier_clauses(r"IDENTIFIER('l.`x y`') = 'IDENTIFIER(1)' OR IDENTIFIER('`$\{a}`')"))
    l.`x y` = 'IDENTIFIER(1)' OR `${a}`
    """
    if "identifier" not in text.lower():
        return text

    def plain(found: re.Match[str]) -> str:
        if found["other"] is not None:
            return found["other"]
        return str(sqlglot.parse_one(found["name"], dialect=SparkCalls).this)

    return _CLAUSE.sub(plain, text)


def spelled(text: str, scope: NameScope) -> DuckText:
    """A text of Spark SQL as one of DuckDB.

    >>> from neelc.ir.types import TIMESTAMP
    >>> scope = NameScope({"": {"ts": TIMESTAMP, "x": INT}})
    >>> print(spelled("unix_micros(ts) DIV 10L", scope).text)
    (epoch_us("ts") // CAST(10 AS BIGINT))
    """
    return spell(parsed(text), scope)


def spelled_type(text: str) -> DataType:
    """A type as Spark writes it."""
    return data_type(exp.DataType.build(without_identifier_clauses(text), dialect=SparkCalls))


def spelled_schema(schema: str) -> dict[str, DataType]:
    """The columns of a schema as Spark writes it.

    >>> spelled_schema("a INT, `b c` ARRAY<STRUCT<d: STRING>>")["b c"]
    Array(element=Struct(fields=(StructField(name='d', type=SimpleType(name='STRING')),)))
    """
    struct = spelled_type(f"STRUCT<{schema}>") if schema else Struct(())
    assert isinstance(struct, Struct)
    return {bare(one.name): one.type for one in struct.fields}


# Types.

TYPES = {
    "TEXT": "STRING",
    "VARCHAR": "STRING",
    "CHAR": "STRING",
    "TIMESTAMPTZ": "TIMESTAMP",
    "TIMESTAMPLTZ": "TIMESTAMP",
    "TIMESTAMPNTZ": "TIMESTAMP_NTZ",
    "NULL": "VOID",
    "VARBINARY": "BINARY",
}


def data_type(node: Node) -> DataType:
    """The type that a part of a tree stands for."""
    if isinstance(node.this, exp.Interval):
        name = node.this.sql(dialect=SparkCalls).upper()
        return SIMPLE_TYPES[
            "INTERVAL YEAR TO MONTH" if re.search("YEAR|MONTH", name) else "INTERVAL DAY TO SECOND"
        ]
    name = getattr(node.this, "value", str(node.this)).upper()
    inside = node.expressions
    match name:
        case "ARRAY":
            return Array(data_type(inside[0]))
        case "MAP":
            return Map(data_type(inside[0]), data_type(inside[1]))
        case "STRUCT":
            return Struct(
                tuple(StructField(written(one.name), data_type(one.args["kind"])) for one in inside)
            )
        case "DECIMAL":
            digits = [int(one.name or one.this.name) for one in inside]
            if max(digits, default=0) > 38:
                raise WrongQuery("NEEL1005", f"DECIMAL with {max(digits)} digits: it has at most 38")
            return Decimal(*digits)
        case "VARIANT":
            return VARIANT
    known = SIMPLE_TYPES.get(TYPES.get(name, name))
    if known is None:
        raise UnspelledOperation(f"values of type {node.sql(dialect=SparkCalls)}")
    return known


# The walk.

Spell = Callable[[Node, NameScope], DuckText]


def spell(node: Node, scope: NameScope) -> DuckText:
    """A part of a tree."""
    known = SPELLINGS.get(type(node))
    try:
        if known is None:
            raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80])
        return known(node, scope)
    except UnspelledOperation as refusal:
        refusal.locate(node)
        raise


def _all(nodes: Sequence[Node], scope: NameScope) -> list[DuckText]:
    return [spell(node, scope) for node in nodes]


def _column(node: Node, scope: NameScope) -> DuckText:
    first, *rest = [part.name for part in node.parts]
    if first in scope.variables:
        return fields(scope.variables[first], rest)
    found = scope.column(rest[0], first) if rest else None
    if found is not None:
        return fields(found, rest[1:])
    found = scope.column(first)
    if found is not None:
        return fields(found, rest)
    name = ".".join([first, *rest])
    if not scope.strict or first.lower() in WORDS:
        raise UnspelledOperation(f"the column {name}")
    relation = next((one for one in scope.columns if one and one.lower() == first.lower()), None)
    known = [scope.columns[relation]] if relation and rest else [*scope.columns.values(), scope.aliases]
    names = dict.fromkeys(shown(one) for columns in known for one in columns)
    hint = f"columns: {', '.join(names)}" if names else None
    raise WrongQuery("NEEL2003", f"unknown column `{name}`", hint, node)


WORDS = frozenset(
    "current_user user session_user current_time current_catalog current_schema current_database"
    " localtimestamp grouping__id _metadata".split()
)
"""Names that are values for Spark where no column has them."""


def fields(piece: DuckText, names: Sequence[str]) -> DuckText:
    """A field of a struct, of its field, and so on; of an array of structs, the field of each; of a map, the
    value of a key."""
    for name in names:
        if isinstance(piece.type, Map) and piece.type.key == STRING:
            text = f"map_extract_value({piece.text}, {text_constant(name).text})"
            piece = DuckText(text, piece.type.value)
            continue
        listed = isinstance(piece.type, Array)
        struct = piece.type.element if isinstance(piece.type, Array) else piece.type
        known = struct.fields if isinstance(struct, Struct) else ()
        found = next((one for one in known if same(one.name, written(name))), None)
        if found is None:
            raise WrongQuery("NEEL2014", f"{piece.type} has no field `{name}`")
        if listed:
            one = unused("e", piece.text)
            text = f"list_transform({piece.text}, lambda {one}: {one}.{quoted(bare(found.name))})"
            piece = DuckText(text, Array(found.type))
        else:
            piece = field_of(piece, found)
    return piece


def _adjacent(node: Node, scope: NameScope) -> DuckText:
    """'a' 'b', which is one text."""
    return text_constant(adjacent_text(node))


def adjacent_text(node: Node) -> str:
    """The text of constants that stand one after the other."""
    if not all(isinstance(one, exp.Literal | exp.RawString) for one in node.expressions):
        raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80])
    return "".join(str(one.this) for one in node.expressions)


def _literal(node: Node, scope: NameScope) -> DuckText:
    if node.is_string:
        return text_constant(node.this)
    return _number(str(node.this))


def _number(text: str, exact: bool = False) -> DuckText:
    """A number as it is written; with an exponent it is a DOUBLE unless it is `exact`."""
    if text.isdigit() and not exact and int(text) < 2**63:
        return number(int(text), INT if int(text) < 2**31 else BIGINT)
    if "e" in text.lower() and not exact:
        return _real(text)
    plain = format(decimal.Decimal(text), "f")
    whole, _, places = plain.lstrip("-").partition(".")
    digits = max(len(whole.lstrip("0")) + len(places), len(places), 1)
    if digits > 38:
        raise WrongQuery("NEEL1005", f"a number of {digits} digits: a DECIMAL has at most 38")
    type = Decimal(digits, len(places))
    return DuckText(f"CAST('{plain}' AS {duck_type(type)})", type, decimal.Decimal(plain))


def _real(text: str, type: DataType = DOUBLE) -> DuckText:
    value = float(text)
    if single(value) in INFINITIES if type == FLOAT else value in INFINITIES:
        raise WrongQuery("NEEL1005", f"{text} is out of range for {type}")
    return real(value)


INFINITIES = (math.inf, -math.inf)


def _cast(node: Node, scope: NameScope) -> DuckText:
    to, operand = node.args["to"], node.this
    suffixed = _suffixed(node)
    if suffixed is not None:
        return suffixed
    target = data_type(to)
    if isinstance(operand, exp.Anonymous) and operand.name.lower() == "try_to_binary" and target == STRING:
        return cast_to(spell(operand.expressions[0], scope), STRING, scope)
    if target in (DOUBLE, FLOAT) and isinstance(operand, exp.Literal) and not operand.is_string:
        # 1.5D is no DECIMAL on the way; 1E39F is an error, and CAST(1E39 AS FLOAT) is infinite.
        value = _real(str(operand.this), DOUBLE if WRITTEN in node.meta else target)
    else:
        value = spell(operand, scope)
    if target == VARIANT and (scope.strict or value.type != VOID):
        raise UnspelledOperation("a cast to VARIANT")
    found = cast_to(value, target, scope, False if isinstance(node, exp.TryCast) else None)
    if target == DAY_INTERVAL and to.sql(dialect=SparkCalls).upper() == "INTERVAL DAY":
        whole = f"({found.text} // {DAY} * {DAY})"
        return DuckText(found.text if found.days else whole, target, days=True)
    return replace(found, is_cast=True)


INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)


def _suffixed(node: Node, sign: int = 1) -> DuckText | None:
    """5L or 5BD."""
    name = getattr(node.args["to"].this, "value", "") if isinstance(node, exp.Cast) else ""
    if name == "BIGDECIMAL":
        return _number(str(node.this.this), exact=True) if sign > 0 else None
    return number(sign * int(node.this.this), SUFFIXED[name]) if name in SUFFIXED else None


def _infix(name: str) -> Spell:
    def infix(node: Node, scope: NameScope) -> DuckText:
        return arithmetic(name, spell(node.this, scope), spell(node.expression, scope), scope)

    return infix


def _compared(sign: str) -> Spell:
    def compared(node: Node, scope: NameScope) -> DuckText:
        return comparison(sign, spell(node.this, scope), spell(node.expression, scope), scope)

    return compared


def _joined(word: str) -> Spell:
    def joined(node: Node, scope: NameScope) -> DuckText:
        # Long chains of one word are deep trees.
        operands: list[Node] = []
        pending = [node]
        while pending:
            one = pending.pop()
            if type(one) is type(node):
                pending += [one.expression, one.this]
            else:
                operands.append(one)
        texts = (condition(spell(one, scope), scope, texts=True).text for one in operands)
        return DuckText("(" + f" {word} ".join(texts) + ")", BOOLEAN)

    return joined


def _not(node: Node, scope: NameScope) -> DuckText:
    inner = node.this.unnest()
    if isinstance(inner, exp.In) and inner.args.get("query") is not None:
        return _in_query(inner, scope, negated=True)
    if isinstance(inner, exp.And | exp.Or) and any(one.args.get("query") for one in inner.find_all(exp.In)):
        other = exp.Or if isinstance(inner, exp.And) else exp.And
        sides = (exp.Not(this=side.copy()) for side in (inner.this, inner.expression))
        return spell(other(this=next(sides), expression=next(sides)), scope)
    return DuckText(f"(NOT {condition(spell(node.this, scope), scope, texts=True).text})", BOOLEAN)


def _negative(node: Node, scope: NameScope) -> DuckText:
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        text = str(node.this.this)
        if text.isdigit() and int(text) in (2**31, 2**63):
            return number(-int(text), INT if int(text) == 2**31 else BIGINT)
    suffixed = _suffixed(node.this, -1)  # -128Y: 128Y is none
    if suffixed is not None:
        return suffixed
    operand = spell(node.this, scope)
    match operand.value:
        case int() as value if not isinstance(value, bool) and not (scope.strict and operand.is_cast):
            return number(-value, operand.type)
        case float() as value:
            return real(-value, operand.type)
    return negative(operand, scope)


def _paren(node: Node, scope: NameScope) -> DuckText:
    return spell(node.this, scope)


def _if(node: Node, scope: NameScope) -> DuckText:
    last = node.args.get("false")
    return conditional([(node.this, node.args["true"])], last, scope)


def _case(node: Node, scope: NameScope) -> DuckText:
    subject = node.this
    if subject is not None:
        operand, tests = spell(subject, scope), _all([one.this for one in node.args["ifs"]], scope)
        if all(test.value is not None and test.type == operand.type == STRING for test in tests):
            results = [one.args["true"] for one in node.args["ifs"]]
            return chosen(operand.beside(*tests), tests, results, node.args.get("default"), scope)
    branches = [
        (exp.EQ(this=subject, expression=one.this) if subject is not None else one.this, one.args["true"])
        for one in node.args["ifs"]
    ]
    return conditional(branches, node.args.get("default"), scope)


def conditional(branches: Sequence[tuple[Node, Node]], last: Node | None, scope: NameScope) -> DuckText:
    """CASE: its results have a type in common."""
    tests = [condition(spell(test, scope), scope) for test, _ in branches]
    return chosen("", tests, [result for _, result in branches], last, scope)


def chosen(
    subject: str, tests: Sequence[DuckText], given: Sequence[Node], last: Node | None, scope: NameScope
) -> DuckText:
    """CASE, of a subject that is compared with the tests, or without one."""
    results = [spell(result, scope) for result in given]
    results += [] if last is None else [spell(last, scope)]
    cast, shared = common_pieces(results, scope)
    if subject and last is not None and (lookup := looked_up(subject, tests, cast[:-1], cast[-1])):
        return DuckText(lookup, shared)
    whens = "".join(
        f" WHEN {test.text} THEN {result.text}" for test, result in zip(tests, cast, strict=False)
    )
    otherwise = "" if last is None else f" ELSE {cast[-1].text}"
    return DuckText(f"CASE{subject and f' {subject}'}{whens}{otherwise} END", shared)


def _between(node: Node, scope: NameScope) -> DuckText:
    value, low, high = (spell(part, scope) for part in (node.this, node.args["low"], node.args["high"]))
    lower, upper = comparison(">=", value, low, scope), comparison("<=", value, high, scope)
    return DuckText(f"({lower.text} AND {upper.text})", BOOLEAN)


def _in(node: Node, scope: NameScope) -> DuckText:
    if node.args.get("query") is not None:
        return _in_query(node, scope)
    if isinstance(node.this, exp.Tuple):
        return _rows_in(node, scope)
    operand, *items = common_pieces(_all([node.this, *node.expressions], scope), scope)[0]
    return DuckText(f"({operand.beside(*items)} IN ({', '.join(item.text for item in items)}))", BOOLEAN)


def _in_query(node: Node, scope: NameScope, negated: bool = False) -> DuckText:
    """IN (SELECT ...). Where it is unknown, Spark has FALSE, and for NOT IN, too: it joins the rows of the
    query. Only of a NULL that is written down it has NULL."""
    query = node.args["query"]
    text, types = _nested(query, scope)
    given = in_row(node.this)
    if len(types) != len(given):
        columns = "one column is" if len(given) == 1 else f"{len(given)} columns are"
        raise WrongQuery("NEEL2051", f"{columns} expected, and this query has {len(types)}", node=query)
    operands = _all(given, scope)
    if len(given) > 1:
        return _row_in_query(operands, text, types, negated, scope)
    (operand,), (inner,) = operands, types.items()
    first, second = common_pieces([operand, DuckText(quoted(inner[0]), inner[1])], scope)[0]
    found = f"({first.text} {'NOT ' * negated}IN (SELECT {second.text} FROM ({text})))"
    return DuckText(found if operand.type == VOID else f"({found} IS TRUE)", BOOLEAN)


def in_row(node: Node) -> list[Node]:
    """What is compared with the columns of a query."""
    inner = node.unnest()
    is_struct = isinstance(inner, exp.Anonymous) and inner.name.lower() == "struct"
    return list(inner.expressions) if isinstance(inner, exp.Tuple) or is_struct else [inner]


def _row_in_query(
    operands: Sequence[DuckText], text: str, types: Mapping[str, DataType], negated: bool, scope: NameScope
) -> DuckText:
    """(a, b) IN (SELECT ...). DuckDB has NULL equal to NULL in rows."""
    names = [f"{name} {place}" for place, name in enumerate(["column of the query"] * len(types))]
    inner = [DuckText(f"query_row.{quoted(name)}", t) for name, t in zip(names, types.values(), strict=True)]
    pairs = [common_pieces(pair, scope)[0] for pair in zip(operands, inner, strict=True)]
    rows = f"FROM ({text}) AS query_row({', '.join(map(quoted, names))})"
    if negated:
        if any(over_rows(one.text) for one in operands):
            raise UnspelledOperation("NOT IN of several columns with an aggregate among them")
        same = " AND ".join(comparison("=", one, other, scope).text for one, other in pairs)
        return DuckText(f"(NOT EXISTS (SELECT 1 {rows} WHERE ({same}) IS NOT FALSE))", BOOLEAN)
    first, second = (
        f"struct_pack({', '.join(f'x{place} := {one.text}' for place, one in enumerate(side))})"
        for side in zip(*pairs, strict=True)
    )
    known = " AND ".join(f"{one.text} IS NOT NULL" for one, _ in pairs)
    return DuckText(f"({known} AND {first} IN (SELECT {second} {rows}))", BOOLEAN)


def _rows_in(node: Node, scope: NameScope) -> DuckText:
    """(a, b) IN ((1, 2), (3, 4)): each column in a type of its own. In rows, NULL is equal to NULL."""
    rows = [
        _all(one.expressions, scope) for one in (node.this, *node.expressions) if isinstance(one, exp.Tuple)
    ]
    if len({len(row) for row in rows}) > 1 or len(rows) <= len(node.expressions):
        raise WrongQuery("NEEL2101", "rows of different lengths cannot be compared")
    columns = [common_pieces(column, scope)[0] for column in zip(*rows, strict=True)]
    packed = [
        f"struct_pack({', '.join(f'x{place} := {piece.text}' for place, piece in enumerate(row))})"
        for row in zip(*columns, strict=True)
    ]
    return DuckText(f"({packed[0]} IN ({', '.join(packed[1:])}))", BOOLEAN)


def _nested(node: Node, scope: NameScope) -> tuple[str, Mapping[str, DataType]]:
    """A query inside of an expression."""
    if scope.queries is None:
        raise UnspelledOperation("a query inside of an expression")
    return scope.queries(node.this if isinstance(node, exp.Subquery) else node, scope)


def _scalar_query(node: Node, scope: NameScope) -> DuckText:
    text, types = _nested(node, scope)
    if len(types) != 1:
        raise WrongQuery("NEEL2051", f"one column is expected, and this query has {len(types)}", node=node)
    (type,) = types.values()
    return DuckText(f"({text})", type)


def _exists(node: Node, scope: NameScope) -> DuckText:
    return DuckText(f"EXISTS ({_nested(node.this, scope)[0]})", BOOLEAN)


def _parameter(node: Node, scope: NameScope) -> DuckText:
    name = node.name
    if name not in scope.arguments:
        raise UnspelledOperation(f"the parameter {name}")
    try:
        return spelled(
            scope.arguments[name], replace(scope, columns={}, variables={}, aliases={}, strict=False)
        )
    except UnspelledOperation as refusal:
        refusal.place = None  # it is in another text
        raise


def _ignoring(node: Node, scope: NameScope) -> DuckText:
    """first(x) IGNORE NULLS."""
    inner = node.this
    name = inner.name.lower() if isinstance(inner, exp.Anonymous) else ""
    if name not in ("any_value", "first", "first_value", "last", "last_value") or len(inner.expressions) != 1:
        raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80])
    values = [spell(inner.expressions[0], scope), truth(isinstance(node, exp.IgnoreNulls))]
    return AGGREGATES[name](values, "", scope)


def _filtered(node: Node, scope: NameScope) -> DuckText:
    """An aggregate with FILTER (WHERE ...)."""
    found = spell(node.this, scope)
    test = condition(spell(node.expression.this, scope), scope)
    return found.followed(f"FILTER (WHERE {test.text})")


def _is(node: Node, scope: NameScope) -> DuckText:
    inner = node.expression
    operand = spell(node.this, scope)
    negated = "NOT " if node.args.get("negate") else ""
    if isinstance(inner, exp.Null):
        return DuckText(f"({operand.text} IS {negated}NULL)", BOOLEAN)
    if isinstance(inner, exp.Boolean):
        word = negated + ("TRUE" if inner.this else "FALSE")
        return DuckText(f"({condition(operand, scope, texts=True).text} IS {word})", BOOLEAN)
    raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80])


def _bracket(node: Node, scope: NameScope) -> DuckText:
    base, (key,) = spell(node.this, scope), node.expressions
    inner = base.type.element if isinstance(base.type, Array) else base.type
    if isinstance(inner, Struct) and isinstance(key, exp.Literal) and key.is_string:
        return fields(base, [key.this])
    name = "item" if isinstance(base.type, Map) else "get"
    if isinstance(base.type, Array):
        # sqlglot counts from 0 whatever the dialect has written.
        shift = int(node.args.get("offset") or 0)
        place = spell(key, scope)
        if scope.strict and place.type not in (*INTEGERS, VOID):
            raise WrongQuery(
                "NEEL2106", f"the position of an element is an integer, not {place.type}", node=key
            )
        place = arithmetic("-", place, number(1, INT), scope) if shift else place
        found = spelled_call(name, [base, place], scope)
        if not scope.strict:
            return found
        # An element may be NULL: what fails is a place outside of the array.
        tests = f"{place.text} < 0 OR {place.text} >= len({base.text})"
        return outside(found, tests)
    if not isinstance(base.type, Map) and scope.strict:
        if isinstance(base.type, Struct):
            raise WrongQuery("NEEL2106", "the field of a struct is named by a constant text", node=key)
        raise WrongQuery(
            "NEEL2106", f"{base.type} has no elements: it is not an array, map or struct", node=node
        )
    return spelled_call(name, [base, spell(key, scope)], scope)


def _dot(node: Node, scope: NameScope) -> DuckText:
    if isinstance(node.expression, exp.Identifier):
        return fields(spell(node.this, scope), [node.expression.name])
    raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80])


def _call(node: Node, scope: NameScope) -> DuckText:
    name, arguments = node.name.lower(), list(node.expressions)
    if len(arguments) == 3 and name in _WITH_UNITS:
        name = _WITH_UNITS[name]
    signature = SCALAR_SIGNATURES.get(name) if scope.strict else None
    if signature is not None and not signature.accepts(len(arguments)):
        raise UnspelledOperation(f"{name} of {len(arguments)} arguments")
    special = SPECIAL.get(name)
    if special is not None:
        return special(arguments, scope)
    distinct = bool(arguments) and isinstance(arguments[0], exp.Distinct)
    if distinct:
        arguments = list(arguments[0].expressions)
    if any(isinstance(one, exp.Star | exp.Lambda) for one in arguments):
        raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80])
    if name == "grouping_id" and not arguments:
        arguments = list(scope.grouped)
    if name in AGGREGATES:
        check_count(name, len(arguments), node)
        return AGGREGATES[name](_all(arguments, scope), "DISTINCT " if distinct else "", scope)
    if distinct or name in OF_WINDOWS:
        raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80])
    return spelled_call(name, _all(arguments, scope), scope)


_WITH_UNITS = {
    "date_add": "timestampadd",
    "date_diff": "timestampdiff",
    "dateadd": "timestampadd",
    "datediff": "timestampdiff",
}
"""Functions that are others if their first argument is a unit of time."""


def _from_json(arguments: Sequence[Node], scope: NameScope) -> DuckText:
    """A cell of a CSV file that is an array, a map or a struct: where it is none there is NULL, and the plan
    fails. Or what users write, which has parts of a value that does not fit."""
    if len(arguments) == (2 if scope.strict else 3):
        return spelled_call("from_json", _all(arguments[:2], scope), scope)
    value, schema = _all(arguments, scope) if len(arguments) == 2 else (None, None)
    nested = schema is not None and re.match(r"(ARRAY|MAP|STRUCT)<", str(schema.value), re.IGNORECASE)
    if value is None or schema is None or not nested or scope.strict:
        raise UnspelledOperation("the function from_json")
    return evaluated("from_json of a cell", [value], spelled_type(str(schema.value)), scope)


def _extract(node: Node, scope: NameScope) -> DuckText:
    return extracted(node.this.name or str(node.this), spell(node.expression, scope), scope)


def _position(node: Node, scope: NameScope) -> DuckText:
    place = node.args.get("position")
    parts = [node.args["substr"], node.this, *([] if place is None else [place])]
    return spelled_call("locate", _all(parts, scope), scope)


def _binary(node: Node, scope: NameScope) -> DuckText:
    """X'00ff'."""
    digits = "0" * (len(str(node.this)) % 2) + str(node.this)
    text = "".join(f"\\x{digits[place : place + 2]}" for place in range(0, len(digits), 2))
    return DuckText(f"CAST('{text}' AS BLOB)", BINARY)


def _like(kind: str) -> Spell:
    def like(node: Node, scope: NameScope) -> DuckText:
        return _liked(kind, node, None, scope)

    return like


def _escape(node: Node, scope: NameScope) -> DuckText:
    inner = node.this
    if not isinstance(inner, exp.Like | exp.ILike):
        raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80])
    kind = "ilike" if isinstance(inner, exp.ILike) else "like"
    return _liked(kind, inner, spell(node.expression, scope), scope)


def _liked(kind: str, node: Node, mark: DuckText | None, scope: NameScope) -> DuckText:
    """LIKE and its kin, of one pattern or of ANY or ALL of several; NOT is about each of them."""
    value, given = spell(node.this, scope), node.expression
    several = given.this if isinstance(given, exp.Any | exp.All) else None
    patterns = (
        [given] if several is None else getattr(several.unnest(), "expressions", None) or [several.unnest()]
    )
    more = [] if mark is None else [mark]
    tests = [spelled_call(kind, [value, spell(one, scope), *more], scope).text for one in patterns]
    if node.args.get("negate"):
        tests = [f"(NOT {one})" for one in tests]
    word = " OR " if isinstance(given, exp.Any) else " AND "
    return DuckText(tests[0] if len(tests) == 1 else f"({word.join(tests)})", BOOLEAN)


def _interval(node: Node, scope: NameScope) -> DuckText:
    return interval(node.sql(dialect=SparkCalls))


# Calls with arguments that are no values.


def _lambda_call(name: str, arguments: list[Node], scope: NameScope) -> tuple[DuckText, str, DuckText]:
    """The list, the lambda as DuckDB writes it, and its body."""
    values = spell(arguments[0], scope)
    function = arguments[1]
    if not isinstance(values.type, Array) or not isinstance(function, exp.Lambda):
        raise UnspelledOperation(name)
    names = [one.name for one in function.expressions]
    inside = scope.binding({names[0]: values.type.element})
    for place in names[1:]:  # DuckDB counts from 1
        number = DuckText(f"CAST({quoted(place)} - 1 AS INTEGER)", INT)
        inside = replace(inside, variables={**inside.variables, place: number})
    body = spell(function.this, inside)
    shown = ", ".join(map(quoted, names))
    return values, f"lambda {shown}: {body.text}", body


def _transform(arguments: list[Node], scope: NameScope) -> DuckText:
    values, function, body = _lambda_call("transform", arguments, scope)
    return DuckText(f"list_transform({values.text}, {function})", Array(body.type))


def _flatten(arguments: list[Node], scope: NameScope) -> DuckText:
    values = spell(arguments[0], scope)
    if not isinstance(values.type, Array) or not isinstance(values.type.element, Array):
        raise UnspelledOperation("flatten")
    # Of arrays of which one is NULL, Spark makes NULL, and DuckDB leaves that one out.
    are_there = f"len(list_filter({values.text}, lambda one: one IS NULL)) = 0"
    return DuckText(f"CASE WHEN {are_there} THEN flatten({values.text}) END", values.type.element)


def _filter(arguments: list[Node], scope: NameScope) -> DuckText:
    values, function, _ = _lambda_call("filter", arguments, scope)
    return DuckText(f"list_filter({values.text}, {function})", values.type)


def _every(arguments: list[Node], scope: NameScope) -> DuckText:
    """forall: NULL if the condition is neither true of all nor false of any."""
    values, function, body = _lambda_call("forall", arguments, scope)
    if body.type not in (BOOLEAN, VOID):
        raise UnspelledOperation("forall of what is no condition")
    tests = f"list_transform({values.text}, {function})"
    return DuckText(f"list_reduce({tests}, lambda x_, y_: (x_ AND y_), TRUE)", BOOLEAN)


def _some(arguments: list[Node], scope: NameScope) -> DuckText:
    """exists, of a list."""
    values, function, body = _lambda_call("exists", arguments, scope)
    if body.type not in (BOOLEAN, VOID):
        raise UnspelledOperation("exists of what is no condition")
    tests = f"list_transform({values.text}, {function})"
    return DuckText(f"list_reduce({tests}, lambda x_, y_: (x_ OR y_), FALSE)", BOOLEAN)


def _aggregate(arguments: list[Node], scope: NameScope) -> DuckText:
    """Elements of a list put together one by one, from a first value on."""
    if not 3 <= len(arguments) <= 4:
        raise UnspelledOperation("aggregate")
    values, first = spell(arguments[0], scope), spell(arguments[1], scope)
    function = arguments[2]
    if not isinstance(values.type, Array) or not isinstance(function, exp.Lambda):
        raise UnspelledOperation("aggregate")
    names = [one.name for one in function.expressions]
    inside = scope.binding(dict(zip(names, (first.type, values.type.element), strict=True)))
    body = cast_to(spell(function.this, inside), first.type, inside)
    shown = ", ".join(map(quoted, names))
    found = DuckText(f"list_reduce({values.text}, lambda {shown}: {body.text}, {first.text})", first.type)
    if len(arguments) < 4:
        return found
    (name,) = (one.name for one in arguments[3].expressions)
    end = spell(arguments[3].this, scope.binding({name: first.type}))
    text = f"list_extract(list_transform([{found.text}], lambda {quoted(name)}: {end.text}), 1)"
    return DuckText(f"CASE WHEN {values.text} IS NOT NULL THEN {text} END", end.type)


def _coalesce(arguments: list[Node], scope: NameScope) -> DuckText:
    """Of one call of xxhash64, it says that this is a query's own: see `scalar/spark/functions.py`."""
    first = arguments[0] if len(arguments) == 1 else None
    if isinstance(first, exp.Anonymous) and first.name.lower() == "xxhash64":
        return hashed("xxhash64", _all(list(first.expressions), scope), BIGINT, scope)
    return spelled_call("coalesce", _all(arguments, scope), scope)


def _arrays_zip(arguments: list[Node], scope: NameScope) -> DuckText:
    """Structs of the elements of each place; their fields have the names of columns, or are counted."""
    lists = [spell(one, scope) for one in arguments]
    names = [one.name if isinstance(one, exp.Column) else str(place) for place, one in enumerate(arguments)]
    place = unused("i", *(one.text for one in lists))
    fields = []
    for one in lists:
        if not isinstance(one.type, Array):
            raise UnspelledOperation("arrays_zip")
        fields.append(DuckText(f"list_extract({one.text}, {place})", one.type.element))
    packed = _packed(list(zip(names, fields, strict=True)))
    longest = f"greatest({', '.join(f'len({one.text})' for one in lists)})"
    missing = " OR ".join(f"{one.text} IS NULL" for one in lists)
    places = f"generate_series(1, CASE WHEN {missing} THEN NULL ELSE {longest} END)"
    return DuckText(f"list_transform({places}, lambda {place}: {packed.text})", Array(packed.type))


def _struct(arguments: list[Node], scope: NameScope) -> DuckText:
    named = []
    for place, one in enumerate(arguments, 1):
        name = _title(one, place)
        named.append((name, spell(one.unalias() if isinstance(one, exp.Alias) else one, scope)))
    return _packed(named)


def _named_struct(arguments: list[Node], scope: NameScope) -> DuckText:
    return _packed(_named_fields(arguments, scope))


def _named_fields(arguments: list[Node], scope: NameScope) -> list[tuple[str, DuckText]]:
    named = []
    if len(arguments) % 2:
        raise WrongQuery("NEEL2105", "named_struct takes pairs of a name and a value")
    for name, value in zip(arguments[::2], arguments[1::2], strict=True):
        known = spell(name, scope).value
        if not isinstance(known, str):
            raise UnspelledOperation("named_struct with a name that is not written down")
        named.append((known, spell(value, scope)))
    return named


def _to_variant_object(arguments: list[Node], scope: NameScope) -> DuckText:
    """Of the fields that a plan names, or of all columns. What users do with VARIANTs is Spark's."""
    (inner,) = arguments
    if scope.strict:
        raise UnspelledOperation("the function to_variant_object")
    if [type(one) for one in inner.expressions] == [exp.Star]:
        columns = ((name, type) for of in scope.columns.values() for name, type in of.items())
        return variant_object([(name, DuckText(quoted(name), type)) for name, type in columns], scope)
    return variant_object(_named_fields(inner.expressions, scope), scope)


def _title(node: Node, place: int) -> str:
    return str(node.alias_or_name) if isinstance(node, exp.Alias | exp.Column) else f"col{place}"


def _tuple(node: Node, scope: NameScope) -> DuckText:
    """(a, b) is a struct."""
    titles = [_title(one, place) for place, one in enumerate(node.expressions, 1)]
    return _packed(list(zip(titles, _all(node.expressions, scope), strict=True)))


def _packed(named: list[tuple[str, DuckText]]) -> DuckText:
    text = ", ".join(f"{quoted(name)} := {as_column(piece)}" for name, piece in named)
    return DuckText(f"struct_pack({text})", Struct(tuple(StructField(written(n), p.type) for n, p in named)))


def _count(arguments: list[Node], scope: NameScope) -> DuckText:
    if scope.strict and not arguments:
        raise WrongQuery("NEEL2105", "count takes an argument: count(*) counts rows")
    if arguments and isinstance(arguments[0], exp.Distinct) and not arguments[0].expressions:
        raise WrongQuery("NEEL2105", "count(DISTINCT x) takes an argument")
    if not arguments or isinstance(arguments[0], exp.Star):
        return aggregate_of(f"count(*){HERE}", BIGINT)
    if isinstance(arguments[0], exp.Distinct):
        pieces = _all(arguments[0].expressions, scope)
        values = pieces[0].text if len(pieces) == 1 else f"({', '.join(one.text for one in pieces)})"
        if len(pieces) > 1:
            every = " AND ".join(f"{one.text} IS NOT NULL" for one in pieces)
            values = f"CASE WHEN {every} THEN {values} END"
        return aggregate_of(f"count(DISTINCT {values}){HERE}", BIGINT)
    pieces = _all(arguments, scope)
    if len(pieces) > 1:
        every = " AND ".join(f"{one.text} IS NOT NULL" for one in pieces)
        return aggregate_of(f"count(CASE WHEN {every} THEN 1 END){HERE}", BIGINT)
    return aggregate_of(f"count({pieces[0].text}){HERE}", BIGINT)


def _if_call(arguments: list[Node], scope: NameScope) -> DuckText:
    return conditional([(arguments[0], arguments[1])], arguments[2], scope)


# Aggregates whose arguments are no values of rows, or have an order.


def _share(node: Node, scope: NameScope) -> DuckText | list[DuckText]:
    """Which percentile, or which ones."""
    inner = node.unnest()
    if isinstance(inner, exp.Anonymous) and inner.name.lower() == "array":
        return _all(inner.expressions, scope)
    column = next((one for one in inner.find_all(exp.Column) if not isinstance(one.this, exp.Star)), None)
    if column is not None:
        raise WrongQuery("NEEL2106", f"the share of a percentile is constant, not `{column.name}`", node=node)
    return spell(inner, scope)


def _percentile(arguments: list[Node], scope: NameScope) -> DuckText:
    distinct = bool(arguments) and isinstance(arguments[0], exp.Distinct)
    given = list(arguments[0].expressions) if distinct else arguments
    if not scope.strict:  # a plan gives the share with each row
        return AGGREGATES["percentile"](_all(given, scope), "", scope)
    if not 2 <= len(given) <= 3:
        raise WrongQuery(
            "NEEL2105", "percentile takes 2 or 3 arguments: the value, the share, how often it counts"
        )
    value, share, *frequency = given
    pieces = _all([value, *frequency], scope)
    return percentile("percentile", pieces, _share(share, scope), scope, "DISTINCT " * distinct)


def _mode(arguments: list[Node], scope: NameScope) -> DuckText:
    if not arguments or isinstance(arguments[0], exp.Distinct) or len(arguments) > 2:
        raise UnspelledOperation("mode of other arguments than a value and TRUE or FALSE")
    if len(arguments) == 2 and not isinstance(arguments[1], exp.Boolean):
        raise WrongQuery("NEEL2106", "the second argument of mode is TRUE or FALSE", node=arguments[1])
    return mode(spell(arguments[0], scope), scope, is_ordered=len(arguments) > 1 and bool(arguments[1].this))


def _listagg(arguments: list[Node], scope: NameScope, by: Sequence[Node] = ()) -> DuckText:
    distinct = bool(arguments) and isinstance(arguments[0], exp.Distinct)
    given = list(arguments[0].expressions) if distinct else arguments
    if not 1 <= len(given) <= 2:
        raise WrongQuery("NEEL2105", "listagg takes 1 or 2 arguments: the value and the separator")
    if distinct and [one.this for one in by] not in ([], [given[0]]):
        raise WrongQuery("NEEL2106", "listagg of DISTINCT values can be ordered by these only", node=by[0])
    order = f" ORDER BY {', '.join(ordering(one, scope) for one in by)}" if by else ""
    return joined(_all(given, scope), "DISTINCT " * distinct, order, scope)


def _within_group(node: Node, scope: NameScope) -> DuckText:
    """percentile_cont(0.5) WITHIN GROUP (ORDER BY x), and others."""
    call, by = node.this, node.expression.expressions
    name = call.name.lower() if isinstance(call, exp.Anonymous) else ""
    arguments = list(call.expressions)
    if name in ("listagg", "string_agg"):
        return _listagg(arguments, scope, by)
    counts = {"percentile_cont": 1, "percentile_disc": 1, "mode": 0}
    if name not in counts or any(isinstance(one, exp.Distinct) for one in arguments):
        raise UnspelledOperation(node.sql(dialect=SparkCalls)[:80])
    if len(arguments) != counts[name] or len(by) != 1:
        number = f"{counts[name]} argument{'s' if counts[name] != 1 else ''}"
        raise WrongQuery("NEEL2105", f"{name} takes {number}, and is ordered by one value", node=node)
    value, descends = spell(by[0].this, scope), bool(by[0].args.get("desc"))
    if name == "mode":
        return mode(value, scope, is_ordered=True, descends=descends)
    return percentile(name, [value], _share(arguments[0], scope), scope, descends=descends)


_ADDED = {"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 10**6, "MINUTE": 60 * 10**6, "HOUR": 3600 * 10**6}


_OF_CLOCK = {
    "DAY": (DAY, DAY_INTERVAL),
    "WEEK": (7 * DAY, DAY_INTERVAL),
    "MONTH": (1, YEAR_INTERVAL),
    "QUARTER": (3, YEAR_INTERVAL),
    "YEAR": (12, YEAR_INTERVAL),
}
"""Units that the clock of the session counts."""


def _added(arguments: list[Node], scope: NameScope) -> DuckText:
    """timestampadd(unit, number, time)."""
    unit, count, moment = arguments
    name, time = unit.name.upper(), spell(moment, scope)
    if time.type in (DATE, STRING):
        time = cast_to(time, TIMESTAMP, scope)
    if name in _OF_CLOCK:
        size, kind = _OF_CLOCK[name]
        number_of = arithmetic("*", cast_to(spell(count, scope), BIGINT, scope), number(size, BIGINT), scope)
        span = number_of if kind == DAY_INTERVAL else cast_to(number_of, INT, scope)
        return arithmetic("+", time, DuckText(span.text, kind), scope)
    length = _ADDED.get(name)
    if length is None:
        raise UnspelledOperation(f"timestampadd of {unit.name}")
    if time.type not in (TIMESTAMP, TIMESTAMP_NTZ):
        raise UnspelledOperation(f"timestampadd to {time.type}")
    make = "make_timestamptz" if time.type == TIMESTAMP else "make_timestamp"
    span = DuckText(f"({cast_to(spell(count, scope), BIGINT, scope).text} * {length})", BIGINT)
    text = safely(lambda x, y: f"{make}(epoch_us({x.text}) + {y.text})", time, span, scope=scope)
    return DuckText(text, time.type)


def _counted(arguments: list[Node], scope: NameScope) -> DuckText:
    """timestampdiff(unit, time, time)."""
    unit, *moments = arguments
    pieces = [spell(one, scope) for one in moments]
    if len({one.type for one in pieces}) > 1 or pieces[0].type in (DATE, STRING):
        pieces = [cast_to(one, TIMESTAMP, scope) for one in pieces]
    if len(pieces) != 2 or len({one.type for one in pieces} | {TIMESTAMP, TIMESTAMP_NTZ}) > 2:
        raise UnspelledOperation("timestampdiff")
    return evaluated("timestampdiff", [text_constant(unit.name.upper()), *pieces], BIGINT, scope)


CONVERTED = (BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, DATE, TIMESTAMP)


def _converted(target: DataType) -> Callable[[list[Node], NameScope], DuckText]:
    """The name of a type as a function is a cast."""
    return lambda arguments, scope: cast_to(spell(arguments[0], scope), target, scope)


CAST_CALLS = (*(type.name.lower() for type in CONVERTED), "binary", "decimal")
"""The names of types as functions."""

SPECIAL: dict[str, Callable[[list[Node], NameScope], DuckText]] = {
    **{type.name.lower(): _converted(type) for type in CONVERTED},
    "aggregate": _aggregate,
    "reduce": _aggregate,
    "arrays_zip": _arrays_zip,
    "coalesce": _coalesce,
    "count": _count,
    "exists": _some,
    "filter": _filter,
    "flatten": _flatten,
    "forall": _every,
    "from_json": _from_json,
    "if": _if_call,
    "listagg": _listagg,
    "mode": _mode,
    "named_struct": _named_struct,
    "percentile": _percentile,
    "string_agg": _listagg,
    "struct": _struct,
    "timestampadd": _added,
    "timestampdiff": _counted,
    "to_variant_object": _to_variant_object,
    "transform": _transform,
}


# Windows.


def _window(node: Node, scope: NameScope) -> DuckText:
    inner, ignored = node.this, []
    if isinstance(inner, exp.IgnoreNulls | exp.RespectNulls):
        inner, ignored = inner.this, [truth(isinstance(inner, exp.IgnoreNulls))]
    name = inner.name.lower() if isinstance(inner, exp.Anonymous) else ""
    if name in OF_WINDOWS:
        check_count(name, len(inner.expressions), inner)
    if ignored and name in ("lag", "lead"):
        name = f"{name} ignoring nulls" if ignored[0].value else name
        function = OF_WINDOWS[name](_all(inner.expressions, scope), "", scope)
    elif name in OF_WINDOWS and not (ignored and name not in IGNORING):
        function = OF_WINDOWS[name]([*_all(inner.expressions, scope), *ignored], "", scope)
    elif ignored:
        raise UnspelledOperation(node.this.sql(dialect=SparkCalls)[:80])
    else:
        function = spell(inner, scope)
    parts, of = [], _window_parts(node, scope)
    _check_window(node, inner, of)
    if of.get("partition_by"):
        parts.append("PARTITION BY " + ", ".join(one.text for one in _all(of["partition_by"], scope)))
    if of.get("order") is not None:
        parts.append("ORDER BY " + ", ".join(ordering(one, scope) for one in of["order"].expressions))
    if of.get("spec") is not None:
        parts.append(of["spec"].sql(dialect="duckdb"))
    if any("error(" in one for one in parts):  # DuckDB's windows are made of what is the same each time
        raise UnspelledOperation("a window that is made of what can fail", node)
    return function.followed(f"OVER ({' '.join(parts)})")


def _check_window(node: Node, inner: Node, of: Mapping[str, Any]) -> None:
    """What Spark refuses, though DuckDB computes it."""
    called = inner.find(exp.Anonymous)
    name = "" if called is None else called.name.lower()
    if name in UNORDERED and (of.get("order") or of.get("spec")):
        raise WrongQuery("NEEL2106", f"a window of {name} has no order and no frame", node=node)
    if name in ORDERED and of.get("order") is None:
        raise WrongQuery("NEEL2106", f"a window of {name} needs ORDER BY", node=node)
    if called is not None and any(isinstance(one, exp.Distinct) for one in called.expressions):
        raise WrongQuery("NEEL2106", "DISTINCT in a window", node=node)


ORDERED = frozenset("cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number".split())
"""Functions whose values depend on an order."""


IGNORING = ("first", "first_value", "last", "last_value", "nth_value")


UNORDERED = ("median", "percentile_cont", "percentile_disc")


def _window_parts(node: Node, scope: NameScope) -> dict[str, Any]:
    """What a window is made of, which WINDOW may say by a name."""
    own = {word: node.args.get(word) for word in ("partition_by", "order", "spec")}
    if not node.alias:
        return own
    base = scope.windows.get(node.alias.lower())
    if base is None:
        known = f"windows: {', '.join(scope.windows)}" if scope.windows else None
        raise WrongQuery("NEEL2003", f"unknown window `{node.alias}`", known, node.args["alias"])
    return {word: value or _window_parts(base, scope)[word] for word, value in own.items()}


def ordering(node: Node, scope: NameScope) -> str:
    """What to sort by. Spark has NULL first, or last if the order descends."""
    inner = node.this if isinstance(node, exp.Ordered) else node
    return directed(spell(inner, scope), node)


def directed(piece: DuckText, node: Node) -> str:
    """What to sort by, in the direction that a node says."""
    descends = isinstance(node, exp.Ordered) and bool(node.args.get("desc"))
    first = not descends
    if isinstance(node, exp.Ordered) and node.args.get("nulls_first") is not None:
        first = bool(node.args["nulls_first"])
    direction = f"{'DESC' if descends else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"
    return f"{sortable(piece)} {direction}"


SPELLINGS: dict[type, Spell] = {
    exp.Column: _column,
    exp.Identifier: lambda node, scope: _column(exp.Column(this=node), scope),
    exp.Literal: _literal,
    exp.RawString: lambda node, scope: text_constant(str(node.this)),
    exp.Concat: _adjacent,
    exp.Null: lambda node, scope: DuckText(NULL, VOID),
    exp.Boolean: lambda node, scope: truth(bool(node.this)),
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Paren: _paren,
    exp.Not: _not,
    exp.Neg: _negative,
    exp.And: _joined("AND"),
    exp.Or: _joined("OR"),
    exp.EQ: _compared("="),
    exp.NEQ: _compared("<>"),
    exp.LT: _compared("<"),
    exp.LTE: _compared("<="),
    exp.GT: _compared(">"),
    exp.GTE: _compared(">="),
    exp.NullSafeEQ: _compared("IS NOT DISTINCT FROM"),
    exp.NullSafeNEQ: _compared("IS DISTINCT FROM"),
    exp.Is: _is,
    exp.Add: _infix("+"),
    exp.Sub: _infix("-"),
    exp.Mul: _infix("*"),
    exp.Div: _infix("/"),
    exp.IntDiv: _infix("DIV"),
    exp.Mod: _infix("%"),
    exp.DPipe: _infix("||"),
    exp.BitwiseAnd: _infix("&"),
    exp.BitwiseOr: _infix("|"),
    exp.BitwiseXor: _infix("^"),
    exp.BitwiseLeftShift: lambda node, scope: spelled_call(
        "shiftleft", _all([node.this, node.expression], scope), scope
    ),
    exp.BitwiseRightShift: lambda node, scope: spelled_call(
        "shiftright", _all([node.this, node.expression], scope), scope
    ),
    UnsignedRightShift: lambda node, scope: spelled_call(
        "shiftrightunsigned", _all([node.this, node.expression], scope), scope
    ),
    exp.BitwiseNot: lambda node, scope: spelled_call("~", [spell(node.this, scope)], scope),
    exp.If: _if,
    exp.Case: _case,
    exp.Between: _between,
    exp.In: _in,
    exp.Bracket: _bracket,
    exp.Dot: _dot,
    exp.Anonymous: _call,
    exp.Any: lambda node, scope: AGGREGATES["any"]([spell(node.this, scope)], "", scope),
    exp.Extract: _extract,
    exp.Like: _like("like"),
    exp.ILike: _like("ilike"),
    exp.RegexpLike: _like("rlike"),
    exp.Escape: _escape,
    exp.Interval: _interval,
    exp.HexString: _binary,
    exp.StrPosition: _position,
    exp.Window: _window,
    exp.Subquery: _scalar_query,
    exp.Select: _scalar_query,
    exp.Exists: _exists,
    exp.CurrentDate: lambda node, scope: spelled_call("current_date", [], scope),
    exp.CurrentTimestamp: lambda node, scope: spelled_call("current_timestamp", [], scope),
    exp.Placeholder: _parameter,
    exp.Parameter: _parameter,
    exp.Filter: _filtered,
    exp.IgnoreNulls: _ignoring,
    exp.RespectNulls: _ignoring,
    exp.Tuple: _tuple,
    exp.WithinGroup: _within_group,
}
