"""Values as the text of a table's cell: what case files hold and `neelc run` prints.

Cells stand two or more spaces apart. `null` is NULL; a string with spaces, or one that reads as something
else, stands in 'quotes'; arrays are `[1, 2]`, structs `{id: 1, x: 2}`, maps `{k -> 1}`.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re

from neelc.data.values import Misfit, from_text
from neelc.ir.moments import day_interval_text, timestamp_text
from neelc.ir.names import bare
from neelc.ir.types import Array, DataType, Map, Simple, Struct

_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "'": "''"}
_UNESCAPES = {"\\\\": "\\", "\\n": "\n", "\\r": "\r", "\\t": "\t", "''": "'"}
_QUOTED = re.compile(r"'((?:[^'\\]|''|\\.)*)'")
_PLAIN = re.compile(r"[^\s'#][^\s]*\Z")
_PLAIN_INSIDE = re.compile(r"[^\s'#,:\[\]{}>][^\s,:\[\]{}>]*\Z")
# A row that is only one of these words would begin a section of a case file.
_TAKEN = frozenset({"null", "query", "matches", "error", "events", "args"})


def quoted(text: str) -> str:
    r"""
    >>> print(quoted("it's\nso"))
    'it''s\nso'
    """
    return "'" + "".join(_ESCAPES.get(c, c) for c in text) + "'"


def unquoted(text: str) -> str:
    r"""
    >>> unquoted(quoted("a\\b 'c'\n"))
    "a\\b 'c'\n"
    """
    return re.sub(r"''|\\[\\nrt]", lambda found: _UNESCAPES[found[0]], text[1:-1])


def is_quoted(text: str) -> bool:
    """
    >>> is_quoted("'a b'"), is_quoted("'a' + 'b'"), is_quoted("ab")
    (True, False, False)
    """
    return _QUOTED.fullmatch(text) is not None


def render(value: object, type: DataType, inside: bool = False) -> str:
    """The cell of a value; `inside` an array, struct or map more strings need quotes.

    >>> from neelc.ir.types import DOUBLE, STRING
    >>> render(1.0, DOUBLE), render(None, DOUBLE), render("a b", STRING), render("a:b", STRING)
    ('1.0', 'null', "'a b'", 'a:b')
    >>> render(["a:b", "c"], Array(STRING))
    "['a:b', c]"
    """
    if value is None:
        return "null"
    match type, value:
        case Array(element), list() | tuple():
            return "[" + ", ".join(render(item, element, True) for item in value) + "]"
        case Map(of, to), dict():
            pairs = sorted((render(k, of, True), render(v, to, True)) for k, v in value.items())
            return "{" + ", ".join(f"{k} -> {v}" for k, v in pairs) + "}"
        case Struct(fields), dict():
            parts = ((bare(f.name), render(value.get(bare(f.name)), f.type, True)) for f in fields)
            return "{" + ", ".join(f"{name}: {text}" for name, text in parts) + "}"
        case _, str():
            plain = (_PLAIN_INSIDE if inside else _PLAIN).match(value) and value not in _TAKEN
            return value if plain else quoted(value)
    return scalar(value)


def render_name(name: str) -> str:
    """A column's name as a cell of the header: single spaces stay, for they do not end a cell.

    >>> render_name("sum(b[].price) + 1"), render_name("a  b")
    ('sum(b[].price) + 1', "'a  b'")
    """
    is_plain = re.fullmatch(r"\S+( \S+)*", name) and name[0] not in "'#" and name not in _TAKEN
    return name if is_plain else quoted(name)


def scalar(value: object) -> str:
    """The text of a value that is not nested, without quotes.

    >>> scalar(1e20), scalar(float("-inf")), scalar(True), scalar(decimal.Decimal("1E+2"))
    ('1e+20', '-Infinity', 'true', '100')
    >>> scalar(datetime.datetime(2024, 5, 1, 10, tzinfo=datetime.timezone.utc))
    '2024-05-01 10:00:00'
    >>> scalar(datetime.timedelta(seconds=90))
    "INTERVAL '0 00:01:30' DAY TO SECOND"
    """
    match value:
        case bool():
            return "true" if value else "false"
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case float():
            return repr(value)
        case decimal.Decimal():
            return format(value, "f")
        case datetime.datetime():
            return timestamp_text(value)
        case datetime.date():
            return value.isoformat()
        case datetime.timedelta():
            return day_interval_text(value)
        case bytes():
            return f"X'{value.hex().upper()}'"
    return str(value)


def parse(text: str, type: DataType) -> object:
    """The value of a cell: the inverse of `render`.

    >>> from neelc.ir.types import BIGINT, STRING, StructField
    >>> type = Struct((StructField("x", Array(BIGINT)), StructField("y", STRING)))
    >>> parse("{x: [1, null], y: 'a, b'}", type)
    {'x': [1, None], 'y': 'a, b'}
    """
    value, end = _value(text, 0, type, "")
    if text[end:].strip():
        raise Misfit
    return value


def _value(text: str, at: int, type: DataType, stops: str) -> tuple[object, int]:
    """The value that begins at `at`, and where it ends; a plain one ends before one of `stops`."""
    match type:
        case Array(element) if text.startswith("[", at):
            return _items(text, at + 1, element)
        case Map(of, to) if text.startswith("{", at):
            return _pairs(text, at + 1, of, to)
        case Struct() if text.startswith("{", at):
            return _fields(text, at + 1, type)
    found = _QUOTED.match(text, at)
    if found:
        return from_text(unquoted(found[0]), type), found.end()
    end = at
    while end < len(text) and text[end] not in stops and not (stops and text.startswith(" -> ", end)):
        end += 1
    plain = text[at:end].strip()
    if plain == "null":
        return None, end
    if type == Simple("BINARY"):
        return _binary(plain), end
    return from_text(plain, type), end


def _binary(text: str) -> bytes:
    found = re.fullmatch(r"[xX]'((?:[0-9a-fA-F]{2})*)'", text)
    return bytes.fromhex(found[1]) if found else text.encode()


def _after(text: str, at: int, mark: str) -> int:
    """The place after `mark` and the spaces around it."""
    at += len(text[at:]) - len(text[at:].lstrip())
    if not text.startswith(mark, at):
        raise Misfit
    at += len(mark)
    return at + len(text[at:]) - len(text[at:].lstrip())


def _starts(text: str, at: int, mark: str) -> bool:
    return text[at:].lstrip().startswith(mark)


def _items(text: str, at: int, element: DataType) -> tuple[list[object], int]:
    items: list[object] = []
    while not _starts(text, at, "]"):
        at = _after(text, at, "," if items else "")
        item, at = _value(text, at, element, ",]")
        items.append(item)
    return items, _after(text, at, "]")


def _pairs(text: str, at: int, of: DataType, to: DataType) -> tuple[dict[object, object], int]:
    pairs: dict[object, object] = {}
    while not _starts(text, at, "}"):
        at = _after(text, at, "," if pairs else "")
        key, at = _value(text, at, of, "}")
        value, at = _value(text, _after(text, at, "->"), to, ",}")
        pairs[key] = value
    return pairs, _after(text, at, "}")


def _fields(text: str, at: int, type: Struct) -> tuple[dict[str, object], int]:
    types = {bare(field.name): field.type for field in type.fields}
    fields: dict[str, object] = {}
    while not _starts(text, at, "}"):
        at = _after(text, at, "," if fields else "")
        colon = text.find(":", at)
        name = text[at:colon].strip()
        if colon < 0 or name not in types:
            raise Misfit
        fields[name], at = _value(text, _after(text, colon, ":"), types[name], ",}")
    return {name: fields.get(name) for name in types}, _after(text, at, "}")
