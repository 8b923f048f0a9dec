"""What is spelled for DuckDB has the type and the value of the reference, whatever the session's zone is."""

from __future__ import annotations

from functools import lru_cache
from random import Random

import pytest
from expressions import ROWS, check, context
from generate.typed import typed_expressions
from in_duckdb import DuckRows, ExpectedValues, differences, events, expected, references
from like_spark import AGGREGATES, AGREED, FAILING, GROUPED, NAMES, TEXTS, over_rows, same

from neelc.engines.spark.results import MatchLayout, over_match
from neelc.ir import expressions as e
from neelc.ir import types as t
from neelc.ir.names import written
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.values.times import in_zone
from neelc.runtime.values.types import cast
from neelc.scalar.duckdb.pieces import NameScope, UnspelledOperation
from neelc.scalar.duckdb.spelling import spelled
from neelc.scalar.spark.expressions import identifier, literal, sql
from neelc.scalar.spark.expressions import spark_type as ddl
from neelc.scalar.type_of import type_of, value_type

CORPUS = [text for text, _ in AGREED] + FAILING
SESSIONS = [("UTC", False), ("America/New_York", False), ("UTC", True), ("America/New_York", True)]
in_sessions = pytest.mark.parametrize(("zone", "is_told"), SESSIONS)


# Where the reference has not Spark's value, and DuckDB has.
@lru_cache
def of_corpus(zone: str) -> list[ExpectedValues]:
    return [expected(check(text).expression, zone) for text in CORPUS]


@pytest.mark.long
@in_sessions
def test_expressions_have_the_values_of_the_reference(zone: str, is_told: bool) -> None:
    assert differences(events(zone, is_told), of_corpus(zone)) == []


@pytest.mark.parametrize("seed", range(2))
def test_random_expressions_have_the_values_of_the_reference(seed: int) -> None:
    zone, is_told = SESSIONS[seed]
    wanted = [expected(one, zone) for one in typed_expressions(seed, 150)]
    assert differences(events(zone, is_told), wanted) == []


def test_rounding_and_angles_know_no_negative_zero() -> None:
    """Equal values are not told apart above, and -0.0 is equal to 0.0."""
    rows = DuckRows({"d": t.DOUBLE, "f": t.FLOAT}, [{"d": -0.4, "f": -0.04}, {"d": -0.0, "f": -0.0}])
    texts = ["round(d)", "round(d, 0)", "bround(d)", "round(f, 1)", "round(f)", "atan2(d * 0D, 1D)"]
    pieces = [rows.spelled(text) for text in texts]
    assert [str(value) for column in rows.values(pieces) for value in column] == ["0.0"] * 2 * len(texts)


# Aggregates: over the elements of a list, and over rows.

LAYOUT = MatchLayout("SECOND", str.lower, lambda reference, _: field_of(reference), lambda _, name: name)


def field_of(reference: e.Expr) -> str:
    assert isinstance(reference, e.Attribute | e.EventTime)
    return reference.name


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_aggregates_over_lists_have_the_values_of_the_reference(zone: str) -> None:
    rows = events(zone)
    wanted = []
    for text, _ in AGGREGATES:
        expression = check(text).expression
        with in_zone(zone):
            value = evaluate(expression, context())
        written = over_match(expression, LAYOUT, lambda _: None)
        wanted.append(ExpectedValues(text, written, type_of(expression), [value] * len(rows.rows)))
    assert differences(rows, wanted) == []


def test_aggregates_over_rows_have_the_values_of_the_reference() -> None:
    rows = DuckRows(events("UTC").types, events("UTC").rows[: len(ROWS)])
    expressions = [check(text).expression for text in GROUPED]
    pieces = [rows.spelled(sql(over_rows(one), references)) for one in expressions]
    for expression, piece, (theirs, *_) in zip(expressions, pieces, rows.values(pieces), strict=True):
        assert piece.type == type_of(expression), piece.text
        ours = evaluate(expression, context())
        if "collect_set" in str(expression):
            ours, theirs = sorted(ours), sorted(theirs)  # type: ignore[call-overload]
        assert same(ours, theirs), f"{expression} is {ours!r}, but {piece.text} is {theirs!r}"


