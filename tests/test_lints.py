"""Warnings: each lint has its place, is certain of what it says, and leaves the papers' queries alone."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from answers import answer
from generate import row_patterns
from generate.rewritable import sample
from in_rows import bound
from lint_examples import linted
from pattern_examples import STREAM
from repository import ROOT

import neelc.tools.lints
from neelc import syntax as parse
from neelc.catalog.inputs import complete
from neelc.errors import CATALOGUE, Diagnostic, NeelError
from neelc.ir.bound_rows import UNMATCHED, Recognize
from neelc.ir.expressions import AtRow, Expr, Literal, conjoin, conjuncts
from neelc.ir.node import Node, map_children, transform
from neelc.ir.patterns import Listing, Not, Pattern, all_parts
from neelc.ir.program import Match
from neelc.ir.row_patterns import RowAnchor, RowRepeat, RowSequence
from neelc.program import bind
from neelc.runtime.reference.model import LimitReached
from neelc.runtime.reference.recognize import CannotSkip, recognized
from neelc.scalar.evaluate_constants import FALSE, TRUE
from neelc.source import Source
from neelc.syntax.printer import format_script
from neelc.tools import cases
from neelc.tools.cases.streaming.rows import as_bag
from neelc.tools.lints import LINTS, ROW_LINTS, lints, query_lints
from neelc.tools.lints.condition_always_true import condition_always_true
from neelc.tools.lints.lint import LintedClause, LintedQuery, consequence

CASES = ROOT / "tests" / "cases"
HOSPITAL = ROOT / "docs" / "examples" / "hospital" / "hospital.neel"


def warnings(text: str, **arguments: object) -> list[tuple[str, str]]:
    """Each warning about `PATTERN text`: its code and the words it points at."""
    query = linted(text, arguments=arguments)
    found = query_lints(query.match, query.source)
    return [(w.code, query.source.text[w.span.start : w.span.end]) for w in found]


def test_every_lint_is_in_the_list() -> None:
    """A module of a lint says so, and has its name."""
    names = [module.name for module in pkgutil.iter_modules(neelc.tools.lints.__path__)]
    modules = {name: importlib.import_module(f"neelc.tools.lints.{name}") for name in names}
    found = [
        name for name, module in modules.items() if (module.__doc__ or "").startswith(f"The lint `{name}`")
    ]
    listed = [*LINTS, *ROW_LINTS]
    assert sorted(lint.__name__ for lint in listed) == found
    assert all(lint is getattr(modules[lint.__name__], lint.__name__) for lint in listed)


def test_warnings_come_in_the_order_of_the_text() -> None:
    text = f"{STREAM}PATTERN SEQ(S a, B+ b[]) WHERE a.x = a.x;\nPATTERN A a WHERE a.x > 1 AND a.x < 0;"
    source = Source(text)
    found = lints(bind(parse.script(source), source), source)
    assert [warning.code for warning in found] == ["NEEL6003", "NEEL6002", "NEEL6004", "NEEL6004"]
    assert [warning.span for warning in found] == sorted(warning.span for warning in found)
    assert {warning.severity for warning in found} == {"warning"}


def test_only_warnings_have_codes_of_warnings() -> None:
    text = "".join(path.read_text() for path in (ROOT / "compiler" / "tools" / "lints").glob("*.py"))
    mentioned = {code for code in CATALOGUE if f'"{code}"' in text}
    about_data = {"NEEL6131"}
    assert mentioned == {code for code in CATALOGUE if code.startswith("NEEL6")} - about_data


def test_a_query_with_nothing_to_say_about() -> None:
    assert warnings("SEQ(A a, B b) WHERE a.x < b.x AND [id] WITHIN 5 SECONDS") == []


def test_a_parameter_is_not_a_constant() -> None:
    text = "SEQ(A a, B b) WHERE (:on OR a.x > 1) AND a.x > :low AND a.x < :high WITHIN 5 SECONDS"
    assert warnings(text, on=True, low=1, high=5) == []
    # Which values contradict each other is worth a word whoever gave them.
    assert warnings(text, on=True, low=5, high=1) == [("NEEL6004", "a.x < :high")]


def test_a_condition_is_named_as_it_was_written() -> None:
    query = linted("A a WHERE a.x  >\n 1 AND\ta.x <   0")
    assert "`a.x < 0` contradicts `a.x > 1`" in query_lints(query.match, query.source)[0].message
    long = " OR ".join(f"a.x = {number}" for number in range(40))
    query = linted(f"A a WHERE ({long}) AND a.x > 50")
    (warning,) = query_lints(query.match, query.source)
    assert len(warning.message) < 120 and "..." in warning.message


def test_every_contradiction_is_told_once() -> None:
    text = "SEQ(A a, B b) WHERE a.x > 5 AND a.x < 3 AND b.x = 1 AND b.x = 2 AND a.x < 4 WITHIN 5 SECONDS"
    assert [words for _, words in warnings(text)] == ["a.x < 3", "b.x = 2", "a.x < 4"]
    # A report on the whole is not repeated for its branches.
    text = "SEQ(A a, OR((B b : b.x > 1), C c)) WHERE a.x > 5 AND a.x < 3 WITHIN 5 SECONDS"
    assert [words for _, words in warnings(text)] == ["a.x < 3"]


def test_the_place_of_a_contradiction_is_the_inner_part() -> None:
    text = "SEQ(A a, OR((B b : a.x < 3), C c)) WHERE a.x > 5 WITHIN 5 SECONDS"
    assert warnings(text) == [("NEEL6004", "a.x < 3")]


PAPERS = [*sorted(CASES.glob("papers/*.case")), *sorted(CASES.glob("sase/*.case"))]


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.stem)
def test_queries_of_the_papers_lack_nothing_but_windows(path: Path) -> None:
    case = cases.load(path)
    script = parse.script(case.query)
    given = [events.given(script) for events in case.events]
    found = complete(script, case.query, given, path.parent)
    program = bind(found.script, case.query, found.streams, case.arguments)
    assert {warning.code for warning in lints(program, case.query)} <= {"NEEL6003"}


def test_the_example_has_no_warnings() -> None:
    source = Source(HOSPITAL.read_text())
    assert lints(bind(parse.script(source), source), source) == []


Claim = tuple[str, Match | None]
"""A warning, and a query that must find the same; None when it finds nothing."""


def claims(query: LintedQuery) -> Iterator[Claim]:
    """What warnings about a query say that can be put to the test."""
    for clash in query.clashes:
        match consequence(clash.region, query):
            case "the query finds nothing" as message:
                yield message, None
            case "the negative part excludes nothing" as message:
                yield (
                    message,
                    replace(query.match, pattern=without_negation(query.match.pattern, clash.region)),
                )
    spans = [warning.span for warning in condition_always_true(query)]
    for conjunct, part in query.conditions:
        if conjunct.span in spans and query.is_always_true(conjunct, part):
            kept = conjoin(one for one in conjuncts(part.where) if one is not conjunct)
            changed = replaced(query.match.pattern, part, replace(part, where=kept))
            yield f"{conjunct} is always TRUE", replace(query.match, pattern=changed)
    for warning in query_lints(query.match, query.source):
        if "do not fit" in warning.message and "the query finds nothing" in warning.message:
            yield warning.message, None


def replaced(node: Pattern, old: Pattern, new: Pattern) -> Pattern:
    if node is old:
        return new
    return map_children(
        node, lambda child: replaced(child, old, new) if isinstance(child, Pattern) else child
    )


def without_negation(node: Pattern, region: Pattern) -> Pattern:
    """The pattern without the innermost negative part around the region."""
    if isinstance(node, Listing):
        node = replace(node, parts=tuple(part for part in node.parts if not is_innermost(part, region)))
    return map_children(
        node, lambda child: without_negation(child, region) if isinstance(child, Pattern) else child
    )


def is_innermost(part: Pattern, region: Pattern) -> bool:
    around = [inner for inner in all_parts(part) if any(one is region for one in all_parts(inner))]
    return isinstance(part, Not) and [inner for inner in around if isinstance(inner, Not)] == [part]


QUERIES = 250


def test_warnings_are_certain() -> None:
    """On random queries and streams: what finds nothing finds nothing, and what excludes nothing can go."""
    reported: Counter[str] = Counter()
    for number in range(QUERIES):
        found = sample(2_000_000 + number, 2)
        source = Source(format_script(found.script))
        query = LintedQuery(bind(parse.script(source), source).queries[-1].match, source)
        for message, other in claims(query):
            reported[message.rpartition(" is ")[-1]] += 1
            for tables in found.tables:
                before = answer(query.match, tables)
                after = answer(other, tables) if other else None
                bindings = after.bindings if after else frozenset()
                assert before is None or before.bindings == bindings, f"{source.text}\n{message}\n{tables}"
    assert len(reported) >= 3, reported


# MATCH_RECOGNIZE.

RISING = """CREATE STREAM S (ts BIGINT, kind STRING, x INT) TIMESTAMP BY ts TYPE BY kind;
"""
DOUBTFUL = "MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(B.x) AS x PATTERN (A B) DEFINE A AS x < B.x)"


def codes(text: str, **arguments: object) -> list[tuple[str, str]]:
    """Each warning about a script that may have queries of Spark's: its code and the words it points at."""
    source = Source(RISING + text)
    found = lints(bind(parse.read(source), source, arguments=arguments), source)
    return [(one.code, source.text[one.span.start : one.span.end]) for one in found]


