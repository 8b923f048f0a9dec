"""JEPC writes symbols without spaces between them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from neelc.ir.names import is_quoted, variable

_LETTER = re.compile(r"[A-Za-z_][0-9]*")


def packed_symbols(word: str, defined: Iterable[str]) -> list[str] | None:
    """The symbols in a word: defined names first, the longest that fits, else a letter with its digits.

    >>> packed_symbols("ABCD", ["A", "B"])
    ['A', 'B', 'C', 'D']
    >>> packed_symbols("up1down", ["up1", "down"])
    ['up1', 'down']
    >>> packed_symbols("AB", ["AB"])
    ['AB']
    """
    if is_quoted(word):
        return [word]
    longest = sorted(map(variable, defined), key=len, reverse=True)
    found = []
    while word:
        symbol = next((s for s in longest if word.upper().startswith(s)), None)
        if symbol is None:
            letter = _LETTER.match(word)
            if letter is None:
                return None
            symbol = letter[0]
        found.append(word[: len(symbol)])
        word = word[len(symbol) :]
    return found