# Texts and names of any characters.


def test_whatever_a_string_holds_stays_in_it() -> None:
    rows = DuckRows({"x": t.INT}, [{"x": 1}])
    literals = [e.Literal(text, t.STRING) for text in TEXTS] + [
        e.Literal(b.encode(), t.BINARY) for b in TEXTS
    ]
    pieces = [rows.spelled(literal(one.value, one.type)) for one in literals]
    assert [value for (value,) in rows.values(pieces)] == [one.value for one in literals]
    likes = [e.Like(e.Literal(text, t.STRING), e.Literal(text, t.STRING)) for text in TEXTS]
    wanted = [
        ExpectedValues(str(one), sql(one, references), t.BOOLEAN, [evaluate(one, context())]) for one in likes
    ]
    assert differences(rows, wanted) == []


KEYWORDS = (
    "select from where end order group date timestamp interval case left array struct map table values null"
)


def test_any_name_is_one_column_and_one_field() -> None:
    names = [*NAMES, *KEYWORDS.split()]
    struct = t.Struct(tuple(t.StructField(written(name), t.INT) for name in names))
    types = {**dict.fromkeys(names, t.INT), "r": struct, "rs": t.Array(struct)}
    numbers = {name: place for place, name in enumerate(names)}
    rows = DuckRows(types, [{**numbers, "r": numbers, "rs": [numbers, numbers]}])
    columns = [rows.spelled(identifier(name)) for name in names]
    assert rows.values(columns) == [[place] for place in range(len(names))]
    for variable in ("r", "rs"):
        whole = e.Attribute(e.Variable("x"), variable, types[variable])
        fields = (e.Field(whole, written(name), t.INT) for name in names)
        texts = [
            sql(one, lambda node: node.name if isinstance(node, e.Attribute) else None) for one in fields
        ]
        found = [value for (value,) in rows.values([rows.spelled(text) for text in texts])]
        assert found == [place if variable == "r" else [place] * 2 for place in range(len(names))]
    packed = ", ".join(f"{literal(name, t.STRING)}, {place}" for place, name in enumerate(names))
    made = rows.spelled(f"CAST(named_struct({packed}) AS {ddl(struct)})")
    assert made.type == struct
    assert rows.values([made]) == [[numbers]]


def test_quotes_may_be_given_by_their_codes() -> None:
    assert spelled("concat('it', char(39), 's')", NameScope({})).value == "it's"


# Constants: DuckDB compares what it reads with them before it reads all of it.


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("TIMESTAMP '2020-01-31 10:00:00Z'", "make_timestamptz(1580464800000000)"),
        ("CAST('2020-01-31 12:00:00+02:00' AS TIMESTAMP)", "make_timestamptz(1580464800000000)"),
        ("DATE '2020-1-31'", "DATE '2020-01-31'"),
        ("TIMESTAMP_NTZ '2020-01-31 10:00:00'", "TIMESTAMP '2020-01-31 10:00:00'"),
        ("try_cast('x' AS DATE)", "CAST(NULL AS DATE)"),
        ("INTERVAL '90' MINUTE", "CAST(5400000000 AS BIGINT)"),
        ("- 5L", "CAST(-5 AS BIGINT)"),
    ],
)
def test_constants_are_constants(text: str, found: str) -> None:
    assert spelled(text, NameScope({})).text == found


def test_a_zone_that_is_known_makes_constants_of_clocks() -> None:
    text = "TIMESTAMP '2020-01-31 12:00:00'"
    assert spelled(text, NameScope({}, zone="+02:00")).text == "make_timestamptz(1580464800000000)"
    assert "make_timestamptz(1580464800000000)" not in spelled(text, NameScope({})).text


# Texts of values: the common forms are read by DuckDB, all others by the runtime.

