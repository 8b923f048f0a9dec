"""LIKE, and functions of texts, as far as DuckDB has them with the same meaning for all characters."""

from __future__ import annotations

import re
from collections.abc import Callable

from neelc.ir.types import BINARY, BOOLEAN, STRING, DataType
from neelc.scalar.duckdb.evaluated import evaluated
from neelc.scalar.duckdb.pieces import DuckText, NameScope, text_literal

Pieces = list[DuckText]
SpellText = Callable[[Pieces, DataType, NameScope], str | None]
"""Arguments of the types that the language's signature says -> the text; None: it is for the runtime."""


def is_ascii(text: str) -> str:
    """A condition: of such texts DuckDB knows the capital letters."""
    return f"strlen({text}) = length({text})"


# Patterns.


def like(kind: str, value: DuckText, pattern: DuckText, escape: object, scope: NameScope) -> DuckText:
    """`value LIKE | ILIKE | RLIKE pattern`, of texts."""
    slow = evaluated(kind, [value, pattern], BOOLEAN, scope, *([] if escape is None else [escape]))
    if not isinstance(pattern.value, str) or not value.is_short:
        return slow
    if kind == "rlike":
        simple = simple_expression(pattern.value)
        if simple is None:
            return slow
        return DuckText(f"regexp_matches({value.text}, {text_literal(simple)})", BOOLEAN)
    written = pattern.value.lower() if kind == "ilike" else pattern.value
    plain = like_pattern(written, str(escape or "\\"))
    if plain is None:
        return slow
    if kind == "like":
        return DuckText(f"({value.text} LIKE {plain})", BOOLEAN)
    if not pattern.value.isascii():
        return slow
    fast = f"WHEN {is_ascii(value.text)} THEN (lower({value.text}) LIKE {plain})"
    return DuckText(f"CASE {fast} ELSE {slow.text} END", BOOLEAN)


def like_pattern(pattern: str, mark: str) -> str | None:
    r"""A pattern of LIKE as DuckDB writes it; None if a mark stands before what it cannot escape.

    >>> print(like_pattern("a%", "\\"), like_pattern("a!%_", "!"), like_pattern("a!b", "!"))
    'a%' 'a\%_' ESCAPE '\' None
    """
    parts: list[str] = []
    characters = iter(pattern)
    escapes = False
    for one in characters:
        if one == mark:
            one = next(characters, "")
            if one not in ("_", "%", mark) or not one:
                return None
            if one in "_%\\":
                parts.append("\\")
                escapes = True
        elif one == "\\":
            parts.append("\\")
            escapes = True
        parts.append(one)
    return text_literal("".join(parts)) + (r" ESCAPE '\'" if escapes else "")


_SIMPLE = re.compile(
    r"\^?(?P<body>(?:"
    r"[A-Za-z0-9 _,:;<>=!@#%&~'\"/-]|\.|\\[dwDW.\\/+*?|()\[\]{}^$-]"  # characters
    r"|\[(?:[A-Za-z0-9_ ,:;./]|[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|\\[dw.])+\]"  # classes
    r"|\||\((?:\?:)?|\)|(?<=[\w\])}.])(?:[*+?]|\{\d{1,2}(?:,\d{0,2})?\})"
    r")*)(?P<end>\$?)\Z",
    re.ASCII,
)


def simple_expression(pattern: str) -> str | None:
    r"""A regular expression that means the same to DuckDB, where it is made of simple parts.

    >>> print(simple_expression(r"^[a-z]+\d{2}$"), simple_expression("a.c"), simple_expression(r"\bx"))
    ^[a-z]+\d{2}(?:(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])?\z) a[^\n\r\x{85}\x{2028}\x{2029}]c None
    """
    found = _SIMPLE.match(pattern)
    # Between the two characters that end a line, no line ends: \W and \D may stand for the first one.
    if found is None or (found["end"] and re.search(r"\||\\[DW]", pattern)):
        return None
    try:
        re.compile(pattern)
    except re.error:
        return None
    parts = re.findall(r"\\.|\[(?:\\.|[^\]])*\]|.", pattern.removesuffix("$") if found["end"] else pattern)
    body = "".join(f"[^{LINE_ENDS}]" if part == "." else part for part in parts)
    return body + (rf"(?:(?:\r\n|[{LINE_ENDS}])?\z)" if found["end"] else "")


LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
"""What ends a line for Java."""


# Functions.


def _same(name: str) -> SpellText:
    """A function of two texts that both have."""

    def same(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
        if any(piece.type != STRING for piece in pieces):
            return None
        return f"{name}({pieces[0].text}, {pieces[1].text})"

    return same


def _length(pieces: Pieces, type: DataType, scope: NameScope) -> str:
    (value,) = pieces
    name = "octet_length" if value.type == BINARY else "length"
    return f"CAST({name}({value.text}) AS INTEGER)"


def _cased(name: str) -> SpellText:
    def cased(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
        (value,) = pieces
        if not value.is_short:
            return None
        slow = evaluated(name, pieces, type, scope)
        return f"CASE WHEN {is_ascii(value.text)} THEN {name}({value.text}) ELSE {slow.text} END"

    return cased


def _trimmed(name: str) -> SpellText:
    """The characters to be trimmed come first, if they are given."""

    def trimmed(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
        if len(pieces) == 1:
            return f"{name}({pieces[0].text}, ' ')"
        characters = pieces[0].value
        if not isinstance(characters, str) or not characters.isascii() or not characters:
            return None
        return f"{name}({pieces[1].text}, {pieces[0].text})"

    return trimmed


def _substring(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
    """From a place on that is counted from the start, as long as is written down."""
    value, *numbers = pieces
    given = [one.value for one in numbers if isinstance(one.value, int)]
    if type != STRING or len(given) < len(numbers):
        return None
    first, *length = given
    if first < 1 or (length and not 0 <= length[0] < 2**31):
        return None
    return f"substring({', '.join([value.text, *map(str, given)])})"


def _end(name: str) -> SpellText:
    """left and right."""

    def end(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
        value, length = pieces
        if type != STRING or not isinstance(length.value, int) or length.value < 1:
            return None
        return f"{name}({value.text}, {length.value})"

    return end


def _replace(pieces: Pieces, type: DataType, scope: NameScope) -> str:
    by = pieces[2].text if len(pieces) > 2 else "''"
    return f"replace({pieces[0].text}, {pieces[1].text}, {by})"


def _instr(pieces: Pieces, type: DataType, scope: NameScope) -> str:
    return f"CAST(instr({pieces[0].text}, {pieces[1].text}) AS INTEGER)"


def _located(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
    return _instr(pieces[::-1], type, scope) if len(pieces) == 2 else None


def _words(pieces: Pieces, type: DataType, scope: NameScope) -> str | None:
    if len(pieces) < 2 or any(piece.type != STRING for piece in pieces):
        return None
    return f"concat_ws({', '.join(piece.text for piece in pieces)})"


TEXTS: dict[str, SpellText] = {
    "char_length": _length,
    "concat_ws": _words,
    "contains": _same("contains"),
    "endswith": _same("ends_with"),
    "instr": _instr,
    "lcase": _cased("lower"),
    "left": _end("left"),
    "length": _length,
    "locate": _located,
    "lower": _cased("lower"),
    "ltrim": _trimmed("ltrim"),
    "position": _located,
    "replace": _replace,
    "right": _end("right"),
    "rtrim": _trimmed("rtrim"),
    "startswith": _same("starts_with"),
    "substr": _substring,
    "substring": _substring,
    "trim": _trimmed("trim"),
    "ucase": _cased("upper"),
    "upper": _cased("upper"),
}
