"""CONTRIBUTING.md speaks of files, names and commands that are there."""

from __future__ import annotations

import re

import pytest
from binding import program
from repository import ROOT, modules

from neelc.ir import patterns as p
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pipeline import compile_program
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference import matches
from neelc.syntax import patterns as parsing

TEXT = (ROOT / "CONTRIBUTING.md").read_text()

# What the reader is to write.
NEW = ("my_rule", "my.case", "NAME")

FILE = re.compile(r"`((?:compiler|grammar|runtime|tests|docs)/[\w./-]*|setup\.cfg)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def named(pattern: re.Pattern[str]) -> list[str]:
    return [path for path in pattern.findall(TEXT) if not any(word in path for word in NEW)]


def test_files_are_there() -> None:
    paths = [*named(FILE), *named(LINK), *re.findall(r"(?<=[ `])(?:tests|docs)/[\w/]+\.\w+(?=[ `])", TEXT)]
    paths = [path for path in paths if not any(word in path for word in NEW)]
    assert len(paths) > 40
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_targets_are_those_of_make() -> None:
    known = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    targets = set(re.findall(r"(?:`|^ {4})make ([a-z]+)", TEXT, re.MULTILINE))
    assert len(targets) > 6 and targets <= known


@pytest.mark.parametrize(
    "name, file",
    [
        ("STEPS", "runtime/kernels/running.py"),
        ("SCALARS", "compiler/scalar/signatures.py"),
        ("ABOUT_NULL", "runtime/values/functions/__init__.py"),
        ("OPERATIONS", "runtime/values/operations.py"),
        ("_CALLS", "compiler/scalar/type_of.py"),
        ("COMMANDS", "compiler/cli/__init__.py"),
        ("STAGES", "tests/test_architecture.py"),
        ("def after", "tests/pattern_examples.py"),
        ("class RefusalReason", "compiler/pattern/rules/rule.py"),
        ("class UnsupportedQuery", "compiler/pattern/plan/blocks.py"),
        ("def scalar_matches", "tests/scalar_kernel.py"),
        ("def kernel_matches", "tests/in_kernel.py"),
        ("WITHOUT_CASE", "tests/test_errors.py"),
        ("CATALOGUE", "compiler/errors.py"),
        ("packages =", "setup.cfg"),
        ("OPERATORS", "compiler/ir/patterns.py"),
        ("class Joint", "compiler/ir/patterns.py"),
        ("def may_be_empty", "compiler/ir/patterns.py"),
        ("def _check_bounds", "compiler/pattern/bind/query.py"),
        ("def _odd_part", "compiler/pattern/bind/windows.py"),
        ("def is_member", "compiler/pattern/analysis/regions.py"),
        ("def place", "compiler/pattern/plan/pattern_to_blocks.py"),
        ("AGGREGATES", "compiler/scalar/signatures.py"),
        ("AGGREGATES", "runtime/reference/aggregates.py"),
        ("AGGREGATES", "compiler/engines/spark/results.py"),
        ("AGGREGATES", "compiler/ir/algebra.py"),
        ("FUNCTIONS", "runtime/kernels/folding.py"),
        ("FOLDS", "runtime/program.py"),
        ("FOLDS", "runtime/values/path_folds.py"),
        ("class Hint", "compiler/errors.py"),
        ("def plan_queries", "compiler/pipeline.py"),
        ("def write_script", "compiler/engines/spark/compiled.py"),
        ("class StrategyPlan", "compiler/pattern/plan/strategies.py"),
        ("class NetworkPlan", "compiler/algebra/plan/network.py"),
        ("def run", "runtime/worker.py"),
    ],
)
def test_names_are_there(name: str, file: str) -> None:
    assert re.search(
        rf"^{name}\b" if name[-1].isalnum() else rf"^{name}", (ROOT / file).read_text(), re.MULTILINE
    )


def test_a_command_is_as_it_is_told() -> None:
    from neelc.cli import format

    assert all(hasattr(format, name) for name in ("DESCRIPTION", "EXAMPLES", "add", "run"))


def test_benchmarks_and_options_are_there() -> None:
    assert all(
        (ROOT / "tests" / "bench" / f"{name}.py").exists() for name in re.findall(r"\bbench_\w+", TEXT)
    )
    makefile = (ROOT / "Makefile").read_text()
    assert all(
        f"$({word})" in makefile or f"$(or $({word})" in makefile
        for word in ("PAIRS", "SEED", "RULES", "ONLY")
    )


def test_the_modules_that_name_an_operator_are_listed() -> None:
    listed = re.findall(r"\*\*`([\w/.]+)`\*\*", TEXT)
    named = (path for path in modules().values() if re.search(r"\bAndNeg\b", path.read_text()))
    assert sorted(listed) == sorted(path.relative_to(ROOT).as_posix() for path in named)
    assert f"is named in the {len(listed)} modules" in TEXT


@dataclass(frozen=True)
class Pair(p.Joint):
    """An operator that is new, and has no meaning yet."""


def test_a_stage_that_does_not_know_an_operator_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node and a line in `OPERATORS` suffice to read, write, bind and rewrite it."""
    monkeypatch.setitem(parsing._OPERATORS, "AND_NEG", Pair)
    monkeypatch.setitem(p.KEYWORD_OF, Pair, "PAIR")
    bound = program("PATTERN AND_NEG(A a, B b) WHERE a.price < b.price WITHIN 5")
    query = bound.queries[0].match
    assert str(query.pattern) == "PAIR(A a, B b WHERE a.price < b.price)"
    with pytest.raises(UnsupportedQuery, match="PAIR"):
        compile_program(bound)
    rows = [{"id": 1, "ts": at, "kind": kind, "price": at, "pos": None} for at, kind in enumerate("AB")]
    with pytest.raises(TypeError, match="Pair is not a pattern"):
        matches(query, {"S": rows})
