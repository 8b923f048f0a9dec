"""CSV files as queries of DuckDB, with the fields that the reference interpreter's reader finds in them.

DuckDB's reader differs from it in files that are out of the ordinary: it takes blanks beside quotes for
nothing, takes empty fields after the last column, and no lines that end in different ways. So the bytes of a
file are searched for signs of these first; a file that has some is matched with the grammar of what both read
alike; and what is beyond that grammar is read by the reference's reader, into memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from neelc.catalog.data_files import ENCODINGS, DataFile, as_pattern, refusal
from neelc.catalog.readers.text import CellTable, read_csv
from neelc.engines.local.tables import DataScan
from neelc.errors import NeelError
from neelc.files import CallError, decode
from neelc.ir.program import Column
from neelc.ir.types import STRING
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.duckdb.pieces import quoted, text_literal
from neelc.source import Source

MOST_IN_MEMORY = 256 * 2**20
"""Bytes of the largest file out of the ordinary that is read."""
LONGEST_LINE = 16 * 2**20
"""Bytes of a record, at most: of a quoted field with all of its lines, for example."""
SHORT_LINE = 2 * 2**20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CHUNK = 8 * 2**20
HEAD = 64 * 1024

# Options of Spark's that change nothing here, with the values that they may have; () is any.
_HARMLESS: dict[str, tuple[str, ...]] = {
    "mode": ("failfast",),
    "inferschema": (),
    "enforceschema": (),
    "multiline": (),
    "maxcolumns": (),
    "maxcharspercolumn": (),
    "columnpruning": (),
    "emptyvalue": ("",),
    "ignoreleadingwhitespace": ("false",),
    "ignoretrailingwhitespace": ("false",),
    "recursivefilelookup": ("false",),
}


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written."""

    delimiter: str = ","
    quote: str = '"'
    null: str = ""
    has_header: bool = True
    encoding: str = "utf-8"

    @property
    def options(self) -> dict[str, str]:
        """For the reference's reader."""
        header = "true" if self.has_header else "false"
        return {"delimiter": self.delimiter, "quote": self.quote, "nullValue": self.null, "header": header}


def csv_format(options: Mapping[str, str]) -> CsvFormat:
    """The format that options of Spark's describe.

    >>> csv_format({"sep": ";", "escape": '"', "mode": "FAILFAST"})
    CsvFormat(delimiter=';', quote='"', null='', has_header=True, encoding='utf-8')
    """
    given = {key.casefold(): value for key, value in options.items()}
    delimiter = given.pop("delimiter", given.pop("sep", ",")).replace("\\t", "\t")
    given.pop("sep", None)
    quote = given.pop("quote", '"')
    null = given.pop("nullvalue", "")
    has_header = given.pop("header", "true").lower() != "false"
    name = given.pop("encoding", given.pop("charset", "utf-8"))
    if name.lower() not in ENCODINGS:
        raise _refused("encoding", name, "encodings: UTF-8, ISO-8859-1")
    if given.pop("escape", quote) != quote:
        raise _refused("escape", str(options.get("escape")), "quotes inside of quotes are doubled")
    if len(quote.encode()) > 1 or quote in ("\n", "\r", " "):
        raise _refused("quote", quote, "a quote is one byte")
    if not 1 <= len(delimiter.encode()) <= 4 or set(delimiter) & {"\n", "\r", quote}:
        raise _refused("sep", delimiter, "a separator is one to four bytes")
    check_harmless(given, _HARMLESS, "csv")
    return CsvFormat(delimiter, quote, null, has_header, ENCODINGS[name.lower()])


def check_harmless(given: Mapping[str, str], harmless: Mapping[str, tuple[str, ...]], kind: str) -> None:
    """Fail for an option that is not known, or has a value that it must not have."""
    for key, value in given.items():
        if key.casefold() not in harmless:
            message = f"`{key}` is not an option of {kind} files in the local engine"
            raise refusal("NEEL5006", message, "leave it out, or choose the spark engine")
        values = harmless[key.casefold()]
        if values and value.casefold() not in values:
            raise _refused(key, value, f"it is {values[0] or 'empty'} there")


def _refused(key: str, value: str, hint: str) -> NeelError:
    return refusal("NEEL5006", f"`{key}` of csv files cannot be `{value}` in the local engine", hint)


# The query.


@dataclass(frozen=True)
class _Part:
    """A file: how many fields its records have, and where the columns stand among them. `rows` if they were
    read already."""

    file: DataFile
    width: int
    positions: tuple[int, ...]
    rows: Any = None

    @property
    def form(self) -> tuple[object, ...]:
        """Files of the same form are read by one query."""
        return self.width, self.positions, self.file.partition, self.file.compression, id(self.rows)


