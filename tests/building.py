"""Building wheel and sdist, from a copy of the tree: setuptools would take what is left over in build/."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from repository import PACKAGES, ROOT

# Beside the packages, all that a build reads.
FILES = ("setup.cfg", "pyproject.toml", "README.md", "LICENSE")


def copied(place: Path) -> Path:
    """The part of the tree that a build reads, copied."""
    for directory in PACKAGES.values():
        shutil.copytree(directory, place / directory.name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, place / name)
    return place


def built(tree: Path, kind: str) -> tuple[Path, str]:
    """The `wheel` or the `sdist` of a tree, and the output of the build."""
    program = f"from setuptools import build_meta\nbuild_meta.build_{kind}('dist')"
    (tree / "dist").mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tree, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert done.returncode == 0, done.stdout
    return next((tree / "dist").glob("*.whl" if kind == "wheel" else "*.tar.gz")), done.stdout


def package_files() -> set[str]:
    """Every file of the packages in the tree, as a wheel names it."""
    return {
        f"{package.replace('.', '/')}/{path.relative_to(directory).as_posix()}"
        for package, directory in PACKAGES.items()
        for path in directory.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
