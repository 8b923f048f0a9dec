"""A query that runs over streams without end, as a page that refreshes itself.

The page has no script of its own: its charts are drawn here, after each micro-batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime

from neelc.explain.html import document, escape, page_header, tag
from neelc.runtime.late_dataclass import dataclass

MOST_BATCHES = 240
"""Micro-batches in a chart: older ones leave on its left."""
MOST_EXAMPLES = 12
REFRESH = 2
"""Seconds after which the page is read again."""


@dataclass(frozen=True)
class BatchNumbers:
    """A micro-batch: its number and when it began, events read, seconds, matches written, late events, bytes
    of state; the watermark and the newest event time, in seconds since 1970; one of its matches, as JSON."""

    batch: int
    at: str
    events: int
    seconds: float
    matches: int
    late: int
    state: int
    watermark: float | None = None
    newest: float | None = None
    example: str | None = None

    @property
    def speed(self) -> float:
        """Events per second."""
        return self.events / self.seconds if self.seconds else 0.0

    @property
    def lag(self) -> float | None:
        """Seconds that the watermark is behind the newest event; None where one of them is not known."""
        if self.watermark is None or self.newest is None:
            return None
        return max(self.newest - self.watermark, 0.0)


@dataclass
class LivePage:
    """What is known of a run so far; `facts` say where its events come from and where its matches go."""

    name: str
    facts: Mapping[str, str]
    batches: deque[BatchNumbers] = field(default_factory=lambda: deque(maxlen=MOST_BATCHES))
    examples: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=MOST_EXAMPLES))
    events: int = 0
    matches: int = 0
    late: int = 0

    def add(self, numbers: BatchNumbers) -> BatchNumbers:
        """A micro-batch that has ended, with the times that are known from earlier ones."""
        if self.batches:
            before = self.batches[-1]
            newest = max(filter(None, (numbers.newest, before.newest)), default=None)
            numbers = replace(numbers, newest=newest, watermark=numbers.watermark or before.watermark)
        self.batches.append(numbers)
        self.events += numbers.events
        self.matches += numbers.matches
        self.late += numbers.late
        if numbers.example is not None:
            self.examples.appendleft((numbers.at, numbers.example))
        return numbers

    def html(self, status: str) -> str:
        """The page; one of a run that has ended is not read again."""
        facts = {**self.facts, **self._totals()}
        listed = "".join(tag("dt", escape(key)) + tag("dd", escape(value)) for key, value in facts.items())
        article = tag(
            "article",
            tag("h2", escape(self.name), tag("span", f" {escape(status)}", class_=f"status {status}")),
            tag("div", tag("dl", listed), class_="panel"),
            tag("div", *(chart.figure(list(self.batches)) for chart in CHARTS), class_="charts"),
            self._table(),
        )
        refresh = REFRESH if status == "running" else None
        parts = [("neelc.tools.report", "live.css")]
        title = f"{self.name}: {status}"
        return document(title, page_header(self.name), article, {}, "live", parts, refresh)

    def _totals(self) -> dict[str, str]:
        if not self.batches:
            return {"so far": "no micro-batch has ended yet"}
        last = self.batches[-1]
        known = {
            "so far": f"{self.events:,} events, {self.matches:,} matches, {self.late:,} late",
            "last micro-batch": f"{last.batch}, at {_moment(last.at)}, {last.seconds:.2f} s",
        }
        if last.watermark is not None:
            at = datetime.fromtimestamp(last.watermark, UTC).isoformat(sep=" ", timespec="seconds")
            known["watermark"] = at.replace("+00:00", " UTC")
        return known

    def _table(self) -> str:
        if not self.examples:
            return tag("p", "No match yet.", class_="hint")
        rows = [
            tag("tr", tag("td", escape(_moment(at))), tag("td", escape(row))) for at, row in self.examples
        ]
        head = tag("tr", tag("th", "written"), tag("th", "match"))
        return tag("h3", "The last matches, one of each micro-batch") + tag(
            "div", tag("table", tag("thead", head), tag("tbody", *rows)), class_="panel rows"
        )


def _moment(at: str) -> str:
    """
    >>> _moment("2024-03-01T10:00:00.123Z")
    '10:00:00'
    """
    return at.partition("T")[2][:8]


# Charts: one number of each micro-batch, from left to right.

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 440.0, 150.0, 58.0, 12.0, 22.0


@dataclass(frozen=True)
class BatchChart:
    """A chart of `value`; `bars` for what is counted in each micro-batch, a line for what there is."""

    title: str
    value: Callable[[BatchNumbers], float | None]
    unit: str = ""
    bars: bool = False

    def figure(self, batches: Sequence[BatchNumbers]) -> str:
        values = [self.value(one) for one in batches]
        known = [value for value in values if value is not None]
        last = f"{_short(known[-1])}{self.unit}" if known else "not known"
        caption = tag("figcaption", tag("b", escape(self.title)), tag("span", last, class_="now"))
        return tag("figure", caption, self._svg(batches, values), class_="panel chart")

    def _svg(self, batches: Sequence[BatchNumbers], values: Sequence[float | None]) -> str:
        top = _round_up(max((value for value in values if value is not None), default=0))
        parts = [*_scale(top, self.unit), *_ends(batches)]
        step = (WIDTH - LEFT - 6) / max(len(values), 12)
        places = [(LEFT + step * (at + 0.5), value) for at, value in enumerate(values) if value is not None]
        if self.bars:
            thick = max(step * 0.7, 1)
            parts += [
                tag(
                    "rect", x=x - thick / 2, y=_y(value, top), width=thick, height=_y(0, top) - _y(value, top)
                )
                for x, value in places
            ]
        elif places:
            points = " ".join(f"{x:.1f},{_y(value, top):.1f}" for x, value in places)
            parts.append(tag("polyline", points=points))
            parts.append(tag("circle", cx=places[-1][0], cy=_y(places[-1][1], top), r=3))
        return tag("svg", *parts, viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}", role="img", aria_label=self.title)


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top


def _scale(top: float, unit: str) -> list[str]:
    """Three lines with their numbers."""
    parts = []
    for value in (0, top / 2, top):
        y = _y(value, top)
        parts.append(tag("line", x1=LEFT, x2=WIDTH - 4, y1=y, y2=y))
        text = f"{_short(value)}{unit}"
        parts.append(tag("text", text, x=LEFT - 6, y=y + 4, class_="end"))
    return parts


def _ends(batches: Sequence[BatchNumbers]) -> list[str]:
    """When the first and the last micro-batch began."""
    if not batches:
        return []
    y = HEIGHT - 6
    first = tag("text", _moment(batches[0].at), x=LEFT, y=y)
    last = tag("text", _moment(batches[-1].at), x=WIDTH - 4, y=y, class_="end")
    return [first, last]


def _round_up(value: float) -> float:
    """The end of a scale.

    >>> [_round_up(value) for value in (0, 0.3, 7, 1234)]
    [1.0, 0.5, 10.0, 2000.0]
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** (len(f"{value:.0f}") - 1 if value >= 1 else -1)
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)


def _short(value: float) -> str:
    """
    >>> [_short(value) for value in (0, 0.25, 12, 1500, 2_500_000)]
    ['0', '0.25', '12', '1.5k', '2.5M']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


CHARTS = (
    BatchChart("Matches", lambda one: one.matches, bars=True),
    BatchChart("Events per second", lambda one: one.speed),
    BatchChart("Lag of the watermark", lambda one: one.lag, " s"),
    BatchChart("State", lambda one: one.state / 1e6, " MB"),
    BatchChart("Late events", lambda one: one.late, bars=True),
    BatchChart("Seconds of a micro-batch", lambda one: one.seconds, " s"),
)
