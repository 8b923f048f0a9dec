"""Who may import what: stages one way only, one door for each dependency, a light `import neelc`."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest
from repository import PRINTING, ROOT, WORKER_MODULES, imports, is_generated, modules, reached
from tree_map import twice_named

# A module imports from its own stage and from stages to the left. The packages of the three languages have
# the same stages inside: `pattern.bind` and `algebra.bind` are both `bind`. `program` binds whole scripts.
STAGES = """
    source errors versions files arguments ir rewriting findings syntax scalar catalog bind program
    analysis rules cost sharing plan engines pipeline rules_pipeline lints explain tools api cli
""".split()
LANGUAGES = ("pattern", "rows", "algebra")

# Stages that hand work to the runtime, or start it.
USES_RUNTIME = ("plan", "engines", "explain", "tools", "api", "cli")

# The rewriter computes constants, and must not have an arithmetic of its own: it asks the reference what an
# expression without events is worth. Nothing else of the runtime is its business.
CONSTANTS = ("neelc.runtime.reference.evaluate", "neelc.runtime.reference.model")

# What a value is, and how it is written, is the same for the compiler and for workers; NumPy is not loaded.
VALUES = (
    "neelc.runtime.late_dataclass",
    "neelc.runtime.late_module",
    "neelc.runtime.values.datetime_patterns",
    "neelc.runtime.values.functions",
    "neelc.runtime.values.order",
    "neelc.runtime.values.scalars",
    "neelc.runtime.values.statistics",
    "neelc.runtime.values.times",
    "neelc.runtime.values.types",
)

# The reference interpreter reads the logical plan itself (docs/decisions/0006), and computes with values as
# workers do (0098). Nothing of optimiser, planner and kernels, not even indirectly.
REFERENCE_READS = (
    "neelc.runtime.reference",
    "neelc.runtime.user_functions",
    "neelc.runtime.vector_functions",
    *VALUES,
    "neelc.ir",
    "neelc.errors",
    "neelc.source",
    "neelc.scalar.decimals",
    "neelc.scalar.intervals",
    "neelc.scalar.type_of",
)

DOORS = {
    "shapely": ("neelc.runtime.values.functions.space",),
    "antlr4": ("neelc.syntax", "neelc.grammar"),
    "sqlglot": ("neelc.scalar.spark", "neelc.scalar.duckdb", "neelc.engines.spark"),
    "duckdb": ("neelc.engines.local", "neelc.api.local_frame"),
    "pyspark": ("neelc.engines.spark", "neelc.api"),
    "pygls": ("neelc.tools.editors.server",),
    "lsprotocol": ("neelc.tools.editors.server",),
    "IPython": ("neelc.api.notebook",),
    "rich": ("neelc.cli.progress",),
    "pygments": ("neelc.tools.editors.lexer",),
    "railroad": ("neelc.grammar.page",),
}

# What rewrites, chooses, plans and writes a query.
STAGE_FUNCTIONS = (
    "neelc.pattern.rules.driver.forms",
    "neelc.algebra.rules.optimise.rewritten_network",
    "neelc.pattern.cost.choose.choose",
    "neelc.algebra.cost.network.chosen_network",
    "neelc.pattern.plan.strategies.planned_match",
    "neelc.algebra.plan.network.network_plan",
    "neelc.engines.spark.compiled.write_script",
)
COMPARING = ("neelc.tools.cases.run",)
"""Case files run in every form of a query, not in the chosen one."""

HEAVY = ("pyspark", "pandas", "numpy", "numba", "pyarrow", "sqlglot", "networkx")

MODULES = {name: path for name, path in modules().items() if not is_generated(name)}


def is_inside(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def stage(module: str) -> str:
    """The stage a module belongs to.

    >>> stage("neelc.ir.node"), stage("neelc.pattern.bind.query"), stage("neelc.tools.lints.lint")
    ('ir', 'bind', 'lints')
    """
    first, second = [*module.split("."), "", ""][1:3]
    return second if (first in LANGUAGES and second) or second == "lints" else first


def refusal(module: str, name: str) -> str | None:
    """Why `module` may not import `name`, or None.

    >>> refusal("neelc.ir.node", "neelc.syntax.parser")
    'stage ir comes before stage syntax'
    >>> refusal("neelc.pattern.bind.query", "neelc.ir.expressions.Expr") is None
    True
    >>> refusal("neelc.scalar.evaluate_constants", "neelc.runtime.reference.evaluate.evaluate") is None
    True
    >>> refusal("neelc.scalar.evaluate_constants", "neelc.runtime.reference.satisfy.is_match") is None
    False
    >>> refusal("neelc.runtime.columns", "neelc.ir")
    'workers load the runtime without the compiler and the reference'
    >>> refusal("neelc.runtime.columns", "neelc.runtime.reference.evaluate.evaluate")
    'workers load the runtime without the compiler and the reference'
    >>> refusal("neelc.runtime.reference.evaluate", "neelc.runtime.kernels.folding.FUNCTIONS")
    'the reference shares no idea with optimiser and kernels'
    """
    if (module, name) == PRINTING:
        return None
    if is_inside(module, ("neelc.runtime.reference",)):
        allowed = is_inside(name, REFERENCE_READS)
        return None if allowed else "the reference shares no idea with optimiser and kernels"
    if is_inside(module, ("neelc.runtime",)):
        allowed = is_inside(name, ("neelc.runtime",)) and not is_inside(name, ("neelc.runtime.reference",))
        return None if allowed else "workers load the runtime without the compiler and the reference"
    if is_inside(module, ("neelc.grammar",)):
        return None if is_inside(name, ("neelc.grammar",)) else "the grammar knows nothing of the compiler"
    if is_inside(name, ("neelc.grammar",)):
        return None if stage(module) == "syntax" else "only neelc.syntax reads the grammar"
    if (stage(module) in ("scalar", "analysis") and is_inside(name, CONSTANTS)) or is_inside(name, VALUES):
        return None
    if is_inside(name, ("neelc.runtime",)):
        return None if stage(module) in USES_RUNTIME else f"only {', '.join(USES_RUNTIME)} use the runtime"
    if unknown := {stage(module), stage(name)} - set(STAGES):
        return f"{', '.join(sorted(unknown))}: no place in STAGES"
    if STAGES.index(stage(module)) < STAGES.index(stage(name)):
        return f"stage {stage(module)} comes before stage {stage(name)}"
    return None


def test_every_module_has_a_place() -> None:
    known = {"", "__main__", "grammar", "runtime", *LANGUAGES, *STAGES}
    assert sorted(name for name in MODULES if stage(name) not in known) == []


def test_imports_run_one_way() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: imports {name}: {reason}"
        for module, path in MODULES.items()
        if stage(module) not in ("", "__main__")
        for line, name in imports(module, path)
        if is_inside(name, ("neelc",)) and (reason := refusal(module, name))
    ]
    assert wrong == []


def test_workers_load_neither_the_compiler_nor_the_reference() -> None:
    found = reached(WORKER_MODULES)
    assert {name: by for name, by in found.items() if name not in ("neelc", *WORKER_MODULES)} == {}


def test_the_reference_shares_no_idea_with_optimiser_and_kernels() -> None:
    found = reached(name for name in MODULES if is_inside(name, ("neelc.runtime.reference",)))
    above = ("neelc", "neelc.scalar", "neelc.runtime", "neelc.runtime.values")
    wrong = {name: by for name, by in found.items() if not is_inside(name, REFERENCE_READS)}
    assert {name: by for name, by in wrong.items() if name not in above} == {}


def test_modules_are_imported_by_their_installed_name() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: imports {name}: the import name begins with neelc"
        for module, path in MODULES.items()
        for line, name in imports(module, path)
        if name.split(".")[0] in ("compiler", "grammar", "runtime")
    ]
    assert wrong == []


def test_stages_are_called_by_the_pipeline() -> None:
    """No stage calls a later one, and nothing but `neelc.pipeline` calls them in order."""
    callers: dict[str, set[str]] = {function: set() for function in STAGE_FUNCTIONS}
    for module, path in MODULES.items():
        for _, name in imports(module, path):
            if name in callers:
                callers[name].add(module)
    others = {name: found - {"neelc.pipeline"} - set(COMPARING) for name, found in callers.items()}
    assert {name: sorted(found) for name, found in others.items() if found} == {}
    assert all("neelc.pipeline" in found for found in callers.values())


@pytest.mark.parametrize("package", DOORS)
def test_a_dependency_has_one_door(package: str) -> None:
    users = [
        module
        for module, path in MODULES.items()
        for _, name in imports(module, path)
        if is_inside(name, (package,))
    ]
    assert [module for module in users if not is_inside(module, DOORS[package])] == []


def test_a_public_class_has_a_name_of_its_own() -> None:
    assert twice_named() == {}


def test_networkx_is_used_by_one_module() -> None:
    users = {
        module
        for module, path in MODULES.items()
        for _, name in imports(module, path)
        if is_inside(name, ("networkx",))
    }
    assert len(users) <= 1


def loaded_after(statement: str) -> set[str]:
    """The modules a fresh interpreter holds after `statement`."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["neelc", "neelc.cli"])
