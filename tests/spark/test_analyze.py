"""`neelc explain --analyze`: estimated against measured, step by step."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from command_line import Here
from repository import ROOT
from snippets import blocks, like

PAGE = ROOT / "docs" / "how-to" / "gather-statistics.md"

STREAM = """CREATE STREAM trades (ts BIGINT, sym STRING, id BIGINT, price DOUBLE)
  TIMESTAMP BY ts UNIT SECONDS TYPE BY sym FROM 'trades.csv';
"""
SCRIPT = f"""{STREAM}
CREATE QUERY up AS PATTERN SEQ(A a, !N n, B b) WHERE [id] AND a.price > 10 WITHIN 100 SECONDS
  RETURN a.ts AS a, b.ts AS b;
PATTERN SEQ(up u, C c) WHERE c.price > 15 WITHIN 200 SECONDS RETURN u.a AS a, c.ts AS c;
"""

# 40 events of each type, one a second, four of each in a round of 16; ids 0 to 9; prices 0 to 19.
TRADES = "\n".join(["ts,sym,id,price", *(f"{n},{'ABCN'[n % 4]},{n // 16},{n % 20}" for n in range(160)), ""])

# By hand: an A has a price of n % 20 for n = 0, 4, 8, ...: 0, 4, 8, 12, 16, so 2 of 5 are above 10: 16 A.
# In a round of 16 events, every A is followed by a B, then C and N: only the next B has no N before it.
# So each of the 16 finds one B. A C is above 15 for n % 20 in 18: 8 of 40.
SHOWN = """\
up
══

How    kernel

  step                     estimated  measured                  seconds
  ───────────────────────  ─────────  ────────  ──────────────  ───────
  read trades                  1,000       160   6.2x fewer
    A a: a.price > 10.0D         200        16  12.5x fewer !!
    B b                          250        40   6.2x fewer
    N n                          250        40   6.2x fewer
  bring together and sort        700        96   7.3x fewer
  take A a                       200        16  12.5x fewer !!     0.00
  take B b, !N n                 171        16  10.7x fewer !!     0.00
  rows                           171        16  10.7x fewer !!

