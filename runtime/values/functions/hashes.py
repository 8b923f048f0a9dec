"""hash and xxhash64: Spark's, which goes through values one by one, each with the result before as its seed.

A NULL changes nothing. The bits of a value depend on its type: that of each argument is given after them all.
"""

from __future__ import annotations

import datetime
import decimal
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from neelc.runtime.values.times import Months
from neelc.runtime.values.types import EPOCH, ArrayOf, DecimalOf, StructOf, ValueType

SEED = 42
_MICROSECOND = datetime.timedelta(microseconds=1)
_LONG_DIGITS = 18

Hash = Callable[[int | bytes, int, int], int]
"""Of a number of so many bits, or of bytes, 0 bits, and of a seed."""


def _bits(value: Any, type: ValueType) -> tuple[int | bytes, int]:
    """A value as a number of 32 or 64 bits, or as bytes, for which that is 0."""
    match value:
        case bool():
            return int(value), 32
        case int():
            return value, 64 if type == "bigint" else 32
        case float():
            shape = (">f", ">i") if type == "float" else (">d", ">q")
            (bits,) = struct.unpack(shape[1], struct.pack(shape[0], value or 0.0))  # no -0.0
            return bits, 32 if type == "float" else 64
        case str():
            return value.encode(), 0
        case decimal.Decimal():
            assert isinstance(type, DecimalOf)
            unscaled = int(value.scaleb(type.scale, decimal.Context(prec=100)))
            if type.precision <= _LONG_DIGITS:
                return unscaled, 64
            length = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
            return unscaled.to_bytes(length, "big", signed=True), 0
        case datetime.datetime():
            epoch = EPOCH if value.tzinfo is not None else EPOCH.replace(tzinfo=None)
            return (value - epoch) // _MICROSECOND, 64
        case datetime.date():
            return (value - EPOCH.date()).days, 32
        case datetime.timedelta():
            return value // _MICROSECOND, 64
        case Months(count):
            return count, 32
    assert isinstance(value, bytes | bytearray), "no other value has bits"
    return bytes(value), 0


def _parts(value: Any, type: ValueType) -> Iterator[tuple[int | bytes, int]]:
    """What is hashed of a value, one after the other."""
    if value is None:
        return
    match type:
        case ArrayOf(element):
            for one in value:
                yield from _parts(one, element)
        case StructOf(fields):
            assert isinstance(value, Mapping)
            for name, kind in fields:
                yield from _parts(value[name], kind)
        case _:
            yield _bits(value, type)


def _hashed(compute: Hash, width: int) -> Callable[..., int]:
    def hashed(*values_and_types: Any) -> int:
        half = len(values_and_types) // 2
        found = SEED
        for value, type in zip(values_and_types[:half], values_and_types[half:], strict=True):
            for part, bits in _parts(value, type):
                found = compute(part, bits, found)
        return found - (1 << width) if found >> (width - 1) else found

    return hashed


# Murmur3, of 32 bits. As Spark has it, each of the last bytes is a number of its own, with a sign.

_WORD = (1 << 32) - 1


def _rotated(value: int, places: int, width: int) -> int:
    return (value << places | value >> width - places) & ((1 << width) - 1)


def _mixed(state: int, word: int) -> int:
    word = _rotated(word * 0xCC9E2D51 & _WORD, 15, 32) * 0x1B873593 & _WORD
    return (_rotated(state ^ word, 13, 32) * 5 + 0xE6546B64) & _WORD


def murmur(part: int | bytes, bits: int, seed: int) -> int:
    """
    >>> murmur(1, 32, SEED), murmur(b"abc", 0, SEED)
    (3735386339, 1322437556)
    """
    state = seed & _WORD
    if isinstance(part, bytes):
        whole, length = len(part) // 4 * 4, len(part)
        words = [word for (word,) in struct.iter_unpack("<I", part[:whole])]
        words += [byte - 256 if byte > 127 else byte for byte in part[whole:]]
    else:
        length = bits // 8
        words = [part >> place & _WORD for place in range(0, bits, 32)]
    for word in words:
        state = _mixed(state, word & _WORD)
    state ^= length
    state = (state ^ state >> 16) * 0x85EBCA6B & _WORD
    state = (state ^ state >> 13) * 0xC2B2AE35 & _WORD
    return state ^ state >> 16


# xxHash, of 64 bits.

_LONG = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def _round(state: int, lane: int) -> int:
    return _rotated((state + lane * _P2) & _LONG, 31, 64) * _P1 & _LONG


def xxhash(part: int | bytes, bits: int, seed: int) -> int:
    """
    >>> xxhash(1, 32, SEED)
    11748118483920312617
    """
    data = part if isinstance(part, bytes) else (part & (1 << bits) - 1).to_bytes(bits // 8, "little")
    seed &= _LONG
    state, at = (seed + _P5) & _LONG, len(data) // 32 * 32
    if at:
        lanes = [(seed + _P1 + _P2) & _LONG, (seed + _P2) & _LONG, seed, (seed - _P1) & _LONG]
        for begin in range(0, at, 32):
            found = struct.unpack("<4Q", data[begin : begin + 32])
            lanes = [_round(lane, word) for lane, word in zip(lanes, found, strict=True)]
        state = sum(_rotated(lane, places, 64) for lane, places in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            state = ((state ^ _round(0, lane)) * _P1 + _P4) & _LONG
    state = (state + len(data)) & _LONG
    while at + 8 <= len(data):
        lane = int.from_bytes(data[at : at + 8], "little")
        state, at = (_rotated(state ^ _round(0, lane), 27, 64) * _P1 + _P4) & _LONG, at + 8
    if at + 4 <= len(data):
        lane = int.from_bytes(data[at : at + 4], "little")
        state, at = (_rotated(state ^ lane * _P1 & _LONG, 23, 64) * _P2 + _P3) & _LONG, at + 4
    for byte in data[at:]:
        state = _rotated(state ^ byte * _P5 & _LONG, 11, 64) * _P1 & _LONG
    state = (state ^ state >> 33) * _P2 & _LONG
    state = (state ^ state >> 29) * _P3 & _LONG
    return state ^ state >> 32


HASHES: dict[str, Callable[..., int]] = {"hash": _hashed(murmur, 32), "xxhash64": _hashed(xxhash, 64)}
