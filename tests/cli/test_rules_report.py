"""`neelc rules report`: rules by cost, those that find nothing, and those that contain others."""

from __future__ import annotations

import json

from command_line import Here

FILES = {
    "bank.csv": "ts,kind,account,amount\n0,Login,a,\n60,Transfer,a,1500.0\n70,Transfer,a,10.0\n",
    "rules/bank.neel": """CREATE STREAM Bank (ts BIGINT, kind STRING, account STRING, amount DOUBLE)
  TIMESTAMP BY ts UNIT SECONDS TYPE BY kind FROM '../bank.csv';""",
    "rules/wide.neel": "PATTERN SEQ(Login l, Transfer t) WHERE [account] WITHIN 5 MINUTES RETURN t.amount;",
    "rules/narrow.neel": """PATTERN SEQ(Login l, !Logout o, Transfer t) WHERE [account] WITHIN 5 MINUTES
  RETURN t.amount;""",
    "rules/never.neel": "PATTERN SEQ(Logout a, Logout b) WHERE [account] WITHIN 5 MINUTES RETURN a.account;",
}


def write(neelc: Here) -> None:
    (neelc.directory / "rules").mkdir()
    for name, text in FILES.items():
        neelc.write(name, text)


def test_a_report_after_a_run(neelc: Here) -> None:
    write(neelc)
    run = neelc("run", "rules", "--engine", "reference", "--stats-out", "stats.json")
    assert run.status == 0, run.err
    counted = json.loads(neelc.read("stats.json"))["queries"]
    assert counted == {"narrow": {"rows": 2}, "never": {"rows": 0}, "wide": {"rows": 2}}
    done = neelc("rules", "report", "rules", "--stats", "stats.json")
    assert (done.status, done.err) == (0, "")
    lines = {line.split()[0]: line for line in done.out.splitlines()}
    assert set(lines) == {"rule", "wide", "narrow", "never"}
    assert lines["wide"].endswith("2     contains narrow")
    assert lines["never"].endswith("0     found nothing")
    assert lines["narrow"].endswith(" 2")


def test_a_report_as_json_without_a_run(neelc: Here) -> None:
    write(neelc)
    done = neelc("rules", "report", "rules", "--format", "json")
    assert done.status == 0
    found = json.loads(done.out)
    assert [one["counted"] for one in found] == [None, None, None]
    costs = [one["partial_matches"] for one in found]
    assert costs == sorted(costs, reverse=True) and costs[0] > 0
    assert "--stats-out" in done.err


def test_statistics_that_are_none(neelc: Here) -> None:
    write(neelc)
    neelc.write("stats.json", "[1]")
    done = neelc("rules", "report", "rules", "--stats", "stats.json")
    assert done.status in (1, 2) and "stats.json" in done.err
