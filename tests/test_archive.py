"""What `neelc.ship` sends: all that workers import, and neither the compiler nor the reference."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from repository import WORKER_MODULES, reached

from neelc.api.shipping import archive, archived


def sent() -> set[str]:
    names = zipfile.ZipFile(io.BytesIO(archived())).namelist()
    paths = (name.removesuffix(".py").removesuffix("/__init__") for name in names if name.endswith(".py"))
    return {path.replace("/", ".") for path in paths}


def test_the_archive_has_what_workers_import_and_no_more() -> None:
    assert set(reached(WORKER_MODULES)) == sent()


def test_it_runs_from_the_archive_alone(tmp_path: Path) -> None:
    every = ", ".join(sorted(WORKER_MODULES))
    program = f"import {every}\nprint(*neelc.runtime.probe.found_here().values())"
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