ZONED = [
    "", "", "", "Z", "+02:00", "-05:30", "+17:59", "+18:00", "-18:30", " UTC", "+2", "Europe/Berlin", "z",
]  # fmt: skip
DAYS = [
    "2024-05-01", "2024-03-31", "2024-03-10", "2024-11-03", "2024-02-30", "1970-01-01", "1000-01-01",
    "8999-12-31", "9999-12-31", "0999-01-01", "2024-5-1", "2024-13-01", "2024-05", "+2024-05-01",
    "-2024-05-01", "2024/05/01",
]  # fmt: skip
CLOCKS = [
    "", " 10:00:00", "T10:00:00", " 02:30:00", " 01:30:00.5", " 10:00", "T23:59", " 24:00:00",
    " 10:00:60", " 9:00:00", " 10", " 10:00:00.123456", " 10:00:00.1234567", " 10:00:00.", "  10:00:00",
    " 10:00:0",
]  # fmt: skip
NUMBERS = [
    "0", "-7", "+7", "007", "1.5", ".5", "1.", "1e3", "-0", "9" * 18, "9" * 19, "2147483648", "NaN", "x",
    "1_0",
]  # fmt: skip
BLANKS = ["", "", "", " ", "  ", "\t", "\n", "\u00a0"]


def written_values(seed: int) -> list[str]:
    chance = Random(seed)
    times = [chance.choice(DAYS) + chance.choice(CLOCKS) + chance.choice(ZONED) for _ in range(3000)]
    return [chance.choice(BLANKS) + text + chance.choice(BLANKS) for text in (*times, *NUMBERS, *NUMBERS)]


@pytest.mark.parametrize("zone", ["UTC", "Etc/GMT-2", "America/New_York", "Europe/Berlin"])
def test_texts_are_read_as_the_runtime_reads_them(zone: str) -> None:
    texts = written_values(len(zone))
    rows = DuckRows({"s": t.STRING}, [{"s": text} for text in texts], zone, is_told=True)
    for type in (t.TIMESTAMP, t.TIMESTAMP_NTZ, t.DATE, t.INT, t.BIGINT, t.DOUBLE, t.Decimal(9, 2)):
        plain, trimmed = (rows.spelled(f"try_cast({text} AS {type})") for text in ("s", "trim(s)"))
        found = rows.values([plain, trimmed])
        with in_zone(zone):
            own = [
                [cast(one, "string", value_type(type)) for one in (text, text.strip(" "))] for text in texts
            ]
        for text, *several, wanted in zip(texts, *found, own, strict=True):
            assert all(map(same, several, wanted)), f"{text!r} as {type}: {several} instead of {wanted}"


# What is not spelled is named.


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nonsense(x)", "the function nonsense"),
        ("y + 1", "the column y"),
        ("x.z", "INT has no field `z`"),
        ("from_json(s, 'a INT')", "the function from_json"),
        ("x = ARRAY(1)", "INT and ARRAY<INT> cannot be compared"),
        ("row_number()", "ROW_NUMBER()"),
    ],
)
def test_what_is_not_spelled_has_a_name(text: str, problem: str) -> None:
    with pytest.raises(UnspelledOperation, match=problem.replace("(", "\\(").replace(")", "\\)")):
        spelled(text, NameScope({"": {"x": t.INT, "s": t.STRING}}))


def test_from_json_is_for_users_and_for_cells_of_files() -> None:
    """A user's has the parts of a value that fit; a cell that does not fit is NULL, and the plan fails."""
    columns = {"": {"s": t.STRING}}
    for strict in (False, True):
        found = spelled("from_json(s, 'ARRAY<INT>')", NameScope(columns, strict=strict))
        assert found.type == t.Array(t.INT)
    with pytest.raises(UnspelledOperation, match="from_json of 3 arguments"):
        spelled("from_json(s, 'ARRAY<INT>', map('mode', 'FAILFAST'))", NameScope(columns, strict=True))
