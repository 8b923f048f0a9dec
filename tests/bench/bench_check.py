"""How long `neelc check` takes on a one-page script, start-up included.

Compared with loading the libraries that no compiler of this kind can do without. Both are run as processes of
their own, in turn, so that a busy machine slows down both.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from bench.row import Row

SCRIPT = Path(__file__).parent / "one_page.neel"
REPETITIONS = 11
GOAL = 3.0
HEAVY = {"pyspark", "pandas", "numba"}

CHECK = f"import sys; from neelc.cli import main; sys.exit(main(['check', {str(SCRIPT)!r}]))"
LOAD = "import antlr4, sqlglot"

# As for a user: byte code is kept from the first run on, whatever this machine's setting is.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def seconds(program: str) -> float:
    start = time.perf_counter()
    python(program)
    return time.perf_counter() - start


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
    seconds(LOAD)
    check, load = [], []
    for _ in range(REPETITIONS):
        check.append(seconds(CHECK))
        load.append(seconds(LOAD))
    ratio = median(check) / median(load)
    return [
        Row("neelc check, median", f"{median(check) * 1000:.0f} ms"),
        Row("import antlr4, sqlglot, median", f"{median(load) * 1000:.0f} ms"),
        Row("ratio", f"{ratio:.2f}", f"< {GOAL:.0f}", ratio < GOAL),
        Row("pyspark, pandas, numba loaded", ", ".join(sorted(heavy)) or "none", "none", not heavy),
    ]
