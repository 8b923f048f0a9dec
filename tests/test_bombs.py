"""A few words that ask for very much: they are refused by name, or compiled, and soon.

All scripts are compiled in a process of its own that has little memory and little time. What builds before it
counts ends there: out of memory, or of time.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import FrameType

import pytest
from command_line import Here

pytestmark = pytest.mark.xdist_group("bombs")  # one process: what they begin with takes long

HEAD = "CREATE STREAM S (ts BIGINT, kind STRING, id BIGINT, x DOUBLE) TIMESTAMP BY ts TYPE BY kind;\n"
GIGABYTE = 1 << 30
PLACES = "a row pattern with more than 10000 places"


def joined(text: str, number: int, by: str = ", ") -> str:
    """The text for 0, 1, 2 ... in the place of `#`."""
    return by.join(text.replace("#", str(place)) for place in range(number))


def rows(pattern: str) -> str:
    clauses = f"ORDER BY ts MEASURES A.x AS y PATTERN ({pattern}) DEFINE A AS x > 1"
    return f"SELECT * FROM S MATCH_RECOGNIZE ({clauses})"


def sequential(pattern: str) -> str:
    clauses = f"MEASURES A.x AS y PATTERN ({pattern}) DEFINE A AS x > 1"
    return f"SELECT * FROM S MATCH_RECOGNIZE_SEQUENTIAL ({clauses})"


def events(pattern: str, strategy: str = "SKIP TILL ANY MATCH") -> str:
    return f"PATTERN {pattern} WITHIN 1 HOUR USING {strategy}"


def where(condition: str) -> str:
    return f"PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 1 HOUR"


def nested_types(levels: int) -> str:
    """Every type holds the one below it twice: 2^levels ways lead to the members."""
    types = "".join(
        f"CREATE TYPE T{n} AS (T{n - 1}, U{n - 1}); CREATE TYPE U{n} AS (U{n - 1}, T{n - 1}); "
        for n in range(1, levels)
    )
    return f"CREATE TYPE T0 AS (A, B); CREATE TYPE U0 AS (B, D); {types}PATTERN SEQ(T{levels - 1} t, C c)"


def wide_types(number: int) -> str:
    members = " ".join(
        f"CREATE TYPE T{n} AS ({', '.join(f'M{n}_{m}' for m in range(number))});" for n in range(number)
    )
    return f"{members} CREATE TYPE Z AS ({joined('T#', number)}); PATTERN SEQ(Z a, Z b) WITHIN 1 HOUR"


@dataclass(frozen=True)
class Bomb:
    """A script, and the error that names what is too much; "" if it compiles."""

    name: str
    text: str
    error: str = ""


BOMBS = (
    Bomb("rows, many times", rows("A{3000000000}"), PLACES),
    Bomb("rows, more times than a number", rows("A{99999999999999999999999}"), PLACES),
    Bomb("rows, up to many times", rows("A{1,99999999999999999999999}"), PLACES),
    Bomb("rows, excluded", rows("A {- B{3000000000} -}"), PLACES),
    Bomb("rows, times times times", rows("(A{1000}){1000}"), PLACES),
    Bomb("rows, optional ones times times", rows("((((A?){100}){100}){100})"), PLACES),
    Bomb("rows, nothing many times", rows("(){3000000000} A"), PLACES),
    Bomb("rows, nothing times times", rows("((((){9000}){9000}){9000}) A"), PLACES),
    Bomb("rows, anchors", rows("((^){9000}){9000} A"), PLACES),
    Bomb("rows, orders of variables", rows(f"PERMUTE({joined('V#', 30)}, A)"), PLACES),
    Bomb("rows, orders of nothing", rows(f"PERMUTE({joined('()', 20)}, A)"), PLACES),
    Bomb("rows, many optional ones", rows(joined("A?", 3000, " ")), "more than 1000000 ways from row to row"),
    Bomb("rows, upside down", rows("A{5,2}"), "`{5,2}` can never match"),
    Bomb("symbols, many times", sequential("A{3000000000}"), "a pattern with more than 2000 places"),
    Bomb("symbols, many", sequential("A{99999999999999999999999}"), "a pattern with more than 2000 places"),
    Bomb("symbols, times times", sequential("((A B){1000}){1000}"), "a pattern with more than 2000 places"),
    Bomb("events, many times", events("SEQ(A{3000000000} a[], B b)"), "a list has at most 2,147,483,647"),
    Bomb("events, more than a number", events("SEQ(A{99999999999999999999999} a[], B b)"), "more than 10^15"),
    Bomb(
        "events, upside down", events("SEQ(A{5,2} a[], B b)"), "at least 5 and at most 2 times is impossible"
    ),
    Bomb(
        "an element far away",
        events("SEQ(A+ a[], B b WHERE a[2000000000].x > 1)", "SKIP TILL NEXT MATCH"),
        "a condition on more than 100 elements of `a` one by one",
    ),
    Bomb(
        "an element far back",
        events("SEQ(A+ a[], B b WHERE a[i].x > a[i-2000000000].x)", "SKIP TILL NEXT MATCH"),
        "a condition on more than 100 elements of `a` one by one",
    ),
    Bomb("an element far away, any match", events("SEQ(A+ a[], B b WHERE a[2000000000].x > 1)")),
    Bomb(
        "a long window",
        "PATTERN SEQ(A a, B b) WITHIN 99999999999999999999999 DAYS",
        "longer than any possible time",
    ),
    Bomb("a large window", "PATTERN SEQ(A a, B b) WITHIN 99999999999999999999999 EVENTS", "longer than any"),
    Bomb("a large number", where("a.x > 1e99999"), "is too large for a DOUBLE"),
    Bomb("a long text", where(f"a.kind = '{'x' * 1_000_000}'")),
    Bomb(
        "a text that grows", where("repeat('x', 2000000000) = a.kind AND lpad('x', 2000000000, 'y') = b.kind")
    ),
    Bomb("many conditions", where(joined("a.x < b.x + #", 1000, " AND "))),
    Bomb("many alternatives", where(joined("a.x = b.x + #", 1000, " OR "))),
    Bomb("too many conditions", where(joined("a.x < b.x + #", 10_000, " AND ")), "a statement of 100,0"),
    Bomb("a long list", where(f"a.id IN ({joined('#', 5000)})")),
    Bomb("too long a list", where(f"a.id IN ({joined('#', 100_000)})"), "a statement of 200,0"),
    Bomb("ORs in an AND", where(joined("(a.x = 2 * # OR b.x = 3 * #)", 40, " AND "))),
    Bomb("branches", events(f"SEQ(A a, OR({joined('B b#', 1000)}), C c)")),
    Bomb("ORs in a SEQ", events(f"SEQ({joined('OR(A a#, B b#)', 40)})")),
    Bomb("ORs in an AND of events", events(f"AND({joined('OR(A a#, B b#)', 40)})")),
    Bomb("negated sequences", events(f"SEQ(A a, {joined('!SEQ(B b#, C c#, D d#)', 40)}, E e)")),
    Bomb("optional events", events(f"SEQ({joined('A? a#', 60)}, B b)", "SKIP TILL NEXT MATCH")),
    Bomb("two long branches", events(f"OR(SEQ({joined('A a#', 300)}), SEQ({joined('A b#', 300)}))")),
    Bomb("types in types", nested_types(60)),
    Bomb("types of many members", wide_types(50)),
    Bomb(
        "columns",
        f"CREATE STREAM R (t BIGINT, {joined('c# INT', 2000)}) TIMESTAMP BY t; PATTERN SEQ(R a, R b)",
    ),
)

RUN = """
import contextlib, io, json, sys
from neelc.cli import main
for path in sys.argv[1:]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["compile", path])
    print(json.dumps([path, status, err.getvalue()]), flush=True)
