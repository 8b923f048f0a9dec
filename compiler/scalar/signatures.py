"""The functions neelc knows, as Spark defines them: one line each.

A parameter in capitals is a type: other values are cast to it where Spark does so. A parameter in small
letters is a kind of types (`neelc.scalar.signatures`); all parameters of one kind agree on one type, and
a result of that kind has it. `[...]` may be left out, `...` may be repeated.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable, Sequence

from neelc.ir.node import walk
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    GEOMETRY,
    INT,
    SIMPLE_TYPES,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    VOID,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
    StructField,
    is_orderable,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.datetime_patterns import EXAMPLE, MalformedPattern, form_of, pattern_of
from neelc.runtime.values.functions.json import MalformedPath, path_of
from neelc.runtime.values.functions.space import METRICS
from neelc.scalar.operators import (
    DAY_COUNTS,
    INTEGERS,
    common_of,
    is_nested,
    is_number,
    joined,
    tightest,
)
from neelc.scalar.type_of import DATETIMES, INTERVALS

SCALARS = """
abs(quantity) -> quantity
acos(DOUBLE) -> DOUBLE
acosh(DOUBLE) -> DOUBLE
add_months(DATE, INT) -> DATE
array([common...]) -> ARRAY<common>
array_append(array, any) -> array
array_compact(array) -> array
array_contains(array, any) -> BOOLEAN
array_distinct(sortable) -> sortable
array_except(set, set) -> set
array_insert(array, INT, any) -> array
array_intersect(set, set) -> set
array_join(texts, STRING [, STRING]) -> STRING
array_max(sortable) -> element
array_min(sortable) -> element
array_position(array, any) -> BIGINT
array_prepend(array, any) -> array
array_remove(array, any) -> array
array_repeat(any, INT) -> ARRAY<any>
array_size(array) -> INT
array_sort(sortable) -> sortable
array_union(set, set) -> set
arrays_overlap(set, set) -> BOOLEAN
ascii(STRING) -> INT
asin(DOUBLE) -> DOUBLE
asinh(DOUBLE) -> DOUBLE
atan(DOUBLE) -> DOUBLE
atan2(DOUBLE, DOUBLE) -> DOUBLE
atanh(DOUBLE) -> DOUBLE
base64(BINARY) -> STRING
bigint(any) -> BIGINT
bin(BIGINT) -> STRING
binary(any) -> BINARY
bit_count(bits) -> INT
bit_get(integer, INT) -> TINYINT
bit_length(text) -> INT
boolean(any) -> BOOLEAN
bround(number [, places]) -> rounded
btrim(STRING [, STRING]) -> STRING
cardinality(collection) -> INT
cbrt(DOUBLE) -> DOUBLE
ceil(number [, places]) -> ceiling
ceiling(number [, places]) -> ceiling
char(BIGINT) -> STRING
char_length(text) -> INT
character_length(text) -> INT
chr(BIGINT) -> STRING
coalesce(common...) -> common
concat(joined...) -> joined
concat_ws(STRING [, words...]) -> STRING
contains(text, text) -> BOOLEAN
conv(STRING, places, INT) -> STRING
convert_timezone(STRING, any [, any]) -> TIMESTAMP_NTZ
cos(DOUBLE) -> DOUBLE
cosh(DOUBLE) -> DOUBLE
cot(DOUBLE) -> DOUBLE
crc32(BINARY) -> BIGINT
csc(DOUBLE) -> DOUBLE
date(any) -> DATE
date_add(DATE, days) -> DATE
date_diff(DATE, DATE) -> INT
date_format(TIMESTAMP, form) -> STRING
date_from_unix_date(INT) -> DATE
date_part(field, any) -> INT
date_sub(DATE, days) -> DATE
date_trunc(STRING, TIMESTAMP) -> TIMESTAMP
dateadd(DATE, days) -> DATE
datediff(DATE, DATE) -> INT
datepart(field, any) -> INT
day(DATE) -> INT
dayname(DATE) -> STRING
dayofmonth(DATE) -> INT
dayofweek(DATE) -> INT
dayofyear(DATE) -> INT
decimal(any) -> any
decode(BINARY, charset [, any...]) -> STRING
degrees(DOUBLE) -> DOUBLE
double(any) -> DOUBLE
e() -> DOUBLE
element_at(collection, any) -> element
elt(INT, text...) -> text
encode(STRING, charset) -> BINARY
endswith(text, text) -> BOOLEAN
equal_null(any, any) -> BOOLEAN
exp(DOUBLE) -> DOUBLE
expm1(DOUBLE) -> DOUBLE
factorial(INT) -> BIGINT
find_in_set(STRING, STRING) -> INT
flatten(nested) -> element
float(any) -> FLOAT
floor(number [, places]) -> ceiling
format_number(numeric, places) -> STRING
from_json(STRING, schema) -> schema
from_unixtime(BIGINT [, form]) -> STRING
from_utc_timestamp(TIMESTAMP, STRING) -> TIMESTAMP
get(array, integer) -> element
get_json_object(STRING, path) -> STRING
getbit(integer, INT) -> TINYINT
greatest(ordered, ordered...) -> ordered
hash(hashable...) -> INT
hex(hexed) -> STRING
hour(moment) -> INT
hypot(DOUBLE, DOUBLE) -> DOUBLE
if(condition, common, common) -> common
ifnull(common, common) -> common
ilike(any, any) -> BOOLEAN
initcap(STRING) -> STRING
instr(STRING, STRING) -> INT
int(any) -> INT
is_variant_null(any) -> BOOLEAN
isnan(DOUBLE) -> BOOLEAN
isnotnull(any) -> BOOLEAN
isnull(any) -> BOOLEAN
last_day(DATE) -> DATE
json_array_length(STRING) -> INT
json_object_keys(STRING) -> ARRAY<STRING>
lcase(STRING) -> STRING
least(ordered, ordered...) -> ordered
left(text, INT) -> text
len(text) -> INT
length(text) -> INT
levenshtein(STRING, STRING [, INT]) -> INT
ln(DOUBLE) -> DOUBLE
locate(STRING, STRING [, INT]) -> INT
log(DOUBLE [, DOUBLE]) -> DOUBLE
log10(DOUBLE) -> DOUBLE
log1p(DOUBLE) -> DOUBLE
log2(DOUBLE) -> DOUBLE
lower(STRING) -> STRING
lpad(text, INT [, text]) -> text
ltrim(STRING [, STRING]) -> STRING
luhn_check(STRING) -> BOOLEAN
make_date(INT, INT, INT) -> DATE
make_dt_interval(INT [, INT, INT, seconds]) -> INTERVAL DAY TO SECOND
make_timestamp(INT, INT, INT, INT, INT, seconds [, STRING]) -> TIMESTAMP
make_timestamp_ltz(INT, INT, INT, INT, INT, seconds [, STRING]) -> TIMESTAMP
make_timestamp_ntz(INT, INT, INT, INT, INT, seconds) -> TIMESTAMP_NTZ
make_ym_interval(INT [, INT]) -> INTERVAL YEAR TO MONTH
map(any, any...) -> map
map_concat(maps...) -> maps
map_contains_key(map, any) -> BOOLEAN
map_entries(map) -> entries
map_from_arrays(array, array) -> map
map_from_entries(pairs) -> mapping
map_keys(map) -> keys
map_values(map) -> values
mask(STRING [, mark, mark, mark, mark]) -> STRING
md5(BINARY) -> STRING
minute(moment) -> INT
mod(number, number) -> remainder
month(DATE) -> INT
monthname(DATE) -> STRING
months_between(TIMESTAMP, TIMESTAMP [, BOOLEAN]) -> DOUBLE
named_struct(any...) -> struct
nanvl(real, real) -> real
negative(any) -> any
next_day(DATE, STRING) -> DATE
nullif(any, any) -> first
nullifzero(any) -> any
nvl(common, common) -> common
nvl2(any, common, common) -> common
octet_length(text) -> INT
overlay(text, text, INT [, INT]) -> text
parse_json(STRING) -> variant
pi() -> DOUBLE
pmod(number, number) -> remainder
position(STRING, STRING [, INT]) -> INT
positive(any) -> any
pow(DOUBLE, DOUBLE) -> DOUBLE
power(DOUBLE, DOUBLE) -> DOUBLE
quarter(DATE) -> INT
radians(DOUBLE) -> DOUBLE
regexp(any, any) -> BOOLEAN
regexp_count(STRING, STRING) -> INT
regexp_extract(STRING, STRING [, INT]) -> STRING
regexp_extract_all(STRING, STRING [, INT]) -> ARRAY<STRING>
regexp_instr(STRING, STRING [, INT]) -> INT
regexp_like(any, any) -> BOOLEAN
regexp_replace(STRING, STRING, STRING [, INT]) -> STRING
regexp_substr(STRING, STRING) -> STRING
repeat(STRING, INT) -> STRING
replace(STRING, STRING [, STRING]) -> STRING
reverse(sequence) -> sequence
right(STRING, INT) -> STRING
rint(DOUBLE) -> DOUBLE
rlike(any, any) -> BOOLEAN
round(number [, places]) -> rounded
rpad(text, INT [, text]) -> text
rtrim(STRING [, STRING]) -> STRING
sec(DOUBLE) -> DOUBLE
second(moment) -> INT
sequence(integers, integers [, integers]) -> ARRAY<integers>
sha(BINARY) -> STRING
sha1(BINARY) -> STRING
sha2(BINARY, INT) -> STRING
shiftleft(word, INT) -> word
shiftright(word, INT) -> word
shiftrightunsigned(word, INT) -> word
sign(quantity) -> DOUBLE
signum(quantity) -> DOUBLE
sin(DOUBLE) -> DOUBLE
sinh(DOUBLE) -> DOUBLE
size(collection) -> INT
slice(array, INT, INT) -> array
smallint(any) -> SMALLINT
sort_array(sortable [, truth]) -> sortable
soundex(STRING) -> STRING
space(INT) -> STRING
split(STRING, STRING [, INT]) -> ARRAY<STRING>
split_part(STRING, STRING, INT) -> STRING
sqrt(DOUBLE) -> DOUBLE
st_area(geometry) -> DOUBLE
st_asbinary(geometry) -> BINARY
st_astext(geometry) -> STRING
st_bounds(geometry [, DOUBLE, metric]) -> ARRAY<DOUBLE>
st_buffer(geometry, DOUBLE) -> GEOMETRY
st_centroid(geometry) -> GEOMETRY
st_contains(geometry, geometry) -> BOOLEAN
st_coveredby(geometry, geometry) -> BOOLEAN
st_covers(geometry, geometry) -> BOOLEAN
st_crosses(geometry, geometry) -> BOOLEAN
st_difference(geometry, geometry) -> GEOMETRY
st_disjoint(geometry, geometry) -> BOOLEAN
st_distance(geometry, geometry [, metric]) -> DOUBLE
st_dwithin(geometry, geometry, DOUBLE [, metric]) -> BOOLEAN
st_envelope(geometry) -> GEOMETRY
st_equals(geometry, geometry) -> BOOLEAN
st_geomfromtext(STRING) -> GEOMETRY
st_geomfromwkb(BINARY) -> GEOMETRY
st_intersection(geometry, geometry) -> GEOMETRY
st_intersects(geometry, geometry) -> BOOLEAN
st_isempty(geometry) -> BOOLEAN
st_isvalid(geometry) -> BOOLEAN
st_length(geometry [, metric]) -> DOUBLE
st_makeline(geometries) -> GEOMETRY
st_overlaps(geometry, geometry) -> BOOLEAN
st_perimeter(geometry [, metric]) -> DOUBLE
st_point(DOUBLE, DOUBLE) -> GEOMETRY
st_touches(geometry, geometry) -> BOOLEAN
st_union_of(geometries) -> GEOMETRY
st_within(geometry, geometry) -> BOOLEAN
st_x(geometry) -> DOUBLE
st_y(geometry) -> DOUBLE
startswith(text, text) -> BOOLEAN
str_to_map(STRING [, STRING, STRING]) -> MAP<STRING, STRING>
string(any) -> STRING
struct(any...) -> struct
substr(text, INT [, INT]) -> text
substring(text, INT [, INT]) -> text
substring_index(STRING, STRING, INT) -> STRING
tan(DOUBLE) -> DOUBLE
tanh(DOUBLE) -> DOUBLE
timestamp(any) -> TIMESTAMP
timestamp_micros(integer) -> TIMESTAMP
timestamp_millis(integer) -> TIMESTAMP
timestamp_seconds(numeric) -> TIMESTAMP
timestampadd(unit, any, any) -> TIMESTAMP
timestampdiff(unit, any, any) -> BIGINT
tinyint(any) -> TINYINT
to_binary(STRING [, encoding]) -> BINARY
to_date(DATE [, pattern]) -> DATE
to_json(any) -> STRING
to_timestamp(instant [, pattern]) -> TIMESTAMP
to_timestamp_ltz(any [, pattern]) -> TIMESTAMP
to_timestamp_ntz(any [, pattern]) -> TIMESTAMP_NTZ
to_unix_timestamp(date_or_text [, pattern]) -> BIGINT
to_utc_timestamp(TIMESTAMP, STRING) -> TIMESTAMP
translate(STRING, STRING, STRING) -> STRING
trim(STRING [, STRING]) -> STRING
trunc(DATE, STRING) -> DATE
try_add(any, any) -> any
try_divide(any, any) -> any
try_element_at(collection, any) -> element
try_make_timestamp(INT, INT, INT, INT, INT, seconds [, STRING]) -> TIMESTAMP
try_make_timestamp_ltz(INT, INT, INT, INT, INT, seconds [, STRING]) -> TIMESTAMP
try_make_timestamp_ntz(INT, INT, INT, INT, INT, seconds) -> TIMESTAMP_NTZ
try_mod(any, any) -> any
try_multiply(any, any) -> any
try_parse_json(STRING) -> variant
try_subtract(any, any) -> any
try_to_binary(STRING [, encoding]) -> BINARY
try_to_date(DATE [, pattern]) -> DATE
try_to_timestamp(instant [, pattern]) -> TIMESTAMP
try_url_decode(STRING) -> STRING
try_variant_get(any, path, schema) -> schema
ucase(STRING) -> STRING
unbase64(STRING) -> BINARY
unhex(STRING) -> BINARY
unix_date(date) -> INT
unix_micros(clock) -> BIGINT
unix_millis(clock) -> BIGINT
unix_seconds(clock) -> BIGINT
unix_timestamp(date_or_text [, pattern]) -> BIGINT
upper(STRING) -> STRING
url_decode(STRING) -> STRING
url_encode(STRING) -> STRING
variant_get(any, path, schema) -> schema
weekday(DATE) -> INT
weekofyear(DATE) -> INT
width_bucket(DOUBLE, DOUBLE, DOUBLE, BIGINT) -> BIGINT
xxhash64(hashable...) -> BIGINT
year(DATE) -> INT
zeroifnull(any) -> any
"""

AGGREGATES = """
any(BOOLEAN) -> BOOLEAN
array_agg(any) -> ARRAY<any>
avg(quantity) -> average
bit_and(integer) -> integer
bit_or(integer) -> integer
bit_xor(integer) -> integer
bool_and(BOOLEAN) -> BOOLEAN
bool_or(BOOLEAN) -> BOOLEAN
collect_list(any) -> ARRAY<any>
collect_set(comparable) -> ARRAY<comparable>
corr(DOUBLE, DOUBLE) -> DOUBLE
count(any) -> BIGINT
count_if(BOOLEAN) -> BIGINT
covar_pop(DOUBLE, DOUBLE) -> DOUBLE
covar_samp(DOUBLE, DOUBLE) -> DOUBLE
every(BOOLEAN) -> BOOLEAN
first(any) -> any
kurtosis(DOUBLE) -> DOUBLE
last(any) -> any
max(comparable) -> comparable
max_by(any, ordered) -> any
mean(quantity) -> average
median(DOUBLE) -> DOUBLE
min(comparable) -> comparable
min_by(any, ordered) -> any
percentile(DOUBLE, share) -> DOUBLE
regr_avgx(inexact, inexact) -> DOUBLE
regr_avgy(inexact, inexact) -> DOUBLE
regr_count(DOUBLE, DOUBLE) -> BIGINT
regr_intercept(DOUBLE, DOUBLE) -> DOUBLE
regr_r2(DOUBLE, DOUBLE) -> DOUBLE
regr_slope(DOUBLE, DOUBLE) -> DOUBLE
regr_sxx(DOUBLE, DOUBLE) -> DOUBLE
regr_sxy(DOUBLE, DOUBLE) -> DOUBLE
regr_syy(DOUBLE, DOUBLE) -> DOUBLE
skewness(DOUBLE) -> DOUBLE
some(BOOLEAN) -> BOOLEAN
std(DOUBLE) -> DOUBLE
stddev(DOUBLE) -> DOUBLE
stddev_pop(DOUBLE) -> DOUBLE
stddev_samp(DOUBLE) -> DOUBLE
sum(quantity) -> sum
try_avg(quantity) -> average
try_sum(quantity) -> sum
var_pop(DOUBLE) -> DOUBLE
var_samp(DOUBLE) -> DOUBLE
variance(DOUBLE) -> DOUBLE
"""


READ_AS = {"array_agg": "collect_list", "std": "stddev", "try_avg": "avg", "try_sum": "sum"}
"""Aggregates that are others: here, what fails is NULL."""


# What a message calls a kind whose name says more than a reader needs.
KIND_WORDS = {
    **dict.fromkeys(("any", "common", "comparable", "ordered", "joined"), "value"),
    **dict.fromkeys(("inexact", "numeric", "quantity", "real"), "number"),
    **dict.fromkeys(("bits", "days", "integers", "word"), "integer"),
    **dict.fromkeys(("nested", "pairs", "set", "sortable", "texts", "geometries"), "array"),
    "maps": "map",
    "truth": "condition",
    **dict.fromkeys(("clock", "instant", "moment"), "timestamp"),
    "date_or_text": "date",
    "form": "pattern",
    "local": "timestamp",
    "hashable": "value",
    "hexed": "value",
    "places": "number",
    "sequence": "text",
    "words": "text",
}

ROW_AGGREGATES = """
any_value(any) -> any
"""
"""Aggregates over the rows of a match, which have an order: for MATCH_RECOGNIZE only."""


@dataclass(frozen=True)
class Signature:
    """A function's name, its parameters and its result; the last parameter may repeat."""

    text: str
    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    repeats: bool
    result: str

    def parameters(self, count: int) -> tuple[str, ...]:
        """The kind of each of `count` arguments."""
        known = self.required + self.optional
        return (known + known[-1:] * (count - len(known)))[:count]

    def accepts(self, count: int) -> bool:
        """Whether the function takes that many arguments."""
        most = len(self.required) + len(self.optional)
        return len(self.required) <= count and (self.repeats or count <= most)

    def count_text(self) -> str:
        """How many arguments there may be, in words."""
        least, most = len(self.required), len(self.required) + len(self.optional)
        if self.repeats:
            return f"{least} or more arguments" if least != 1 else "1 argument or more"
        if least == most:
            return f"{least} argument{'s' if least != 1 else ''}"
        return f"{least} or {most} arguments" if most == least + 1 else f"{least} to {most} arguments"


