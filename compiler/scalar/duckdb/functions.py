"""Functions by the names that Spark has for them.

For those of the language, neelc's own signatures say what their arguments are cast to and what type they
have; tables say how DuckDB spells them (`NATIVE`), and what is not in a table is computed by the runtime.
Spark's other functions, which plans use, are in `OTHERS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from neelc.ir.expressions import Call
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    GEOMETRY,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    YEAR_INTERVAL,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
)
from neelc.runtime.values.functions import OF_TYPES
from neelc.runtime.values.functions.space import PREFIX, SPATIAL
from neelc.runtime.values.functions.texts import character
from neelc.scalar.duckdb.casts import cast_to, number, real, text
from neelc.scalar.duckdb.evaluated import declared_call, evaluated, evaluated_with
from neelc.scalar.duckdb.operators import (
    arithmetic,
    as_typed,
    common_pieces,
    comparison,
    negative,
    refuse,
    stand_in,
)
from neelc.scalar.duckdb.pieces import (
    DuckText,
    NameScope,
    UnspelledOperation,
    apart,
    duck_type,
    failing,
    outside,
    safely,
    unused,
)
from neelc.scalar.duckdb.texts import TEXTS, Pieces, SpellText, like
from neelc.scalar.duckdb.times import (
    FIELD_OF,
    LONG_UNITS,
    floored,
    later,
    of_seconds,
    part_of,
    seconds_of,
    truncated,
)
from neelc.scalar.functions import called
from neelc.scalar.rewritten import REWRITTEN
from neelc.scalar.signatures import SCALAR_SIGNATURES
from neelc.scalar.type_of import INTERVALS, extract_field, extract_type, value_type

SpellCall = Callable[[Pieces, NameScope], DuckText]

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)


def spelled_call(name: str, pieces: Sequence[DuckText], scope: NameScope) -> DuckText:
    """A call of a function."""
    if name in scope.declared:
        function = scope.declared[name]
        casts = [cast_to(one, type, scope) for one, type in zip(pieces, function.takes, strict=True)]
        return declared_call(function, casts, scope)
    if scope.strict and name.startswith("try_"):
        return apart(pieces, scope, lambda given, inside: spelled_call(name, given, inside))
    if name.removeprefix(PREFIX) in SPATIAL:
        return spatial_call(name.removeprefix(PREFIX), pieces, scope)
    other = OTHERS.get(name)
    if other is not None:
        return other(list(pieces), scope)
    if name in ("like", "ilike", "rlike"):
        value, pattern = (cast_to(piece, STRING, scope) for piece in pieces[:2])
        return like(name, value, pattern, pieces[2].value if len(pieces) > 2 else None, scope)
    if name == "try_to_date":
        return _read_by(DATE)(list(pieces), scope)
    if scope.strict and name in IN_STRICT:
        return IN_STRICT[name](list(pieces), scope)
    return _of_signature(name, pieces, scope)


def _of_signature(name: str, pieces: Sequence[DuckText], scope: NameScope) -> DuckText:
    """A call of a function of the language."""
    if name not in SCALAR_SIGNATURES or (name in REWRITTEN and name != "decode"):
        raise UnspelledOperation(f"the function {name}")
    rounds = "places" in SCALAR_SIGNATURES[name].parameters(2)
    typed = [stand_in(place, piece, rounds) for place, piece in enumerate(pieces)]
    found, type = called(Call(name, tuple(one for one, _ in typed)), tuple(typed), refuse)
    if not isinstance(found, Call):
        raise UnspelledOperation(f"the function {name}")
    arguments = as_typed(pieces, found.arguments, scope)
    if name in OF_TYPES:
        return hashed(name, arguments, type, scope)
    native = NATIVE.get(name)
    spelled = None if native is None else native(arguments, type, scope)
    if spelled is None:
        return evaluated(name, arguments, type, scope)
    lowered = arguments[0].text if name in ("lower", "lcase") else ""
    trimmed = arguments[0].text if name == "trim" and len(arguments) == 1 else ""
    return DuckText(spelled, type, lowered=lowered, trimmed=trimmed)


def hashed(name: str, pieces: Pieces, type: DataType, scope: NameScope) -> DuckText:
    """hash, xxhash64 and to_json: what they give depends on the types of their arguments."""
    return evaluated(name, pieces, type, scope, *(value_type(one.type) for one in pieces))


def spatial_call(name: str, pieces: Sequence[DuckText], scope: NameScope) -> DuckText:
    """A call of a function of geometries, which are texts here."""
    typed = [stand_in(place, piece) for place, piece in enumerate(pieces)]
    found, type = called(Call(name, tuple(one for one, _ in typed)), tuple(typed), refuse)
    assert isinstance(found, Call)
    arguments = as_typed(pieces, found.arguments, scope)
    return evaluated_with(name, arguments, STRING if type == GEOMETRY else type, scope)


def extracted(field: str, operand: DuckText, scope: NameScope) -> DuckText:
    """EXTRACT(field FROM operand)."""
    known = extract_field(field)
    if known is None:
        raise UnspelledOperation(f"EXTRACT({field} FROM ...)")
    of_day = known in ("HOUR", "MINUTE", "SECOND")
    if operand.type in (STRING, VOID) or (operand.type == DATE and of_day):
        operand = cast_to(operand, TIMESTAMP if of_day else DATE, scope)
    type = extract_type(known, operand.type)
    if operand.type in INTERVALS:
        return evaluated("extract", [operand], type, scope, known)
    native = seconds_of(operand, scope) if known == "SECOND" else part_of(known, operand, scope)
    return DuckText(native, type)


# Numbers, of the types that signatures say.

NAN = "CAST('nan' AS DOUBLE)"


def _identity(pieces: Pieces, type: DataType, scope: NameScope) -> str:
    return pieces[0].text


def _absolute(pieces: Pieces, type: DataType, scope: NameScope) -> str:
    (value,) = pieces
    plain = value.type in (FLOAT, DOUBLE) or isinstance(value.type, Decimal)
    return f"abs({value.text})" if plain else safely(lambda one: f"abs({one.text})", value, scope=scope)


def _towards(name: str) -> SpellText:
    """ceil and floor, without places. NaN becomes 0, as in Java."""

    def towards(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
        value = pieces[0]
        if len(pieces) > 1:
            return None
        if value.type in INTEGERS:
            return cast_to(value, BIGINT, scope).text
        if isinstance(value.type, Decimal):
            return f"CAST({name}({value.text}) AS {duck_type(type)})"
        whole = f"{'CAST' if scope.strict else 'TRY_CAST'}({name}({value.text}) AS BIGINT)"
        return f"CASE WHEN isnan({value.text}) THEN CAST(0 AS BIGINT) ELSE {whole} END"

    return towards


def _rounded(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
    value, places = pieces[0], pieces[1].value if len(pieces) > 1 else 0
    if not isinstance(places, int) or places < 0:
        return None
    if value.type in INTEGERS:
        return value.text
    if isinstance(value.type, Decimal):
        return f"{'CAST' if scope.strict else 'TRY_CAST'}({value.text} AS {duck_type(type)})"
    return f"(round({value.text}) + 0e0)" if places == 0 and value.type == DOUBLE else None  # no -0.0


def _where(test: str, name: str, otherwise: str) -> SpellText:
    """A function of a DOUBLE where it has a value; `x` in the test is its argument."""

    def where(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
        (value,) = pieces
        if not value.is_short:
            return None
        holds = test.replace("x", value.text)
        rest = f" WHEN {value.text} IS NOT NULL THEN {otherwise}" if otherwise else ""
        return f"CASE WHEN {holds} THEN {name}({value.text}){rest} END"

    return where


def _plain(name: str) -> SpellText:
    return lambda pieces, type, scope: f"{name}({', '.join(piece.text for piece in pieces)})"


def _times(factor: float) -> SpellText:
    return lambda pieces, type, scope: f"({pieces[0].text} * CAST('{factor!r}' AS DOUBLE))"


def _power(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
    """Java's differs from C's where something is infinite or not a number."""
    base, exponent = (piece.text for piece in pieces)
    if not all(piece.is_short for piece in pieces):
        return None
    odd = f"isnan({base}) OR isnan({exponent}) OR (abs({base}) = 1 AND isinf({exponent}))"
    none = f"{base} IS NULL OR {exponent} IS NULL THEN NULL"
    one = f"{exponent} = 0 THEN CAST(1 AS DOUBLE)"
    return f"CASE WHEN {none} WHEN {one} WHEN {odd} THEN {NAN} ELSE pow({base}, {exponent}) END"


def _logarithm(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
    return _where("x > 0", "ln", "")(pieces, type, scope) if len(pieces) == 1 else None


def _sign(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
    (value,) = pieces
    if value.type not in (FLOAT, DOUBLE):
        return f"CAST(sign({value.text}) AS DOUBLE)"
    kept = f"isnan({value.text}) OR {value.text} = 0 THEN CAST({value.text} AS DOUBLE)"
    return f"CASE WHEN {kept} ELSE CAST(sign({value.text}) AS DOUBLE) END"


def _bit_count(pieces: Pieces, type: DataType, scope: NameScope) -> str:
    return f"CAST(bit_count({cast_to(pieces[0], BIGINT, scope).text}) AS INTEGER)"


def _remainder(pieces: Pieces, type: DataType, scope: NameScope) -> str:
    return arithmetic("%", pieces[0], pieces[1], scope).text


def _positive_remainder(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
    one, other = pieces
    if type not in INTEGERS or not isinstance(other.value, int) or other.value <= 0:
        return None
    rest = f"({one.text} % {other.text})"
    return f"CASE WHEN {rest} < 0 THEN {rest} + {other.text} ELSE {rest} END"


def _nanvl(pieces: Pieces, type: DataType, scope: NameScope) -> str:
    one, other = pieces
    return f"CASE WHEN isnan({one.text}) THEN {other.text} ELSE {one.text} END"


def _is_nan(pieces: Pieces, type: DataType, scope: NameScope) -> str:
    return f"coalesce(isnan({pieces[0].text}), FALSE)"


def _shift_left(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
    """Bits that leave on the left are lost; the others may change the sign."""
    one, by = pieces
    bits = 64 if type == BIGINT else 32
    if not isinstance(by.value, int) or not 0 <= by.value < bits or not one.is_short:
        return None
    low = f"(CAST({one.text} AS HUGEINT) & {2 ** (bits - by.value) - 1}) * {2**by.value}"
    signed = f"CASE WHEN {low} >= {2 ** (bits - 1)} THEN {low} - {2**bits} ELSE {low} END"
    return f"CAST({signed} AS {duck_type(type)})"


def _shift_right(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
    one, by = pieces
    bits = 64 if type == BIGINT else 32
    if not isinstance(by.value, int) or not 0 <= by.value < bits:
        return None
    return f"({one.text} >> {by.text})"


# Times, of the types that signatures say.


def _part(field: str) -> SpellText:
    return lambda pieces, type, scope: part_of(field, pieces[0], scope)


def _later(op: str) -> SpellText:
    return lambda pieces, type, scope: later(op, pieces[0], pieces[1], scope)


def _days_between(pieces: Pieces, type: DataType, scope: NameScope) -> str:
    return f"CAST({pieces[0].text} - {pieces[1].text} AS INTEGER)"


def _count_of(by: int) -> SpellText:
    """unix_micros and its kin; a TIMESTAMP_NTZ counts as if it were in UTC."""

    def count_of(pieces: Pieces, type: DataType, scope: NameScope) -> str:
        micros = f"epoch_us({pieces[0].text})"
        return micros if by == 1 else floored(micros, by)

    return count_of


def _unix_timestamp(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
    """Seconds since 1970, cut towards it."""
    (moment,) = pieces
    if moment.type == STRING:
        return None
    moment = cast_to(moment, TIMESTAMP, scope) if moment.type == DATE else moment
    return f"(epoch_us({moment.text}) // 1000000)"


def _of_millis(pieces: Pieces, type: DataType, scope: NameScope) -> str:
    made = "make_timestamptz(CAST({} AS BIGINT) * 1000)"
    return safely(lambda millis: made.format(millis.text), pieces[0], scope=scope)


def _last_day(pieces: Pieces, type: DataType, scope: NameScope) -> str:
    return f"last_day({pieces[0].text})"


def _weekday(pieces: Pieces, type: DataType, scope: NameScope) -> str:
    return f"CAST(isodow({pieces[0].text}) - 1 AS INTEGER)"


def _short_name(name: str) -> SpellText:
    """dayname and monthname."""
    return lambda pieces, type, scope: f"left({name}({pieces[0].text}), 3)"


def _first_of(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
    """trunc, if the unit is written down."""
    date, unit = pieces
    name = LONG_UNITS.get(unit.value.upper()) if isinstance(unit.value, str) else ""
    if name == "":
        return None
    return "CAST(NULL AS DATE)" if name is None else f"CAST(date_trunc('{name}', {date.text}) AS DATE)"


# Arrays and maps, of the types that signatures say.


def _size(pieces: Pieces, type: DataType, scope: NameScope) -> str:
    (values,) = pieces
    name = "cardinality" if isinstance(values.type, Map) else "len"
    return f"CAST({name}({values.text}) AS INTEGER)"


def _contains(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
    values, value = pieces
    if not values.is_short or isinstance(value.type, Array | Struct):
        return None
    name = unused("e", values.text)
    nulls = f"len(list_filter({values.text}, lambda {name}: {name} IS NULL)) > 0"
    return (
        f"CASE WHEN {values.text} IS NULL OR {value.text} IS NULL THEN NULL"
        f" WHEN list_contains({values.text}, {value.text}) THEN TRUE WHEN {nulls} THEN NULL ELSE FALSE END"
    )


def _reversed(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
    return f"list_reverse({pieces[0].text})" if isinstance(type, Array) else None


NATIVE: dict[str, SpellText] = {
    **TEXTS,
    **{name: _part(field) for name, field in FIELD_OF.items()},
    "abs": _absolute,
    "acos": _where("abs(x) <= 1", "acos", NAN),
    "array_contains": _contains,
    "asin": _where("abs(x) <= 1", "asin", NAN),
    "atan": _plain("atan"),
    "atan2": lambda pieces, type, scope: f"atan2({', '.join(f'{one.text} + 0e0' for one in pieces)})",
    "bit_count": _bit_count,
    "cardinality": _size,
    "ceil": _towards("ceil"),
    "ceiling": _towards("ceil"),
    "cos": _where("isfinite(x)", "cos", NAN),
    "date_add": _later("+"),
    "date_diff": _days_between,
    "date_sub": _later("-"),
    "date_trunc": lambda pieces, type, scope: truncated(pieces[0], pieces[1], scope),
    "datediff": _days_between,
    "dayname": _short_name("dayname"),
    "degrees": _times(57.29577951308232),
    "exp": _plain("exp"),
    "floor": _towards("floor"),
    "isnan": _is_nan,
    "last_day": _last_day,
    "ln": _logarithm,
    "log": _logarithm,
    "log10": _where("x > 0", "log10", ""),
    "log2": _where("x > 0", "log2", ""),
    "mod": _remainder,
    "monthname": _short_name("monthname"),
    "nanvl": _nanvl,
    "pmod": _positive_remainder,
    "pow": _power,
    "power": _power,
    "radians": _times(0.017453292519943295),
    "reverse": _reversed,
    "round": _rounded,
    "shiftleft": _shift_left,
    "shiftright": _shift_right,
    "sign": _sign,
    "signum": _sign,
    "sin": _where("isfinite(x)", "sin", NAN),
    "size": _size,
    "sqrt": _where("x >= 0", "sqrt", NAN),
    "tan": _where("isfinite(x)", "tan", NAN),
    "timestamp_millis": _of_millis,
    "timestamp_seconds": lambda pieces, type, scope: of_seconds(pieces[0], scope),
    "to_date": _identity,
    "to_timestamp": _identity,
    "trunc": _first_of,
    "unix_micros": _count_of(1),
    "unix_millis": _count_of(1_000),
    "unix_seconds": _count_of(1_000_000),
    "unix_timestamp": _unix_timestamp,
    "weekday": _weekday,
    "weekofyear": _part("WEEK"),
}


# Functions that find the types of their arguments by themselves.


def _tried(op: str) -> SpellCall:
    return lambda pieces, scope: arithmetic(op, pieces[0], pieces[1], scope, tried=True)


def _first_known(pieces: Pieces, scope: NameScope) -> DuckText:
    cast, shared = common_pieces(pieces, scope)
    days = all(piece.days for piece in pieces)
    return DuckText(f"coalesce({', '.join(piece.text for piece in cast)})", shared, days=days)


def _extreme(name: str) -> SpellCall:
    """greatest and least: NULL is left out. Of nested values, DuckDB has another order."""

    def extreme(pieces: Pieces, scope: NameScope) -> DuckText:
        cast, shared = common_pieces(pieces, scope)
        if isinstance(shared, Array | Struct | Map):
            return evaluated(name, cast, shared, scope)
        if shared == VOID:
            return DuckText("NULL", VOID)
        return DuckText(f"{name}({', '.join(piece.text for piece in cast)})", shared)

    return extreme


def _nvl2(pieces: Pieces, scope: NameScope) -> DuckText:
    (one, other), shared = common_pieces(pieces[1:], scope)
    return DuckText(f"CASE WHEN {pieces[0].text} IS NOT NULL THEN {one.text} ELSE {other.text} END", shared)


def _nullif(pieces: Pieces, scope: NameScope) -> DuckText:
    equal = comparison("=", pieces[0], pieces[1], scope)
    return DuckText(f"CASE WHEN {equal.text} THEN NULL ELSE {pieces[0].text} END", pieces[0].type)


def _hash(pieces: Pieces, scope: NameScope) -> DuckText:
    """Where a plan hashes, only whether values are equal counts, and that a hash has 64 bits."""
    if scope.strict:
        return hashed("xxhash64", pieces, BIGINT, scope)
    whole = f"hash({', '.join(piece.text for piece in pieces)})"
    return DuckText(f"CAST(CAST({whole} AS HUGEINT) - 9223372036854775808 AS BIGINT)", BIGINT)


def _explode(pieces: Pieces, scope: NameScope) -> DuckText:
    return DuckText(f"unnest({pieces[0].text})", _element(pieces[0], "explode"))


def _element(values: DuckText, name: str) -> DataType:
    if not isinstance(values.type, Array):
        raise UnspelledOperation(f"{name} of {values.type}")
    return values.type.element


def _sequence(pieces: Pieces, scope: NameScope) -> DuckText:
    cast, shared = common_pieces(pieces, scope)
    if shared not in INTEGERS:
        raise UnspelledOperation("a sequence of what is no integer")
    low, high = cast[0].text, cast[1].text
    # Without a step, Spark counts down, too.
    step = cast[2].text if len(cast) > 2 else f"CASE WHEN {low} <= {high} THEN 1 ELSE -1 END"
    text = f"generate_series(CAST({low} AS BIGINT), CAST({high} AS BIGINT), CAST({step} AS BIGINT))"
    if scope.strict and len(cast) > 2:
        never = f"sign({high} - {low}) <> sign({step})"
        found = outside(DuckText(text, Array(BIGINT)), never, "the steps of a sequence never reach its end")
        text = f"CASE WHEN {low} = {high} THEN [CAST({low} AS BIGINT)] ELSE {found.text} END"
    return cast_to(DuckText(text, Array(BIGINT)), Array(shared), scope)


def _raise(pieces: Pieces, scope: NameScope) -> DuckText:
    return DuckText(f"error({cast_to(pieces[0], STRING, scope).text})", VOID)


def _concat(pieces: Pieces, scope: NameScope) -> DuckText:
    if all(isinstance(piece.value, str) and piece.type == STRING for piece in pieces):
        return text("".join(str(piece.value) for piece in pieces))
    found = pieces[0]
    if len(pieces) == 1 and not isinstance(found.type, Array) and found.type != BINARY:
        return cast_to(found, STRING, scope)
    for piece in pieces[1:]:
        found = arithmetic("||", found, piece, scope)
    return found


def _character(pieces: Pieces, scope: NameScope) -> DuckText:
    """char(n): a character by its number, below 256."""
    (number,) = pieces
    if not isinstance(number.value, int):
        return evaluated("chr", [cast_to(number, BIGINT, scope)], STRING, scope)
    return text(character(number.value))


def _item(pieces: Pieces, scope: NameScope) -> DuckText:
    """An element of an array, counted from 0, or the value of a key; NULL where there is none."""
    base, key = pieces
    if isinstance(base.type, Map):
        key = cast_to(key, base.type.key, scope)
        return DuckText(f"map_extract_value({base.text}, {key.text})", base.type.value)
    element = _element(base, "an element")
    if isinstance(key.value, int):
        place = str(key.value + 1) if key.value >= 0 else "CAST(NULL AS BIGINT)"
        return DuckText(f"list_extract({base.text}, {place})", element)
    key = cast_to(key, BIGINT, scope)
    return DuckText(f"CASE WHEN {key.text} >= 0 THEN list_extract({base.text}, {key.text} + 1) END", element)


def _element_at(pieces: Pieces, scope: NameScope) -> DuckText:
    """An element of an array, counted from 1, or from the end; NULL where there is none."""
    base, key = pieces
    if isinstance(base.type, Map):
        return _item(pieces, scope)
    if base.type == VOID:
        return DuckText("NULL", VOID)
    place = key.text if isinstance(key.value, int) and key.value else f"nullif({key.text}, 0)"
    found = DuckText(f"list_extract({base.text}, {place})", _element(base, "an element"))
    if not scope.strict:
        return found
    return outside(found, f"{key.text} = 0 OR abs(CAST({key.text} AS BIGINT)) > len({base.text})")


def _of_list(name: str) -> SpellCall:
    """The greatest or the least of a list."""

    def of_list(pieces: Pieces, scope: NameScope) -> DuckText:
        (values,) = pieces
        element = _element(values, f"array_{name}")
        if isinstance(element, Array | Struct | Map):
            return evaluated(f"array_{name}", pieces, element, scope)
        return DuckText(f"list_{name}({values.text})", element)

    return of_list


def _compact(pieces: Pieces, scope: NameScope) -> DuckText:
    (values,) = pieces
    name = unused("e", values.text)
    return DuckText(f"list_filter({values.text}, lambda {name}: {name} IS NOT NULL)", values.type)


def _distinct(pieces: Pieces, scope: NameScope) -> DuckText:
    """Each value where it is first."""
    (values,) = pieces
    one, place = unused("e", values.text), unused("i", values.text)
    first = f"list_position({values.text}, {one}) = {place}"
    return DuckText(f"list_filter({values.text}, lambda {one}, {place}: {first})", values.type)


def _slice(pieces: Pieces, scope: NameScope) -> DuckText:
    found = _sliced(pieces, scope)
    wrong = f"{pieces[1].text} = 0 OR {pieces[2].text} < 0"
    return (
        outside(found, wrong, "slice begins at 1 and cannot have a negative length")
        if scope.strict
        else found
    )


def _sliced(pieces: Pieces, scope: NameScope) -> DuckText:
    values, first, length = pieces
    _element(values, "slice")
    if isinstance(first.value, int) and first.value > 0:
        end = f"{first.value - 1} + {length.text}"
        return DuckText(f"list_slice({values.text}, {first.value}, {end})", values.type)
    size = f"(len({values.text}) + {first.text})"
    from_end = f"list_slice({values.text}, {size} + 1, {size} + {length.text})"
    from_start = f"list_slice({values.text}, {first.text}, {first.text} - 1 + {length.text})"
    empty = f"CAST([] AS {duck_type(values.type)})"
    absent = f"{values.text} IS NULL OR {first.text} IS NULL OR {length.text} IS NULL"
    choices = f"WHEN {first.text} > 0 THEN {from_start} WHEN {size} >= 0 THEN {from_end} ELSE {empty}"
    return DuckText(f"CASE WHEN {absent} THEN NULL {choices} END", values.type)


def _array(pieces: Pieces, scope: NameScope) -> DuckText:
    if not pieces:
        return DuckText("CAST([] AS INTEGER[])", Array(VOID))
    cast, shared = common_pieces(pieces, scope)
    inside = ", ".join(piece.text for piece in cast)
    return DuckText(f"CAST([{inside}] AS {duck_type(Array(shared))})", Array(shared))


def _keys(pieces: Pieces, scope: NameScope) -> DuckText:
    type = pieces[0].type
    if not isinstance(type, Map):
        raise UnspelledOperation(f"map_keys of {type}")
    return DuckText(f"map_keys({pieces[0].text})", Array(type.key))


def _values(pieces: Pieces, scope: NameScope) -> DuckText:
    type = pieces[0].type
    if not isinstance(type, Map):
        raise UnspelledOperation(f"map_values of {type}")
    return DuckText(f"map_values({pieces[0].text})", Array(type.value))


def _of_micros(pieces: Pieces, scope: NameScope) -> DuckText:
    micros = cast_to(pieces[0], BIGINT, scope)
    return DuckText(safely(lambda one: f"make_timestamptz({one.text})", micros, scope=scope), TIMESTAMP)


def _unix_date(pieces: Pieces, scope: NameScope) -> DuckText:
    days = f"{cast_to(pieces[0], DATE, scope).text} - DATE '1970-01-01'"
    return DuckText(f"CAST({days} AS INTEGER)", INT)


def _of_days(pieces: Pieces, scope: NameScope) -> DuckText:
    days = cast_to(pieces[0], INT, scope)
    return DuckText(safely(lambda one: f"DATE '1970-01-01' + {one.text}", days, scope=scope), DATE)


def _is_null(word: str) -> SpellCall:
    return lambda pieces, scope: DuckText(f"({pieces[0].text} {word})", BOOLEAN)


def _not(pieces: Pieces, scope: NameScope) -> DuckText:
    (value,) = pieces
    value = cast_to(value, INT, scope) if value.type == VOID else value
    return DuckText(f"(~{value.text})", value.type)


def _array_size(pieces: Pieces, scope: NameScope) -> DuckText:
    return DuckText(_size(pieces, INT, scope), INT)


def _to_binary(pieces: Pieces, scope: NameScope) -> DuckText:
    """try_to_binary: of utf-8, what a cast does."""
    value = cast_to(pieces[0], STRING, scope)
    if len(pieces) > 1 and str(pieces[1].value).lower() in ("utf-8", "utf8"):
        return cast_to(value, BINARY, scope)
    return evaluated("try_to_binary", [value, *pieces[1:]], BINARY, scope)


def _read_time(pieces: Pieces, scope: NameScope) -> DuckText:
    """try_to_timestamp(text, pattern); what is a time already stays one."""
    value, *pattern = pieces
    if value.type in (TIMESTAMP, DATE, TIMESTAMP_NTZ) or not pattern:
        return cast_to(value, TIMESTAMP, scope)
    return evaluated("try_to_timestamp", [cast_to(value, STRING, scope), *pattern], TIMESTAMP, scope)


# Functions that are other expressions, for which those of the language are rewritten (`rewritten.py`).


def _months_added(pieces: Pieces, scope: NameScope) -> DuckText:
    date, months = (
        cast_to(pieces[0], DATE, scope),
        cast_to(cast_to(pieces[1], INT, scope), YEAR_INTERVAL, scope),
    )
    return arithmetic("+", date, months, scope)


def _part_of(pieces: Pieces, scope: NameScope) -> DuckText:
    field, moment = pieces
    if not isinstance(field.value, str):
        raise UnspelledOperation("date_part of a field that is not written down")
    return extracted(field.value.upper(), moment, scope)


def _signed(pieces: Pieces, scope: NameScope) -> DuckText:
    """+x"""
    (value,) = pieces
    return cast_to(value, DOUBLE, scope) if value.type in (STRING, VOID) else value


def _bit(pieces: Pieces, scope: NameScope) -> DuckText:
    value, place = pieces[0], cast_to(pieces[1], INT, scope)
    if value.type not in BITS:
        raise UnspelledOperation(f"a bit of {value.type}")
    count = BITS[value.type]
    bit = f"CAST((CAST({value.text} AS BIGINT) >> {place.text}) & 1 AS TINYINT)"
    wrong = f"{place.text} < 0 OR {place.text} >= {count}"
    if scope.strict:
        return outside(DuckText(bit, TINYINT), wrong, "there is no bit at that place")
    return DuckText(f"CASE WHEN NOT ({wrong}) THEN {bit} END", TINYINT)


BITS: dict[DataType, int] = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}

SECONDS = text("yyyy-MM-dd HH:mm:ss")


def _of_unixtime(pieces: Pieces, scope: NameScope) -> DuckText:
    count, *pattern = pieces
    moment = spelled_call("timestamp_seconds", [cast_to(count, BIGINT, scope)], scope)
    return spelled_call("date_format", [moment, *(pattern or [SECONDS])], scope)


def _read_by(target: DataType) -> SpellCall:
    """to_date, to_timestamp and to_timestamp_ntz: a text by a pattern; a time stays what it is."""

    def read(pieces: Pieces, scope: NameScope) -> DuckText:
        value, *pattern = pieces
        if value.type != STRING or not pattern:
            return cast_to(value, target, scope)
        if not isinstance(pattern[0].value, str):
            raise UnspelledOperation("a pattern of times that is not written down")
        if target == TIMESTAMP_NTZ:
            return evaluated("to_timestamp_ntz", [value, *pattern], target, scope)
        found = evaluated("try_to_timestamp", [value, *pattern], TIMESTAMP, scope)
        if scope.strict:
            found = replace(found, text=failing(found, pieces, "a text that is no time of that pattern").text)
        return cast_to(found, target, scope)

    return read


def _seconds_of(pieces: Pieces, scope: NameScope) -> DuckText:
    """unix_timestamp(text, pattern)"""
    value, *pattern = pieces
    if value.type == STRING and not pattern:
        pattern = [SECONDS]
    if value.type != STRING:
        return _of_signature("unix_timestamp", [value], scope)
    moment = _read_by(TIMESTAMP)([value, *pattern], scope)
    return DuckText(f"(epoch_us({moment.text}) // 1000000)", BIGINT)


def _other(name: str) -> SpellCall:
    return lambda pieces, scope: spelled_call(name, pieces, scope)


def _decoded(pieces: Pieces, scope: NameScope) -> DuckText:
    """decode(x, search, result, ..., otherwise), in which NULL is found by NULL."""
    if len(pieces) < 3:
        return _of_signature("decode", pieces, scope)
    sought, *rest = pieces
    tests = [comparison("IS NOT DISTINCT FROM", sought, one, scope) for one in rest[:-1:2]]
    results, shared = common_pieces([*rest[1::2], *(rest[-1:] if len(rest) % 2 else [])], scope)
    whens = " ".join(f"WHEN {test.text} THEN {one.text}" for test, one in zip(tests, results, strict=False))
    last = f" ELSE {results[-1].text}" if len(rest) % 2 else ""
    return DuckText(f"CASE {whens}{last} END", shared)


def _fails_there(name: str) -> SpellCall:
    """What fails in Spark where it has no value; the function with try_ before its name gives NULL there."""

    def refused(pieces: Pieces, scope: NameScope) -> DuckText:
        raise UnspelledOperation(f"the function {name}, which can fail (try_{name} does not)")

    return refused


NOW = DuckText("now()", TIMESTAMP)
"""The same in all rows of a query."""

IN_STRICT: dict[str, SpellCall] = {
    "curdate": lambda pieces, scope: cast_to(NOW, DATE, scope),
    "current_date": lambda pieces, scope: cast_to(NOW, DATE, scope),
    "current_timestamp": lambda pieces, scope: NOW,
    "now": lambda pieces, scope: NOW,
    "add_months": _months_added,
    "binary": lambda pieces, scope: cast_to(pieces[0], BINARY, scope),
    "bit_get": _bit,
    "date_part": _part_of,
    "dateadd": _other("date_add"),
    "datepart": _part_of,
    "decimal": lambda pieces, scope: cast_to(pieces[0], Decimal(10, 0), scope),
    "decode": _decoded,
    "e": lambda pieces, scope: real(math.e),
    "equal_null": lambda pieces, scope: comparison("IS NOT DISTINCT FROM", pieces[0], pieces[1], scope),
    "from_unixtime": _of_unixtime,
    "getbit": _bit,
    "negative": lambda pieces, scope: negative(pieces[0], scope),
    "nullifzero": lambda pieces, scope: _nullif([pieces[0], number(0, INT)], scope),
    "parse_json": _fails_there("parse_json"),
    "pi": lambda pieces, scope: real(math.pi),
    "regexp": _other("rlike"),
    "regexp_like": _other("rlike"),
    "to_date": _read_by(DATE),
    "to_timestamp": _read_by(TIMESTAMP),
    "to_timestamp_ltz": _read_by(TIMESTAMP),
    "to_timestamp_ntz": _read_by(TIMESTAMP_NTZ),
    "to_unix_timestamp": _seconds_of,
    "unix_timestamp": _seconds_of,
    "variant_get": _fails_there("variant_get"),
    "zeroifnull": lambda pieces, scope: _first_known([pieces[0], number(0, INT)], scope),
}
"""Those that only users write: in the texts of plans, they are those other expressions."""

OTHERS: dict[str, SpellCall] = {
    "~": _not,
    "array": _array,
    "array_compact": _compact,
    "array_distinct": _distinct,
    "array_max": _of_list("max"),
    "array_min": _of_list("min"),
    "array_size": _array_size,
    "char": _character,
    "chr": _character,
    "coalesce": _first_known,
    "concat": _concat,
    "date_from_unix_date": _of_days,
    "element_at": _element_at,
    "explode": _explode,
    "get": _item,
    "greatest": _extreme("greatest"),
    "ifnull": _first_known,
    "isnotnull": _is_null("IS NOT NULL"),
    "isnull": _is_null("IS NULL"),
    "item": _item,
    "least": _extreme("least"),
    "map_keys": _keys,
    "map_values": _values,
    "nullif": _nullif,
    "nvl": _first_known,
    "nvl2": _nvl2,
    "positive": _signed,
    "raise_error": _raise,
    "sequence": _sequence,
    "slice": _slice,
    "timestamp_micros": _of_micros,
    "try_add": _tried("+"),
    "try_divide": _tried("/"),
    "try_element_at": _element_at,
    "try_mod": _tried("%"),
    "try_multiply": _tried("*"),
    "try_subtract": _tried("-"),
    "try_to_binary": _to_binary,
    "try_to_timestamp": _read_time,
    "unix_date": _unix_date,
    "xxhash64": _hash,
}
