"""Functions of strings and binaries, of values that are not NULL."""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Callable

from neelc.runtime.values.functions.numbers import WIDE
from neelc.runtime.values.functions.regular_expressions import (
    found_group,
    found_groups,
    mapping,
    match_count,
    match_place,
    match_text,
    replaced,
    split,
)
from neelc.runtime.values.types import to_decimal

Function = Callable[..., object]
Text = str | bytes

# The longest array Java makes; Spark refuses to build a longer string.
LONGEST = 2**31 - 16


def substring(text: Text, position: int, length: int | None = None) -> Text:
    """Positions are counted from 1, negative ones from the end; what lies before the text counts as empty.

    >>> substring("abc", 2), substring("abc", -2, 1), substring("abc", -5, 3), substring("abc", -(2**31))
    ('bc', 'b', 'a', 'ab')
    """
    begin = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    # Without a length, a text goes on for as many characters as an INT counts, from before its start, too.
    rest = 2**31 - 1 if isinstance(text, str) else len(text) - begin
    end = begin + (rest if length is None else length)
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


def overlay(text: Text, by: Text, start: int, length: int = -1) -> Text:
    """`by` in place of as many characters from `start` on: as many as it has itself, if nothing is said.

    >>> overlay("Spark SQL", "ANSI ", 7, 0), overlay("Spark SQL", "_", 6), overlay("abc", "X", -1)
    ('Spark ANSI SQL', 'Spark_SQL', 'Xabc')
    """
    length = length if length >= 0 else len(by)
    return substring(text, 1, start - 1) + by + substring(text, start + length)  # type: ignore[operator]


def character(number: int) -> str:
    """chr: of the lowest 8 bits of a number; nothing if it is negative."""
    return "" if number < 0 else chr(number % 256)


def before(text: str, delimiter: str, count: int) -> str:
    """substring_index: what stands before so many delimiters, or behind so many from the end.

    >>> before("www.apache.org", ".", 2), before("www.apache.org", ".", -2), before("aaaaa", "aa", -2)
    ('www.apache', 'apache.org', 'a')
    """
    if not delimiter or not count:
        return ""
    place = -1 if count > 0 else len(text) - len(delimiter) + 1
    for _ in range(min(abs(count), len(text) + 1)):
        if count > 0:
            place = text.find(delimiter, place + 1)
        else:
            place = text.rfind(delimiter, 0, max(place - 1 + len(delimiter), 0))
        if place < 0:
            return text
    return text[:place] if count > 0 else text[place + len(delimiter) :]


def split_part(text: str, delimiter: str, number: int) -> str:
    """A part of a text, counted from 1, or from the end; an empty one where there is none.

    >>> split_part("11.12.13", ".", 3), split_part("11.12.13", ".", -3), split_part("11.12.13", ".", 5)
    ('13', '11', '')
    """
    if number == 0:
        raise IndexError
    parts = text.split(delimiter) if delimiter else [text]
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if 0 <= place < len(parts) else ""


def levenshtein(one: str, other: str, most: int | None = None) -> int:
    """How many characters must be changed, added or left out; -1 if they are more than `most`.

    >>> levenshtein("kitten", "sitting"), levenshtein("kitten", "sitting", 2)
    (3, -1)
    """
    above = list(range(len(other) + 1))
    for row, left in enumerate(one, 1):
        line = [row]
        for place, right in enumerate(other, 1):
            line.append(min(above[place] + 1, line[-1] + 1, above[place - 1] + (left != right)))
        above = line
    return -1 if most is not None and above[-1] > most else above[-1]


_SOUNDS = "01230127022455012623017202"


def soundex(text: str) -> str:
    """
    >>> soundex("Miller"), soundex("Ashcraft"), soundex("1abc")
    ('M460', 'A261', '1abc')
    """
    first = text[:1].upper()
    if not "A" <= first <= "Z" or not first.isascii() or len(first) != 1:
        return text
    code, last = first, _SOUNDS[ord(first) - 65]
    for byte in text[1:].encode():
        letter = byte - 32 if 97 <= byte <= 122 else byte
        if not 65 <= letter <= 90:
            last = "0"
            continue
        sound = _SOUNDS[letter - 65]
        if sound != "7":
            code += sound if sound not in ("0", last) else ""
            last = sound
    return code[:4].ljust(4, "0")


def initcap(text: str) -> str:
    """Words begin with a capital letter; spaces stand between them, and nothing else.

    >>> initcap("sPark-sql of\\tall TIMES")
    'Spark-sql Of\\tall Times'
    """
    return " ".join(word[:1].title() + word.lower()[len(word[:1].lower()) :] for word in text.split(" "))


