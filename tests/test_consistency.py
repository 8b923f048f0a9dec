"""What the compiler claims about parts of lists, and whether the reference interpreter agrees."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pattern_examples import query
from sublists import bindings, conditions, filtered, pattern, violations

from neelc.errors import NeelError
from neelc.ir.expressions import conjuncts
from neelc.pattern.plan.consistency import Consistency, ConsistencyKind, ListPlaces, consistency, knowledge

# A condition on SEQ(A a, B+ b[], C* c[], D d), its class where nothing is NULL, then what must not be NULL:
# for the class to hold, if any.
TABLE = """
b[i].x > 5                                  BOTH
b[i].x > a.x + d.x                          BOTH
a.x > d.x                                   BOTH
b[i].s IN ('u', a.s) OR b[i].x IS NULL      BOTH
b[i].x > max(b[..i-1].x)                    TRUE          b[].x
b[i].x >= max(b[..i].x)                     TRUE          b[].x
d.x > max(b[].x)                            TRUE          b[].x
d.x > max(b[].n) + 0.5                      INCONSISTENT
d.x > max(b[].x) * 2 + 1                    TRUE          b[].x
d.x < min(b[].x)                            TRUE          b[].x
NOT d.x >= min(b[].x)                       TRUE          b[].x
d.x < max(b[].x)                            FALSE
d.x > max(c[].x)                            INCONSISTENT
d.x < max(c[].x)                            FALSE
a.x > min(b[].x) AND d.x < max(b[].x)       FALSE
a.x > min(b[].x) OR d.x < max(b[].x)        FALSE
a.x > min(b[].x) OR d.x > max(b[].x)        INCONSISTENT
NOT d.x < max(b[].x)                        TRUE          b[].x
(d.x < max(b[].x)) IS NOT TRUE              TRUE
min(b[].x) BETWEEN a.x AND d.x              INCONSISTENT
b[i].x < max(b[..i-1].x)                    INCONSISTENT
b[i].x < max(b[].x)                         FALSE
b[i].n < max(b[..i].x)                      FALSE
b[i].x > max(c[].x)                         INCONSISTENT
b[i].x < max(c[].x)                         FALSE
count(b[]) >= 3                             FALSE
count(b[]) <= 3                             TRUE
count(b[]) + count(c[]) <= 3                INCONSISTENT
count(b[]) - 1 <= a.n                       TRUE
count(b[]) = 3                              INCONSISTENT
count(b[..i]) <= a.x                        TRUE
count(DISTINCT c[].s) < 2                   TRUE
count(b[..2]) < 2                           INCONSISTENT
sum(b[].x) < 100                            INCONSISTENT
sum(abs(b[].x)) < 100                       TRUE          abs(b[].x)
sum(abs(b[].n)) > 100                       FALSE
sum(abs(b[].l)) > 100                       INCONSISTENT
sum(abs(b[].l)) < 100                       TRUE          abs(b[].l)
sum(abs(b[].m)) > 100                       FALSE
sum(abs(b[].w)) > 100                       INCONSISTENT
sum(-abs(b[].n)) < -100                     FALSE
sum(-abs(b[].x)) < -100                     INCONSISTENT
sum(length(b[].s)) < 3                      TRUE          length(b[].s)
sum(DISTINCT abs(b[].x)) < 100              INCONSISTENT
sum(DISTINCT abs(b[].n)) < 100              TRUE          abs(b[].n)
every(b[].ok)                               TRUE          b[].ok
some(b[].ok)                                FALSE
NOT some(b[].x > 3)                         TRUE          b[].x > 3
b[i].x > avg(b[..i-1].x)                    INCONSISTENT
stddev(b[].x) < 5                           INCONSISTENT
b[i].x > b[i-1].x                           INCONSISTENT
b[i].x > b[i-2].x                           INCONSISTENT
b[1].x > 5                                  INCONSISTENT
b[i].x > b[1].x                             INCONSISTENT
b[last].x > d.x                             INCONSISTENT
b[2].x > 5                                  INCONSISTENT
max(b[..last-1].x) < 5                      INCONSISTENT
max(b[..last-1].x) > 5                      FALSE
max(b[..2].x) > 5                           INCONSISTENT
d.x = max(b[].x)                            INCONSISTENT
a.x < max(b[].x) + a.x                      INCONSISTENT
-max(b[].x) < 5                             INCONSISTENT
"""

# With another conjunct about each element, there is no proviso.
STRONGER = """
b[i].x > max(b[..i-1].x)       b[i].x > 0                  TRUE
b[i].x > max(b[..i-1].x)       b[i].x IS NOT NULL          TRUE
b[i].x > max(b[..i-1].x)       b[i].x <=> 5                INCONSISTENT
b[i].x > max(b[..i-1].x)       b[i].n > 0                  INCONSISTENT
sum(b[].x) < 100               b[i].x >= 0                 TRUE
sum(b[].x) < 100               b[i].x > -1                 INCONSISTENT
sum(b[].n) > 100               b[i].n BETWEEN 0 AND 9      FALSE
sum(b[..i].n * 2) <= 100       0.5 < b[i].n                INCONSISTENT
"""

SHAPES = {
    "b[i].x > a.x": ListPlaces.ELEMENT,
    "b[i].x > b[i-1].x + a.x": ListPlaces.ELEMENT | ListPlaces.ADJACENT,
    "b[i].x > b[1].x": ListPlaces.ELEMENT | ListPlaces.FIRST,
    "b[1].x > 1": ListPlaces.FIRST,
    "b[i].x > b[i-3].x": ListPlaces.ELEMENT | ListPlaces.EARLIER,
    "b[i].x > max(b[..i-1].x)": ListPlaces.ELEMENT | ListPlaces.RUNNING,
    "count(b[]) > 3": ListPlaces.FINAL,
    "b[last].x > b[1].x": ListPlaces.FINAL | ListPlaces.FIRST,
    "b[2].x > 1": ListPlaces.FINAL,
    "a.x > d.x": ListPlaces.NONE,
    "[n]": ListPlaces.SAME,
}

TRANSITIVE = """
b[i].x > b[i-1].x
b[i-1].x <= b[i].x
NOT b[i].x < b[i-1].x
b[i].s = b[i-1].s
b[i].s <=> b[i-1].s
b[i].s IS NOT DISTINCT FROM b[i-1].s
b[i].x * a.x > b[i-1].x * a.x
b[i].n > b[i-1].n + 1
b[i].x <= b[i-1].x - 0
b[i-1].x > 5
"""
NOT_TRANSITIVE = """
b[i].x <> b[i-1].x
NOT b[i].s = b[i-1].s
b[i].n > b[i-1].n - 3
b[i].n <= b[i-1].n + 1
b[i].n <> b[i-1].n * 2
b[i].x - b[i-1].x > 1
b[i].x > b[i-1].x OR b[i].x < 1
b[i].x > b[i-1].n
b[i].n BETWEEN b[i-1].n AND b[i-1].n + 3
"""

# Not claimed, though it holds or might: for sums of two counts, decimals, other orders of summands.
CAUTIOUS = (
    "b[i].x >= max(b[..i].x)",
    "count(b[..2]) < 2",
    "d.x > max(b[].n) + 0.5",
    "count(b[]) + count(c[]) <= 3",
    "sum(DISTINCT abs(b[].x)) < 100",
)
BESIDE = ("a.n = a.n OR TRUE", "b[i].x >= 0", "b[i].n IS NOT NULL", "c[i].x BETWEEN 1 AND 200")


def rows(table: str, width: int) -> list[tuple[str, ...]]:
    """The lines of a table; columns stand two or more spaces apart."""
    lines = [
        [cell.strip() for cell in line.split("  ") if cell.strip()] for line in table.split("\n") if line
    ]
    return [(*cells, *[""] * (width - len(cells))) for cells in lines]


def found(text: str, beside: str | None = None) -> Consistency:
    """What is known of a condition, where another one stands beside it."""
    whole = pattern(text if beside is None else f"{text} AND {beside}")
    assert whole.where is not None
    return consistency(whole.where if beside is None else conjuncts(whole.where)[0], knowledge(whole))


def lacks(claimed: Consistency, required: set[str], tries: int = 2000) -> set[str]:
    """The required violations that are not seen on random lists."""
    chance = random.Random(1)
    for _ in range(tries):
        if not required:
            break
        required = required - {
            violation.partition(":")[0] for violation in violations(claimed, bindings(chance))
        }
    return required


@pytest.mark.parametrize(("text", "kind", "provided"), rows(TABLE, 3))
def test_classes(text: str, kind: str, provided: str) -> None:
    claimed = found(text)
    assert claimed.kind_without_nulls.name == kind
    assert ", ".join(map(str, claimed.provided)) == provided
    assert claimed.kind == (ConsistencyKind.INCONSISTENT if provided else claimed.kind_without_nulls)


@pytest.mark.parametrize(("text", "kind", "provided"), rows(TABLE, 3))
def test_what_is_not_claimed_does_not_hold(text: str, kind: str, provided: str) -> None:
    claimed = found(text)
    claims = {"not true": claimed.true, "not false": claimed.false}
    required = {violation for violation, claim in claims.items() if claim != frozenset()}
    assert lacks(claimed, set() if text in CAUTIOUS else required) == set()


def test_the_two_claims_differ_in_what_they_need() -> None:
    claimed = found("max(b[].x) IS NULL")
    assert (claimed.kind, claimed.kind_without_nulls) == (ConsistencyKind.TRUE, ConsistencyKind.BOTH)
    assert (claimed.true, claimed.false) == (frozenset(), claimed.provided)


@pytest.mark.parametrize(("text", "beside", "kind"), rows(STRONGER, 3))
def test_what_is_known_of_elements(text: str, beside: str, kind: str) -> None:
    assert found(text, beside).kind.name == kind


@pytest.mark.parametrize("text", SHAPES)
def test_shapes(text: str) -> None:
    assert found(text).shape == SHAPES[text]


def test_what_a_kernel_needs() -> None:
    claimed = found("b[i].x > b[i-2].x + a.x + max(c[].x)")
    assert claimed.shapes == (("b", ListPlaces.ELEMENT | ListPlaces.EARLIER), ("c", ListPlaces.FINAL))
    assert (claimed.singles, claimed.lag) == (("a",), 2)


def test_first_elements_hold_by_definition() -> None:
    claimed = found("b[i].x < max(b[..i-1].x)")
    assert (claimed.kind, claimed.false_later, claimed.lag) == (ConsistencyKind.INCONSISTENT, frozenset(), 1)
    assert str(claimed).endswith("what fails for a list fails for each part of it that it does not begin")


ITERATIONS = {
    "k[i].a.x > 5": (ConsistencyKind.BOTH, ListPlaces.ELEMENT),
    "max(k[].a.x) > 5": (ConsistencyKind.FALSE, ListPlaces.FINAL),
    "k[i].b[last].x > 5": (ConsistencyKind.INCONSISTENT, ListPlaces.ELEMENT | ListPlaces.NESTED),
    "count(k[].b[]) < 5": (ConsistencyKind.INCONSISTENT, ListPlaces.FINAL | ListPlaces.NESTED),
}


@pytest.mark.parametrize("text", ITERATIONS)
def test_closures_of_composites(text: str) -> None:
    whole = query(f"SEQ(A a, B+ b[])+ k[] WHERE {text}").pattern
    assert whole.where is not None
    claimed = consistency(whole.where, knowledge(whole))
    assert (claimed.kind, claimed.shape) == ITERATIONS[text]


@pytest.mark.parametrize("text", TRANSITIVE.strip().split("\n"))
def test_transitive(text: str) -> None:
    assert found(text).is_adjacent and found(text).is_transitive


@pytest.mark.parametrize("text", NOT_TRANSITIVE.strip().split("\n"))
def test_not_transitive(text: str) -> None:
    assert found(text).is_adjacent and not found(text).is_transitive
    assert lacks(found(text), {"not transitive"}) == set()


def disproved(text: str, chance: random.Random, tries: int) -> list[str]:
    """The claims about the conjuncts of a text that random lists disprove."""
    whole = pattern(text)
    claims = [consistency(conjunct, knowledge(whole)) for conjunct in conjuncts(whole.where)]
    several = [filtered(bindings(chance), whole.where) for _ in range(tries)]
    some = [binding for binding in several if binding is not None]
    wrong = [one for claimed in claims for binding in some for one in violations(claimed, binding)]
    return [violation for violation in wrong if not violation.startswith("not ")]


@pytest.mark.long
@given(conditions(), st.sampled_from(BESIDE), st.integers(0, 2**32))
def test_no_claim_is_violated(text: str, beside: str, seed: int) -> None:
    try:
        pattern(f"({text}) AND {beside}")
    except NeelError:
        assume(False)
    assert disproved(f"({text}) AND {beside}", random.Random(seed), 10) == []


def aggregates() -> list[str]:
    """One aggregate each, compared with a value: where most claims are made."""
    summed = [f.format("{0}." + name) for name in "xnlmw" for f in ("{}", "abs({})", "-abs({})")]
    ranges = "b[] b[..i-1] b[..i] b[..last-1] b[..2] c[]".split()
    forms = (
        "{} < {}",
        "{} > {}",
        "NOT {} <= {}",
        "({} + 1 >= {}) IS NOT TRUE",
        "{} * -2 < {}",
        "{} - 2 > {}",
    )
    return [
        form.format(f"{name}({argument.format(each)})", value)
        for name, argument, each, form, value in product(
            ("min", "max", "sum", "sum", "avg"), summed, ranges, forms, ("d.x", "3", "b[i].n")
        )
    ]


@pytest.mark.long
def test_no_claim_about_an_aggregate_is_violated() -> None:
    chance = random.Random(1)
    wrong = {text: disproved(text, chance, 20) for text in chance.sample(aggregates(), 150)}
    assert {text: found[0] for text, found in wrong.items() if found} == {}
