"""RETURN: from matches, one struct for each variable, to the columns of the result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace

from neelc.engines.spark.relations import AggregateRows as AggregateRelation
from neelc.engines.spark.relations import (
    CalledFunctions,
    Extend,
    FunctionCall,
    Items,
    Let,
    SelectColumns,
    Where,
)
from neelc.engines.spark.scans import free
from neelc.ir.expressions import (
    BY_ORDER,
    BY_VALUE,
    Aggregate,
    Attribute,
    EventRef,
    EventTime,
    EveryElement,
    Expr,
    Index,
    InnerVariable,
    IsNull,
    ListElement,
    MatchProperty,
    Variable,
    WholeEvent,
    conjuncts,
    is_array_of_path,
    is_many,
    lists,
    names_in,
)
from neelc.ir.expressions import Aggregate as AggregateOfList
from neelc.ir.expressions import Field as FieldReference
from neelc.ir.names import bare
from neelc.ir.node import Node, map_children, transform, walk
from neelc.ir.program import MATCH_NUMBER, Clock, Match
from neelc.ir.types import BIGINT, DAY_INTERVAL, DOUBLE, STRING, Array, DataType, Decimal, Struct
from neelc.pattern.plan import blocks as list_names
from neelc.pattern.plan.kernel_plan import START, closures_of
from neelc.pattern.plan.strategies import NARROW
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import EventName
from neelc.runtime.reference.question import condition
from neelc.runtime.reference.results import is_over_matches
from neelc.scalar.spark import trees as literals
from neelc.scalar.spark.expressions import Refs, as_time, sql
from neelc.scalar.spark.trees import MICROSECOND, identifier, literal, spark_type
from neelc.scalar.spark.trees import field as quoted_field
from neelc.scalar.type_of import DATETIMES, INTERVALS, type_of

# Events, elements of lists and iterations of closures, as text over the columns of a match.

Field = Callable[[Expr, str], str]
"""The field of a variable's struct that holds an attribute; START, if it is the start of the event. It is
called with `Attribute(Variable(b), price)` and the variable, `b`, whether that is an event, a list of them or
a variable of a closure's body."""

InnerField = Callable[[str, str], str]
"""The field of an iteration's struct that holds a variable: called with the closure `k` and the variable `a`
of its body."""


@dataclass(frozen=True)
class LambdaElement(EventRef):
    """An element of a list where a lambda has a name for it."""

    base: EventRef
    name: str


@dataclass(frozen=True)
class CurrentIndex:
    """`i` in the text: it runs over the list `base`; `element` is b[i], and `place`, from 0, is i."""

    base: EventRef
    element: str
    place: str


@dataclass(frozen=True)
class MatchLayout:
    """How a match is laid out. A variable has the column `struct`: the struct of its event, or the array of
    those of its events, or of the structs of its iterations, which have a struct for each variable of the
    closure's body (`closures`). `absent` are variables whose column may be NULL. Where the match itself is a
    struct, `match` is the text of it."""

    unit: str
    struct: Callable[[str], str]
    field_of: Field
    inner: InnerField
    absent: frozenset[EventName] = frozenset()
    closures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    match: str = ""

    def event(self, reference: EventRef, current: CurrentIndex | None = None) -> str:
        """What a reference reaches: a struct, or an array if it is one of all elements.

        >>> layout = MatchLayout("SECOND", str.lower, lambda reference, _: reference.name, lambda _, a: a)
        >>> k, last = Variable("k"), Index("LAST", -1)
        >>> [layout.event(InnerVariable(one, "a")) for one in (ListElement(k, last), EveryElement(k))]
        ['try_element_at(k, -2).a', 'k.a']
        """
        match reference:
            case Variable(name):
                column = self.struct(name)
                return literals.field(self.match, column) if self.match else identifier(column)
            case LambdaElement(_, name):
                return name
            case InnerVariable(base, name):
                return literals.field(self.event(base, current), self.inner(variable_of(base), name))
            case ListElement(base, index):
                return self._at(base, index, current)
            case EveryElement(base, upper):
                elements = self.event(base, current)
                return elements if upper is None else self._up_to(elements, upper, current)
        raise AssertionError(f"{reference} has no text")

    def _at(self, base: EventRef, index: Index, current: CurrentIndex | None) -> str:
        index = _near(index)
        if index.anchor == "LAST":
            return f"try_element_at({self.event(base, current)}, {index.offset - 1})"
        if index.anchor == "FIRST":
            return f"get({self.event(base, current)}, {index.offset})"
        assert current is not None, "`i` stands in conditions only"
        if current.base == base and not index.offset:
            return current.element
        return f"get({self.event(base, current)}, {_plus(current.place, index.offset)})"

    def _up_to(self, elements: str, upper: Index, current: CurrentIndex | None) -> str:
        """The elements up to that place. One before the first is the end of an empty list."""
        upper = _near(upper)
        if upper.anchor == "FIRST":
            return f"slice({elements}, 1, {upper.offset + 1})"
        if upper.anchor == "LAST":
            length, least = _plus(f"array_size({elements})", upper.offset), upper.offset
        else:
            assert current is not None, "`i` stands in conditions only"
            length, least = _plus(current.place, upper.offset + 1), upper.offset + 1
        return f"slice({elements}, 1, {f'greatest({length}, 0)' if least < 0 else length})"

    def value(self, reference: Attribute | EventTime, current: CurrentIndex | None = None) -> str:
        """An attribute, or a time, of one event."""
        text, name = self.event(reference.event, current), self.field_name(reference)
        number = literals.field(text, name)
        if name != START:
            return number
        kind = reference.type
        return as_time(number, self.unit, Clock(kind, None if kind in DATETIMES else self.unit))

    def field_name(self, reference: Attribute | EventTime) -> str:
        variable = variable_of(reference.event)
        return self.field_of(replace(reference, event=Variable(variable)), variable)

    def whole(self, reference: EventRef, type: DataType, current: CurrentIndex | None = None) -> str:
        """One event with all its attributes, or an iteration with all its variables; of a list, all of its
        elements."""
        if isinstance(type, Array):
            # Inside of the lambda nothing but its own parameter is named.
            one = self.whole(LambdaElement(reference, "e"), type.element)
            return f"transform({self.event(reference, current)}, e -> {one})"
        assert isinstance(type, Struct)
        bodies = self.closures.get(variable_of(reference))
        parts = []
        for part in type.fields:
            if bodies is None:
                text = self.value(Attribute(reference, part.name, part.type), current)
            else:
                variables = [name for name in bodies if bare(name) == bare(part.name)]
                # A branch that can never be taken is not in the pattern any more.
                text = f"CAST(NULL AS {spark_type(part.type)})"
                if variables:
                    text = self.whole(InnerVariable(reference, variables[0]), part.type, current)
            parts.append(f"{literal(bare(part.name), STRING)}, {text}")
        struct = f"named_struct({', '.join(parts)})"
        event = self.event(reference, current)
        return f"IF({event} IS NULL, NULL, {struct})" if self.may_be_null(reference) else struct

    def may_be_null(self, reference: EventRef) -> bool:
        """Whether there may be no such event, iteration or list."""
        match reference:
            case Variable(name):
                return name in self.absent
            case EveryElement(base):
                return self.may_be_null(base)
            case ListElement(base, index):
                return index != Index("CURRENT") or self.may_be_null(base)
        return not isinstance(reference, LambdaElement)


