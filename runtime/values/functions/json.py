"""Functions of JSON texts, read as Spark's parser reads them: strings may stand in single quotes and hold any
character, and what follows the value is not looked at."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.types import float_text

Function = Callable[..., object]

DEEPEST = 1000
"""Objects and arrays inside of each other, and digits of a number: more are an error."""


@dataclass(frozen=True)
class JsonArray:
    """The values of an array."""

    values: tuple[object, ...]


@dataclass(frozen=True)
class JsonObject:
    """The names and values of an object, in their order; a name may be there twice."""

    fields: tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class JsonNumber:
    """A number as it is written."""

    text: str


_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:(?P<mark>[{}\[\],:])"""
    r"""|"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)'"""
    r"""|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?=[ \t\r\n,\]}]|\Z)"""
    r"""|(?P<word>true|false|null)(?![\w$]))""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "/": "/", "\\": "\\", "'": "'"}
_CONTROL = re.compile(r"[\x00-\x1f]")
_WORDS = {"true": True, "false": False, "null": None}


def _unescaped(text: str) -> str:
    """Raises `KeyError` for an escape that there is not."""
    if "\\" not in text:
        return text
    found = _ESCAPE.sub(lambda one: chr(int(one[1], 16)) if one[1] else _ESCAPED[one[2]], text)
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _Reader:
    """Tokens of a text, one after the other."""

    def __init__(self, text: str, is_strict: bool) -> None:
        self.text, self.is_strict, self.place = text, is_strict, 0

    def next(self) -> tuple[str, str]:
        found = _TOKEN.match(self.text, self.place)
        if found is None or found.lastgroup is None:
            raise ValueError(self.text)
        self.place = found.end()
        kind, token = found.lastgroup, found[found.lastgroup]
        if self.is_strict and (kind == "single" or (kind == "double" and _CONTROL.search(token))):
            raise ValueError(self.text)
        return kind, token


def _scalar(kind: str, text: str) -> object:
    match kind:
        case "double" | "single":
            return _unescaped(text)
        case "number":
            if len(text) > DEEPEST:
                raise ValueError(text)
            return JsonNumber(text)
        case "word":
            return _WORDS[text]
    raise ValueError(text)


def read_json(text: str, is_strict: bool = False) -> object:
    """The first value of a text; raises `ValueError` or `KeyError` if it is malformed. If it must be strict,
    strings stand in double quotes and have no control characters, and an object has each name once.

    >>> read_json('{"a": [1, null]} and more')
    JsonObject(fields=(('a', JsonArray(values=(JsonNumber(text='1'), None))),))
    """
    reader = _Reader(text, is_strict)
    # What is open: the closing mark, the names of fields, and the values.
    opened: list[tuple[str, list[str], list[object]]] = []
    token = reader.next()
    while True:
        kind, mark = token
        if kind == "mark" and mark in "{[":
            opened.append(("}" if mark == "{" else "]", [], []))
            if len(opened) > DEEPEST:
                raise ValueError("too deep")
            token = reader.next()
            if token != ("mark", opened[-1][0]):
                token = _at_value(reader, opened[-1], token)
                continue
            value = _closed(opened.pop(), is_strict)
        else:
            value = _scalar(kind, mark)
        while opened:
            opened[-1][2].append(value)
            token = reader.next()
            if token == ("mark", ","):
                token = _at_value(reader, opened[-1], reader.next())
                break
            if token != ("mark", opened[-1][0]):
                raise ValueError(text)
            value = _closed(opened.pop(), is_strict)
        else:
            return value


def _at_value(
    reader: _Reader, within: tuple[str, list[str], list[object]], token: tuple[str, str]
) -> tuple[str, str]:
    """The token that begins a value; in an object, its name stands before it."""
    if within[0] == "]":
        return token
    if token[0] not in ("double", "single") or reader.next() != ("mark", ":"):
        raise ValueError(token)
    within[1].append(_unescaped(token[1]))
    return reader.next()


def _closed(opened: tuple[str, list[str], list[object]], is_strict: bool) -> object:
    end, names, values = opened
    if is_strict and len(set(names)) < len(names):
        raise ValueError("a name twice")
    return JsonArray(tuple(values)) if end == "]" else JsonObject(tuple(zip(names, values, strict=True)))


ESCAPES = str.maketrans(
    {chr(code): f"\\u{code:04X}" for code in range(32)}
    | {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
)


def _quoted(text: str) -> str:
    """Characters of two units of UTF-16 are written as these."""
    escaped = text.translate(ESCAPES)
    if not any(one > "\uffff" for one in escaped):
        return f'"{escaped}"'
    units = escaped.encode("utf-16-be", "surrogatepass")
    found = (int.from_bytes(units[place : place + 2], "big") for place in range(0, len(units), 2))
    return '"' + "".join(f"\\u{one:04X}" if 0xD800 <= one < 0xE000 else chr(one) for one in found) + '"'


def json_text(value: object) -> str:
    """A value as JSON without blanks; numbers with a point or an exponent are DOUBLEs.

    >>> json_text(read_json('{"a" : [1.50, 1e3, "x"], "b": null}'))
    '{"a":[1.5,1000.0,"x"],"b":null}'
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _quoted(value)
        case JsonNumber(text) if text.lstrip("-").isdigit():
            return str(int(text))
        case JsonNumber(text):
            shown = float_text(float(text))
            return shown if shown[-1].isdigit() else f'"{shown}"'
        case JsonArray(values):
            return "[" + ",".join(map(json_text, values)) + "]"
        case JsonObject(fields):
            return "{" + ",".join(f"{_quoted(name)}:{json_text(one)}" for name, one in fields) + "}"
    raise ValueError(value)


