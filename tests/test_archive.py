"""What `neelc.ship` sends: all that the runtime imports, and no compiler."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from repository import imports, modules

from neelc.api.shipping import archive, archived

MODULES = modules()
PRINTING = ("neelc.ir.node", "neelc.syntax.printer.show")
"""Nodes are printed where the compiler is."""


def reached(start: list[str]) -> set[str]:
    """The modules of neelc that these import, at their top or in a function, and those that these import.

    Not by `neelc` itself: it names what it imports when somebody asks.
    """
    found: set[str] = set()
    while start:
        module = start.pop()
        if module in found:
            continue
        found.add(module)
        start += [module.rpartition(".")[0]] if "." in module else []
        names = [name for _, name in imports(module, MODULES[module])] if module != "neelc" else []
        names = [name for name in names if (module, name) != PRINTING]
        start += [one for name in names for one in (name, name.rpartition(".")[0]) if one in MODULES]
    return found


def sent() -> set[str]:
    names = zipfile.ZipFile(io.BytesIO(archived())).namelist()
    paths = (name.removesuffix(".py").removesuffix("/__init__") for name in names if name.endswith(".py"))
    return {path.replace("/", ".") for path in paths}


def test_the_archive_has_all_that_the_runtime_imports() -> None:
    runtime = [name for name in MODULES if name.startswith("neelc.runtime")]
    assert reached(runtime) - sent() == set(), "add it to PACKAGES or MODULES of neelc.api.shipping"


def test_the_archive_has_no_compiler() -> None:
    assert {name.split(".")[1] for name in sent() - {"neelc"}} == {
        "errors",
        "ir",
        "runtime",
        "scalar",
        "source",
    }


def test_it_runs_from_the_archive_alone(tmp_path: Path) -> None:
    program = "import neelc.runtime.kernels.pattern_kernel\nfrom neelc.runtime import probe\n"
    program += "print(*probe.found_here().values())"
    # -S: without the start-up files of the environment, among them the link to this working tree.
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{archive()}:{sysconfig.get_paths()['purelib']}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    from neelc import __version__

    assert f"{archive()}/neelc" in done.stdout and __version__ in done.stdout.split()
