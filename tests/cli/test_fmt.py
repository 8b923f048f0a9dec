"""`neelc fmt`."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Done, Here, process

UGLY = "-- two\npattern seq(A a,B b) from S;  -- why\n\n\npattern A a -- inside\nfrom S"
NEAT = "-- two\nPATTERN SEQ(A a, B b)\nFROM S;  -- why\n\npattern A a -- inside\nfrom S;\n"


def test_fmt_prints(neelc: Here) -> None:
    neelc.write("ugly.neel", UGLY)
    note = "ugly.neel:5: left as written: there are comments inside the statement\n"
    assert neelc("fmt", "ugly.neel") == Done(0, NEAT, note)
    assert neelc.read("ugly.neel") == UGLY


def test_fmt_check_and_write(neelc: Here) -> None:
    ugly = neelc.write("ugly.neel", UGLY)
    ugly.chmod(0o640)
    neelc.write("neat.neel", NEAT)
    assert neelc("fmt", "--check", "ugly.neel", "neat.neel")[:2] == (1, "ugly.neel\n")
    done = neelc("fmt", "--write", "ugly.neel", "neat.neel")
    assert (done.status, done.out, neelc.read("ugly.neel")) == (0, "", NEAT)
    assert ugly.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in neelc.directory.glob("*eat.neel*")) == ["neat.neel"]
    assert neelc("fmt", "--check", "ugly.neel", "neat.neel")[:2] == (0, "")


def test_fmt_leaves_a_broken_script_alone(neelc: Here) -> None:
    neelc.write("broken.neel", "PATTERN SEQ(A a")
    done = neelc("fmt", "--write", "broken.neel")
    assert (done.status, done.out, neelc.read("broken.neel")) == (1, "", "PATTERN SEQ(A a")
    assert "error[NEEL1001]" in done.err


def test_fmt_standard_input(tmp_path: Path) -> None:
    assert process("fmt", "-", directory=tmp_path, text="pattern A a").out == "PATTERN A a;\n"
    done = process("fmt", "--write", "-", directory=tmp_path)
    assert done == Done(2, "", "neelc: fmt --write: standard input cannot be rewritten\n")


COMMENTED = [
    "-- only a comment",
    "/* a */ PATTERN A a FROM S; /* b */ PATTERN B b FROM S /* c */;",
    "PATTERN A a FROM S -- behind, without a semicolon",
    "PATTERN A a FROM S;\n-- one\n\n\n-- two\n\nPATTERN B b FROM S;\n\n/* three\n   lines\n*/\n",
    "PATTERN A a FROM S; /* begins here\nends here */ PATTERN B b FROM S;",
    "PATTERN A a FROM S; -- one\n-- two\nPATTERN B b FROM S\n-- before the semicolon\n;",
    "PATTERN A a WHERE a.x = '-- no comment' AND a.`/*` = 1 FROM S; -- \u00fcber\r\n",
    "PATTERN SEQ(A a, -- first\n  B b) FROM S\n-- after",
]


@pytest.mark.parametrize("text", COMMENTED)
def test_fmt_loses_no_comment(text: str) -> None:
    from neelc.source import Source
    from neelc.syntax import script
    from neelc.syntax.formatter import canonical
    from neelc.syntax.parser import tokens_of

    def comments(text: str) -> list[str]:
        return [token.text.rstrip() for token in tokens_of(text.replace("\r\n", "\n")) if token.channel != 0]

    once = canonical(Source(text)).text
    assert script(once) == script(text)
    assert comments(once) == comments(text)
    assert canonical(Source(once)).text == once
