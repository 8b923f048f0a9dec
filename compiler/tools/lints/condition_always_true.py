"""The lint `condition_always_true`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from neelc.errors import Diagnostic
from neelc.ir import expressions as e
from neelc.ir.node import walk
from neelc.pattern.analysis.truth import NotNull, contradict, untrue
from neelc.scalar.evaluate_constants import TRUE
from neelc.tools.lints.lint import LintedQuery, plain, times_in


def condition_always_true(linted: LintedQuery) -> Iterator[Diagnostic]:
    """A condition that excludes nothing, or nothing but NULL.

    >>> from lint_examples import shown
    >>> print(shown(condition_always_true, "A a WHERE a.x > 1 AND 'amount' < 'price'"))
    'amount' < 'price': `'amount' < 'price'` is always TRUE
    >>> print(shown(condition_always_true, "SEQ(A a, B b) WHERE a.id = a.id"))
    a.id = a.id: `a.id = a.id` is TRUE for all values except NULL
    >>> print(shown(condition_always_true, "SEQ(A a, B b) WHERE a.ts < b.ts"))
    a.ts < b.ts: `a.ts < b.ts` is always TRUE: the order of the pattern implies it

    Not if it may be UNKNOWN for another reason than that an attribute is NULL:

    >>> shown(condition_always_true, "A a WHERE a.x IN (1, NULL)")
    >>> shown(condition_always_true, "A a WHERE a.x / a.n = a.x / a.n")

    TRUE and `1 = 1` are written on purpose, and a parameter may have another value the next time.

    >>> shown(condition_always_true, "A a WHERE TRUE AND 1 = 1")
    """
    for conjunct, part in linted.conditions:
        if linted.has_parameter(conjunct) or is_on_purpose(conjunct):
            continue
        condition = plain(conjunct)
        whatever = is_true_unless_null(condition, _terms(condition))
        if not whatever and not times_in(conjunct, linted.match.streams):
            continue
        text = linted.text(conjunct)
        if linted.is_always_true(conjunct, part):
            why = "" if whatever else ": the order of the pattern implies it"
            yield linted.warning("NEEL6004", f"`{text}` is always TRUE{why}", conjunct, "leave it out")
        elif whatever:
            first, *others = _terms(conjunct)
            hint = "was another variable or value intended?"
            if not others:  # of several, one may be enough
                hint += f" otherwise write {linted.text(first)} IS NOT NULL"
            yield linted.warning("NEEL6004", f"`{text}` is TRUE for all values except NULL", conjunct, hint)


def is_on_purpose(conjunct: e.Expr) -> bool:
    """Whether a condition is written as one that is always TRUE."""
    match conjunct:
        case e.Binary("=", e.Literal(left), e.Literal(right)):
            return left == right
    return conjunct == TRUE


def is_true_unless_null(condition: e.Expr, terms: Iterable[e.Expr]) -> bool:
    """Whether a condition is TRUE wherever none of the terms is NULL."""
    return contradict([untrue(condition)], [NotNull(term) for term in terms])


def _terms(condition: e.Expr) -> tuple[e.Expr, ...]:
    """The attributes that a condition names."""
    found = (node for node in walk(condition) if isinstance(node, e.Attribute | e.EventTime))
    return tuple(dict.fromkeys(found))
