"""The page docs/reference/grammar.md: every rule of the grammar as a picture, a text and links to its parts.

`pytest --update tests/test_grammar_page.py` writes it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import railroad

from neelc.grammar.spellings import grammar_text, spellings

# The rules of the parser in Neel.g4 as values, for those who show them.


@dataclass(frozen=True)
class GrammarSymbol:
    """The name of a rule, or of a token in upper case."""

    name: str


@dataclass(frozen=True)
class Series:
    """One part after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class GrammarChoice:
    """One of the parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Repeated:
    """`part?`, `part*` or `part+`, as `mark` says."""

    part: Part
    mark: str


Part = GrammarSymbol | Series | GrammarChoice | Repeated


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
    >>> found["assignment"].section, shown(found["assignment"].body)
    ('JEPC-QL', 'name EQ expression')
    >>> shown(found["query"].body)
    'queryTerm (setOperator queryTerm)*'
    >>> shown(found["rowTerm"].body)
    'QUESTION? rowPrimary (quantifier QUESTION?)?'
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
        return parts[0] if len(parts) == 1 else GrammarChoice(tuple(parts))

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
            part = GrammarSymbol("ANY_OTHER")
        elif token == "(":
            part = self.choice()
            self.at += 1
        else:
            part = GrammarSymbol(token)
        if self.next() in ("?", "*", "+"):
            part = Repeated(part, self.next())
            self.at += 1
        return part

    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""


def shown(part: Part) -> str:
    """The part as the grammar writes it."""
    match part:
        case GrammarSymbol(name):
            return name
        case Series(parts):
            return " ".join(
                _grouped(each) if isinstance(each, GrammarChoice) else shown(each) for each in parts
            )
        case GrammarChoice(parts):
            return " | ".join(map(shown, parts))
        case Repeated(inner, mark):
            return (shown(inner) if isinstance(inner, GrammarSymbol) else _grouped(inner)) + mark


def _grouped(part: Part) -> str:
    return f"({shown(part)})"


def symbols(part: Part) -> Iterator[str]:
    """All names in the part, in order."""
    match part:
        case GrammarSymbol(name):
            yield name
        case Series(parts) | GrammarChoice(parts):
            for each in parts:
                yield from symbols(each)
        case Repeated(inner):
            yield from symbols(inner)


# Railroad diagrams of the rules of Neel.g4, as SVG.
#
# Boxes bring their own background, and tracks are grey: they are read as well on a light page as on a dark
# one.

# A line of a diagram that is longer is broken: so it fits a page without being shrunk.
WIDEST = 660

# What the rules for tokens stand for; a name is one of the three kinds, and the parser's rules say `name`.
TOKENS = {
    "NUMBER": "number",
    "STRING": "string",
    "BINARY": "binary",
    "EOF": "end",
    "ANY_OTHER": "anything else",
}

# Shown where they are used: a diagram of their own would tell nothing.
INLINED = (
    "columnDefinition", "property", "signedNumber", "returnItem", "patternListItem", "qualification",
    "conditionList", "variable", "selectItem", "expressionList", "alias", "wantedProperty",
    "definition", "emptyMatches", "skipTo", "subset",
    "sequentialClause", "temporalClause",
    "rowSequence", "rowTerm", "temporalPattern", "temporalItem", "temporalWord", "conjunction",
    "predicateTail", "rangeTest", "operator", "postfix", "step", "subscript", "whenThen", "typeArgument",
    "intervalPart", "createType", "createQuery", "inOrder",
)  # fmt: skip

# Entry points for tests and for other texts, and the list of words that are also names.
HIDDEN = ("singleStatement", "singlePattern", "singleExpression", "singleWindow", "name", "softWord")

STYLE = """
svg { background: none; }
path { stroke: #8a8f98; stroke-width: 2; fill: none; }
rect { stroke: #3f51b5; stroke-width: 1.5; fill: #e8eaf6; }
.terminal rect { stroke: #00796b; fill: #e0f2f1; }
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
text { text-anchor: middle; fill: #1a237e; }
.terminal text { font-weight: bold; fill: #004d40; }
"""


def shown_rules() -> tuple[Rule, ...]:
    """The rules that have a diagram, in the order of the grammar."""
    return tuple(rule for rule in rules() if rule.name not in (*INLINED, *HIDDEN))


def title(name: str) -> str:
    """
    >>> title("patternClause"), title("select")
    ('pattern clause', 'select')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def svg(rule: Rule) -> str:
    """The diagram of a rule.

    >>> picture = svg(next(rule for rule in rules() if rule.name == "queryTerm"))
    >>> picture.startswith("<svg"), "pattern query" in picture
    (True, True)
    """
    railroad.INTERNAL_ALIGNMENT = "left"  # alternatives are compared by how they begin
    written = io.StringIO()
    drawn = railroad.Diagram(_drawn(rule.body, WIDEST))
    drawn.format(6).writeStandalone(written.write, STYLE)
    return written.getvalue() + "\n"


def _drawn(part: Part, room: float) -> Any:
    match part:
        case GrammarSymbol(name):
            return _symbol(name, room)
        case Series(parts):
            return _series(parts, room)
        case GrammarChoice(parts):
            return _mended(railroad.Choice(0, *(_drawn(each, room - 40) for each in parts)))
        case Repeated(inner, "?"):
            return _mended(railroad.Optional(_drawn(inner, room - 40)))
        case Repeated(inner, "+"):
            return railroad.OneOrMore(_drawn(inner, room - 40))
        case Repeated(inner):
            return _mended(railroad.ZeroOrMore(_drawn(inner, room - 40)))


def _mended(choice: Any) -> Any:
    """The package forgets that the last way may have several lines, and lets others run into them."""
    choice.down += choice.items[-1].height
    return choice


def _symbol(name: str, room: float) -> Any:
    if name in INLINED:
        return _drawn(_body(name), room)
    if name in spellings():
        return railroad.Terminal(spellings()[name][0])
    return railroad.NonTerminal(TOKENS.get(name, title(name)))


def _series(parts: Sequence[Part], room: float) -> Any:
    """One after the other; in several lines if that is too long for one."""
    drawn = [_drawn_with_next(part, after, room) for part, after in _pairs(parts)]
    lines: list[list[Any]] = [[]]
    for item in drawn:
        if lines[-1] and sum(one.width + 20 for one in (*lines[-1], item)) > room:
            lines.append([])
        lines[-1].append(item)
    if len(lines) == 1:
        return lines[0][0] if len(lines[0]) == 1 else railroad.Sequence(*lines[0])
    return railroad.Stack(*(railroad.Sequence(*line) for line in lines))


def _pairs(parts: Sequence[Part]) -> Iterable[tuple[Part, Part | None]]:
    """Each part; `x (separator x)*` as one, with the separator."""
    at = 0
    while at < len(parts):
        match parts[at : at + 2]:
            case [first, Repeated(Series((*between, again)), "*")] if again == first:
                yield first, between[0] if len(between) == 1 else Series(tuple(between))
                at += 2
            case _:
                yield parts[at], None
                at += 1


def _drawn_with_next(part: Part, separator: Part | None, room: float) -> Any:
    if separator is None:
        return _drawn(part, room)
    return railroad.OneOrMore(_drawn(part, room - 40), _drawn(separator, room - 40))


_HEAD = """\
# Grammar

`pytest --update` draws these diagrams from `grammar/Neel.g4`, from which [ANTLR](https://www.antlr.org)
generates the parser. Round boxes are literal text; keywords are case-insensitive. Square boxes are names,
numbers or strings, or have their own diagram. Statements end with `;`. Each section names the pages that
explain its parts.
"""

_SECTIONS = {
    "Statements": "The parts of a script: [scripts, types and expressions](language.md), "
    "[statistics](statistics.md).",
    "Pattern queries": "Their meaning: [patterns](patterns.md).",
    "JEPC-QL": "Queries over streams, [SELECT](jepc-ql.md), and over rows, "
    "[MATCH_RECOGNIZE](match-recognize.md).",
    "Expressions": "Conditions and values: [types and expressions](language.md), [functions](functions.md).",
}

_NAMES = """\
## Names, numbers, strings

A **name** consists of the letters a to z, digits and underscores, and does not begin with a digit: `price`.
In backticks, a name can contain anything: `` `unit price` ``. A **number** may have a fraction, an exponent
and a suffix for its type: `1`, `1.5e3`, `5L`. A **string** is enclosed in quotes, and a quote in it is
doubled: `'it''s'`. A **binary** is `X'1F'`. Comments are `-- ...` to the end of the line and `/* ... */`.

These words cannot be names without backticks: {reserved}.

These words are keywords in some places, and can be names everywhere else: {soft}.
"""


def file_name(name: str) -> str:
    """
    >>> file_name("patternClause")
    'pattern-clause.svg'
    """
    return f"{anchor(name)}.svg"


def anchor(name: str) -> str:
    return title(name).replace(" ", "-")


def page() -> str:
    """The whole page."""
    parts = [_HEAD]
    section = ""
    for rule in shown_rules():
        if rule.section != section:
            section = rule.section
            parts.append(f"## {section}\n\n{_SECTIONS[section]}\n")
        parts.append(_entry(rule))
    soft = [spellings()[word][0] for word in symbols(_body("softWord"))]
    fixed = (texts[0] for texts in spellings().values() if texts[0].isidentifier())
    reserved = [word for word in fixed if word not in soft]
    parts.append(_NAMES.format(reserved=_listed(reserved), soft=_listed(soft)))
    return "\n".join(parts)


def _listed(words: list[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _entry(rule: Rule) -> str:
    name = title(rule.name)
    text = shown(_spelled(rule.body)).replace("[", "&#91;").replace("]", "&#93;").replace('"', "&quot;")
    links = [
        f"[{title(part)}](#{anchor(part)})" for part in dict.fromkeys(parts_of(rule)) if part != rule.name
    ]
    below = f"\nParts: {', '.join(links)}.\n" if links else ""
    return f"### {name}\n\n![{name}: {text}](grammar/{file_name(rule.name)})\n{below}"


def parts_of(rule: Rule) -> Iterator[str]:
    """The rules with a diagram that the diagram of a rule names."""
    for name in symbols(rule.body):
        if name in INLINED:
            yield from parts_of(Rule(name, _body(name), ""))
        elif name[0].islower() and name not in HIDDEN:
            yield name


def _spelled(part: Part) -> Part:
    """The part with tokens as they are written, for those who cannot see the picture."""
    match part:
        case GrammarSymbol(name):
            return GrammarSymbol(spellings()[name][0] if name in spellings() else title(name))
        case Series(parts):
            return Series(tuple(map(_spelled, parts)))
        case GrammarChoice(parts):
            return GrammarChoice(tuple(map(_spelled, parts)))
        case Repeated(inner, mark):
            return Repeated(_spelled(inner), mark)


def _body(name: str) -> Part:
    return next(rule.body for rule in rules() if rule.name == name)
