"""Events on lines of time as SVG: what draw.py draws with. Readable on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

WIDTH = 860
STYLE = """
:root { --card: #fbfcfd; --ink: #1c2229; --soft: #5c6773; --line: #d4dae1; --gone: #c23b3b; --match: #1f6f78;
        --one: #3b74c4; --two: #b7701f; --three: #4b8b3b; --four: #7a5bb5; --in: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --card: #1d2229; --ink: #e4e8ed; --soft: #98a4b1; --line: #3a434e; --gone: #e57373;
          --match: #5cc0c7; --one: #6ea0e8; --two: #dba64c; --three: #86c173;
          --four: #ab90e0; --in: #14171c; }
}
text { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; fill: var(--ink); }
.soft { fill: var(--soft); font-size: 12.5px; }
.head { font-weight: 600; }
.code { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 13px; }
.dot { fill: var(--in); font-size: 11.5px; font-weight: 600; text-anchor: middle; }
.axis { stroke: var(--line); stroke-width: 1.5; }
.arc { stroke: var(--match); stroke-width: 2.5; fill: none; }
.scope { fill: var(--gone); opacity: .17; }
.edge { stroke: var(--gone); stroke-width: 1.5; }
"""
COLOURS = ("one", "two", "three", "four", "gone", "match")


def picture(parts: Iterable[str], height: int, about: str) -> str:
    """A whole file: a card with `parts` on it, and a sentence for those who cannot see it."""
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<title>{escape(about)}</title>",
            f"<style>{STYLE}</style>",
            f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="10" fill="var(--card)" '
            'stroke="var(--line)"/>',
            *parts,
            "</svg>\n",
        )
    )


def words(x: float, y: float, text: str, look: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{look}" text-anchor="{anchor}">{escape(text)}</text>'


def axis(left: float, right: float, y: float) -> str:
    return f'<line class="axis" x1="{left:g}" x2="{right:g}" y1="{y:g}" y2="{y:g}"/>'


def event(x: float, y: float, text: str, colour: str, faded: bool = False) -> str:
    """An event: a dot with one or two letters in it."""
    look = ' opacity=".35"' if faded else ""
    return (
        f'<g{look}><circle cx="{x:g}" cy="{y:g}" r="11.5" fill="var(--{colour})"/>'
        f'<text class="dot" x="{x:g}" y="{y + 4:g}">{escape(text)}</text></g>'
    )


def match(places: list[float], y: float) -> list[str]:
    """A match: a line with a knot for each of its events."""
    knots = (f'<circle cx="{x:g}" cy="{y:g}" r="4.5" fill="var(--match)"/>' for x in places)
    return [f'<line class="arc" x1="{places[0]:g}" x2="{places[-1]:g}" y1="{y:g}" y2="{y:g}"/>', *knots]


def ring(x: float, y: float) -> str:
    """What was chosen."""
    return f'<circle cx="{x:g}" cy="{y:g}" r="15.5" fill="none" stroke="var(--ink)" stroke-width="2"/>'


def scope(left: float, right: float, top: float, bottom: float) -> str:
    """An interval of time in which something must be missing."""
    size = f'width="{right - left:g}" height="{bottom - top:g}"'
    edges = (
        f'<line class="edge" x1="{x:g}" x2="{x:g}" y1="{top:g}" y2="{bottom:g}"/>' for x in (left, right)
    )
    return f'<rect class="scope" x="{left:g}" y="{top:g}" {size}/>{"".join(edges)}'
