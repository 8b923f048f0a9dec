"""The functions neelc knows, as Spark defines them: one line each.

A parameter in capitals is a type: other values are cast to it where Spark does so. A parameter in small
letters is a kind of types (`neelc.bind.kinds`); all parameters of one kind agree on one type, and
a result of that kind has it. `[...]` may be left out, `...` may be repeated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
SAID = {
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
        r"(?<![\w.])[a-z_]+(?!\w*\()", lambda kind: SAID.get(kind[0], kind[0]), line.split(" -> ")[0]
    )
    return Signature(text, matched[1], required, optional, "..." in line, matched[4])


def table(text: str) -> dict[str, Signature]:
    """The signatures by name."""
    return {found.name: found for found in map(signature, text.strip().splitlines())}


SCALAR_SIGNATURES = table(SCALARS)
AGGREGATE_SIGNATURES = table(AGGREGATES)
ROW_AGGREGATE_SIGNATURES = table(ROW_AGGREGATES)
