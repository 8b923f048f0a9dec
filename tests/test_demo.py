"""The example that README.md and `make demo` show: its commands work, from any directory."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from repository import ROOT

HOSPITAL = ROOT / "docs" / "examples" / "hospital"
SCRIPT = str(HOSPITAL / "hospital.neel")

FOUND = """\
r_id,o_ts
clamp-3,2024-03-01 08:45:00
scissors-2,2024-03-01 08:41:00
"""


def neelc(*arguments: str, directory: Path) -> str:
    """What the command writes to standard output; it must end well."""
    program = [sys.executable, "-c", "import sys; from neelc.cli import main; sys.exit(main())", *arguments]
    done = subprocess.run(program, cwd=directory, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_check(tmp_path: Path) -> None:
    neelc("check", SCRIPT, directory=tmp_path)


def test_fmt_has_nothing_to_change(tmp_path: Path) -> None:
    assert neelc("fmt", SCRIPT, directory=tmp_path) == Path(SCRIPT).read_text()


def test_case(tmp_path: Path) -> None:
    neelc("test", str(HOSPITAL / "hospital.case"), directory=tmp_path)


@pytest.mark.parametrize("directory", [ROOT, Path("/")], ids=["here", "elsewhere"])
def test_run_finds_its_data_from_any_directory(directory: Path) -> None:
    lines = neelc("run", SCRIPT, "--format", "csv", directory=directory).splitlines()
    assert [lines[0], *sorted(lines[1:])] == FOUND.splitlines()


def test_the_readme_shows_the_query_of_the_demo() -> None:
    shown = re.search(r"```neel\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert shown and shown[1].strip() in Path(SCRIPT).read_text()


def test_the_command_lines_of_the_readme_run_as_they_stand(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text()
    blocks = [block for block in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE) if "neelc run" in block]
    lines = [line.strip() for block in blocks for line in block.splitlines() if "doctor" not in line]
    commands = [line.partition("#")[0].strip() for line in lines if not line.startswith("cd ")]
    assert len(commands) >= 8
    for example in ("hospital", "fraud"):
        shutil.copytree(HOSPITAL.parent / example, tmp_path / example)
    program = f"{shlex.quote(sys.executable)} -m neelc"
    for command in commands:
        # Both engines give the same rows (tests/spark compares them), and Spark takes long to start.
        here = command.replace("--engine spark", "--engine local")
        line = re.sub(r"\bneelc (?=[a-z]+ )", f"{program} ", here)
        done = subprocess.run(line, shell=True, cwd=tmp_path / "hospital", capture_output=True, text=True)
        is_silent = " > " in command
        assert done.returncode == 0 and bool(done.stdout.strip()) != is_silent, f"{command}\n{done.stderr}"
        assert "engine: Spark" not in done.stderr, f"{command}: needs Spark\n{done.stderr}"
