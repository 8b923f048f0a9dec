"""SASE++'s consistency of conditions on Kleene closures (section 5.2 of its paper): which of them can be
judged on the fly, while lists are shared, and which are postponed until lists are enumerated.

A condition with `b[i]`, `b[i-1]` or `b[..i-1]` is judged for an event e against the list L that it would be
an element of; one without for complete lists. It is *true-value consistent* if, being TRUE for L, it is TRUE
for every part of L (that holds e; that is not empty, unless the closure may be), and *false-value
consistent* if, not being TRUE for L, it is TRUE for no part of it. Where several lists are mentioned, that is
said of parts of all of them at once.

The paper knows no NULL. `e.x > max(b[..i-1].x)` may be TRUE for the values 1, NULL and is UNKNOWN for NULL
alone, so SASE++'s own example is true-value consistent only where `b[].x` is not NULL. Such a proviso is part
of the claim. And here `b[i-1]` and `b[..i-1]` make a condition hold for first elements by definition, so that
an event that fails against L may still begin a list.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from neelc.ir import expr as e
from neelc.plan.consistency_adjacent import is_adjacent, is_transitive
from neelc.plan.consistency_known import Known, knowledge
from neelc.plan.consistency_shape import Shape, running, shapes, singles
from neelc.plan.consistency_trends import Claim, Truths, truths

__all__ = ["Claim", "Consistency", "Kind", "Known", "Shape", "consistency", "knowledge", "shapes"]

NOTHING = Known()
NO_TRUTHS = Truths(None, None, None, None)


class Kind(Enum):
    """SASE++'s four classes."""

    BOTH = "true- and false-value consistent"
    TRUE = "true-value consistent"
    FALSE = "false-value consistent"
    INCONSISTENT = "inconsistent"


MEANING = {
    Kind.BOTH: "holds or fails for each part of a list as for the list; judged on the fly, SAFE or discarded",
    Kind.TRUE: "what holds for a list holds for each part of it; judged on the fly, SAFE",
    Kind.FALSE: "what fails for a list fails for each part of it; judged on the fly, discarded or kept",
    Kind.INCONSISTENT: "what a list says of its parts is not known; postponed",
}
KINDS = {(True, True): Kind.BOTH, (True, False): Kind.TRUE, (False, True): Kind.FALSE}


@dataclass(frozen=True)
class Consistency:
    """What is known of one condition.

    `true` and `false` are the two claims: None, or what must not be NULL for any element of the lists for
    the claim to hold. `false_later` is the second claim for parts of L in which at least `lag` elements
    stand before e: for the first `lag` elements of a list the condition holds by definition.

    `is_adjacent`: it relates `b[i]` and `b[i-1]` of one list and mentions only single variables beside.
    `is_transitive`: that relation is transitive, so that it holds for every part of a list for all of
    whose neighbours it holds.
    """

    condition: e.Expr
    true: Claim
    false: Claim
    false_later: Claim
    lag: int
    shapes: tuple[tuple[str, Shape], ...]
    singles: tuple[str, ...]
    is_adjacent: bool
    is_transitive: bool

    @property
    def kind(self) -> Kind:
        """The class, whatever is NULL."""
        return _kind(self.true == frozenset(), self.false == frozenset())

    @property
    def kind_without_nulls(self) -> Kind:
        """The class for lists for whose elements nothing in `provided` is NULL."""
        return _kind(self.true is not None, self.false is not None)

    @property
    def provided(self) -> frozenset[e.Expr]:
        """What must not be NULL for any element, written with `b[]`, for `kind_without_nulls` to hold."""
        return (self.true or frozenset()) | (self.false or frozenset())

    @property
    def shape(self) -> Shape:
        """All places of all lists that the condition mentions."""
        whole = Shape.SAME if isinstance(self.condition, e.Same) else Shape.NONE
        for _, shape in self.shapes:
            whole |= shape
        return whole

    def given(self, solid: Iterable[e.Expr]) -> Consistency:
        """With what is known not to be NULL for any element, written with `b[]`.

        >>> from neelc.rewrite.examples import query
        >>> found = consistency(query("SEQ(B+ b[], C c) WHERE c.x > max(b[..i].x)").pattern.where)
        >>> found.kind.name, found.given(found.provided).kind.name
        ('INCONSISTENT', 'TRUE')
        """
        true, false, later = (
            None if claim is None else claim.difference(solid)
            for claim in (self.true, self.false, self.false_later)
        )
        return replace(self, true=true, false=false, false_later=later)

    def __str__(self) -> str:
        """The sentence for explanations."""
        kind = self.kind_without_nulls
        names = ", ".join(sorted(map(str, self.provided)))
        proviso = f" where {names} is not NULL" if names else ""
        sentence = f"{kind.value}{proviso}: {MEANING[kind]}"
        if self.is_transitive:
            return (
                f"{sentence}; transitive: what holds for all neighbours in a list does so in each part of it"
            )
        if self.false_later is not None and self.false is None:
            return f"{sentence}; what fails for a list fails for each part of it that it does not begin"
        return sentence


def consistency(condition: e.Expr, known: Known = NOTHING) -> Consistency:
    """What is known of one conjunct; `known` is what the whole pattern says (`knowledge`).

    >>> from neelc.rewrite.examples import query
    >>> def of(text: str) -> Consistency:
    ...     pattern = query(f"SEQ(A a, B+ b[], C c) WHERE {text}").pattern
    ...     return consistency(pattern.where, knowledge(pattern))
    >>> of("b[i].x > a.x").kind.name, of("c.x < max(b[].x)").kind.name, of("c.x < avg(b[].x)").kind.name
    ('BOTH', 'FALSE', 'INCONSISTENT')
    >>> found = of("b[i].x > max(b[..i-1].x)")
    >>> found.kind.name, found.kind_without_nulls.name, [str(element) for element in found.provided]
    ('INCONSISTENT', 'TRUE', ['b[].x'])
    >>> print(of("count(b[]) < 5"))
    true-value consistent: what holds for a list holds for each part of it; judged on the fly, SAFE
    """
    bases, lag = running(condition)
    filled = known.filled | {base.name for base in bases if isinstance(base, e.Variable)}
    found = truths(condition, replace(known, filled=filled)) if len(bases) < 2 else NO_TRUTHS
    return Consistency(
        condition,
        true=found.true,
        false=None if lag > 0 else found.not_true,
        false_later=found.not_true,
        lag=lag,
        shapes=shapes(condition),
        singles=singles(condition),
        is_adjacent=is_adjacent(condition),
        is_transitive=is_transitive(condition),
    )


def _kind(true: bool, false: bool) -> Kind:
    return KINDS.get((true, false), Kind.INCONSISTENT)
