"""Types and values of expressions, without Spark; tests/spark/ compares many more with Spark itself."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from pathlib import Path

import pytest
from expressions import check, context, event, value

from neelc.ir import expressions as e
from neelc.ir.types import BIGINT, INT, Array
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext, ReferenceEvent
from neelc.runtime.values.times import Months
from neelc.runtime.values.types import text_of
from neelc.scalar.type_of import value_type

# An expression over the ordinary event `a` and the list `b` of all events (tests/expressions.py), its type,
# and its value as Spark prints it. What fails in Spark is null.
TABLE = r"""
# numbers
1 + 1                                                 INT                         2
a.y + a.h                                             SMALLINT                    3
a.i + a.f                                             DOUBLE                      4.5
a.f + a.f                                             FLOAT                       3.0
a.c + 1                                               DECIMAL(11, 2)              13.34
a.c * a.c                                             DECIMAL(21, 4)              152.2756
a.c / 3                                               DECIMAL(14, 6)              4.113333
a.i / 2                                               DOUBLE                      1.5
a.i DIV 2                                             BIGINT                      1
-7 DIV 2                                              BIGINT                      -3
-7 % 3                                                INT                         -1
a.i / 0                                               DOUBLE                      null
2147483647 + 1                                        INT                         null
3000000000 + 1                                        BIGINT                      3000000001
-2147483648                                           INT                         -2147483648
a.i & 6                                               INT                         2
~ a.i                                                 INT                         -4
1e308 * 10                                            DOUBLE                      Infinity
# strings beside numbers
a.n + 6                                               BIGINT                      48
a.n + 1.5                                             DOUBLE                      43.5
a.s + 1                                               BIGINT                      null
a.s || a.i                                            STRING                      abc3
# comparisons: NaN is one value, and the greatest
CAST('NaN' AS DOUBLE) = CAST('NaN' AS DOUBLE)         BOOLEAN                     true
CAST('NaN' AS DOUBLE) > CAST('Infinity' AS DOUBLE)    BOOLEAN                     true
0.0D = -0.0D                                          BOOLEAN                     true
a.n < 6                                               BOOLEAN                     false
a.s < 6                                               BOOLEAN                     null
a.dt = '2020-02-29'                                   BOOLEAN                     true
a.dt < a.ts                                           BOOLEAN                     true
'Z' < 'a'                                             BOOLEAN                     true
array(1, NULL) < array(1, 2)                          BOOLEAN                     true
a.i <=> NULL                                          BOOLEAN                     false
a.i IS DISTINCT FROM NULL                             BOOLEAN                     true
# three values of truth
NULL AND a.i < 0                                      BOOLEAN                     false
NULL AND a.i > 0                                      BOOLEAN                     null
NULL OR a.i > 0                                       BOOLEAN                     true
NOT (NULL = 1)                                        BOOLEAN                     null
a.i IN (3, NULL)                                      BOOLEAN                     true
a.i NOT IN (1, NULL)                                  BOOLEAN                     null
a.i BETWEEN 5 AND NULL                                BOOLEAN                     false
(a.i > NULL) IS UNKNOWN                               BOOLEAN                     true
# LIKE
a.s LIKE 'a_c'                                        BOOLEAN                     true
'a%c' LIKE 'a!%c' ESCAPE '!'                          BOOLEAN                     true
'abc' LIKE 'abc\'                                     BOOLEAN                     null
a.s ILIKE 'A%'                                        BOOLEAN                     true
a.s RLIKE 'b|x'                                       BOOLEAN                     true
# choices
CASE WHEN a.i > 5 THEN 1 ELSE 2.5 END                 DECIMAL(11, 1)              2.5
CASE a.i WHEN '3' THEN 'three' END                    STRING                      three
coalesce(NULL, a.i, 2.5)                              DECIMAL(11, 1)              3.0
nullif(a.i, 3.0)                                      INT                         null
if(a.o, a.dt, a.ts)                                   TIMESTAMP                   2020-02-29 00:00:00
greatest(a.i, NULL, 2.5)                              DECIMAL(11, 1)              3.0
# time
a.ts - TIMESTAMP '2020-02-29 12:00:00'  INTERVAL DAY TO SECOND  INTERVAL '0 00:34:56.789' DAY TO SECOND
a.ts + INTERVAL '90' MINUTE                           TIMESTAMP                   2020-02-29 14:04:56.789
a.dt - DATE '2020-01-01'  INTERVAL DAY TO SECOND  INTERVAL '59 00:00:00' DAY TO SECOND
a.dt + 1                                              DATE                        2020-03-01
a.dt + INTERVAL '1' DAY                               DATE                        2020-03-01
a.dt + INTERVAL '1' HOUR                              TIMESTAMP                   2020-02-29 01:00:00
DATE '2020-01-31' + INTERVAL '1' MONTH                DATE                        2020-02-29
DATE '9999-12-31' + 1                                 DATE                        null
a.ds * 1.5  INTERVAL DAY TO SECOND  INTERVAL '1 12:00:00' DAY TO SECOND
a.ds DIV INTERVAL '1' SECOND                          BIGINT                      86400
a.ym + INTERVAL '1' MONTH                             INTERVAL YEAR TO MONTH      INTERVAL '1-1' YEAR TO MONTH
EXTRACT(SECOND FROM a.ts)                             DECIMAL(8, 6)               56.789000
date_trunc('hour', a.ts)                              TIMESTAMP                   2020-02-29 12:00:00
unix_millis(a.ts)                                     BIGINT                      1582979696789
# functions
abs(-2147483648)                                      INT                         null
round(2.5)                                            DECIMAL(2, 0)               3
round(-2.5D)                                          DOUBLE                      -3.0
ceil(a.c)                                             DECIMAL(9, 0)               13
sqrt(-1)                                              DOUBLE                      NaN
ln(0)                                                 DOUBLE                      null
pmod(-7, 3)                                           INT                         2
substring(a.s, -2, 1)                                 STRING                      b
concat_ws('-', a.arr, NULL, 'x')                      STRING                      1-2-x
split('a,b,,', ',')                                   ARRAY<STRING>               [a, b, , ]
regexp_replace('a1b2', '([0-9])', '<$1>')             STRING                      a<1>b<2>
lpad(a.s, 5, 'xy')                                    STRING                      xyabc
locate('b', 'abcb', 3)                                INT                         4
array_contains(a.arr, 2L)                             BOOLEAN                     true
element_at(a.arr, 5)                                  INT                         null
named_struct('a', a.i, 'b', a.s)                      STRUCT<a: INT, b: STRING>   {3, abc}
# arrays, maps, structs
a.arr[0]                                              INT                         1
a.arr[9]                                              INT                         null
a.m['k']                                              INT                         1
a.st.y                                                STRING                      z
# casts
CAST('1.5' AS INT)                                    INT                         null
CAST(1.9D AS INT)                                     INT                         1
CAST(2.55 AS DECIMAL(3, 1))                           DECIMAL(3, 1)               2.6
CAST(999.99 AS DECIMAL(4, 1))                         DECIMAL(4, 1)               null
CAST(1e7 AS STRING)                                   STRING                      1.0E7
CAST(0.1F AS DECIMAL(20, 18))                         DECIMAL(20, 18)             0.100000001490116120
CAST('2020-02-30' AS DATE)                            DATE                        null
CAST('2020-01-31 12:00:00+02:00' AS TIMESTAMP)        TIMESTAMP                   2020-01-31 10:00:00
CAST(array('1', 'x') AS ARRAY<INT>)                   ARRAY<INT>                  [1, null]
# lists: b[1] is the ordinary event, b[2] the odd one, b[3] has NULLs only; i is 2
b[1].i                                                INT                         3
b[i].i                                                INT                         -7
b[i-1].i                                              INT                         3
b[last].i                                             INT                         null
b[last-1].i                                           INT                         -7
b[4].i                                                INT                         null
b[].i                                                 ARRAY<INT>                  [3, -7, null]
b[..i-1].i                                            ARRAY<INT>                  [3]
b[].st.x                                              ARRAY<INT>                  [1, null, null]
size(b[].i)                                           INT                         3
count(b[])                                            BIGINT                      3
count(b[].i)                                          BIGINT                      2
sum(b[].i)                                            BIGINT                      -4
sum(b[..i-1].i)                                       BIGINT                      3
avg(b[].i)                                            DOUBLE                      -2.0
max(b[].d)                                            DOUBLE                      NaN
sum(b[].i * b[].c)                                    DECIMAL(31, 2)              37.37
sum(b[].i - avg(b[].i))                               DOUBLE                      0.0
collect_list(b[].s)                                   ARRAY<STRING>               [abc, ]
count(DISTINCT b[].i % 2)                             BIGINT                      2
stddev(b[].i)                                         DOUBLE                      7.0710678118654755
first(b[].i)                                          INT                         3
bool_or(b[].i > 2)                                    BOOLEAN                     true
a.te                                                  BIGINT                      5
"""

LINES = [line for line in TABLE.strip().splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("line", LINES)
def test_type_and_value(line: str) -> None:
    text, type, expected = re.split(r"  +", line)
    checked = check(text)
    assert checked.reports == ()
    found = evaluate(checked.expression, context())
    assert (str(checked.type), text_of(found, value_type(checked.type))) == (type, expected)


def extreme(sign: int) -> ReferenceEvent:
    """The largest or the smallest value of each type."""
    moment = datetime.datetime.max if sign > 0 else datetime.datetime.min
    attributes: dict[str, object] = {
        **{
            name: sign * 2 ** (bits - 1) - (sign > 0)
            for name, bits in zip("yhil", (8, 16, 32, 64), strict=True)
        },
        "f": sign * math.inf,
        "d": sign * 1.7e308,
        "c": sign * decimal.Decimal("99999999.99"),
        "o": sign > 0,
        "s": "\0\ud7ff😀%_\\",
        "n": str(sign * 10**30),
        "bin": b"\xff\0",
        "arr": [sign * 2**31] * 3,
        "dt": moment.date(),
        "ts": moment.replace(tzinfo=datetime.UTC),
        "ntz": moment,
        "m": {"": None},
        "st": {"x": None, "y": ""},
        "ds": sign * datetime.timedelta(days=106751991),
        "ym": Months(sign * 2**31),
    }
    return ReferenceEvent("S", 0, "A", 0, 0, attributes, (0, 0))


SPARK = (Path(__file__).parent / "spark" / "expressions.txt").read_text().splitlines()
EXPRESSIONS = [line.removeprefix("! ").removeprefix("@ ").split(" => ")[0] for line in SPARK if line]


def test_nothing_fails_on_data() -> None:
    checked = [check(text) for text in EXPRESSIONS if text[0] != "#" and "?" not in text[:2]]
    for sign in (1, -1):
        bound = EvaluationContext({"a": extreme(sign), "b": (extreme(1), extreme(-1), event(2))}, current=1)
        for one in checked:
            text_of(evaluate(one.expression, bound), value_type(one.type))


def test_an_absent_event_is_null() -> None:
    """As in the branch of an OR that was not taken."""
    absent = EvaluationContext({"a": None, "b": ()})
    assert evaluate(check("a.i").expression, absent) is None
    assert evaluate(check("a.i IS NULL AND count(b[]) = 0").expression, absent) is True
    assert evaluate(check("b[1].i").expression, absent) is None
    assert evaluate(check("sum(b[].i)").expression, absent) is None


def test_aggregates_over_matches() -> None:
    matches = EvaluationContext({}, matches=[context(0), context(1), context(2)])
    assert evaluate(check("count(*)").expression, matches) == 3
    assert evaluate(check("max(a.i) - min(a.i)").expression, matches) == 10
    assert evaluate(check("max(sum(b[].i))").expression, matches) == -4
    assert evaluate(check("count(*)").expression, EvaluationContext({}, matches=[])) == 0
    assert evaluate(check("sum(a.i)").expression, EvaluationContext({}, matches=[])) is None


def test_closures_of_composites() -> None:
    """`k[].c[].i` ranges over the iterations of k and, in each, over the list c."""
    iterations = ({"x": event(0), "c": (event(0), event(1))}, {"x": event(1), "c": (event(0),)})
    bound = EvaluationContext({"k": iterations})
    each = e.EveryElement(e.Variable("k"))
    inner = e.Attribute(e.EveryElement(e.InnerVariable(each, "c")), "i", INT)
    assert evaluate(inner, bound) == [3, -7, 3]
    assert evaluate(e.Aggregate("sum", inner, BIGINT), bound) == -1
    product = e.Binary("*", e.Attribute(e.InnerVariable(each, "x"), "i", INT), inner)
    assert evaluate(e.Aggregate("collect_list", product, Array(INT)), bound) == [9, -21, -21]
    last = e.ListElement(
        e.InnerVariable(e.ListElement(e.Variable("k"), e.Index("LAST")), "c"), e.Index("LAST")
    )
    assert evaluate(e.Attribute(last, "i", INT), bound) == 3


def test_a_float_attribute_is_what_spark_would_store() -> None:
    bound = EvaluationContext({"a": ReferenceEvent("S", 0, "A", 0, 0, {"f": 0.1}, (0, 0))})
    assert evaluate(check("a.f = 0.1D").expression, bound) is False
    assert evaluate(check("a.f = 0.1F").expression, bound) is True


def test_repeated_evaluation_is_independent_of_order() -> None:
    assert [value("a.i", row) for row in (0, 1, 0)] == [3, -7, 3]


def test_seconds_of_far_times_are_rounded_as_in_java() -> None:
    """From the year 2255 on, a DOUBLE does not hold all microseconds."""
    text = "CAST(timestamp_micros({}) AS DOUBLE)"
    found = [value(text.format(micros)) for micros in (8_993_664_000_123_457, 9_007_199_254_740_993)]
    assert found == [8993664000.123457, 9007199254.740992]
