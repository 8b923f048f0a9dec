"""Railroad diagrams of the rules of Neel.g4, as SVG.

Boxes bring their own background, and tracks are grey: they are read as well on a light page as on a dark one.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

import railroad

from neelc.grammar.rules import Choice, Part, Repeated, Rule, Series, Symbol, rules
from neelc.grammar.spellings import spellings

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

    >>> picture = svg(next(rule for rule in rules() if rule.name == "query"))
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
        case Symbol(name):
            return _symbol(name, room)
        case Series(parts):
            return _series(parts, room)
        case Choice(parts):
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


def _body(name: str) -> Part:
    return next(rule.body for rule in rules() if rule.name == name)


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
