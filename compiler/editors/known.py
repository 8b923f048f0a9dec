"""What names stand for at a place of a query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neelc.ir.logical import Column
from neelc.ir.names import bare, find, written
from neelc.ir.types import DataType, Struct
from neelc.source import Span


@dataclass(frozen=True)
class Known:
    """A name with attributes: a variable of a pattern, or a source of a SELECT.

    `name` is in source form; `title` says what it is, `scope` where it lives, in sentences. A closure of a
    composite has the variables of one iteration in `inner`. `is_list` if an index stands before the
    attributes. `is_visible` at the place that was asked for.
    """

    name: str
    title: str
    columns: tuple[Column, ...] = ()
    scope: tuple[str, ...] = ()
    inner: tuple[Known, ...] = ()
    is_list: bool = False
    is_visible: bool = True
    declared: Span | None = None


def known_by(name: str, several: Iterable[Known]) -> Known | None:
    """The one of that name."""
    listed = tuple(several)
    found = find(name, [one.name for one in listed])
    return next((one for one in listed if one.name == found), None)


def followed(chain: Sequence[str], several: Sequence[Known]) -> Known | Column | None:
    """What `a.b.c` leads to: a variable, or a column; None if it leads nowhere.

    >>> from neelc.ir.types import INT
    >>> a = Known("a", "an event", (Column("x", INT),))
    >>> followed(["a"], [a]) is a, followed(["a", "X"], [a]).name, followed(["a", "y"], [a])
    (True, 'x', None)
    """
    first, *rest = chain
    found = known_by(first, several)
    for place, name in enumerate(rest):
        if found is None:
            return None
        inner = known_by(name, found.inner)
        if inner is None:
            return _column(rest[place:], found.columns)
        found = inner
    return found


def _column(chain: Sequence[str], columns: Sequence[Column]) -> Column | None:
    name = find(chain[0], [written(column.name) for column in columns])
    column = next((one for one in columns if written(one.name) == name), None)
    if column is None or len(chain) == 1:
        return column
    return _column(chain[1:], fields(column.type))


def fields(kind: DataType) -> tuple[Column, ...]:
    """The fields of a struct as columns."""
    return tuple(Column(bare(f.name), f.type) for f in kind.fields) if isinstance(kind, Struct) else ()
