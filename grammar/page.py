"""The page docs/reference/grammar.md: every rule of the grammar as a picture, a text and links to its parts.

`pytest --update tests/test_grammar_page.py` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator

from neelc.grammar.diagrams import HIDDEN, INLINED, shown_rules, title
from neelc.grammar.rules import Choice, Part, Repeated, Rule, Series, Symbol, rules, shown, symbols
from neelc.grammar.spellings import spellings

_HEAD = """\
# Grammar

Drawn from `grammar/Neel.g4`, of which [ANTLR](https://www.antlr.org) makes the parser, by `pytest --update`.
Round boxes are written as they are, words in any case; square ones are names, numbers or strings, or have a
diagram of their own. Statements end with `;`. What the parts mean is told on the pages that each section
names.
"""

_SECTIONS = {
    "Statements": "What a script is made of: [scripts, types and expressions](language.md), "
    "[statistics](statistics.md).",
    "Pattern queries": "What they find: [patterns](patterns.md).",
    "JEPC-QL": "Queries over streams, [SELECT](jepc-ql.md), and over rows, "
    "[MATCH_RECOGNIZE](match-recognize.md).",
    "Expressions": "Conditions and values: [types and expressions](language.md), [functions](functions.md).",
}

_NAMES = """\
## Names, numbers, strings

A **name** is letters of a to z, digits and underscores, not beginning with a digit: `price`; or anything
between backticks: `` `unit price` ``. A **number** may have a fraction, an exponent and a suffix for its
type: `1`, `1.5e3`, `5L`. A **string** stands between quotes, and a quote in it is written twice: `'it''s'`;
a **binary** is `X'1F'`. Comments are `-- ...` to the end of the line and `/* ... */`.

These words cannot be names without backticks: {reserved}.

These have a meaning in some places, and are free as names in all others: {soft}.
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
        case Symbol(name):
            return Symbol(spellings()[name][0] if name in spellings() else title(name))
        case Series(parts):
            return Series(tuple(map(_spelled, parts)))
        case Choice(parts):
            return Choice(tuple(map(_spelled, parts)))
        case Repeated(inner, mark):
            return Repeated(_spelled(inner), mark)


def _body(name: str) -> Part:
    return next(rule.body for rule in rules() if rule.name == name)