!!     off by more than 10x
"""
STATS = """{"streams": {"trades": {"events": 1000, "seconds": 1000,
  "types": {"A": {"share": 0.25, "selectivities": {"price > 10": 0.8}}, "B": {"share": 0.25},
            "C": {"share": 0.25}, "N": {"share": 0.25}},
  "columns": {"id": {"distinct": 10}}}}}"""


@pytest.fixture(params=["local", "spark"])
def neelc(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Here:
    monkeypatch.chdir(tmp_path)
    if request.param == "spark":
        spark = request.getfixturevalue("spark")
        monkeypatch.setattr("neelc.cli.analyze.session", lambda *settings: nullcontext(spark))
        monkeypatch.setattr("neelc.cli.run_on_spark.session", lambda *settings: nullcontext(spark))
    monkeypatch.setattr("neelc.cli.progress.ELSEWHERE", 3600)
    here = Here(tmp_path, capsys, request.param)
    here.write("trades.csv", TRADES)
    here.write("script.neel", SCRIPT)
    return here


def steps(neelc: Here, script: str, *more: str) -> dict[str, dict[str, Any]]:
    """The steps of the last query by their names."""
    neelc.write("script.neel", script)
    done = neelc("explain", "script.neel", "--analyze", "--format", "json", *more)
    assert done.status == 0, done.err
    return {step["step"]: step for step in json.loads(done.out)["queries"][-1]["steps"]}


def counts(found: dict[str, dict[str, Any]]) -> dict[str, int | None]:
    return {name: step["measured"] for name, step in found.items()}


def test_estimated_against_measured(neelc: Here) -> None:
    neelc.write("stats.json", STATS)
    done = neelc("explain", "script.neel", "--analyze", "--query", "up", "--stats", "stats.json")
    assert done.status == 0, done.err
    assert re.sub(r"0\.\d\d$", "0.00", done.out, flags=re.MULTILINE).rstrip() == SHOWN.rstrip()


def test_the_queries_that_a_query_reads_are_shown_before_it(neelc: Here) -> None:
    done = neelc("explain", "script.neel", "--analyze", "--format", "json")
    up, last = json.loads(done.out)["queries"]
    assert (up["name"], last["name"], last["strategy"]) == ("up", "query 2", "kernel")
    found = {step["step"]: step["measured"] for step in last["steps"]}
    assert found["take the rows of up"] == found["up u"] == 16
    assert found["C c: c.price > 15.0D"] == 8
    run = neelc("run", "script.neel", "--format", "csv", "--engine", "reference")
    assert found["rows"] == found["take C c"] == len(run.out.splitlines()) - 1


def test_statistics_of_a_run_make_the_estimates_right(neelc: Here) -> None:
    query = "PATTERN SEQ(A a, B b) WHERE a.price > 10 WITHIN 8 SECONDS RETURN a.ts AS a;"
    neelc.write("wrong.json", '{"streams": {"trades": {"events": 1000000, "seconds": 2000}}}')
    before = steps(neelc, STREAM + query, "--stats", "wrong.json")
    assert before["rows"]["is_far"] and before["read trades"]["is_far"]
    assert neelc("run", "script.neel", "--stats-out", "right.json").status == 0
    after = steps(neelc, STREAM + query, "--stats", "right.json")
    assert not any(step["is_far"] for step in after.values())
    assert counts(after) == counts(before)
    assert after["take A a"]["estimated"] == pytest.approx(16)


def test_a_list_and_a_look_ahead(neelc: Here) -> None:
    query = (
        "PATTERN SEQ(A a, B+ b[], C c) WHERE [id] AND sum(b[].price) > 0 WITHIN 16 SECONDS RETURN a.ts AS a;"
    )
    found = counts(steps(neelc, STREAM + query))
    # An A is followed by 4, 3, 2 and 1 pairs of B and C in its round.
    run = neelc("run", "script.neel", "--format", "csv", "--engine", "reference")
    assert found["rows"] == len(run.out.splitlines()) - 1
    assert found["take A a"] == found["look ahead for b, c"] == 40
    assert found["take C c"] == 10 * (4 + 3 + 2 + 1)
    assert "take list of B b[]" in found and "check a condition" in found


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "PATTERN SEQ(A a, B b) WITHIN 3 SECONDS USING SKIP TILL NEXT MATCH RETURN a.ts AS a;",
            {"read trades": 160, "A a": 40, "B b": 40, "follow runs, event by event": 40, "rows": 40},
        ),
        (
            "PATTERN OR(SEQ(A a, B b), N n) WITHIN 1 SECOND RETURN n.ts AS n;",
            {"N n": 40, "choose a branch": 2, "rows": 80},
        ),
        ("PATTERN SEQ(A a, B b) WITHIN 1 SECOND RETURN count(*) AS n;", {"A a": 40, "B b": 40, "rows": 1}),
        (
            "SELECT t.id FROM trades WINDOW(TIME 5 SECONDS) t WHERE t.price > 18;",
            {"read trades": 160, "rows": 8},
        ),
        (
            "SELECT * FROM trades MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(D.ts) AS s ONE ROW PER MATCH"
            " PATTERN (D U) DEFINE U AS U.price < D.price);",
            {"read trades": 160, "rows": 7},
        ),
    ],
)
def test_other_plans(query: str, expected: dict[str, int], neelc: Here) -> None:
    found = counts(steps(neelc, STREAM + query))
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--analyze", "--format", "html"), "explain --analyze --format html: as text or as json"),
        (("--analyze", "--mode", "cost"), "explain --analyze --mode cost: "),
        (("--analyze", "--streaming"), "explain --analyze --streaming: it runs over bounded data"),
        (("--master", "local[1]"), "explain --master: a setting of Spark, which runs with --analyze only"),
        (("--analyze", "--query", "down"), "explain --query down: no such query; queries: up, 2"),
    ],
)
def test_calls_that_are_refused(arguments: tuple[str, ...], reason: str, neelc: Here) -> None:
    done = neelc("explain", "script.neel", *arguments)
    assert done.status == 2 and reason in done.err


def test_the_page_shows_what_is_printed(neelc: Here) -> None:
    """On both engines."""
    (block,) = (block for block in blocks(PAGE) if block.not_run is not None)
    command, _, output = block.text.removeprefix("$ neelc ").partition("\n")
    shutil.copytree(ROOT / "docs" / "examples" / "fraud", neelc.directory / "docs" / "examples" / "fraud")
    done = neelc(*command.split())
    assert like(output).fullmatch(done.out.strip()), done.out


def test_a_run_that_fails(neelc: Here) -> None:
    neelc.write("trades.csv", TRADES.replace("7,N", "seven,N"))
    done = neelc("explain", "script.neel", "--analyze")
    assert done.status == 3 and "NEEL5003" in done.err and done.out == ""


# Many rules.

BANK = "ts,kind,account,amount\n0,Login,a,\n60,Transfer,a,1500.0\n70,Transfer,a,10.0\n"
RULES = {
    "bank": """CREATE STREAM Bank (ts BIGINT, kind STRING, account STRING, amount DOUBLE)
  TIMESTAMP BY ts UNIT SECONDS TYPE BY kind FROM '../bank.csv';""",
    "wide": "PATTERN SEQ(Login l, Transfer t) WHERE [account] WITHIN 5 MINUTES RETURN t.amount;",
    "narrow": """PATTERN SEQ(Login l, !Logout o, Transfer t) WHERE [account] WITHIN 5 MINUTES
  RETURN t.amount;""",
    "never": "PATTERN SEQ(Logout a, Logout b) WHERE [account] WITHIN 5 MINUTES RETURN a.account;",
    "count": "PATTERN Transfer t RETURN count(*) AS n;",
}
SHARED = """\
4 rules
3 of them in 1 pass over the events