def variable_of(reference: EventRef) -> str:
    """The variable whose event, list or iteration is reached."""
    return list_names.variable_of(reference.base if isinstance(reference, LambdaElement) else reference)


def _plus(text: str, number: int) -> str:
    """
    >>> _plus("i", 0), _plus("i", -2), _plus("i", 1)
    ('i', 'i - 2', 'i + 1')
    """
    return f"{text} {'-' if number < 0 else '+'} {abs(number)}" if number else text


def _near(index: Index) -> Index:
    """The index, or one that no list reaches either, but INT does.

    >>> _near(Index("LAST", -3_000_000_000)).offset
    -2147483646
    """
    most = 2**31 - 2
    return replace(index, offset=max(-most, min(most, index.offset)))


# Sums and averages of arrays, from the first value to the last; NULL where the result does not fit its
# type.
#
# The lambdas use their own parameters only, so that they cannot hide a column.

# No list is long enough for a sum of 64-bit numbers to need more digits.
_EXACT = Decimal(38, 0)
_COUNT = Decimal(10, 0)


def total(array: str, known: str, type: DataType, result: DataType) -> str:
    """The sum of the values of an array; `known` are those that are not NULL.

    >>> from neelc.ir.types import INT
    >>> print(total("b.n", "array_compact(b.n)", INT, BIGINT))
    aggregate(b.n, CAST(NULL AS BIGINT), (s, v) -> coalesce(s + v, s, v))

    A sum of BIGINTs must fit at the end, whatever it was on the way.

    >>> print(total("b.n", "array_compact(b.n)", BIGINT, BIGINT))  # doctest: +NORMALIZE_WHITESPACE
    aggregate(b.n, CAST(NULL AS DECIMAL(38, 0)), (s, v) -> coalesce(s + v, s, v),
      s -> try_cast(s AS BIGINT))
    """
    if type in INTERVALS:
        unit, number = _unit(type)
        return _running_sum(_in_units(array, unit), _EXACT, "s + v", f"try_cast(s AS {number}) * {unit}")
    if type == BIGINT:
        return _running_sum(array, _EXACT, "s + v", "try_cast(s AS BIGINT)")
    if not isinstance(type, Decimal):
        return _running_sum(array, result, "s + v")
    if type.precision + 10 < 38:
        return _running_sum(array, result, f"CAST(s + v AS {spark_type(result)})")
    held, step = _held(type)
    end = "acc.s" if held == result else f"CAST(acc.s AS {spark_type(result)})"
    return _counted(known, f"CAST(0 AS {spark_type(held)})", step, f"IF(acc.n > 0, {end}, NULL)")


