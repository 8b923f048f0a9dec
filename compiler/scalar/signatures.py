"""The functions neelc knows, as Spark defines them: one line each.

A parameter in capitals is a type: other values are cast to it where Spark does so. A parameter in small
letters is a kind of types (`neelc.scalar.signatures`); all parameters of one kind agree on one type, and
a result of that kind has it. `[...]` may be left out, `...` may be repeated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SIMPLE_TYPES,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    Array,
    DataType,
    Map,
)
from neelc.scalar.operators import DAY_COUNTS, INTEGERS, common_of, is_nested, is_number, is_orderable, joined
from neelc.scalar.type_of import DATETIMES, INTERVALS

SCALARS = """
abs(quantity) -> quantity
acos(DOUBLE) -> DOUBLE
array([common...]) -> ARRAY<common>
array_contains(array, any) -> BOOLEAN
asin(DOUBLE) -> DOUBLE
atan(DOUBLE) -> DOUBLE
atan2(DOUBLE, DOUBLE) -> DOUBLE
bit_count(bits) -> INT
cardinality(collection) -> INT
ceil(number [, places]) -> ceiling
ceiling(number [, places]) -> ceiling
char_length(text) -> INT
coalesce(common...) -> common
concat(joined...) -> joined
concat_ws(STRING [, words...]) -> STRING
contains(text, text) -> BOOLEAN
cos(DOUBLE) -> DOUBLE
date_add(DATE, days) -> DATE
date_diff(DATE, DATE) -> INT
date_sub(DATE, days) -> DATE
date_trunc(STRING, TIMESTAMP) -> TIMESTAMP
datediff(DATE, DATE) -> INT
day(DATE) -> INT
dayofmonth(DATE) -> INT
dayofweek(DATE) -> INT
dayofyear(DATE) -> INT
degrees(DOUBLE) -> DOUBLE
element_at(collection, any) -> element
endswith(text, text) -> BOOLEAN
exp(DOUBLE) -> DOUBLE
floor(number [, places]) -> ceiling
greatest(ordered, ordered...) -> ordered
hour(moment) -> INT
if(condition, common, common) -> common
ifnull(common, common) -> common
instr(STRING, STRING) -> INT
isnan(DOUBLE) -> BOOLEAN
isnotnull(any) -> BOOLEAN
isnull(any) -> BOOLEAN
lcase(STRING) -> STRING
least(ordered, ordered...) -> ordered
left(text, INT) -> text
length(text) -> INT
ln(DOUBLE) -> DOUBLE
locate(STRING, STRING [, INT]) -> INT
log(DOUBLE [, DOUBLE]) -> DOUBLE
log10(DOUBLE) -> DOUBLE
log2(DOUBLE) -> DOUBLE
lower(STRING) -> STRING
lpad(text, INT [, text]) -> text
ltrim(STRING [, STRING]) -> STRING
minute(moment) -> INT
mod(number, number) -> remainder
month(DATE) -> INT
named_struct(any...) -> struct
nanvl(real, real) -> real
nullif(any, any) -> first
nvl(common, common) -> common
nvl2(any, common, common) -> common
pmod(number, number) -> remainder
position(STRING, STRING [, INT]) -> INT
pow(DOUBLE, DOUBLE) -> DOUBLE
power(DOUBLE, DOUBLE) -> DOUBLE
quarter(DATE) -> INT
radians(DOUBLE) -> DOUBLE
regexp_replace(STRING, STRING, STRING [, INT]) -> STRING
repeat(STRING, INT) -> STRING
replace(STRING, STRING [, STRING]) -> STRING
reverse(sequence) -> sequence
right(STRING, INT) -> STRING
round(number [, places]) -> rounded
rpad(text, INT [, text]) -> text
rtrim(STRING [, STRING]) -> STRING
second(moment) -> INT
shiftleft(word, INT) -> word
shiftright(word, INT) -> word
sign(quantity) -> DOUBLE
signum(quantity) -> DOUBLE
sin(DOUBLE) -> DOUBLE
size(collection) -> INT
split(STRING, STRING [, INT]) -> ARRAY<STRING>
sqrt(DOUBLE) -> DOUBLE
startswith(text, text) -> BOOLEAN
struct(any...) -> struct
substr(text, INT [, INT]) -> text
substring(text, INT [, INT]) -> text
tan(DOUBLE) -> DOUBLE
timestamp_millis(integer) -> TIMESTAMP
timestamp_seconds(numeric) -> TIMESTAMP
to_date(DATE) -> DATE
to_timestamp(instant) -> TIMESTAMP
trim(STRING [, STRING]) -> STRING
ucase(STRING) -> STRING
unix_micros(clock) -> BIGINT
unix_millis(clock) -> BIGINT
unix_seconds(clock) -> BIGINT
unix_timestamp(date_or_text) -> BIGINT
upper(STRING) -> STRING
year(DATE) -> INT
"""

AGGREGATES = """
any(BOOLEAN) -> BOOLEAN
avg(quantity) -> average
bool_and(BOOLEAN) -> BOOLEAN
bool_or(BOOLEAN) -> BOOLEAN
collect_list(any) -> ARRAY<any>
collect_set(comparable) -> ARRAY<comparable>
count(any) -> BIGINT
count_if(BOOLEAN) -> BIGINT
every(BOOLEAN) -> BOOLEAN
first(any) -> any
last(any) -> any
max(comparable) -> comparable
mean(quantity) -> average
min(comparable) -> comparable
some(BOOLEAN) -> BOOLEAN
stddev(DOUBLE) -> DOUBLE
stddev_pop(DOUBLE) -> DOUBLE
stddev_samp(DOUBLE) -> DOUBLE
sum(quantity) -> sum
var_pop(DOUBLE) -> DOUBLE
var_samp(DOUBLE) -> DOUBLE
variance(DOUBLE) -> DOUBLE
"""


# What a message calls a kind whose name says more than a reader needs.
KIND_WORDS = {
    **dict.fromkeys(("any", "common", "comparable", "ordered", "joined"), "value"),
    **dict.fromkeys(("numeric", "quantity", "real"), "number"),
    **dict.fromkeys(("bits", "days", "word"), "integer"),
    **dict.fromkeys(("clock", "instant", "moment"), "timestamp"),
    "date_or_text": "date",
    "places": "digits",
    "sequence": "text",
    "words": "text",
}

ROW_AGGREGATES = """
any_value(any) -> any
array_agg(any) -> ARRAY<any>
max_by(any, ordered) -> any
min_by(any, ordered) -> any
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


