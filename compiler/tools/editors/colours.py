"""Which words have which colour. All come from where the compiler has them, the keywords from the grammar.

A word that can also be a name, `time` or `first`, has a colour in upper case only: so the canonical form is
coloured, and a column with such a name is not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from neelc.ir import patterns
from neelc.ir.expressions import LAMBDAS
from neelc.ir.names import RESERVED
from neelc.ir.script import SelectionStrategy
from neelc.ir.types import SIMPLE_TYPES, SYNONYMS, TIME_UNITS
from neelc.rows.bind.expressions import FORMS as ROW_FORMS
from neelc.scalar.signatures import AGGREGATE_SIGNATURES, ROW_AGGREGATE_SIGNATURES, SCALAR_SIGNATURES
from neelc.syntax.parser import KEYWORDS

CONSTANTS = ("FALSE", "NULL", "TRUE", "UNKNOWN")
OPERATORS = ("AND", "BETWEEN", "DIV", "ESCAPE", "EXISTS", "ILIKE", "IN", "IS", "LIKE", "NOT", "OR")
REGULAR = ("RLIKE", "REGEXP")
PATTERN_OPERATORS = tuple(sorted({*patterns.OPERATORS, "PERMUTE", "SEQ_NEG"} - {*OPERATORS}))
DECLARED = ("QUERY", "RELATION", "STREAM", "TYPE")
"""What may follow CREATE."""

_SPECIAL = {*CONSTANTS, *OPERATORS, *REGULAR, *PATTERN_OPERATORS}

PLAIN = tuple(word for word in KEYWORDS if word in RESERVED and word not in _SPECIAL)
"""Keywords in any case."""

SOFT = tuple(
    dict.fromkeys(
        word
        for word in (*KEYWORDS, *(word for strategy in SelectionStrategy for word in strategy.split()))
        if word not in RESERVED and word not in _SPECIAL
    )
)
"""Keywords in upper case, names else. The words of the selection strategies are names for the grammar."""

UNITS = tuple(form for unit in TIME_UNITS for form in (unit + "S", unit))
NESTED_TYPES = ("ARRAY", "DECIMAL", "MAP", "STRUCT")
TYPES = tuple(name for name in (*SIMPLE_TYPES, *SYNONYMS, *NESTED_TYPES) if " " not in name)
FUNCTIONS = tuple(
    sorted({*SCALAR_SIGNATURES, *AGGREGATE_SIGNATURES, *ROW_AGGREGATE_SIGNATURES, *LAMBDAS, *ROW_FORMS})
)

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


# A TextMate grammar, by which VS Code, Sublime Text, JetBrains and GitHub colour the language.
#
# `pytest --update tests/test_editors.py` writes it to docs/editors/vscode/syntaxes/neel.tmLanguage.json.

# What has one colour, in the order in which it is tried.
_MATCHES = (
    ("comment.line.double-dash", r"--.*$"),
    ("constant.numeric", r"(?:\b\d+(?:\.\d+)?|\.\d+)(?i:e[+-]?\d+)?(?i:bd|[lsydf])?\b"),
    ("keyword.operator.range", r"\.\."),
    ("variable.other.member", rf"(?<=[^.]\.)[ \t]*{NAME}"),
    ("variable.parameter", r":[A-Za-z_]\w*(?![\w.]|\s*[(\[])"),
    ("support.function", any_case(FUNCTIONS) + r"(?=\s*\()"),
    ("constant.language", any_case(CONSTANTS)),
    ("keyword.control.pattern", any_case(PATTERN_OPERATORS) + r"(?=\s*\()"),
    ("keyword.operator.word", any_case((*OPERATORS, *REGULAR)) + "|∃"),
    ("keyword.other", any_case(PLAIN)),
    ("keyword.other", one_of(SOFT)),
    ("storage.type", one_of((*TYPES, *UNITS))),
    ("punctuation.section.exclusion", r"\{-|-\}"),
    ("keyword.operator", r"<=>|<>|!=|==|<=|>=|\|\||[=<>!+\-*/%&|^~?$]"),
)

# What may go over several lines.
_BLOCKS = (
    ("comment.block", r"/\*", r"\*/", None),
    ("string.quoted.other.binary", r"(?i:x)'", r"'", None),
    ("string.quoted.single", r"'", r"'(?!')", r"''"),
    ("string.quoted.double", r'"', r'"(?!")', r'""'),
    ("variable.other.quoted", r"`", r"`(?!`)", r"``"),
)


def textmate() -> dict[str, object]:
    """The grammar.

    >>> textmate()["scopeName"]
    'source.neel'
    """
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "Neel",
        "scopeName": "source.neel",
        "fileTypes": ["neel"],
        "patterns": [
            *(_block(*block) for block in _BLOCKS),
            _declaration(),
            _length(),
            *({"name": f"{scope}.neel", "match": match} for scope, match in _MATCHES),
        ],
    }


def text() -> str:
    """The grammar as a file holds it."""
    return json.dumps(textmate(), indent=2, ensure_ascii=False) + "\n"


def _block(scope: str, begin: str, end: str, escape: str | None) -> dict[str, object]:
    found: dict[str, object] = {"name": f"{scope}.neel", "begin": begin, "end": end}
    if escape is not None:
        found["patterns"] = [{"name": "constant.character.escape.neel", "match": escape}]
    return found


def _declaration() -> dict[str, object]:
    """`CREATE STREAM name`."""
    names = ("keyword.other.create", "storage.type.declaration", "entity.name.type")
    return {
        "match": rf"({any_case(['CREATE'])})\s+({any_case(DECLARED)})\s+({NAME})",
        "captures": {str(place): {"name": f"{name}.neel"} for place, name in enumerate(names, 1)},
    }


def _length() -> dict[str, object]:
    """`10 seconds`: behind a number, a unit has its colour in any case."""
    names = ("constant.numeric", "storage.type.unit")
    return {
        "match": rf"\b(\d+)\s+({any_case(UNITS)})",
        "captures": {str(place): {"name": f"{name}.neel"} for place, name in enumerate(names, 1)},
    }
