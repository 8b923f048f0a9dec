"""`make map`: how large the tree is, and how far one query travels through it.

The way of a query is the files whose functions run between its text and the emitted source, in the order of
their first use; a change of stage is two neighbours in that list that belong to different packages. Imports
are done before, so that only what runs is counted.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from itertools import pairwise
from tempfile import NamedTemporaryFile
from types import FrameType

from repository import ROOT, imports, is_generated, modules

MODULES = {name: path for name, path in modules().items() if not is_generated(name)}


# What all stages use is no stage: a step into it and back is no change. A node prints itself (`str(node)`);
# rules, cost, plan and lints read the facts about a pattern; plan and runtime share the program.
SHARED = (
    *("ir", "scalar", "errors", "source", "findings", "files", "arguments", "versions", "runtime.values"),
    *("syntax.printer", "syntax.print_expressions", "syntax.print_patterns", "syntax.print_statements"),
    *("pattern.analysis", "runtime.program"),
)
STAGES = {"catalog": "bind", "program": "bind", "rewriting": "rules", "sharing": "cost"}
"""Packages that serve a stage of another name."""


def package_of(module: str) -> str:
    """The part of the tree that a module belongs to.

    >>> package_of("neelc.ir.node"), package_of("neelc.errors"), package_of("neelc.runtime.kernels.frontier")
    ('ir', 'neelc', 'runtime.kernels')
    """
    names = module.split(".")[1:]
    is_package = MODULES[module].name == "__init__.py" if module in MODULES else False
    folders = names if is_package else names[:-1]
    return ".".join(folders[: 2 if folders[:1] == ["runtime"] else 1]) or "neelc"


def stage_of(module: str) -> str | None:
    """The stage in which a module runs; None for what all stages use.

    >>> [stage_of(f"neelc.{name}") for name in ("pattern.bind.query", "catalog.streams", "ir.node")]
    ['bind', 'bind', None]
    """
    names = module.split(".")[1:]
    if not names or any(module == f"neelc.{one}" or module.startswith(f"neelc.{one}.") for one in SHARED):
        return None
    found = names[1] if names[0] in ("pattern", "rows", "algebra", "tools") and len(names) > 1 else names[0]
    return STAGES.get(found, found)


def sizes() -> dict[str, tuple[int, int]]:
    """Files and lines by package."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for module, path in MODULES.items():
        found[package_of(module)][0] += 1
        found[package_of(module)][1] += len(path.read_text().splitlines())
    return {package: (files, lines) for package, (files, lines) in sorted(found.items())}


def twice_named() -> dict[str, int]:
    """Public classes whose name occurs more than once."""
    names = Counter(
        node.name
        for path in MODULES.values()
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return {name: count for name, count in names.most_common() if count > 1}


def single_importers() -> list[tuple[str, str]]:
    """Modules that one module imports, which stands in the same folder."""
    importers: dict[str, set[str]] = defaultdict(set)
    for module, path in MODULES.items():
        for _, name in imports(module, path):
            target = name if name in MODULES else name.rpartition(".")[0]
            if target in MODULES and target != module:
                importers[target].add(module)
    return sorted(
        (module, next(iter(users)))
        for module, users in importers.items()
        if len(users) == 1 and next(iter(users)).rpartition(".")[0] == module.rpartition(".")[0]
    )


def way(run: Callable[[], object]) -> list[str]:
    """The modules whose functions `run` calls, in the order of their first call."""
    by_file = {str(path): module for module, path in MODULES.items()}
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and (module := by_file.get(frame.f_code.co_filename)):
            found.setdefault(module)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return list(found)


def changes(names: list[str]) -> int:
    """How often the way goes from one stage to another, in the order of first calls."""
    stages = [stage for stage in map(stage_of, names) if stage is not None]
    return sum(one != other for one, other in pairwise(stages))


EXAMPLES = {
    "PATTERN (the hospital)": (ROOT / "docs/examples/hospital/hospital.neel").read_text(),
    "MATCH_RECOGNIZE (a V)": """CREATE STREAM Prices (sym STRING, ts BIGINT, price INT) TIMESTAMP BY ts;
SELECT * FROM Prices MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES A.ts AS first, LAST(C.ts) AS last
  PATTERN (A B+ C+) DEFINE B AS price < PREV(price), C AS price > PREV(price));""",
    "SELECT (an average)": """CREATE STREAM Prices (sym STRING, ts BIGINT, price INT) TIMESTAMP BY ts;
SELECT sym, avg(price) AS mean FROM Prices WINDOW(TIME 10 SECONDS) WHERE price > 5 GROUP BY sym;""",
}
"""Scripts whose way through the tree is measured."""


def compile_text(text: str) -> object:
    from neelc.cli import main

    directory = ROOT / "docs/examples/hospital"
    with NamedTemporaryFile("w", suffix=".neel", dir=directory) as script, redirect_stdout(StringIO()):
        script.write(text)
        script.flush()
        return main(["compile", script.name])


def lines() -> Iterator[str]:
    found = sizes()
    yield f"{'package':<20}{'files':>8}{'lines':>10}"
    for package, (files, count) in found.items():
        yield f"{package:<20}{files:>8}{count:>10,}"
    yield f"{'all':<20}{sum(f for f, _ in found.values()):>8}{sum(n for _, n in found.values()):>10,}"
    yield ""
    yield "the way of a query, from its text to the emitted source"
    for name, text in EXAMPLES.items():
        compile_text(text)  # imports, and tables that are built once
        names = way(partial(compile_text, text))
        yield f"  {name:<26}{len(names):>5} files {changes(names):>5} changes of stage"
    twice = twice_named()
    yield ""
    yield f"public classes that share a name: {sum(twice.values())}" + (
        f" ({', '.join(twice)})" if twice else ""
    )
    alone = single_importers()
    rules = [module for module, _ in alone if ".rules." in module]
    yield f"modules with one importer, in their own folder: {len(alone)}, of which {len(rules)} are rules"


if __name__ == "__main__":
    print("\n".join(lines()))
