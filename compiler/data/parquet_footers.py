"""The footers of Parquet files: how many rows, and what each column holds. No row is read."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from neelc.data.parquet import NoArrow, Unreadable
from neelc.ir.units import LENGTHS

# Nanoseconds in what a raw value of these types of Arrow counts.
_TICKS = {
    "timestamp[s": LENGTHS["SECOND"],
    "timestamp[ms": LENGTHS["MILLISECOND"],
    "timestamp[us": LENGTHS["MICROSECOND"],
    "timestamp[ns": LENGTHS["NANOSECOND"],
    "date32[day": LENGTHS["DAY"],
}
_NUMBERS = ("int", "uint", "halffloat", "float", "double", "decimal")


@dataclass(frozen=True)
class Content:
    """What a column of a file holds: NULLs, and the least and the greatest of its other values.

    None is "not known", but for the values of a column that has none (`values` 0). Times are in nanoseconds,
    `is_time` then.
    """

    values: int
    nulls: int | None
    least: Decimal | None = None
    greatest: Decimal | None = None
    is_time: bool = False


@dataclass(frozen=True)
class Footer:
    rows: int
    columns: dict[str, Content]


def read_footer(path: Path, names: Iterable[str]) -> Footer:
    """The footer of one file, as far as columns of these names go; raises `NoArrow` or `Unreadable`."""
    wanted = {name.casefold() for name in names}
    try:
        pyarrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise NoArrow from None
    try:
        metadata = parquet.read_metadata(path)
        # Only columns have their name as their path: what lies in a struct or a list has a longer one.
        types = {field.name: str(field.type) for field in metadata.schema.to_arrow_schema()}
        paths = [metadata.schema.column(at).path for at in range(metadata.num_columns)]
        groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
        columns = {
            name: joined(_content(group, at, types[name]) for group in groups)
            for at, name in enumerate(paths)
            if name in types and name.casefold() in wanted
        }
    except (pyarrow.ArrowException, OSError) as error:
        raise Unreadable(str(error)) from None
    return Footer(metadata.num_rows, columns)


def _content(group: Any, at: int, arrow: str) -> Content:
    """What a column, of a type of Arrow, holds in one group of rows."""
    statistics = group.column(at).statistics
    if statistics is None:
        return Content(group.num_rows, None)
    nulls = statistics.null_count if statistics.has_null_count else None
    values = group.num_rows - (nulls or 0)
    tick = next((tick for prefix, tick in _TICKS.items() if arrow.startswith(prefix)), None)
    if statistics.has_min_max and tick is not None:
        # Raw: as a datetime, nanoseconds would be cut or refused.
        ends = (Decimal(statistics.min_raw) * tick, Decimal(statistics.max_raw) * tick)
        return Content(values, nulls, *ends, is_time=True)
    if statistics.has_min_max and arrow.startswith(_NUMBERS):
        return Content(values, nulls, number(statistics.min), number(statistics.max))
    return Content(values, nulls)


def number(value: object) -> Decimal | None:
    """The value of a bound, None if it is no number.

    >>> number(1.5), number("a"), number(True), number(float("nan"))
    (Decimal('1.5'), None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return Decimal(str(value)) if math.isfinite(value) else None


def joined(contents: Iterable[Content]) -> Content:
    """Several parts of a column as one.

    >>> print(joined([Content(2, 1, Decimal(3), Decimal(5)), Content(0, 4)]))
    Content(values=2, nulls=5, least=Decimal('3'), greatest=Decimal('5'), is_time=False)
    """
    parts = list(contents)
    nulls = [part.nulls for part in parts if part.nulls is not None]
    filled = [part for part in parts if part.values > 0]
    least = [part.least for part in filled if part.least is not None]
    greatest = [part.greatest for part in filled if part.greatest is not None]
    # One part that does not tell its bounds may go beyond those of all the others.
    told = len(least) == len(greatest) == len(filled) and len({part.is_time for part in filled}) == 1
    return Content(
        sum(part.values for part in parts),
        sum(nulls) if len(nulls) == len(parts) else None,
        min(least) if told else None,
        max(greatest) if told else None,
        told and filled[0].is_time,
    )


def files_below(path: Path) -> Iterator[Path]:
    """The data files of a table: the file itself, or all in the directory and below it, as Spark reads it."""
    if path.is_file():
        yield path
        return
    for found in sorted(path.rglob("*")):
        # Spark leaves _SUCCESS and checksums beside the parts.
        below = found.relative_to(path).parts
        if found.is_file() and not any(part[0] in "._" for part in below):
            yield found
