"""What the type checker writes into an expression, and what it says of one that is wrong."""

from __future__ import annotations

import pytest
from expressions import check

from neelc.ir import expressions as e
from neelc.ir.node import transform
from neelc.ir.types import INT, Array
from neelc.runtime.reference.aggregates import AGGREGATES
from neelc.runtime.values.functions import ABOUT_NULL, FUNCTIONS, OF_TYPE, STRUCTS
from neelc.scalar.rewritten import REWRITTEN
from neelc.scalar.signatures import (
    AGGREGATE_SIGNATURES,
    READ_AS,
    ROW_AGGREGATE_SIGNATURES,
    SCALAR_SIGNATURES,
)
from neelc.scalar.typing import type_of, typed_condition
from neelc.syntax import expression


def explicit(text: str) -> str:
    """The expression with its implicit casts written out."""

    def change(node: object) -> e.Expr | None:
        if isinstance(node, e.Cast) and node.implicit:
            return e.Cast(node.operand, node.type)
        return None

    return str(transform(check(text).expression, change))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.i + a.i", "a.i + a.i"),
        ("a.i + a.l", "CAST(a.i AS BIGINT) + a.l"),
        ("a.i / 2", "CAST(a.i AS DOUBLE) / CAST(2 AS DOUBLE)"),
        ("a.c + 1", "a.c + CAST(1 AS DECIMAL(1, 0))"),
        ("a.c + a.i", "a.c + CAST(a.i AS DECIMAL(10, 0))"),
        ("a.n < 6", "CAST(a.n AS BIGINT) < CAST(6 AS BIGINT)"),
        ("a.dt = '2020-01-01'", "a.dt = CAST('2020-01-01' AS DATE)"),
        ("a.dt + INTERVAL '1' HOUR", "CAST(a.dt AS TIMESTAMP) + INTERVAL '1' HOUR"),
        ("a.dt + INTERVAL '1' DAY", "a.dt + INTERVAL '1' DAY"),
        ("a.i IN (1, 2L)", "CAST(a.i AS BIGINT) IN (CAST(1 AS BIGINT), 2L)"),
        ("a.i BETWEEN 1 AND 2", "a.i BETWEEN 1 AND 2"),
        # The two comparisons have different types, so they are written out.
        (
            "a.i BETWEEN '0' AND 2",
            "CAST(a.i AS BIGINT) >= CAST('0' AS BIGINT) AND a.i <= 2",
        ),
        (
            "CASE a.i WHEN 1 THEN 1 ELSE a.f END",
            "CASE a.i WHEN 1 THEN CAST(1 AS DOUBLE) ELSE CAST(a.f AS DOUBLE) END",
        ),
        ("nullif(a.i, 2L)", "CASE WHEN CAST(a.i AS BIGINT) = 2L THEN CAST(NULL AS INT) ELSE a.i END"),
        ("substring(a.i, '2')", "substring(CAST(a.i AS STRING), CAST('2' AS INT))"),
        ("SUM(b[].n)", "sum(CAST(b[].n AS DOUBLE))"),
        ("a.o AND NULL", "a.o AND CAST(NULL AS BOOLEAN)"),
    ],
)
def test_casts_are_written_out(text: str, expected: str) -> None:
    assert explicit(text) == expected


SEVERAL = """
a.i + a.c * 2
b[].i
CASE WHEN a.o THEN a.i ELSE a.l END
a.ts - a.ts
~ a.i
EXTRACT(SECOND FROM a.ts)
sum(b[].c)
a.m['k']
a.i = 1 OR a.o
INTERVAL '1' MONTH
if(a.o, a.dt, a.ts)
size(b[].s)
"""


@pytest.mark.parametrize("text", SEVERAL.strip().splitlines())
def test_the_type_can_be_read_off_again(text: str) -> None:
    checked = check(text)
    assert type_of(checked.expression) == checked.type


def test_a_list_is_an_array_but_for_aggregates() -> None:
    assert check("b[].i").type == Array(INT)
    assert check("max(b[].i)").type == INT
    assert check("array_contains(b[].i, 3)").reports == ()


def test_what_is_right_comes_back_unchanged() -> None:
    first = check("a.i + 1 > a.i AND NOT a.o").expression
    assert first == check(str(first)).expression