def signature(line: str) -> Signature:
    """A line of the table.

    >>> found = signature("lpad(text, INT [, text]) -> text")
    >>> found.required, found.optional, found.result, found.count_text()
    (('text', 'INT'), ('text',), 'text', '2 or 3 arguments')
    """
    matched = re.fullmatch(r"(\w+)\(([^\[\])]*)(?:\[([^\])]*)\])?\) -> (.+)", line)
    assert matched is not None, line
    required, optional = (
        tuple(word.removesuffix("...") for word in (part or "").replace(",", " ").split())
        for part in matched.group(2, 3)
    )
    text = re.sub(
        r"(?<![\w.])[a-z_]+(?!\w*\()", lambda kind: KIND_WORDS.get(kind[0], kind[0]), line.split(" -> ")[0]
    )
    return Signature(text, matched[1], required, optional, "..." in line, matched[4])


def table(text: str) -> dict[str, Signature]:
    """The signatures by name."""
    return {found.name: found for found in map(signature, text.strip().splitlines())}


SCALAR_SIGNATURES = table(SCALARS)
AGGREGATE_SIGNATURES = table(AGGREGATES)
ROW_AGGREGATE_SIGNATURES = table(ROW_AGGREGATES)


# The kinds of types that signatures speak of: which types are of a kind, and what others are cast to.

