"""`make cluster`: what it judges runs by, and that it says plainly where no hosts can be made."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from cluster.hosts import Unavailable, network, require
from cluster.run import committed, compare, evidence, main
from cluster.standalone import Failed


def test_without_root_nothing_is_tried_and_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(tmp_path, []) == 0
    said = capsys.readouterr().out
    assert said == "== no cluster was tried: network namespaces require root, and this user is not root\n"
    assert list(tmp_path.iterdir()) == []


def test_without_ip_it_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("cluster.hosts.shutil.which", lambda command: None)
    with pytest.raises(Unavailable) as raised:
        require()
    assert str(raised.value) == "the command ip is missing (Debian's package iproute2)"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([(1,), (2,), (2,)], "3 rows, not 2: 1 twice, 0 missing, 0 wrong"),
        ([(1,)], "1 rows, not 2: 0 twice, 1 missing, 0 wrong"),
        ([(1,), (3,)], "2 rows, not 2: 0 twice, 1 missing, 1 wrong"),
    ],
)
def test_rows_that_differ_are_a_failure(found: list[tuple[object, ...]], said: str) -> None:
    with pytest.raises(Failed, match=said):
        compare(found, [(1,), (2,)])
    compare([(2,), (1,)], [(1,), (2,)])


def test_of_a_stream_only_the_files_of_its_log_count(tmp_path: Path) -> None:
    for name, values in (("part-a", [1, 2]), ("part-b", [3]), ("part-lost", [3])):
        pyarrow.parquet.write_table(pa.table({"x": values}), tmp_path / name)
    assert sorted(committed(tmp_path)) == [(1,), (2,), (3,), (3,)]
    log = tmp_path / "_spark_metadata"
    log.mkdir()
    (log / "0").write_text('v1\n{"path": "file:///x/part-a"}')
    (log / "1.compact").write_text('v1\n{"path": "file:///x/part-a"}\n{"path": "file:///x/part-b"}')
    assert sorted(committed(tmp_path)) == [(1,), (2,), (3,)]


ADDED = {"Event": "SparkListenerExecutorAdded", "Executor ID": "0", "Executor Info": {"Host": "10.77.0.11"}}
REMOVED = {
    "Event": "SparkListenerExecutorRemoved",
    "Executor ID": "0",
    "Timestamp": 5000,
    "Removed Reason": "worker lost\nat 12",
}


def ended(reason: str, time: int) -> dict[str, object]:
    return {
        "Event": "SparkListenerTaskEnd",
        "Task End Reason": {"Reason": reason},
        "Task Info": {"Finish Time": time},
    }


def test_the_log_of_a_run_has_to_show_the_loss() -> None:
    events = [ADDED, ended("Success", 4000), REMOVED, ended("FetchFailed", 6000), ended("Success", 7000)]
    log = "\n".join(map(json.dumps, events))
    told = "of 2 tasks 1 were lost (1 FetchFailed); Spark: worker lost"
    assert evidence(log, "10.77.0.11", begin=5) == told
    for address, begin, lines in (("10.77.0.12", 5, 5), ("10.77.0.11", 6.5, 5), ("10.77.0.11", 5, 3)):
        with pytest.raises(Failed, match="the fault hit nothing"):
            evidence("\n".join(log.splitlines()[:lines]), address, begin)


@pytest.mark.thorough
def test_a_host_is_cut_off_comes_back_and_is_killed(tmp_path: Path) -> None:
    try:
        require()
    except Unavailable as reason:
        pytest.skip(f"never: {reason}")
    python = Path(__file__).parent  # any directory, to be seen as its Python
    with network(tmp_path) as found:
        desk, host = found.add("desk", 2, None), found.add("worker", 11, python)
        (found.shared / "page").write_text("here")
        log = tmp_path / "log"
        served = ["python3", "-m", "http.server", "8000", "--bind", host.address]
        host.start(["sh", "-c", f"hostname; ls {python.parent}; exec {' '.join(served)}"], log)

        def fetch() -> str:
            with urllib.request.urlopen(f"http://{host.address}:8000/page", timeout=2) as answer:
                return str(answer.read(), "utf-8")

        def page() -> str:
            try:
                return desk.inside(fetch)
            except (urllib.error.URLError, OSError) as error:
                return str(error)

        def answers() -> bool:
            end = time.monotonic() + 20
            while page() != "here" and time.monotonic() < end:
                time.sleep(0.2)
            return page() == "here"

        assert answers()
        assert log.read_text().split()[0] == "worker", "its name, and nothing of this repository"
        assert "setup.cfg" not in log.read_text()
        host.pull_the_cable()
        assert "timed out" in page()
        host.plug_in()
        assert answers()
        host.kill()
        assert "refused" in page() or "reset" in page()
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert found.switch not in left


def test_results_of_a_host_that_cannot_be_fetched_are_a_loss_before_it_is_given_up() -> None:
    failed = ended("FetchFailed", 6000)
    failed["Task End Reason"] = {"Reason": "FetchFailed", "Block Manager Address": {"Host": "10.77.0.11"}}
    log = "\n".join(map(json.dumps, [ADDED, failed]))
    told = "of 1 tasks 1 were lost (1 FetchFailed); Spark: its results could not be fetched"
    assert evidence(log, "10.77.0.11", begin=5) == told
    with pytest.raises(Failed, match="the fault hit nothing"):
        evidence(log, "10.77.0.12", begin=5)
