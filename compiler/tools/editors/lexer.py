"""A lexer for Pygments, by which MkDocs, Sphinx and notebooks colour the language; `neel` is its name."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from neelc.tools.editors.colours import (
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


class NeelLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """
    >>> from pygments.token import Keyword
    >>> found = NeelLexer().get_tokens("PATTERN SEQ(A a, !B b) WITHIN 5 seconds")
    >>> [text for kind, text in found if kind in Keyword]
    ['PATTERN', 'SEQ', 'WITHIN', 'seconds']
    """

    name = "Neel"
    # A sketch is a synopsis in the documentation: brackets, bars and dots around the words of the language.
    aliases: ClassVar[list[str]] = ["neel", "neel-sketch"]
    filenames: ClassVar[list[str]] = ["*.neel"]
    mimetypes: ClassVar[list[str]] = ["text/x-neel"]
    url = "https://pypi.org/project/neelc/"

    tokens: ClassVar[dict[str, list[tuple[object, ...]]]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"--[^\r\n]*", Comment.Single),
            (r"/\*[\s\S]*?(?:\*/|\Z)", Comment.Multiline),
            (r"(?i:x'[0-9a-f]*')", String.Other),
            (r"'(?:[^']|'')*'", String.Single),
            (r'"(?:[^"]|"")*"', String.Double),
            (r"`(?:[^`]|``)+`", Name),
            (rf"(\d+)(\s+)({any_case(UNITS)})", bygroups(Number, Whitespace, Keyword.Type)),
            (r"(?:\d+(?:\.\d+)?|\.\d+)(?i:e[+-]?\d+)?(?i:bd|[lsydf])?\b", Number),
            (r"\.\.", Operator),
            (rf"(\.)(\s*)({NAME})", bygroups(Punctuation, Whitespace, Name.Attribute)),
            (r"(:)([A-Za-z_]\w*)(?![\w.]|\s*[(\[])", bygroups(Punctuation, Name.Variable)),
            (
                rf"({any_case(['CREATE'])})(\s+)({any_case(DECLARED)})(\s+)({NAME})",
                bygroups(Keyword.Declaration, Whitespace, Keyword.Declaration, Whitespace, Name.Class),
            ),
            (any_case(FUNCTIONS) + r"(?=\s*\()", Name.Builtin),
            (any_case(CONSTANTS), Keyword.Constant),
            (any_case(PATTERN_OPERATORS) + r"(?=\s*\()", Keyword.Reserved),
            (any_case((*OPERATORS, *REGULAR)) + "|∃", Operator.Word),
            (any_case(PLAIN), Keyword),
            (one_of(SOFT), Keyword),
            (one_of((*TYPES, *UNITS)), Keyword.Type),
            (r"\{-|-\}", Punctuation),
            (r"<=>|<>|!=|==|<=|>=|\|\||[=<>!+\-*/%&|^~?$]", Operator),
            (r"[()\[\]{},;:.]", Punctuation),
            (r"[A-Za-z_]\w*", Name),
            (r".", Error),
        ]
    }
