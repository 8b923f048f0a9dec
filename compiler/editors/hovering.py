"""What a word means where it stands."""

from __future__ import annotations

from dataclasses import dataclass

from neelc.editors.descriptions import of_attribute, of_columns, of_function, of_shared, of_type, of_variable
from neelc.editors.document import Document
from neelc.editors.keyword_help import keyword_help
from neelc.editors.known import Known, followed, known_by
from neelc.editors.spots import Spot, chain_before
from neelc.ir.logical import Column
from neelc.ir.names import find
from neelc.ir.script import CreateStream
from neelc.parse.following import Following, following
from neelc.parse.lexemes import SOFT, WORD, Lexeme
from neelc.source import Span

# Rules of the grammar that wait for the name of a type, a stream or a query.
_OF_TYPES = frozenset(
    ("patternAtom", "createType", "createStream", "createQuery", "statement", "fromSource", "patternClause")
)


@dataclass(frozen=True)
class Hover:
    """A text in Markdown about the word at `span`."""

    text: str
    span: Span


def hover(document: Document, cursor: int) -> Hover | None:
    """What is known about the word at the cursor.

    >>> print(hover(Document("PATTERN SEQ(A a, B b)"), 10).text)
    **SEQ**: `SEQ(A a, B b)`: one after the other, each ending before the next one starts
    """
    lexeme = document.lexeme_at(cursor)
    if lexeme is None or not (lexeme.is_name or lexeme.kind == WORD):
        return None
    spot = Spot(document, lexeme.end)
    text = _word(spot, lexeme)
    return None if text is None else Hover(text, lexeme.span)


def _word(spot: Spot, lexeme: Lexeme) -> str | None:
    if lexeme.kind == WORD:
        return _keyword(lexeme)
    at = next((i for i, one in enumerate(spot.statement) if one.start == lexeme.start), 0)
    if at > 0 and spot.statement[at - 1].says("."):
        chain = chain_before(spot.statement, at - 1)
        return _behind_dot(chain, lexeme, spot) if chain else None
    follows = spot.statement[at + 1].text if at + 1 < len(spot.statement) else ""
    waiting = following(spot.document.text[spot.start : lexeme.start])
    if lexeme.kind == SOFT and lexeme.text.upper() in waiting.words and not waiting.names:
        return _keyword(lexeme)
    return _name(spot, lexeme, follows, waiting) or (_keyword(lexeme) if lexeme.kind == SOFT else None)


def _name(spot: Spot, lexeme: Lexeme, follows: str, waiting: Following) -> str | None:
    """A name that stands alone, or before a dot or a parenthesis."""
    if follows == "(" and (described := of_function(lexeme.text)) is not None:
        return described
    declared = spot.document.declared_before(spot.end)
    # FROM waits for a stream, but PARTITION BY for an attribute: there no value of a type column is meant.
    is_type = waiting.names & _OF_TYPES - {"patternClause"} or declared.kind_of(lexeme.text) is not None
    if waiting.names & _OF_TYPES and is_type and follows not in (".", "["):
        described = of_type(lexeme.text, declared)
        if described is not None:
            return described
    found = known_by(lexeme.text, spot.names)
    if found is not None:
        return of_variable(found)
    return _declared_column(spot, lexeme) or of_shared(lexeme.text, spot.names)


def _declared_column(spot: Spot, lexeme: Lexeme) -> str | None:
    """A column in the statement that declares it."""
    for statement in spot.document.script.statements:
        if isinstance(statement, CreateStream) and statement.span and statement.span.start == spot.start:
            name = find(lexeme.text, [column.name for column in statement.columns])
            found = [Column(column.name, column.type) for column in statement.columns if column.name == name]
            return of_columns(found) or None
    return None


def _behind_dot(chain: list[str], lexeme: Lexeme, spot: Spot) -> str | None:
    match followed([*chain, lexeme.text], spot.names):
        case Known() as variable:
            return of_variable(variable)
        case Column() as column:
            return of_attribute(column, ".".join(chain))
    return None


def _keyword(lexeme: Lexeme) -> str | None:
    help_line = keyword_help(lexeme.text)
    return None if help_line is None else f"**{lexeme.text.upper()}**: {help_line}"
