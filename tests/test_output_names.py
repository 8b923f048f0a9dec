"""Columns without an alias are called as Spark calls them; these names were read off Spark 4.3."""

from __future__ import annotations

import pytest

from neelc.pattern.bind.outputs import spark_text
from neelc.syntax import expression

NAMES = [
    ("count(*)", "count(1)"),
    ("a.price + 1", "(a.price + 1)"),
    ("-a.price", "(- a.price)"),
    ("~a.price", "~a.price"),
    ("+a.price", "(+ a.price)"),
    ("a.price * (a.price - 2)", "(a.price * (a.price - 2))"),
    ("upper(a.n)", "upper(a.n)"),
    ("UPPER(a.n) || 'x y'", "concat(upper(a.n), x y)"),
    ("a.price > 1", "(a.price > 1)"),
    ("a.price <> 1", "(NOT (a.price = 1))"),
    ("a.price != 1", "(NOT (a.price = 1))"),
    ("a.price <=> 1", "(a.price <=> 1)"),
    ("a.price = 1 and a.ok", "((a.price = 1) AND a.ok)"),
    ("not a.ok", "(NOT a.ok)"),
    ("a.ok and a.ok and a.ok", "((a.ok AND a.ok) AND a.ok)"),
    ("a.price between 1 and 2", "between(a.price, 1, 2)"),
    ("a.price not between 1 and 2", "(NOT between(a.price, 1, 2))"),
    ("a.price in (1,2)", "(a.price IN (1, 2))"),
    ("a.price not in (1)", "(NOT (a.price IN (1)))"),
    ("a.n like 'a%'", "a.n LIKE a%"),
    ("a.n not like 'a%'", "(NOT a.n LIKE a%)"),
    ("a.n like 'a%' escape '/'", "a.n LIKE a% ESCAPE '/'"),
    ("a.n rlike 'x'", "RLIKE(a.n, x)"),
    ("a.n ilike 'x'", "ilike(a.n, x)"),
    ("a.n is null", "(a.n IS NULL)"),
    ("a.n is not null", "(a.n IS NOT NULL)"),
    ("a.ok is true", "(a.ok <=> true)"),
    ("a.ok is not true", "(NOT (a.ok <=> true))"),
    ("a.ok is unknown", "(a.ok IS NULL)"),
    ("a.price is distinct from 1", "(NOT (a.price <=> 1))"),
    ("a.price is not distinct from 1", "(a.price <=> 1)"),
    ("case when a.ok then 1 else 2 end", "CASE WHEN a.ok THEN 1 ELSE 2 END"),
    ("case a.price when 1 then 'x' end", "CASE WHEN (a.price = 1) THEN x END"),
    ("cast(a.price as string)", "CAST(a.price AS STRING)"),
    ("try_cast(a.n as int)", "TRY_CAST(a.n AS INT)"),
    ("date '2020-01-01'", "DATE '2020-01-01'"),
    ("timestamp '2020-01-01 00:00:00'", "TIMESTAMP '2020-01-01 00:00:00'"),
    ("1e3", "1000.0"),
    ("1L", "1"),
    ("'it''s'", "it's"),
    ("null", "NULL"),
    ("a.price % 2", "(a.price % 2)"),
    ("a.price div 2", "(a.price div 2)"),
    ("a.price / 2", "(a.price / 2)"),
    ("a.price & 1", "(a.price & 1)"),
    ("a.arr[0]", "a.arr[0]"),
    ("count(distinct a.price)", "count(DISTINCT a.price)"),
    ("coalesce(a.price, 1)", "coalesce(a.price, 1)"),
    ("if(a.ok,1,2)", "(IF(a.ok, 1, 2))"),
    ("X'1F'", "X'1F'"),
    ("a.price || a.n", "concat(a.price, a.n)"),
    ("1 + 2.5D", "(1 + 2.5)"),
    ("concat_ws('-', a.n, 'q')", "concat_ws(-, a.n, q)"),
    ("power(a.price,2)", "POWER(a.price, 2)"),
    ("ceil(a.price)", "CEIL(a.price)"),
    ("max(a.price) - min(a.price)", "(max(a.price) - min(a.price))"),
    ("a.price + 1 + 2", "((a.price + 1) + 2)"),
]


@pytest.mark.parametrize("text, name", NAMES)
def test_names(text: str, name: str) -> None:
    assert spark_text(expression(text)) == name
