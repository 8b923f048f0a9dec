"""Probabilities in three-valued logic."""

from __future__ import annotations

from dataclasses import dataclass

from neelc.ir.expr import Cast, Expr


@dataclass(frozen=True)
class Truth:
    """How often a condition is TRUE and FALSE; what is missing to 1 is UNKNOWN."""

    true: float
    false: float

    @staticmethod
    def of(share: float, unknown: float = 0.0) -> Truth:
        """TRUE for a share of the cases in which it is known."""
        known = 1 - unknown
        return Truth(share * known, (1 - share) * known)

    @property
    def unknown(self) -> float:
        return max(0.0, 1 - self.true - self.false)

    def __invert__(self) -> Truth:
        """NOT.

        >>> ~Truth(0.2, 0.7)
        Truth(true=0.7, false=0.2)
        """
        return Truth(self.false, self.true)


ALWAYS = Truth(1.0, 0.0)


def without_casts(expression: Expr) -> Expr:
    """What a cast is applied to: casts keep the order of values, more or less."""
    while isinstance(expression, Cast):
        expression = expression.operand
    return expression
