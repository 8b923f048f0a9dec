"""The rule `unwrap_negated_optional`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir.patterns import Exists, Not, Optional, Pattern, all_parts, may_be_empty
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rebuilding import constrained


def unwrap_negated_optional(part: Pattern, facts: QueryFacts) -> Pattern | None:
    """`!(q?)` is `!q`: what a negation rejects must bind an event, so q must be there (decision 0008).

    >>> from pattern_examples import after
    >>> print(after(unwrap_negated_optional, "SEQ(A a, !(B? b : b.x > a.x), C c)"))
    SEQ(A a, !(B b : b.x > a.x), C c)
    >>> print(after(unwrap_negated_optional, "SEQ(A a, !(SEQ(B b, D? d)?), C c)"))
    SEQ(A a, !SEQ(B b, D? d), C c)

    Not when q can be satisfied by dropped events alone. Then it is left out as far as `?` can see, and the
    negation always holds; `!q` does not.

    >>> after(unwrap_negated_optional, "SEQ(A a, !(SEQ(B? b, EXISTS d : D d)?), C c)")
    """
    match part:
        case Not(Optional(inner) as optional) if not _drops_all(inner):
            present = constrained(inner, optional.where, optional.within)
            return None if present is None else replace(part, part=present)
    return None


def _drops_all(part: Pattern) -> bool:
    """Whether a part can be satisfied by events, and bind none of them."""
    return may_be_empty(part) and any(isinstance(inner, Exists) for inner in all_parts(part))
