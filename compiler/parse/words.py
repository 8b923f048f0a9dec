"""The words of the language, from the grammar."""

from __future__ import annotations

from neelc.grammar.spellings import spellings, words

KEYWORDS = words()
"""In upper case; those that are not in `neelc.ir.words.RESERVED` can be names, too."""

__all__ = ["KEYWORDS", "spellings"]