def average(known: str, type: DataType, result: DataType) -> str:
    """The average of values that are not NULL."""
    if type in INTERVALS:
        unit, number = _unit(type)
        half_up = "(2 * abs(acc.s) + acc.n) DIV (2 * acc.n)"
        end = f"IF(acc.n > 0, try_cast(IF(acc.s < 0, -({half_up}), {half_up}) AS {number}) * {unit}, NULL)"
        return _counted(_in_units(known, unit), f"CAST(0 AS {spark_type(_EXACT)})", "acc.s + v", end)
    if isinstance(type, Decimal):
        assert isinstance(result, Decimal)
        held, step = _held(type)
        end = f"IF(acc.n > 0, {_quotient(type, result)}, NULL)"
        return _counted(known, f"CAST(0 AS {spark_type(held)})", step, end)
    assert result == DOUBLE
    return _counted(known, "-0D", "acc.s + v", "try_divide(acc.s, acc.n)")


def _running_sum(array: str, held: DataType, plus: str, end: str = "") -> str:
    """A sum that cannot fail on the way: NULL until there is a value, and NULLs add nothing."""
    finish = f", s -> {end}" if end else ""
    return f"aggregate({array}, CAST(NULL AS {spark_type(held)}), (s, v) -> coalesce({plus}, s, v){finish})"


def _counted(known: str, zero: str, step: str, end: str) -> str:
    """A sum beside the number of its values; once it is NULL it remains so."""
    begin = f"named_struct('n', 0L, 's', {zero})"
    return (
        f"aggregate({known}, {begin}, (acc, v) -> named_struct('n', acc.n + 1L, 's', {step}), acc -> {end})"
    )


def _unit(interval: DataType) -> tuple[str, str]:
    """What intervals are counted in, and the type that holds the count of one."""
    return (MICROSECOND, "BIGINT") if interval == DAY_INTERVAL else ("INTERVAL '1' MONTH", "INT")


def _in_units(array: str, unit: str) -> str:
    return f"transform({array}, v -> v DIV {unit})"


def _held(type: Decimal) -> tuple[Decimal, str]:
    """The type of a sum on the way, and how a value is added to it.

    Spark's `+` makes a type of one digit more, and for the 39th it drops a place: the sum, and each value,
    has less than 38 digits if there are places to lose. Once they do not fit, there is NULL; the reference
    interpreter has more digits on the way.
    """
    if type.precision + 10 < 38:
        held = Decimal(type.precision + 10, type.scale)
        return held, f"CAST(acc.s + v AS {spark_type(held)})"
    held = Decimal(38 if type.scale <= 6 else 37, type.scale)
    is_wide = type.precision > 36 and type.scale > 6
    value = f"try_cast(v AS {spark_type(Decimal(36, type.scale))})" if is_wide else "v"
    return held, f"try_cast(try_add(acc.s, {value}) AS {spark_type(held)})"


def _quotient(type: Decimal, result: Decimal) -> str:
    """The average of DECIMALs from their sum and number. Of many digits, Spark's quotient has too few places:
    then it is put together from the whole number and the rest. Of the whole number, the first of 38 digits is
    missing: there is NULL."""
    count = f"CAST(acc.n AS {spark_type(_COUNT)})"
    if type.precision <= NARROW:
        return f"CAST(acc.s / {count} AS {spark_type(result)})"
    rest = f"acc.s % {count}"
    whole = f"try_cast(try_divide(acc.s - {rest}, {count}) AS {spark_type(Decimal(37 - result.scale, 0))})"
    part = f"CAST({rest} / {count} AS {spark_type(Decimal(result.scale + 1, result.scale))})"
    return f"try_cast({whole} + {part} AS {spark_type(result)})"


# Aggregates over the elements of a list, by Spark's functions of arrays.
#
# Each is given the text of an array of values, NULLs among them, and has the value of the reference
# interpreter: NULLs are left out, sums go from the first element to the last, what does not fit is NULL.


@dataclass(frozen=True)
class ListValues:
    """An array: its text, the type of its elements, whether they may be NULL and whether it may be."""

    text: str
    type: DataType
    holds_null: bool = True
    may_be_null: bool = False

    @property
    def known(self) -> str:
        """The values that are not NULL."""
        return f"array_compact({self.text})" if self.holds_null else self.text

    def or_empty(self, text: str, empty: str) -> str:
        """Of no list the aggregate is that of an empty one."""
        return f"coalesce({text}, {empty})" if self.may_be_null else text


def over_list(name: str, values: ListValues, result: DataType, distinct: bool = False) -> str:
    """The text of an aggregate of type `result`.

    >>> from neelc.ir.types import BIGINT, DOUBLE
    >>> prices = ListValues("b.price", DOUBLE)
    >>> print(over_list("count", prices, BIGINT), over_list("max", prices, DOUBLE, distinct=True))
    CAST(array_size(array_compact(b.price)) AS BIGINT) array_max(array_distinct(b.price))
    """
    if distinct:
        values = _distinct(values)
    return AGGREGATES[name](values, result)


def _distinct(values: ListValues) -> ListValues:
    return ListValues(f"array_distinct({values.text})", values.type, values.holds_null, values.may_be_null)


def _count(values: ListValues, _: DataType) -> str:
    return _size(values, values.known)


def _count_if(values: ListValues, _: DataType) -> str:
    return _size(values, f"filter({values.text}, v -> v)")


def _size(values: ListValues, text: str) -> str:
    return f"CAST({values.or_empty(f'array_size({text})', '0')} AS BIGINT)"


def _list(values: ListValues, _: DataType) -> str:
    return values.or_empty(values.known, "array()")


