"""How the fixed tokens of Neel.g4 are written: words and marks."""

from __future__ import annotations

import pkgutil
import re
from functools import cache

# A rule of the lexer that is nothing but texts: RLIKE : 'RLIKE' | 'REGEXP' ;
_FIXED = re.compile(r"^([A-Z_]+) : ('(?:\\.|[^'\\])+'(?: \| '(?:\\.|[^'\\])+')*) ;$", re.MULTILINE)
_TEXT = re.compile(r"'((?:\\.|[^'\\])+)'")
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})")


@cache
def grammar_text() -> str:
    """Neel.g4."""
    found = pkgutil.get_data("neelc.grammar", "Neel.g4")  # importlib.resources takes longer to load
    assert found is not None
    return found.decode()


@cache
def spellings() -> dict[str, tuple[str, ...]]:
    """Each fixed token with the ways to write it, the usual one first.

    >>> spellings()["RLIKE"], spellings()["SKIPPING"], spellings()["NE"], spellings()["EXISTS"]
    (('RLIKE', 'REGEXP'), ('SKIP',), ('<>', '!='), ('EXISTS', '∃'))
    """
    return {
        name: tuple(_ESCAPE.sub(lambda code: chr(int(code[1], 16)), text) for text in _TEXT.findall(texts))
        for name, texts in _FIXED.findall(grammar_text())
    }


def words() -> tuple[str, ...]:
    """All words of the language, in upper case.

    >>> "PATTERN" in words(), "REGEXP" in words(), "SKIPPING" in words(), "∃" in words()
    (True, True, False, False)
    """
    return tuple(text for texts in spellings().values() for text in texts if re.fullmatch(r"[A-Z_]+", text))