def _word(type: DataType) -> DataType | None:
    return BIGINT if type == BIGINT else INT if is_number(type) or type in (STRING, VOID) else None


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
    "condition": _kind(BOOLEAN, void=BOOLEAN),
    "date_or_text": _kind(*DATETIMES, void=TIMESTAMP, string=STRING),
    "days": _kind(*DAY_COUNTS, void=INT, string=INT),
    "instant": _to(TIMESTAMP, *DATETIMES, STRING, numbers=True),
    "integer": _kind(*INTEGERS, void=INT),
    "joined": lambda type: type,
    "moment": lambda type: type if type == TIMESTAMP_NTZ else _to(TIMESTAMP, DATE, STRING)(type),
    "number": _kind(numbers=True, void=DOUBLE, string=DOUBLE),
    "numeric": _kind(numbers=True, void=DOUBLE),
    "ordered": lambda type: type if is_orderable(type) else None,
    "places": _to(INT, *INTEGERS),
    "quantity": _kind(*INTERVALS, numbers=True, void=DOUBLE, string=DOUBLE),
    "real": _real,
    "sequence": _sequence,
    "text": _text,
    "word": _word,
    "words": _words,
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
    "joined": lambda types: joined(tuple(types)),
    "ordered": lambda types: common_of(types, strings=False),
    "real": lambda types: FLOAT if all(type == FLOAT for type in types) else DOUBLE,
    "text": lambda types: BINARY if all(type == BINARY for type in types) else STRING,
}

# What a message calls an argument of a kind, or of a type that others are cast to.
NAMES = {
    "DATE": "a DATE or a TIMESTAMP",
    "DOUBLE": "a number",
    "INT": "a number",
    "TIMESTAMP": "a TIMESTAMP or a DATE",
    "array": "an array",
    "bits": "an integer or BOOLEAN",
    "clock": "a TIMESTAMP",
    "collection": "an array or a map",
    "comparable": "of a type that has an order",
    "condition": "BOOLEAN",
    "date_or_text": "DATE, TIMESTAMP or STRING",
    "days": "INT",
    "instant": "TIMESTAMP, DATE, STRING or a number",
    "integer": "an integer",
    "moment": "a TIMESTAMP or a DATE",
    "number": "a number",
    "numeric": "a number",
    "ordered": "of a type that has an order",
    "places": "an integer",
    "quantity": "a number or an interval",
    "real": "a number",
    "sequence": "STRING, BINARY or an array",
    "text": "STRING or BINARY",
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
    return SIMPLE_TYPES.get(result) or bound.get(result, VOID)  # array() has no element to say its type
