"""Identifiers in source form: plain, or between backticks.

Plain names are matched as Spark does, without regard to case; quoted names exactly. Variables of row patterns
follow the standard's rule instead, as CLASSIFIER() shows them: a plain name is in capitals.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Self

from neelc.source import Span

# Words that cannot be names unless quoted. A test compares the list with the grammar.

RESERVED = frozenset(
    """
    ALL AND AND_NEG AS BETWEEN BY CASE CAST CREATE DEFINE DISTINCT ELSE EXISTS FALSE FROM GROUP HAVING IN
    INTERVAL IS LIKE LIMIT MATCH_RECOGNIZE MATCH_RECOGNIZE_SEQUENTIAL MATCH_RECOGNIZE_TEMPORAL MEASURES NOT
    NULL OR ORDER PARTITION PATTERN RETURN SELECT SEQ SEQ_NEG THEN TRUE TRY_CAST USING WHEN WHERE WINDOW WITH
    WITHIN
    """.split()
)

FREE_IN_ROWS = frozenset(
    """
    AND_NEG BETWEEN BY CREATE DEFINE EXISTS GROUP HAVING INTERVAL LIKE LIMIT MATCH_RECOGNIZE
    MATCH_RECOGNIZE_SEQUENTIAL MATCH_RECOGNIZE_TEMPORAL MEASURES ORDER PARTITION PATTERN RETURN SEQ SEQ_NEG
    TRY_CAST USING WHERE WINDOW WITHIN
    """.split()
)
"""Reserved words that may be names inside of MATCH_RECOGNIZE, where a value is expected. The others have a
meaning there, or begin a subquery."""


class Identifier(str):
    """A name in source form that knows where it stands in the text. It equals every text of its letters.

    What is made of it, its bare form for instance, is a plain `str`: it stands nowhere.

    >>> name = Identifier("price", Span(8, 13))
    >>> name, name == "price", name.span
    ('price', True, Span(start=8, end=13))
    >>> hasattr(bare(name), "span")
    False
    """

    __slots__ = ("span",)
    span: Span

    def __new__(cls, text: str, span: Span) -> Self:
        made = super().__new__(cls, text)
        made.span = span
        return made

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        # What is pickled goes to Spark's workers, which may lack this class, and have no text to point at.
        return str, (str(self),)


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def is_quoted(name: str) -> bool:
    """
    >>> is_quoted("`Price`"), is_quoted("price")
    (True, False)
    """
    return name.startswith("`")


def bare(name: str) -> str:
    """The name without its backticks.

    >>> bare("`in``side`"), bare("price")
    ('in`side', 'price')
    """
    return name[1:-1].replace("``", "`") if is_quoted(name) else str(name)


def quote(text: str) -> str:
    """
    >>> quote("in`side")
    '`in``side`'
    """
    return "`" + text.replace("`", "``") + "`"


def written(text: str, reserved: Collection[str] = RESERVED) -> str:
    """The source form of a bare name: quoted only where it must be.

    >>> written("price"), written("unit price"), written("select")
    ('price', '`unit price`', '`select`')
    """
    return text if _PLAIN.match(text) and text.upper() not in reserved else quote(text)


def same(left: str, right: str) -> bool:
    """Whether two names, in source form, mean the same thing.

    >>> same("Price", "PRICE"), same("`Price`", "PRICE"), same("`Price`", "Price")
    (True, False, True)
    """
    if is_quoted(left) or is_quoted(right):
        return bare(left) == bare(right)
    return left.casefold() == right.casefold()


def meant(name: str, texts: Iterable[str]) -> str | None:
    """The bare text that a name in source form means, or None.

    >>> meant("pattern", ["id", "Pattern"]), meant("`pattern`", ["id", "Pattern"])
    ('Pattern', None)
    """
    if is_quoted(name):
        return next((text for text in texts if text == bare(name)), None)
    return next((text for text in texts if text.casefold() == name.casefold()), None)


class NameSet:
    """Names in source form, by which others are found however many there are.

    >>> names = NameSet()
    >>> names.add("Price")
    >>> names.has("PRICE"), names.has("`PRICE`"), names.has("`Price`")
    (True, False, True)
    """

    def __init__(self) -> None:
        self._alike: dict[str, list[str]] = {}

    def add(self, name: str) -> None:
        self._alike.setdefault(bare(name).casefold(), []).append(name)

    def has(self, name: str) -> bool:
        return any(same(name, known) for known in self._alike.get(bare(name).casefold(), ()))


def find(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `name` means, or None.

    >>> find("PRICE", ["id", "price"])
    'price'
    """
    return next((c for c in candidates if same(name, c)), None)


def variable(name: str) -> str:
    """What a variable of a row pattern is called, by its name in source form. CLASSIFIER() shows it.

    >>> variable("strt"), variable("`strt`"), variable("`STRT`")
    ('STRT', 'strt', 'STRT')
    """
    return bare(name) if is_quoted(name) else name.upper()


def find_variable(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate, in source form, that is the same variable of a row pattern, or None.

    >>> find_variable("down", ["`down`", "`DOWN`"]), find_variable("`down`", ["Down"])
    ('`DOWN`', None)
    """
    return next((c for c in candidates if variable(c) == variable(name)), None)
