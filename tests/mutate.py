"""`make mutate`: guards of the rules broken one by one, to see that `make fuzz` would have noticed each.

    make mutate                              every guard
    make mutate ONLY=flatten_sequence        those of one rule

The guards are in tests/mutations/RULE.txt, one small block of text each:

    the inner SEQ has no window
    - isinstance(part, Seq) and part.within is None and not has_same(part.where)
    + isinstance(part, Seq) and not has_same(part.where)

A block says which guard it breaks, then what stands in compiler/pattern/rules/RULE.py, exactly once, and
what to put in its place; there may be several such changes. A line `in pattern/rules/names.py` names another
file, `in runtime/moments.py` one of the runtime; a line `with all rules` asks for all forms and rules to be
checked, where the rule alone would not show it; a line `by words_fuzz` for another program that looks for a
counter-example. Each is tried on a copy of the package, on queries in the order of `make fuzz`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from repository import PACKAGES, ROOT

from neelc.catalog.inputs import aligned

MUTATIONS = ROOT / "tests" / "mutations"
FIRST = 1_000_000
"""The number of the first query: that of `make fuzz`."""


@dataclass(frozen=True)
class Mutation:
    """A guard of a rule, and how to break it: in `file`, a path below compiler/ or of runtime/, texts become
    others."""

    rule: str
    guard: str
    file: str
    changes: tuple[tuple[str, str], ...]
    with_all: bool = False
    program: str = "fuzz"


def mutations(only: Sequence[str] = ()) -> Iterator[Mutation]:
    """All that are written down, or those of some rules."""
    for path in sorted(MUTATIONS.glob("*.txt")):
        if not only or path.stem in only:
            for block in path.read_text().split("\n\n"):
                if block.strip():
                    yield parse(path.stem, block.strip("\n"))


def parse(rule: str, block: str) -> Mutation:
    """
    >>> found = parse("some_rule", "the window\\n-     if part.within:\\n+     if True:")
    >>> found.guard, found.file, found.changes
    ('the window', 'pattern/rules/some_rule.py', (('    if part.within:', '    if True:'),))
    """
    guard, *lines = block.split("\n")
    file, with_all, program = f"pattern/rules/{rule}.py", False, "fuzz"
    changes: list[tuple[list[str], list[str]]] = []
    for line in lines:
        mark, text = line[:1], line[2:]
        if mark == "-":
            if not changes or changes[-1][1]:
                changes.append(([], []))
            changes[-1][0].append(text)
        elif mark == "+":
            changes[-1][1].append(text)
        elif line == "with all rules":
            with_all = True
        elif line.startswith("in "):
            file = line.removeprefix("in ")
        elif line.startswith("by "):
            program = line.removeprefix("by ")
        else:
            expected = "`- `, `+ `, `in FILE`, `by PROGRAM` or `with all rules`"
            raise ValueError(f"{rule}: expected {expected}, found: {line}")
    texts = tuple(("\n".join(old), "\n".join(new)) for old, new in changes)
    return Mutation(rule, guard, file, texts, with_all, program)


def problem(mutation: Mutation, package: Path | None = None) -> str | None:
    """Why a mutation cannot be made, if it cannot: of a copy of the package, or of the sources."""
    is_runtime = mutation.file.startswith("runtime/")
    source = (ROOT if is_runtime else ROOT / "compiler") if package is None else package
    path = source / mutation.file
    if not path.exists():
        return f"there is no {mutation.file}"
    for old, new in mutation.changes:
        times = path.read_text().count(old)
        if times != 1 or old == new:
            return f"in {mutation.file} this stands {times} times: {old}"
    return None if mutation.changes else "it changes nothing"


def try_out(mutation: Mutation, plain: Path, pairs: int) -> str:
    """What became of a mutation of the copy in `plain`: `caught ...`, `NOT caught ...`, or why it is not
    known. It is caught by a query that is not broken without it."""
    if reason := problem(mutation, plain / "neelc"):
        return f"NOT tried: {reason}"
    rules = None if mutation.program != "fuzz" else [] if mutation.with_all else [mutation.rule]
    look = partial(_fuzz, mutation.program, rules)
    with tempfile.TemporaryDirectory(prefix="neelc-mutation-") as directory:
        broken = shutil.copytree(plain, Path(directory, "copy"))
        changed = broken / "neelc" / mutation.file
        for old, new in mutation.changes:
            changed.write_text(changed.read_text().replace(old, new))
        found = look(broken, pairs, FIRST)
    if found.returncode != 1:
        return f"NOT caught: {_last(found)}"
    number, _, after = _last(found).partition(" ")
    if not number.isdigit():
        return f"NOT judged: {_last(found)}"
    if look(plain, 1, int(number)).returncode:
        return f"NOT judged: query {number} is broken without the mutation"
    return f"caught {after}"


def _fuzz(
    program: str, rules: Sequence[str] | None, package: Path, pairs: int, first: int
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", program, "--until-broken", "--first", str(first), "--pairs", str(pairs)]
    environment = {**os.environ, "PYTHONPATH": f"{package}:{ROOT / 'tests'}"}
    command += [] if rules is None else ["--rules", *rules]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def _last(done: subprocess.CompletedProcess[str]) -> str:
    """The last line that was written."""
    return (done.stderr + done.stdout).rstrip().rpartition("\n")[2]


def copy(directory: Path) -> None:
    """The package `neelc`, put together in a directory that comes before the installed one."""
    leave_out = shutil.ignore_patterns("__pycache__")
    for package, origin in PACKAGES.items():
        shutil.copytree(origin, directory / package.replace(".", "/"), ignore=leave_out)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="mutate", description="break guards, one by one")
    parser.add_argument("--pairs", type=int, default=20_000, help="how long to look for a counter-example")
    parser.add_argument("--only", nargs="*", default=[], metavar="RULE")
    options = parser.parse_args(arguments)
    known = list(mutations(options.only))
    lines: list[list[str]] = []
    with tempfile.TemporaryDirectory(prefix="neelc-") as directory, ThreadPoolExecutor(2) as pool:
        copy(Path(directory))
        outcomes = pool.map(lambda mutation: try_out(mutation, Path(directory), options.pairs), known)
        for mutation, outcome in zip(known, outcomes, strict=True):
            print(f"{mutation.rule}: {mutation.guard}: {outcome}", file=sys.stderr, flush=True)
            lines.append([mutation.rule, mutation.guard, outcome])
    print("\n".join(aligned([["rule", "guard that was broken", "outcome"], *lines])))
    missed = sum(not outcome.startswith("caught") for *_, outcome in lines)
    print(f"\n{len(lines) - missed} of {len(lines)} caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
