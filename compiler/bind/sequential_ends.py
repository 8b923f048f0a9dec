"""Repetitions at the ends of JEPC's patterns.

"The function ignores all Kleene operators that are applied to the first and last symbol in P. In the case of
a Kleene star, the symbol is removed completely from the beginning or ending of the pattern. And in the case
of a Kleene plus, only the operator is removed." (JEPC thesis, 6.3.3.4). So each match is reported for the
shortest of the sequences around it. Here that holds for every repetition: at an end it is read the least
number of times, and what then is at the end is read in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence

from neelc.ir.node import Node, map_children
from neelc.ir.rows import RowAlternation, RowEmpty, RowPattern, RowRepeat, RowSequence

Parts = tuple[RowPattern, ...]


def without_open_ends(pattern: RowPattern) -> RowPattern:
    """The pattern with every repetition at its beginning and end read the least number of times.

    >>> from neelc.ir.rows import RowVariable
    >>> a, b, c = map(RowVariable, "ABC")
    >>> star, plus = RowRepeat(b, 0, None), RowRepeat(b, 1, None)
    >>> print(without_open_ends(RowSequence((star, a, star, c, plus))))
    A B* C B
    >>> print(without_open_ends(RowSequence((star, RowRepeat(a, 0, 1), c))))
    C

    An alternative that begins so is another pattern, and the rest of that one may begin so too.

    >>> print(without_open_ends(RowSequence((RowAlternation((plus, RowSequence((star, c)))), a))))
    (B | C) A
    >>> print(without_open_ends(RowSequence((RowAlternation((star, c)), plus, a))))
    B A | C B+ A

    What is left of a pattern may be nothing; then it never matches.

    >>> print(without_open_ends(star))
    ()
    """
    return _mirrored(_begun(_mirrored(_begun(pattern))))


def _begun(pattern: RowPattern) -> RowPattern:
    return _one_of([_in_sequence(way) for way in _ways((pattern,))])


def _ways(parts: Parts) -> list[Parts]:
    """The alternatives of a sequence of parts, each without repetition at its beginning."""
    if not parts:
        return [()]
    first, rest = parts[0], parts[1:]
    match first:
        case RowEmpty():
            return _ways(rest)
        case RowSequence(inner):
            return _ways((*inner, *rest))
        case RowRepeat(part, least):
            again = (RowRepeat(part, least - 1, least - 1),) if least > 1 else ()
            return _ways((part, *again, *rest)) if least else _ways(rest)
        case RowAlternation(branches):
            begun = [_ways((branch,)) for branch in branches]
            if all(way for ways in begun for way in ways):
                return [(_one_of([_in_sequence(way) for ways in begun for way in ways]), *rest)]
            return [way for branch in branches for way in _ways((branch, *rest))]
    return [parts]


def _in_sequence(parts: Sequence[RowPattern]) -> RowPattern:
    if len(parts) == 1:
        return parts[0]
    return RowSequence(tuple(parts)) if parts else RowEmpty()


def _one_of(patterns: Sequence[RowPattern]) -> RowPattern:
    different = tuple(dict.fromkeys(patterns))
    return different[0] if len(different) == 1 else RowAlternation(different)


def _mirrored(pattern: RowPattern) -> RowPattern:
    """The pattern read from its end."""

    def change(node: Node) -> Node:
        changed = map_children(node, change)
        return RowSequence(changed.parts[::-1]) if isinstance(changed, RowSequence) else changed

    mirrored = change(pattern)
    assert isinstance(mirrored, RowPattern)
    return mirrored
