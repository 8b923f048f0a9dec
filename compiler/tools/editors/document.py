"""A text that is being written, and what the compiler makes of it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, cached_property
from pathlib import Path

from neelc import syntax as parse
from neelc.arguments import UserAgent, UserAggregate
from neelc.catalog.catalog import Catalog
from neelc.catalog.inputs import GivenStream, complete
from neelc.errors import NeelError
from neelc.files import CallError
from neelc.ir.names import same, written
from neelc.ir.script import (
    CreateQuery,
    CreateStream,
    RunQuery,
    Script,
    ScriptQuery,
    Statement,
    UnreadStatement,
)
from neelc.program import BindingResult, examine
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source
from neelc.syntax.following import statement_or_none
from neelc.syntax.parser import COMMENT, Lexeme, closing, lexemes, statement_lexemes

# Places as editors count them: lines from 0, and in a line units of an encoding from 0.

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class TextPositions:
    r"""The places of a text, in `units` of UTF-16 unless the editor wants others.

    >>> places = TextPositions("SELECT '\U0001f40d' AS snake\r\nFROM zoo")
    >>> places.place(10), places.place(21), places.offset(0, 11), places.offset(1, 5)
    ((0, 11), (1, 0), 10, 26)

    >>> TextPositions("'\U0001f40d'", "utf-8").place(2), TextPositions("'\U0001f40d'", "utf-32").place(2)
    ((0, 5), (0, 2))

    Beyond the end of a line or of the text is its end:

    >>> places.offset(0, 99), places.offset(7, 0)
    (19, 29)
    """

    text: str
    units: str = "utf-16"

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return (0, *(end.end() for end in _LINE_END.finditer(self.text)))

    def place(self, offset: int) -> tuple[int, int]:
        """Line and unit of a character."""
        offset = min(max(0, offset), len(self.text))
        line = bisect_right(self._starts, offset) - 1
        return line, self._count(self.text[self._starts[line] : offset])

    def offset(self, line: int, unit: int) -> int:
        """The character at a line and a unit; inside of a pair of units, the one that they stand for."""
        if line >= len(self._starts):
            return len(self.text)
        start = self._starts[line]
        end = _LINE_END.search(self.text, start)
        for at in range(start, end.start() if end else len(self.text)):
            if unit <= 0:
                return at
            unit -= self._count(self.text[at])
        return end.start() if end else len(self.text)

    def _count(self, text: str) -> int:
        if self.units == "utf-8":
            return len(text.encode(errors="surrogatepass"))
        return len(text) + (sum(one > "\uffff" for one in text) if self.units == "utf-16" else 0)


# What a script is given from outside, and what its files say of their columns.

Stamp = tuple[CreateStream, Path, int, int]


@dataclass(frozen=True)
class CallInputs:
    """The streams, arguments, aggregates and agents that a call gives. Columns that were read from a file
    are remembered in `known` until the file changes: a script is checked at every key. `untrusted`: scripts
    may name no files and no agents."""

    given: Sequence[GivenStream] = ()
    arguments: Mapping[str, object] = field(default_factory=dict)
    aggregates: Mapping[str, UserAggregate] = field(default_factory=dict)
    agents: Mapping[str, UserAgent] = field(default_factory=dict)
    untrusted: bool = False
    known: dict[Stamp, CreateStream] = field(default_factory=dict)

    def bound(self, script: Script, source: Source, directory: Path) -> BindingResult:
        """The script with its names resolved; raises `NeelError` if a file that is needed cannot be read."""
        if self.untrusted:
            from neelc.rows.bind.untrusted import refuse_files_and_agents

            refuse_files_and_agents(script, source)
        statements = tuple(self._completed(s, source, directory) for s in script.statements)
        inputs = complete(replace(script, statements=statements), source, self.given, directory)
        return examine(
            inputs.script,
            source,
            inputs.streams,
            self.arguments,
            self.aggregates,
            self.agents,
            untrusted=self.untrusted,
        )

    def _completed(self, statement: Statement, source: Source, directory: Path) -> Statement:
        if not isinstance(statement, CreateStream) or statement.columns or statement.path is None:
            return statement
        if any(same(written(one.name), statement.name) for one in self.given):
            return statement
        path = directory / statement.path
        if not path.exists():
            return statement  # the error will be reported
        state = path.stat()
        stamp = (statement, path, state.st_mtime_ns, state.st_size)
        if stamp not in self.known:
            [found] = complete(Script((statement,)), source, (), directory).script.statements
            assert isinstance(found, CreateStream)
            self.known[stamp] = found
        found = self.known[stamp]
        # The statement may have moved since: places are those of today.
        columns = tuple(replace(column, span=statement.span) for column in found.columns)
        return replace(statement, columns=columns, timestamp=statement.timestamp or found.timestamp)


def remembered(given: GivenStream) -> GivenStream:
    """The stream, whose file is read once only."""
    return replace(given, open=cache(given.open))


@dataclass(frozen=True)
class Document:
    """`name` is what diagnostics call it; paths in it are relative to `directory`. `units` are those in which
    the editor counts."""

    text: str
    name: str = "script"
    directory: Path = field(default_factory=Path)
    outside: CallInputs = field(default_factory=CallInputs)
    units: str = "utf-16"

    @cached_property
    def source(self) -> Source:
        return Source(self.text, self.name)

    @cached_property
    def places(self) -> TextPositions:
        return TextPositions(self.text, self.units)

    @cached_property
    def script(self) -> Script:
        return parse.read(self.source)

    @cached_property
    def lexemes(self) -> tuple[Lexeme, ...]:
        return lexemes(self.text)

    @cached_property
    def statements(self) -> tuple[tuple[Lexeme, ...], ...]:
        """The tokens of each statement, Spark's included."""
        return statement_lexemes(self.text)

    def statement_at(self, offset: int) -> tuple[Lexeme, ...]:
        """The tokens of the statement that is being written at a place; none where one could begin."""
        found: tuple[Lexeme, ...] = ()
        for statement in self.statements:
            if statement[0].start < offset or statement[0].start == offset < statement[-1].end:
                found = statement
        behind = (one for one in self.lexemes if found and found[-1].end <= one.start < offset)
        return () if any(one.says(";") for one in behind) else found

    def lexeme_at(self, offset: int) -> Lexeme | None:
        """The token that a cursor is in, at the beginning of, or else at the end of."""
        around = [one for one in self.lexemes if one.start <= offset <= one.end and one.kind != COMMENT]
        inside = [one for one in around if offset < one.end]
        names = [one for one in around if one.is_name]
        return next(iter([*inside, *names]), None)

    def declared_before(self, offset: int) -> Catalog:
        """What the statements before a place declare."""
        before = tuple(s for s in self.script.statements if s.span is not None and s.span.end <= offset)
        known = tuple(s for s in before if not (isinstance(s, UnreadStatement) and s.declares is None))
        try:
            return self._bound(known)
        except (NeelError, CallError):
            # A file cannot be read: the streams that do without it are known all the same.
            return self._bound(tuple(s for s in known if not isinstance(s, CreateStream) or s.columns))

    def _bound(self, statements: tuple[Statement, ...]) -> Catalog:
        script = replace(self.script, statements=statements)
        return self.outside.bound(script, self.source, self.directory).catalog


