"""Identifiers in source form: plain, words of the language that stay free as names, and quoted ones."""

from __future__ import annotations

from string import ascii_letters, digits

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from neelc.grammar.generated.NeelLexer import NeelLexer
from neelc.ir.names import RESERVED, quote

_WORDS = sorted(word for name in NeelLexer.literalNames if (word := name.strip("'")).isalpha())
FOLLOWING = ("ANY", "NEXT", "STRICT")
"""Before another name, these say how a part follows: `NEXT b` is no event of a type NEXT."""
SOFT_WORDS = [word for word in _WORDS if word not in (*RESERVED, *FOLLOWING)]

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
"""Text with quotes, newlines and other alphabets in it."""

_FIRST, _REST = ascii_letters + "_", ascii_letters + digits + "_"

plain = st.one_of(
    st.sampled_from(["a", "b", "c", "x", "Price", "i", "last", "_1"]),
    st.builds(str.__add__, st.sampled_from(_FIRST), st.text(_REST, max_size=3)),
).filter(lambda name: name.upper() not in RESERVED)

soft = st.builds(
    lambda word, lower: word.lower() if lower else word, st.sampled_from(SOFT_WORDS), st.booleans()
)

quoted = st.builds(quote, st.one_of(st.sampled_from(sorted(RESERVED)), any_text.filter(bool)))

identifiers: SearchStrategy[str] = st.one_of(plain, plain, soft, quoted)
