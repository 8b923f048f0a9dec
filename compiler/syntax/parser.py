"""Tokens to a parse tree, and the parser's complaints to sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from antlr4 import BailErrorStrategy, CommonTokenStream, InputStream, PredictionMode, Token
from antlr4.error.Errors import ParseCancellationException, RecognitionException
from antlr4.ListTokenSource import ListTokenSource

from neelc.errors import Diagnostic, Hint, diagnostic
from neelc.grammar.generated.NeelLexer import NeelLexer
from neelc.grammar.generated.NeelLexer import NeelLexer as L
from neelc.grammar.generated.NeelParser import NeelParser
from neelc.grammar.spellings import spellings, words
from neelc.ir.names import FREE_IN_ROWS, RESERVED, Identifier
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Span
from neelc.syntax.mistakes import (
    SyntaxProblem,
    expected,
    is_word,
    known_mistake,
    not_closed,
    repair,
    unclosed,
)

_BEGINNINGS = (NeelParser.CREATE, NeelParser.PATTERN, NeelParser.SELECT)


def parse_tree(tokens: Sequence[Any], rule: str, end: int) -> Any:
    """The tree that `rule` of the grammar makes of the tokens, or `SyntaxProblem`; the text ends at `end`."""
    try:
        return attempt(tokens, rule, PredictionMode.SLL)
    except ParseCancellationException:
        # SLL is quick and nearly always right; only LL has the last word on what is an error.
        try:
            return attempt(tokens, rule, PredictionMode.LL)
        except ParseCancellationException as cancelled:
            raise SyntaxProblem(_complaint(cancelled.args[0], tokens, rule, end)) from None


def attempt(tokens: Sequence[Any], rule: str, mode: Any) -> Any:
    """As `parse_tree`, but the first error is a `ParseCancellationException`."""
    parser = NeelParser(CommonTokenStream(ListTokenSource(list(tokens))))
    parser.removeErrorListeners()
    parser._errHandler = BailErrorStrategy()
    parser._interp.predictionMode = mode
    return getattr(parser, rule)()


def _complaint(error: RecognitionException, tokens: Sequence[Any], rule: str, end: int) -> Diagnostic:
    at = _place(error, tokens)
    # First of all: the attempts to mend the text leave their marks in the parser's caches.
    where = f"where {expected(error)}"
    if at == len(tokens):
        opened = unclosed(tokens)
        missing = not_closed(opened) if opened > 0 else None
        return Diagnostic("NEEL1001", f"the statement ends {where}", Span(end, end + 1), missing)
    token = tokens[at]
    begins_statement = token.type in _BEGINNINGS and at > 0 and _reach(tokens[at:], rule) > len(tokens) - at
    mended = None if begins_statement else repair(tokens, at, lambda changed: _reach(changed, rule))
    if mended is not None and mended.culprit is not None:
        span = Span(mended.culprit.start, mended.culprit.stop + 1)
        return diagnostic("NEEL1001", mended.message, span, mended.hint)
    hint = mended.hint if mended is not None else known_mistake(tokens, at, begins_statement)
    return diagnostic("NEEL1001", f"found `{token.text}` {where}", Span(token.start, token.stop + 1), hint)


def _place(error: RecognitionException, tokens: Sequence[Any]) -> int:
    """Which token the parser stopped at; the number of tokens if it was the end."""
    token = error.offendingToken
    if token is None or token.type == Token.EOF:
        return len(tokens)
    return next(at for at, other in enumerate(tokens) if other is token)


def _reach(tokens: Sequence[Any], rule: str) -> int:
    """How many tokens are read before the first error; one more than there are if there is none."""
    try:
        attempt(tokens, rule, PredictionMode.LL)
    except ParseCancellationException as cancelled:
        return _place(cancelled.args[0], tokens)
    return len(tokens) + 1


# Words of the language that are names inside of MATCH_RECOGNIZE: what stands beside them decides.
#
# The query around the clause is Spark's, where `pattern`, `define` or `window` are plain names of columns.
# A word is a name where a value or a name is expected, if what follows can follow one: in `ORDER BY
# measures MEASURES x AS y` the first is a name and the second begins a clause.

FREE = frozenset(getattr(L, word) for word in FREE_IN_ROWS) | {L.DIV, L.ILIKE, L.RLIKE, L.SUBSET, L.TO}
"""What can be a name: some reserved words, and those that are not, but stand before values themselves."""

_SIGNS = frozenset({
    L.PLUS, L.MINUS, L.STAR, L.SLASH, L.PERCENT, L.CONCAT, L.AMPERSAND, L.PIPE, L.CARET, L.TILDE, L.EQ, L.NE,
    L.LT, L.LE, L.GT, L.GE, L.NULL_SAFE, L.COMMA,
})  # fmt: skip
_BEFORE_VALUE = _SIGNS | {
    L.LPAREN, L.LBRACKET, L.COLON, L.AND, L.AS, L.BETWEEN, L.BY, L.CASE, L.DEFINE, L.DISTINCT, L.DIV, L.ELSE,
    L.FROM, L.IN, L.IS, L.LIKE, L.ILIKE, L.MEASURES, L.NOT, L.OR, L.RLIKE, L.SUBSET, L.THEN, L.TO, L.WHEN,
}  # fmt: skip
_BEHIND_VALUE = _SIGNS - {L.TILDE} | {
    L.RPAREN, L.LBRACKET, L.RBRACKET, L.DOT, L.DOTDOT, L.AND, L.OR, L.NOT, L.AS, L.ASC, L.DESC, L.NULLS, L.IS,
    L.IN, L.LIKE, L.ILIKE, L.RLIKE, L.BETWEEN, L.DIV, L.WHEN, L.THEN, L.ELSE, L.END, L.ESCAPE, L.FROM,
    L.PARTITION, L.ORDER, L.MEASURES, L.ONE, L.ALL, L.AFTER, L.PATTERN, L.WITHIN, L.SUBSET, L.DEFINE,
}  # fmt: skip


def with_names(tokens: Sequence[Any]) -> None:
    """Make names of the words that are names inside of MATCH_RECOGNIZE clauses.

    >>> from neelc.syntax.parser import tokens_of
    >>> text = "MATCH_RECOGNIZE (ORDER BY measures MEASURES A.order AS pattern PATTERN (A define+) DEFINE"
    >>> [token.text for token in tokens_of(text) if token.type == L.IDENTIFIER]
    ['measures', 'A', 'order', 'pattern', 'A', 'define']
    """
    visible = [token for token in tokens if token.channel == Token.DEFAULT_CHANNEL]
    for at, token in enumerate(visible):
        if token.type == L.MATCH_RECOGNIZE and _type(visible, at + 1) == L.LPAREN:
            _name(visible, at + 1)


def _name(tokens: Sequence[Any], opened: int) -> None:
    """Make names of words in the clause whose parenthesis is at `opened`."""
    depth, pattern = 1, 0
    for at in range(opened + 1, len(tokens)):
        token = tokens[at]
        depth += (token.type == L.LPAREN) - (token.type == L.RPAREN)
        if depth == 0 or token.type == L.SEMI:
            return
        pattern = pattern if depth >= pattern else 0
        if token.type == L.PATTERN and _type(tokens, at + 1) == L.LPAREN and not pattern:
            pattern = depth + 1
        elif (_type(tokens, at - 1) == L.DOT and token.text.isidentifier()) or (
            token.type in FREE and (pattern or (at > opened + 1 and _is_value(tokens, at)))
        ):
            token.type = L.IDENTIFIER


def _is_value(tokens: Sequence[Any], at: int) -> bool:
    """Whether a word stands where a value is expected, and before what can follow one."""
    if not _expects_value(tokens, at):
        return False
    behind = _type(tokens, at + 1)
    if tokens[at].type == L.INTERVAL and behind in (L.MINUS, L.PLUS):  # INTERVAL -5 DAY
        number, unit = _type(tokens, at + 2), _type(tokens, at + 3)
        return number != L.STRING and not (number == L.NUMBER and unit == L.IDENTIFIER)
    return behind in _BEHIND_VALUE


def _expects_value(tokens: Sequence[Any], at: int) -> bool:
    """Whether a value, or a name, is expected there: not after a value, nor where `*` is one, nor between
    NOT and the operator that it negates."""
    before = _type(tokens, at - 1)
    if before in (L.STAR, L.NOT):
        is_after_value = not _expects_value(tokens, at - 1)
        return is_after_value and _type(tokens, at - 2) != L.DOT if before == L.STAR else not is_after_value
    is_skip = before in (L.FIRST, L.LAST) and _type(tokens, at - 2) == L.TO
    return is_skip or before in _BEFORE_VALUE


def _type(tokens: Sequence[Any], at: int) -> int:
    """Of no token, the type of none."""
    return int(tokens[at].type) if 0 <= at < len(tokens) else Token.INVALID_TYPE


# Text to tokens: what no token begins with, how deep the text nests, where its statements end.

# The generated parser recurses: about eight frames of Python for each level of parentheses.
MAX_TOKENS = 50_000
"""Of a statement. Compiling one takes up to half a millisecond for each of them."""
MAX_NESTING = 60

# Characters of a number. A DECIMAL has 38 digits, the largest DOUBLE 309; Python reads 4,300.
MAX_DIGITS = 1000

# Text of another kind, a binary file say, has an error at every character; the first ones say it all.
MAX_STRAY = 20

_OPENING = {NeelLexer.LPAREN, NeelLexer.LBRACKET, NeelLexer.LBRACE, NeelLexer.EXCLUDE_OPEN, NeelLexer.CASE}
_CLOSING = {NeelLexer.RPAREN, NeelLexer.RBRACKET, NeelLexer.RBRACE, NeelLexer.EXCLUDE_CLOSE}
_BEGINNING = {NeelLexer.CREATE, NeelLexer.PATTERN, NeelLexer.SELECT}
_PREFIX = {NeelLexer.BANG, NeelLexer.NOT, NeelLexer.MINUS, NeelLexer.PLUS, NeelLexer.TILDE, NeelLexer.EXISTS}

_NESTING_TYPES = ("ARRAY", "MAP", "STRUCT")
_NOT_IN_TYPES = {NeelLexer.AND, NeelLexer.OR, NeelLexer.SEMI, NeelLexer.WHERE, NeelLexer.WITHIN}

# Signs of papers and word processors, and those of other languages.
_SPELLINGS = {
    "≤": ("<=",),
    "≥": (">=",),
    "≠": ("<>",),
    "∧": ("AND",),
    "∨": ("OR",),
    "¬": ("NOT", "!"),
    "−": ("-",),
    "–": ("-",),
    "×": ("*",),
}
_OTHER = {
    "#": "a comment begins with --",
    "@": "a parameter is written :name",
    "\\": "a string has no escapes",
}


def tokens_of(text: str) -> list[Any]:
    """All tokens of the text, comments included, without the end mark."""
    lexer = NeelLexer(InputStream(text))
    lexer.removeErrorListeners()
    found: list[Any] = lexer.getAllTokens()
    with_names(found)
    return found


def stray_tokens(tokens: Sequence[Any]) -> list[Diagnostic]:
    """Characters that begin no token, and quotes that nothing closes; at most `MAX_STRAY` of them."""
    found: list[Diagnostic] = []
    run: list[Any] = []
    for token in tokens:
        if token.type == NeelLexer.STRAY and (not run or token.start == run[-1].stop + 1):
            run.append(token)
            continue
        if run:
            found.append(_stray(run))
            run = [token] if token.type == NeelLexer.STRAY else []
        if token.type == NeelLexer.UNFINISHED:
            mark = token.text[0]
            what = {"/": "comment", "`": "backtick"}.get(mark, "quote")
            end = token.start + (2 if what == "comment" else 1)
            hint = f"inside a string, a quote is written twice: {mark * 2}" if what == "quote" else None
            found.append(Diagnostic("NEEL1002", f"this {what} is not closed", Span(token.start, end), hint))
        if len(found) >= MAX_STRAY:
            return found
    return [*found, _stray(run)] if run else found


def _stray(run: Sequence[Any]) -> Diagnostic:
    text = "".join(token.text for token in run[:20]) + ("..." if len(run) > 20 else "")
    # What cannot be seen is shown by its number.
    shown = "".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in text)
    subject = f"the characters `{shown}` have" if len(run) > 1 else f"the character `{shown}` has"
    span = Span(run[0].start, run[-1].stop + 1)
    return diagnostic("NEEL1002", f"{subject} no meaning here", span, _instead_of(text[0]))


def _instead_of(character: str) -> Hint | str | None:
    """What might have been meant by a character that begins no token."""
    if character.isalpha():
        return "names with other letters than a to z go between backticks"
    if character in "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u00b4":
        return "a string needs straight quotes: 'text'"
    if character in _SPELLINGS:
        signs = _SPELLINGS[character]
        return Hint(f"write {' or '.join(signs)}", signs)
    return _OTHER.get(character)


def limit_problem(tokens: Sequence[Any]) -> Diagnostic | None:
    """A diagnostic if there are more tokens than `MAX_TOKENS`, if they nest deeper than `MAX_NESTING`, or if
    a number is longer than `MAX_DIGITS`: before anything is made of them."""
    if len(tokens) > MAX_TOKENS:
        message = f"a statement of {len(tokens):,} words and signs; the longest has {MAX_TOKENS:,}"
        hint = "put long lists of values into a table, and join it or select from it before the pattern"
        return Diagnostic("NEEL4090", message, Span(tokens[0].start, tokens[0].stop + 1), hint)
    depth = run = types = 0
    before = None
    for token in tokens:
        run = run + 1 if token.type in _PREFIX else 0
        types = _depth_of_types(types, token, before)
        if token.type in _OPENING:
            depth += 1
        elif token.type in _CLOSING or token.type == NeelLexer.END:
            depth = max(0, depth - 1)
        if depth + run + types > MAX_NESTING:
            return _too_deep(token, None if types else NESTED)
        if token.type == NeelLexer.NUMBER and token.stop - token.start >= MAX_DIGITS:
            count = token.stop - token.start + 1
            message = f"a number of {count:,} characters; the longest has {MAX_DIGITS:,}"
            return Diagnostic("NEEL1005", message, Span(token.start, token.stop + 1))
        before = token
    return None


def _depth_of_types(depth: int, token: Any, before: Any) -> int:
    """How many of ARRAY<, MAP< and STRUCT< are open behind a token. Elsewhere, < compares."""
    if token.type == NeelLexer.LT and before is not None and before.text.upper() in _NESTING_TYPES:
        return depth + 1
    if token.type == NeelLexer.GT:
        return max(0, depth - 1)
    return depth if token.type not in _NOT_IN_TYPES else 0


NESTED = "leave out parentheses, or name inner parts with CREATE QUERY and use those names"


def _too_deep(token: Any, hint: str | None) -> Diagnostic:
    message = f"nested too deeply: more than {MAX_NESTING} levels"
    return Diagnostic("NEEL1003", message, Span(token.start, token.stop + 1), hint)


def statements_of(tokens: Sequence[Any]) -> list[list[Any]]:
    """The tokens of each statement.

    A semicolon ends a statement outside all brackets, and before a word that only begins statements: so a
    bracket that is never closed spoils one statement, not the rest of the script. Between PATTERN and RETURN
    of TPStream's queries it separates alternatives.

    >>> text = "FROM E DEFINE A AS x PATTERN (A); (AABB) RETURN v; PATTERN SEQ(A a, B b); FROM E"
    >>> [len(one) for one in statements_of(tokens_of(text))]
    [16, 9, 2]
    """
    visible = [token for token in tokens if token.channel == Token.DEFAULT_CHANNEL]
    statements: list[list[Any]] = [[]]
    depth = 0
    for token, after in zip(visible, [*visible[1:], None], strict=False):  # a text may hold no token at all
        if token.type in _OPENING and token.type != NeelLexer.CASE:
            depth += 1
        elif token.type in _CLOSING:
            depth = max(0, depth - 1)
        begins = after is None or after.type in _BEGINNING
        if token.type == NeelLexer.SEMI and (
            begins or (depth == 0 and not _has_alternatives(statements[-1]))
        ):
            statements.append([])
            depth = 0
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


def _has_alternatives(tokens: Sequence[Any]) -> bool:
    """Whether a statement, up to here, is a query of TPStream's whose pattern goes on behind a semicolon."""
    kinds = [token.type for token in tokens]
    start = kinds.index(NeelLexer.AS) + 1 if kinds[:1] == [NeelLexer.CREATE] and NeelLexer.AS in kinds else 0
    if kinds[start : start + 1] != [NeelLexer.FROM]:
        return False
    return NeelLexer.PATTERN in kinds and NeelLexer.RETURN not in kinds


