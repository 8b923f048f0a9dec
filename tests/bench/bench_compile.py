"""How long a query takes from text to a chosen plan as patterns grow, and a long sequence to PySpark source.

The compile time is that of parsing, binding, all forms, their prices and the choice, in a process that has
loaded everything. Long sequences are planned and written, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import pairwise

from bench.row import Row

from neelc.catalog.statistics.numbers import Statistics
from neelc.pattern.cost.choose import choose
from neelc.pattern.rules.driver import forms
from neelc.pipeline import compile_program
from neelc.program import bind
from neelc.source import Source
from neelc.syntax import script

HEAD = "CREATE STREAM S (ts BIGINT, kind STRING, id BIGINT, x DOUBLE) TIMESTAMP BY ts TYPE BY kind;\n"
GOAL = 2.0


def components(number: int) -> str:
    """A SEQ of events, every third of them negative, with conditions between neighbours."""
    parts = [f"{'!' if place % 3 == 2 else ''}T{place} v{place}" for place in range(number - 1)]
    positive = [place for place in range(number - 1) if place % 3 != 2]
    conditions = [f"v{one}.x < v{two}.x" for one, two in pairwise(positive)]
    return f"SEQ({', '.join(parts)}, T{number} v{number}) WHERE [id] AND {' AND '.join(conditions)}"


def nested(depth: int) -> str:
    """SEQ, AND, OR and negated SEQ in each other, `depth` deep."""
    kinds = (
        "SEQ(A{0} a{0}, {1}, B{0} b{0})",
        "AND(A{0} a{0}, {1})",
        "OR(A{0} a{0}, {1})",
        "SEQ(A{0} a{0}, !SEQ(C{0} c{0}, D{0} d{0}), {1})",
    )
    inner = "Z z"
    for level in range(depth):
        inner = kinds[level % 4].format(level, inner)
    return inner


def disjuncts(number: int) -> str:
    """An OR of sequences that begin alike."""
    sequences = (f"SEQ(A a{place}, !N{place % 7} n{place}, B{place} b{place})" for place in range(number))
    return f"OR({', '.join(sequences)})"


def chain(length: int) -> str:
    """A negated SEQ that is long: pushed down it has as many branches as parts."""
    return f"SEQ(A a, !SEQ({', '.join(f'N{place} n{place}' for place in range(length))}), B b)"


SERIES: tuple[tuple[str, Callable[[int], str], tuple[int, ...]], ...] = (
    ("components of a SEQ", components, (10, 20, 30)),
    ("levels of nesting", nested, (4, 7, 10)),
    ("branches of an OR", disjuncts, (50, 100, 200)),
    ("events in a negated SEQ", chain, (5, 10, 20)),
)


def sequence(length: int, types: int, more: str = "", gap: str = "") -> str:
    """A SEQ of events of some types; `gap` stands behind every third of them, `{0}` is its number."""
    parts = [
        f"T{place % types} a{place}" + (gap.format(place) if place % 3 == 1 and place < length - 1 else "")
        for place in range(length)
    ]
    return f"SEQ({', '.join(parts)}) WHERE [id]{more}"


def ordered(length: int) -> str:
    """A condition between each event and the next."""
    return sequence(length, 8, "".join(f" AND a{n}.x < a{n + 1}.x" for n in range(length - 1)))


LONG: tuple[tuple[str, Callable[[int], str]], ...] = (
    ("events of one type", lambda length: sequence(length, 1)),
    ("events of 8 types", lambda length: sequence(length, 8)),
    ("events, each compared with the next", ordered),
    ("events, negations between them", lambda length: sequence(length, 8, gap=", !N n{0}")),
    ("events under SKIP TILL NEXT MATCH", lambda length: sequence(length, 8)),
)
LENGTHS = (40, 80, 160, 320, 1000)
GOALS = {160: 2.0, 1000: 30.0}


def seconds_to_source(pattern: str, strategy: str = "") -> float:
    """From the text of a query to PySpark source."""
    source = Source(f"{HEAD}PATTERN {pattern} WITHIN 1 HOUR{strategy};")
    begin = time.perf_counter()
    _ = compile_program(bind(script(source), source), 0).source
    return time.perf_counter() - begin


def long_sequences() -> Iterator[Row]:
    for what, make in LONG:
        strategy = " USING SKIP TILL NEXT MATCH" if "NEXT MATCH" in what else ""
        for length in LENGTHS:
            taken = seconds_to_source(make(length), strategy)
            goal = GOALS.get(length)
            met = None if goal is None else taken < goal
            yield Row(f"{length} {what}", f"{taken:.2f} s", f"< {goal:.0f} s" if goal else "", met)


def seconds(pattern: str) -> float:
    source = Source(f"{HEAD}PATTERN {pattern} WITHIN 1 MINUTE;")
    begin = time.perf_counter()
    (query,) = bind(script(source), source).queries
    choose(query.match, forms(query.match), Statistics())
    return time.perf_counter() - begin


def run() -> list[Row]:
    seconds("SEQ(A a, B b)")  # what is loaded late is loaded now
    rows = []
    for what, make, sizes in SERIES:
        for size in sizes:
            taken = min(seconds(make(size)) for _ in range(3))
            last = size == sizes[-1]
            goal = f"< {GOAL:.0f} s" if last else ""
            rows.append(Row(f"{size} {what}", f"{taken:.2f} s", goal, taken < GOAL if last else None))
    return [*rows, *long_sequences()]
