"""The fenced blocks of the documentation, and what its pages say about them in comments.

`<!-- not run: REASON -->` above a block takes it out of the tests. `<!-- given`, Python lines, `-->` makes
what the Python blocks after it need; readers do not see it. A block with `title="my.neel"` after its language
is a file that the reader writes: the commands after it find it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from repository import ROOT, documents

FENCE = re.compile(r"^( *)```(\S*)([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')
OUTPUT = re.compile(r"\s*\n```text\n(?!%)(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A block of text right after another one; with a `%` it is a cell of a notebook."""
GIVEN = re.compile(r"^<!-- given\n(.*?)^-->$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"<!-- not run: (\S[^\n]*) -->\s*\Z")


@dataclass(frozen=True)
class Block:
    """A fenced block. `output` is the text block that follows at once: what a program prints, if it does."""

    page: Path
    line: int
    language: str
    text: str
    not_run: str | None = None
    output: str | None = None
    title: str | None = None

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@cache
def blocks(page: Path) -> tuple[Block, ...]:
    """All blocks of a page, those of `given` comments as Python."""
    text = page.read_text()
    found = [*FENCE.finditer(text), *GIVEN.finditer(text)]
    return tuple(_block(page, text, each) for each in sorted(found, key=lambda each: each.start()))


def _block(page: Path, text: str, found: re.Match[str]) -> Block:
    line = text.count("\n", 0, found.start()) + 1
    if found.re is GIVEN:
        return Block(page, line, "python", found[1])
    mark = NOT_RUN.search(text[: found.start()])
    after = OUTPUT.match(text, found.end())
    title = TITLE.search(found[3])
    return Block(page, line, found[2], found[4], mark and mark[1], after and after[1], title and title[1])


def snippets(language: str) -> list[Block]:
    """The blocks of `language` on all pages that are to be run."""
    everything = (block for page in documents() for block in blocks(page))
    return [block for block in everything if block.language == language and block.not_run is None]


def pages_with(language: str) -> list[Path]:
    return list(dict.fromkeys(block.page for block in snippets(language)))


def like(shown: str) -> re.Pattern[str]:
    """What a page shows of an output; `...` stands for anything."""
    return re.compile(re.escape(shown.strip()).replace(r"\.\.\.", ".*?"), re.DOTALL)
