"""Aggregates over rows, and functions of windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neelc.ir.types import (
    BIGINT,
    BOOLEAN,
    DAY_INTERVAL,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    VOID,
    Array,
    DataType,
    Decimal,
    Struct,
    StructField,
)
from neelc.runtime.values.statistics import PAIRED
from neelc.scalar import decimals
from neelc.scalar.duckdb.casts import cast_to
from neelc.scalar.duckdb.evaluated import evaluated
from neelc.scalar.duckdb.operators import condition
from neelc.scalar.duckdb.pieces import (
    HERE,
    DuckText,
    NameScope,
    UnspelledOperation,
    WrongQuery,
    aggregate_of,
    duck_type,
    sortable,
    unused,
)
from neelc.scalar.type_of import INTERVALS

Pieces = Sequence[DuckText]
SpellAggregate = Callable[[Pieces, str, NameScope], DuckText]
"""The arguments, and `DISTINCT ` or nothing, which stands before them."""

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
SUMMED = 28
"""Decimals of so many digits: no number of them has a sum that 38 digits do not hold."""


def _number(piece: DuckText, name: str, scope: NameScope) -> DuckText:
    """What can be added up."""
    if piece.type in (STRING, VOID, FLOAT):
        return cast_to(piece, DOUBLE, scope)
    if piece.type in (*INTEGERS, DOUBLE, *INTERVALS) or isinstance(piece.type, Decimal):
        return piece
    raise UnspelledOperation(f"{name} of {piece.type}")


def _sum(tried: bool) -> SpellAggregate:
    def sum(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
        value = _number(pieces[0], "sum", scope)
        if value.type == DOUBLE:
            return aggregate_of(f"sum({distinct}{value.text}){HERE}", DOUBLE)
        type: DataType = value.type if value.type in INTERVALS else BIGINT
        if isinstance(value.type, Decimal):
            type = decimals.bounded(value.type.precision + 10, value.type.scale)
            if value.type.precision > SUMMED:
                return evaluated("sum", [listed(value, distinct)], type, scope).opened()
        cast = "CAST" if scope.strict and not tried else "TRY_CAST"
        return aggregate_of(f"{cast}(sum({distinct}{value.text}){HERE} AS {duck_type(type)})", type)

    return sum


def listed(value: DuckText, distinct: str = "") -> DuckText:
    """All values that are not NULL. They are left out afterwards: FILTER may follow the aggregate."""
    name = unused("e", value.text)
    text = f"coalesce(list({distinct}{value.text}){HERE}, [])"
    return DuckText(f"list_filter({text}, lambda {name}: {name} IS NOT NULL)", Array(value.type))


def _average(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
    value = _number(pieces[0], "avg", scope)
    if value.type in (*INTEGERS, DOUBLE):
        return aggregate_of(f"avg({distinct}{cast_to(value, DOUBLE, scope).text}){HERE}", DOUBLE)
    wide = value.type.precision > SUMMED if isinstance(value.type, Decimal) else False
    count = DuckText(
        f"CAST(nullif(count({distinct}{value.text}){HERE}, 0) AS DECIMAL(20, 0))", Decimal(20, 0)
    )
    if isinstance(value.type, Decimal):
        type: DataType = decimals.bounded(value.type.precision + 4, value.type.scale + 4)
        held = Decimal(38, value.type.scale)
        if wide:
            total = evaluated("sum", [listed(value, distinct)], held, scope)
        else:
            total = DuckText(f"CAST(sum({distinct}{value.text}){HERE} AS {duck_type(held)})", held)
        return evaluated("/", [total, count], type, scope).opened()
    total = DuckText(f"CAST(sum({distinct}{value.text}){HERE} AS DECIMAL(38, 0))", Decimal(38, 0))
    name = "average of days" if value.type == DAY_INTERVAL else "average of months"
    return evaluated(name, [total, count], value.type, scope).opened()


def _extreme(name: str) -> SpellAggregate:
    """max and min. Of nested values, DuckDB has another order where there is NULL inside."""

    def extreme(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
        (value,) = pieces
        if isinstance(value.type, Array | Struct):
            return aggregate_of(f"arg_{name}({value.text}, {sortable(value)}){HERE}", value.type)
        return aggregate_of(f"{name}({value.text}){HERE}", value.type)

    return extreme


def _by(name: str) -> SpellAggregate:
    """max_by and min_by."""

    def by(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
        value, order = pieces
        found = "arg_max_null" if name == "max_by" else "arg_min_null"
        return aggregate_of(f"{found}({value.text}, {sortable(order)}){HERE}", value.type)

    return by


def _spread(name: str, sample: int) -> SpellAggregate:
    """Variances and deviations. Of an infinity there is none."""

    def spread(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
        value = cast_to(pieces[0], DOUBLE, scope).text
        finite = f"{name}({distinct}CASE WHEN isfinite({value}) THEN {value} END){HERE}"
        nan = f"CASE WHEN count({distinct}{value}){HERE} > {sample} THEN CAST('nan' AS DOUBLE) END"
        infinite = f"bool_or(NOT isfinite({value})){HERE}"
        return aggregate_of(f"CASE WHEN {infinite} THEN {nan} ELSE {finite} END", DOUBLE)

    return spread


def _truth(name: str) -> SpellAggregate:
    def truth(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
        return aggregate_of(f"{name}({condition(pieces[0], scope, texts=True).text}){HERE}", BOOLEAN)

    return truth


def _count_if(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
    test = condition(pieces[0], scope, texts=True)
    return aggregate_of(f"count({distinct}CASE WHEN {test.text} THEN TRUE END){HERE}", BIGINT)


def _count_distinct(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
    """approx_count_distinct, where a plan counts: it may as well be exact. In what users write, the result
    would not be Spark's."""
    if scope.strict:
        raise UnspelledOperation("the function approx_count_distinct")
    return aggregate_of(f"count(DISTINCT {pieces[0].text}){HERE}", BIGINT)


