"""`make versions`: its page says what its results are, and setup.cfg promises no version that was not run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import versions
from repository import configuration
from versions import ENVIRONMENTS, PAGE, Result, Unavailable, counted, interpreter, kept_results, page

REPORT = """<testsuites><testsuite>
<testcase classname="tests.a" name="one"/>
<testcase classname="tests.a" name="two"><skipped message="never"/></testcase>
<testcase classname="tests.a" name="three"><failure message="no"/></testcase>
<testcase classname="tests.b" name="four"><error message="no"/></testcase>
</testsuite></testsuites>"""


def test_the_page_says_what_the_results_are() -> None:
    assert PAGE.read_text() == page(kept_results()), "python -m versions writes it"


def test_results_are_counted_as_pytest_reports_them(tmp_path: Path) -> None:
    result = Result("2026-01-31", {})
    counted(result, tmp_path / "none.xml", "tests/test_a.py")
    (tmp_path / "report.xml").write_text(REPORT)
    counted(result, tmp_path / "report.xml", "tests/test_a.py")
    assert (result.passed, result.skipped, result.failures) == (1, 1, 3)
    assert result.failed == [
        "pytest ended without a report: tests/test_a.py",
        "tests.a.three",
        "tests.b.four",
    ]


def test_a_failure_is_named_on_the_page() -> None:
    packages = dict.fromkeys(["Python", "pyspark", "pandas", "numpy", "pyarrow"], "1.0")
    shown = page({"spark-4.2 on Spark": Result("2026-01-31", packages, 1.0, 7, 2, ["tests.a.three"])})
    assert "| spark-4.2 | 1.0 | 1.0 | 1.0 | 1.0 | 1.0 | on Spark | 7 | 2 | 1 | 2026-01-31 |" in shown
    assert "- `spark-4.2`: `tests.a.three`" in shown and "spark-4.1 |" not in shown


def test_classifiers_name_versions_of_python_that_were_run_without_a_failure() -> None:
    lines = configuration()["metadata"]["classifiers"].split("\n")
    promised = {line.rpartition(" ")[2] for line in lines if re.search(r"Python :: 3\.\d+$", line)}
    results = kept_results()
    run = {
        one.python
        for one in ENVIRONMENTS
        for part in one.parts
        if (result := results.get(f"{one.name} {part}")) and result.passed > 100 and not result.failed
    }
    assert promised and promised <= run


def test_a_python_that_is_not_there_is_a_reason_not_to_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Unavailable, match=r"there is no Python 3\.99"):
        interpreter("3.99")
    monkeypatch.setattr(versions, "ENVIRONMENTS", (versions.Environment("future", "3.99", {}),))
    assert versions.main([str(tmp_path)]) == 0
    assert "future: not run: there is no Python 3.99" in capsys.readouterr().out
