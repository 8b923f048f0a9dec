"""The rule `distribute_conjunction`."""

from __future__ import annotations

from neelc.ir.patterns import And, AndNeg, Pattern
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rebuilding import distributed
from neelc.pattern.rules.rule import RefusalReason


def distribute_conjunction(part: Pattern, facts: QueryFacts) -> Pattern | RefusalReason | None:
    """An AND with an OR in it is an OR of ANDs, one for each branch; so is an AND_NEG.

    A match takes one branch, and the variables of the others are NULL. The scope of a part is the AND's; in
    AND_NEG a negation looks between its neighbours, and the extent of an OR is that of its branch.

    >>> from pattern_examples import after
    >>> print(after(distribute_conjunction, "AND(OR(A a, B b), OR(C c, D d) WHERE [id])"))
    OR(AND(A a, C c), AND(A a, D d), AND(B b, C c), AND(B b, D d) WHERE [id])
    >>> print(after(distribute_conjunction, "AND_NEG(OR(A a, B b), !N n, C c)"))
    OR(AND_NEG(A a, !N n, C c), AND_NEG(B b, !N n, C c))

    The guards are those of `distribute_sequence`.

    >>> after(distribute_conjunction, "AND(A a, OR(B? b, C c WHERE b.x > 1))")
    >>> text = ", ".join(f"OR(A a{n}, B b{n})" for n in range(9))
    >>> print(after(distribute_conjunction, f"AND({text})"))
    refused: it would have 512 branches, and the limit MAX_BRANCHES is 256
    """
    return distributed(part, facts) if isinstance(part, And | AndNeg) else None