# One line for each message: the expression, then code, sentence and [hint].
WRONG = """
a.o = 1
    NEEL2101 BOOLEAN and INT cannot be compared [a BOOLEAN is itself a condition: x, or NOT x]
a.dt > 5
    NEEL2101 DATE and INT cannot be compared [a date is written DATE '2020-01-31']
a.ts - a.ts < 10
    NEEL2101 INTERVAL DAY TO SECOND and INT cannot be compared [an interval is written INTERVAL '5' SECOND]
b[].i > 5
    NEEL2101 ARRAY<INT> and INT cannot be compared [of a list b[], one element, b[1] or b[last], or an aggregate, max(b[].x), can be compared]
a.m = a.m
    NEEL2101 values of MAP<STRING, INT> cannot be compared [maps have no order and no equality; their values can be compared: m['key']]
a.ds = a.ym
    NEEL2101 INTERVAL DAY TO SECOND and INTERVAL YEAR TO MONTH cannot be compared [a month has no fixed number of days: both sides must count days, or both months]
CASE WHEN a.o THEN a.dt ELSE 1 END
    NEEL2101 the results of a CASE have no type in common: DATE, INT
a.s + a.s
    NEEL2101 `+` is not defined for STRING and STRING [|| joins strings]
a.ts + 1
    NEEL2101 `+` is not defined for TIMESTAMP and INT [time is added as an interval: ts + INTERVAL '5' SECOND]
a.dt + a.l
    NEEL2101 `+` is not defined for DATE and BIGINT [days are added as an INT: CAST(... AS INT)]
a.d DIV 2
    NEEL2101 `DIV` is not defined for DOUBLE and INT [DIV divides whole numbers; / divides all]
- a.dt
    NEEL2102 `-` takes a number or an interval, not DATE
a.arr LIKE 'x'
    NEEL2102 LIKE takes a STRING, not ARRAY<INT>
NOT a.i
    NEEL2103 what follows NOT must be a condition, but this is INT [for example x > 0, or x IS NOT NULL]
lenght(a.s)
    NEEL2104 unknown function `lenght` [did you mean `length`?]
substring(a.s)
    NEEL2105 `substring` takes 2 or 3 arguments, not 1 [its form is substring(text, INT [, INT])]
coalesce()
    NEEL2105 `coalesce` takes 1 argument or more, not 0 [its form is coalesce(value...)]
sqrt(a.o)
    NEEL2106 the argument of `sqrt` must be a number, not BOOLEAN [its form is sqrt(DOUBLE)]
round(a.c, a.i)
    NEEL2106 argument 2 of `round` must be a literal number [for example round(x, 2)]
greatest(1, '2')
    NEEL2106 the arguments of `greatest` have no type in common: INT, STRING
encode(a.s, 'windows-1252')
    NEEL2106 argument 2 of `encode` must be one of ISO-8859-1, US-ASCII, UTF-16, UTF-16BE, UTF-16LE, UTF-32, UTF-8 [for example encode(x, 'UTF-8')]
date_format(a.ts, 'YYYY')
    NEEL2106 argument 2 of `date_format` must be a pattern of times: no letter `Y` [for example date_format(x, 'yyyy-MM-dd HH:mm')]
to_timestamp(a.s, a.n)
    NEEL2106 argument 2 of `to_timestamp` must be written as a string [for example to_timestamp(x, 'dd/MM/yyyy HH:mm')]
get_json_object(a.s, '$.a[*]')
    NEEL2106 argument 2 of `get_json_object` must be a path of names and places: `[*]` is not known [for example get_json_object(x, '$.order.items[0].price')]
map(a.arr, 1)
    NEEL2106 a map has no keys of type ARRAY<INT>
conv(a.s, a.i, 2)
    NEEL2106 argument 2 of `conv` must be a literal number [its form is conv(STRING, number, INT)]
a.arr['x']
    NEEL2106 an array's elements are counted by integers, not STRING
sum(b[].o)
    NEEL2106 the argument of `sum` must be a number or an interval, not BOOLEAN [its form is sum(number)]
DATE '2020-02-30'
    NEEL2107 '2020-02-30' is not a DATE [for example DATE '2020-01-31'; years go from 1 to 9999]
INTERVAL '1' MONTH '2' DAY
    NEEL2107 an interval counts either years and months, or days and smaller units [for example INTERVAL '5' MINUTE, or INTERVAL '1' DAY '2' HOUR]
CAST(a.i AS DATE)
    NEEL2108 INT cannot be cast to DATE [days since an epoch: date_add(DATE '1970-01-01', x)]
upper(DISTINCT a.s)
    NEEL2109 DISTINCT is for aggregates; `upper` is not one
max(sum(a.i))
    NEEL2109 `sum` over all matches cannot be inside another aggregate
first(a.i)
    NEEL2109 matches have no order, so there is no first of them [min and max need no order; of a list: first(b[].x)]
sum(b[].i * c[].i)
    NEEL2109 an aggregate covers one list, but this one names b[] and c[]
"""  # noqa: E501
PAIRS = list(zip(WRONG.strip().split("\n")[::2], WRONG.strip().split("\n")[1::2], strict=True))


@pytest.mark.parametrize(("text", "message"), PAIRS)
def test_messages(text: str, message: str) -> None:
    assert check(text).reports == (message.strip(),)


def test_one_mistake_gives_one_message() -> None:
    assert len(check("abs((a.o + 1) * 2) > 'x' AND sum(b[].i) > 1").reports) == 1
    assert len(check("(a.o + 1) > 2 OR nonsense(a.i)").reports) == 2


def test_a_condition_says_what_it_is_a_condition_of() -> None:
    reports: list[str] = []
    typed_condition(expression("5 + 1"), "WHERE", lambda code, message, span, hint: reports.append(message))
    assert reports == ["WHERE must be a condition, but this is INT"]


def test_every_function_of_the_table_can_be_evaluated() -> None:
    read_as_others = {*REWRITTEN, "bit_get", "getbit", "timestampadd"} - {"decode"}
    assert set(SCALAR_SIGNATURES) - read_as_others == {*FUNCTIONS, *ABOUT_NULL, *OF_TYPE, *STRUCTS}
    assert {*AGGREGATE_SIGNATURES, *ROW_AGGREGATE_SIGNATURES} - set(READ_AS) == set(AGGREGATES)
