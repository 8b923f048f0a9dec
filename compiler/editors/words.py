"""Which words have which colour. All come from where the compiler has them, the keywords from the grammar.

A word that can also be a name, `time` or `first`, has a colour in upper case only: so the canonical form is
coloured, and a column with such a name is not.
"""

from __future__ import annotations

from collections.abc import Iterable

from neelc.bind.row_names import FORMS as ROW_FORMS
from neelc.bind.signatures import AGGREGATE_SIGNATURES, ROW_AGGREGATE_SIGNATURES, SCALAR_SIGNATURES
from neelc.ir.script import STRATEGIES
from neelc.ir.types import SIMPLE_TYPES, SYNONYMS
from neelc.ir.units import TIME_UNITS
from neelc.ir.words import RESERVED
from neelc.parse.words import KEYWORDS

CONSTANTS = ("FALSE", "NULL", "TRUE", "UNKNOWN")
OPERATORS = ("AND", "BETWEEN", "DIV", "ESCAPE", "EXISTS", "ILIKE", "IN", "IS", "LIKE", "NOT", "OR")
REGULAR = ("RLIKE", "REGEXP")
PATTERN_OPERATORS = ("AND_NEG", "PERMUTE", "SEQ", "SEQ_NEG")
DECLARED = ("QUERY", "RELATION", "STREAM", "TYPE")
"""What may follow CREATE."""

_SPECIAL = {*CONSTANTS, *OPERATORS, *REGULAR, *PATTERN_OPERATORS}

PLAIN = tuple(word for word in KEYWORDS if word in RESERVED and word not in _SPECIAL)
"""Keywords in any case."""

SOFT = tuple(
    dict.fromkeys(
        word
        for word in (*KEYWORDS, *(word for strategy in STRATEGIES for word in strategy.split()))
        if word not in RESERVED and word not in _SPECIAL
    )
)
"""Keywords in upper case, names else. The words of the selection strategies are names for the grammar."""

UNITS = tuple(form for unit in TIME_UNITS for form in (unit + "S", unit))
NESTED_TYPES = ("ARRAY", "DECIMAL", "MAP", "STRUCT")
TYPES = tuple(name for name in (*SIMPLE_TYPES, *SYNONYMS, *NESTED_TYPES) if " " not in name)
FUNCTIONS = tuple(sorted({*SCALAR_SIGNATURES, *AGGREGATE_SIGNATURES, *ROW_AGGREGATE_SIGNATURES, *ROW_FORMS}))

NAME = r"(?:[A-Za-z_]\w*|`(?:[^`]|``)+`)"
"""A name, as a regular expression."""


def one_of(words: Iterable[str]) -> str:
    """A regular expression for any of the words, whole.

    >>> one_of(["IS", "IN"])
    '\\\\b(?:IN|IS)\\\\b'
    """
    return rf"\b(?:{'|'.join(sorted(words))})\b"


def any_case(words: Iterable[str]) -> str:
    """As `one_of`, whatever the case.

    >>> any_case(["IS", "IN"])
    '(?i:\\\\b(?:IN|IS)\\\\b)'
    """
    return f"(?i:{one_of(words)})"
