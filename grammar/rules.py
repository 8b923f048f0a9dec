"""The rules of the parser in Neel.g4 as values, for those who show them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from neelc.grammar.spellings import grammar_text


@dataclass(frozen=True)
class Symbol:
    """The name of a rule, or of a token in upper case."""

    name: str


@dataclass(frozen=True)
class Series:
    """One part after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Choice:
    """One of the parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Repeated:
    """`part?`, `part*` or `part+`, as `mark` says."""

    part: Part
    mark: str


Part = Symbol | Series | Choice | Repeated


@dataclass(frozen=True)
class Rule:
    """A rule, and the heading it stands under."""

    name: str
    body: Part
    section: str


_LINE = re.compile(r"^// (?P<section>[^\n]*?) -{10,}$|//[^\n]*$", re.MULTILINE)
_RULE = re.compile(r"^(?P<name>[a-z]\w*)\s*:(?P<body>(?:'[^']*'|[^';])*);", re.MULTILINE)
_TOKEN = re.compile(r"\s*(?:#\s*\w+|(\w+|[()|?*+~]))")


@cache
def rules() -> tuple[Rule, ...]:
    """The rules in the order of the text.

    >>> found = {rule.name: rule for rule in rules()}
    >>> found["definition"].section, shown(found["definition"].body)
    ('JEPC-QL', 'name AS expression')
    >>> shown(found["query"].body)
    'patternQuery | select | LPAREN query RPAREN'
    >>> shown(found["rowTerm"].body)
    'rowPrimary (quantifier QUESTION?)?'
    """
    text = grammar_text()
    headings = [(found.start(), found["section"]) for found in _LINE.finditer(text) if found["section"]]
    # Blanks keep the places.
    plain = _LINE.sub(lambda comment: " " * len(comment[0]), text)
    found = []
    for rule in _RULE.finditer(plain):
        section = [name for start, name in headings if start < rule.start()][-1:]
        found.append(Rule(rule["name"], _Reader(rule["body"]).choice(), "".join(section)))
    return tuple(found)


@dataclass
class _Reader:
    """Reads the body of a rule, from `tokens[at]` on; labels of alternatives are left out."""

    text: str
    at: int = 0
    tokens: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        assert _TOKEN.sub("", self.text).strip() == "", f"not understood: {self.text}"
        self.tokens = [token for token in _TOKEN.findall(self.text) if token]

    def choice(self) -> Part:
        parts = [self.series()]
        while self.next() == "|":
            self.at += 1
            parts.append(self.series())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def series(self) -> Part:
        parts = []
        while self.next() not in ("|", ")", ""):
            parts.append(self.repeated())
        return parts[0] if len(parts) == 1 else Series(tuple(parts))

    def repeated(self) -> Part:
        token = self.next()
        self.at += 1
        part: Part
        if token == "~":
            self.repeated()
            part = Symbol("ANY_OTHER")
        elif token == "(":
            part = self.choice()
            self.at += 1
        else:
            part = Symbol(token)
        if self.next() in ("?", "*", "+"):
            part = Repeated(part, self.next())
            self.at += 1
        return part

    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""


def shown(part: Part) -> str:
    """The part as the grammar writes it."""
    match part:
        case Symbol(name):
            return name
        case Series(parts):
            return " ".join(_grouped(each) if isinstance(each, Choice) else shown(each) for each in parts)
        case Choice(parts):
            return " | ".join(map(shown, parts))
        case Repeated(inner, mark):
            return (shown(inner) if isinstance(inner, Symbol) else _grouped(inner)) + mark


def _grouped(part: Part) -> str:
    return f"({shown(part)})"


def symbols(part: Part) -> Iterator[str]:
    """All names in the part, in order."""
    match part:
        case Symbol(name):
            yield name
        case Series(parts) | Choice(parts):
            for each in parts:
                yield from symbols(each)
        case Repeated(inner):
            yield from symbols(inner)