def test_import_is_light(module: str) -> None:
    assert loaded_after(f"import {module}") & set(HEAVY) == set()


def test_the_runtime_comes_without_the_compiler() -> None:
    loaded = loaded_after("import " + ", ".join(WORKER_MODULES))
    assert {name for name in loaded if is_inside(name, ("neelc",))} == {"neelc", *WORKER_MODULES}


def test_the_generated_parser_belongs_to_the_grammar() -> None:
    from neelc.grammar.generated import GRAMMAR_SHA256

    found = hashlib.sha256((ROOT / "grammar" / "Neel.g4").read_bytes()).hexdigest()
    assert found == GRAMMAR_SHA256, "grammar/Neel.g4 has changed: run grammar/regenerate.py"


ORDERED = (
    "neelc.source",
    "neelc.runtime.values.times",
    "neelc.runtime.late_dataclass",
    "neelc.grammar.page",
    "neelc.api.table_result",
)
"""Modules with a class whose objects are ordered, which Python's own `dataclass` makes, and those that no run
loads, or only calls of the table function."""


def test_methods_of_dataclasses_are_made_late() -> None:
    """Python's own makes them while a module is loaded: 0.4 s for all of the compiler's."""
    early = [
        module
        for module, path in MODULES.items()
        if module not in ORDERED and any(name == "dataclasses.dataclass" for _, name in imports(module, path))
    ]
    assert early == []
