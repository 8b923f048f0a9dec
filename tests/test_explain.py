"""Explanations: what they say, and that each format says it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from explaining import explain, explain_pattern
from pattern_examples import STREAM, query
from repository import ROOT

from neelc.catalog.statistics.numbers import Statistics
from neelc.cli import main
from neelc.explain.explanation import PlanNode, bounds
from neelc.explain.graphs import as_dot, as_mermaid
from neelc.explain.page import as_html, as_json, report_record
from neelc.explain.report import scan_nodes
from neelc.explain.text import as_text
from neelc.pattern.analysis.keys import partition_keys

GOLDEN = sorted((ROOT / "tests" / "explanations").glob("*.txt"))
LINE = "----\n"

NASTY = STREAM + (
    "CREATE QUERY `a </script> \"b\" 'c'` AS\n"
    "PATTERN SEQ(A a, !SEQ(B b, C c), D+ d[]) WHERE a.user = '<b>\"&|`#;</script>\\' AND d[i].x > a.x\n"
    "WITHIN 10 SECONDS;\n"
    "PATTERN SEQ(A a, SEQ(B b, C c)) WHERE [id] WITHIN 1 MINUTE RETURN DISTINCT a.user;\n"
)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_explanations(path: Path, update: bool) -> None:
    """A script, a line, and the whole explanation of it."""
    text, _, expected = path.read_text().partition(LINE)
    found = as_text(explain(text, path.stem), "all")
    if update:
        path.write_text(text + LINE + found)
    else:
        assert found == expected, "pytest --update writes the current text"


CONSOLE = re.compile(r"```console\n\$ neelc ([^\n]*)\n(.*?)```", re.DOTALL)


def test_the_documentation_shows_what_is_printed(
    update: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)

    def printed(found: re.Match[str]) -> str:
        assert main(found[1].split()) == 0
        return f"```console\n$ neelc {found[1]}\n{capsys.readouterr().out}```"

    path = ROOT / "docs" / "reference" / "explain.md"
    text = path.read_text()
    shown = CONSOLE.sub(printed, text)
    if update:
        path.write_text(shown)
    else:
        assert shown == text


def nodes(node: PlanNode) -> list[PlanNode]:
    return [node, *(below for source in node.inputs for below in nodes(source))]


def scanned(text: str, label: str) -> list[str]:
    """The explanation of how the stream of a pattern is read."""
    (node,) = scan_nodes(query(text), Statistics())
    return [detail for name, detail in node.details if name == label]


def test_the_tree_of_a_plan() -> None:
    found = nodes(explain_pattern("SEQ(A a, B b) WHERE [id] WITHIN 1 MINUTE RETURN a.id, count(*)").plan)
    assert [node.kind for node in found] == ["aggregate", "match", "sort", "shuffle", "scan"]
    assert [node.title for node in found] == [
        "aggregate by a_id",
        "match",
        "sort by id, then time",
        "shuffle by id",
        "read S once",
    ]


def test_a_stream_is_read_once_for_all_its_types() -> None:
    script = (
        "CREATE STREAM S (ts BIGINT, kind STRING, x INT) TIMESTAMP BY ts TYPE BY kind;"
        "CREATE STREAM T (ts BIGINT, y INT) TIMESTAMP BY ts;"
        "CREATE TYPE AB AS (A, B);"
        "PATTERN SEQ(AB a, T t, A b) WITHIN 10 RETURN a.x;"
    )
    scans = [node for node in nodes(explain(script).queries[0].plan) if node.kind == "scan"]
    assert [(node.title, dict(node.details).get("types")) for node in scans] == [
        ("read S once", "A, B"),
        ("read T once", None),
    ]
    assert dict(scans[1].details)["columns"] == "ts (1 of 2 are not read)"


def test_only_what_concerns_one_event_is_judged_while_reading() -> None:
    text = "SEQ(A a, !(B b : b.x > 1 AND b.x > a.x), C+ c[]) WHERE a.n = 2 AND c[i].x < 5 AND c[last].x > 3"
    assert scanned(text, "only") == ["A a: a.n = 2", "B b: b.x > 1", "C c[]: c[i].x < 5"]


def test_a_type_that_is_wanted_twice_is_read_if_one_of_them_wants_it() -> None:
    assert scanned("SEQ(A a, A b) WHERE a.x > 1", "only") == []
    either = scanned("SEQ(A a, A b) WHERE a.x > 1 AND b.x < 0", "only")
    assert either == ["A a: a.x > 1 or A b: b.x < 0"]


def test_where_others_count_everything_is_read() -> None:
    for text in ("SEQ(A a, B b) WITHIN 5 EVENTS", "SEQ(A a, B b) WITHIN 5 USING STRICT CONTIGUITY"):
        assert scanned(f"{text} RETURN a.x", "types")[0].startswith("all: ")


@pytest.mark.parametrize(
    ("text", "work", "growth"),
    [
        ("A a WITHIN 5", "n", "linear"),
        ("SEQ(A a, !X x, B b, C? c) WITHIN 5", "n * w^2", "polynomial"),
        ("OR(A a, SEQ(B b, C c)) WITHIN 5", "n * w", "polynomial"),
        ("SEQ(A a, EXISTS b : SEQ(B b, C c)) WITHIN 5", "n * w", "polynomial"),
        ("SEQ(A a, B{2,3} b[]) WITHIN 5", "n * w^3", "polynomial"),
        ("SEQ(A a, B+ b[]) WITHIN 5", "n * 2^w", "exponential"),
        ("SEQ(A a, B+ b[])", "n * 2^n", "exponential"),
        ("SEQ(A a, B+ b[], C c) WITHIN 5 RETURN COLLAPSED a, b[], c", "n * w", "polynomial"),
        ("SEQ(A a, B b, C c)", "n^3", "polynomial"),
        ("SEQ(A a, B b, C c) WITHIN 5 USING SKIP TILL NEXT MATCH", "n * w", "polynomial"),
        ("SEQ(A a, B+ b[], C c) WITHIN 5 USING SKIP TILL NEXT MATCH", "n * w^2", "polynomial"),
        ("SEQ(A a, B b, C c) WITHIN 5 USING STRICT CONTIGUITY", "n", "linear"),
    ],
)
def test_complexity(text: str, work: str, growth: str) -> None:
    match = query(text)
    found = bounds(match, partition_keys(match))
    assert (found.work, found.growth) == (work, growth)


def test_what_bounds_the_state() -> None:
    def state(text: str) -> str:
        match = query(text)
        return bounds(match, partition_keys(match)).state

    assert state("SEQ(A a, B b) WITHIN 10 SECONDS").startswith("Events are kept for 10 SECONDS:")
    assert "for each id apart" in state("SEQ(A a, B b) WHERE [id] WITHIN 10 SECONDS")
    assert state("SEQ(A a, B b) WITHIN 5 EVENTS").startswith("At most 5 EVENTS are kept:")
    assert state("SEQ(A a, B b)").startswith("Nothing bounds it")


def test_steps_show_what_changed_and_the_whole() -> None:
    found = explain_pattern("SEQ(A a, SEQ(B b, SEQ(C c, D d))) WITHIN 5")
    first, second = [step for step in found.steps if step.rule == "flatten_sequence"]
    assert first.law.startswith("A SEQ directly inside a SEQ adds no order of its own")
    assert (first.before, first.after) == ("SEQ(B b, SEQ(C c, D d))", "SEQ(B b, C c, D d)")
    assert first.query_before.startswith("PATTERN SEQ(A a, SEQ(B b, SEQ(C c, D d)))")
    assert first.query_after == second.query_before
    assert second.query_after == "PATTERN SEQ(A a, B b, C c, D d)\nWITHIN 5 MILLISECONDS"


def test_reasons_why_a_rule_must_not_fire_are_told() -> None:
    text = as_text(explain(STREAM + "PATTERN SEQ(A a, !SEQ(B b, C c), D d) WITHIN 9;"), "rewrite")
    assert "Rewriting (" in text
    found = explain_pattern("SEQ(A a, !SEQ(B b, C c WHERE b.id = c.id), D d) WITHIN 9")
    assert all(refusal.reason and refusal.law for refusal in found.refusals)


def test_warnings_are_told_with_their_codes() -> None:
    script = STREAM + "PATTERN SEQ(A a, B+ b[]);"
    found = explain(script)
    assert found.queries[0].lints
    code = found.queries[0].lints[0].code
    assert f"Warning {code}: " in as_text(found, "simple")
    assert f"<b>{code}</b>" in as_html(found, "simple")
    assert json.loads(as_json(found, "simple"))["queries"][0]["lints"][0]["code"] == code


def test_json_has_the_keys_that_are_documented() -> None:
    record = json.loads(as_json(explain(NASTY), "all"))
    page = (ROOT / "docs" / "reference" / "explain.md").read_text()
    documented = set(re.findall(r"`(\w+)`", page))
    assert keys(record) <= documented
    assert set(json.loads(as_json(explain(NASTY), "nfa"))["queries"][0]) == {
        "name",
        "text",
        "chosen",
        "automaton",
    }


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def test_html_needs_nothing_from_elsewhere() -> None:
    page = as_html(explain(NASTY), "simple")
    assert re.findall(r"<link\b|\bsrc=|@import|url\((?!#)|https?://", page) == []
    assert re.findall(r'href="(?!#)', page) == []
    data = re.findall(r'<script type="application/json" id="explanation">(.*?)</script>', page, re.DOTALL)
    assert json.loads(data[0]) == json.loads(json.dumps(report_record(explain(NASTY), "all")))
    assert page.count("<script") == page.count("</script>") == 2


def test_every_page_element_is_closed() -> None:
    from html.parser import HTMLParser

    class Balance(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "input"):
                self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

        def handle_startendtag(self, tag: str, attrs: object) -> None:
            pass

    parser = Balance()
    parser.feed(as_html(explain(NASTY), "nfa"))
    assert parser.open == []


def test_pictures_quote_what_means_something_to_them() -> None:
    dot = as_dot(explain(NASTY), "all")
    strings = re.findall(r'"(?:[^"\\]|\\.)*"', dot)
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", dot)
    assert '"' not in outside and any("</script>" in text for text in strings)
    mermaid = as_mermaid(explain(NASTY), "nfa")
    assert all(line.count('"') % 2 == 0 for line in mermaid.splitlines())
    assert "</script>" not in mermaid and "#60;/script#62;" in mermaid


def test_lines_of_text_fit_on_a_page() -> None:
    parts = ", ".join(f"Type{n} v{n}" for n in range(30))
    conditions = " AND ".join(f"v{n}.x < v{n + 1}.x" for n in range(29))
    text = as_text(explain(f"{STREAM}PATTERN SEQ({parts}) WHERE {conditions} WITHIN 10;"), "all")
    assert [line for line in text.splitlines() if len(line) > 100] == []
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


STREAMING = """CREATE STREAM Clicks (ts TIMESTAMP, page STRING, user INT)
  TIMESTAMP BY ts TYPE BY page WATERMARK 90 SECONDS;
