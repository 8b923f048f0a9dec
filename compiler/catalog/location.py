"""Where the data of a stream lie, and opening them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from pathlib import Path
from typing import NoReturn

from neelc.catalog.data_files import (
    ENCODINGS,
    FORMATS,
    DataFile,
    DataRefusal,
    data_files,
    format_of,
    is_elsewhere,
    partition_types,
)
from neelc.catalog.readers.columnar import NoArrow, UnreadableFile, read_columns
from neelc.catalog.readers.partitions import PartitionTable
from neelc.catalog.readers.text import CSV_OPTIONS, JSON_OPTIONS, Table, read_csv, read_json
from neelc.errors import Diagnostic, NeelError
from neelc.files import CallError, decode, special_kind
from neelc.ir.names import Identifier
from neelc.ir.types import DataType
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source, Span

_TEXT_FORMATS = {"csv": read_csv, "json": read_json}
_OPTIONS = {"csv": CSV_OPTIONS, "json": JSON_OPTIONS}
_ARTICLES = {"parquet": "a Parquet file", "orc": "an ORC file", "arrow": "an Arrow file"}


@dataclass(frozen=True)
class Location:
    """A file, a directory of files as Spark writes it, or what a pattern of names matches.

    `source` and `span` are where the path is written. `name` is the path as it was written; `path` is where
    that is from here.
    """

    name: str
    path: Path
    source: Source
    span: Span
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def fail(self, code: str, message: str, hint: str | None = None, name: str | None = None) -> NoReturn:
        """Give up, at a name beside the path, or at the path."""
        span = name.span if isinstance(name, Identifier) else self.span
        raise NeelError([Diagnostic(code, message, span, hint)], self.source)

    @contextmanager
    def placed(self) -> Iterator[None]:
        """What is refused inside is so at the path."""
        try:
            yield
        except DataRefusal as problem:
            raise self.place(problem) from None

    def place(self, problem: NeelError) -> NeelError:
        """What is wrong with the files, at the path, unless it has a better place already."""
        return problem.at(self.source, self.span) if isinstance(problem, DataRefusal) else problem

    def check_kind(self) -> None:
        """Fail if the path itself leads to a pipe or a device."""
        kind = special_kind(self.path)
        if kind is not None:
            self.fail("NEEL5001", f"{self.name} is {kind}, not a file", "write the data to a file first")

    def check_there(self) -> None:
        """Fail if nothing is there, or a pipe or a device. Which files of a directory are read is left to
        whoever reads them: an option of Spark's may say it."""
        self.check_kind()
        if self.is_elsewhere:
            return
        if not self.path.exists():
            self.files()  # of a pattern of names
        elif self.path.is_dir():
            for path in self.path.iterdir():
                replace(self, path=path, name=f"{self.name.rstrip('/')}/{path.name}").check_kind()

    def check_ends(self) -> None:
        """Fail if the path is a Kafka topic, for whoever reads all data."""
        if self.name.lower().startswith("kafka://"):
            message = f"{self.name} is a Kafka topic, which has no end"
            self.fail("NEEL5006", message, "neelc stream reads topics; run and why read files and tables")

    @property
    def is_elsewhere(self) -> bool:
        """Whether the path leads to another machine."""
        return is_elsewhere(self.name)

    def files(self) -> list[DataFile]:
        """The files that the path stands for. Fails if there are none, or if one of them is what would block
        whoever reads it, or never end: a pipe or a device. It could not be read a second time either, once
        for the columns and once for the rows."""
        with self.placed():
            return data_files(self.name if self.is_elsewhere else str(self.path), self.name)

    def files_there(self) -> list[Path]:
        """The same for those who can do without: whoever reads the files says what is wrong with them."""
        with suppress(NeelError, OSError):
            return [file.path for file in self.files()]
        return []

    def kind(self, file: DataFile) -> str:
        """The format that is declared, or else that of a file; "" if there is none."""
        return format_of(file, self.format)

    def known_kind(self, file: DataFile) -> str:
        """The same; fails if it is none that is read here."""
        kind = self.kind(file)
        if kind in FORMATS:
            return kind
        self.check_ends()
        is_said = self.format is not None
        message = f"`{self.format}` is not a format" if is_said else f"unknown format of {self.name}"
        formats = f"formats: {', '.join(FORMATS)}"
        hint = formats if is_said else f"state it, for example FORMAT csv; {formats}"
        self.fail("NEEL5006", message, hint, self.format)

    def tables(self, schema_only: bool = False) -> list[Table]:
        """The tables of all files; without rows if only the schema is needed and the format knows it."""
        files = self._files_of_columns() if schema_only else self.files()
        with self.placed():
            types = partition_types(files)
            return [self._table(file, types, schema_only) for file in files]

    def _files_of_columns(self) -> list[DataFile]:
        if self.is_elsewhere:
            message = f"{self.name} is not on this machine: its columns are not known"
            self.fail("NEEL5001", message, "list the columns in CREATE STREAM")
        return self.files()

    def peeked(self, most: int) -> Table | None:
        """The lines in the first bytes of the first file; None if it is not one of text."""
        file = self.files()[0]
        kind = self.kind(file)
        if kind not in _TEXT_FORMATS or file.compression is not None:
            return None
        with file.path.open("rb") as opened:
            found = opened.read(most)
        whole = found if len(found) < most else found[: found.rfind(b"\n") + 1]
        options = self._reading(file, kind)
        return _TEXT_FORMATS[kind](Source(whole.decode(_encoding(options)), file.name), options)

    def _reading(self, file: DataFile, kind: str) -> dict[str, str]:
        options = self._options(kind)
        return {"delimiter": "\t", **options} if kind == "csv" and file.ending == ".tsv" else options

    def _table(self, file: DataFile, partitions: Mapping[str, DataType], schema_only: bool) -> Table:
        kind = self.known_kind(file)
        options = self._reading(file, kind)
        try:
            if kind in _TEXT_FORMATS:
                table: Table = _TEXT_FORMATS[kind](_text(file, options), options)
            else:
                table = read_columns(file.path, file.name, kind, schema_only)
        except CallError as error:
            self.fail("NEEL5001", str(error))
        except NoArrow:
            message = f"{file.name}: reading {_ARTICLES[kind].split()[1]} requires pyarrow"
            self.fail("NEEL5001", message, "pip install 'neelc[parquet]'")
        except UnreadableFile as error:
            self.fail("NEEL5001", f"{file.name}: not {_ARTICLES[kind]} that can be read: {error}")
        return PartitionTable.of(table, file.partition, partitions) if file.partition else table

    def _options(self, kind: str) -> dict[str, str]:
        """The options by the names the reader knows, whatever the case they were written in."""
        known = {name.casefold(): name for name in _OPTIONS.get(kind, ())}
        for key in self.options:
            if key.casefold() not in known:
                close = difflib.get_close_matches(key.casefold(), known, 1)
                names = ", ".join(known.values()) or "none"
                hint = f"did you mean {known[close[0]]}?" if close else f"options of {kind}: {names}"
                self.fail("NEEL5006", f"`{key}` is not an option of {kind} files", hint, key)
        found = {known[key.casefold()]: value for key, value in self.options.items()}
        encoding = found.get("encoding", "utf-8")
        if encoding.lower() not in ENCODINGS:
            key = next(key for key in self.options if key.casefold() == "encoding")
            self.fail("NEEL5006", f"`{encoding}` is not an encoding", "encodings: UTF-8, ISO-8859-1", key)
        return found


def _encoding(options: Mapping[str, str]) -> str:
    return ENCODINGS[options.get("encoding", "utf-8").lower()]


def _text(file: DataFile, options: Mapping[str, str]) -> Source:
    encoding = _encoding(options)
    content = file.content()
    text = decode(content, file.name) if encoding == "utf-8" else content.decode(encoding)
    return Source(text, file.name)
