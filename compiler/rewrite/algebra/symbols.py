"""How often a symbol is in the matches of a pattern."""

from __future__ import annotations

from neelc.ir import rows as r

Often = tuple[int, int | None]
"""The least and the greatest number; None is no limit."""


def occurrences(pattern: r.RowPattern, symbol: str) -> Often:
    """How many events of a match emit the symbol.

    >>> a, b = map(r.RowVariable, "AB")
    >>> occurrences(r.RowSequence((a, r.RowRepeat(b, 1, None), a)), "A")
    (2, 2)
    >>> occurrences(r.RowSequence((a, r.RowRepeat(b, 1, None), a)), "B")
    (1, None)
    >>> occurrences(r.RowAlternation((a, r.RowSequence((a, b)))), "B")
    (0, 1)
    """
    match pattern:
        case r.RowVariable(name):
            return (1, 1) if name == symbol else (0, 0)
        case r.RowSequence(parts):
            several = [occurrences(part, symbol) for part in parts]
            return sum(least for least, _ in several), _sum([most for _, most in several])
        case r.RowAlternation(parts):
            several = [occurrences(part, symbol) for part in parts]
            mosts = [most for _, most in several]
            limited = [most for most in mosts if most is not None]
            return min(least for least, _ in several), max(limited) if len(limited) == len(mosts) else None
        case r.RowRepeat(part, least, most):
            fewest, many = occurrences(part, symbol)
            if many == 0 or most == 0:
                return 0, 0
            return fewest * least, None if many is None or most is None else many * most
    return 0, 0


def _sum(numbers: list[int | None]) -> int | None:
    limited = [number for number in numbers if number is not None]
    return sum(limited) if len(limited) == len(numbers) else None
