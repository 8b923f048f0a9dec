"""The format of case files.

    # A run of B is as long as it can be.
    # Why: greedy is the documented default.
    events trades
    t   sym  price
    1   A    10

    query
    PATTERN SEQ(A a, B+ b[], C c) WITHIN 10 SECONDS

    args  w=10 SECONDS
    fires   push_type_filter_into_scan
    matches
    a  last_b  c
    1  3       4

Sections begin with their word in the first column; `matches none` says that there are none, and `error`
holds the full text of the diagnostics. `warnings` holds the full text of all warnings, `warnings none` says
that there are none; without it they are not looked at. `timezone Europe/Berlin` says in which time zone the
case runs, else it is UTC. `fires` and `silent` name rewriting rules that must,
or must not, be used when the query is rewritten. `aggregates` and `agents` are Python source: functions that
are decorated there with `aggregate` or `agent` can be called in the query. `untrusted` says that the query is
not trusted: it may only read the events of the case, and no Python is run.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from neelc import syntax
from neelc.arguments import UserAgent, UserAggregate, argument, defined_in, line_of_source
from neelc.catalog.inputs import UNITS, GivenStream, is_quoted, split, unit_of
from neelc.catalog.inputs import parse as parse_cell
from neelc.catalog.readers.text import Cell, CellTable, Table, position
from neelc.errors import NeelError
from neelc.files import decode, read_bytes
from neelc.ir.expressions import Cast
from neelc.ir.names import find, written
from neelc.ir.script import CreateQuery, CreateStream, HostSelect, RunQuery, Script
from neelc.ir.types import DataType
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.times import session_zone, zone_of
from neelc.source import Source
from neelc.syntax.host import mentions

# What is wrong with a case file itself, not with what it tests.


class CaseError(Exception):
    """A malformed case file: `file:line: sentence`."""

    def __init__(self, path: Path, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")


# The `events` section of a case: a stream written as a table.
#
# events NAME [timestamp COL] [then_by COL,COL] [end COL] [latest COL] [type COL|none] [unit UNIT]
#
# If the query has no CREATE STREAM of that name, the first column is the timestamp and the next one that
# has no other role is the type column, unless the options say otherwise.

OPTIONS = ("timestamp", "then_by", "end", "latest", "type", "unit")


@dataclass(frozen=True)
class CaseStream:
    """A stream of a case."""

    name: str
    options: dict[str, str]
    table: CellTable
    line: int

    def given(self, script: Script, backwards: bool = False) -> GivenStream:
        """The stream as the binder is given it; the order of its rows must not matter."""
        declared = [s.name for s in script.statements if isinstance(s, CreateStream)]
        is_declared = find(written(self.name), declared) is not None
        # Spark's own SQL needs no times: no column is taken for one unless somebody says so.
        hosts = (s.query for s in script.statements if isinstance(s, CreateQuery | RunQuery))
        is_plain = any(isinstance(query, HostSelect) and mentions(query, self.name) for query in hosts)
        options = self.options if is_declared or is_plain else self._with_defaults()
        kind = options.get("type")
        return GivenStream(
            self.name,
            lambda schema_only: [_reversed(self.table) if backwards else self.table],
            timestamp=options.get("timestamp"),
            latest=options.get("latest"),
            end=options.get("end"),
            type_by=None if kind == "none" else kind,
            unit=options.get("unit"),
            then_by=_listed(options),
        )

    def _with_defaults(self) -> dict[str, str]:
        names = list(self.table.names)
        options = {"timestamp": names[0], **self.options}
        roles = [options[role] for role in ("timestamp", "end", "latest") if role in options]
        used = [position(name, names) for name in (*roles, *_listed(options))]
        free = [name for at, name in enumerate(names) if at not in used]
        return {"type": free[0] if free else "none", **options}


def _listed(options: Mapping[str, str]) -> tuple[str, ...]:
    """The columns of THEN BY."""
    return tuple(name for name in options.get("then_by", "").split(",") if name)


def _reversed(table: CellTable) -> Table:
    return CellTable(table.source, table.names, table.records[::-1], table.convert, declared=table.declared)


def events_of(head: str, body: Sequence[str], line: int, path: Path) -> CaseStream:
    """The stream of a section."""
    _, name, *words = head.split()
    options = dict(zip(words[::2], words[1::2], strict=False))
    for word in words[::2]:
        if word not in OPTIONS or len(words) % 2:
            message = f"expected `events NAME` and options: {', '.join(OPTIONS)}, each with a word after it"
            raise CaseError(path, line, message)
    if "unit" in options:
        unit = unit_of(options["unit"])
        if unit is None:
            raise CaseError(path, line, f"`{options['unit']}` is not a unit; units: {', '.join(UNITS)}")
        options["unit"] = unit
    table = _table(name, body, line, path)
    roles = ("timestamp", "end", "latest", "type")
    for column in (*(options.get(role, "none") for role in roles), *_listed(options)):
        if column != "none" and position(column, table.names) is None:
            raise CaseError(path, line, f"no column `{column}`; columns: {', '.join(table.names)}")
    return CaseStream(name, options, table, line)


@dataclass
class _Lines:
    """The text that diagnostics about values point into: the table's lines, header first."""

    text: str = ""
    rows: list[tuple[int, list[Cell]]] = field(default_factory=list)

    def add(self, line: str, number: int) -> None:
        start = len(self.text)
        self.rows.append((number, [_cell(text, start + at) for at, text in split(line)]))
        self.text += line + "\n"