def translate(text: str, characters: str, by: str) -> str:
    """Each of the characters by the one at its place; those without one are left out."""
    table = {one: by[place : place + 1] for place, one in reversed(list(enumerate(characters)))}
    return "".join(table.get(one, one) for one in text)


def find_in_set(word: str, words: str) -> int:
    """The place of a word among those between commas; 0 if it is not there."""
    listed = words.split(",")
    return listed.index(word) + 1 if word in listed else 0


HALVES = (decimal.Decimal("0.5"), decimal.Decimal("-0.5"))


def format_number(value: object, places: int) -> str | None:
    """With a comma before every three digits, and so many places, the last one rounded half to even.

    >>> format_number(12332.123456, 4), format_number(-0.5, 0), format_number(1.005, 2), format_number(5, -1)
    ('12,332.1235', '-0', '1.00', None)
    """
    if places < 0:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
    exact = to_decimal(value)
    if isinstance(value, float) and WIDE.remainder(exact.scaleb(places, WIDE), 1) in HALVES:
        exact = decimal.Decimal(value)  # where its digits say half, all of them decide
    return format(exact.quantize(decimal.Decimal(1).scaleb(-places), decimal.ROUND_HALF_EVEN, WIDE), ",f")


_DIGITS = re.compile(r"[0-9]+\Z")


def luhn_check(text: str) -> bool:
    """Whether the last digit checks the others, as on credit cards.

    >>> luhn_check("79927398713"), luhn_check("79927398714"), luhn_check("")
    (True, False, False)
    """
    if _DIGITS.match(text) is None:
        return False
    digits = [int(one) for one in reversed(text)]
    return (sum(digits[::2]) + sum(sum(divmod(2 * one, 10)) for one in digits[1::2])) % 10 == 0


def mask(
    text: str | None, upper: str | None = "X", lower: str | None = "x", digit: str | None = "n",
    other: str | None = None,
) -> str | None:  # fmt: skip
    """Other characters for capital letters, small letters, digits and all else; NULL leaves them.

    >>> mask("abCD-8"), mask("abCD-8", None, "q", None, "_")
    ('xxXX-n', 'qqCD_8')
    """
    if text is None:
        return None

    def masked(one: str) -> str:
        by = upper if one.isupper() else lower if one.islower() else digit if one.isdecimal() else other
        return one if by is None else by

    return "".join(map(masked, text))


def elt(number: int | None, *texts: Text | None) -> Text | None:
    """The text of a number, counted from 1."""
    if number is None:
        return None
    if not 1 <= number <= len(texts):
        raise IndexError(number)
    return texts[number - 1]


def _byte_length(text: Text) -> int:
    return len(text.encode() if isinstance(text, str) else text)


TEXTS: dict[str, Function] = {
    "ascii": lambda text: ord(text[0]) if text else 0,
    "bit_length": lambda text: 8 * _byte_length(text),
    "btrim": lambda text, characters=" ": text.strip(characters) if characters else text,
    "char": character,
    "char_length": len,
    "character_length": len,
    "chr": character,
    "concat": concat,
    "contains": lambda text, part: part in text,
    "endswith": lambda text, part: text.endswith(part),
    "find_in_set": find_in_set,
    "format_number": format_number,
    "initcap": initcap,
    "instr": lambda text, part: locate(part, text),
    "lcase": str.lower,
    "left": left,
    "len": len,
    "length": len,
    "levenshtein": levenshtein,
    "locate": locate,
    "lower": str.lower,
    "lpad": _pad(at_left=True),
    "ltrim": _trim(str.lstrip),
    "luhn_check": luhn_check,
    "octet_length": _byte_length,
    "overlay": overlay,
    "position": locate,
    "regexp_count": match_count,
    "regexp_extract": found_group,
    "regexp_extract_all": found_groups,
    "regexp_instr": match_place,
    "regexp_replace": lambda text, pattern, by, start=1: replaced(text, pattern, by, start),
    "regexp_substr": match_text,
    "repeat": repeat,
    "replace": lambda text, part, by="": text.replace(part, by) if part else text,
    "reverse": lambda value: value[::-1],
    "right": right,
    "rpad": _pad(at_left=False),
    "rtrim": _trim(str.rstrip),
    "soundex": soundex,
    "space": lambda count: repeat(" ", count),
    "split": lambda text, pattern, limit=-1: split(text, pattern, limit),
    "split_part": split_part,
    "startswith": lambda text, part: text.startswith(part),
    "str_to_map": mapping,
    "substr": substring,
    "substring": substring,
    "substring_index": before,
    "translate": translate,
    "trim": _trim(str.strip),
    "ucase": str.upper,
    "upper": str.upper,
}
