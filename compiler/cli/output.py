"""Where the text of a command goes: to standard output or, whole or not at all, to a file."""

from __future__ import annotations

import argparse
import datetime
import decimal
import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from neelc.catalog import inputs as cells
from neelc.catalog.inputs import aligned, in_order
from neelc.files import CallError, not_writable, script_files, write_whole
from neelc.ir.names import bare
from neelc.ir.program import Column
from neelc.ir.types import Array, DataType, Map, SimpleType, Struct
from neelc.runtime.reference import Result
from neelc.runtime.values.times import UTC, session_zone, zoned

if TYPE_CHECKING:
    from neelc.catalog.inputs import Inputs

STANDARD = "-"


def check_target(command: str, output: str | None, *scripts: str) -> None:
    """Refuse before the work what cannot, or should not, be written after it."""
    if output is None or output == STANDARD:
        return
    path = Path(output)
    if path.is_dir():
        raise CallError(f"{command} {output}: a directory; this is written to a file")
    if not path.resolve().parent.is_dir():
        raise CallError(f"{output}: cannot be written: No such file or directory")
    for script in scripts:
        if script != STANDARD and path.exists() and Path(script).exists() and path.samefile(script):
            raise CallError(f"{command} {output}: that is the script itself, which would be replaced")


def scripts_of(options: argparse.Namespace) -> list[str]:
    """The files with the script, or the rules, of a call."""
    return list(map(str, script_files(options.files))) if "files" in options else [options.file]


def check_page(command: str, output: str | None, *scripts: str) -> None:
    """The same for a page: what it replaces is one, by its name."""
    if output is not None and Path(output).suffix.lower() not in (".html", ".htm"):
        raise CallError(f"{command} {output}: a page is written to a file that ends in .html")
    check_target(command, output, *scripts)


def refuse_inputs(inputs: Inputs, options: argparse.Namespace) -> None:
    """Refuse to write where a script's data, or other files of the call, are read: they would be replaced, or
    read again as data by the next run."""
    for option, output in (("-o", "output"), ("--report", "report"), ("--stats-out", "stats_out")):
        target = getattr(options, output, None)
        if target is None or target == STANDARD:
            continue
        for what, path in _read(inputs, options):
            how = _meets(target, path)
            # New statistics may take the place of those that the run is planned with.
            is_renewed = output == "stats_out" and path == options.stats
            if how is not None and not is_renewed:
                raise CallError(f"{options.command} {option} {target}: {how} {path}, {what}")


def _read(inputs: Inputs, options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """What a call reads: what it is, and its path."""
    from neelc.catalog.inputs import location_of
    from neelc.ir.names import bare
    from neelc.ir.script import CreateStream

    yield from (("the script", path) for path in scripts_of(options) if path != STANDARD)
    yield from (("which --aggregates reads", path) for path in options.aggregates)
    if getattr(options, "stats", None):
        yield "which --stats reads", options.stats
    declared = [s.name for s in inputs.script.statements if isinstance(s, CreateStream)]
    for name in dict.fromkeys([*(one.name for one in inputs.given), *map(bare, declared)]):
        location = location_of(inputs, name)
        if location is not None:
            is_there = "://" in location.name
            yield f"the data of stream {name}", location.name if is_there else str(location.path)


def _meets(target: str, source: str) -> str | None:
    """How an output and an input meet; None if they do not. Links are followed.

    >>> _meets("data", "data/2024.csv"), _meets("data/new.csv", "data"), _meets("s3://b/x", "s3://b/x/y")
    ('it contains', 'it is inside', 'it contains')
    >>> _meets("data.csv", "data") is _meets("s3://b/x", "s3://b/xy") is None
    True
    """
    written, read = _place(target), _place(source)
    if written == read or _is_same_file(target, source):
        return "it is"
    if written == read[: len(written)]:
        return "it contains"
    return "it is inside" if read == written[: len(read)] else None


def _place(path: str) -> tuple[str, ...]:
    """The steps to a file, from the root or from the bucket on."""
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    if "://" in path:
        return tuple(part for part in path.split("/") if part)
    return Path(path).resolve().parts


def _is_same_file(left: str, right: str) -> bool:
    """Whether two names lead to one file: by links of all kinds, or where case does not count."""
    try:
        return Path(left).samefile(right)
    except (OSError, ValueError):
        return False


def put(text: str, output: str | None) -> None:
    """Write a text to a file, or to standard output."""
    if output is None or output == STANDARD:
        sys.stdout.write(text)
    else:
        write_whole(Path(output), text)
        print(f"{output}: written", file=sys.stderr)


# Where the rows of a run go: to standard output, to a file or to a directory; whole or not at all.

FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".txt": "table", ".parquet": "parquet"}


def format_of(output: str | None) -> str:
    """The format of a file, by its extension.

    >>> format_of("alarms.csv"), format_of(None), format_of("alarms.parquet")
    ('csv', 'table', 'parquet')
    """
    if output is None or not Path(output).suffix:
        return "table"
    ending = Path(output).suffix.lower()
    if ending not in FORMATS:
        known = ", ".join(FORMATS)
        raise CallError(f"run --out {output}: unknown file extension; pass --format, or use {known}")
    return FORMATS[ending]


def is_url(path: str) -> bool:
    """
    >>> is_url("s3://bucket/alarms"), is_url("alarms.parquet")
    (True, False)
    """
    return "://" in path