"""


def few_resources() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2 * GIGABYTE, 2 * GIGABYTE))
    resource.setrlimit(resource.RLIMIT_CPU, (300, 300))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """The status and the messages of every bomb that was compiled before resources ran out."""
    directory = tmp_path_factory.mktemp("bombs")
    paths: list[Path] = []
    for number, bomb in enumerate(BOMBS):
        paths.append(directory / f"{number}.neel")
        paths[-1].write_text(f"{HEAD}{bomb.text};\n")
    run = [sys.executable, "-c", RUN, *map(str, paths)]
    done = subprocess.run(run, capture_output=True, text=True, preexec_fn=few_resources, timeout=1800)
    found = {path: (status, err) for path, status, err in map(json.loads, done.stdout.splitlines())}
    return {
        bomb.name: found[str(path)] for bomb, path in zip(BOMBS, paths, strict=True) if str(path) in found
    }


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.name)
def test_it_is_refused_or_compiled_soon(bomb: Bomb, compiled: dict[str, tuple[int, str]]) -> None:
    assert bomb.name in compiled, "memory or time ran out, here or before"
    status, err = compiled[bomb.name]
    assert bomb.error in err, err
    assert status == (1 if bomb.error else 0), err


def chain(number: int) -> str:
    return f"SEQ({joined('A a#', number)}) WHERE [id]"


def compared(number: int) -> str:
    conditions = " AND ".join(f"a{one}.x < a{two}.x" for one, two in pairwise(range(number)))
    return f"SEQ({joined('A a#', number)}) WHERE [id] AND {conditions}"


def guarded(number: int) -> str:
    return f"SEQ({joined('A a#, !N n#', number - 1)}, A last) WHERE [id]"


def repeated(number: int) -> str:
    return f"SEQ({joined('A a#0, A a#1, A a#2, A+ a#3[]', number // 4)}) WHERE [id]"


def calls(run: Callable[[], object]) -> int:
    """How many functions a call calls."""
    number = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return number


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH"])
@pytest.mark.parametrize("pattern", [chain, compared, guarded, repeated])
def test_twice_the_events_take_twice_the_work(
    pattern: Callable[[int], str], strategy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was eight times the work for a chain."""
    neelc = Here(tmp_path, capsys)

    def work(number: int) -> int:
        neelc.write("long.neel", f"{HEAD}{events(pattern(number), strategy)};")
        path = str(tmp_path / "long.neel")
        number_of_calls = calls(lambda: neelc("compile", path))
        assert neelc("check", path).status == 0
        return number_of_calls

    work(4)  # what is loaded late is loaded now
    assert work(120) < 2.7 * work(60)
