"""The screenshots of the documentation: `python screenshots.py [NAME ...]` writes them beside itself.

Each is a page that neelc writes from an example of the documentation, in a headless Chromium. They depend on
its fonts, so no test compares them; `tests/test_pictures.py` checks that each of them is made here.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet

from neelc.cli import main as neelc

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
DRIVER = HERE.parents[1] / "tests" / "browser.py"

LARGE_EVENTS = 100_000
SKIPPED = 0.02
"""The share of rounds of the large report in which a step is left out."""


@dataclass(frozen=True)
class Screenshot:
    """A page: the directory and the arguments of the call that writes it, how large the window is, and what
    is done in it before. Its height ends with the element `until`, if there is one."""

    directory: str
    arguments: tuple[str, ...]
    width: int = 1200
    height: int = 760
    does: str = ""
    until: str = ""
    dark: bool = False


RUN = ("run", "--engine", "local", "--report", "{page}", "--format", "csv")
SELECT = "timelines[0].view.walk(0, 1)"
SCREENSHOTS = {
    "timeline": Screenshot("hospital", (*RUN, "hospital.neel"), 1180, 700, SELECT, ".board"),
    "timeline-large": Screenshot(
        "million",
        (*RUN, "hospital.neel", "--stream", "Hospital={data}"),
        1180,
        760,
        "timelines[0].view.set({ order: 'most' }); document.querySelector('[data-order]').value = 'most';"
        " timelines[0].view.fit()",
    ),
    "strategies-compared": Screenshot(
        "hospital", (*RUN, "--compare-strategies", "hospital.neel"), 1180, 1100, "", ".stages"
    ),
    "situations": Screenshot("storms", (*RUN, "temporal.neel"), 1180, 820, SELECT, ".board"),
    "rules": Screenshot("fraud", (*RUN, "rules/"), 1180, 700, "", ".board"),
    "plan": Screenshot("fraud", ("explain", "fraud.neel", "-o", "{page}"), 1280, 820),
}


def large(path: Path) -> None:
    """Events of docs/examples/million, in which steps are left out more often."""
    spec = importlib.util.spec_from_file_location("generate", EXAMPLES / "million" / "generate.py")
    assert spec is not None and spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    vars(generate)["SKIPPED"] = SKIPPED
    pyarrow.parquet.write_table(generate.hospital(LARGE_EVENTS), path)


@contextlib.contextmanager
def inside(directory: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


def written(shot: Screenshot, temporary: Path) -> Path:
    """The page of a screenshot."""
    page, data = temporary / "page.html", temporary / "hospital.parquet"
    if "{data}" in "".join(shot.arguments):
        large(data)
    arguments = [one.format(page=page, data=data) for one in shot.arguments]
    said = io.StringIO()
    with (
        inside(EXAMPLES / shot.directory),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        if neelc(arguments) != 0:
            raise RuntimeError(said.getvalue())
    return page


def taken(shot: Screenshot, html: Path, path: Path) -> None:
    spec = importlib.util.spec_from_file_location("browser", DRIVER)
    assert spec is not None and spec.loader is not None
    driver = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(driver)
    settle = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    with driver.page() as page:
        page.open(html, width=shot.width, height=shot.height, dark=shot.dark)
        page.call("Runtime.evaluate", expression=settle, awaitPromise=True)
        page.call("Emulation.setScrollbarsHidden", hidden=True)
        page.value(shot.does or "0")
        page.call("Runtime.evaluate", expression=settle, awaitPromise=True)
        end = f"document.querySelector({shot.until!r}).getBoundingClientRect().bottom + scrollY"
        height = int(page.value(end)) + 12 if shot.until else shot.height
        size = {"width": shot.width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        page.call("Emulation.setDeviceMetricsOverride", **size)
        page.call("Runtime.evaluate", expression=settle, awaitPromise=True)
        page.picture(path)
        if page.problems:
            raise RuntimeError(page.problems)


def main(names: list[str]) -> None:
    for name in names or SCREENSHOTS:
        with tempfile.TemporaryDirectory() as temporary:
            html = written(SCREENSHOTS[name], Path(temporary))
            taken(SCREENSHOTS[name], html, HERE / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
