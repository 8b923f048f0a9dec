"""Allen's names between the events of a PATTERN: on all orders of end points, what they mean for plans, and
that their words stay names."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pytest
from in_kernel import kernel_matches
from pattern_examples import LASTING, STREAM, query

from neelc.ir.allen import ALLEN, WORDS, name_of, relation
from neelc.ir.end_points import names_between
from neelc.ir.program import Match
from neelc.pattern.plan.kernel_plan import kernel_plan
from neelc.pattern.rules.driver import forms
from neelc.program import bind
from neelc.runtime.reference import Tables, matches, run
from neelc.runtime.reference.model import Binding
from neelc.source import Source
from neelc.syntax import expression, pattern, script

INTERVALS = [(start, end) for start in range(4) for end in range(start, 4)]
PAIRS = list(product(INTERVALS, INTERVALS))
"""All orders of four end points, and most of them several times."""

LOG = (
    "CREATE STREAM L (ts BIGINT, te BIGINT, kind STRING, id INT) "
    "TIMESTAMP BY ts UNIT SECONDS END BY te TYPE BY kind; "
)


def related(text: str) -> Match:
    source = Source(f"{LOG}PATTERN {text} WITHIN 1 HOUR;")
    return bind(script(source), source).queries[0].match


def tables() -> Tables:
    """Two events for each id, which is the number of the pair."""
    rows = [
        {"ts": start, "te": end, "kind": kind, "id": number}
        for number, pair in enumerate(PAIRS)
        for kind, (start, end) in zip("AB", pair, strict=True)
    ]
    return {"L": rows}


def ids(found: Iterable[Binding]) -> set[int]:
    return {binding["a"].attributes["id"] for binding in found}  # type: ignore[attr-defined]


def of_name(name: str) -> set[int]:
    """The pairs that have a relation, by the table of words."""
    return {number for number, (a, b) in enumerate(PAIRS) if name_of(relation(a, b)) == name}


def test_the_pairs_have_all_words() -> None:
    assert {relation(a, b) for a, b in PAIRS} == set(WORDS)


@pytest.mark.parametrize("name", ALLEN)
def test_a_name_is_its_words(name: str) -> None:
    match = related(f"AND(A a, B b) WHERE [id] AND a {name} b")
    written = ids(matches(match, tables()))
    assert written == of_name(name)
    assert ids(kernel_matches(match, tables())) == written
    for form in forms(match):
        assert ids(kernel_matches(form.rewriting.query, tables())) == written, form.name


def test_exactly_one_name_holds() -> None:
    found = [ids(kernel_matches(related(f"AND(A a, B b) WHERE [id] AND a {n} b"), tables())) for n in ALLEN]
    assert sum(map(len, found)) == len(PAIRS) and set.union(*found) == set(range(len(PAIRS)))


@pytest.mark.parametrize("name", ALLEN)
def test_negated(name: str) -> None:
    """Of the reference and of the kernel: NOT, a negative part, and one of two names."""
    inside = related(f"AND(A a, !(B b : b {name} a)) WHERE [id]")
    other = related(f"AND(A a, B b) WHERE [id] AND NOT b {name} a")
    either = related(f"AND(A a, B b) WHERE [id] AND (b {name} a OR b EQUALS a)")
    wanted = {number for number, (a, b) in enumerate(PAIRS) if name_of(relation(b, a)) == name}
    equal = of_name("EQUALS")
    rest = set(range(len(PAIRS))) - wanted
    for match, expected in ((inside, rest), (other, rest), (either, wanted | equal)):
        assert ids(matches(match, tables())) == expected
        assert ids(kernel_matches(match, tables())) == expected


def test_what_points_can_have() -> None:
    for left, right in product((True, False), repeat=2):
        pairs = [(a, b) for a, b in PAIRS if (left or a[0] == a[1]) and (right or b[0] == b[1])]
        assert set(names_between(left, right)) == {name_of(relation(a, b)) for a, b in pairs}


@pytest.mark.parametrize("name", ["BEFORE", "OVERLAPS", "DURING", "MET BY"])
def test_planned_as_comparisons(name: str) -> None:
    """What rules and plans see is what a person would have written with `ts` and `te`."""
    compared = {
        "BEFORE": "a.te < b.ts",
        "OVERLAPS": "a.ts < b.ts AND b.ts < a.te AND a.te < b.te",
        "DURING": "b.ts < a.ts AND a.te < b.te",
        "MET BY": "a.ts = b.te AND b.ts < b.te AND a.ts < a.te",
    }[name]
    named, written = (
        query(f"AND(A a, B b) WHERE {where} WITHIN 9", LASTING) for where in (f"a {name} b", compared)
    )
    simplified = [next(form for form in forms(one) if form.name == "simplified") for one in (named, written)]
    programs = [kernel_plan(form.rewriting.query, (), "MILLISECOND").program for form in simplified]
    assert programs[0] == programs[1]


def test_points_end_when_they_start() -> None:
    (form,) = [f for f in forms(query("AND(A a, B b) WHERE a BEFORE b", STREAM)) if f.name == "simplified"]
    assert str(form.rewriting.query.pattern) == "AND(A a, B b WHERE a.ts < b.ts)"


@pytest.mark.parametrize("name", ALLEN)
def test_printed(name: str) -> None:
    match = query(f"AND(A a, B+ b[]) WHERE a {name.lower()} b[last] AND a.x > 1 WITHIN 9", LASTING)
    assert str(match.pattern) == f"AND(A a, B+ b[] WHERE a {name} b[last] AND a.x > 1)"
    assert str(expression(f"NOT a {name} b[i] OR k[i].a {name} b")) == f"NOT a {name} b[i] OR k[i].a {name} b"


def test_the_words_are_names() -> None:
    """Everywhere but between two values."""
    words = sorted({word for name in ALLEN for word in name.split()} - {"BY"})
    for word in words:
        assert str(pattern(f"SEQ({word} {word}, B b, {word}.{word} = b.x)"))
        columns = f"CREATE STREAM S (ts BIGINT, {word} INT, kind STRING) TIMESTAMP BY ts TYPE BY kind; "
        source = Source(
            f"{columns}PATTERN SEQ(A {word}, B b) WHERE {word}.{word} > b.{word} WITHIN 5 SECONDS"
        )
        assert bind(script(source), source).queries
        source = Source(f"{columns}SELECT {word} AS {word}, {word} {word}_2 FROM S WHERE {word} > 1")
        assert bind(script(source), source).queries
    assert str(expression("contains(a.x, 'y') AND during(a) = overlaps")) == (
        "contains(a.x, 'y') AND during(a) = overlaps"
    )
    assert str(expression("contains contains contains")) == "contains CONTAINS contains"


def test_clauses_after_a_condition_that_is_a_name() -> None:
    """`AFTER` begins a clause as well."""
    source = Source(
        "CREATE STREAM S (ts BIGINT, ok BOOLEAN, kind STRING) TIMESTAMP BY ts TYPE BY kind; "
        "PATTERN SEQ(A a, B b) WHERE a.ok AFTER MATCH SKIP PAST LAST EVENT WITHIN 5 SECONDS;"
        "PATTERN SEQ(A a, B b) WHERE b AFTER a AFTER MATCH SKIP PAST LAST EVENT WITHIN 5 SECONDS;"
    )
    one, other = (named.match for named in bind(script(source), source).queries)
    assert one.kept is not None and other.kept is not None
    assert str(other.pattern) == "SEQ(A a, B b WHERE b AFTER a)"


def test_events_without_an_end() -> None:
    """They end after all others, and together: exactly one name holds of each pair."""
    chosen = " + ".join(f"CASE WHEN a {name} b THEN 1 ELSE 0 END" for name in ALLEN)
    text = (
        "CREATE STREAM L (ts BIGINT, kind STRING, id INT) TIMESTAMP BY ts UNIT SECONDS TYPE BY kind; "
        "CREATE QUERY Open AS SELECT id FROM L WINDOW(COUNT 2 EVENTS); "
        f"PATTERN AND(Open a, Open b) WHERE a.id <> b.id RETURN a.id AS a, b.id AS b, {chosen} AS n"
    )
    rows = [{"ts": ts, "kind": "A", "id": number} for number, ts in enumerate([1, 1, 3, 4, 4, 6, 6])]
    source = Source(text)
    (_, found), *_ = run(bind(script(source), source), {"L": rows})[-1:]
    assert len(found.rows) == 7 * 6 and {row[-1] for row in found.rows} == {1}
