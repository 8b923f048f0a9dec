"""What the commands do with warnings."""

from __future__ import annotations

import json

from command_line import SCRIPT, Here

DOUBTFUL = SCRIPT.replace("b.price > a.price", "a.price = NULL")
SHORT = "warned.neel:3:48: warning[NEEL6004]: `a.price = NULL` is never TRUE: the query finds nothing"


def test_check_warns(neelc: Here) -> None:
    neelc.write("warned.neel", DOUBTFUL)
    done = neelc("check", "warned.neel", "script.neel")
    assert (done.status, done.out) == (0, "")
    assert done.err.split("\n") == [
        "warned.neel: fine: 2 queries, 1 warning",
        "warning[NEEL6004]: `a.price = NULL` is never TRUE: the query finds nothing",
        " --> warned.neel:3:48",
        "  |",
        "3 | CREATE QUERY up AS PATTERN SEQ(A a, B b) WHERE a.price = NULL WITHIN 10 SECONDS",
        "  |                                                ^^^^^^^^^^^^^^",
        "  = hint: write a.price IS NULL",
        "",
        "script.neel: fine: 2 queries",
        "",
    ]


def test_check_warns_as_json(neelc: Here) -> None:
    neelc.write("warned.neel", DOUBTFUL)
    neelc.write("bad.neel", SCRIPT.replace("a.price", "x.price"))
    done = neelc("check", "--format", "json", "warned.neel", "bad.neel")
    found = [(record["severity"], record["code"], record["file"]) for record in json.loads(done.out)]
    assert found == [("warning", "NEEL6004", "warned.neel"), ("error", "NEEL2001", "bad.neel")]
    assert done.status == 1 and "-->" not in done.err
    assert neelc("check", "--format", "json", "warned.neel").status == 0


def test_run_warns_in_a_line(neelc: Here) -> None:
    neelc.write("warned.neel", DOUBTFUL)
    done = neelc("run", "warned.neel", "--engine", "reference")
    assert (done.status, done.out) == (0, "a  sym\n1  C\n")
    assert done.err.split("\n")[0] == SHORT


def test_run_of_a_script_without_warnings(neelc: Here) -> None:
    assert "warning" not in neelc("run", "script.neel", "--engine", "reference").err


def test_explain_warns(neelc: Here) -> None:
    neelc.write("warned.neel", DOUBTFUL)
    done = neelc("explain", "warned.neel")
    assert (done.status, done.err) == (0, "")
    assert done.out.count("NEEL6004") == 1
    record = json.loads(neelc("explain", "warned.neel", "--format", "json").out)
    assert [[lint["code"] for lint in query["lints"]] for query in record["queries"]] == [["NEEL6004"], []]


ROWS = """CREATE STREAM s (ts INT, x INT) TIMESTAMP BY ts;
CREATE QUERY falls AS SELECT * FROM s MATCH_RECOGNIZE (
  ORDER BY ts MEASURES A.ts AS a PATTERN (A B) DEFINE A AS x > B.x
);
"""
ROWS_SHORT = "rows.neel:3:64: warning[NEEL6011]: `B.x` is always NULL here"


def test_clauses_of_match_recognize_are_warned_of(neelc: Here) -> None:
    neelc.write("rows.neel", ROWS)
    done = neelc("check", "rows.neel")
    assert done.status == 0
    assert done.err.startswith(
        "rows.neel: fine: 1 query, 1 warning\nwarning[NEEL6011]: `B.x` is always NULL here"
    )
    neelc.write("s.csv", "ts,x\n1,5\n2,3\n")
    done = neelc("run", "rows.neel", "--stream", "s=s.csv", "--engine", "reference")
    assert done.status == 0 and done.err.startswith(ROWS_SHORT)
    done = neelc("compile", "rows.neel")
    assert done.status == 0 and ROWS_SHORT in done.err
