"""The first rows of a DataFrame, as a notebook shows them."""

from __future__ import annotations

from dataclasses import dataclass, field

from neelc.api.schemas import type_of
from neelc.api.streams import Frame
from neelc.api.values import clock_of, value_of
from neelc.data import cells
from neelc.data.layout import aligned
from neelc.explain.tags import escape, tag
from neelc.ir.types import DataType

NULL = "null"


@dataclass(frozen=True, repr=False)
class Rows:
    """Cells as text under the names of their columns; `is_all` if there are no more. `frame` has all."""

    names: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    is_all: bool
    frame: Frame = field(compare=False, default=None)

    @property
    def count(self) -> str:
        """
        >>> Rows(("a",), (("1",),), True).count, Rows(("a",), (("1",), ("2",)), False).count
        ('1 row', 'the first 2 rows; -l shows more')
        """
        rows = f"{len(self.cells)} row{'' if len(self.cells) == 1 else 's'}"
        return rows if self.is_all else f"the first {rows}; -l shows more"

    def __repr__(self) -> str:
        """
        >>> Rows(("a", "b"), (("10", "x"),), True)
        a   b
        10  x
        (1 row)
        """
        return "\n".join([*aligned([self.names, *self.cells]), f"({self.count})"])

    def _repr_html_(self) -> str:
        """
        >>> Rows(("a",), (("<b>",),), True)._repr_html_().partition("<tbody>")[2]
        '<tr><td>&lt;b&gt;</td></tr></tbody></table><p>1 row</p>'
        """
        head = tag("thead", tag("tr", *(tag("th", escape(name)) for name in self.names)))
        body = (tag("tr", *map(_cell, row)) for row in self.cells)
        return tag("table", head, tag("tbody", *body)) + tag("p", escape(self.count))


def _cell(text: str) -> str:
    # A text that says null is quoted by `cells.render`, so this one is none.
    return tag("td", tag("i", NULL), style="opacity: 0.5") if text == NULL else tag("td", escape(text))


def first_rows(frame: Frame, most: int) -> Rows:
    """Up to `most` rows: Spark runs what it needs for them, and for one more to know whether it exists."""
    found = frame.limit(most + 1).collect()
    types = [type_of(field["type"]) for field in frame.schema.jsonValue()["fields"]]
    with clock_of(frame.sparkSession):
        texts = tuple(tuple(map(_text, row, types)) for row in found[:most])
    return Rows(tuple(frame.columns), texts, len(found) <= most, frame)


def _text(value: object, type: DataType | None) -> str:
    """As case files and `neelc run` write it; a type that only Spark has, as Python does.

    >>> _text(None, None), _text((1, 2), None)
    ('null', '(1, 2)')
    """
    if type is None:
        return NULL if value is None else str(value)
    return cells.render(value_of(value, type), type)