pass 1: narrow, never, wide
  key      account: time is cut into chunks
  reads    Bank once: one shuffle, one sort
  judges   3 conditions on single events, each once, by Spark
  shares   narrow, wide: 3 steps instead of 5
             Login: 2 rules
               then Transfer: 2 rules, 1 check for some of them
  apart    never: no step in common with another
  expects  bit-marking of SEQ(Login, Transfer): narrow, wide: 1.2x less work for these rules

1 rule executed alone
  count: it aggregates over all matches

measured: 5 rows in N s, the median of 3 runs
without shared steps: N s, ...
"""


def write_rules(neelc: Here, *names: str) -> None:
    (neelc.directory / "rules").mkdir()
    neelc.write("bank.csv", BANK)
    for name in ("bank", *names):
        neelc.write(f"rules/{name}.neel", RULES[name])


def test_rules_with_what_they_share_and_without(neelc: Here) -> None:
    write_rules(neelc, "wide", "narrow", "never", "count")
    neelc.write("rules/bad.neel", "PATTERN Transfer t WHERE u.x > 1;")
    done = neelc("explain", "rules", "--analyze")
    assert done.status == 0, done.err
    shown = re.sub(r"\d+\.\d\d s", "N s", done.out)
    end = r"N s, (within the spread of the runs: no measurable difference|\d+\.\dx as long)\n$"
    local = {"one shuffle, one sort": "one sort, by DuckDB", "by Spark": "by DuckDB"}
    expected = SHARED
    for words, other in local.items() if neelc.engine == "local" else ():
        expected = expected.replace(words, other)
    if neelc.engine == "local":
        kernels = "Engine local: 1 file, 74 bytes. Kernels run in one process.\n\n"
        expected = expected.replace("measured:", f"{kernels}measured:")
    assert re.sub(end, "N s, ...\n", shown) == expected
    assert "rules/bad.neel:1:26" in done.err and "1 of 5 rules is left out: bad" in done.err


def test_rules_that_share_no_step_as_json(neelc: Here) -> None:
    """They run in one way only."""
    write_rules(neelc, "wide", "never")
    done = neelc("explain", "rules", "--analyze", "--format", "json")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert found["passes"][0]["rules"] == ["never", "wide"] and found["passes"][0]["shared"] == []
    measured = found["measured"]
    assert (measured["rows"], measured["seconds_without_sharing"]) == (2, [])
    assert len(measured["seconds"]) == 3 and min(measured["seconds"]) > 0


def test_rules_whose_data_cannot_be_read(neelc: Here) -> None:
    write_rules(neelc, "wide")
    (neelc.directory / "bank.csv").unlink()
    done = neelc("explain", "rules", "--analyze")
    assert (done.status, done.out) == (3, "")
    assert "no such file: bank.csv\n --> rules/bank.neel:2:51\n" in done.err
