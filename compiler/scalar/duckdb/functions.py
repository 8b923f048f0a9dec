"""Functions by the names that Spark has for them: the table of those that DuckDB computes.

All other functions of the language are computed by the runtime, after neelc's own signatures have said what
their arguments are cast to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neelc.ir.expressions import Call
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
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
)
from neelc.scalar import decimals
from neelc.scalar.duckdb.casts import cast_to
from neelc.scalar.duckdb.evaluated import evaluated
from neelc.scalar.duckdb.operators import arithmetic, as_typed, common_pieces, comparison, refuse, stand_in
from neelc.scalar.duckdb.pieces import DuckText, NameScope, UnspelledOperation, aggregate_of, duck_type
from neelc.scalar.functions import called
from neelc.scalar.signatures import SCALAR_SIGNATURES

Pieces = Sequence[DuckText]
SpellCall = Callable[[Pieces, NameScope], DuckText]

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
SCALARS = (*INTEGERS, FLOAT, DOUBLE, STRING, BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ, BINARY)


def spelled_call(name: str, pieces: Pieces, scope: NameScope) -> DuckText:
    """A call of a function."""
    native = NATIVE.get(name)
    if native is not None:
        return native(pieces, scope)
    if name in ("like", "ilike", "rlike"):
        texts = [cast_to(piece, STRING, scope) for piece in pieces[:2]]
        escape = [piece.value for piece in pieces[2:]]
        return evaluated(name, texts, BOOLEAN, scope, *escape)
    if name == "extract":
        return evaluated("extract", [pieces[1]], INT, scope, pieces[0].value)
    if name not in SCALAR_SIGNATURES:
        raise UnspelledOperation(f"the function {name}")
    typed = [stand_in(place, piece) for place, piece in enumerate(pieces)]
    found, type = called(Call(name, tuple(one for one, _ in typed)), tuple(typed), refuse)
    if not isinstance(found, Call):
        raise UnspelledOperation(f"the function {name}")
    return evaluated(name, as_typed(pieces, found.arguments, scope), type, scope)


def _text(name: str, pieces: Pieces) -> str:
    return f"{name}({', '.join(piece.text for piece in pieces)})"


def _plain(name: str, type: DataType | None = None) -> SpellCall:
    """The same function under another name; of the type of its first argument, if no other is given."""

    def plain(pieces: Pieces, scope: NameScope) -> DuckText:
        return DuckText(_text(name, pieces), pieces[0].type if type is None else type)

    return plain


def _tried(op: str) -> SpellCall:
    def tried(pieces: Pieces, scope: NameScope) -> DuckText:
        return arithmetic(op, pieces[0], pieces[1], scope, tried=True)

    return tried


def _common(name: str) -> SpellCall:
    """A function of values of one type."""

    def common(pieces: Pieces, scope: NameScope) -> DuckText:
        cast, shared = common_pieces(pieces, scope)
        return DuckText(_text(name, cast), shared)

    return common


def _extreme(name: str) -> SpellCall:
    """greatest and least: NULL is left out. Of nested values, DuckDB has another order."""

    def extreme(pieces: Pieces, scope: NameScope) -> DuckText:
        cast, shared = common_pieces(pieces, scope)
        if shared in SCALARS or isinstance(shared, Decimal):
            return DuckText(_text(name, cast), shared)
        return evaluated(name, cast, shared, scope)

    return extreme


def _nvl2(pieces: Pieces, scope: NameScope) -> DuckText:
    (one, other), shared = common_pieces(pieces[1:], scope)
    text = f"CASE WHEN {pieces[0].text} IS NOT NULL THEN {one.text} ELSE {other.text} END"
    return DuckText(text, shared)


def _nullif(pieces: Pieces, scope: NameScope) -> DuckText:
    equal = comparison("=", pieces[0], pieces[1], scope)
    return DuckText(f"CASE WHEN {equal.text} THEN NULL ELSE {pieces[0].text} END", pieces[0].type)


def _pmod(pieces: Pieces, scope: NameScope) -> DuckText:
    (one, other), shared = common_pieces(pieces, scope)
    if shared not in INTEGERS or not isinstance(other.value, int) or other.value <= 0:
        return evaluated("pmod", [one, other], shared, scope)
    text = f"((({one.text} % {other.text}) + {other.text}) % {other.text})"
    return DuckText(text, shared)


def _hash(pieces: Pieces, scope: NameScope) -> DuckText:
    """Only whether values are equal counts, and that a hash has 64 bits."""
    whole = f"hash({', '.join(piece.text for piece in pieces)})"
    return DuckText(f"CAST(CAST({whole} AS HUGEINT) - 9223372036854775808 AS BIGINT)", BIGINT)


def _shift_left(pieces: Pieces, scope: NameScope) -> DuckText:
    """Bits that leave on the left are lost; the others may change the sign."""
    one, by = pieces
    if not isinstance(by.value, int) or one.type not in (INT, BIGINT):
        raise UnspelledOperation("shiftleft by what is not written down")
    bits = 64 if one.type == BIGINT else 32
    low = f"(CAST({one.text} AS HUGEINT) & {2 ** (bits - by.value) - 1}) * {2**by.value}"
    signed = f"CASE WHEN {low} >= {2 ** (bits - 1)} THEN {low} - {2**bits} ELSE {low} END"
    return DuckText(f"CAST({signed} AS {duck_type(one.type)})", one.type)


def _shift_right(pieces: Pieces, scope: NameScope) -> DuckText:
    one, by = pieces
    return DuckText(f"({one.text} >> {by.text})", one.type)


def _explode(pieces: Pieces, scope: NameScope) -> DuckText:
    (values,) = pieces
    if not isinstance(values.type, Array):
        raise UnspelledOperation("explode of what is no array")
    return DuckText(f"unnest({values.text})", values.type.element)


def _sequence(pieces: Pieces, scope: NameScope) -> DuckText:
    cast, shared = common_pieces(pieces, scope)
    if shared not in INTEGERS:
        raise UnspelledOperation("a sequence of what is no integer")
    low, high = cast[0].text, cast[1].text
    # Without a step, Spark counts down, too.
    step = cast[2].text if len(cast) > 2 else f"CASE WHEN {low} <= {high} THEN 1 ELSE -1 END"
    text = f"generate_series(CAST({low} AS BIGINT), CAST({high} AS BIGINT), CAST({step} AS BIGINT))"
    return cast_to(DuckText(text, Array(BIGINT)), Array(shared), scope)


def _raise(pieces: Pieces, scope: NameScope) -> DuckText:
    return DuckText(f"error({pieces[0].text})", VOID)


def _concat(pieces: Pieces, scope: NameScope) -> DuckText:
    found = pieces[0] if len(pieces) > 1 else cast_to(pieces[0], STRING, scope)
    for piece in pieces[1:]:
        found = arithmetic("||", found, piece, scope)
    return found


def _item(pieces: Pieces, scope: NameScope) -> DuckText:
    """An element of an array, counted from 0, or the value of a key; NULL where there is none."""
    base, key = pieces
    if isinstance(base.type, Map):
        key = cast_to(key, base.type.key, scope)
        return DuckText(f"map_extract_value({base.text}, {key.text})", base.type.value)
    if not isinstance(base.type, Array):
        raise UnspelledOperation(f"an element of {base.type}")
    text = f"CASE WHEN {key.text} >= 0 THEN list_extract({base.text}, {key.text} + 1) END"
    return DuckText(text, base.type.element)


def _element_at(pieces: Pieces, scope: NameScope) -> DuckText:
    """An element of an array, counted from 1, or from the end; NULL where there is none."""
    base, key = pieces
    if isinstance(base.type, Map):
        return _item(pieces, scope)
    if not isinstance(base.type, Array):
        raise UnspelledOperation(f"an element of {base.type}")
    return DuckText(f"list_extract({base.text}, nullif({key.text}, 0))", base.type.element)


def _size(pieces: Pieces, scope: NameScope) -> DuckText:
    (values,) = pieces
    name = "cardinality" if isinstance(values.type, Map) else "len"
    return DuckText(f"CAST({name}({values.text}) AS INTEGER)", INT)


def _sum(tried: bool) -> SpellCall:
    def sum(pieces: Pieces, scope: NameScope) -> DuckText:
        (value,) = pieces
        match value.type:
            case Decimal(precision, scale):
                type: DataType = decimals.bounded(precision + 10, scale)
            case SimpleNumber if SimpleNumber in (FLOAT, DOUBLE):
                return aggregate_of(f"sum({cast_to(value, DOUBLE, scope).text})", DOUBLE)
            case SimpleNumber if SimpleNumber in INTEGERS:
                type = BIGINT
            case _:
                raise UnspelledOperation(f"a sum of {value.type}")
        cast = "TRY_CAST" if tried or not scope.strict else "CAST"
        return aggregate_of(f"sum({value.text})", type, (f"{cast}(", f" AS {duck_type(type)})"))

    return sum


def _average(pieces: Pieces, scope: NameScope) -> DuckText:
    (value,) = pieces
    if value.type not in (*INTEGERS, FLOAT, DOUBLE):
        raise UnspelledOperation(f"an average of {value.type}")
    return DuckText(f"avg({cast_to(value, DOUBLE, scope).text})", DOUBLE)


def _largest(name: str) -> SpellCall:
    """max and min. Of structs, DuckDB has another order where there is NULL."""

    def largest(pieces: Pieces, scope: NameScope) -> DuckText:
        (value,) = pieces
        return DuckText(f"{name}({value.text})", value.type)

    return largest


def _collected(pieces: Pieces, scope: NameScope) -> DuckText:
    (value,) = pieces
    # NULLs are left out afterwards: FILTER may follow.
    around = ("list_filter(coalesce(", ", []), lambda e_: e_ IS NOT NULL)")
    return aggregate_of(f"list({value.text})", Array(value.type), around)


def _of_list(name: str) -> SpellCall:
    """The greatest or the least of a list."""

    def of_list(pieces: Pieces, scope: NameScope) -> DuckText:
        (values,) = pieces
        if not isinstance(values.type, Array):
            raise UnspelledOperation(f"{name} of {values.type}")
        return DuckText(f"{name}({values.text})", values.type.element)

    return of_list


def _compact(pieces: Pieces, scope: NameScope) -> DuckText:
    (values,) = pieces
    return DuckText(f"list_filter({values.text}, lambda e_: e_ IS NOT NULL)", values.type)


def _distinct(pieces: Pieces, scope: NameScope) -> DuckText:
    """Each value where it is first."""
    (values,) = pieces
    text = f"list_filter({values.text}, lambda e_, i_: list_position({values.text}, e_) = i_)"
    return DuckText(text, values.type)


def _slice(pieces: Pieces, scope: NameScope) -> DuckText:
    values, first, length = pieces
    if not isinstance(first.value, int) or first.value < 1:
        raise UnspelledOperation("slice from the end of an array")
    end = f"{first.value - 1} + {length.text}"
    return DuckText(f"list_slice({values.text}, {first.value}, {end})", values.type)


def _first(pieces: Pieces, scope: NameScope) -> DuckText:
    """The first value; the first that is not NULL, if that is said."""
    if len(pieces) > 1 and pieces[1].value is True:
        return aggregate_of(f"any_value({pieces[0].text})", pieces[0].type)
    return aggregate_of(f"first({pieces[0].text})", pieces[0].type)


def _by(name: str) -> SpellCall:
    """max_by and min_by."""

    def by(pieces: Pieces, scope: NameScope) -> DuckText:
        return DuckText(_text(name, pieces), pieces[0].type)

    return by


def _array(pieces: Pieces, scope: NameScope) -> DuckText:
    if not pieces:
        return DuckText("CAST([] AS INTEGER[])", Array(VOID))
    cast, shared = common_pieces(pieces, scope)
    return DuckText(f"[{', '.join(piece.text for piece in cast)}]", Array(shared))


def _micros(pieces: Pieces, scope: NameScope) -> DuckText:
    return DuckText(f"epoch_us({cast_to(pieces[0], TIMESTAMP, scope).text})", BIGINT)


def _of_micros(pieces: Pieces, scope: NameScope) -> DuckText:
    return DuckText(f"make_timestamptz({cast_to(pieces[0], BIGINT, scope).text})", TIMESTAMP)


def _isnan(pieces: Pieces, scope: NameScope) -> DuckText:
    value = cast_to(pieces[0], DOUBLE, scope)
    return DuckText(f"coalesce(isnan({value.text}), FALSE)", BOOLEAN)


def _isnull(word: str) -> SpellCall:
    return lambda pieces, scope: DuckText(f"({pieces[0].text} {word})", BOOLEAN)


def _absolute(pieces: Pieces, scope: NameScope) -> DuckText:
    (value,) = pieces
    if value.type in INTEGERS:
        return DuckText(f"TRY(abs({value.text}))", value.type)
    if value.type in (FLOAT, DOUBLE):
        return DuckText(f"abs({value.text})", value.type)
    return evaluated("abs", pieces, value.type, scope)


def _not(pieces: Pieces, scope: NameScope) -> DuckText:
    return DuckText(f"(~{pieces[0].text})", pieces[0].type)


def _shifted(name: str) -> SpellCall:
    """lag and lead."""

    def shifted(pieces: Pieces, scope: NameScope) -> DuckText:
        return DuckText(_text(name, pieces), pieces[0].type)

    return shifted


def _any(pieces: Pieces, scope: NameScope) -> DuckText:
    return DuckText(f"arbitrary({pieces[0].text})", pieces[0].type)


NATIVE: dict[str, SpellCall] = {
    "~": _not,
    "abs": _absolute,
    "any_value": _any,
    "array": _array,
    "array_size": _size,
    "array_compact": _compact,
    "array_distinct": _distinct,
    "array_max": _of_list("list_max"),
    "array_min": _of_list("list_min"),
    "avg": _average,
    "bit_or": _plain("bit_or"),
    "bool_or": _plain("bool_or", BOOLEAN),
    "coalesce": _common("coalesce"),
    "collect_list": _collected,
    "concat": _concat,
    "explode": _explode,
    "first": _first,
    "get": _item,
    "greatest": _extreme("greatest"),
    "isnan": _isnan,
    "isnotnull": _isnull("IS NOT NULL"),
    "isnull": _isnull("IS NULL"),
    "item": _item,
    "lag": _shifted("lag"),
    "lead": _shifted("lead"),
    "least": _extreme("least"),
    "max": _largest("max"),
    "max_by": _by("arg_max_null"),
    "mean": _average,
    "min": _largest("min"),
    "min_by": _by("arg_min_null"),
    "nullif": _nullif,
    "nvl": _common("coalesce"),
    "ifnull": _common("coalesce"),
    "nvl2": _nvl2,
    "pmod": _pmod,
    "raise_error": _raise,
    "row_number": lambda pieces, scope: DuckText("row_number()", INT),
    "sequence": _sequence,
    "shiftleft": _shift_left,
    "shiftright": _shift_right,
    "size": _size,
    "slice": _slice,
    "sum": _sum(False),
    "timestamp_micros": _of_micros,
    "try_add": _tried("+"),
    "try_avg": _average,
    "try_divide": _tried("/"),
    "try_element_at": _element_at,
    "try_mod": _tried("%"),
    "try_multiply": _tried("*"),
    "try_subtract": _tried("-"),
    "try_sum": _sum(True),
    "unix_micros": _micros,
    "xxhash64": _hash,
}