def _set(values: ListValues, result: DataType) -> str:
    return _list(_distinct(values), result)


def _first(values: ListValues, _: DataType) -> str:
    return f"get({values.known}, 0)"


def _last(values: ListValues, _: DataType) -> str:
    return f"try_element_at({values.known}, -1)"


def _least(values: ListValues, _: DataType) -> str:
    """Also whether all are TRUE: FALSE is less."""
    return f"array_min({values.text})"


def _greatest(values: ListValues, _: DataType) -> str:
    """Also whether one is TRUE."""
    return f"array_max({values.text})"


def _sum(values: ListValues, result: DataType) -> str:
    return total(values.text, values.known, values.type, result)


def _average(values: ListValues, result: DataType) -> str:
    return average(values.known, values.type, result)


def _variance(sample: int, root: bool = False) -> Callable[[ListValues, DataType], str]:
    """Welford's way: one pass, without the difference of two large sums."""
    mean = "acc.mean + (v - acc.mean) / (acc.n + 1D)"
    squares = f"acc.squares + (v - acc.mean) * (v - ({mean}))"
    step = f"named_struct('n', acc.n + 1D, 'mean', {mean}, 'squares', {squares})"
    divisor = f"(acc.n - {sample})" if sample else "acc.n"
    variance = f"IF(acc.n > {sample}, acc.squares / {divisor}, NULL)"
    end = f"sqrt({variance})" if root else variance

    def text(values: ListValues, _: DataType) -> str:
        zero = "named_struct('n', 0D, 'mean', 0D, 'squares', 0D)"
        return f"aggregate({values.known}, {zero}, (acc, v) -> {step}, acc -> {end})"

    return text


def _bits(op: str) -> Callable[[ListValues, DataType], str]:
    def text(values: ListValues, result: DataType) -> str:
        zero = f"CAST(NULL AS {spark_type(result)})"
        return f"aggregate({values.text}, {zero}, (s, v) -> coalesce(s {op} v, s, v))"

    return text


def _median(values: ListValues, _: DataType) -> str:
    middle = "IF(array_size(s) % 2 = 1, get(s, CAST(array_size(s) DIV 2 AS INT)), {})"
    lower, upper = (f"get(s, CAST(array_size(s) DIV 2 AS INT){less})" for less in (" - 1", ""))
    both = f"IF({lower} = {upper}, {lower}, {lower} + 0.5D * ({upper} - {lower}))"
    return f"get(transform(array(array_sort({values.known})), s -> {middle.format(both)}), 0)"


def _moment(end: str) -> Callable[[ListValues, DataType], str]:
    """skewness and kurtosis: what is summed up is updated as Spark's own aggregates do it."""
    delta, part = "(v - acc.mean)", "((v - acc.mean) / (acc.n + 1D))"
    second = f"(acc.m2 + {delta} * ({delta} - {part}))"
    third = f"(acc.m3 - 3D * {part} * {second} + {delta} * ({delta} * {delta} - {part} * {part}))"
    fourth = (
        f"(acc.m4 - 4D * {part} * {third} - 6D * {part} * {part} * {second}"
        f" + {delta} * ({delta} * {delta} * {delta} - {part} * {part} * {part}))"
    )
    step = (
        f"named_struct('n', acc.n + 1D, 'mean', acc.mean + {part}, 'm2', {second}, 'm3', {third},"
        f" 'm4', {fourth})"
    )

    def text(values: ListValues, _: DataType) -> str:
        zero = "named_struct('n', 0D, 'mean', 0D, 'm2', 0D, 'm3', 0D, 'm4', 0D)"
        finish = f"IF(acc.m2 = 0, NULL, {end})"
        return f"aggregate({values.known}, {zero}, (acc, v) -> {step}, acc -> {finish})"

    return text


_CORRELATION = "IF(acc.n > 1, try_divide(acc.p, sqrt(acc.q1 * acc.q2)), NULL)"
_SLOPE = "try_divide(acc.p, acc.q2)"
_OF_PAIRS = {
    "corr": _CORRELATION,
    "covar_pop": "acc.p / acc.n",
    "covar_samp": "IF(acc.n > 1, try_divide(acc.p, acc.n - 1D), NULL)",
    "regr_avgx": "acc.m2",
    "regr_avgy": "acc.m1",
    "regr_intercept": f"acc.m1 - {_SLOPE} * acc.m2",
    "regr_r2": f"IF(acc.q2 = 0, NULL, IF(acc.q1 = 0, 1D, {_CORRELATION} * {_CORRELATION}))",
    "regr_slope": _SLOPE,
    "regr_sxx": "acc.q2",
    "regr_sxy": "acc.p",
    "regr_syy": "acc.q1",
}


