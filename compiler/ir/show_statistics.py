"""The text of statistics, as they stand in WITH STATS.

>>> from neelc.ir.statistics import Statistic
>>> print(Statistic("RATE", (Decimal("1E+3"),), type="DELL", unit="SECOND"))
TYPE DELL RATE 1000 PER SECOND
>>> print(Statistic("RANGE", (Decimal(-1), Decimal("0.5")), column="price"))
RANGE price -1 TO 0.5
"""

from __future__ import annotations

from decimal import Decimal

from neelc.ir.expr import Expr
from neelc.ir.show_expr import show_expr
from neelc.ir.statistics import Statistic

# Numbers with more digits before or after the point are written with an exponent.
_DIGITS = 20


def show_statistic(node: Statistic) -> str:
    return f"{show_subject(node)} {_numbers(node)}"


def show_subject(node: Statistic) -> str:
    """What the number is a number of.

    >>> show_subject(Statistic("DISTINCT", (Decimal(3),), "DELL", "price"))
    'TYPE DELL DISTINCT price'
    """
    condition = show_expr(node.condition) if isinstance(node.condition, Expr) else node.condition
    about = f"({condition})" if condition is not None else node.column
    return " ".join(filter(None, (f"TYPE {node.type}" if node.type else None, node.measure, about)))


def show_number(number: Decimal) -> str:
    """
    >>> show_number(Decimal("2E+6")), show_number(Decimal("0.050")), show_number(Decimal("1E-30"))
    ('2000000', '0.050', '1E-30')
    """
    return format(number, "f") if abs(number.adjusted()) <= _DIGITS else str(number)


def _numbers(node: Statistic) -> str:
    text = " TO ".join(map(show_number, node.numbers))
    match node.measure:
        case "RATE":
            return f"{text} PER {node.unit}"
        case "SPAN":
            return f"{text} {node.unit}{'' if node.numbers[0] == 1 else 'S'}"
    return text