_STEP = re.compile(r"\.(?P<name>[^\s.\[\]*?']+)|\['(?P<quoted>[^\s'?*][^'?]*)'\]|\[(?P<number>[0-9]{1,9})\]")


class MalformedPath(ValueError):
    """A path that is not one of names and places."""


@lru_cache(maxsize=256)
def path_of(text: str) -> tuple[str | int, ...]:
    """The names and places of a path; raises `MalformedPath`.

    >>> path_of("$.a['b c'][0]")
    ('a', 'b c', 0)
    """
    if not text.startswith("$"):
        raise MalformedPath("it begins with `$`")
    steps: list[str | int] = []
    place = 1
    while place < len(text):
        found = _STEP.match(text, place)
        if found is None:
            raise MalformedPath(f"`{text[place:]}` is not known")
        steps.append(int(found["number"]) if found["number"] else found["name"] or found["quoted"])
        place = found.end()
    return tuple(steps)


_NOTHING = object()


def get_json_object(text: str, path: str) -> str | None:
    """What a path leads to: a string as it is, all else as JSON. The first field of a name that is not null
    counts.

    >>> get_json_object('{"a": {"b": [1, "x"]}}', "$.a.b[1]"), get_json_object('{"a": [1.0]}', "$.a")
    ('x', '[1.0]')
    """
    value = read_json(text)
    for step in path_of(path):
        match value, step:
            case JsonObject(fields), str():
                found = (one for name, one in fields if name == step and one is not None)
                value = next(found, _NOTHING)
            case JsonArray(values), int() if step < len(values):
                value = values[step]
            case _:
                return None
    return None if value is _NOTHING else value if isinstance(value, str) else json_text(value)


def json_array_length(text: str) -> int | None:
    value = read_json(text)
    return len(value.values) if isinstance(value, JsonArray) else None


def json_object_keys(text: str) -> list[str] | None:
    value = read_json(text)
    return [name for name, _ in value.fields] if isinstance(value, JsonObject) else None


JSON: dict[str, Function] = {
    "get_json_object": get_json_object,
    "json_array_length": json_array_length,
    "json_object_keys": json_object_keys,
}