def _cell(text: str, start: int) -> Cell:
    return Cell(None if text == "null" else text, start, start + len(text), is_quoted(text))


def _table(name: str, body: Sequence[str], line: int, path: Path) -> CellTable:
    lines = _Lines()
    for number, text in enumerate(body, line + 1):
        if text.strip() and not text.startswith("#"):
            lines.add(text.rstrip(), number)
    if not lines.rows:
        raise CaseError(path, line, "the section has no header row: the names of the columns")
    (header_line, header), *rows = lines.rows
    names, declared = [], {}
    for cell in header:
        column, colon, kind = (cell.text or "null").partition(":")
        names.append(column)
        if colon:
            declared[column] = _type(kind, header_line, path)
    for number, cells in rows:
        if len(cells) != len(names):
            raise CaseError(path, number, f"cells in this row: {len(cells)}, in the header: {len(names)}")
    source = Source(lines.text, f"events {name}")
    return CellTable(source, names, [cells for _, cells in rows], parse_cell, declared=declared)


def _type(text: str, line: int, path: Path) -> DataType:
    try:
        found = syntax.expression(f"CAST(x AS {text})")
    except NeelError:
        found = None
    if not isinstance(found, Cast):
        raise CaseError(path, line, f"`{text}` is not a type")
    return found.type


# The whole line, so that a line of a query or of a table is not taken for a section.
SECTIONS = {
    "events": re.compile(r"events\s+\S.*"),
    "aggregates": re.compile(r"aggregates"),
    "agents": re.compile(r"agents"),
    "query": re.compile(r"query"),
    "untrusted": re.compile(r"untrusted"),
    "args": re.compile(r"args\s+\w+\s*=.*"),
    "timezone": re.compile(r"timezone\s+\S+"),
    "fires": re.compile(r"fires\s+\w+.*"),
    "silent": re.compile(r"silent\s+\w+.*"),
    "matches": re.compile(r"matches(\s+none)?"),
    "error": re.compile(r"error"),
    "warnings": re.compile(r"warnings(\s+none)?"),
}