def _of_pairs(end: str) -> Callable[[ListValues, DataType], str]:
    """Of pairs: their number, means, and the sums of products of the distances from them."""
    one, other = f"v.{BY_VALUE}", f"v.{BY_ORDER}"
    mean, second = (f"(acc.{m} + ({x} - acc.{m}) / (acc.n + 1D))" for m, x in (("m1", one), ("m2", other)))
    product = f"acc.p + ({one} - acc.m1) * ({other} - {second})"
    squares = f"acc.q1 + ({one} - acc.m1) * ({one} - {mean})"
    more = f"acc.q2 + ({other} - acc.m2) * ({other} - {second})"
    step = (
        f"named_struct('n', acc.n + 1D, 'm1', {mean}, 'm2', {second}, 'p', {product}, 'q1', {squares},"
        f" 'q2', {more})"
    )

    def text(values: ListValues, _: DataType) -> str:
        zero = "named_struct('n', 0D, 'm1', 0D, 'm2', 0D, 'p', 0D, 'q1', 0D, 'q2', 0D)"
        return f"aggregate({values.known}, {zero}, (acc, v) -> {step}, acc -> IF(acc.n > 0, {end}, NULL))"

    return text


def _by(extreme: str, sign: str) -> Callable[[ListValues, DataType], str]:
    """max_by and min_by, of structs: of several that are equal, the first one."""

    def text(values: ListValues, _: DataType) -> str:
        ranked = f"transform({values.known}, (v, i) -> struct(v.{BY_ORDER}, {sign}i AS place))"
        return f"get({values.known}, {sign}{extreme}({ranked}).place).{BY_VALUE}"

    return text


def _percentile(values: ListValues, _: DataType) -> str:
    """Of pairs of a value and a share: the value at the place of that share, or between its neighbours."""
    place = f"(array_size(s) - 1) * get(s, 0).{BY_ORDER}"
    low, high = (f"get(s, CAST({end}({place}) AS INT)).{BY_VALUE}" for end in ("floor", "ceil"))
    between = f"{low} + ({place} - floor({place})) * ({high} - {low})"
    return f"get(transform(array(array_sort({values.known})), s -> IF({low} = {high}, {low}, {between})), 0)"


AGGREGATES: dict[str, Callable[[ListValues, DataType], str]] = {
    "any": _greatest,
    "any_value": _first,
    "avg": _average,
    **{name: _of_pairs(end) for name, end in _OF_PAIRS.items()},
    "bit_and": _bits("&"),
    "bit_or": _bits("|"),
    "bit_xor": _bits("^"),
    "bool_and": _least,
    "bool_or": _greatest,
    "collect_list": _list,
    "collect_set": _set,
    "count": _count,
    "count_if": _count_if,
    "every": _least,
    "first": _first,
    "kurtosis": _moment("acc.n * acc.m4 / (acc.m2 * acc.m2) - 3D"),
    "last": _last,
    "max": _greatest,
    "max_by": _by("array_max", "-"),
    "mean": _average,
    "median": _median,
    "min": _least,
    "min_by": _by("array_min", ""),
    "percentile": _percentile,
    "regr_count": _count,
    "skewness": _moment("sqrt(acc.n) * acc.m3 / sqrt(acc.m2 * acc.m2 * acc.m2)"),
    "some": _greatest,
    "stddev": _variance(1, root=True),
    "stddev_pop": _variance(0, root=True),
    "stddev_samp": _variance(1, root=True),
    "sum": _sum,
    "var_pop": _variance(0),
    "var_samp": _variance(1),
    "variance": _variance(1),
}


# Expressions over a match: its events, the elements of its lists, and aggregates over those.
#
# An expression of many values, `b[].price * b[].n`, is written once, for the element that a lambda has a
# name for. A condition with `i` is checked at every place of the list that `i` runs over.

_TIMES = frozenset(("match_start", "match_end"))


def over_match(expression: Expr, layout: MatchLayout, properties: Refs) -> str:
    """The text of a bound expression; `properties` gives the text of what belongs to no event: the match's
    times.

    A condition with `i` is TRUE where it holds for every i, else FALSE or NULL.

    >>> from neelc.ir.expressions import Binary, Variable
    >>> from neelc.ir.types import BIGINT, INT
    >>> layout = MatchLayout("SECOND", str.lower, lambda reference, _: reference.name, lambda _, name: name)
    >>> b = Variable("b")
    >>> this, previous = (Attribute(ListElement(b, Index("CURRENT", -k)), "x", INT) for k in (0, 1))
    >>> print(over_match(Binary(">", this, previous), layout, lambda _: None))
    forall(transform(b, (x, i) -> i < 1 OR x.x > get(b, i - 1).x), ok -> ok)
    >>> twice = Binary("+", Attribute(EveryElement(b), "x", INT), Attribute(EveryElement(b), "x", INT))
    >>> print(over_match(Aggregate("max", twice, INT), layout, lambda _: None))
    array_max(transform(b, x -> try_add(x.x, x.x)))
    """
    changed = transform(expression, _unseen)
    assert isinstance(changed, Expr)
    expression = changed
    columns = frozenset(layout.struct(name).casefold() for name in names_in(expression))
    writer = _Writer(layout, properties, columns | _TIMES)
    if not any(map(_is_current, walk(expression))):
        return writer.text(expression)
    texts = [writer.at_every_place(conjunct) for conjunct in conjuncts(expression)]
    return texts[0] if len(texts) == 1 else " AND ".join(f"({text})" for text in texts)


def elements_of(aggregate: Aggregate, layout: MatchLayout, properties: Refs) -> str:
    """The text of the array that a user's function is given; NULL where there is no list."""
    argument = transform(aggregate.argument, _unseen) if aggregate.argument is not None else None
    assert isinstance(argument, Expr)
    columns = frozenset(layout.struct(name).casefold() for name in names_in(argument))
    return _Writer(layout, properties, columns | _TIMES).array(argument)