def csv_scan(files: Sequence[DataFile], format: CsvFormat, names: Sequence[str] | None) -> DataScan:
    """The columns of these names, as texts; all of them, if no names are given."""
    partitions = [name for name, _ in files[0].partition]
    if names is None:
        names = [*(name for name in _header(files[0], format).names if name not in partitions), *partitions]
    own = [name for name in names if name not in partitions]
    parts = [part for file in files for part in _parts(file, format, own)]
    groups: dict[object, list[_Part]] = {}
    for part in parts:
        groups.setdefault(part.form, []).append(part)
    objects: dict[str, Any] = {}
    selects = []
    for group in groups.values():
        first = group[0]
        source = _read_csv([part.file for part in group], first.width, format)
        if first.rows is not None:
            source = quoted(f"neelc_csv_{id(first.rows)}")
            objects[f"neelc_csv_{id(first.rows)}"] = first.rows
        places = dict(zip(own, first.positions, strict=True))
        selects.append(_select(names, places, dict(first.file.partition), source, first.width))
    nothing = f"SELECT {', '.join(f'CAST(NULL AS VARCHAR) AS {quoted(n)}' for n in names)} LIMIT 0"
    return DataScan(" UNION ALL ".join(selects) or nothing, dict.fromkeys(names, STRING), objects)


def _select(
    names: Sequence[str],
    places: Mapping[str, int],
    partition: Mapping[str, str | None],
    source: str,
    width: int,
) -> str:
    def text(name: str) -> str:
        if name in places:
            return f"c{places[name]}"
        value = partition[name]
        return "CAST(NULL AS VARCHAR)" if value is None else text_literal(value)

    items = ", ".join(f"{text(name)} AS {quoted(name)}" for name in names)
    # A line that has nothing, or only what stands for NULL, is no record.
    return f"SELECT {items or 'NULL'} FROM {source}" + (" WHERE c0 IS NOT NULL" if width == 1 else "")


def _read_csv(files: Sequence[DataFile], width: int, format: CsvFormat) -> str:
    largest = max(file.path.stat().st_size for file in files)
    is_long = largest > SHORT_LINE or files[0].compression is not None
    longest = LONGEST_LINE if is_long else SHORT_LINE
    paths = ", ".join(text_literal(as_pattern(file.path)) for file in files)
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(width))
    settings = {
        "auto_detect": "false",
        "header": "true" if format.has_header else "false",
        "columns": f"{{{columns}}}",
        "delim": text_literal(format.delimiter),
        "quote": text_literal(format.quote),
        "escape": text_literal(format.quote),
        "nullstr": text_literal(format.null),
        "allow_quoted_nulls": "false",
        "strict_mode": "true",
        "null_padding": "false",
        "compression": text_literal(files[0].compression or "none"),
        "encoding": text_literal(format.encoding),
        "max_line_size": str(longest),
        "buffer_size": str(2 * longest),
    }
    return f"read_csv([{paths}], {', '.join(f'{key} = {value}' for key, value in settings.items())})"


# Each file: its header, and whether DuckDB reads it as the reference does.


def _parts(file: DataFile, format: CsvFormat, names: Sequence[str]) -> Iterator[_Part]:
    table = _header(file, format)
    if not table.names:
        return  # without a header, an empty file has no rows
    width = len(table.names)
    try:
        positions = _positions(table, names)
    except NeelError:
        # Records that are wrong are reported before columns that are not there.
        if file.path.stat().st_size <= MOST_IN_MEMORY:
            read_csv(whole_source(file, format), format.options)
        raise
    if is_ordinary(lambda: chunks_of(file), format, width):
        yield _Part(file, width, positions)
        return
    table = read_csv(whole_source(file, format), format.options)
    cells = [[record[place].text for record in table.records] for place in range(width)]
    arrays = {f"c{place}": pa.array(texts, pa.string()) for place, texts in enumerate(cells)}
    yield _Part(file, width, positions, pa.table(arrays))


def _positions(table: CellTable, names: Sequence[str]) -> tuple[int, ...]:
    found = table.positions([Column(name, STRING) for name in names])
    return tuple(place for place in found if place is not None)


def _header(file: DataFile, format: CsvFormat) -> CellTable:
    """The first record of a file as a table: the names, or a row where there are none."""
    head = b""
    for chunk in chunks_of(file, HEAD):
        head += chunk
        lines = list(re.finditer(rb"\r\n|\n|\r(?=[^\n])", head))
        for line in lines[:100]:
            try:
                found = read_csv(_decoded(head[: line.end()], file, format), format.options)
            except NeelError:
                continue  # a quote is closed on another line
            if found.names:
                return found
        if len(head) > LONGEST_LINE:
            break
    # The whole file is shorter than that, or wrong.
    return read_csv(_decoded(head, file, format), format.options)


def _decoded(content: bytes, file: DataFile, format: CsvFormat) -> Source:
    if format.encoding != "utf-8":
        return Source(content.decode(format.encoding), file.name)
    try:
        return Source(decode(content, file.name), file.name)
    except CallError as error:
        raise refusal("NEEL5001", str(error)) from None


def whole_source(file: DataFile, format: CsvFormat) -> Source:
    content = bytearray()
    for chunk in chunks_of(file):
        content += chunk
        if len(content) > MOST_IN_MEMORY:
            message = f"{file.name}: lines end in different ways, or there are spaces next to quotes"
            limit = f"{MOST_IN_MEMORY // 2**20} MB"
            raise refusal("NEEL5004", f"{message}; such a file is read up to {limit}")
    return _decoded(bytes(content), file, format)


