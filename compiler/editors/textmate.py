"""A TextMate grammar, by which VS Code, Sublime Text, JetBrains and GitHub colour the language.

`pytest --update tests/test_editors.py` writes it to docs/editors/vscode/syntaxes/neel.tmLanguage.json.
"""

from __future__ import annotations

import json

from neelc.editors.words import (
    CONSTANTS,
    DECLARED,
    FUNCTIONS,
    NAME,
    OPERATORS,
    PATTERN_OPERATORS,
    PLAIN,
    REGULAR,
    SOFT,
    TYPES,
    UNITS,
    any_case,
    one_of,
)

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
