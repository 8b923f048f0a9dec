"""The scalar functions, on single values: of NULL they are NULL, but for those that are about NULL."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from neelc.runtime.values.order import extreme, order
from neelc.runtime.values.scalars import MICROSECOND, binary, later, quotient
from neelc.runtime.values.times import UTC, Months, clock, instant, shown, timestamp_of, zoned
from neelc.runtime.values.times import midnight as start_of
from neelc.runtime.values.types import EPOCH, StructOf, ValueType, to_decimal, to_timestamp

# Functions of numbers, of values that are not NULL. A failure is an exception; who calls makes it NULL.


def _absolute(value: object) -> object:
    match value:
        case Months(count):
            return Months(abs(count))
        case decimal.Decimal():
            return value.copy_abs()
    return abs(value)  # type: ignore[arg-type]


WIDE = decimal.Context(prec=1000, Emax=10**6, Emin=-(10**6))
"""For all digits of a DOUBLE, and the places behind them that it may be rounded to."""


def _rounded(mode: str, value: object, places: int) -> decimal.Decimal:
    exact = to_decimal(value)
    if -places > exact.adjusted() + 2:  # so far left of its first digit that nothing remains
        exact, places = (exact if mode != decimal.ROUND_HALF_UP else decimal.Decimal(0)), max(places, -80)
    return exact.quantize(decimal.Decimal(1).scaleb(-places), mode, WIDE)


def round_half_up(value: object, places: int = 0) -> object:
    """
    >>> round_half_up(2.5), round_half_up(-25, -1), round_half_up(1.005, 2)
    (3.0, -30, 1.01)
    """
    match value:
        case float():
            if not math.isfinite(value) or places > 400:
                return value
            return float(_rounded(decimal.ROUND_HALF_UP, value, places))
        case int():
            return value if places >= 0 else int(_rounded(decimal.ROUND_HALF_UP, value, places))
        case decimal.Decimal():
            return value if -places <= -40 else _rounded(decimal.ROUND_HALF_UP, value, min(places, 38))
    raise ValueError(value)


def _towards(mode: str) -> Function:
    """ceil and floor: a decimal stays one, other numbers become BIGINT; with places, all become decimals."""

    def rounded(value: object, places: int | None = None) -> object:
        if places is not None:
            return _rounded(mode, value, min(places, 38))
        if isinstance(value, float) and math.isnan(value):
            return 0  # as Java makes an integer of NaN
        whole = _rounded(mode, value, 0)
        return whole if isinstance(value, decimal.Decimal) else int(whole)

    return rounded


def _real(function: Callable[..., float], overflow: float = math.inf) -> Function:
    """A function of Java's Math: where Python raises an exception, Java has NaN or an infinity."""

    def real(*values: float) -> float:
        if any(math.isnan(value) for value in values):
            return math.nan
        try:
            return function(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return overflow

    return real


def _logarithm(function: Callable[[float], float]) -> Function:
    """A logarithm: NULL for what has none."""

    def logarithm(value: float) -> float | None:
        return None if value <= 0 else function(value)

    return logarithm


def logarithm_to_base(base: float, value: float | None = None) -> float | None:
    if value is None:
        return None if base <= 0 else math.log(base)
    if base <= 0 or value <= 0:
        return None
    divisor, dividend = math.log(base), math.log(value)
    return (
        dividend / divisor if divisor else (math.nan if dividend == 0 else math.copysign(math.inf, dividend))
    )


def power(base: float, exponent: float) -> float:
    """Java's Math.pow.

    >>> power(2.0, 10.0), power(10.0, 400.0), power(-8.0, 0.5)
    (1024.0, inf, nan)
    """
    if exponent == 0:
        return 1.0
    if math.isnan(base) or math.isnan(exponent) or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan
    odd = exponent % 2 == 1
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:
        return math.nan if base else (-math.inf if math.copysign(1, base) < 0 and odd else math.inf)


def sign(value: object) -> float:
    match value:
        case Months(count):
            return float((count > 0) - (count < 0))
        case float():
            return value if value == 0 or math.isnan(value) else math.copysign(1.0, value)
    zero = value - value  # type: ignore[operator]
    return float((value > zero) - (value < zero))


def positive_remainder(left: object, right: object) -> object:
    """pmod: the remainder, made positive by the divisor.

    >>> positive_remainder(-7, 3), positive_remainder(-7, -3)
    (2, -1)
    """
    rest = binary("%", left, right)
    if not rest < 0:  # type: ignore[operator]
        return rest
    return binary("%", binary("+", rest, right), right)


def bit_count(value: int) -> int:
    return (value % 2**64).bit_count()


NUMBERS: dict[str, Function] = {
    "abs": _absolute,
    "acos": _real(math.acos),
    "asin": _real(math.asin),
    "atan": _real(math.atan),
    "atan2": _real(math.atan2),
    "bit_count": bit_count,
    "ceil": _towards(decimal.ROUND_CEILING),
    "ceiling": _towards(decimal.ROUND_CEILING),
    "cos": _real(math.cos),
    "degrees": _real(math.degrees),
    "exp": _real(math.exp),
    "floor": _towards(decimal.ROUND_FLOOR),
    "ln": _logarithm(math.log),
    "log": logarithm_to_base,
    "log10": _logarithm(math.log10),
    "log2": _logarithm(math.log2),
    "mod": lambda left, right: binary("%", left, right),
    "pmod": positive_remainder,
    "pow": power,
    "power": power,
    "radians": _real(math.radians),
    "round": round_half_up,
    "sign": sign,
    "signum": sign,
    "sin": _real(math.sin),
    "sqrt": _real(math.sqrt),
    "tan": _real(math.tan),
}


# LIKE and regular expressions. Spark's are Java's; the differences that matter are translated.

_CLASSES = {
    "Alpha": "a-zA-Z", "Digit": "0-9", "Alnum": "a-zA-Z0-9", "Upper": "A-Z", "Lower": "a-z", "L": "^\\W\\d_",
    "Punct": "!-/:-@\\[-`{-~", "Space": " \\t\\n\\x0B\\f\\r", "XDigit": "0-9a-fA-F", "Blank": " \\t",
}  # fmt: skip


def is_like(text: str, pattern: str, escape: str | None = None, kind: str = "LIKE") -> bool:
    """Whether `text LIKE | ILIKE | RLIKE pattern` holds.

    >>> is_like("a_b", "a!_%", "!"), is_like("ABC", "a%", kind="ILIKE")
    (True, True)
    """
    if kind in ("RLIKE", "REGEXP"):
        return regular_expression(pattern).search(text) is not None
    if kind == "ILIKE":
        text, pattern = text.lower(), pattern.lower()
    return _like(pattern, escape or "\\").fullmatch(text) is not None


@lru_cache(maxsize=1024)
def _like(pattern: str, escape: str) -> re.Pattern[str]:
    parts: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, None)
            if following is None or following not in ("_", "%", escape):
                raise ValueError(f"{escape} must stand before _, % or {escape}")
            parts.append(re.escape(following))
        else:
            parts.append({"_": ".", "%": ".*"}.get(character) or re.escape(character))
    return re.compile("".join(parts), re.DOTALL)