@dataclass(frozen=True)
class Section:
    """A line that begins a section and the lines after it; `line` is its number, from 1."""

    word: str
    head: str
    body: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class ExpectedRows:
    """The rows expected, as cells of text. Without a header there are none."""

    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class CaseFile:
    """One case file. `expected` is matches, the text of errors, or None when the file does not say yet;
    `fires` and `silent` are names of rules, each with the line it stands in; `warnings` is the text of all
    warnings, None when the file does not say."""

    path: Path
    title: str
    events: tuple[CaseStream, ...]
    query: Source
    arguments: Mapping[str, object]
    expected: ExpectedRows | str | None
    sections: tuple[Section, ...]
    text: str
    fires: tuple[tuple[str, int], ...] = ()
    silent: tuple[tuple[str, int], ...] = ()
    warnings: str | None = None
    aggregates: Mapping[str, UserAggregate] = field(default_factory=dict)
    agents: Mapping[str, UserAgent] = field(default_factory=dict)
    untrusted: bool = False
    timezone: str | None = None

    @property
    def zone(self) -> str | datetime.tzinfo:
        """The time zone that the case runs in: its own, else that which is in effect."""
        return self.timezone or session_zone()

    def line_of(self, word: str) -> int:
        """The number of the line where a section begins."""
        return next((section.line for section in self.sections if section.word == word), 1)


def load(path: Path | str, untrusted: bool = False) -> CaseFile:
    """The case in a file; `CaseError` with file and line when the file is malformed."""
    path = Path(path)
    return parse(decode(read_bytes(path, str(path)), str(path)), path, untrusted)


def parse(text: str, path: Path, untrusted: bool = False) -> CaseFile:
    r"""The case of a text. If it is `untrusted`, its Python is not run.

    >>> case = parse("# Why\nquery\nPATTERN A a\n\nmatches\na\n1\n", Path("x.case"))
    >>> case.query.text, case.expected
    ('PATTERN A a', ExpectedRows(header=('a',), rows=(('1',),)))
    """
    text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    sections = tuple(_sections(lines, path))
    comments = [line.lstrip("# ") for line in lines if line.startswith("#")]
    events = tuple(events_of(s.head, s.body, s.line, path) for s in _all("events", sections))
    queries = _all("query", sections)
    if len(queries) != 1:
        line = queries[1].line if queries else 1
        raise CaseError(path, line, f"a case has one `query` section; here are {len(queries)}")
    names = [event.name.casefold() for event in events]
    for index, event in enumerate(events):
        if event.name.casefold() in names[:index]:
            raise CaseError(path, event.line, f"a second `events {event.name}`")
    untrusted = untrusted or bool(_all("untrusted", sections))
    code = _all("aggregates", sections) + _all("agents", sections)
    if untrusted and code:
        raise CaseError(
            path, code[0].line, f"{code[0].word} are Python, which is not run: the case is not trusted"
        )
    aggregates, agents = _defined(code, path)
    return CaseFile(
        path,
        comments[0] if comments else "",
        events,
        Source("\n".join(_trimmed(queries[0].body))),
        _arguments(_all("args", sections), path),
        _expected(sections, path),
        sections,
        text,
        fires=tuple(_words(_all("fires", sections))),
        silent=tuple(_words(_all("silent", sections))),
        warnings=_warnings(_all("warnings", sections), path),
        aggregates=aggregates,
        agents=agents,
        untrusted=untrusted,
        timezone=_timezone(_all("timezone", sections), path),
    )


def _sections(lines: Sequence[str], path: Path) -> Iterator[Section]:
    starts = [(number, word) for number, line in enumerate(lines) if (word := section_word(line))]
    first = starts[0][0] if starts else len(lines)
    for number, line in enumerate(lines[:first]):
        if line.strip() and not line.startswith("#"):
            message = f"expected a comment or a section ({', '.join(SECTIONS)}), found `{line}`"
            raise CaseError(path, number + 1, message)
    ends = [*(number for number, _ in starts[1:]), len(lines)]
    for (number, word), end in zip(starts, ends, strict=False):
        yield Section(word, lines[number].rstrip(), tuple(lines[number + 1 : end]), number + 1)


