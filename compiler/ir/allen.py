"""The 26 relations between two intervals of time, some of which are points, and Allen's 13 names for them.

A word tells the order of four end points (JEPC thesis, Table 15.2): `ABAB` is A's start, B's start, A's end,
B's end; a dot joins what is at the same instant. Here a word is a tuple of steps, one for each instant, with
the symbols whose end points are there, in the order of the alphabet: "AA" is a point, "AB" an end of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Word = tuple[str, ...]
"""The steps of a relation between A and B, in the order of time."""

TABLE = """
    AABB ABBA BBAA A.BAB AA.BB A.BBA BB.AA BAA.B ABAB ABA.B BABA A.BA.B BAAB
    A.ABB BB.A.A A.A.BB BBA.A BA.AB
    B.BAA AA.B.B B.B.AA AAB.B AB.BA
    A.AB.B B.BA.A A.A.B.B
"""
"""Table 15.2: both are intervals; A is a point; B is a point; both are points."""


def word(text: str) -> Word:
    """The steps of a word.

    >>> word("ABA.B"), word("A.A.BB"), word("B.AAB") == word("A.BAB")
    (('A', 'B', 'AB'), ('AAB', 'B'), True)
    """
    steps: list[str] = []
    for number, part in enumerate(text.split(".")):
        if number:
            steps[-1] += part[0]
        steps += part[1:] if number else part
    return canonical(steps)


def canonical(steps: Iterable[Iterable[str]]) -> Word:
    """The steps with the symbols of each in one order."""
    return tuple("".join(sorted(step)) for step in steps)


TEXTS: Mapping[Word, str] = {word(text): text for text in TABLE.split()}
"""The words, and how Table 15.2 spells them.

>>> len(TEXTS), TEXTS["AB", "A", "B"]
(26, 'A.BAB')
"""

WORDS: tuple[Word, ...] = tuple(TEXTS)

MIRRORS = str.maketrans("AB", "BA")


def mirrored(one: Word) -> Word:
    """What A and B are to each other, told of B and A.

    >>> TEXTS[mirrored(word("AABB"))], TEXTS[mirrored(word("A.A.BB"))]
    ('BBAA', 'B.B.AA')
    >>> {mirrored(one) for one in WORDS} == set(WORDS)
    True
    """
    return canonical(step.translate(MIRRORS) for step in one)


def relation(a: tuple[int, int], b: tuple[int, int]) -> Word:
    """The word that holds of two intervals: exactly one does.

    >>> relation((1, 4), (4, 9)), TEXTS[relation((3, 3), (1, 3))]
    (('A', 'AB', 'B'), 'BB.A.A')
    """
    ends = [(time, symbol) for symbol, interval in (("A", a), ("B", b)) for time in interval]
    return canonical(
        [symbol for at, symbol in ends if at == time] for time in sorted({one for one, _ in ends})
    )


# Allen tells nothing of points. They are put where his words say what is so: a point before an interval is
# before it; one at its start starts it. So each word has one name.

_NAMED = {
    "BEFORE": "AABB A.ABB AAB.B A.AB.B",
    "MEETS": "AA.BB",
    "OVERLAPS": "ABAB",
    "STARTS": "A.BAB A.A.BB",
    "DURING": "BAAB BA.AB",
    "FINISHES": "BAA.B BB.A.A",
    "EQUALS": "A.BA.B A.A.B.B",
}
_INVERSES = {
    "AFTER": "BEFORE",
    "MET BY": "MEETS",
    "OVERLAPPED BY": "OVERLAPS",
    "STARTED BY": "STARTS",
    "CONTAINS": "DURING",
    "FINISHED BY": "FINISHES",
}
_DIRECT = {name: tuple(map(word, texts.split())) for name, texts in _NAMED.items()}

ALLEN: Mapping[str, tuple[Word, ...]] = {
    **_DIRECT,
    **{name: tuple(map(mirrored, _DIRECT[direct])) for name, direct in _INVERSES.items()},
}
"""The words of each name: `A BEFORE B` holds if one of those of BEFORE does.

The 13 names partition the 26 words.

>>> named = [one for words in ALLEN.values() for one in words]
>>> len(ALLEN), len(named), set(named) == set(WORDS)
(13, 26, True)
>>> [TEXTS[one] for one in ALLEN["STARTED BY"]]
['A.BBA', 'B.B.AA']
"""


def name_of(one: Word) -> str:
    """The name that a word has.

    >>> name_of(word("BA.AB")), name_of(word("BBA.A"))
    ('DURING', 'AFTER')
    """
    return next(name for name, words in ALLEN.items() if one in words)


def deciding_step(one: Word, wanted: Iterable[Word]) -> int:
    """How many steps of a word must have been seen to know that one of the words that are `wanted` holds: all
    words that begin with so many of its steps are among them. 0 if that is known before.

    `A.BAB, ABAB` are decided by the last step; of C starting within B, the second start decides.

    >>> within = [word(text) for text in ("ABAB", "ABBA", "ABA.B")]
    >>> deciding_step(word("ABAB"), within), deciding_step(word("ABAB"), [word("ABAB")])
    (2, 3)
    >>> deciding_step(word("A.AB.B"), WORDS)
    0
    """
    known = set(wanted)
    assert one in known
    return next(
        count
        for count in range(len(one) + 1)
        if all(other in known for other in WORDS if other[:count] == one[:count])
    )