One = Callable[[DataType], DataType | None]


def _kind(*types: DataType, numbers: bool = False, void: DataType, string: DataType | None = None) -> One:
    """A kind of the types given (and of all numbers); what NULL, and perhaps a STRING, becomes."""

    def one(type: DataType) -> DataType | None:
        if type in types or (numbers and is_number(type)):
            return type
        return void if type == VOID else string if type == STRING else None

    return one


def _to(target: DataType, *types: DataType, numbers: bool = False) -> One:
    """A kind whose types are all cast to `target`."""

    def one(type: DataType) -> DataType | None:
        fits = type in (target, VOID, *types) or (numbers and is_number(type))
        return target if fits else None

    return one


def _text(type: DataType) -> DataType | None:
    return None if is_nested(type) else BINARY if type == BINARY else STRING


def _sequence(type: DataType) -> DataType | None:
    return type if isinstance(type, Array) else _text(type)


def _words(type: DataType) -> DataType | None:
    if isinstance(type, Array):
        return None if is_nested(type.element) else Array(STRING)
    return None if is_nested(type) else STRING


def _real(type: DataType) -> DataType | None:
    return FLOAT if type == FLOAT else DOUBLE if is_number(type) or type in (STRING, VOID) else None


def _geometry(type: DataType) -> DataType | None:
    """A STRING is the text of one, BINARY its bytes."""
    return type if type == STRING else GEOMETRY if type in (GEOMETRY, BINARY, VOID) else None


