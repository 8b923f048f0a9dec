"""What `pip install` delivers: every module, the data files, a command that runs from anywhere."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from repository import PACKAGES, ROOT, configuration, imports, modules


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The wheel, and what building it said.

    Built from a copy: setuptools would put files left over in build/ into the wheel.
    """
    tree = tmp_path_factory.mktemp("tree")
    for directory in PACKAGES.values():
        shutil.copytree(directory, tree / directory.name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    options = ("-v", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tree / "dist"))
    said = run("-m", "pip", "wheel", *options, str(tree))
    return next((tree / "dist").glob("*.whl")), said


def run(*arguments: str, **environment: str) -> str:
    """Run Python and return all it printed; from another directory, so that nothing is found by chance."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd="/",
        env=os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_setup_cfg_lists_every_package() -> None:
    listed = configuration()["options"]["packages"].split()
    there = [name for name, path in modules().items() if path.name == "__init__.py"]
    assert sorted(listed) == sorted(there), "`packages` in setup.cfg must list every directory with modules"


def test_every_directory_with_modules_is_a_package() -> None:
    directories = {path.parent for path in modules().values()}
    assert sorted(str(d.relative_to(ROOT)) for d in directories if not (d / "__init__.py").exists()) == []


def test_the_wheel_holds_every_module(build: tuple[Path, str]) -> None:
    files = set(zipfile.ZipFile(build[0]).namelist())
    expected = {
        f"{package.replace('.', '/')}/{path.relative_to(directory)}"
        for package, directory in PACKAGES.items()
        for path in directory.rglob("*.py")
    }
    assert expected - files == set(), "missing in the wheel: add the package to `packages` in setup.cfg"
    assert {name for name in files if name.endswith(".py")} - expected == set()
    assert {"neelc/py.typed", "neelc/grammar/Neel.g4"} <= files


def test_the_build_warns_of_nothing(build: tuple[Path, str]) -> None:
    assert [line for line in build[1].splitlines() if re.search(r"Warning|deprecat", line)] == []


def test_the_wheel_runs_from_another_directory(build: tuple[Path, str], tmp_path: Path) -> None:
    run("-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(tmp_path), str(build[0]))
    # -S: without the start-up files of the environment, among them the link to this working tree.
    dependencies = os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))
    path = os.pathsep.join([str(tmp_path), dependencies])
    assert run("-S", "-c", "import neelc; print(neelc.__file__)", PYTHONPATH=path).startswith(str(tmp_path))
    version = configuration()["metadata"]["version"]
    assert version in run("-S", str(tmp_path / "bin" / "neelc"), "--version", PYTHONPATH=path)


def test_what_is_imported_is_declared() -> None:
    declared = configuration()["options"]["install_requires"].split("\n")
    names = {re.split(r"[ <>=!~\[]", line)[0] for line in declared if line}
    providers = importlib.metadata.packages_distributions()
    wrong = {
        f"{module} imports {name}"
        for module, path in modules().items()
        for name in {name.split(".")[0] for _, name in imports(module, path)}
        if name not in sys.stdlib_module_names and name not in ("neelc", "__future__", "")
        if not names & set(providers.get(name, []))
    }
    assert wrong == set(), "add the package to install_requires in setup.cfg"
