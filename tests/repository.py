"""What the tests about the repository itself know of its layout."""

from __future__ import annotations

import ast
import configparser
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent

# The import package is put together from three directories (docs/decisions/0001-package-mapping.md).
PACKAGES = {"neelc": ROOT / "compiler", "neelc.grammar": ROOT / "grammar", "neelc.runtime": ROOT / "runtime"}


def modules() -> dict[str, Path]:
    """Every module of `neelc` by its import name; a package by its `__init__.py`."""
    found: dict[str, Path] = {}
    for package, directory in PACKAGES.items():
        for path in sorted(directory.rglob("*.py")):
            words = path.relative_to(directory).with_suffix("").parts
            found[".".join((package, *(w for w in words if w != "__init__")))] = path
    return found


def is_generated(module: str) -> bool:
    return module.startswith("neelc.grammar.generated.")


@cache
def imports(module: str, path: Path) -> tuple[tuple[int, str], ...]:
    """Line and full name of everything `module` imports, at its top or inside a function."""
    return tuple(_imports(module, path))


def _imports(module: str, path: Path) -> Iterator[tuple[int, str]]:
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, name.name) for name in names)
            case ast.ImportFrom(module=origin, names=names, level=level):
                above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                base = ".".join([*above, *([origin] if origin else [])])
                # `from neelc import errors` imports the module neelc.errors: keep the longer name.
                yield from ((node.lineno, f"{base}.{name.name}") for name in names)


PRINTING = ("neelc.ir.node", "neelc.syntax.printer.show")
"""A node prints itself (`str(node)`) as it is written in a script, where the compiler is: no other module
imports what comes after it."""


def reached(start: Iterable[str]) -> dict[str, str]:
    """The modules of neelc that these import, at their top or in a function, and those that these import:
    each with the module that leads to it.

    Not by `neelc` itself: it imports a name when somebody uses it.
    """
    known, found = modules(), dict.fromkeys(start, "")
    waiting = list(found)
    while waiting:
        module = waiting.pop()
        names = [name for _, name in imports(module, known[module])] if module != "neelc" else []
        names = [name for name in (*names, module) if (module, name) != PRINTING]
        reached_now = [one for name in names for one in (name, name.rpartition(".")[0]) if one in known]
        for one in reached_now:
            if one not in found:
                found[one] = module
                waiting.append(one)
    return found


WORKER_MODULES = tuple(
    name
    for name in modules()
    if name.startswith("neelc.runtime") and not name.startswith("neelc.runtime.reference")
)
"""What Spark's workers load: the runtime without the reference interpreter."""


def configuration() -> configparser.ConfigParser:
    """setup.cfg."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


def documents() -> list[Path]:
    """README.md, CONTRIBUTING.md and every page of docs/."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