def _geometries(type: DataType) -> DataType | None:
    return type if isinstance(type, Array) and type.element in (GEOMETRY, STRING, BINARY) else None


def _hexed(type: DataType) -> DataType | None:
    return BIGINT if is_number(type) or type == VOID else _text(type)


def _hashable(type: DataType) -> DataType | None:
    return None if any(isinstance(part, Map) or part == VARIANT for part in walk(type)) else type


def _word(type: DataType) -> DataType | None:
    return BIGINT if type == BIGINT else INT if is_number(type) or type in (STRING, VOID) else None


def _sortable(type: DataType) -> DataType | None:
    return type if isinstance(type, Array) and is_orderable(type.element) else None


def _texts(type: DataType) -> DataType | None:
    return Array(STRING) if isinstance(type, Array) and not is_nested(type.element) else None


def _nested(type: DataType) -> DataType | None:
    return type if isinstance(type, Array) and isinstance(type.element, Array) else None


def _pairs(type: DataType) -> DataType | None:
    match type:
        case Array(Struct((StructField(type=key), _))) if not is_nested(key):
            return type
    return None


# What a value of a type becomes, as an argument of a kind; None if it does not fit.
KINDS: dict[str, One] = {
    "any": lambda type: type,
    "array": lambda type: type if isinstance(type, Array) else None,
    "bits": _kind(*INTEGERS, BOOLEAN, void=INT),
    "clock": _kind(TIMESTAMP, TIMESTAMP_NTZ, void=TIMESTAMP),
    "collection": lambda type: (
        type if isinstance(type, Array | Map) else Array(VOID) if type == VOID else None
    ),
    "common": lambda type: type,
    "comparable": lambda type: type if is_orderable(type) else None,
    "charset": _to(STRING),
    "condition": _kind(BOOLEAN, void=BOOLEAN),
    "date": _kind(DATE, void=DATE),
    "date_or_text": _kind(*DATETIMES, void=TIMESTAMP, string=STRING),
    "days": _kind(*DAY_COUNTS, void=INT, string=INT),
    "encoding": _to(STRING),
    "field": _to(STRING),
    "form": _to(STRING),
    "hashable": _hashable,
    "geometries": _geometries,
    "geometry": _geometry,
    "hexed": _hexed,
    "inexact": lambda type: None if isinstance(type, Decimal) else _to(DOUBLE, STRING, numbers=True)(type),
    "instant": _to(TIMESTAMP, *DATETIMES, STRING, numbers=True),
    "integer": _kind(*INTEGERS, void=INT),
    "integers": _kind(*INTEGERS, void=INT),
    "joined": lambda type: type,
    "local": lambda type: _to(TIMESTAMP_NTZ, *DATETIMES, STRING)(type),
    "map": lambda type: type if isinstance(type, Map) else None,
    "maps": lambda type: type if isinstance(type, Map) else None,
    "mark": _to(STRING),
    "metric": _to(STRING),
    "moment": lambda type: type if type == TIMESTAMP_NTZ else _to(TIMESTAMP, DATE, STRING)(type),
    "nested": _nested,
    "number": _kind(numbers=True, void=DOUBLE, string=DOUBLE),
    "numeric": _kind(numbers=True, void=DOUBLE),
    "ordered": lambda type: type if is_orderable(type) else None,
    "pairs": _pairs,
    "path": _to(STRING),
    "pattern": _to(STRING),
    "places": _to(INT, *INTEGERS),
    "quantity": _kind(*INTERVALS, numbers=True, void=DOUBLE, string=DOUBLE),
    "real": _real,
    "seconds": _to(Decimal(16, 6), STRING, numbers=True),
    "share": _to(DOUBLE, numbers=True),
    "schema": _to(STRING),
    "sequence": _sequence,
    "set": _sortable,
    "sortable": _sortable,
    "text": _text,
    "texts": _texts,
    "truth": _to(BOOLEAN),
    "unit": _to(STRING),
    "word": _word,
    "words": _words,
    "BIGINT": _to(BIGINT, STRING, numbers=True),
    "BINARY": _to(BINARY, STRING),
    "BOOLEAN": _to(BOOLEAN, STRING),
    "DATE": _to(DATE, *DATETIMES, STRING),
    "DOUBLE": _to(DOUBLE, STRING, numbers=True),
    "INT": _to(INT, STRING, numbers=True),
    "STRING": lambda type: None if is_nested(type) else STRING,
    "TIMESTAMP": _to(TIMESTAMP, *DATETIMES, STRING),
}