PATTERN SEQ(!Login l, Home h, !Cart c, Checkout o) WHERE [user] WITHIN 1 HOUR RETURN h.user;
"""


def test_a_query_over_streams(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "clicks.neel"
    script.write_text(STREAMING)
    assert main(["explain", "--streaming", str(script)]) == 0
    text = capsys.readouterr().out
    assert "shuffle by bucket of user" in text
    section = " ".join(text.partition("Streaming\n")[2].split())
    assert section.startswith("watermark Clicks: 90 SECONDS (declared with the stream).")
    assert "emitted A match is sure when the watermark reaches h and o." in section
    assert "kept Events of each user until the watermark is later by WITHIN (1 HOUR)." in section
    assert "buckets 16, by user" in section


DECLARED = STREAMING.partition("PATTERN")[0]
ROWS = (
    "SELECT * FROM Clicks MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES LAST(B.ts) AS t "
    "PATTERN (A B+) {} DEFINE B AS B.page <> PREV(B.page));"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "PATTERN Home h RETURN h.user;",
            "emitted A match is one event: it is emitted in the micro-batch in which that event arrives. "
            "kept Nothing: a match is one event. buckets 16, by time.",
        ),
        (
            "SELECT c.user, count(*) AS n FROM Clicks WINDOW(TIME 1 MINUTE) c GROUP BY c.user;",
            "emitted A row is sure when the watermark reaches its end, te: before, the end is not known. "
            "kept Events of Clicks for 1 MINUTE. buckets 16, by c.user.",
        ),
        (
            "SELECT c.user FROM Clicks c WHERE c.page = 'Home';",
            "emitted A row depends on one event: it is emitted in the micro-batch in which that event "
            "arrives. kept Nothing: Spark filters and projects events.",
        ),
        (
            "SELECT c.user FROM Clicks WINDOW(TIME 1 MINUTE) c, Clicks WINDOW(TIME 1 HOUR) d "
            "WHERE c.user = d.user;",
            "emitted A row is sure when its last event arrives, because it is known how long each is valid. "
            "kept Events of Clicks for 1 MINUTE. Events of Clicks for 1 HOUR. "
            "buckets 16, by d.user = c.user.",
        ),
        (
            ROWS.format("WITHIN 1 HOUR"),
            "emitted A match is sure when the watermark has passed its rows, and the row that shows that it "
            "does not go on, if it could; at the latest when WITHIN has passed. "
            "kept The rows of each key since the first from which a match is not decided; it is decided, at "
            "the latest, when WITHIN has passed. buckets 16, by user.",
        ),
    ],
)
def test_every_kind_of_query_over_streams(
    text: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "clicks.neel"
    script.write_text(DECLARED + text)
    assert main(["explain", "--streaming", str(script)]) == 0
    section = " ".join(capsys.readouterr().out.partition("Streaming\n")[2].split())
    assert section.startswith("watermark Clicks: 90 SECONDS (declared with the stream).")
    assert section.endswith(expected)
    assert main(["explain", "--streaming", "--format", "json", str(script)]) == 0
    record = json.loads(capsys.readouterr().out)
    (found,) = [one for kind in ("queries", "networks", "rows") for one in record[kind]]
    assert [note["label"] for note in found["streaming"]][:2] == ["watermark", "emitted"]
    assert main(["explain", "--streaming", "--format", "html", str(script)]) == 0
    assert "90 SECONDS (declared with the stream)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "PATTERN SEQ(Home h, Checkout o) RETURN h.user;",
            "Spark no: this query would keep every event of the stream: the pattern has no WITHIN. Add",
        ),
        (
            ROWS.format(""),
            "Spark no: this query would keep ever more rows of the stream: `B+` may take any number",
        ),
        (
            "CREATE QUERY P AS PATTERN SEQ(Home h, Checkout o) WITHIN 9 EVENTS RETURN h.user AS user;"
            "SELECT p.user FROM P WINDOW(TIME 1 MINUTE) p;",
            "Spark not yet, over streams: `P` has a window of EVENTS",
        ),
    ],
)
def test_what_does_not_run_over_streams(
    text: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "clicks.neel"
    script.write_text(DECLARED + text)
    assert main(["explain", "--streaming", str(script)]) == 0
    assert expected in " ".join(capsys.readouterr().out.split())


def test_a_query_over_bounded_data_says_nothing_of_streams(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "clicks.neel"
    script.write_text(STREAMING)
    assert main(["explain", str(script)]) == 0
    assert "Streaming" not in capsys.readouterr().out


TEMPORAL = (
    STREAM
    + """SELECT * FROM S AS s MATCH_RECOGNIZE_TEMPORAL (
  PARTITION BY s.id
  MEASURES START(A).x AS x
  PATTERN A BEFORE B, (BCBC; B MEETS C), !D, D DURING C, P DURING A; A EQUALS B
  WITHIN 1 HOUR
  DEFINE A AS TEMP(s.x > 1), B AS TEMP(s.x > START(A).x) DURATION AT LEAST 5 SECONDS, C AS TEMP(s.x > 3),
         D AS TEMP(s.x > 4), P AS s.x = 5
);
"""
)


def test_the_constraint_graph_of_a_temporal_pattern() -> None:
    report = explain(TEMPORAL)
    first, second = report.networks[0].graphs
    assert [one.title for one in first.symbols] == ["1. A", "2. B", "3. C", "4. P", "no D"]
    assert [one.title for one in second.symbols] == ["1. A", "2. B"]
    assert [one.kind for one in first.symbols] == ["interval", "interval", "interval", "point", "interval"]
    assert first.symbols[1].definition == "TEMP(x > START(A).x) DURATION AT LEAST 5 SECONDS"
    assert [line for one in first.relations for line in one.lines] == [
        "A BEFORE B  (AABB, A.ABB, AAB.B, A.AB.B)",
        "B OVERLAPS C  (BCBC)",
        "B MEETS C  (BB.CC)",
        "D DURING C  (CDDC, CD.DC)",
        "P DURING A  (APPA, AP.PA)",
    ]
    text = as_text(report, "nfa")
    assert "├─ B OVERLAPS C" not in text and "B OVERLAPS C  (BCBC) or" in text
    assert "no D  TEMP(x > 4)" in text and "4. P  x = 5, a point" in text
    assert "Constraint graph" not in as_text(report, "simple")


def test_constraint_graphs_are_drawn() -> None:
    report = explain(TEMPORAL)
    dot, mermaid, html = as_dot(report, "nfa"), as_mermaid(report, "nfa"), as_html(report, "nfa")
    assert dot.count("subgraph") == 2 and 'shape=ellipse label="4. P' in dot
    assert 'style="rounded,dashed" label="no D' in dot and '-> c1_1_2 [label="D DURING C' in dot
    assert "stroke-dasharray" in mermaid and "-.->" in mermaid
    assert html.count('<svg class="constraints"') == 2
    record = json.loads(as_json(report, "all"))["networks"][0]["graphs"]
    assert [one["place"] for one in record[0]["symbols"]] == [1, 2, 3, 4, None]
    plain = explain(f"{STREAM}SELECT x FROM S;")
    assert "Constraint graph" not in as_html(plain, "nfa") and plain.networks[0].graphs == ()
