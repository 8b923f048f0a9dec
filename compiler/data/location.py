"""Where a stream's data lie, and opening them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from neelc.data import delimited, json_lines
from neelc.data.parquet import NoArrow, Unreadable, read_parquet
from neelc.data.table import Table
from neelc.errors import Diagnostic, NeelError
from neelc.files import CallError, decode, read_bytes, special_kind
from neelc.ir.names import bare
from neelc.ir.script import CreateStream
from neelc.source import Source, Span

_TEXT_FORMATS = {"csv": delimited.read_csv, "json": json_lines.read_json}
_OPTIONS = {"csv": delimited.OPTIONS, "json": json_lines.OPTIONS, "parquet": ()}
_ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
}


@dataclass(frozen=True)
class Location:
    """A file, or a directory of files as Spark writes it. `source` and `span` are where the path is written.

    `name` is the path as it was written; `path` is where that is from here.
    """

    name: str
    path: Path
    source: Source
    span: Span
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def fail(self, code: str, message: str, hint: str | None = None, words: str = "") -> NoReturn:
        """Give up, at the place where `words` stand near the path, or at the path."""
        text = self.source.text
        at = text.find(words, self.span.end) if words else -1
        at = text.rfind(words, 0, self.span.start) if words and at < 0 else at
        span = Span(at, at + len(words)) if at >= 0 else self.span
        raise NeelError([Diagnostic(code, message, span, hint)], self.source)

    def check_kind(self) -> None:
        """Fail if the path leads to what would block whoever reads it, or never end: a pipe or a device. It
        could not be read a second time either, once for the columns and once for the rows."""
        self._check_kind(self.path)

    def check_files(self) -> None:
        """The same for what lies in a directory."""
        self.check_kind()
        for path in self._inside():
            self._check_kind(path)

    def _inside(self) -> list[Path]:
        """What lies in a directory. Spark leaves _SUCCESS and checksums beside the parts."""
        return sorted(p for p in self.path.iterdir() if p.name[0] not in "._") if self.path.is_dir() else []

    def _check_kind(self, path: Path) -> None:
        kind = special_kind(path)
        if kind is not None:
            name = self._name(path)
            self.fail("NEEL5001", f"{name} is {kind}, not a file", "write the data to a file first")

    def _name(self, path: Path) -> str:
        return self.name if path == self.path else f"{self.name.rstrip('/')}/{path.name}"

    def tables(self, schema_only: bool = False) -> list[Table]:
        """The tables of all files; without rows if only the schema is asked for and the format knows it."""
        self.check_files()
        paths = [p for p in self._inside() if p.is_file()] if self.path.is_dir() else [self.path]
        if not paths or not self.path.exists():
            self.fail("NEEL5001", f"no such file: {self.name}" if paths else f"no files in {self.name}")
        return [self._table(path, schema_only) for path in paths]

    def peeked(self, most: int) -> Table | None:
        """The lines in the first bytes of the first file; None if it is not one of text."""
        self.check_files()
        path = next((p for p in self._inside() if p.is_file()), None) if self.path.is_dir() else self.path
        kind = "" if path is None else kind_of(path, self.format)
        if path is None or kind not in _TEXT_FORMATS:
            return None
        with path.open("rb") as file:
            found = file.read(most)
        whole = found if len(found) < most else found[: found.rfind(b"\n") + 1]
        return _TEXT_FORMATS[kind](Source(whole.decode(), self._name(path)), self._reading(path, kind))

    def _reading(self, path: Path, kind: str) -> dict[str, str]:
        options = self._options(kind)
        is_tsv = kind == "csv" and path.suffix.lower() == ".tsv"
        return {"delimiter": "\t", **options} if is_tsv else options

    def _table(self, path: Path, schema_only: bool) -> Table:
        name = self._name(path)
        kind = self._format(path)
        options = self._reading(path, kind)
        try:
            if kind == "parquet":
                return read_parquet(path, name, schema_only)
            return _TEXT_FORMATS[kind](Source(decode(read_bytes(path, name, None), name), name), options)
        except CallError as error:
            self.fail("NEEL5001", str(error))
        except NoArrow:
            self.fail("NEEL5001", f"{name}: reading Parquet requires pyarrow", "pip install 'neelc[parquet]'")
        except Unreadable as error:
            self.fail("NEEL5001", f"{name}: not a Parquet file that can be read: {error}")

    def _format(self, path: Path) -> str:
        kind = kind_of(path, self.format)
        if kind not in _OPTIONS:
            message = (
                f"`{self.format}` is not a format"
                if self.format
                else f"the format of {self.name} is not known"
            )
            formats = f"formats: {', '.join(_OPTIONS)}"
            hint = formats if self.format else f"say it, for example FORMAT csv; {formats}"
            self.fail("NEEL5006", message, hint, self.format or "")
        return kind

    def _options(self, kind: str) -> dict[str, str]:
        """The options by the names the reader knows, whatever the case they were written in."""
        known = {name.casefold(): name for name in _OPTIONS[kind]}
        for key in self.options:
            if key.casefold() not in known:
                close = difflib.get_close_matches(key.casefold(), known, 1)
                names = ", ".join(_OPTIONS[kind]) or "none"
                hint = f"did you mean {known[close[0]]}?" if close else f"options of {kind}: {names}"
                self.fail("NEEL5006", f"`{key}` is not an option of {kind} files", hint, key)
        return {known[key.casefold()]: value for key, value in self.options.items()}


def kind_of(path: Path, format: str | None) -> str:
    """The format that is said, or else what the ending of the file tells; "" if nothing does.

    >>> kind_of(Path("a/b.tsv"), None), kind_of(Path("a/b"), "Parquet"), kind_of(Path("a/b"), None)
    ('csv', 'parquet', '')
    """
    return (bare(format) if format else _ENDINGS.get(path.suffix.lower(), "")).lower()


def declared_location(statement: CreateStream, source: Source, directory: Path) -> Location | None:
    """Where CREATE STREAM says its data lie, relative to the script's directory."""
    if statement.path is None:
        return None
    options = {bare(option.key): option.value for option in statement.options}
    span = written_span(statement, source, statement.path)
    return Location(statement.path, directory / statement.path, source, span, statement.format, options)


def written_span(statement: CreateStream, source: Source, words: str) -> Span:
    """The place of some words of a statement, or of its first line."""
    whole = statement.span or Span(0, 1)
    # Whole words only: the `T` of `CREATE` is not the stream `T`.
    found = re.compile(rf"(?<!\w){re.escape(words)}(?!\w)").search(source.text, whole.start, whole.end)
    if words and found:
        return Span(*found.span())
    end = source.text.find("\n", whole.start, whole.end)
    return Span(whole.start, end if end > whole.start else whole.end)
