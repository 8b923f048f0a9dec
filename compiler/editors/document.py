"""A text that is being written, and what the compiler makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from neelc import parse
from neelc.bind.catalog import Catalog
from neelc.editors.outside import Outside
from neelc.editors.places import Places
from neelc.errors import NeelError
from neelc.files import CallError
from neelc.host.script import HostScript, host_script
from neelc.ir.script import CreateStream, Script, Statement, Unread
from neelc.parse.lexemes import COMMENT, Lexeme, lexemes, statement_lexemes
from neelc.source import Source


@dataclass(frozen=True)
class Document:
    """`name` is what diagnostics call it; paths in it are relative to `directory`. `units` are those in which
    the editor counts."""

    text: str
    name: str = "script"
    directory: Path = field(default_factory=Path)
    outside: Outside = field(default_factory=Outside)
    units: str = "utf-16"

    @cached_property
    def source(self) -> Source:
        return Source(self.text, self.name)

    @cached_property
    def places(self) -> Places:
        return Places(self.text, self.units)

    @cached_property
    def hosts(self) -> HostScript | None:
        """The queries that are Spark's own around MATCH_RECOGNIZE, if there are some."""
        return host_script(self.source)

    @cached_property
    def own(self) -> Source:
        """The text with blanks where those stand."""
        return self.source if self.hosts is None else self.hosts.own

    @cached_property
    def script(self) -> Script:
        return parse.read(self.own)

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
        known = tuple(s for s in before if not (isinstance(s, Unread) and s.declares is None))
        try:
            return self._bound(known)
        except (NeelError, CallError):
            # A file cannot be read: the streams that do without it are known all the same.
            return self._bound(tuple(s for s in known if not isinstance(s, CreateStream) or s.columns))

    def _bound(self, statements: tuple[Statement, ...]) -> Catalog:
        script = replace(self.script, statements=statements)
        return self.outside.bound(script, self.own, self.directory).catalog