def chunks_of(file: DataFile, size: int = CHUNK) -> Iterator[bytes]:
    """The bytes of a file, without compression."""
    try:
        with pa.input_stream(str(file.path), compression=file.compression) as stream:
            while chunk := stream.read(size):
                yield chunk
    except (OSError, pa.ArrowException) as error:
        raise file.unreadable(error) from None


def is_ordinary(content: Callable[[], Iterable[bytes]], format: CsvFormat, width: int) -> bool:
    r"""Whether DuckDB finds the same records in a file as the reference: all of `width` fields.

    >>> files = b"a,b\n1,\n", b"a,b\r\n1,x\r\n", b"a,b\n1,,\n", b'a,b\n1, "x"\n', b"a,b\n1,x\r\n"
    >>> [is_ordinary(lambda: [text], CsvFormat(), 2) for text in files]
    [True, True, False, False, False]
    """
    first = next(iter(content()), b"").removeprefix(BYTE_ORDER_MARK)
    if first[:1] in (b"\r", b"\n"):  # the header is not on the first line
        return False
    if not _has_signs(content(), format):
        return True
    # DuckDB takes the first line break for what ends a line. So it must not be inside of quotes. (Given
    # new_line together with strict_mode, DuckDB 2.0 loses rows of files with line breaks of Windows.)
    line = re.match(rb"[^\r\n]*+", first)
    if format.quote and line and line[0].count(format.quote.encode()) % 2:
        return False
    return _has_only(record_form(_first_end(content()), format, width), content())


def _first_end(chunks: Iterable[bytes]) -> bytes:
    r"""
    >>> _first_end([b"a,b", b"\r", b"\n1\n"]), _first_end([b"a"])
    (b'\r\n', b'\n')
    """
    is_open = False
    for chunk in chunks:
        if is_open:
            return b"\r\n" if chunk[:1] == b"\n" else b"\r"
        found = re.search(rb"\r\n|\n|\r", chunk)
        is_open = found is not None and found[0] == b"\r" and found.end() == len(chunk)
        if found and not is_open:
            return found[0]
    return b"\r" if is_open else b"\n"


def _has_signs(chunks: Iterable[bytes], format: CsvFormat) -> bool:
    """Whether there is any sign of what DuckDB might read in another way."""
    if format.null:  # a line without anything is a record then, and one that has only that is none
        return True
    delimiter, quote = format.delimiter.encode(), format.quote.encode()
    signs = [delimiter + b"\n", delimiter + b"\r"]
    signs += [b" " + quote, quote + b" "] if quote else []
    before, returns, feeds, both = b"", 0, 0, 0
    for chunk in chunks:
        seam = before[-8:] + chunk[:8]
        if any(sign in chunk or sign in seam for sign in signs):
            return True
        returns += chunk.count(b"\r")
        if returns:
            both += chunk.count(b"\r\n") + (before[-1:] == b"\r" and chunk[:1] == b"\n")
        feeds += chunk.count(b"\n")
        before = chunk
    return before.endswith(delimiter) or (returns > 0 and feeds > 0 and not returns == feeds == both)


@dataclass(frozen=True)
class RecordForm:
    """A record that DuckDB reads as the reference does, what ends it, and whether a line may be empty."""

    record: bytes
    end: bytes
    may_be_empty: bool


def record_form(end: bytes, format: CsvFormat, width: int) -> RecordForm:
    """The form of records that end so. Quotes are around a field, or there are none."""
    delimiter, mark = re.escape(format.delimiter.encode()), re.escape(format.quote.encode())
    if len(format.delimiter.encode()) == 1:
        field = rb"[^%b%b\r\n]*+" % (mark, delimiter)
    else:
        field = rb"(?:(?!%b)[^%b\r\n])*+" % (delimiter, mark)
    if mark:
        field = rb"(?:%b[^%b]*+(?:%b%b[^%b]*+)*+%b|%b)" % (mark, mark, mark, mark, mark, mark, field)
    null = re.escape(format.null.encode())
    guard = rb"(?!(?:%b)?(?:\r|\n|\Z))" % null if null else b""
    return RecordForm(guard + delimiter.join([field] * width), end, not null)


def _has_only(form: RecordForm, chunks: Iterable[bytes]) -> bool:
    """Whether a file has only such records."""
    empty = b"|" + form.end if form.may_be_empty else b""
    records = re.compile(rb"(?:%b%b%b)*+" % (form.record, form.end, empty))
    rest, is_first = b"", True
    for chunk in chunks:
        rest += chunk.removeprefix(BYTE_ORDER_MARK) if is_first else chunk
        is_first = False
        found = records.match(rest)
        rest = rest[found.end() :] if found else rest
        if len(rest) > LONGEST_LINE:
            return False
    return not rest or re.fullmatch(form.record, rest) is not None
