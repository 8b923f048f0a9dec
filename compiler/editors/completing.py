"""What could be written at a place: words by the grammar, names by what they would mean there."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.editors.document import Document
from neelc.editors.keyword_help import keyword_help
from neelc.editors.offers import OFFERS, Offer, parameters
from neelc.editors.spots import Spot
from neelc.parse.following import Following, following
from neelc.parse.lexemes import COMMENT, STRAY, STRING, WORD, Lexeme

# Clauses that can be understood without what stands before them.
_CLAUSES = {
    "PATTERN": ("FROM", "WHERE", "PARTITION", "WITHIN", "USING", "WITH", "RETURN"),
    "SELECT": ("MATCH_RECOGNIZE", "WHERE", "GROUP", "HAVING", "ORDER"),
}
_BEGINNINGS = {"PATTERN": "PATTERN x ", "SELECT": "SELECT x FROM x "}


def complete(document: Document, cursor: int) -> tuple[Offer, ...]:
    """All that could stand at the cursor, in place of the word that ends there; names before words.

    >>> [offer.label for offer in complete(Document("CREATE "), 7)]
    ['QUERY', 'RELATION', 'STREAM', 'TYPE']
    >>> [offer.label for offer in complete(Document("PATTERN A a USING ST"), 20)][:2]
    ['SKIP TILL ANY MATCH', 'SKIP TILL NEXT MATCH']
    """
    if _is_text(document, cursor):
        return ()
    spot = Spot(document, cursor)
    before = _before(spot.statement, cursor)
    start = before[-1].end if before else spot.start
    waiting = _waiting(document.text, spot.start, start, before)
    if before and before[-1].says(":") and not waiting.words and "primary" in waiting.names:
        return tuple(parameters(spot, before))
    offers = [offer for rule in sorted(waiting.names) for offer in OFFERS.get(rule, _nothing)(spot, before)]
    offers += [Offer(word, "keyword", "", keyword_help(word) or "") for word in waiting.words]
    return tuple({offer.label: offer for offer in reversed(offers)}.values())[::-1]


def _nothing(spot: Spot, before: list[Lexeme]) -> Iterator[Offer]:
    yield from ()


def _is_text(document: Document, cursor: int) -> bool:
    """Whether the cursor is inside of a comment or a string, or at the end of one that is not closed."""
    for one in document.lexemes:
        is_open = one.kind == STRAY or (one.kind == COMMENT and one.text.startswith("--"))
        if one.kind in (COMMENT, STRING, STRAY) and one.start < cursor < one.end + is_open:
            return True
    return False


def _before(statement: tuple[Lexeme, ...], cursor: int) -> list[Lexeme]:
    """The tokens before the cursor, without the word that it ends or stands in."""
    found = [one for one in statement if one.start < cursor]
    if found and found[-1].end >= cursor and (found[-1].is_name or found[-1].kind == WORD):
        found.pop()
    return found


def _waiting(text: str, start: int, end: int, before: list[Lexeme]) -> Following:
    """What the grammar waits for; if it understands nothing, what it would in the last clause alone."""
    waiting = following(text[start:end])
    if waiting != Following() or not before:
        return waiting
    kind = "SELECT" if any(one.says("SELECT") for one in before) else "PATTERN"
    for lexeme in reversed(before):
        if lexeme.says(*_CLAUSES[kind]):
            waiting = following(_BEGINNINGS[kind] + text[lexeme.start : end])
            if waiting != Following():
                return waiting
    return waiting