@lru_cache(maxsize=1024)
def regular_expression(pattern: str) -> re.Pattern[str]:
    r"""A Java regular expression as one of Python.

    >>> regular_expression(r"\p{Alpha}+\z").search("12ab").group()
    'ab'
    """
    pattern = re.sub(r"\\Q(.*?)(?:\\E|\Z)", lambda quoted: re.escape(quoted[1]), pattern, flags=re.DOTALL)
    pattern = re.sub(r"\\(.)(?:\{(\w+)\})?", _translated, pattern, flags=re.DOTALL)
    pattern = re.sub(r"\(\?<(\w+)>", r"(?P<\1>", pattern)
    try:
        return re.compile(pattern, re.ASCII)
    except (re.error, RecursionError, OverflowError) as problem:
        raise ValueError(pattern) from problem


def _translated(found: re.Match[str]) -> str:
    letter, name = found[1], found[2]
    if letter in "pP" and name in _CLASSES:
        inside = _CLASSES[name]
        negated = (letter == "P") != inside.startswith("^")
        return f"[{'^' if negated else ''}{inside.removeprefix('^')}]"
    if letter in "zZ" and name is None:
        return r"\Z" if letter == "z" else r"(?=\n?\Z)"
    return r"[ \t]" if found[0] == r"\h" else found[0]


