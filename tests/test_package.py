"""What `pip install` delivers: every module, the data files, a command that runs from anywhere."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from building import built, copied, package_files
from repository import PACKAGES, ROOT, configuration, imports, modules


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("tree"))


@pytest.fixture(scope="module")
def build(tree: Path) -> tuple[Path, str]:
    """The wheel, and the output of the build."""
    return built(tree, "wheel")


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


def test_the_wheel_holds_every_file_of_the_packages(build: tuple[Path, str]) -> None:
    files = {name for name in zipfile.ZipFile(build[0]).namelist() if ".dist-info/" not in name}
    there = package_files()
    assert there - files == set(), "add it to `packages` or to `options.package_data` in setup.cfg"
    assert files - there == set()
    assert {"neelc/py.typed", "neelc/grammar/Neel.g4", "neelc/explain/page.css"} <= files


def test_the_sdist_holds_all_that_a_wheel_is_built_from(tree: Path) -> None:
    path, _ = built(tree, "sdist")
    with tarfile.open(path) as archive:
        files = {member.name.partition("/")[2] for member in archive if member.isfile()}
    sources = {
        found.relative_to(tree).as_posix()
        for name in PACKAGES.values()
        for found in (tree / name.name).rglob("*")
    }
    assert {name for name in sources if (tree / name).is_file()} - files == set()
    assert {"setup.cfg", "pyproject.toml", "README.md", "LICENSE"} <= files


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


def requirements(section: str, option: str) -> dict[str, str]:
    """The packages that an option of setup.cfg lists, each with its whole line."""
    lines = configuration()[section][option].split("\n")
    return {re.split(r"[ <>=!~\[]", line)[0]: line for line in lines if line}


EXTRAS = {
    name: requirements("options.extras_require", name) for name in ("connect", "lsp", "notebook", "spatial")
}
DEVELOPMENT = requirements("options.extras_require", "dev")


def test_what_is_imported_is_declared() -> None:
    """What only an extra brings is imported by one module: tests/test_architecture.py has the doors."""
    names = set(requirements("options", "install_requires")).union(*EXTRAS.values(), DEVELOPMENT)
    providers = importlib.metadata.packages_distributions()
    wrong = {
        f"{module} imports {name}"
        for module, path in modules().items()
        for name in {name.split(".")[0] for _, name in imports(module, path)}
        if name not in sys.stdlib_module_names and name not in ("neelc", "__future__", "")
        if not names & {found.lower() for found in providers.get(name, [])}
    }
    assert wrong == set(), "add the package to install_requires or to an extra in setup.cfg"


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_is_tested_has_the_extras(extra: str) -> None:
    assert EXTRAS[extra].items() <= DEVELOPMENT.items(), "`dev` in setup.cfg has all other extras"


def test_the_version_stands_in_one_place() -> None:
    version = configuration()["metadata"]["version"]
    texts = (path.read_text() for path in [*modules().values(), ROOT / "pyproject.toml"])
    assert not any(f'"{version}"' in text for text in texts)
    assert f"## {version}" in (ROOT / "docs" / "changelog.md").read_text()


ON_CONDA_FORGE = {"antlr4-python3-runtime": "antlr-python-runtime", "duckdb": "python-duckdb"}
"""Packages that have another name there."""


def recipe(name: str) -> list[str]:
    """The values of a key of the recipe for conda: what stands after it, or the list below it."""
    text = (ROOT / "docs" / "packaging" / "conda" / "recipe.yaml").read_text()
    found = re.search(rf"^( *){name}:(?: +(\S.*))?\n((?:\1 +- .*\n)*)", text, re.MULTILINE)
    assert found, name
    return [line.strip().removeprefix("- ") for line in (found[2] or found[3]).splitlines()]


def test_the_recipe_for_conda_says_what_setup_cfg_says() -> None:
    options, metadata = configuration()["options"], configuration()["metadata"]
    needed = [f"python {options['python_requires']}"]
    for line in requirements("options", "install_requires").values():
        name, _, version = line.partition(" ")
        needed.append(f"{ON_CONDA_FORGE.get(name, name)} {version.replace(' ', '')}")
    assert sorted(recipe("run")) == sorted(needed)
    assert recipe("version")[0] == f'"{metadata["version"]}"'
    assert recipe("summary") == [f'"{metadata["description"]}"']
    assert recipe("license") == [metadata["license_expression"]]
    scripts = configuration()["options.entry_points"]["console_scripts"].split("\n")
    assert recipe("entry_points") == [line for line in scripts if line]


def test_the_recipe_builds_as_the_build_system_says() -> None:
    (least,) = re.findall(r'requires = \["setuptools (>= \d+)"\]', (ROOT / "pyproject.toml").read_text())
    assert f"setuptools {least.replace(' ', '')}" in recipe("host")
