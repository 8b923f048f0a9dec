"""LIKE and regular expressions. Spark's are Java's; the differences that matter are translated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

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

    Lines end in more ways for Java.

    >>> regular_expression("b$").search("ab\r\n").span(), regular_expression("a.b").search("a\rb")
    ((1, 2), None)
    """
    pattern = re.sub(r"\\Q(.*?)(?:\\E|\Z)", lambda quoted: re.escape(quoted[1]), pattern, flags=re.DOTALL)
    pattern = re.sub(r"\\(.)(?:\{(\w+)\})?", _translated, pattern, flags=re.DOTALL)
    pattern = re.sub(r"\(\?<(\w+)>", r"(?P<\1>", pattern)
    if not _FLAGS.search(pattern):
        pattern = _PARTS.sub(lambda part: _ENDS.get(part[0], part[0]), pattern)
    try:
        return re.compile(pattern, re.ASCII)
    except (re.error, RecursionError, OverflowError) as problem:
        raise ValueError(pattern) from problem


_OTHERS = r"\r\x85\u2028\u2029"
"""What ends a line for Java and not for Python."""
_END = rf"(?=(?:\r\n|(?<!\r)\n|[{_OTHERS}])?\Z)"
_ENDS = {".": rf"[^\n{_OTHERS}]", "$": _END}
_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[.$]", re.DOTALL)
_FLAGS = re.compile(r"\(\?[a-zA-Z]*[dmsx]")
"""Flags by which the dot and the end of a line mean something else."""


def _translated(found: re.Match[str]) -> str:
    letter, name = found[1], found[2]
    if letter in "pP" and name in _CLASSES:
        inside = _CLASSES[name]
        negated = (letter == "P") != inside.startswith("^")
        return f"[{'^' if negated else ''}{inside.removeprefix('^')}]"
    if letter in "zZ" and name is None:
        return r"\Z" if letter == "z" else _END
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


def found_group(text: str, pattern: str, group: int = 1) -> str:
    """regexp_extract: a group of the first match, the empty string if there is none.

    >>> found_group("100-200", r"(\\d+)-(\\d+)", 2), found_group("x", "(y)", 7)
    ('200', '')
    """
    found = regular_expression(pattern).search(text)
    return "" if found is None else _group(found, group)


def found_groups(text: str, pattern: str, group: int = 1) -> list[str]:
    """regexp_extract_all."""
    return [_group(found, group) for found in _matches(text, pattern)]


def _matches(text: str, pattern: str) -> Iterator[re.Match[str]]:
    """All matches. Java's texts are UTF-16: between the two units of a character is another empty one."""
    for found in regular_expression(pattern).finditer(text):
        yield found
        if found.start() == found.end() and text[found.end() : found.end() + 1] > "\uffff":
            yield found


def _group(found: re.Match[str], group: int) -> str:
    if group < 0:
        raise IndexError(group)
    return found[group] or ""


def match_count(text: str, pattern: str) -> int:
    """
    >>> match_count("abcabc", "b"), match_count("abc", ""), match_count("😀", "")
    (2, 4, 3)
    """
    return sum(1 for _ in _matches(text, pattern))


def match_place(text: str, pattern: str, group: int = 0) -> int:
    """regexp_instr: where the first match begins, counted from 1; 0 if there is none. Spark takes a group,
    and does not look at it."""
    found = regular_expression(pattern).search(text)
    return 0 if found is None else found.start() + 1


def match_text(text: str, pattern: str) -> str | None:
    """regexp_substr: the first match; NULL if there is none, or it is empty."""
    found = regular_expression(pattern).search(text)
    return None if found is None else found[0] or None


def mapping(text: str, pairs: str = ",", values: str = ":") -> dict[str, str | None]:
    """str_to_map: what stands between `pairs`, cut at the first of `values`; both are regular expressions.

    >>> mapping("a:1,b"), mapping("")
    ({'a': '1', 'b': None}, {'': None})
    """
    found: dict[str, str | None] = {}
    for part in split(text, pairs, -1):
        key, *value = split(part, values, 2)
        if key in found:
            raise ValueError(f"{key} twice")
        found[key] = value[0] if value else None
    return found