def section_word(line: str) -> str | None:
    """The section that the line begins, or None.

    >>> section_word("events trades unit s"), section_word("error[NEEL1]: no"), section_word("matches none")
    ('events', None, 'matches')
    """
    return next((word for word, form in SECTIONS.items() if form.fullmatch(line.rstrip())), None)


def _all(word: str, sections: Sequence[Section]) -> list[Section]:
    return [section for section in sections if section.word == word]


def _trimmed(lines: Sequence[str]) -> list[str]:
    """Without empty lines at the end."""
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return [line.rstrip() for line in lines[:end]]


def _arguments(sections: Sequence[Section], path: Path) -> dict[str, object]:
    given: dict[str, object] = {}
    for section in sections:
        for number, line in enumerate([section.head.removeprefix("args"), *section.body], section.line):
            if line.strip():
                try:
                    name, value = argument(line.strip())
                except ValueError as error:
                    raise CaseError(path, number, str(error)) from None
                given[name] = value
    return given


def _defined(
    sections: Sequence[Section], path: Path
) -> tuple[dict[str, UserAggregate], dict[str, UserAgent]]:
    aggregates: dict[str, UserAggregate] = {}
    agents: dict[str, UserAgent] = {}
    for section in sections:
        # Lines before the section, so that messages of Python's have the numbers of the file.
        text = "\n" * section.line + "\n".join(section.body)
        try:
            more = defined_in(text, str(path))
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise CaseError(path, line_of_source(error, str(path)) or section.line, message) from None
        aggregates |= more[0]
        agents |= more[1]
    return aggregates, agents


def _words(sections: Sequence[Section]) -> Iterator[tuple[str, int]]:
    """The names in a section, from its first line on, and the line of each."""
    for section in sections:
        first = section.head.removeprefix(section.word)
        for number, line in enumerate([first, *section.body], section.line):
            yield from ((word, number) for word in line.partition("#")[0].split())


def _expected(sections: Sequence[Section], path: Path) -> ExpectedRows | str | None:
    found = [section for section in sections if section.word in ("matches", "error")]
    if len(found) > 1:
        raise CaseError(path, found[1].line, "a case has one `matches` or one `error` section, not both")
    if not found:
        return None
    section = found[0]
    body = _trimmed(section.body)
    if section.word == "error":
        return "\n".join(body) if body else None
    if section.head.endswith("none"):
        if body:
            raise CaseError(path, section.line + 1, "`matches none` is followed by rows")
        return ExpectedRows()
    return _matches(body, section, path)


def _warnings(sections: Sequence[Section], path: Path) -> str | None:
    if not sections:
        return None
    if len(sections) > 1:
        raise CaseError(path, sections[1].line, "a case has one `warnings` section")
    section = sections[0]
    body = _trimmed(section.body)
    if body and section.head.endswith("none"):
        raise CaseError(path, section.line + 1, "`warnings none` is followed by text")
    return "\n".join(body)


def _timezone(sections: Sequence[Section], path: Path) -> str | None:
    if not sections:
        return None
    *_, last = sections
    if len(sections) > 1:
        raise CaseError(path, last.line, "a case has one `timezone` section")
    name = last.head.removeprefix("timezone").strip()
    try:
        zone_of(name)
    except ValueError:
        raise CaseError(path, last.line, f"no time zone is called {name}") from None
    return name


def _matches(body: Sequence[str], section: Section, path: Path) -> ExpectedRows | None:
    rows = [(section.line + at, tuple(cell for _, cell in split(line))) for at, line in enumerate(body, 1)]
    rows = [(number, cells) for number, cells in rows if cells]
    if not rows:
        return None
    _, header = rows[0]
    for number, cells in rows[1:]:
        if len(cells) != len(header):
            raise CaseError(path, number, f"cells in this row: {len(cells)}, in the header: {len(header)}")
    return ExpectedRows(header, tuple(cells for _, cells in rows[1:]))
