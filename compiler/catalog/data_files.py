"""The files that a path stands for, as Spark finds them: one file, a directory of parts, directories of
partitions, or what a pattern of names matches; their formats, and what they hold.

All that reads files asks here: the reference interpreter's readers, the local engine, statistics, and what
looks at columns that nobody declares.
"""

from __future__ import annotations

import datetime
import gzip
import importlib
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from neelc.errors import Diagnostic, NeelError
from neelc.files import special_kind
from neelc.ir.names import bare
from neelc.ir.types import BIGINT, DATE, DOUBLE, INT, STRING, VOID, DataType
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source, Span

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""What the name of a directory has in place of NULL."""

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
REFUSED_COMPRESSIONS = (".bz2", ".lz4", ".snappy", ".deflate", ".xz", ".zip")

FORMATS = ("csv", "json", "parquet", "orc", "arrow")
_ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".orc": "orc",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"ORC": "orc",
    b"\xff\xff\xff\xff": "arrow",
}
ENCODINGS = {"utf-8": "utf-8", "utf8": "utf-8", "us-ascii": "utf-8", "ascii": "utf-8"}
ENCODINGS |= {"iso-8859-1": "latin-1", "latin1": "latin-1", "latin-1": "latin-1"}
_OTHER_NAMES = {"feather": "arrow", "ipc": "arrow", "tsv": "csv", "jsonl": "json", "ndjson": "json"}


class DataRefusal(NeelError):
    """What is wrong with data, in the words of who reads them and does not know where their path is written.
    `at` gives it that place."""

    def at(self, source: Source, span: Span) -> NeelError:
        return NeelError([Diagnostic(d.code, d.message, span, d.hint) for d in self.diagnostics], source)


def refusal(code: str, message: str, hint: str | None = None) -> DataRefusal:
    """What is wrong with data: it stands in no text that could be shown."""
    return DataRefusal([Diagnostic(code, message, Span(0, 1), hint)], Source("", "data"))


def is_url(path: str) -> bool:
    """
    >>> is_url("s3://bucket/alarms"), is_url("alarms.parquet")
    (True, False)
    """
    return "://" in path


def is_elsewhere(path: str) -> bool:
    """Whether a path leads to another machine.

    >>> is_elsewhere("s3://bucket/a.csv"), is_elsewhere("file:///data/a.csv"), is_elsewhere("a.csv")
    (True, False, False)
    """
    return is_url(path) and not path.lower().startswith("file:")


def path_from(directory: Path, written: str) -> Path:
    """Where a path leads that is written in a script in a directory.

    >>> print(path_from(Path("scripts"), "a.csv"), path_from(Path("scripts"), "file:///data/a.csv"))
    scripts/a.csv /data/a.csv
    """
    scheme = _URL.match(written)
    if scheme is None:
        return directory / written
    return Path(local_path(written)) if scheme[1].lower() == "file" else Path(written)


def format_named(format: str) -> str:
    """A format by the name that Spark has for it.

    >>> format_named("`CSV`"), format_named("feather"), format_named("delta")
    ('csv', 'arrow', 'delta')
    """
    name = bare(format).lower()
    return _OTHER_NAMES.get(name, name)


def kind_of(path: Path | str, format: str | None = None) -> str:
    """The declared format, or else that of the ending of the file; "" if there is none.

    >>> kind_of("a/b.tsv"), kind_of("a/b", "Parquet"), kind_of("a/b"), kind_of("a/b.json.gz")
    ('csv', 'parquet', '', 'json')
    """
    if format:
        return format_named(format)
    return _ENDINGS.get(DataFile(Path(path), "").ending, "")


_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://?")
_PATTERN = re.compile(r"[*?\[\]{}\\]")


@dataclass(frozen=True)
class DataFile:
    """A file, its name for people, and the values of the partition that it belongs to."""

    path: Path
    name: str
    partition: tuple[tuple[str, str | None], ...] = ()

    @property
    def compression(self) -> str | None:
        return COMPRESSIONS.get(self.path.suffix.lower())

    @property
    def ending(self) -> str:
        """
        >>> DataFile(Path("a/b.csv.gz"), "b").ending, DataFile(Path("a/b"), "b").ending
        ('.csv', '')
        """
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        if suffixes and suffixes[-1] in (*COMPRESSIONS, *REFUSED_COMPRESSIONS):
            suffixes.pop()
        return suffixes[-1] if suffixes else ""

    def content(self) -> bytes:
        """What the file holds, without compression. A compression that is not read is refused."""
        self.check_compression()
        try:
            if self.compression == "gzip":
                with gzip.open(self.path) as file:
                    return file.read()
            if self.compression is not None:
                return bytes(_arrow(self).input_stream(str(self.path), compression=self.compression).read())
            return self.path.read_bytes()
        except (OSError, EOFError, zlib.error) as error:
            raise self.unreadable(error) from None

    def check_compression(self) -> None:
        """Fail if the file is compressed in a way that is not read here."""
        ending = self.path.suffix.lower()
        if ending in REFUSED_COMPRESSIONS:
            message = f"{self.name}: files of `{ending}` are not read here"
            raise refusal("NEEL5001", message, f"compressions: {', '.join(COMPRESSIONS)}")

    def unreadable(self, error: Exception) -> DataRefusal:
        """What is said if reading fails."""
        reason = getattr(error, "strerror", None) or next(iter(str(error).splitlines()), type(error).__name__)
        return refusal("NEEL5001", f"{self.name}: cannot be read: {reason}")


def _arrow(file: DataFile) -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        message = f"{file.name}: reading {file.path.suffix} requires pyarrow"
        raise refusal("NEEL5001", message, "pip install 'neelc[parquet]'") from None


def data_files(path: str, name: str | None = None) -> list[DataFile]:
    """The files of a path, in the order of their names. A path that is there is no pattern. `name` is the
    path as people have written it."""
    local, name = local_path(path, name), name or path
    roots = {local: name} if os.path.lexists(local) else {str(one): str(one) for one in matching(local)}
    if not roots:
        raise refusal("NEEL5001", f"no such file: {name}")
    found = [file for root, shown in roots.items() for file in _files(Path(root), shown)]
    if not found:
        raise refusal("NEEL5001", f"no files in {name}")
    return found


def format_of(file: DataFile, format: str | None) -> str:
    """The format of a file: what is said, or else what it is called, or how it begins; "" if none of these
    says it. Files of Arrow and ORC are recognized where nothing better than the default is said.

    >>> format_of(DataFile(Path("day=1/a.csv.gz"), "a"), None), format_of(DataFile(Path("a"), "a"), None)
    ('csv', '')
    """
    kind = kind_of(file.path, format)
    return kind if kind not in ("", "parquet") else _by_start(file) or kind


def _by_start(file: DataFile) -> str | None:
    try:
        with file.path.open("rb") as opened:
            start = opened.read(6)
    except OSError:  # whoever reads it says why
        return None
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)


def local_path(path: str, name: str | None = None) -> str:
    """A path of this machine.

    >>> local_path("file:///data/a.csv"), local_path("a b.csv")
    ('/data/a.csv', 'a b.csv')
    """
    scheme = _URL.match(path)
    if scheme is None:
        return path
    if scheme[1].lower() != "file":
        message = f"{name or path} is not on this machine"
        raise refusal("NEEL5001", message, "copy the files here, or choose the spark engine")
    return "/" + path[scheme.end() :].lstrip("/")


def _files(root: Path, name: str) -> Iterator[DataFile]:
    _check_kind(root, name)
    if not root.is_dir():
        yield DataFile(root, name)
        return
    inside = _visible(root)
    partitions = [one for one in inside if one.is_dir() and "=" in one.name]
    files = [one for one in inside if not one.is_dir()]
    base = name.rstrip("/")
    if partitions and files:
        message = f"{name} has files beside directories of partitions, such as {partitions[0].name}"
        raise refusal("NEEL5001", message)
    for one in files:
        _check_kind(one, f"{base}/{one.name}")
        yield DataFile(one, f"{base}/{one.name}")
    for directory in partitions:
        column, _, value = directory.name.partition("=")
        pair = (unquote(column), None if value == NO_VALUE else unquote(value))
        for file in _files(directory, f"{base}/{directory.name}"):
            yield DataFile(file.path, file.name, (pair, *file.partition))


def _visible(directory: Path) -> list[Path]:
    """What lies in a directory. Spark leaves _SUCCESS and checksums beside the parts."""
    return sorted(one for one in directory.iterdir() if one.name[0] != "." and not _is_hidden(one.name))


def _is_hidden(name: str) -> bool:
    return name[0] == "_" and "=" not in name


def _check_kind(path: Path, name: str) -> None:
    kind = special_kind(path)
    if kind is not None:
        raise refusal("NEEL5001", f"{name} is {kind}, not a file", "write the data to a file first")


# Patterns of names, as Hadoop has them.


def matching(pattern: str) -> Iterator[Path]:
    """The paths that a pattern of names matches."""
    for one in alternatives(pattern):
        parts = one.split("/")
        start = Path("/") if one.startswith("/") else Path()
        yield from _below(start, [part for part in parts if part])


def _below(directory: Path, parts: Sequence[str]) -> Iterator[Path]:
    if not parts:
        yield directory
        return
    first, *rest = parts
    if not _PATTERN.search(first):
        if os.path.lexists(directory / first):
            yield from _below(directory / first, rest)
        return
    if directory.is_dir():
        form = re.compile(_as_regex(first), re.DOTALL)
        for one in _visible(directory):
            if form.fullmatch(one.name):
                yield from _below(one, rest)


def alternatives(pattern: str) -> Iterator[str]:
    """
    >>> list(alternatives("a/{x,y{1,2}}.csv"))
    ['a/x.csv', 'a/y1.csv', 'a/y2.csv']
    """
    start = _unescaped(pattern, "{", 0)
    if start is None:
        yield pattern
        return
    depth, parts, begin, at = 0, [], start + 1, start
    while at < len(pattern):
        letter = pattern[at]
        if letter == "\\":
            at += 1
        elif letter == "{":
            depth += 1
        elif letter == "," and depth == 1:
            parts.append(pattern[begin:at])
            begin = at + 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                for part in (*parts, pattern[begin:at]):
                    yield from alternatives(pattern[:start] + part + pattern[at + 1 :])
                return
        at += 1
    raise refusal("NEEL5001", f"{pattern}: a brace is not closed")


def _unescaped(text: str, letter: str, start: int) -> int | None:
    found = re.compile(rf"(?:\\.|[^\\{re.escape(letter)}])*").match(text, start)
    at = found.end() if found else len(text)
    return at if at < len(text) and text[at] == letter else None


def _as_regex(part: str) -> str:
    r"""
    >>> print(_as_regex("a*[^b-c]?\\*.csv"))
    a.*[^b-c].\*\.csv
    """
    found, at = "", 0
    while at < len(part):
        letter = part[at]
        closing = part.find("]", at + 2) if letter == "[" else -1
        if letter == "\\" and at + 1 < len(part):
            found += re.escape(part[at + 1])
            at += 1
        elif closing > 0:
            inside = part[at + 1 : closing].replace("\\", "\\\\").replace("[", "\\[")
            found += "[" + (f"^{inside[1:]}" if inside[0] in "!^" else inside) + "]"
            at = closing
        else:
            found += {"*": ".*", "?": "."}.get(letter) or re.escape(letter)
        at += 1
    return found


def as_pattern(path: Path) -> str:
    """A path that stands for one file, although DuckDB takes it for a pattern of files.

    >>> as_pattern(Path("day [1].csv"))
    'day [[]1].csv'
    """
    return re.sub(r"([*?\[])", r"[\1]", str(path))


# Columns of partitions: Spark reads their types from the names of directories.


@lru_cache(maxsize=4096)
def _type_of(text: str) -> DataType:
    if re.fullmatch(r"[+-]?[0-9]{1,19}", text):
        number = int(text)
        bits = next((bits for bits in (31, 63) if -(1 << bits) <= number < 1 << bits), None)
        return {31: INT, 63: BIGINT}.get(bits or 0, STRING)
    if re.fullmatch(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][+-]?[0-9]+)?", text):
        return DOUBLE
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            datetime.date.fromisoformat(text)
            return DATE
    except ValueError:
        return STRING
    return STRING


_WIDTHS: tuple[DataType, ...] = (VOID, INT, BIGINT, DOUBLE)


def partition_types(files: Iterable[DataFile]) -> dict[str, DataType]:
    """The columns of partitions and the types that hold all of their values.

    >>> one = DataFile(Path("a"), "a", (("day", "1"), ("place", "x")))
    >>> two = DataFile(Path("b"), "b", (("day", "2.5"), ("place", None)))
    >>> {name: str(type) for name, type in partition_types([one, two]).items()}
    {'day': 'DOUBLE', 'place': 'STRING'}
    """
    types: dict[str, DataType] = {}
    names: tuple[str, ...] | None = None
    for file in files:
        own = tuple(name for name, _ in file.partition)
        if names is not None and own != names:
            raise refusal("NEEL5001", f"{file.name} has other columns of partitions than the files before")
        names = own
        for name, value in file.partition:
            found = VOID if value is None else _type_of(value)
            known = types.get(name, VOID)
            both = known in _WIDTHS and found in _WIDTHS
            common = max(known, found, key=_WIDTHS.index) if both else STRING
            types[name] = found if known in (VOID, found) else known if found == VOID else common
    return {name: STRING if type == VOID else type for name, type in types.items()}
