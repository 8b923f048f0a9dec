"""What workers make of single values, against the reference: every function and operator of the language, on
ordinary values, on NULL and on the odd ones, in several time zones."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from random import Random

import pytest
from expressions import COLUMNS, ROWS, check
from test_evaluate import EXPRESSIONS, TABLE, extreme

from neelc.ir import expressions as e
from neelc.ir.node import walk
from neelc.rows.plan.expression_to_value import expression_to_value
from neelc.runtime.program import Apply, Value
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent
from neelc.runtime.values.operations import OPERATIONS, compiled
from neelc.runtime.values.times import UTC, Months, in_zone
from neelc.scalar.functions import PARSERS
from neelc.scalar.signatures import SCALAR_SIGNATURES, Signature
from neelc.scalar.type_of import is_zoned

ZONES = ("UTC", "Europe/Berlin", "America/St_Johns", "+05:45")

NAMES = tuple(COLUMNS)

Row = Mapping[str, object]


GROWING = ("array_insert", "array_repeat", "lpad", "repeat", "rpad", "sequence", "space")


def differences(expression: e.Expr, rows: list[Row]) -> list[object]:
    """The rows for which a worker has another value than the reference."""
    single = compiled(expression_to_value(expression), lambda column: NAMES.index(column.name))
    grows = any(isinstance(node, e.Call) and node.name in GROWING for node in walk(expression))
    wrong: list[object] = []
    for row in map(short, rows) if grows else rows:
        event = ReferenceEvent("S", 0, "A", 0, 0, row, (0, 0))
        expected = evaluate(expression, EvaluationContext({"a": event}))
        found = single([row[name] for name in NAMES])
        if repr(found) != repr(expected):
            wrong.append((str(expression), row, found, expected))
    return wrong


def short(row: Row) -> Row:
    """Without the numbers that ask for texts of gigabytes."""
    numbers = (float, int, decimal.Decimal)
    large = {name for name, value in row.items() if isinstance(value, numbers) and not -100 < value < 100}
    return {name: 7 if name in large else value for name, value in row.items()}


TEXTS = (
    "", "a", "abc", "%_\\", "Grüße", "ﬁ😀\ud7ff", "İi", " 12 ", "-7", "1e3", "nan", "true", "2020-02-29",
    "b|c", "(", "2020-03-29 02:30:00", "INTERVAL '1 00:00:00' DAY TO SECOND", "1-2", "day", "SECOND", "$1",
    "x" * 40,
)  # fmt: skip
TIMES = (
    datetime.datetime(1, 1, 1),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime.datetime(2024, 3, 31, 1, 30),
    datetime.datetime(2024, 10, 27, 0, 30),
    datetime.datetime(2024, 10, 27, 1, 30, 0, 1),
    datetime.datetime(9999, 12, 31, 23, 59, 59),
)


def whole(bits: int) -> Callable[[Random], object]:
    limit = 1 << (bits - 1)
    odd = (-limit, limit - 1, -1, 0, 1, 2, 7, limit // 2)
    return lambda chance: chance.choice((*odd, chance.randrange(-limit, limit)))


def real(chance: Random) -> object:
    odd = (math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, -2.5, 2.0**63, 1e-310)
    return chance.choice((*odd, chance.uniform(-100, 100)))


VALUES: dict[str, Callable[[Random], object]] = {
    "y": whole(8),
    "h": whole(16),
    "i": whole(32),
    "l": whole(64),
    "f": lambda chance: chance.choice((math.nan, -math.inf, 0.0, -0.0, 1.5, -0.10000000149011612)),
    "d": real,
    "c": lambda chance: decimal.Decimal(chance.choice((0, 5, -5, 10**10 - 1, 1234567))).scaleb(-2),
    "s": lambda chance: chance.choice(TEXTS),
    "n": lambda chance: str(chance.choice((0, -7, 42, 10**12, 0.5, -1e300))),
    "o": lambda chance: chance.random() < 0.5,
    "dt": lambda chance: chance.choice(TIMES).date(),
    "ts": lambda chance: chance.choice(TIMES).replace(tzinfo=UTC),
    "ntz": lambda chance: chance.choice(TIMES),
    "bin": lambda chance: chance.choice((b"", b"ab", b"\xff\0", b"abc")),
    "arr": lambda chance: [chance.choice((None, 0, 1, -1, 2**31 - 1)) for _ in range(chance.randrange(4))],
    "m": lambda chance: dict.fromkeys(chance.sample(("", "k", "a"), chance.randrange(3)), 1),
    "st": lambda chance: {"x": chance.choice((None, 1)), "y": chance.choice((None, "z"))},
    "ds": lambda chance: datetime.timedelta(microseconds=chance.choice((0, 1, -1, 2**63 - 1, 10**11))),
    "ym": lambda chance: Months(chance.choice((0, 1, -14, 2**31 - 1, -(2**31)))),
}  # fmt: skip


def random_rows(chance: Random, count: int) -> list[Row]:
    return [
        {name: None if chance.random() < 0.1 else VALUES[name](chance) for name in NAMES}
        for _ in range(count)
    ]


def everywhere(expressions: list[e.Expr], rows: list[Row]) -> list[object]:
    wrong: list[object] = []
    for expression in expressions:
        for zone in ZONES if is_zoned(expression) else ZONES[1:2]:
            with in_zone(zone):
                wrong += differences(expression, rows)
    return wrong


def of_one_event(texts: Iterable[str]) -> Iterator[e.Expr]:
    """Those that can be typed and are about `a` alone, without its times."""
    about_more = (
        *(e.EveryElement, e.ListElement, e.EventTime, e.WholeEvent, e.MatchProperty, e.Aggregate),
        e.Lambda,  # workers have none
    )
    for checked in map(check, texts):
        if not checked.reports and not any(isinstance(node, about_more) for node in walk(checked.expression)):
            yield checked.expression


def test_the_expressions_that_spark_has_agreed_on() -> None:
    written = [line.split("  ")[0] for line in TABLE.strip().splitlines()]
    texts = [text for text in (*EXPRESSIONS, *written) if text[0] not in "#?@"]
    expressions = list(of_one_event(texts))
    assert len(expressions) > 600
    odd = [extreme(1).attributes, extreme(-1).attributes]
    assert everywhere(expressions, [*ROWS, *odd, *random_rows(Random(1), 10)]) == []


# Literals that functions are likely to take besides values of columns.
LITERALS = (
    "NULL",
    "0",
    "1",
    "-2",
    "3",
    "0.5",
    "'a'",
    "'day'",
    "''",
    "TIMESTAMP '2024-10-27 02:30:00'",
    "DATE '2024-02-29'",
    "'utf-8'",
    "'$.a'",
    "array(1, NULL)",
    "array(array(1, NULL), a.arr)",
    "array(struct('k', 2), struct('', 1))",
)


DOCUMENTS = ("a.s", "a.n", "to_json(a.arr)", "to_json(a.m)", "to_json(a.st)")


def calls(signature: Signature, chance: Random) -> Iterator[str]:
    """Calls with arguments of all types."""
    least, most = len(signature.required), len(signature.required) + len(signature.optional)
    arguments = [f"a.{name}" for name in NAMES]
    for _ in range(1000):
        count = chance.randint(least, most + 2 * signature.repeats)
        given = [chance.choice(arguments if chance.random() < 0.8 else LITERALS) for _ in range(count)]
        if signature.name == "named_struct":
            given = [part for place, one in enumerate(given) for part in (f"'f{place}'", one)]
        if "geometries" in signature.required:
            given[0] = f"array({given[0]}, a.s, 'POINT (1 2)')"
        if "unit" in signature.required:
            given[0] = chance.choice(("MONTH", "DAY", "SECOND"))
        if "schema" in signature.required:
            given[-1] = chance.choice(("'ARRAY<STRING>'", "'MAP<STRING, DOUBLE>'", "'x INT, y STRING'"))
        if "path" in signature.required[1:] and "variant" in signature.name:
            given[1] = chance.choice(("'$'", "'$.a'", "'$[1]'"))
        if "variant" in signature.name:
            given[0] = f"parse_json({chance.choice(DOCUMENTS)})"
        call = f"{signature.name}({', '.join(given)})"
        yield f"to_json({call})" if signature.name in PARSERS else call


@pytest.mark.parametrize("name", SCALAR_SIGNATURES)
def test_functions(name: str) -> None:
    chance = Random(name)
    expressions = list(islice(of_one_event(calls(SCALAR_SIGNATURES[name], chance)), 12))
    assert expressions, "no call has a type"
    assert everywhere(expressions, random_rows(chance, 15)) == []


FORMS = (
    *(f"{{0}} {op} {{1}}" for op in (*e.ARITHMETIC, *e.BITWISE, *e.COMPARISONS, "||")),
    "- {0}", "+ {0}", "~ {0}", "{0} BETWEEN {1} AND {2}", "{0} NOT BETWEEN {1} AND {2}", "{0} IN ({1}, {2})",
    "{0} NOT IN ({1}, {2})", "{0} LIKE {1}", "{0} NOT ILIKE {1}", "{0} RLIKE {1}", "{0} LIKE {1} ESCAPE '!'",
    "{0} IS NULL", "{0} IS NOT NULL", "{0} IS DISTINCT FROM {1}", "{0} IS NOT DISTINCT FROM {1}",
    "({0} < {1}) IS TRUE", "({0} < {1}) IS NOT FALSE", "({0} = {1}) IS UNKNOWN", "NOT ({0} = {1})",
    "{0} < {1} AND {1} < {2}", "{0} < {1} OR {1} < {2}", "CASE WHEN {0} < {1} THEN {1} ELSE {2} END",
    "CASE {0} WHEN {1} THEN {2} WHEN {2} THEN {1} END", "a.arr[{0}]", "a.m[{0}]", "a.st.x + {0}",
    *(f"EXTRACT({field} FROM {{0}})" for field in ("YEAR", "WEEK", "DOW", "DOY", "HOUR", "SECONDS", "MONTH")),
    *(f"CAST({{0}} AS {type})" for type in (
        "TINYINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5, 1)", "DECIMAL(38, 18)", "STRING",
        "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "BINARY", "ARRAY<STRING>", "MAP<STRING, STRING>",
        "INTERVAL DAY TO SECOND", "INTERVAL YEAR TO MONTH",
    )),
    "CAST(array({0}, {1}) AS STRING)", "CAST(struct({0}, {1}) AS STRING)",
    "array({0}, {1}) < array({1}, {2})",
    "{0} + INTERVAL '1' MONTH", "{0} - INTERVAL '1 02:00:00.5' DAY TO SECOND", "{0} * INTERVAL '-3' DAY",
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_operators(form: str) -> None:
    chance = Random(form)
    arguments = [f"a.{name}" for name in NAMES]
    triples = [chance.choices((*arguments, *LITERALS), k=3) for _ in range(100)]
    triples += [[name] * 3 for name in arguments]
    chance.shuffle(triples)
    expressions = list(islice(of_one_event(form.format(*three) for three in triples), 15))
    assert expressions, "nothing of this form has a type"
    assert everywhere(expressions, random_rows(chance, 15)) == []


def applied(value: Value) -> Iterator[str]:
    if isinstance(value, Apply):
        yield value.operation
        for operand in value.operands:
            yield from applied(operand)


def test_every_operation_is_compared() -> None:
    """What the table has, some expression above asks for; `agrees` only kernels do, and times are numbers
    only between queries that one operator runs."""
    texts = [form.format(*(name,) * 3) for form in FORMS for name in ("a.i", "a.s", "a.ts")]
    found = {name for one in of_one_event(texts) for name in applied(expression_to_value(one))}
    assert set(OPERATIONS) - found - set(SCALAR_SIGNATURES) == {"agrees", "time_of", "number_of"}