def registered_in(expression: Expr) -> list[Aggregate]:
    """The calls of users' functions in an expression, each as `over_match` needs it: of whole lists, since
    a function cannot be called for each `i`."""
    aggregates = (node for node in walk(transform(expression, _unseen)) if isinstance(node, Aggregate))
    called = [node for node in aggregates if node.function is not None]
    return [node for node in called if not any(map(_is_current, walk(node)))]


@dataclass(frozen=True)
class _There(Expr):
    """An event whose presence alone matters."""

    event: EventRef


def _unseen(node: Node) -> Node | None:
    match node:
        case IsNull(WholeEvent(event), negated):
            return IsNull(_There(event), negated)
    return None


def _is_current(node: Node) -> bool:
    return isinstance(node, Index) and node.anchor == "CURRENT"


@dataclass(frozen=True)
class _Writer:
    """`taken` are the names of columns and of the parameters of lambdas around: a new one hides none."""

    layout: MatchLayout
    properties: Refs
    taken: frozenset[str]
    current: CurrentIndex | None = None

    def text(self, expression: Expr) -> str:
        return sql(expression, self.reference)

    def reference(self, node: Expr) -> str | None:
        if is_array_of_path(node):
            return self.array(node)
        match node:
            case Attribute() | EventTime():
                return self.layout.value(node, self.current)
            case _There(event):
                return self.layout.event(event, self.current)
            case WholeEvent(event, type):
                return self.layout.whole(event, type, self.current)
            case Aggregate(function=function) if function is not None:
                return self.properties(node)
            case Aggregate(name, Expr() as argument, type, distinct) if is_many(argument):
                return over_list(name, self.values(name, argument, distinct), type, distinct)
        return self.properties(node)

    def array(self, expression: Expr) -> str:
        """What the expression is for each element of the list that it ranges over."""
        return self.fields(expression) or self.transformed(expression)

    def fields(self, path: Expr) -> str | None:
        """`b.price`: Spark's own word for a field of every struct of an array."""
        match path:
            case FieldReference(base, name):
                structs = self.fields(base)
                return None if structs is None else quoted_field(structs, bare(name))
            case _There(event) if _is_field_of_all(event):
                return self.layout.event(event, self.current)
            case Attribute() | EventTime():
                name = self.layout.field_name(path)
                is_plain = name != START and _is_field_of_all(path.event)
                return quoted_field(self.layout.event(path.event, self.current), name) if is_plain else None
        return None

    def transformed(self, expression: Expr) -> str:
        """For lists in a list, one after the other; one that is not there has no element."""
        each = next(lists(expression))
        name = self.fresh("x")
        one = _of_element(expression, each, LambdaElement(each.base, name))
        inside = replace(self, taken=self.taken | {name})
        elements = self.layout.event(each, self.current)
        if is_many(one):
            return f"flatten(transform({elements}, {name} -> coalesce({inside.array(one)}, array())))"
        return f"transform({elements}, {name} -> {inside.text(one)})"

    def values(self, name: str, argument: Expr, distinct: bool) -> ListValues:
        """The values of an aggregate's argument. To be counted, events need not be looked into."""
        each = next(lists(argument))
        type = type_of(argument, inside_aggregate=True)
        if name == "count" and isinstance(argument, WholeEvent) and not distinct:
            argument = _There(argument.event)
        is_element = isinstance(argument, WholeEvent | _There) and argument.event == each
        return ListValues(self.array(argument), type, not is_element, self.layout.may_be_null(each))

    def at_every_place(self, conjunct: Expr) -> str:
        """A condition for every i; where there is no list, there is none. For the first elements, one that
        looks back holds by definition."""
        known = condition(conjunct)
        if known.ranged is None:
            return self.text(conjunct)
        elements = self.layout.event(known.ranged)
        current = CurrentIndex(known.ranged, self.fresh("x"), self.fresh("i"))
        inside = replace(self, taken=self.taken | {current.element, current.place}, current=current)
        body = inside.text(conjunct)
        if _needs_place(conjunct, current):
            body = f"{current.place} < {known.lag} OR {body}" if known.lag else body
            places = f"transform({elements}, ({current.element}, {current.place}) -> {body})"
            every = f"forall({places}, ok -> ok)"
        else:
            every = f"forall({elements}, {current.element} -> {body})"
        return f"{elements} IS NULL OR {every}" if self.layout.may_be_null(known.ranged) else every

    def fresh(self, wish: str) -> str:
        names = (wish, *(f"{wish}{number}" for number in range(2, len(self.taken) + 3)))
        return next(name for name in names if name not in self.taken)


def _is_field_of_all(reference: EventRef) -> bool:
    """Whether what is reached is a field of each element of one list."""
    while isinstance(reference, InnerVariable):
        reference = reference.base
    return isinstance(reference, EveryElement) and not is_many(reference.base)


def _of_element(expression: Expr, each: EveryElement, element: LambdaElement) -> Expr:
    """The expression with one element in place of a list; aggregates inside it have lists of their own."""

    def change(node: Node) -> Node:
        if node == each:
            return element
        return node if isinstance(node, Aggregate) else map_children(node, change)

    changed = change(expression)
    assert isinstance(changed, Expr)
    return changed