def test_clauses_have_warnings_wherever_they_stand() -> None:
    assert codes(f"SELECT * FROM S {DOUBTFUL}") == [("NEEL6011", "B.x")]
    inner = f"SELECT * FROM S {DOUBTFUL} AS m"
    outer = "MATCH_RECOGNIZE (ORDER BY x MEASURES count(*) AS n PATTERN (C+) DEFINE C AS x < C.x)"
    found = [("NEEL6011", "B.x"), ("NEEL6004", "x < C.x")]
    assert codes(f"SELECT * FROM ({inner}) {outer}") == found
    mixed = (
        f"CREATE QUERY P AS PATTERN SEQ(A a, B b) RETURN a.x AS x, b.ts AS ts;\nSELECT * FROM P {DOUBTFUL};\n"
    )
    assert codes(f"{mixed}CREATE QUERY Q AS {inner}") == [
        ("NEEL6003", "SEQ(A a, B b)"),
        ("NEEL6011", "B.x"),
        ("NEEL6011", "B.x"),
    ]


def test_a_parameter_of_a_clause_is_not_a_constant() -> None:
    define = "DEFINE A AS :on, B AS x > :low AND x < :high"
    text = f"SELECT * FROM S MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B) {define})"
    assert codes(text, on=False, low=1, high=5) == []
    assert codes(text, on=True, low=5, high=1) == [("NEEL6004", "x < :high")]


