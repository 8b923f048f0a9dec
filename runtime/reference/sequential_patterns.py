"""What is left of a pattern over symbols once its first symbol has been read (partial derivatives)."""

from __future__ import annotations

from neelc.ir.rows import RowAlternation, RowEmpty, RowPattern, RowRepeat, RowSequence, RowVariable


def after(pattern: RowPattern, symbol: str) -> set[RowPattern]:
    """The patterns of which one must match the rest, if a sequence begins with `symbol`; none if it cannot.

    >>> a, b = RowVariable("A"), RowVariable("B")
    >>> sorted(map(str, after(RowSequence((RowRepeat(a, 0, None), b)), "A")))
    ['A* B']
    >>> sorted(map(str, after(RowSequence((RowRepeat(a, 0, None), b)), "B")))
    ['()']
    >>> after(a, "B")
    set()
    """
    match pattern:
        case RowVariable(name):
            return {RowEmpty()} if name == symbol else set()
        case RowAlternation(parts):
            return {way for part in parts for way in after(part, symbol)}
        case RowSequence((first, *others)):
            rest = RowSequence(tuple(others)) if others else RowEmpty()
            found = {_then(way, rest) for way in after(first, symbol)}
            return found | after(rest, symbol) if is_matched(first) else found
        case RowRepeat(part, least, most):
            if most == 0:
                return set()
            fewer = RowRepeat(part, max(0, least - 1), None if most is None else most - 1)
            return {_then(way, fewer) for way in after(part, symbol)}
    return set()


def is_matched(pattern: RowPattern) -> bool:
    """Whether a pattern matches what is no symbol at all.

    >>> is_matched(RowRepeat(RowVariable("A"), 0, 1)), is_matched(RowVariable("A"))
    (True, False)
    """
    match pattern:
        case RowSequence(parts):
            return all(map(is_matched, parts))
        case RowAlternation(parts):
            return any(map(is_matched, parts))
        case RowRepeat(part, least):
            return least == 0 or is_matched(part)
    return isinstance(pattern, RowEmpty)


def _then(first: RowPattern, rest: RowPattern) -> RowPattern:
    """One after the other, in one form whatever the parts are made of, so that equal rests are the same."""
    parts = (*_parts(first), *_parts(rest))
    if len(parts) == 1:
        return parts[0]
    return RowSequence(parts) if parts else RowEmpty()


def _parts(pattern: RowPattern) -> tuple[RowPattern, ...]:
    match pattern:
        case RowSequence(parts):
            return parts
        case RowEmpty() | RowRepeat(most=0):
            return ()
    return (pattern,)