def replaced(text: str, pattern: str, replacement: str, start: int) -> str:
    """regexp_replace: `$1` in the replacement is a group, a backslash escapes the next character.

    >>> replaced("a1b2", "([0-9])", "<$1>", 1)
    'a<1>b<2>'
    """
    if start <= 0:
        raise ValueError("positions are counted from 1")
    if start > max(len(text), 1):
        return text
    compiled = regular_expression(pattern)

    def substitute(found: re.Match[str]) -> str:
        return re.sub(
            r"\\(.)|\$(\d+)|\$\{(\w+)\}", lambda part: _part(part, found), replacement, flags=re.DOTALL
        )

    return text[: start - 1] + compiled.sub(substitute, text[start - 1 :])


def _part(part: re.Match[str], found: re.Match[str]) -> str:
    if part[1] is not None:
        return part[1]
    return (found[int(part[2])] if part[2] is not None else found[part[3]]) or ""


def split(text: str, pattern: str, limit: int) -> list[str]:
    """Spark's split: by an empty pattern, into characters; `limit` greater than 0 is the most parts.

    >>> split("a1b2", "[0-9]", -1), split("abc", "", -1)
    (['a', 'b', ''], ['a', 'b', 'c'])
    """
    if pattern == "":
        cut = len(text) if limit <= 0 else min(limit, len(text))
        return [*text[: max(cut - 1, 0)], text[max(cut - 1, 0) :]]
    parts: list[str] = []
    begin = 0
    for found in regular_expression(pattern).finditer(text):
        if 0 < limit == len(parts) + 1:
            break
        if found.end() == 0:
            continue  # Java makes no empty part before the first character
        parts.append(text[begin : found.start()])
        begin = found.end()
    return [*parts, text[begin:]]


# Functions of strings and binaries, of values that are not NULL.

Text = str | bytes

# The longest array Java makes; Spark refuses to build a longer string.
LONGEST = 2**31 - 16


def substring(text: Text, position: int, length: int | None = None) -> Text:
    """Positions are counted from 1, negative ones from the end; what lies before the text counts as empty.

    >>> substring("abc", 2), substring("abc", -2, 1), substring("abc", -5, 3)
    ('bc', 'b', 'a')
    """
    begin = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = len(text) if length is None else begin + length
    return text[max(begin, 0) : max(end, 0)]


def left(text: Text, length: int) -> Text:
    return text[: max(length, 0)]


def right(text: str, length: int) -> str:
    return text[-length:] if length > 0 else ""


