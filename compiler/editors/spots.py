"""The names that can stand at a place of a document, and the way to what a name there belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from neelc.bind.catalog import Catalog
from neelc.editors.document import Document
from neelc.editors.known import Known
from neelc.editors.pattern_names import pattern_names
from neelc.editors.recovery import STAND_IN, query_at
from neelc.editors.select_names import mentioned, select_names
from neelc.ir.script import PatternQuery, Query
from neelc.parse.lexemes import Lexeme


@dataclass(frozen=True)
class Spot:
    """A place of a document: the cursor is behind what is being asked about."""

    document: Document
    cursor: int

    @cached_property
    def statement(self) -> tuple[Lexeme, ...]:
        return self.document.statement_at(self.cursor)

    @cached_property
    def start(self) -> int:
        """Where the statement begins."""
        return self.statement[0].start if self.statement else self.cursor

    @cached_property
    def end(self) -> int:
        """Where it ends."""
        return self.statement[-1].end if self.statement else self.cursor

    @cached_property
    def catalog(self) -> Catalog:
        return self.document.declared_before(self.start)

    @cached_property
    def query(self) -> Query | None:
        return query_at(self.document.text, self.statement, self.cursor) if self.statement else None

    @cached_property
    def names(self) -> tuple[Known, ...]:
        """Variables and sources that can be named here."""
        return tuple(one for one in self._names() if one.name != STAND_IN)

    def _names(self) -> tuple[Known, ...]:
        if isinstance(self.query, PatternQuery):
            return pattern_names(self.query, self.catalog, self.document.text, self.cursor)
        if self.query is not None:
            return select_names(self.query, self.catalog, self.document.text)
        return mentioned(self.statement, self.catalog)


def chain_before(lexemes: Sequence[Lexeme], dot: int) -> list[str]:
    """The names before a dot: for `k[i].b.x`, at the last dot, `k` and `b`.

    >>> from neelc.parse.lexemes import lexemes
    >>> chain_before(lexemes("a = k[i-1].b.x"), 10)
    ['k', 'b']
    """
    found: list[str] = []
    at = dot
    while at > 0 and lexemes[at].says("."):
        at -= 1
        depth = 0
        while at > 0 and (lexemes[at].says("]") or depth > 0):
            depth += lexemes[at].says("]") - lexemes[at].says("[")
            at -= 1
        if not lexemes[at].is_name:
            return []
        found.append(lexemes[at].text)
        at -= 1
    return found[::-1]