def _needs_place(conjunct: Expr, current: CurrentIndex) -> bool:
    """Whether the condition names more than the element at i."""
    this = ListElement(current.base, Index("CURRENT"))
    return sum(map(_is_current, walk(conjunct))) > sum(node == this for node in walk(conjunct))


# Users' functions of lists, in RETURN and in conditions on complete matches: a column for each of them.
#
# Spark SQL has no such functions. Their lists are computed as columns and passed to Python, and the results
# are columns that expressions name. A function of another function's result is called after it.

Columns = Mapping[Aggregate, str]
"""For calls of functions: the names of their columns. No variable's column has a name with a blank."""

Values = Callable[[Aggregate, Columns], str]
"""The text of the array that a function is given."""


def called(
    source: str, expressions: Iterable[Expr], values: Values, taken: set[str], known: Columns
) -> tuple[list[Let], Columns]:
    """The relations that add the results of functions to matches, which already have the `known` ones; the
    last relation replaces `source`."""
    functions = dict.fromkeys(node for expression in expressions for node in registered_in(expression))
    waiting = [node for node in functions if node not in known]
    columns = dict(known)
    lets: list[Let] = []
    while waiting:
        ready = [node for node in waiting if not any(inner in waiting for inner in _inside(node))]
        calls, items = [], []
        for number, node in enumerate(ready, len(columns) + 1):
            items.append((values(node, columns), f"list {number}"))
            calls.append(
                FunctionCall(node.name, f"list {number}", f"{node.name} {number}", spark_type(node.type))
            )
        listed, with_results = free("lists", taken), free("called", taken)
        lets.append(Let(listed, Extend(source, tuple(items)), "What users' functions are given."))
        lets.append(Let(with_results, CalledFunctions(listed, tuple(calls)), "What they give."))
        columns |= {node: call.name for node, call in zip(ready, calls, strict=True)}
        waiting = [node for node in waiting if node not in columns]
        source = with_results
    return lets, columns


def _inside(node: Aggregate) -> Iterator[Aggregate]:
    if node.argument is not None:
        yield from registered_in(node.argument)


def no_inner(closure: str, name: str) -> str:
    """For matches without closures of composites."""
    raise AssertionError(f"no field for {name} of {closure}")


@dataclass(frozen=True)
class MatchRelation:
    """A relation of matches: a struct for each variable, an array of structs for each list, and `match_start`
    and `match_end` as numbers of `unit`.

    `struct`, `field`, `inner`, `absent` and `match` are those of a `MatchLayout`. With `weighed` matches the
    column `confidence` is there, too. With `listed`, a row has the matches of a group as a list of that name,
    and `match` is the first of them. `has_own_times`: the times stand beside the struct `match`, not in it.
    """

    name: str
    query: Match
    unit: str
    struct: Callable[[str], str]
    field: Field
    absent: frozenset[EventName]
    inner: InnerField = no_inner
    weighed: bool = False
    called: Columns = dataclasses.field(default_factory=dict)
    match: str = ""
    listed: str = ""
    has_own_times: bool = False

    def sql(self, expression: Expr) -> str:
        """The text of what RETURN has, or of a condition on complete matches."""
        return over_match(expression, self._layout, self._property)

    def elements(self, aggregate: AggregateOfList, called: Columns) -> str:
        """The text of the array that a user's function is given, if others have been called."""
        return elements_of(aggregate, self._layout, replace(self, called=called)._property)

    @property
    def _layout(self) -> MatchLayout:
        closures = closures_of(self.query.pattern)
        return MatchLayout(self.unit, self.struct, self.field, self.inner, self.absent, closures, self.match)

    def _property(self, node: Expr) -> str | None:
        match node:
            case MatchProperty(name) if bare(name).lower() == "confidence":
                return "confidence" if self.weighed else "1.0D"
            case MatchProperty(name) if name == MATCH_NUMBER:
                columns = (self.sql(one.expression) for one in self.query.numbered or ())
                by = ", ".join(("match_start", "match_end", *columns))
                return f"CAST(row_number() OVER (ORDER BY {by}) AS BIGINT)"
            case MatchProperty(name):
                column = bare(name).lower()
                is_inside = self.match and not self.has_own_times
                number = quoted_field(self.match, column) if is_inside else column
                return as_time(number, self.unit, self.query.clock)
            case AggregateOfList() if node in self.called:
                return identifier(self.called[node])
            case AggregateOfList() if self.listed:
                return self._over_matches(node)
        return None

    def _over_matches(self, aggregate: AggregateOfList) -> str:
        """An aggregate over the matches of a list."""
        argument = aggregate.argument
        if argument is None:
            return f"CAST(array_size({self.listed}) AS BIGINT)"
        values = f"transform({self.listed}, {ONE_MATCH} -> {self.each.sql(argument)})"
        type = type_of(argument, inside_aggregate=True)
        return over_list(aggregate.name, ListValues(values, type), aggregate.type, aggregate.distinct)

    @property
    def each(self) -> MatchRelation:
        """Any match of the list, where a lambda has a name for it."""
        return replace(self, match=ONE_MATCH, listed="")


