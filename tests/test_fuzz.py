"""Any text gives a script or diagnostics: no other exception, no hang."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neelc import syntax as parse
from neelc.errors import as_record, render_all
from neelc.ir.script import UnreadStatement
from neelc.program import examine
from neelc.source import Source

HERE = Path(__file__).parent
TEXTS = [path.read_text() for path in sorted(HERE.glob("seeds/*.neel"))]
WORDS = sorted({word for text in TEXTS for word in text.split()})


def survives(text: str) -> None:
    """Parse and bind; whatever is wrong must come as diagnostics that can be shown."""
    source = Source(text)
    read = parse.read(source)
    found = examine(read, source).diagnostics
    assert not found or render_all(found, source)
    assert json.dumps([as_record(one, source) for one in found])
    for fix in (fix for one in found for fix in one.fixes):
        assert fix.text and 0 <= fix.span.start < fix.span.end <= len(text)
    if any(isinstance(statement, UnreadStatement) for statement in read.statements):
        assert found, "what could not be read is reported"


def mutated(text: str, chance: random.Random) -> str:
    """The text with a few pieces deleted, doubled, swapped or replaced."""
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.randint(0, 12))
        piece = chance.choice(
            ["", text[start:end] * 2, chance.choice(WORDS), chance.choice("()[]{},;:.!?*+-'\"`\0é∃"), "NULL"]
        )
        text = text[:start] + piece + text[end:]
    return text


@pytest.mark.parametrize("seed", range(4))
def test_mutated_queries_of_the_papers(seed: int) -> None:
    chance = random.Random(seed)
    statements = [s + ";" for text in TEXTS for s in text.split(";") if s.strip()]
    for _ in range(120):
        survives(mutated(chance.choice(statements), chance))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_words_in_any_order(words: list[str]) -> None:
    survives(" ".join(words))


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80))
def test_any_characters(text: str) -> None:
    survives(text)
    survives("PATTERN SEQ(A a, B b) WHERE " + text)


@pytest.mark.parametrize(
    "garbage",
    [
        "(" * 10_000,
        "PATTERN " + "!" * 10_000,
        "PATTERN SEQ(" * 800,
        "PATTERN A a WHERE " + "a.x = 1 AND " * 800,
        "PATTERN A a WHERE " + "(a.x " * 2_000,
        "PATTERN A a WHERE a.x = " + "-" * 10_000,
        "PATTERN A a WHERE a" + ".x" * 5_000,
        "PATTERN A a WHERE " + "CASE WHEN " * 1_000,
        "PATTERN " + " OR ".join(["A a"] * 1_500),
        "PATTERN SEQ(" + ", ".join(f"A a{i}" for i in range(1_200)) + ")",
        "SELECT " + "f(" * 4_000,
        "'" + "x" * 10_000,
        "/*" + "x" * 10_000,
        "\0" * 10_000,
        "é" * 10_000,
        ";" * 10_000,
        random.Random(1).randbytes(10_000).decode("latin-1"),
        "".join(random.Random(2).choices("ABab01.,;:()[]{}!?*+-<>=' \n", k=10_000)),
    ],
    ids=lambda text: text[:12] + "...",
)
def test_ten_kilobytes_of_garbage_end_soon(garbage: str) -> None:
    # Not a benchmark: exponential time is a bug, and ten seconds are far more than any machine needs.
    start = time.monotonic()
    survives(garbage)
    assert time.monotonic() - start < 10