def test_a_long_clause_is_looked_at_only_as_far_as_that_is_quick() -> None:
    several = " ".join(f"V{number}*" for number in range(2000))
    assert (
        codes(f"SELECT * FROM S MATCH_RECOGNIZE (ORDER BY ts PATTERN ({several}) DEFINE V1 AS x > V2.x)")
        == []
    )


CLAUSES = 600
CONDITIONS = (
    "x > A.x OR A.x IS NULL", "x > B.x", "B.x IS NULL", "x = 0 OR C.x > 0", "LAST(B.x, 1) IS NULL",
    "FIRST(x, 1) IS NULL", "LAST(x, 2) > 0", "x <= {v}.x OR x IS NULL", "x < LAST({v}.x) OR kind = 'a'",
    "x < {v}.x", "t < PREV(t)", "t <= PREV(t)", "FIRST(t) > t", "NEXT(t) > t", "NEXT(t) < t", "A.t > t",
    "kind = 'a'", "x > 0", "PREV(x) > 1 AND PREV({v}.x) < 1",
)  # fmt: skip
"""What lints look at; `IS NULL`, as what is always NULL is TRUE there."""


def doubtful_clause(chance: Random) -> str:
    pattern = row_patterns.pattern(chance, 2, False)
    used = sorted(set(re.findall(r"\b[ABC]\b", pattern)))
    defined = [name for name in used if chance.random() < 0.6]
    define = ", ".join(f"{name} AS {chance.choice(CONDITIONS)}".replace("{v}", name) for name in defined)
    measures = "CLASSIFIER() AS v, MATCH_NUMBER() AS m, LAST(x, 1) AS last"
    rows = f"ORDER BY t{chance.choice(['', ' DESC'])} MEASURES {measures} ALL ROWS PER MATCH"
    return f"{rows} AFTER MATCH SKIP TO NEXT ROW PATTERN ({pattern})" + (
        f" DEFINE {define}" if define else ""
    )


@pytest.mark.long
def test_warnings_about_clauses_are_certain() -> None:
    """On random clauses and rows: what is never TRUE can be FALSE, what is always NULL can be NULL, what is
    always TRUE can go, and what takes all rows can be followed by `$`."""
    seen: Counter[str] = Counter()
    for seed in range(3_000_000, 3_000_000 + CLAUSES):
        chance = Random(seed)
        text = doubtful_clause(chance)
        try:
            clause = LintedClause(bound(text), Source(f"MATCH_RECOGNIZE ({text})"))
        except NeelError:
            continue
        for warning, other in changed_clauses(clause):
            seen[warning.code] += 1
            for _ in range(4):
                table = row_patterns.rows(chance)[:8]
                found, after = recognized_rows(clause.clause, table), recognized_rows(other, table)
                assert found == after, f"{text}\n{warning.message}\n{table}"
                nothing = (
                    "the clause finds nothing" in warning.message and clause.clause.all_rows != UNMATCHED
                )
                assert not (nothing and found), f"{text}\n{warning.message}\n{table}"
    assert set(seen) == {"NEEL6004", "NEEL6005", "NEEL6010", "NEEL6011"} and min(seen.values()) >= 5, seen


def recognized_rows(clause: Recognize, table: list[Mapping[str, object]]) -> Counter[object] | str:
    try:
        return as_bag(recognized(clause, table))
    except (CannotSkip, LimitReached) as failure:
        return type(failure).__name__


def changed_clauses(linted: LintedClause) -> Iterator[tuple[Diagnostic, Recognize]]:
    """Each warning with a clause that finds the same, if the warning is right."""
    for warning in (warning for lint in ROW_LINTS for warning in lint(linted)):
        if "all values but NULL" in warning.message or "the last place" in warning.message:
            continue

        def change(node: Node, warning: Diagnostic = warning) -> Node | None:
            if node.span != warning.span:
                return None
            match node:
                case AtRow():
                    return Literal(None, node.type) if warning.code == "NEEL6011" else None
                case RowRepeat():
                    return RowSequence((node, RowAnchor("$")))
                case Expr() if warning.code in ("NEEL6004", "NEEL6005"):
                    return TRUE if "always TRUE" in warning.message else FALSE
            return None

        changed = transform(linted.clause, change)
        assert isinstance(changed, Recognize)
        if changed != linted.clause:  # an aggregate over no rows has several values
            yield warning, changed