def _collected(all_values: bool) -> SpellAggregate:
    """collect_list and collect_set, whose values have no order."""

    def collected(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
        return listed(pieces[0], distinct if all_values else "DISTINCT ").opened()

    return collected


def _end(name: str) -> SpellAggregate:
    """first and last; NULLs do not count if that is said."""

    def end(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
        value = pieces[0]
        if len(pieces) > 1 and pieces[1].value is True:
            if name == "first":
                return aggregate_of(f"any_value({value.text}){HERE}", value.type)
            return DuckText(f"list_extract({listed(value).text}, -1)", value.type).opened()
        return aggregate_of(f"{name}({value.text}){HERE}", value.type)

    return end


def _bits(name: str) -> SpellAggregate:
    return lambda pieces, distinct, scope: aggregate_of(
        f"{name}({distinct}{pieces[0].text}){HERE}", pieces[0].type
    )


def _statistic(name: str) -> SpellAggregate:
    """What the runtime computes of all values."""

    def statistic(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
        if scope.strict and pieces[0].type == BOOLEAN:
            raise WrongQuery("NEEL2106", f"{name} takes numbers, not BOOLEAN")
        value = cast_to(pieces[0], DOUBLE, scope)
        return evaluated(name, [listed(value, distinct)], DOUBLE, scope).opened()

    return statistic


PAIR = Struct((StructField("value", DOUBLE), StructField("by", DOUBLE)))


def _of_pairs(name: str) -> SpellAggregate:
    def of_pairs(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
        one, other = (cast_to(piece, DOUBLE, scope).text for piece in pieces)
        known = f"{one} IS NOT NULL AND {other} IS NOT NULL"
        pair = DuckText(f"CASE WHEN {known} THEN struct_pack(value := {one}, by := {other}) END", PAIR)
        type = BIGINT if name == "regr_count" else DOUBLE
        return evaluated(name, [listed(pair, distinct)], type, scope).opened()

    return of_pairs


def _numbered(name: str) -> SpellAggregate:
    """What counts the rows of a window."""

    def numbered(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
        inside = ", ".join(piece.text for piece in pieces)
        return aggregate_of(f"CAST({name}({inside}){HERE} AS INTEGER)", INT)

    return numbered


def _share(name: str) -> SpellAggregate:
    return lambda pieces, distinct, scope: aggregate_of(f"{name}(){HERE}", DOUBLE)


def _shifted(name: str, ignored: str = "") -> SpellAggregate:
    """lag and lead."""

    def shifted(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
        value, *rest = pieces
        rest = [*rest[:1], *(cast_to(one, value.type, scope) for one in rest[1:])]
        inside = ", ".join(piece.text for piece in (value, *rest))
        return aggregate_of(f"{name}({inside}{ignored}){HERE}", value.type)

    return shifted


def _of_frame(name: str) -> SpellAggregate:
    """first_value and last_value, by their places in a window."""

    def of_frame(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
        ignored = " IGNORE NULLS" if len(pieces) > 1 and pieces[1].value is True else ""
        return aggregate_of(f"{name}({pieces[0].text}{ignored}){HERE}", pieces[0].type)

    return of_frame


def _nth(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
    """nth_value, by a place that is written down."""
    value, place, *ignored = pieces
    if not isinstance(place.value, int) or place.value < 1:
        raise WrongQuery("NEEL2106", "the position of nth_value must be a literal number, 1 or more")
    words = " IGNORE NULLS" if ignored and ignored[0].value is True else ""
    return aggregate_of(f"nth_value({value.text}, {place.text}{words}){HERE}", value.type)


def _grouping(name: str) -> SpellAggregate:
    """Which columns are left out of a group."""

    def grouping(pieces: Pieces, distinct: str, scope: NameScope) -> DuckText:
        type = TINYINT if name == "grouping" else BIGINT
        inside = ", ".join(piece.text for piece in pieces)
        if not inside:
            raise WrongQuery("NEEL2109", f"{name} without GROUP BY")
        return aggregate_of(f"CAST(grouping({inside}) AS {duck_type(type)})", type)

    return grouping


AGGREGATES: dict[str, SpellAggregate] = {
    **{name: _of_pairs(name) for name in PAIRED},
    "any": _truth("bool_or"),
    "any_value": _end("first"),
    "approx_count_distinct": _count_distinct,
    "array_agg": _collected(True),
    "avg": _average,
    "bit_and": _bits("bit_and"),
    "bit_or": _bits("bit_or"),
    "bit_xor": _bits("bit_xor"),
    "bool_and": _truth("bool_and"),
    "bool_or": _truth("bool_or"),
    "collect_list": _collected(True),
    "collect_set": _collected(False),
    "count_if": _count_if,
    "every": _truth("bool_and"),
    "first": _end("first"),
    "first_value": _end("first"),
    "grouping": _grouping("grouping"),
    "grouping_id": _grouping("grouping_id"),
    "kurtosis": _statistic("kurtosis"),
    "last": _end("last"),
    "last_value": _end("last"),
    "max": _extreme("max"),
    "max_by": _by("max_by"),
    "mean": _average,
    "median": _statistic("median"),
    "min": _extreme("min"),
    "min_by": _by("min_by"),
    "skewness": _statistic("skewness"),
    "some": _truth("bool_or"),
    "std": _spread("stddev_samp", 1),
    "stddev": _spread("stddev_samp", 1),
    "stddev_pop": _spread("stddev_pop", 0),
    "stddev_samp": _spread("stddev_samp", 1),
    "sum": _sum(False),
    "try_avg": _average,
    "try_sum": _sum(True),
    "var_pop": _spread("var_pop", 0),
    "var_samp": _spread("var_samp", 1),
    "variance": _spread("var_samp", 1),
}
"""Spark's names -> how they are spelled."""

OF_WINDOWS: dict[str, SpellAggregate] = {
    "cume_dist": _share("cume_dist"),
    "dense_rank": _numbered("dense_rank"),
    "first": _of_frame("first_value"),
    "first_value": _of_frame("first_value"),
    "lag": _shifted("lag"),
    "lag ignoring nulls": _shifted("lag", " IGNORE NULLS"),
    "last": _of_frame("last_value"),
    "last_value": _of_frame("last_value"),
    "lead": _shifted("lead"),
    "lead ignoring nulls": _shifted("lead", " IGNORE NULLS"),
    "nth_value": _nth,
    "ntile": _numbered("ntile"),
    "percent_rank": _share("percent_rank"),
    "rank": _numbered("rank"),
    "row_number": _numbered("row_number"),
}
"""Those that stand before OVER only, or mean something else there."""

COUNTS: dict[str, tuple[int, int]] = {
    **dict.fromkeys((*PAIRED, "max_by", "min_by"), (2, 2)),
    **dict.fromkeys(("any_value", "first", "first_value", "last", "last_value"), (1, 2)),
    **dict.fromkeys(("cume_dist", "dense_rank", "percent_rank", "rank", "row_number"), (0, 0)),
    **dict.fromkeys(("lag", "lead"), (1, 3)),
    "approx_count_distinct": (1, 2),
    "grouping_id": (0, 100),
    "nth_value": (2, 3),
    "percentile": (2, 3),
}
"""Aggregates and functions of windows -> how many arguments they take; others take one."""


def check_count(name: str, count: int, node: object) -> None:
    """Raises an error if an aggregate has another number of arguments than it takes.

    >>> check_count("max_by", 1, None)
    Traceback (most recent call last):
    ...
    neelc.scalar.duckdb.pieces.WrongQuery: max_by takes 2 arguments, not 1
    """
    least, most = COUNTS.get(name, (1, 1))
    if not least <= count <= most:
        number = f"{least}" if least == most else f"{least} to {most}"
        word = "argument" if number == "1" else "arguments"
        if name in OF_WINDOWS and name not in AGGREGATES:  # Spark ignores some, and adds others
            raise UnspelledOperation(f"{name} of {count} arguments", node)
        raise WrongQuery("NEEL2105", f"{name} takes {number} {word}, not {count}", node=node)
