"""`make dist`: wheel and sdist, each installed into an empty environment and used there. Then the runtime is
shipped to a cluster, and what neelc is installed with is listed: a bill of materials and the licences.

    PYTHONPATH=tests python -m dist build/dist

Pip fetches what neelc requires; everything runs in a directory outside of the repository, where this tree
cannot be found by chance. The first thing that fails ends it, with what it printed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping
from pathlib import Path

from building import built, copied
from faults import FOUND
from materials import TOOLS, first_line, licence_table, write_bill
from repository import ROOT, configuration

EXAMPLE = ROOT / "docs" / "examples" / "hospital"

EXTRAS = "connect,lsp,notebook"

# What the extras bring can be imported, and the extension loads.
WITH_EXTRAS = """
import grpc, pygls
from IPython.core.interactiveshell import InteractiveShell
done = InteractiveShell.instance().run_cell("%load_ext neelc")
assert done.success and "neel" in InteractiveShell.instance().magics_manager.magics["cell"]
print("the extension loads")
"""


class Failed(Exception):
    """A step failed; what it printed was shown."""


def main(out: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="neelc-dist-") as scratch:
        tree = Path(scratch) / "tree"
        tree.mkdir()
        copied(tree)
        out.mkdir(parents=True, exist_ok=True)
        try:
            for kind in ("wheel", "sdist"):
                path = Path(shutil.copy(built(tree, kind)[0], out))
                print(f"== {path.name}, {path.stat().st_size // 1024} KB", flush=True)
                prove(path, Path(scratch) / kind, extras=EXTRAS if kind == "wheel" else "")
            materials(out, Path(scratch))
            print("== neelc.ship, to a cluster of processes whose worker has no neelc", flush=True)
            ship(Path(scratch))
        except Failed:
            return 1
    print("== wheel and sdist install and run in an empty environment, and the runtime ships")
    print("\n".join(f"   {path}, {path.stat().st_size // 1024} KB" for path in sorted(out.iterdir())))
    return 0


def prove(package: Path, place: Path, extras: str) -> None:
    """Install a package into an empty environment at this place, and use it."""
    venv.create(place / "venv", with_pip=True)
    work = place / "work"
    shutil.copytree(EXAMPLE, work)
    shell = Shell(place / "venv" / "bin", work)
    before, begin = size(place / "venv"), time.monotonic()
    shell("python", "-m", "pip", "install", "-q", str(package.resolve()))
    seconds, more = time.monotonic() - begin, size(place / "venv") - before
    print(
        f"   installed in {seconds:.0f} s with what pip has to fetch; {more / 1e6:.0f} MB on disk", flush=True
    )
    shell("python", "-m", "pip", "check")
    version = configuration()["metadata"]["version"]
    assert shell("neelc", "--version") == shell("python", "-m", "neelc", "--version") == f"neelc {version}\n"
    assert shell("python", "-c", "import neelc; print(neelc.__file__)").startswith(str(place))
    shell("neelc", "doctor")
    found = {
        engine: shell("neelc", "run", "hospital.neel", "--engine", engine)
        for engine in ("spark", "reference")
    }
    assert found["spark"] == found["reference"] and "scissors-2" in found["spark"], found
    shell("neelc", "explain", "hospital.neel", "--format", "html")
    shell("neelc", "test", "hospital.case")
    if extras:
        shell("python", "-m", "pip", "install", "-q", f"{package.resolve()}[{extras}]")
        shell("python", "-m", "pip", "check")
        shell("python", "-c", WITH_EXTRAS)


def ship(scratch: Path) -> None:
    """Run the program that ships to a cluster, with the Python of this one."""
    place = scratch / "cluster"
    place.mkdir()
    shell = Shell(Path(sys.executable).parent, place, {"PYTHONPATH": str(ROOT / "tests")})
    report = json.loads(shell("python", str(ROOT / "tests" / "spark" / "ship_to_cluster.py"), str(place)))
    name, *workers = report["text"].splitlines()
    print(*workers, sep="\n")
    assert workers and all(name in where for where in report["places"]), "it was installed there"
    assert report["again"], "shipping twice is shipping once"
    assert list(map(tuple, report["found"])) == FOUND


def size(directory: Path) -> int:
    """The bytes of the files of a directory."""
    return sum(
        path.stat().st_size for path in directory.rglob("*") if path.is_file() and not path.is_symlink()
    )


def materials(out: Path, scratch: Path) -> None:
    """Check the text for an index of packages, and list what the sdist was installed with."""
    version = configuration()["metadata"]["version"]
    print("== what neelc is installed with", flush=True)
    venv.create(scratch / "tools", with_pip=True)
    tools = Shell(scratch / "tools" / "bin", scratch)
    tools("python", "-m", "pip", "install", "-q", *TOOLS)
    packages = [out / f"neelc-{version}.tar.gz", out / f"neelc-{version}-py3-none-any.whl"]
    tools("twine", "check", "--strict", *(str(path.resolve()) for path in packages))
    there = scratch / "sdist" / "venv" / "bin"
    listed = json.loads(Shell(there, scratch)("python", "-m", "pip", "list", "--format", "json"))
    installed = {one["name"]: one["version"] for one in listed if one["name"] not in ("pip", "setuptools")}
    Shell(there, scratch)("python", "-m", "pip", "uninstall", "-q", "-y", "setuptools", "pip")
    python, made = str(there / "python"), scratch / "bill.json"
    tools("cyclonedx-py", "environment", "--output-reproducible", "--of", "JSON", "-o", str(made), python)
    count = write_bill(made, out / f"neelc-{version}.cdx.json", "neelc", installed)
    found = json.loads(tools("pip-licenses", "--python", python, "--from", "mixed", "--format", "json"))
    (out / f"neelc-{version}-licences.md").write_text(licence_table(found))
    kinds = sorted({first_line(one["License"]) for one in found})
    print(f"   {count} packages; licences: {'; '.join(kinds)}")


class Shell:
    """Commands of an environment, in a directory, without anything of the environment around."""

    def __init__(self, commands: Path, directory: Path, more: Mapping[str, str] | None = None) -> None:
        self.commands, self.directory, self.more = commands, directory, more or {}

    def __call__(self, command: str, *arguments: str) -> str:
        """Run it, and give what it prints."""
        shown = " ".join(argument for argument in (command, *arguments) if "\n" not in argument)
        print(f"   {shown}", flush=True)
        done = subprocess.run(
            [str(self.commands / command), *arguments],
            cwd=self.directory,
            env=self._environment(os.environ),
            capture_output=True,
            text=True,
        )
        if done.returncode:
            print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
            raise Failed(shown)
        return done.stdout

    def _environment(self, given: Mapping[str, str]) -> dict[str, str]:
        kept = {
            name: value
            for name, value in given.items()
            if not name.startswith(("PYTHON", "PYSPARK", "VIRTUAL"))
        }
        return {
            **kept,
            "PATH": f"{self.commands}:{given['PATH']}",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            **self.more,
        }


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
