"""A report of 300,000 events and 5,000 matches: how long it takes to write, and its frames in Chromium.

The instruments of docs/examples/million, on the local engine. Each step in the page zooms or moves. A frame
is the time from one step's request to the next one, with all that the browser does in between, and `drawing`
is the part of the page's own script.
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet
from bench.row import Row
from browser import browser, page

import neelc
from neelc.api.timeline import drawn
from neelc.tools.report.picture import MOST_EVENTS

EVENTS = MOST_EVENTS
SKIPPED = 0.105
"""The share of rounds without one of the steps: it leads to about 5,000 matches."""
GENERATOR = Path(__file__).parents[2] / "docs" / "examples" / "million" / "generate.py"
QUERY = """CREATE STREAM Hospital (ts TIMESTAMP, activity STRING, id STRING, ins_type STRING)
  TIMESTAMP BY ts TYPE BY activity;
CREATE QUERY Slow AS
  PATTERN SEQ(Recycle r, Washing w, !SEQ(Sharpening s, Disinfection d, Checking c), Operating o)
  WHERE [id] WITHIN 1 HOUR RETURN r.id, o.ts AS operated;"""
FRAME = 1000 / 30
"""Milliseconds: 30 frames a second, without a graphics card."""

STEPS = """(async () => {
  const [line] = timelines, { view } = line, frames = [], drawing = [];
  const drawn = line.frame.bind(line);
  line.frame = () => { const from = performance.now(); drawn(); drawing.push(performance.now() - from); };
  const next = () => new Promise((done) => requestAnimationFrame(done));
  for (const does of %s) {
    for (let step = 0; step < 40; step += 1) {
      const from = performance.now();
      does(view, step);
      await next();
      await next();
      frames.push((performance.now() - from) / 2);
    }
  }
  line.frame = drawn;
  const sorted = (times) => times.sort((a, b) => a - b);
  const of = (times) => [0.5, 0.95, 1].map((part) => times[Math.ceil(part * times.length) - 1]);
  return [of(sorted(frames)), of(sorted(drawing))]; })()"""
MOVES = {
    "zooming from all of the time to one match": (
        "(view, step) => (step ? view.zoom(0.85, view.model.panels[0].start[0]) : view.fit())"
    ),
    "moving at half of the time": (
        "(view, step) => { const [low, high] = view.model.range, width = (high - low) / 2;"
        " view.show(low + width * step / 40, low + width * (step / 40 + 1)); }"
    ),
    "moving over a tenth of it": (
        "(view, step) => { const [low, high] = view.model.range, width = (high - low) / 10;"
        " view.show(low + width * step / 8, low + width * (step / 8 + 1)); }"
    ),
    "going from match to match": "(view) => view.walk(0, 7)",
}


def events(path: Path) -> None:
    spec = importlib.util.spec_from_file_location("generate", GENERATOR)
    assert spec is not None and spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    vars(generate)["SKIPPED"] = SKIPPED
    pyarrow.parquet.write_table(generate.hospital(EVENTS), path)


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        data, html = Path(name) / "hospital.parquet", Path(name) / "report.html"
        events(data)
        query = neelc.local().compile(QUERY, Hospital=str(data))
        start = time.perf_counter()
        picture = drawn(query, most_events=MOST_EVENTS)
        html.write_text(picture.html)
        seconds = time.perf_counter() - start
        shown, (panel,) = picture.picture.shown, picture.picture.panels
        rows = [
            Row("events and matches drawn", f"{len(shown.events):,} and {len(panel.found):,}", "", None),
            Row("writing the page", f"{seconds:.1f} s, {html.stat().st_size / 1e6:.1f} MB"),
        ]
        return [*rows, *frames(html)] if browser() is not None else rows


def frames(html: Path) -> list[Row]:
    rows = []
    with page() as found:
        start = time.perf_counter()
        found.open(html, width=1600, height=1000)
        found.value("1")
        rows.append(Row("opening the page", f"{time.perf_counter() - start:.1f} s"))
        for what, does in MOVES.items():
            (usual, most, worst), (script, script_most, _) = asked(found, STEPS % f"[{does}]")
            rows.append(
                Row(
                    f"a frame {what}: median, 95%, worst",
                    f"{usual:.0f}, {most:.0f}, {worst:.0f} ms; drawing {script:.1f}, {script_most:.1f} ms",
                    f"95% < {FRAME:.0f} ms",
                    most < FRAME,
                )
            )
        typed = [search(found, text) for text in ("surgery-1", "surgery-12", "")]
        rows.append(Row("searching 300,000 events for a text, median", f"{median(typed):.0f} ms"))
    return rows


def search(found: Any, text: str) -> float:
    script = (
        "(async () => { const from = performance.now(); timelines[0].view.set({ search: %r });"
        " await new Promise((done) => requestAnimationFrame(done)); return performance.now() - from; })()"
    )
    return float(asked(found, script % text))


def asked(found: Any, script: str) -> Any:
    result = found.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
    assert "exceptionDetails" not in result, result["exceptionDetails"]
    return result["result"]["value"]
