"""Numbers as people read them."""

from __future__ import annotations

import math

UNITS = ("B", "KB", "MB", "GB", "TB", "PB")


WORDS = ((1e12, "trillion"), (1e9, "billion"))


def amount(value: float) -> str:
    """A count or a share: three digits that matter, thousands apart.

    >>> [amount(value) for value in (0, 0.00512, 0.333333, 7.5, 1234.56, 99999999)]
    ['0', '0.00512', '0.333', '7.5', '1,230', '100,000,000']
    >>> [amount(value) for value in (23_300_000_000, 1.9e12, 3.2e15, 1e200)]
    ['23.3 billion', '1.9 trillion', '3.2e15', '1e200']
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    if abs(rounded) >= 1e15:
        mantissa, _, exponent = f"{rounded:.2e}".partition("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    for unit, word in WORDS:
        if abs(rounded) >= unit:
            return f"{rounded / unit:.3g} {word}"
    if abs(rounded) < 1e-6:
        return f"{rounded:.3g}"
    return f"{rounded:,.{digits}f}".rstrip("0").rstrip(".") if digits > 0 else f"{rounded:,.0f}"


def rows(value: float, is_assumed: bool = False) -> str:
    """An expected number of rows; with a star if it rests on defaults.

    >>> rows(1), rows(0.2), rows(17.5), rows(12345, is_assumed=True), rows(0)
    ('about 1 row', 'less than 1 row', 'about 18 rows', 'about 12,300 rows*', 'no rows')
    """
    star = "*" if is_assumed else ""
    if value < 1:
        return ("less than 1 row" if value else "no rows") + star
    count = amount(round(value)) if value < 1000 else amount(value)
    return f"about {count} row{'' if count == '1' else 's'}{star}"


def size(value: float) -> str:
    """A number of bytes.

    >>> size(12), size(2_340_000), size(5e21)
    ('12 B', '2.34 MB', '5,000,000 PB')
    """
    power = 0 if value < 1 else min(int(math.log10(value)) // 3, len(UNITS) - 1)
    return f"{amount(value / 1000**power)} {UNITS[power]}"


def times(value: float) -> str:
    """
    >>> times(3.14159), times(1.0), times(12345.6), times(math.inf)
    ('3.1x', '1.0x', '12,346x', 'many times')
    """
    if not math.isfinite(value):
        return "many times"
    if value >= 1e9:
        return f"{amount(value)}x"
    return f"{value:,.0f}x" if value >= 100 else f"{value:.1f}x"
