"""What the pages of the documentation show is run, and what they link to is there."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from repository import ROOT, documents
from snippets import FENCE, Block, blocks, like, pages_with, snippets

from neelc.cli import main

RUN = {"neel", "case", "console", "python"}
"""Languages whose blocks are run: Python in tests/spark/test_page_snippets.py, the others here."""
SHOWN = {"text", "sh", "json", "sql", "neel-sketch", "toml", "yaml", "ini", "xml", "lua", "vim", "lisp"}
"""Languages whose blocks are only shown: outputs, synopses, settings of other programs."""

LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ +(.+?)(?: *\{#([\w-]+)\})?$", re.MULTILINE)


def place(block: Block) -> str:
    return block.place


@pytest.mark.parametrize("page", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_blocks_are_run_or_say_why_not(page: Path) -> None:
    assert {block.language for block in blocks(page)} <= RUN | SHOWN


@pytest.mark.parametrize("block", snippets("neel"), ids=place)
def test_neel_snippets_parse(block: Block) -> None:
    from neelc.source import Source
    from neelc.syntax import script

    script(Source(block.text, block.place))


WHOLE = [block for block in snippets("neel") if "CREATE STREAM" in block.text and "PATTERN" in block.text]


@pytest.mark.parametrize("block", WHOLE, ids=place)
def test_whole_scripts_are_right(block: Block, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.neel"
    script.write_text(block.text)
    status = main(["check", str(script)])
    wrong = block.title is not None and block.title.startswith("wrong")
    assert (status, wrong) in ((0, False), (1, True)), capsys.readouterr()


@pytest.mark.parametrize("page", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_make_has_the_targets_that_pages_name(page: Path) -> None:
    targets = set(re.findall(r"^([a-z/]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^ *|`)make ([a-z/]+)", page.read_text(), re.MULTILINE))
    assert named <= targets


@pytest.mark.parametrize("block", snippets("case"), ids=place)
def test_case_snippets_pass(block: Block) -> None:
    from neelc.tools.cases import run_case
    from neelc.tools.cases.file import parse

    outcome = run_case(parse(block.text, ROOT / block.place))
    assert outcome.passed, outcome.diff


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The examples, copied: what commands write is gone afterwards."""
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def output_lines(
    command: str, capture: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """What a command prints: to standard output alone, and with its messages."""
    words = shlex.split(command, comments=True)
    if words[0] == "cd":
        monkeypatch.chdir(words[1])
        return [""]
    if words[0] == "neelc" and not re.search(r"[|<>]", command):
        main(words[1:])
        out, err = capture.readouterr()
        warnings, _, last = err.rstrip("\n").rpartition("\n")
        return [out, f"{warnings}\n{out}{last}"]
    assert words[0] in ("python", "cat", "head", "ls", "wc"), f"no test knows how to run {words[0]}"
    program = [sys.executable, *words[1:]] if words[0] == "python" else words
    return [subprocess.run(program, capture_output=True, text=True, check=True).stdout]


@pytest.mark.parametrize("page", pages_with("console"), ids=lambda path: str(path.relative_to(ROOT)))
def test_consoles_show_what_commands_print(
    page: Path, workplace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for block in blocks(page):
        if block.title is not None:
            Path(block.title).write_text(block.text)
        for shown in consoles(block):
            command, _, output = re.sub(r"\\\n *", "", shown).partition("\n")
            answers = output_lines(command, capsys, monkeypatch)
            expected = like(output)
            assert any(expected.fullmatch(answer.strip()) for answer in answers), (
                f"{block.place}\n{answers[-1]}"
            )


def consoles(block: Block) -> list[str]:
    """The commands of a block, each with the output below it."""
    runs = block.language == "console" and block.not_run is None
    return re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:] if runs else []


def help_of(command: str, capture: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    return capture.readouterr().out


@pytest.mark.parametrize("page", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_have_the_options_that_pages_name(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = re.sub(r"\\\n *", "", page.read_text())
    for command, rest in re.findall(r"^ *(?:\$ )?neelc ([a-z]+)\b(.*(?:\n {10,}.*)*)", text, re.MULTILINE):
        known = set(re.findall(r"--?[\w-]+", help_of(command, capsys)))
        unknown = set(re.findall(r"(?<=[\s\[(])--[\w-]+", rest.partition(" #")[0])) - known
        assert not unknown, f"neelc {command} has no {', '.join(unknown)}"


def anchors(page: Path) -> set[str]:
    """The names of a page's headings in the site."""
    headings = HEADING.findall(FENCE.sub("", page.read_text()))
    return {own or slug(text) for text, own in headings}


def slug(heading: str) -> str:
    """As Python-Markdown does: "`neelc.sql`: how, and why" is neelcsql-how-and-why."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def leads_nowhere(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = page.parent / path if path else page
    return not file.exists() or bool(anchor and file.suffix == ".md" and anchor not in anchors(file))


@pytest.mark.parametrize("page", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text())
    targets = [markdown or html for markdown, html in LINK.findall(text)]
    assert [
        target for target in targets if not re.match(r"[a-z]+:", target) and leads_nowhere(page, target)
    ] == []


def test_the_readme_tells_figures_that_were_measured() -> None:
    measured = (ROOT / "docs" / "explanation" / "benchmarks.md").read_text()
    figures = re.findall(r"\d[\d.]*x\b", (ROOT / "README.md").read_text())
    assert figures and [figure for figure in figures if figure not in measured] == []


@pytest.mark.parametrize("kind", ["tutorial", "how-to", "reference", "explanation"])
def test_the_site_leads_to_every_page(kind: str) -> None:
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "docs" / "site" / "mkdocs.yml").read_text()))
    assert {f"{kind}/{page.name}" for page in (ROOT / "docs" / kind).glob("*.md")} <= listed


def test_the_list_of_decisions_has_all() -> None:
    decisions = ROOT / "docs" / "decisions"
    listed = set(re.findall(r"\((\d{4}-[\w-]+\.md)\)", (decisions / "index.md").read_text()))
    assert listed == {path.name for path in decisions.glob("[0-9]*.md")}