def declared_name(tokens: Sequence[Any]) -> str | None:
    """The name that a statement declares as far as its tokens show: "" for none, None if that is unclear."""
    kinds = [token.type for token in tokens]
    if kinds[0] in (NeelLexer.PATTERN, NeelLexer.SELECT, NeelLexer.LPAREN):
        last = kinds[-2:] == [NeelLexer.AS, NeelLexer.IDENTIFIER]
        return _identifier(tokens[-1]) if last else ""
    is_create = kinds[0] == NeelLexer.CREATE or kinds[1:2] in ([NeelLexer.STREAM], [NeelLexer.TYPE])
    names = (NeelLexer.IDENTIFIER, NeelLexer.QUOTED)
    return _identifier(tokens[2]) if is_create and len(tokens) > 2 and kinds[2] in names else None


def _identifier(token: Any) -> Identifier:
    return Identifier(token.text, Span(token.start, token.stop + 1))


def has_type_clause(tokens: Sequence[Any]) -> bool:
    """Whether a statement says TYPE BY."""
    kinds = [token.type for token in tokens]
    return (NeelLexer.TYPE, NeelLexer.BY) in pairwise(kinds)


# The tokens of a text as plain values, for those who look at texts that are not finished.

NAME, SOFT, WORD, STRING, NUMBER, MARK, COMMENT, STRAY = (
    "name", "soft", "word", "string", "number", "mark", "comment", "stray",
)  # fmt: skip

