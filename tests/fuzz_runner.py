"""How the programs of `make fuzz` run: the options of the call, rounds of numbers in several processes, and
what is printed at the end.

A query depends on its number only: what was found once is found again, with `--first` and its number.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TypeVar

from neelc.catalog.inputs import aligned
from neelc.runtime.failures import KernelFailure

ROUND = 25
"""Queries that a process takes at a time."""

Check = Callable[[int, Counter[str]], Iterable[str] | None]
"""Compares the query of a number and counts what it saw; gives what is wrong, or raises `AssertionError`."""
Result = TypeVar("Result")


@dataclass
class RoundFindings:
    """What was seen in a row of queries, and what is wrong."""

    seen: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def add(self, other: RoundFindings) -> None:
        self.seen += other.seen
        self.broken += other.broken


def checked(check: Check, first: int, size: int = ROUND) -> RoundFindings:
    """Check the queries from number `first` on."""
    findings = RoundFindings()
    for number in range(first, first + size):
        try:
            findings.broken += check(number, findings.seen) or ()
        except (AssertionError, KernelFailure) as problem:
            findings.broken.append(f"{number}: {problem}")
        except Exception as error:
            error.add_note(f"This is query {number}.")
            raise
    return findings


def fuzz_parser(
    program: str, pairs: int, unit: str = "pairs", processes: int | None = 2
) -> argparse.ArgumentParser:
    """The options that all programs have: how many pairs, or what they count, and which."""
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument(f"--{unit}", dest="count", type=int, default=pairs)
    parser.add_argument(
        "--seed", dest="first", type=lambda text: int(text) * 1_000_000, default=1_000_000, metavar="N"
    )
    parser.add_argument("--first", type=int, metavar="N", help="the number of the first query")
    if processes is not None:
        parser.add_argument("--processes", type=int, default=processes)
    return parser


def rounds(
    run: Callable[[int], Result],
    counted: Callable[[Result], int],
    options: argparse.Namespace,
    size: int = ROUND,
    what: str = "",
) -> Iterator[Result]:
    """What `run` gives for the first number of each round, as the rounds come to an end, until they have
    enough of what is `counted`."""
    numbers, done = count(options.first, size), 0
    with ProcessPoolExecutor(options.processes) as pool:
        waiting = {pool.submit(run, next(numbers)) for _ in range(options.processes)}
        while waiting:
            ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for result in (future.result() for future in ended):
                yield result
                done += counted(result)
                show_progress(done, options.count, what)
                if done < options.count:
                    waiting.add(pool.submit(run, next(numbers)))


def show_progress(done: int, all: int, what: str = "") -> None:
    """One line that is written over, for people."""
    if sys.stderr.isatty():
        end = "\n" if done >= all else ""
        print(f"\r{what}{done:,} of {all:,} ", end=end, file=sys.stderr, flush=True)


def outcome(table: str, broken: Sequence[str]) -> int:
    """Print what was seen and what is wrong; the exit code of the program."""
    print("\n" + table)
    print("", *(broken or ["no difference was found"]), sep="\n\n" if broken else "\n")
    return 1 if broken else 0


def findings_of(check: Check, options: argparse.Namespace, counted: str) -> RoundFindings:
    """What was seen until there is enough of what is `counted`."""
    findings = RoundFindings()
    for one in rounds(partial(checked, check), lambda found: found.seen[counted], options):
        findings.add(one)
    return findings


def until_broken(check: Check, first: int, most: int, counted: str = "pairs") -> int:
    """Check one number after the other until something is wrong; says after how much of what is `counted`.
    For `make mutate`."""
    findings = RoundFindings()
    for number in count(first):
        try:
            findings.add(checked(check, number, 1))
        except Exception as error:  # what is broken may fail in any way
            findings.broken.append(repr(error))
        seen = findings.seen[counted]
        if findings.broken:
            print(f"{findings.broken[0]}\n{number} after {seen:,} {counted}")
            return 1
        if seen >= most:
            print(f"in {seen:,} {counted}")
            return 0
    raise AssertionError("numbers come to no end")


def fuzz(check: Check, program: str, pairs: int, counted: str = "pairs", until: Check | None = None) -> int:
    """A whole program that checks one number after the other; to find the first that is broken, with `until`,
    if that is given."""
    parser = fuzz_parser(program, pairs, counted)
    parser.add_argument("--until-broken", action="store_true", help="stop at the first counter-example")
    options, begin = parser.parse_args(), time.monotonic()
    if options.until_broken:
        return until_broken(until or check, options.first, options.count, counted)
    findings = findings_of(check, options, counted)
    return outcome(seen_table(findings.seen, time.monotonic() - begin), findings.broken)


def fuzz_families(families: Mapping[str, Check], program: str, pairs: int) -> int:
    """A whole program that checks one family of queries, or all of them one after the other."""
    parser = fuzz_parser(program, pairs)
    parser.add_argument("--family", choices=families, help="all of them, one after the other, by default")
    options = parser.parse_args()
    status = 0
    for name, check in families.items():
        if options.family in (None, name):
            begin = time.monotonic()
            findings = findings_of(check, options, "pairs")
            print(f"\n{name}")
            status |= outcome(seen_table(findings.seen, time.monotonic() - begin), findings.broken)
    return status


def seen_table(seen: Counter[str], seconds: float) -> str:
    """What was seen, for people."""
    lines = [(what, f"{number:,}") for what, number in sorted(seen.items())]
    return "\n".join(aligned([*lines, ("seconds", f"{seconds:.0f}")]))