# The one type that all arguments of a kind become; None if they have none.
SHARED: dict[str, Callable[[Sequence[DataType]], DataType | None]] = {
    "common": common_of,
    "integers": common_of,
    "joined": lambda types: joined(tuple(types)),
    "maps": tightest,
    "ordered": lambda types: common_of(types, strings=False),
    "real": lambda types: FLOAT if all(type == FLOAT for type in types) else DOUBLE,
    "set": tightest,
    "text": lambda types: BINARY if all(type == BINARY for type in types) else STRING,
}

CHARSETS = ("ISO-8859-1", "US-ASCII", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32", "UTF-8")
UNITS = (
    *("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR"),
    *("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"),
)
ENCODINGS = ("hex", "utf-8", "utf8")


def _is_one_of(names: Sequence[str]) -> Callable[[object], str | None]:
    known = {name.lower() for name in names}
    return lambda value: None if str(value).lower() in known else f"one of {', '.join(names)}"


def _is_mark(value: object) -> str | None:
    return None if value is None or len(str(value)) == 1 else "one character"


def _is_share(value: object) -> str | None:
    is_one = isinstance(value, int | float | decimal.Decimal) and 0 <= value <= 1
    return None if is_one else "a number from 0 to 1"


def _is_anything(value: object) -> str | None:
    return None


def _is_pattern(check: Callable[[str], object]) -> Callable[[object], str | None]:
    def is_pattern(value: object) -> str | None:
        try:
            check(str(value))
        except MalformedPattern as problem:
            return f"a pattern of times: {problem}"
        return None

    return is_pattern


def _is_path(value: object) -> str | None:
    try:
        path_of(str(value))
    except MalformedPath as problem:
        return f"a path of names and places: {problem}"
    return None


# Kinds whose arguments must be written down: what is wrong with one, in words; and an example.
WRITTEN: dict[str, tuple[Callable[[object], str | None], str]] = {
    "charset": (_is_one_of(CHARSETS), "for example encode(x, 'UTF-8')"),
    "encoding": (_is_one_of(ENCODINGS), "for example to_binary(x, 'hex')"),
    "form": (_is_pattern(form_of), "for example date_format(x, 'yyyy-MM-dd HH:mm')"),
    "path": (_is_path, "for example get_json_object(x, '$.order.items[0].price')"),
    "schema": (_is_anything, "for example from_json(x, 'a INT, b ARRAY<STRING>')"),
    "pattern": (_is_pattern(pattern_of), f"for example to_timestamp(x, '{EXAMPLE}')"),
    "field": (_is_anything, "for example date_part('YEAR', x)"),
    "unit": (_is_one_of(UNITS), "for example timestampdiff(MINUTE, a.ts, b.ts)"),
    "metric": (_is_one_of(METRICS), "for example st_distance(x, y, 'geodesic')"),
    "mark": (_is_mark, "for example mask(x, 'X', 'x', '0')"),
    "share": (_is_share, "for example percentile(b[].x, 0.9)"),
}

# What a message calls an argument of a kind, or of a type that others are cast to.
NAMES = {
    "BIGINT": "a number",
    "BINARY": "BINARY or STRING",
    "DATE": "a DATE or a TIMESTAMP",
    "DOUBLE": "a number",
    "INT": "a number",
    "TIMESTAMP": "a TIMESTAMP or a DATE",
    "array": "an array",
    "bits": "an integer or BOOLEAN",
    "charset": "STRING",
    "clock": "a TIMESTAMP",
    "collection": "an array or a map",
    "comparable": "of a type that has an order",
    "condition": "BOOLEAN",
    "date": "a DATE",
    "date_or_text": "DATE, TIMESTAMP or STRING",
    "days": "INT",
    "encoding": "STRING",
    "field": "STRING",
    "form": "STRING",
    "hashable": "a value without maps",
    "geometries": "an array of geometries",
    "geometry": "a GEOMETRY, or its text",
    "hexed": "a number, STRING or BINARY",
    "inexact": "a number that is no DECIMAL",
    "instant": "TIMESTAMP, DATE, STRING or a number",
    "integer": "an integer",
    "local": "a TIMESTAMP or a DATE",
    "integers": "an integer",
    "map": "a map",
    "maps": "a map",
    "mark": "STRING",
    "metric": "STRING",
    "nested": "an array of arrays",
    "pairs": "an array of structs of a key and a value",
    "set": "an array of values that have an order",
    "sortable": "an array of values that have an order",
    "texts": "an array of texts",
    "truth": "BOOLEAN",
    "moment": "a TIMESTAMP or a DATE",
    "number": "a number",
    "numeric": "a number",
    "ordered": "of a type that has an order",
    "path": "STRING",
    "pattern": "STRING",
    "schema": "STRING",
    "places": "an integer",
    "quantity": "a number or an interval",
    "real": "a number",
    "seconds": "a number",
    "share": "a number",
    "sequence": "STRING, BINARY or an array",
    "text": "STRING or BINARY",
    "unit": "a unit",
    "word": "an integer",
    "words": "STRING or an array of strings",
}


def result_type(result: str, bound: dict[str, DataType]) -> DataType:
    """The type that a signature's result stands for, where its kinds have been bound.

    >>> result_type("ARRAY<common>", {"common": INT})
    Array(element=SimpleType(name='INT'))
    """
    if result.startswith("ARRAY<"):
        return Array(result_type(result[6:-1], bound))
    if result.startswith("MAP<"):
        key, value = result[4:-1].split(", ")
        return Map(result_type(key, bound), result_type(value, bound))
    return SIMPLE_TYPES.get(result) or bound.get(result, VOID)  # array() has no element to say its type