def check_output(output: str | None, kind: str, overwrite: bool) -> None:
    """Refuse before anything runs what cannot be written after it."""
    if output is None:
        if kind == "parquet":
            raise CallError("run --format parquet: say where: --out PATH")
        return
    if is_url(output):
        if kind != "parquet":
            raise CallError(f"run --out {output}: only Parquet is written to a URL; say --format parquet")
        return
    path = Path(output)
    is_special = path.exists() and not path.is_file() and not path.is_dir()  # a device or a pipe
    if path.exists() and not overwrite and not is_special:
        raise CallError(f"run --out {output}: it exists already; --overwrite replaces it")
    if path.is_dir() and kind != "parquet":
        raise CallError(f"run --out {output}: a directory; {kind} is written to a file")
    if not path.resolve().parent.is_dir():
        raise CallError(f"{output}: cannot be written: No such file or directory")


@contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """A directory to write to, not there yet, which takes the place of `path` at the end.

    It grows in a directory beside it, on the same file system: a rename is all that is left to do. An
    exception removes it and leaves what was there.
    """
    target = path.resolve()
    try:
        beside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except OSError as error:
        raise not_writable(path, error) from None
    try:
        yield beside / "new"
        if target.exists():
            os.rename(target, beside / "old")
            try:
                os.rename(beside / "new", target)
            except BaseException:
                os.rename(beside / "old", target)
                raise
        else:
            os.rename(beside / "new", target)
    finally:
        with suppress(OSError):
            shutil.rmtree(beside)


# Results as text: aligned tables, CSV, JSON lines.


def written(results: Sequence[tuple[str | None, Result]], kind: str) -> str:
    """The results in one of the formats; several get their names as titles."""
    texts = [TEXT_FORMATS[kind](result) for _, result in results]
    if len(texts) == 1:
        return texts[0]
    return "\n".join(f"{name or 'query'}:\n{text}" for (name, _), text in zip(results, texts, strict=True))


def as_table(result: Result, is_ordered: bool = False) -> str:
    """Columns side by side, as in case files; `is_ordered` rows stay in their order."""
    header = [cells.render_name(column.name) for column in result.columns]
    types = [column.type for column in result.columns]
    found = result.rows if is_ordered else in_order(result.rows)
    rows = [[cells.render(v, t) for v, t in zip(row, types, strict=True)] for row in found]
    return "".join(f"{line}\n" for line in aligned([header, *rows]))


def as_csv(result: Result) -> str:
    """Comma-separated, as Spark does: NULL is empty, an empty string is quoted; nested values are JSON."""
    return "".join(csv_lines(result.columns, in_order(result.rows)))


def csv_lines(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield ",".join(_csv_text(column.name) for column in columns) + "\n"
    types = [column.type for column in columns]
    for row in rows:
        yield ",".join(_csv_field(v, t) for v, t in zip(row, types, strict=True)) + "\n"


def _csv_field(value: object, type: DataType) -> str:
    if value is None:
        return ""
    if isinstance(type, Array | Map | Struct):
        return _csv_text(json_text(value, type))
    return _csv_text(value if isinstance(value, str) else cells.scalar(value) + _offset(value))


def _offset(value: object) -> str:
    """What makes the text of an instant one that everybody reads alike; in UTC, it is left out."""
    if not isinstance(value, datetime.datetime) or value.tzinfo is None or session_zone() is UTC:
        return ""
    return zoned(value).isoformat()[-6:]


def _csv_text(text: str) -> str:
    needs_quotes = not text or text != text.strip() or any(c in text for c in ',"\r\n')
    return '"' + text.replace('"', '""') + '"' if needs_quotes else text


def as_json(result: Result) -> str:
    """One object for each row."""
    return "".join(json_lines(result.columns, in_order(result.rows)))


def json_lines(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    names = [_json_string(column.name) for column in columns]
    types = [column.type for column in columns]
    for row in rows:
        fields = zip(names, row, types, strict=True)
        yield "{" + ", ".join(f"{name}: {json_text(value, type)}" for name, value, type in fields) + "}\n"


def json_text(value: object, type: DataType) -> str:
    """A value as JSON; decimals keep their digits, NaN and the infinities are strings.

    >>> from neelc.ir.types import BIGINT, Decimal
    >>> json_text([1, None], Array(BIGINT)), json_text(decimal.Decimal("1.50"), Decimal(3, 2))
    ('[1, null]', '1.50')
    """
    match type, value:
        case _, None:
            return "null"
        case SimpleType("VARIANT"), str():  # which is JSON already
            return value
        case Array(element), list() | tuple():
            return "[" + ", ".join(json_text(item, element) for item in value) + "]"
        case Map(of, to), dict():
            pairs = (f"{_json_key(k, of)}: {json_text(v, to)}" for k, v in value.items())
            return "{" + ", ".join(pairs) + "}"
        case Struct(fields), dict():
            names = ((bare(field.name), field.type) for field in fields)
            parts = (f"{_json_string(name)}: {json_text(value.get(name), kind)}" for name, kind in names)
            return "{" + ", ".join(parts) + "}"
        case _, bool() | int() | decimal.Decimal():
            return cells.scalar(value)
        case _, float() if math.isfinite(value):
            return cells.scalar(value)
        case _, str():
            return _json_string(value)
        case _, datetime.datetime():
            shown = zoned(value) if value.tzinfo else value
            return _json_string(shown.isoformat().replace("+00:00", "Z"))
        case _, float() | datetime.date() | datetime.timedelta():
            return _json_string(cells.scalar(value))
        case _, bytes():
            return _json_string(value.hex().upper())
    return _json_string(str(value))


def _json_key(value: object, type: DataType) -> str:
    text = json_text(value, type)
    return text if text.startswith('"') else _json_string(text)


def _json_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


TEXT_FORMATS: dict[str, Callable[[Result], str]] = {"table": as_table, "csv": as_csv, "json": as_json}

LINES: dict[str, Callable[[Sequence[Column], Iterable[Sequence[object]]], Iterator[str]]] = {
    "csv": csv_lines,
    "json": json_lines,
}
"""The formats that can be written row by row."""
