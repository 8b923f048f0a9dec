"""Random expressions that have a type, over the event `a` of tests/expressions.py."""

from __future__ import annotations

import decimal
from random import Random

from expressions import COLUMNS

from neelc.ir import expressions as e
from neelc.ir import types as t
from neelc.ir.types import VOID
from neelc.scalar.signatures import SCALAR_SIGNATURES
from neelc.scalar.typing import typed

_LITERALS = [
    *(e.Literal(value, t.INT) for value in (0, 1, 2, 3, 7, 10, 2**31 - 1)),
    *(e.Literal(value, t.BIGINT) for value in (0, 5, 2**63 - 1)),
    e.Literal(127, t.TINYINT),
    e.Literal(3000, t.SMALLINT),
    *(e.Literal(value, t.DOUBLE) for value in (0.0, 0.5, 3.0, 1e300)),
    e.Literal(1.5, t.FLOAT),
    *(e.Literal(decimal.Decimal(text), t.Decimal(*size)) for text, *size in (
        ("0.0", 1, 1), ("2.5", 2, 1), ("0.001", 3, 3), ("99999999999999999999.9", 21, 1)
    )),
    *(e.Literal(text, t.STRING) for text in (
        "", "abc", "b", "%", "a_c", "12", "-1.5", "true", "2020-02-29", "2020-02-29 12:34:56", "it's \\d",
        "2020-01-01 00:00:00+01:00", "[", "b+", "${env:HOME}", "$1", "hour", "NaN",
    )),
    e.Literal(b"\x00ab", t.BINARY),
    e.Literal(True, t.BOOLEAN),
    e.Literal(None, VOID),
    e.Literal("2019-12-31", t.DATE),
    e.Literal("2020-03-08 02:30:00", t.TIMESTAMP),
    e.Literal("2020-03-08 02:30:00", t.TIMESTAMP_NTZ),
    e.Interval((e.IntervalPart("90", "MINUTE"),)),
    e.Interval((e.IntervalPart("3", "DAY"),)),
    e.Interval((e.IntervalPart("1", "MONTH"),)),
]  # fmt: skip
_TYPES = [*(type for type in t.SIMPLE_TYPES.values() if type != VOID), t.Decimal(5, 2), t.Decimal(38, 10)]
# Texts as long as a number says fill the memory.
_LEFT_OUT = ("array_insert", "array_repeat", "lpad", "repeat", "rpad", "sequence", "space")
_FUNCTIONS = sorted(name for name in SCALAR_SIGNATURES if name not in _LEFT_OUT)
_FIELDS = ["YEAR", "MONTH", "WEEK", "DAY", "DOW", "HOUR", "MINUTE", "SECOND"]


def typed_expressions(seed: int, count: int) -> list[e.Expr]:
    """That many, the same for each seed."""
    random = Random(seed)
    found: list[e.Expr] = []
    while len(found) < count:
        expression, type = _typed(_expression(random, random.randint(1, 3)))
        if type is not None and not isinstance(expression, e.Attribute | e.Literal):
            # PySpark has no values for intervals of years and months.
            found.append(e.Cast(expression, t.STRING) if "YEAR TO MONTH" in str(type) else expression)
    return found


def _typed(node: e.Expr) -> tuple[e.Expr, t.DataType | None]:
    reports: list[str] = []
    expression, type = typed(node, lambda code, *_: reports.append(code))
    return expression, None if reports else type


def _expression(random: Random, depth: int) -> e.Expr:
    """An expression that has a type, as the parser would leave it but for its references."""
    if depth == 0:
        return _atom(random)
    for _ in range(30):
        made = random.choice(_FORMS)(random, depth - 1)
        if _typed(made)[1] is not None:
            return made
    return _atom(random)


def _atom(random: Random) -> e.Expr:
    if random.random() < 0.4:
        return random.choice(_LITERALS)
    name = random.choice(list(COLUMNS))
    return e.Attribute(e.Variable("a"), name, COLUMNS[name])


def _unary(random: Random, depth: int) -> e.Expr:
    return e.Unary(random.choice("-+~"), _expression(random, depth))


def _binary(random: Random, depth: int) -> e.Expr:
    op = random.choice([*e.ARITHMETIC, *e.ARITHMETIC, *e.BITWISE, "||", *e.COMPARISONS])
    left, right = (_expression(random, depth) for _ in range(2))
    both_spans = all("INTERVAL" in str(_typed(side)[1]) for side in (left, right))
    return e.Binary("+" if op == "*" and both_spans else op, left, right)


def _call(random: Random, depth: int) -> e.Expr:
    name = random.choice(_FUNCTIONS)
    signature = SCALAR_SIGNATURES[name]
    count = len(signature.required) + random.randint(0, len(signature.optional))
    return e.Call(name, tuple(_expression(random, depth) for _ in range(count)))


def _cast(random: Random, depth: int) -> e.Expr:
    return e.Cast(_expression(random, depth), random.choice(_TYPES))


def _condition(random: Random, depth: int) -> e.Expr:
    one, two, three = (_expression(random, depth) for _ in range(3))
    negated = random.random() < 0.5
    return random.choice([
        e.Conjunction((one, two)), e.Disjunction((one, two)), e.Negation(one), e.IsNull(one, negated),
        e.IsDistinct(one, two, negated), e.Between(one, two, three, negated),
        e.InList(one, (two, three), negated),
        e.Like(one, two, "LIKE", None, negated), e.Like(one, two, "ILIKE", "!", negated),
        e.Like(one, two, "RLIKE", None, negated), e.IsTruth(one, random.choice([True, False, None]), negated),
    ])  # fmt: skip


def _choice(random: Random, depth: int) -> e.Expr:
    parts = [_expression(random, depth) for _ in range(4)]
    subject = parts[3] if random.random() < 0.3 else None
    return e.Case(subject, (e.CaseBranch(parts[0], parts[1]),), parts[2])


def _extract(random: Random, depth: int) -> e.Expr:
    return e.Extract(random.choice(_FIELDS), _expression(random, depth))


_FORMS = [_unary, _binary, _binary, _binary, _call, _call, _call, _cast, _condition, _choice, _extract]