ONE_MATCH = "m"
"""A match of a list, in lambdas: none of those that are inside of them has this name."""


def listed_results(
    matches: MatchRelation, residual: tuple[Expr, ...], apart: tuple[Expr, ...], taken: set[str], name: str
) -> Iterator[Let]:
    """The relations that make the result out of groups of matches, each a row with the list of its matches,
    which are `apart` by more than what is equal there. Nothing is grouped, so this can follow a stateful
    operator."""
    if residual:
        complete, met = free("complete", taken), free("met", taken)
        condition = " AND ".join(f"({matches.each.sql(conjunct)})" for conjunct in residual)
        kept = f"filter({matches.listed}, {ONE_MATCH} -> {condition})"
        comment = "Conditions on complete matches."
        yield Let(complete, SelectColumns(matches.name, ((kept, matches.listed),)), comment)
        yield Let(met, Where(complete, f"array_size({matches.listed}) > 0"), "Groups that have matches.")
        matches = replace(matches, name=met)
    if apart:
        lets = list(_apart(matches, apart, taken))
        yield from lets
        matches = replace(matches, name=lets[-1].name)
    items = tuple((matches.sql(output.expression), output.name) for output in matches.query.outputs)
    yield Let(name, SelectColumns(matches.name, items), "RETURN: aggregates over the matches of each list.")


def _apart(matches: MatchRelation, apart: tuple[Expr, ...], taken: set[str]) -> Iterator[Let]:
    """Lists of matches, each cut into lists of those that are equal in some expressions."""
    keyed, keys, lists = (free(wish, taken) for wish in ("keyed", "keys", "lists"))
    values = ", ".join(matches.each.sql(expression) for expression in apart)
    pairs = f"transform({matches.listed}, {ONE_MATCH} -> struct(struct({values}) AS key, {ONE_MATCH} AS own))"
    yield Let(keyed, SelectColumns(matches.name, ((pairs, "pairs"),)), "What keeps matches apart.")
    distinct = (("pairs", "pairs"), ("explode(array_distinct(pairs.key))", "key"))
    yield Let(keys, SelectColumns(keyed, distinct))
    own = f"transform(filter(pairs, {ONE_MATCH} -> {ONE_MATCH}.key <=> key), {ONE_MATCH} -> {ONE_MATCH}.own)"
    yield Let(lists, SelectColumns(keys, ((own, matches.listed),)), "A list for each group.")


def results(
    matches: MatchRelation, residual: tuple[Expr, ...], taken: set[str], name: str, as_stream: bool
) -> Iterator[Let]:
    """The relations that make the result out of matches. One that is read as a stream has its times as
    numbers."""
    source = matches.name
    if residual:
        lets, matches = _with_calls(matches, residual, taken)
        yield from lets
        source = free("complete", taken)
        condition = " AND ".join(f"({matches.sql(conjunct)})" for conjunct in residual)
        yield Let(source, Where(matches.name, condition), "Conditions on complete matches.")
    outputs = tuple(output.expression for output in matches.query.outputs)
    lets, matches = _with_calls(replace(matches, name=source), outputs, taken)
    yield from lets
    source = matches.name
    items: Items = tuple((matches.sql(output.expression), output.name) for output in matches.query.outputs)
    own: Items = (
        (("match_start", "match_start_number"), ("match_end", "match_end_number")) if as_stream else ()
    )
    query = matches.query
    if query.aggregated:
        yield from _aggregated(query, source, items, taken, name)
    elif query.distinct and as_stream:
        selected = free("rows", taken)
        yield Let(selected, SelectColumns(source, items + own), "RETURN")
        groups = tuple((identifier(column), column) for _, column in items)
        times = (("min(match_start_number)", own[0][1]), ("max(match_end_number)", own[1][1]))
        yield Let(
            name,
            AggregateRelation(selected, groups, times),
            "DISTINCT: a row stands for all matches equal to it.",
        )
    else:
        comment = "RETURN DISTINCT" if query.distinct else "RETURN"
        yield Let(name, SelectColumns(source, items + own, distinct=query.distinct), comment)


def _with_calls(
    matches: MatchRelation, expressions: tuple[Expr, ...], taken: set[str]
) -> tuple[list[Let], MatchRelation]:
    """The matches with what users' functions give that the expressions call."""
    lets, columns = called(matches.name, expressions, matches.elements, taken, matches.called)
    return lets, replace(matches, name=lets[-1].name if lets else matches.name, called=columns)


def _aggregated(query: Match, source: str, items: Items, taken: set[str], name: str) -> Iterator[Let]:
    over = [is_over_matches(output.expression) for output in query.outputs]
    groups = tuple(item for item, many in zip(items, over, strict=True) if not many)
    aggregates = tuple(item for item, many in zip(items, over, strict=True) if many)
    comment = "RETURN: aggregates over all matches."
    if groups + aggregates == items:
        yield Let(name, AggregateRelation(source, groups, aggregates), comment)
    else:  # Spark puts what it groups by first
        grouped = free("grouped", taken)
        yield Let(grouped, AggregateRelation(source, groups, aggregates), comment)
        columns = tuple((identifier(column), column) for _, column in items)
        yield Let(name, SelectColumns(grouped, columns), "The columns in the order of RETURN.")
