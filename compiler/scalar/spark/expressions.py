"""Bound expressions as text of Spark SQL, with the values of the reference interpreter.

Whatever `spark.sql.ansi.enabled` is: nothing fails on data, where Spark would raise an error there is NULL.
Clocks are those of the session that runs the text: no value that depends on its time zone is written into it.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Sequence

from sqlglot import exp

from neelc.ir import expressions as e
from neelc.ir.expressions import Cast, Expr, Literal, Unary
from neelc.ir.names import bare
from neelc.ir.program import Clock
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LENGTHS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.statistics import PAIRED
from neelc.runtime.values.times import date_of, timestamp_ntz_of, timestamp_of
from neelc.scalar import decimals
from neelc.scalar.functions import parts_of_pair
from neelc.scalar.intervals import interval_value
from neelc.scalar.spark import trees as syntax
from neelc.scalar.spark.functions import (
    arithmetic,
    function,
    lambda_function,
    lambda_name,
    least,
    like,
    negative,
    unary,
)
from neelc.scalar.spark.trees import (
    INTEGERS,
    MICROSECOND,
    NTZ_EPOCH,
    Sql,
    TypedSql,
    at,
    call,
    constant,
    field,
    identifier,
    interval,
    literal,
    negation,
    raw,
    spark_type,
    text,
    try_cast,
)
from neelc.scalar.spark.trees import cast as plain_cast
from neelc.scalar.type_of import INTERVALS, type_of

# Aggregates over the rows of a group: those over all matches, in RETURN.
#
# Aggregates over the elements of a list, `sum(b[].price)`, are for the caller's `refs` to write, as
# `list_expressions` does.

# A sum of DECIMALs has 10 digits more than they have; beyond 38 it may not fit.
_LARGEST_SUMMAND = 28


def grouped(name: str, argument: TypedSql | None, distinct: bool) -> Sql:
    """`name([DISTINCT] argument)`, with NULL for a sum that does not fit its type."""
    if argument is None:
        return call(name, exp.Star())
    name = f"try_{_TRIED[name]}" if name in _TRIED and _can_overflow(argument) else name
    inside = exp.Distinct(expressions=[argument.sql]) if distinct else argument.sql
    return call(name, inside)


_TRIED = {"sum": "sum", "avg": "avg", "mean": "avg"}


def _can_overflow(argument: TypedSql) -> bool:
    match argument.type:
        case Decimal(precision):
            return precision > _LARGEST_SUMMAND
    return argument.type in (BIGINT, *INTERVALS)


# CAST as text that cannot fail. Where a cast reads the clock, it is the session's, as everywhere in Spark.

_READERS: dict[DataType, Callable[[str], object]] = {
    DATE: date_of,
    TIMESTAMP: timestamp_of,
    TIMESTAMP_NTZ: timestamp_ntz_of,
}
# Decimals of more places than this are written with an exponent, unless the cast is a strict one.
_PLAIN_SCALE = 6


def cast(operand: TypedSql, target: DataType, implicit: bool = False) -> Sql:
    """The operand as a value of `target`, NULL where it cannot be one."""
    source = operand.type
    if source == target and not (operand.is_integer and operand.value is not None):
        return operand.sql
    folded = _folded(operand, target, implicit)
    if folded is not None:
        return folded
    sql = widest(operand) if source in INTERVALS else operand.sql
    return (plain_cast if is_safe(source, target) else try_cast)(sql, spark_type(target))


def widest(operand: TypedSql) -> Sql:
    """An interval of all fields of its kind: others have other texts, other numbers and fewer fields."""
    return plain_cast(operand.sql, spark_type(operand.type))


def _folded(operand: TypedSql, target: DataType, implicit: bool) -> Sql | None:
    """A constant of the target's type, where the operand is one that Spark has a literal for.

    Not of an integer that the user casts: beside a DECIMAL, a literal has as many digits as it shows.
    """
    match operand.value, target:
        case str() as value, _ if operand.type == STRING and target in _READERS:
            # A text without a zone stays one: it is the running session that says which it is in.
            return constant(None if _READERS[target](value) is None else value, target)
        case int() as value, Decimal(precision, 0) if _is_integer(value) and abs(value) < 10**precision:
            return constant(decimal.Decimal(value), target)
        case int() as value, _ if not implicit or not _is_integer(value):
            return None
        case int() as value, _ if target in INTEGERS and is_safe(operand.type, target):
            return constant(value, target)
        case int() as value, _ if target == DOUBLE and abs(value) < 2**53:
            return constant(float(value), target)
    return None


def _is_integer(value: int) -> bool:
    return not isinstance(value, bool)


def is_safe(source: DataType, target: DataType) -> bool:
    """Whether no value fails, and the strictness of the session makes no difference.

    >>> from neelc.ir.types import INT
    >>> is_safe(INT, BIGINT), is_safe(BIGINT, INT), is_safe(INT, Decimal(5, 2)), is_safe(INT, STRING)
    (True, False, False, True)
    """
    if source == VOID:
        return True
    match source, target:
        case Array(one), Array(other):
            return is_safe(one, other)
        case Map(), Map():
            return False
        case Struct(fields), Struct(others):
            return all(is_safe(f.type, o.type) for f, o in zip(fields, others, strict=True))
        case _ if target == STRING:
            return _is_plain(source)
        case _, Decimal(precision, scale):
            return _fits(source, precision, scale)
    if source in INTEGERS and target in INTEGERS:
        return INTEGERS.index(source) <= INTEGERS.index(target)
    if source in INTEGERS and target == TIMESTAMP:
        return True
    if target in (FLOAT, DOUBLE):
        return source != STRING
    if source == BOOLEAN or target in (BOOLEAN, BINARY):
        return source != STRING or target == BINARY
    if source == TIMESTAMP:
        return target in (BIGINT, DATE, TIMESTAMP_NTZ)
    return source in (DATE, TIMESTAMP_NTZ) and target in (DATE, TIMESTAMP, TIMESTAMP_NTZ)


def _is_plain(source: DataType) -> bool:
    match source:
        case Decimal(_, scale):
            return scale <= _PLAIN_SCALE
        case Array(element):
            return _is_plain(element)
        case Map(key, value):
            return _is_plain(key) and _is_plain(value)
        case Struct(fields):
            return all(_is_plain(field.type) for field in fields)
    return True


def _fits(source: DataType, precision: int, scale: int) -> bool:
    if source == BOOLEAN:
        return precision > scale
    exact = source if isinstance(source, Decimal) else decimals.EXACT.get(source)
    if exact is None or source in (FLOAT, DOUBLE):
        return False
    return exact.scale <= scale and exact.precision - exact.scale <= precision - scale


# Casts that need not be written, because Spark makes the same ones, strict or not.


def implied(operands: Sequence[Expr], op: str | None = None) -> list[Expr]:
    """The operands without the casts that Spark implies; `op` is an operator of arithmetic.

    An integer beside a wider integer, or beside a DOUBLE, becomes one. Beside a FLOAT it depends on the mode.

    >>> from neelc.ir.types import BIGINT, INT
    >>> long, short = Literal(2**40, BIGINT), Cast(Literal(1, INT), BIGINT, implicit=True)
    >>> print(*implied((short, long)))
    1 1099511627776L
    """
    targets = {type_of(operand) for operand in operands}
    if all(isinstance(target, Decimal) for target in targets):
        return _of_decimals(operands, op)
    if len(targets) > 1:
        return list(operands)
    (target,) = targets
    divided = op == "/" and target == DOUBLE and all(_source(o) in (*INTEGERS, DOUBLE) for o in operands)
    if divided or any(not _is_implicit(operand) for operand in operands):
        return [_without(operand) if _widens(operand, target) else operand for operand in operands]
    return list(operands)


def _is_implicit(operand: Expr) -> bool:
    return isinstance(operand, Cast) and operand.implicit


def _source(operand: Expr) -> DataType:
    """The type of what is written down."""
    return type_of(operand.operand if isinstance(operand, Cast) and operand.implicit else operand)


def _without(operand: Expr) -> Expr:
    return operand.operand if isinstance(operand, Cast) and operand.implicit else operand


def _widens(operand: Expr, target: DataType) -> bool:
    return _is_implicit(operand) and _source(operand) in INTEGERS and target in (*INTEGERS, DOUBLE)


def _of_decimals(operands: Sequence[Expr], op: str | None) -> list[Expr]:
    sources = [_source(operand) for operand in operands]
    exact = [decimals.as_decimal(source) for source in sources if source in INTEGERS or _is_decimal(source)]
    if len(exact) < len(operands) or not any(_is_decimal(source) for source in sources):
        return list(operands)
    if op is None:
        # Compared are the numbers: their types make no difference as long as no digit is lost.
        target = type_of(operands[0])
        assert isinstance(target, Decimal)
        wide = all(
            one is not None
            and one.scale <= target.scale
            and one.precision - one.scale <= target.precision - target.scale
            for one in exact
        )
        return [_without(operand) for operand in operands] if wide else list(operands)
    return [_without(operand) if _is_same(operand) else operand for operand in operands]


def _is_decimal(type: DataType) -> bool:
    return isinstance(type, Decimal)


def _is_same(operand: Expr) -> bool:
    """Whether Spark makes the same DECIMAL of an integer: by its type, of a literal by its digits."""
    source, target = _source(operand), type_of(operand)
    written = _without(operand)
    if isinstance(written, Literal):
        return isinstance(written.value, int) and target == Decimal(len(str(abs(written.value))), 0)
    if isinstance(written, Unary) and source in INTEGERS:
        return False  # -(-5) may be written 5
    return source == target or decimals.EXACT.get(source) == target


__all__ = ["Refs", "field", "identifier", "literal", "spark_type", "sql"]

# The text of what an expression refers to, an atom that a `.field` may follow; None: to be put together here.
Refs = Callable[[e.Expr], str | None]


def sql(expression: e.Expr, refs: Refs) -> str:
    """The text of a bound expression; `refs` is called for each part of it before it is taken apart.

    >>> from neelc.ir.types import DOUBLE, INT
    >>> names = lambda node: f"r.{node.name}" if isinstance(node, e.Attribute) else None
    >>> price, count = (e.Attribute(e.Variable("a"), *of) for of in (("price", DOUBLE), ("n", INT)))
    >>> ten = e.Cast(e.Literal(10, INT), DOUBLE, implicit=True)
    >>> sql(e.Conjunction((e.Binary(">", price, ten), e.Negation(e.IsNull(count)))), names)
    'r.price > 10 AND NOT r.n IS NULL'

    What can fail is NULL where it does.

    >>> sql(e.Binary("+", count, e.Literal(1, INT)), names), sql(e.Binary("*", price, price), names)
    ('try_add(r.n, 1)', 'r.price * r.price')
    """
    return text(_Writer(refs).sql(expression))


@dataclass(frozen=True)
class _Writer:
    refs: Refs

    def operand(self, node: e.Expr) -> TypedSql:
        """What the operators and functions need to know of a part."""
        match node:
            case e.Literal(value, type):
                return TypedSql(self.sql(node), type, value)
            case e.Cast(e.Literal(int(value)), type, implicit=True) if _holds(type, value):
                return TypedSql(self.sql(node), type, value)
            case e.Interval():
                return TypedSql(self.sql(node), type_of(node), interval_value(node))
            case e.Unary("-" | "+" as op, (e.Literal() | e.Interval()) as inside):
                known = self.operand(inside).value
                return TypedSql(self.sql(node), type_of(node), negative(known) if op == "-" else known)
        return TypedSql(self.sql(node), type_of(node))

    def sql(self, node: e.Expr) -> Sql:
        known = self.refs(node)
        if known is not None:
            return raw(known)
        match node:
            case e.Literal(value, type):
                return constant(value, type)
            case e.Interval():
                return interval(interval_value(node))
            case e.Field(base, name):
                return raw(field(text(self.sql(base)), bare(name)))
            case e.ElementAccess(base, index):
                return self.item(base, index)
            case e.Unary(op, operand):
                return unary(op, self.operand(operand))
            case e.Binary(op, left, right) if op in e.COMPARISONS:
                left, right = implied((left, right))
                return syntax.binary(op, self.sql(left), self.sql(right))
            case e.Binary(op, left, right):
                one, other = map(self.operand, implied((left, right), op))
                return arithmetic(op, one, other, type_of(node))
            case e.LambdaParameter(name):
                return raw(lambda_name(name))
            case e.Lambda(names, body):
                return lambda_function(names, self.sql(body))
            case e.Cast(operand, target, implicit=implicit):
                return cast(self.operand(operand), target, implicit)
            case e.Call(declared=e.DeclaredFunction() as declared, arguments=arguments):
                return self.declared(declared, arguments)
            case e.Call(name, arguments, type=type):
                return function(name, tuple(map(self.operand, arguments)), type or VOID)
            case e.Aggregate(name, argument, distinct=distinct):
                if name in PAIRED and argument is not None:
                    return call(name, *(self.operand(one).sql for one in parts_of_pair(argument)))
                return grouped(name, None if argument is None else self.operand(argument), distinct)
            case e.Extract(part, operand):
                return self.extract(part, operand)
            case e.Case(subject, whens, otherwise):
                return self.case(subject, whens, otherwise)
        return self.condition(node)

    def declared(self, function: e.DeclaredFunction, arguments: tuple[e.Expr, ...]) -> Sql:
        """A function of the session. NULL of NULL: the Python code sees to that itself."""
        made = call(function.spelled, *map(self.sql, arguments))
        if function.python is not None or not arguments:
            return made
        there = syntax.junction(exp.And, [syntax.is_not_null(self.sql(one)) for one in arguments])
        return syntax.when((there, made))

    def item(self, base: e.Expr, index: e.Expr) -> Sql:
        """An array's element, counted from 0, or a map's value."""
        if isinstance(type_of(base), Map):
            return exp.Bracket(this=self.sql(base), expressions=[self.sql(index)])
        place = self.sql(index)
        return call("get", self.sql(base), try_cast(place, "INT") if type_of(index) == BIGINT else place)

    def extract(self, part: str, operand: e.Expr) -> Sql:
        written = self.operand(operand)
        moment = written.sql
        if written.type in INTERVALS:
            moment = widest(written)
        return exp.Extract(this=raw(part), expression=moment)

    def case(self, subject: e.Expr | None, whens: tuple[e.CaseBranch, ...], otherwise: e.Expr | None) -> Sql:
        branches = ((self.sql(when.condition), self.sql(when.result)) for when in whens)
        last = None if otherwise is None else self.sql(otherwise)
        return syntax.when(*branches, otherwise=last, subject=None if subject is None else self.sql(subject))

    def condition(self, node: e.Expr) -> Sql:
        match node:
            case e.Conjunction(operands):
                return syntax.junction(exp.And, [self.sql(operand) for operand in operands])
            case e.Disjunction(operands):
                return syntax.junction(exp.Or, [self.sql(operand) for operand in operands])
            case e.Negation(operand):
                return negation(self.sql(operand))
            case e.IsNull(operand, negated):
                return (syntax.is_not_null if negated else syntax.is_null)(self.sql(operand))
            case e.IsTruth(operand, value, negated):
                return _is(self.sql(operand), value, negated)
            case e.IsDistinct(left, right, negated):
                left, right = implied((left, right))
                return syntax.binary("<=>" if negated else "<!>", self.sql(left), self.sql(right))
            case e.Between(operand, low, high, negated):
                test = syntax.between(*map(self.sql, implied((operand, low, high))))
            case e.InList(operand, items, negated):
                sought, *among = map(self.sql, implied((operand, *items)))
                test = syntax.one_of(sought, among)
            case e.Like(operand, pattern, kind, escape, negated):
                test = like(self.operand(operand), self.operand(pattern), kind, escape)
            case _:
                raise AssertionError(f"{node} has no text: it requires one of the caller's")
        return negation(test) if negated else test


def _holds(type: DataType, value: int) -> bool:
    """Whether an integer constant stays what it is as a value of a type of numbers."""
    if isinstance(value, bool):
        return False
    return type not in INTEGERS or least(type) <= value < -least(type)


def _is(operand: Sql, value: bool | None, negated: bool) -> Sql:
    truth = exp.Null() if value is None else exp.Boolean(this=value)
    return exp.Is(this=at(operand, syntax.BIT_OR), expression=exp.Not(this=truth) if negated else truth)


# Times as whole numbers in Spark SQL, and back.

FAR = "NEEL5070"
FARTHEST = 2**62 - 1
"""The difference of two such times fits into 64 bits, and so does one with a window more or less."""

_LARGEST: dict[DataType, int] = {BIGINT: 2**63, INT: 2**31, SMALLINT: 2**15, TINYINT: 2**7}


def as_number(text: str, type: DataType, unit: str, target: str, clock: Clock | None = None) -> str:
    """A time as a whole number of `target` units; `unit` is that of integers.

    Of a query whose `clock` is a TIMESTAMP all times are instants: a DATE and a TIMESTAMP_NTZ are times of
    the session's clock then.

    >>> as_number("ts", BIGINT, "SECOND", "SECOND"), as_number("ts", TIMESTAMP, "", "MICROSECOND")
    ('CAST(ts AS BIGINT)', 'unix_micros(ts)')
    >>> as_number("ts", DATE, "", "DAY")
    'CAST(unix_date(ts) AS BIGINT)'
    >>> as_number("day", DATE, "", "MICROSECOND", Clock(TIMESTAMP))
    'unix_micros(CAST(day AS TIMESTAMP))'
    """
    if clock is not None and clock.type == TIMESTAMP and type in (DATE, TIMESTAMP_NTZ):
        return as_number(f"CAST({text} AS TIMESTAMP)", TIMESTAMP, unit, target)
    numbers: dict[DataType, tuple[str, str]] = {
        TIMESTAMP: (f"unix_micros({text})", "MICROSECOND"),
        # Not timestampdiff, which would cast it to a TIMESTAMP, in the time zone of the session.
        TIMESTAMP_NTZ: (f"({text} - {NTZ_EPOCH}) DIV {MICROSECOND}", "MICROSECOND"),
        DATE: (f"CAST(unix_date({text}) AS BIGINT)", "DAY"),
    }
    number, own = numbers.get(type, (f"CAST({text} AS BIGINT)", unit))
    factor = LENGTHS[own] // LENGTHS[target]
    if factor == 1:
        return number
    # A time too far from 1970 for the finer unit must not become another time.
    overflow = refusal(text, f"too far from 1970 to be counted in {target.lower()}s")
    return f"nvl2({text}, coalesce(try_multiply({number}, {factor}L), {overflow}), NULL)"


def with_room(number: str, type: DataType, unit: str, target: str) -> str:
    """A number of `as_number` that windows can be added to and subtracted from: what is too far from zero
    fails the run, whether the session is strict or not.

    >>> with_room("ts", INT, "SECOND", "MILLISECOND")
    'ts'
    >>> print(with_room("ts", BIGINT, "SECOND", "SECOND").partition(" raise_error")[0])
    IF(ts NOT BETWEEN -4611686018427387903L AND 4611686018427387903L,
    """
    largest = _LARGEST.get(type)
    if largest is None or largest * LENGTHS[unit] // LENGTHS[target] <= FARTHEST:
        return number
    problem = refusal(number, "too far from 0 to add a window")
    return f"IF({number} NOT BETWEEN -{FARTHEST}L AND {FARTHEST}L, {problem}, {number})"


def refusal(text: str, why: str) -> str:
    """An expression that fails the run because of a time."""
    return f"raise_error(concat('{FAR}: the time ', {text}, ' is {why}'))"


def as_time(text: str, unit: str, clock: Clock, counted: Clock | None = None) -> str:
    """A whole number of `unit` as the clock writes times; `counted` is the clock that it is a time of.

    >>> as_time("match_start", "MICROSECOND", Clock(TIMESTAMP))
    'timestamp_micros(match_start)'
    """
    if counted is not None and counted.type == TIMESTAMP and clock.type in (DATE, TIMESTAMP_NTZ):
        return f"CAST({as_time(text, unit, counted)} AS {spark_type(clock.type)})"
    if clock.unit is not None:
        number = in_unit(text, unit, clock.unit)
        return f"CAST({number} AS {spark_type(clock.type)})"
    if clock.type == DATE:
        return f"date_from_unix_date(CAST({in_unit(text, unit, 'DAY')} AS INT))"
    number = in_unit(text, unit, "MICROSECOND")
    if clock.type == TIMESTAMP_NTZ:
        return f"timestampadd(MICROSECOND, {number}, {NTZ_EPOCH})"
    return f"timestamp_micros({number})"


def in_unit(text: str, unit: str, target: str) -> str:
    """
    >>> in_unit("t", "MILLISECOND", "SECOND")
    '(t - pmod(t, 1000L)) DIV 1000L'
    >>> in_unit("t", "SECOND", "MILLISECOND"), in_unit("t", "DAY", "DAY")
    ('t * 1000L', 't')
    """
    if LENGTHS[unit] == LENGTHS[target]:
        return text
    if LENGTHS[unit] > LENGTHS[target]:
        return f"{text} * {LENGTHS[unit] // LENGTHS[target]}L"
    return floor_divided(text, LENGTHS[target] // LENGTHS[unit])


def floor_divided(text: str, by: int) -> str:
    """Division that rounds down, below zero too: DIV rounds towards zero."""
    return f"({text} - pmod({text}, {by}L)) DIV {by}L"


# One number to sort by: the events of a key together, nearly in order. Spark sorts a BIGINT several times
# faster than it compares the columns of rows (decision 0031).

TICK_BITS = 44
GRAIN = 1 << (64 - TICK_BITS)
"""The number is a hash of the keys above TICK_BITS bits of time. These are all bits of a time but its last
20, which are a second if it counts microseconds."""


def sort_number(keys: tuple[str, ...], number: str, grain: int = GRAIN) -> str:
    """A hash of `keys` above the ticks of `number`, each `grain` long. With a grain of 1 the number must have
    32 bits.

    >>> sort_number(("id",), "start")
    'shiftleft(xxhash64(id), 44) | (shiftright(start, 20) + 8796093022208L)'
    >>> sort_number(("id",), "day", 1)
    'shiftleft(xxhash64(id), 44) | (day + 8796093022208L)'
    """
    tick = number if grain == 1 else f"shiftright({number}, {grain.bit_length() - 1})"
    return f"shiftleft(xxhash64({', '.join(keys)}), {TICK_BITS}) | ({tick} + {1 << (TICK_BITS - 1)}L)"
