"""The rule `distribute_sequence`."""

from __future__ import annotations

from neelc.ir.patterns import Pattern, Seq
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rebuilding import distributed
from neelc.pattern.rules.rule import RefusalReason


def distribute_sequence(part: Pattern, facts: QueryFacts) -> Pattern | RefusalReason | None:
    """A SEQ with an OR in it is an OR of SEQs, one for each branch (NEEL, table III).

    A match takes one branch, the variables of the others are NULL, and the extent of the OR is that of the
    branch: order and scopes are the same in the SEQ that has the branch in place of the OR. The conditions
    and the window of the SEQ move to the new OR, those of the inner OR to its branches.

    >>> from pattern_examples import after
    >>> print(after(distribute_sequence, "SEQ(E1, OR(E2, SEQ(E5, !E6, E7)))"))
    OR(SEQ(E1 E1, E2 E2), SEQ(E1 E1, SEQ(E5 E5, !E6 E6, E7 E7)))
    >>> print(after(distribute_sequence, "SEQ(A a, OR(B b, C c WHERE [id]), D d WHERE a.x > b.x OR d.x > 1)"))
    OR(SEQ(A a, (B b : [id]), D d), SEQ(A a, (C c : [id]), D d) WHERE a.x > b.x OR d.x > 1)

    Not when a branch is optional and the inner OR has a condition, which would not be checked when the branch
    is absent; nor under a closure's sign: (A or B)+ is not A+ or B+.

    >>> after(distribute_sequence, "SEQ(A a, OR(B? b, C c WHERE b.x > 1), D d)")
    >>> after(distribute_sequence, "SEQ(A a, OR(B b, C c)+ k[], D d)")

    Nor past MAX_BRANCHES, which limits the branches that the whole pattern would have in the end:

    >>> text = ", ".join(f"OR(A a{n}, B b{n})" for n in range(9))
    >>> print(after(distribute_sequence, f"SEQ({text})"))
    refused: it would have 512 branches, and the limit MAX_BRANCHES is 256

    Under strategies other than SKIP TILL ANY MATCH the branches of an OR inside a SEQ would compete for the
    next event, while SEQs are run one by one. The language has no such OR there, and the rule makes none.
    """
    return distributed(part, facts) if isinstance(part, Seq) else None
