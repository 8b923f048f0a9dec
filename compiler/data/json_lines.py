"""JSON lines: one object on each line, as Spark's `json` reads them."""

from __future__ import annotations

import decimal
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neelc.data.infer import type_of_values
from neelc.data.table import Table, position
from neelc.data.values import from_value
from neelc.errors import Diagnostic, NeelError
from neelc.ir.logical import Column
from neelc.ir.types import DataType
from neelc.source import Source, Span

OPTIONS = ()


@dataclass(frozen=True)
class ObjectTable(Table):
    """Objects, each with the place of its line; a key that a line leaves out is NULL there."""

    source: Source
    names: Sequence[str]
    objects: Sequence[Mapping[str, object]]
    lines: Sequence[Span]

    def __len__(self) -> int:
        return len(self.objects)

    def raw(self, row: int, column: int) -> object | None:
        return self.objects[row].get(self.names[column])

    def place(self, row: int, column: int) -> Span:
        line = self.lines[row]
        key = json.dumps(self.names[column], ensure_ascii=False)
        at = self.source.text.find(key, line.start, line.end)
        return Span(at, at + len(key)) if at >= 0 else line

    def value(self, raw: object, type: DataType) -> object:
        return from_value(raw, type)

    def inferred(self, column: int) -> DataType:
        return type_of_values(item.get(self.names[column]) for item in self.objects)

    def positions(self, columns: Sequence[Column]) -> list[int | None]:
        # A key that no object has is not a mistake: writers of JSON leave out what is NULL.
        return [position(column.name, self.names) for column in columns]


def read_json(source: Source, options: Mapping[str, str]) -> ObjectTable:
    r"""The table of a text with one JSON object on each line.

    >>> from neelc.ir.types import BIGINT, STRING
    >>> table = read_json(Source('{"ts": 1, "name": "a"}\n{"ts": 2}\n'), {})
    >>> table.rows([Column("ts", BIGINT), Column("name", STRING)])
    [{'ts': 1, 'name': 'a'}, {'ts': 2, 'name': None}]
    """
    objects: list[Mapping[str, object]] = []
    lines: list[Span] = []
    start = 0
    for line in source.text.split("\n"):
        if line.strip():
            objects.append(_object(line, start, source))
            lines.append(Span(start, start + len(line.rstrip())))
        start += len(line) + 1
    names = dict.fromkeys(key for item in objects for key in item)
    return ObjectTable(source, tuple(names), objects, lines)


def _object(line: str, start: int, source: Source) -> Mapping[str, object]:
    try:
        value = json.loads(line, parse_float=decimal.Decimal)
    except json.JSONDecodeError as error:
        # Python's sentence begins with a capital letter; ours do not.
        message = f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise NeelError([_malformed(message, start + error.pos)], source) from None
    except RecursionError:
        raise NeelError([_malformed("not JSON that can be read: nested too deeply", start)], source) from None
    except ValueError:  # Python reads integers of 4,300 digits
        message = "not JSON that can be read: a number of thousands of digits"
        raise NeelError([_malformed(message, start)], source) from None
    if not isinstance(value, dict):
        raise NeelError([_malformed("a line is not a JSON object", start)], source)
    return value


def _malformed(message: str, at: int) -> Diagnostic:
    hint = 'each line is one object: {"ts": 1, "price": 2.5}'
    return Diagnostic("NEEL5004", message, Span(at, at + 1), hint)