# A statement out of what has been written of it so far.

# How many tokens before the cursor may be left out.
MOST_DROPPED = 60

STAND_IN = "neelc_cursor"
"""The name of what is to come."""


def query_at(text: str, statement: Sequence[Lexeme], cursor: int) -> ScriptQuery | None:
    """The query that a statement most likely will be; None if nothing of it can be read.

    Places of what stands before the cursor are those in the text.

    >>> from neelc.syntax.parser import lexemes
    >>> text = "PATTERN SEQ(A a, B b) WHERE a. WITHIN 5 SECONDS"
    >>> print(query_at(text, lexemes(text), 30).where)
    a.neelc_cursor
    >>> text = "PATTERN SEQ(A a, !SEQ(B b, "
    >>> print(query_at(text, lexemes(text), len(text)).pattern)
    SEQ(A a, !SEQ(B b))
    """
    if not statement[0].says("PATTERN", "SELECT", "CREATE", "("):
        return None  # a query of Spark's, or nothing yet
    for candidate in _candidates(text, statement, cursor):
        query = _query(statement_or_none(candidate))
        if query is not None:
            return query
    return None


def _query(statement: Statement | None) -> ScriptQuery | None:
    return statement.query if isinstance(statement, CreateQuery | RunQuery) else None


def _candidates(text: str, statement: Sequence[Lexeme], cursor: int) -> Iterator[str]:
    """Texts that might be a statement, the likeliest first; a name stands in for what is to come."""
    start, end = statement[0].start, statement[-1].end
    head, tail = " " * start + text[start:cursor], text[cursor:end] if cursor < end else ""
    before = [lexeme for lexeme in statement if lexeme.start < cursor]
    is_in_word = bool(before) and before[-1].end > cursor
    if is_in_word:
        yield head + tail
    # A name needs a blank to be one: `B b` and `B bc` are both right, and only one of them is meant.
    closed = closing(statement)
    for middle in ("", STAND_IN, f" {STAND_IN}"):
        yield head + middle + tail
        yield head + middle + tail + closed
    for dropped in range(min(len(before), MOST_DROPPED)):
        kept = before[: len(before) - dropped]
        for middle in ("", f" {STAND_IN}"):
            yield " " * start + text[start : kept[-1].end] + middle + closing(kept)
