"""The pictures of the documentation: `python draw.py` writes them beside itself.

The reference interpreter says what matches, and the page of benchmarks has the seconds: neither is repeated
here.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import tempfile
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from drawing import COLOURS, axis, event, match, picture, ring, scope, words

from neelc.cli import main as neelc

HERE = Path(__file__).parent
HOSPITAL = HERE.parent / "examples" / "hospital"
EIGHT = datetime(2024, 3, 1, 8)

STRATEGIES = {
    "SKIP TILL ANY MATCH": "every choice of events that fits",
    "SKIP TILL NEXT MATCH": "takes what fits as it comes, and skips what does not",
    "PARTITION CONTIGUITY": "nothing of the same key in between",
    "STRICT CONTIGUITY": "nothing at all in between",
}
STREAM = "1A1 2B1 3B2 4B1 5C1 6A1 7B1 8D1 9C1 10A1 11B1 12C1".split()
"""When, what, and of which key."""
STREAM_OF = "CREATE STREAM Events (ts BIGINT, kind STRING, key INT) TIMESTAMP BY ts UNIT SECONDS TYPE BY kind"
PATTERN = "PATTERN SEQ(A a, B+ b[], C c) WHERE [key] WITHIN 4 SECONDS"


def found(script: Path) -> list[dict[str, Any]]:
    """The rows of a script, by the reference interpreter."""
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stderr(io.StringIO()):
        out = Path(name) / "out.json"
        if neelc(["run", str(script), "--engine", "reference", "--out", str(out)]) != 0:
            raise RuntimeError(script.read_text())
        return [json.loads(line) for line in out.read_text().splitlines()]


def strategies() -> str:
    """The same events under each selection strategy."""
    events = [(int(word[:-2]), word[-2], word[-1]) for word in STREAM]
    letters = dict(zip("ABCD", COLOURS, strict=False))
    parts = [words(24, 34, "SEQ(A a, B+ b[], C c)  WHERE [key]  WITHIN 4 SECONDS", "code head")]
    parts.append(words(836, 34, "B′ has another key", "soft", "end"))
    y = 72.0
    for strategy, meaning in STRATEGIES.items():
        matches = runs(strategy, events)
        parts += [words(24, y, strategy, "head"), words(220, y, meaning, "soft")]
        parts.append(words(836, y, counted(len(matches)), "soft", "end"))
        parts.append(axis(40, 820, y + 28))
        parts += [
            event(second(t), y + 28, kind + "′" * (key == "2"), letters[kind]) for t, kind, key in events
        ]
        for times, lane in lanes(matches):
            parts += match([second(time) for time in times], y + 52 + 13 * lane)
        y += 88 + 13 * max(lane for _, lane in lanes(matches))
    return picture(
        parts, int(y) - 18, "One stream under the four selection strategies: 5, 3, 2 and 1 matches"
    )


def lanes(matches: list[list[int]]) -> list[tuple[list[int], int]]:
    """Matches that begin with the same event stand below each other."""
    starts = [times[0] for times in matches]
    return [(times, starts[:number].count(times[0])) for number, times in enumerate(matches)]


def second(time: int) -> float:
    return 8 + 64 * time


def counted(matches: int) -> str:
    return f"{matches} match{'es' * (matches != 1)}"


def runs(strategy: str, events: list[tuple[int, str, str]]) -> list[list[int]]:
    """The times of the events of each match."""
    query = f"{PATTERN} USING {strategy} RETURN a.ts AS a, b[].ts AS b, c.ts AS c"
    return sorted([row["a"], *row["b"], row["c"]] for row in asked(query, events))


def asked(query: str, events: Iterable[tuple[object, ...]]) -> list[dict[str, Any]]:
    """The rows of a query over events of a time, a kind and a key."""
    with tempfile.TemporaryDirectory() as name:
        rows = "".join(f"{time},{kind},{key}\n" for time, kind, key in events)
        (Path(name) / "events.csv").write_text(f"ts,kind,key\n{rows}")
        script = Path(name) / "query.neel"
        script.write_text(f"{STREAM_OF} FROM 'events.csv'; {query};")
        return found(script)


SCOPES = (
    ("SEQ(!W w, A a, !C c, B b, !D d)", ((2, 8, "no W"), (8, 12, "no C"), (12, 18, "no D"))),
    ("AND(A a, !C c, B b)", ((2, 18, "no C"),)),
    ("SEQ(A a, !SEQ(C c, D d), B b)", ((8, 12, "no C before a D"),)),
    ("SEQ(A a, SEQ(!C c, B b) WITHIN 2)", ((10, 12, "no C"),)),
)
"""Patterns over A at 8 and B at 12, and where their negations look: docs/explanation/semantics.md."""


def scopes() -> str:
    """Where negations look, for a match from 8 to 12 and a window of 10."""
    parts = [words(24, 34, "A at 8, B at 12, WITHIN 10: nothing before 2 or after 18 fits in", "head")]
    y = 74.0
    for pattern, intervals in SCOPES:
        parts.append(words(24, y, pattern, "code"))
        for left, right, text in intervals:
            parts.append(scope(minute(left), minute(right), y + 12, y + 48))
            parts.append(words((minute(left) + minute(right)) / 2, y + 64, text, "soft", "middle"))
        parts += [
            axis(40, 820, y + 30),
            event(minute(8), y + 30, "A", "one"),
            event(minute(12), y + 30, "B", "two"),
        ]
        y += 92
    y -= 8
    parts += [words(minute(time), y, str(time), "soft", "middle") for time in range(0, 21, 2)]
    return picture(
        parts, int(y) + 18, "The scopes of negations in SEQ, in AND, nested, and with a window of their own"
    )


def minute(time: float) -> float:
    return 50 + 38 * time


def hospital() -> str:
    """Instruments of the hospital: which were used without being sharpened, disinfected and checked?"""
    with (HOSPITAL / "hospital.csv").open() as file:
        rows = list(csv.DictReader(file))
    alarms = {row["r_id"] for row in found(HOSPITAL / "hospital.neel")}
    kinds = list(dict.fromkeys(row["activity"] for row in rows))
    colours = dict(zip(kinds, COLOURS, strict=False))
    parts = [
        words(
            24,
            34,
            "SEQ(Recycle r, Washing w, !SEQ(Sharpening s, Disinfection d, Checking c), Operating o)",
            "code head",
        )
    ]
    y = 74.0
    for instrument in ("scalpel-1", "scissors-2", "clamp-3"):
        mine = {row["activity"]: clock(row["ts"]) for row in rows if row["id"] == instrument}
        ends = [mine["Recycle"], mine["Washing"], mine["Operating"]]
        parts += [
            words(24, y + 5, instrument, "head"),
            scope(ends[1], ends[2], y - 20, y + 20),
            axis(130, 640, y),
        ]
        parts += [event(x, y, kind[0], colours[kind]) for kind, x in mine.items()]
        if instrument in alarms:
            parts += [*match(ends, y + 32), words(836, y + 5, "a match", "head", "end")]
        else:
            parts.append(words(836, y + 5, "all three steps: no match", "soft", "end"))
        y += 78
    for number, kind in enumerate(kinds):
        parts += [
            event(40 + 136 * number, y, kind[0], colours[kind]),
            words(58 + 136 * number, y + 5, kind, "soft"),
        ]
    return picture(
        parts,
        int(y) + 34,
        "Three instruments: one took all steps; two went into an operation without, and match",
    )


GAP = tuple(zip(range(1, 7), "WCSDCO", strict=True))
"""A washing, an operation, and all three steps in the gap between them, after a first checking."""


def pushdown() -> str:
    """One gap, judged by the published rule and by the latest candidates."""
    query = "PATTERN SEQ(W w, !SEQ(S s, D d, C c), O o) WITHIN 10 SECONDS RETURN w.ts"
    if asked(query, [(time, kind, 1) for time, kind in GAP]):
        raise RuntimeError("the reference finds a match, and the picture says that there is none")
    colours = dict(zip("WOSDC", COLOURS, strict=False))
    parts = [
        words(
            24, 34, "SEQ(Washing w, !SEQ(Sharpening s, Disinfection d, Checking c), Operating o)", "code head"
        )
    ]
    rows = (
        ("NEEL", "some C with no D before it: the first one", 2, "accepted: wrong"),
        ("neelc", "the latest C, and the latest D before it: there is an S before them", 5, "rejected"),
    )
    y = 72.0
    for who, rule, chosen, verdict in rows:
        parts += [
            words(24, y, who, "head"),
            words(90, y, rule, "soft"),
            words(836, y, verdict, "head", "end"),
        ]
        parts += [scope(gap(1), gap(6), y + 14, y + 54), axis(60, 800, y + 34)]
        parts += [event(gap(time), y + 34, kind, colours[kind]) for time, kind in GAP]
        parts.append(ring(gap(chosen), y + 34))
        if chosen == 5:
            parts.append(ring(gap(4), y + 34))
        y += 92
    return picture(
        parts, int(y) - 14, "A gap C S D C: the first C has no D before it, yet S, D and C lie in the gap"
    )


def gap(time: int) -> float:
    return 130 * time - 25


def clock(text: str) -> float:
    return 150 + (datetime.fromisoformat(text) - EIGHT).total_seconds() / 60 * 10.5


PAGE = HERE.parent / "explanation" / "benchmarks.md"
ENGINES = {
    "local engine": ("one", "neelc, local engine"),
    "Spark": ("match", "neelc on Spark"),
    "stream": ("four", "neelc on a stream"),
    "Flink SQL": ("two", "Flink SQL"),
    "SQL on Spark": ("gone", "hand-written SQL on Spark"),
    "SQL on DuckDB": ("three", "hand-written SQL on DuckDB"),
}


def benchmarks() -> str:
    """The table of the benchmarks' page: the seconds of each engine on a logarithmic axis."""
    _, head, table = PAGE.read_text().partition("| workload |")
    columns, _, *rows = (line.split("|") for line in (head + table).partition("\n\n")[0].splitlines())
    names = [column.strip() for column in columns]
    parts = [words(24, 34, "Seconds, on a logarithmic axis", "head")]
    parts += [words(836, 34, "4x: four times as long as neelc; missed: less than the goal", "soft", "end")]
    for number, (colour, about) in enumerate(ENGINES.values()):
        x, y = 34 + 270 * (number % 3), 62 + 22 * (number // 3)
        parts += [dot(x, y, colour), words(x + 12, y + 4.5, about, "soft")]
    top, y = 106.0, 124.0
    lines: list[str] = []
    for row in rows:
        cells = {name: cell.strip() for name, cell in zip(names, row, strict=True)}
        taken = {engine: cells[engine] for engine in ENGINES if cells[engine]}
        places = [decade(seconds(text)) for text in taken.values()]
        lines.append(words(24, y + 4.5, cells["workload"].replace("`", ""), "soft"))
        lines.append(axis(min(places), max(places), y))
        lines += [dot(x, y, ENGINES[engine][0]) for engine, x in zip(taken, places, strict=True)]
        slowest = sorted(taken.values(), key=lambda text: ("(" in text, seconds(text)))[-1]
        ratio = slowest.partition("(")[2].rstrip(")")
        lines.append(words(max(places) + 11, y + 4.5, ratio, "soft"))
        y += 26
    for power, text in enumerate(("0.1 s", "1 s", "10 s", "100 s"), -1):
        x = decade(10.0**power)
        parts += [
            f'<line class="axis" x1="{x:g}" x2="{x:g}" y1="{top:g}" y2="{y - 8:g}" opacity=".5"/>',
            words(x, y + 10, text, "soft", "middle"),
        ]
    return picture([*parts, *lines], int(y) + 26, "Seconds of each engine for each workload, as in the table")


def seconds(text: str) -> float:
    """Of a cell of the table: 0.35 s (2.1x)."""
    return float(text.lstrip("> ").partition(" ")[0])


def decade(taken: float) -> float:
    return 450 + 116 * math.log10(taken)


def dot(x: float, y: float, colour: str) -> str:
    return f'<circle cx="{x:g}" cy="{y:g}" r="5.5" fill="var(--{colour})"/>'


PICTURES: tuple[Callable[[], str], ...] = (hospital, strategies, scopes, pushdown, benchmarks)


def main() -> None:
    for draw in PICTURES:
        (HERE / f"{draw.__name__}.svg").write_text(draw())


if __name__ == "__main__":
    main()
