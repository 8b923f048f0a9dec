"""How long `neelc check`, `fmt` and `explain` take on a one-page script, start-up included.

Compared with loading the libraries that no compiler of this kind can do without. All are run as processes of
their own, in turn, so that a busy machine slows down all, and counted in processor time.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

from bench.row import Row

SCRIPT = Path(__file__).parent / "one_page.neel"
REPETITIONS = 11
GOAL, GOAL_OF_PARSER = 3.0, 2.0
HEAVY = {"pyspark", "pandas", "numba"}

COMMANDS = {"check": ["check"], "fmt": ["fmt"], "explain": ["explain"]}
CALLS = {
    name: f"import sys; from neelc.cli import main; sys.exit(main({[*words, str(SCRIPT)]!r}))"
    for name, words in COMMANDS.items()
}
CHECK = CALLS["check"]
LOAD, PARSER = "import antlr4, sqlglot", "import antlr4"

# As for a user: byte code is kept from the first run on, whatever this machine's setting is.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def seconds(program: str) -> float:
    """The processor time of a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    python(program)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def python(program: str) -> str:
    """Run the program; gives what it wrote to standard error."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True, text=True).stderr


def loaded() -> set[str]:
    """The heavy libraries that `neelc check` has loaded when it ends."""
    at_exit = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    return HEAVY & set(python(f"{at_exit}; {CHECK}").split())


def run() -> list[Row]:
    heavy = loaded()  # also the warm-up: byte code is written, files are in the cache
    programs = {**CALLS, LOAD: LOAD, PARSER: PARSER}
    for program in programs.values():
        seconds(program)
    taken: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(REPETITIONS):
        for name, program in programs.items():
            taken[name].append(seconds(program))
    medians = {name: median(times) for name, times in taken.items()}
    return [
        *(Row(f"{name}, median", f"{one * 1000:.0f} ms") for name, one in medians.items()),
        _ratio("check", LOAD, medians, GOAL),
        *(_ratio(name, PARSER, medians, GOAL_OF_PARSER) for name in CALLS),
        Row("pyspark, pandas, numba loaded", ", ".join(sorted(heavy)) or "none", "none", not heavy),
    ]


def _ratio(name: str, base: str, medians: dict[str, float], goal: float) -> Row:
    ratio = medians[name] / medians[base]
    return Row(f"{name} against {base}", f"{ratio:.2f}", f"< {goal:.0f}", ratio < goal)