_KINDS = {
    NeelLexer.IDENTIFIER: NAME,
    NeelLexer.QUOTED: NAME,
    NeelLexer.STRING: STRING,
    NeelLexer.BINARY: STRING,
    NeelLexer.NUMBER: NUMBER,
    NeelLexer.COMMENT: COMMENT,
    NeelLexer.STRAY: STRAY,
    NeelLexer.UNFINISHED: STRAY,
}
_CLOSING_OF = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Lexeme:
    """A token: a NAME, a SOFT word that can be one, a WORD, STRING, NUMBER, MARK, COMMENT or STRAY."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    @property
    def is_name(self) -> bool:
        return self.kind in (NAME, SOFT)

    def says(self, *words: str) -> bool:
        """Whether it is one of these words, in whatever case, or one of these marks."""
        return self.kind in (SOFT, WORD, MARK) and self.text.upper() in words


def lexemes(text: str) -> tuple[Lexeme, ...]:
    """All tokens, comments included.

    >>> [(found.kind, found.text) for found in lexemes("WITHIN 5 -- x")]
    [('word', 'WITHIN'), ('number', '5'), ('comment', '-- x')]
    """
    return _plain(tokens_of(text))


def statement_lexemes(text: str) -> tuple[tuple[Lexeme, ...], ...]:
    """The tokens of each statement, as `neelc.syntax.read` divides them, without semicolons and comments."""
    return tuple(_plain(tokens) for tokens in statements_of(tokens_of(text)))


def _plain(tokens: Iterable[Any]) -> tuple[Lexeme, ...]:
    return tuple(Lexeme(_kind(token), token.text, token.start, token.stop + 1) for token in tokens)


def _kind(token: Any) -> str:
    if is_word(token.type):
        return WORD if token.text.upper() in RESERVED else SOFT
    return _KINDS.get(token.type, MARK)


def closing(found: Sequence[Lexeme]) -> str:
    """The brackets that would close those that are open.

    >>> closing(lexemes("SEQ(A a, B+ b[] WHERE a.x IN (1"))
    '))'
    """
    open_: list[str] = []
    for lexeme in found:
        if lexeme.kind == MARK and lexeme.text in _CLOSING_OF:
            open_.append(_CLOSING_OF[lexeme.text])
        elif lexeme.kind == MARK and open_ and lexeme.text == open_[-1]:
            open_.pop()
    return "".join(reversed(open_))


# The words of the language, from the grammar.

KEYWORDS = words()
"""In upper case; those that are not in `neelc.ir.words.RESERVED` can be names, too."""

__all__ = ["KEYWORDS", "spellings"]
