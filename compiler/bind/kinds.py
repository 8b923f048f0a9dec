"""The kinds of types that signatures speak of: which types are of a kind, and what others are cast to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neelc.bind.arithmetic import DAY_COUNTS, joined
from neelc.bind.coercion import INTEGERS, common_of, is_nested, is_number, is_orderable
from neelc.ir.typeof import DATETIMES, INTERVALS
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
    Array(element=Simple(name='INT'))
    """
    if result.startswith("ARRAY<"):
        return Array(result_type(result[6:-1], bound))
    return SIMPLE_TYPES.get(result) or bound.get(result, VOID)  # array() has no element to say its type