def _pad(at_left: bool) -> Function:
    def pad(text: Text, length: int, filler: Text | None = None) -> Text:
        if filler is None:
            filler = " " if isinstance(text, str) else b"\0"
        length = max(length, 0)
        missing = length - len(text)
        if missing <= 0 or not filler:
            return text[:length]
        if length > LONGEST:
            raise OverflowError
        padding = (filler * (missing // len(filler) + 1))[:missing]
        return padding + text if at_left else text + padding  # type: ignore[operator]

    return pad


def repeat(text: str, times: int) -> str:
    if len(text) * times > LONGEST:
        raise OverflowError
    return text * times


def locate(part: str, text: str, start: int = 1) -> int:
    """Where `part` is found at or after `start`, counted from 1; 0 if it is not.

    >>> locate("b", "abcb", 3), locate("", "abc", 5), locate("b", "abc", 0)
    (4, 1, 0)
    """
    if start < 1:
        return 0
    if not part:
        return 1
    return text.find(part, start - 1) + 1


def _trim(strip: Callable[[str, str], str]) -> Function:
    """One argument: spaces are trimmed; two: the characters of the first are trimmed from the second."""
    return lambda first, text=None: (
        strip(first, " ") if text is None else strip(text, first) if first else text
    )


def concat(*values: object) -> object:
    """Strings, binaries or arrays, one after the other."""
    first, *rest = values
    for value in rest:
        first = [*first, *value] if isinstance(first, list | tuple) else first + value  # type: ignore[operator, misc]
    return first


def concat_ws(separator: str | None, *values: object) -> str | None:
    """Strings, and arrays of strings, with a separator between them; NULLs are left out."""
    if separator is None:
        return None
    words: list[str] = []
    for value in values:
        items = value if isinstance(value, list | tuple) else [value]
        words.extend(str(item) for item in items if item is not None)
    return separator.join(words)


TEXTS: dict[str, Function] = {
    "char_length": len,
    "concat": concat,
    "contains": lambda text, part: part in text,
    "endswith": lambda text, part: text.endswith(part),
    "instr": lambda text, part: locate(part, text),
    "lcase": str.lower,
    "left": left,
    "length": len,
    "locate": locate,
    "lower": str.lower,
    "lpad": _pad(at_left=True),
    "ltrim": _trim(str.lstrip),
    "position": locate,
    "regexp_replace": lambda text, pattern, by, start=1: replaced(text, pattern, by, start),
    "repeat": repeat,
    "replace": lambda text, part, by="": text.replace(part, by) if part else text,
    "reverse": lambda value: value[::-1],
    "right": right,
    "rpad": _pad(at_left=False),
    "rtrim": _trim(str.rstrip),
    "split": lambda text, pattern, limit=-1: split(text, pattern, limit),
    "startswith": lambda text, part: text.startswith(part),
    "substr": substring,
    "substring": substring,
    "trim": _trim(str.strip),
    "ucase": str.upper,
    "upper": str.upper,
}


# Functions of dates, timestamps and intervals, of values that are not NULL.


def extract(value: object, field: str) -> object:
    """EXTRACT(field FROM value).

    >>> extract(datetime.datetime(2020, 1, 1, 0, 0, 5, 250000), "SECOND")
    Decimal('5.250000')
    >>> extract(datetime.date(2020, 2, 29), "DAYOFWEEK")
    7
    """
    match value:
        case Months(count):
            years = quotient(count, 12)
            return years if field == "YEAR" else count - 12 * years
        case datetime.timedelta():
            return _interval_field(field, value // MICROSECOND)
        case datetime.date() if field in FIELDS:
            return FIELDS[field](shown(value))
    raise ValueError(field)


def _interval_field(field: str, microseconds: int) -> object:
    sign, rest = (-1 if microseconds < 0 else 1), abs(microseconds)
    match field:
        case "DAY":
            return sign * (rest // 86_400_000_000)
        case "HOUR":
            return sign * (rest // 3_600_000_000 % 24)
        case "MINUTE":
            return sign * (rest // 60_000_000 % 60)
    return decimal.Decimal(sign * (rest % 60_000_000)).scaleb(-6)


# Each is given a date; the last three a timestamp.
FIELDS: dict[str, Function] = {
    "YEAR": lambda date: date.year,
    "YEAROFWEEK": lambda date: date.isocalendar()[0],
    "QUARTER": lambda date: (date.month + 2) // 3,
    "MONTH": lambda date: date.month,
    "WEEK": lambda date: date.isocalendar()[1],
    "DAY": lambda date: date.day,
    "DAYOFWEEK": lambda date: date.isoweekday() % 7 + 1,
    "DAYOFWEEK_ISO": lambda date: date.isoweekday(),
    "DOY": lambda date: date.timetuple().tm_yday,
    "HOUR": lambda moment: moment.hour,
    "MINUTE": lambda moment: moment.minute,
    "SECOND": lambda moment: decimal.Decimal(moment.second * 1_000_000 + moment.microsecond).scaleb(-6),
}

_UNITS = {
    "YEAR": "YEAR", "YYYY": "YEAR", "YY": "YEAR", "QUARTER": "QUARTER", "MONTH": "MONTH", "MON": "MONTH",
    "MM": "MONTH", "WEEK": "WEEK", "DAY": "DAY", "DD": "DAY", "HOUR": "HOUR", "MINUTE": "MINUTE",
    "SECOND": "SECOND", "MILLISECOND": "MILLISECOND", "MICROSECOND": "MICROSECOND",
}  # fmt: skip
_LENGTHS = {
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}


def date_trunc(name: str, moment: datetime.datetime) -> datetime.datetime | None:
    """The start of the year, week, hour, ... that a timestamp lies in; NULL for a unit there is not.

    >>> print(date_trunc("week", datetime.datetime(2020, 2, 29, 12, 34)))
    2020-02-24 00:00:00
    """
    unit = _UNITS.get(name.upper())
    if unit is None:
        return None
    if moment.tzinfo is None:
        return _truncated(unit, moment)
    found = _truncated(unit, clock(moment))
    if unit == "DAY" or unit in _LENGTHS:
        return instant(found, zoned(moment).utcoffset())
    return start_of(found.date())


def _truncated(unit: str, moment: datetime.datetime) -> datetime.datetime:
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit in _LENGTHS:
        passed = (moment - midnight) // MICROSECOND
        return midnight + (passed - passed % _LENGTHS[unit]) * MICROSECOND
    match unit:
        case "YEAR":
            return midnight.replace(month=1, day=1)
        case "QUARTER":
            return midnight.replace(month=(moment.month - 1) // 3 * 3 + 1, day=1)
        case "MONTH":
            return midnight.replace(day=1)
        case "WEEK":
            return midnight - datetime.timedelta(days=moment.weekday())
    return midnight


def microseconds(moment: datetime.datetime) -> int:
    """Microseconds since 1970; of a TIMESTAMP_NTZ, as if it were in UTC: so counts Spark."""
    return (moment.replace(tzinfo=UTC) - EPOCH) // MICROSECOND


_SECONDS = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\Z", re.ASCII)


def unix_timestamp(value: object) -> int:
    """Seconds since 1970, cut towards it; a string must be of the form `yyyy-MM-dd HH:mm:ss`."""
    if isinstance(value, str):
        value = timestamp_of(value) if _SECONDS.match(value) else None
    elif isinstance(value, datetime.datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    moment = to_timestamp(value)
    if moment is None:
        raise ValueError(value)
    return quotient(microseconds(moment), 1_000_000)


def timestamp_seconds(value: object) -> datetime.datetime | None:
    """A decimal must not say more than microseconds."""
    if isinstance(value, decimal.Decimal) and value * 1_000_000 != int(value * 1_000_000):
        raise ValueError(value)
    return to_timestamp(value)


def _of_clock(field: str) -> Function:
    return lambda moment: FIELDS[field](shown(moment))


TIMES: dict[str, Function] = {
    "date_add": later,
    "date_diff": lambda end, start: (end - start).days,
    "date_sub": lambda date, days: later(date, -days),
    "date_trunc": date_trunc,
    "datediff": lambda end, start: (end - start).days,
    "day": FIELDS["DAY"],
    "dayofmonth": FIELDS["DAY"],
    "dayofweek": FIELDS["DAYOFWEEK"],
    "dayofyear": FIELDS["DOY"],
    "hour": _of_clock("HOUR"),
    "minute": _of_clock("MINUTE"),
    "month": FIELDS["MONTH"],
    "quarter": FIELDS["QUARTER"],
    "second": lambda moment: shown(moment).second,
    "timestamp_millis": lambda value: EPOCH + value * 1_000 * MICROSECOND,
    "timestamp_seconds": timestamp_seconds,
    "to_date": lambda date: date,
    "to_timestamp": lambda moment: moment,
    "unix_micros": microseconds,
    "unix_millis": lambda moment: microseconds(moment) // 1_000,
    "unix_seconds": lambda moment: microseconds(moment) // 1_000_000,
    "unix_timestamp": unix_timestamp,
    "year": FIELDS["YEAR"],
}

Function = Callable[..., object]


def _first_not_null(*values: object) -> object:
    return next((value for value in values if value is not None), None)


def _nullif(left: object, right: object) -> object:
    same = left is not None and right is not None and order(left, right) == 0
    return None if same else left


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _array_contains(array: Sequence[object] | None, value: object) -> bool | None:
    if array is None or value is None:
        return None
    if any(item is not None and order(item, value) == 0 for item in array):
        return True
    return None if any(item is None for item in array) else False


# These see NULLs.
ABOUT_NULL: dict[str, Function] = {
    "array": lambda *values: list(values),
    "array_contains": _array_contains,
    "coalesce": _first_not_null,
    "concat_ws": concat_ws,
    "greatest": lambda *values: extreme(values, 1),
    "if": lambda condition, then, otherwise: then if condition is True else otherwise,
    "ifnull": _first_not_null,
    "isnan": _is_nan,
    "isnotnull": lambda value: value is not None,
    "isnull": lambda value: value is None,
    "least": lambda *values: extreme(values, -1),
    "nanvl": lambda value, other: other if _is_nan(value) else value,
    "nullif": _nullif,
    "nvl": _first_not_null,
    "nvl2": lambda value, present, absent: absent if value is None else present,
}


def _element_at(collection: object, key: object) -> object:
    """An array's element, counted from 1 or, if negative, from the end; a map's value."""
    if isinstance(collection, dict):
        return value_of(collection, key)
    if key == 0:
        raise IndexError
    return collection[key - 1 if key > 0 else key]  # type: ignore[index, operator]


def value_of(mapping: dict[object, object], key: object) -> object:
    """The value of a key, as Spark compares keys."""
    return next((value for other, value in mapping.items() if order(other, key) == 0), None)


def field_of(value: object, name: str) -> object:
    """A field of a struct; of an array of structs, the array of that field."""
    match value:
        case dict():
            return value.get(name)
        case list() | tuple():
            return [field_of(item, name) for item in value]
    return None


def item_of(value: object, index: object) -> object:
    """An array's element, counted from 0, or a map's value."""
    match value, index:
        case dict(), _:
            return None if index is None else value_of(value, index)
        case ((list() | tuple()), int()):
            return value[index] if 0 <= index < len(value) else None
    return None


FUNCTIONS: dict[str, Function] = {
    **NUMBERS,
    **TEXTS,
    **TIMES,
    "cardinality": len,
    "element_at": _element_at,
    "size": len,
}


def _struct(*values: object, type: ValueType) -> object:
    assert isinstance(type, StructOf)
    return {name: value for (name, _), value in zip(type.fields, values, strict=True)}


def _shifted(value: int, places: int, type: ValueType, left: bool) -> int:
    """Java's shifts: the places are counted modulo the width, and what leaves it is lost."""
    width = 64 if type == "bigint" else 32
    shifted = value << places % width if left else value >> places % width
    return (shifted + (1 << width - 1)) % (1 << width) - (1 << width - 1)


# These need to know the type of their result.
OF_TYPE: dict[str, Function] = {
    "shiftleft": lambda value, places, type: _shifted(value, places, type, left=True),
    "shiftright": lambda value, places, type: _shifted(value, places, type, left=False),
}

# These see NULLs, and need to know the type of their result.
STRUCTS: dict[str, Function] = {
    "struct": _struct,
    "named_struct": lambda *names_and_values, type: _struct(*names_and_values[1::2], type=type),
}
