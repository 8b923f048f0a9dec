"""The diagnostics of one run, as they are found, and the places in the text they point at."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neelc.errors import Diagnostic
from neelc.ir.node import Node
from neelc.source import Source, Span

_WORDS = re.compile(
    r"""--[^\r\n]* | /\*.*?\*/ | '(?:[^']|'')*' | "(?:[^"]|"")*" | (?P<word>`(?:[^`]|``)+` | [^\W\d]\w*)""",
    re.VERBOSE | re.DOTALL,
)


class Findings:
    """Collects diagnostics. Names in the tree are strings, so their places are looked up in the text.

    >>> findings = Findings(Source("PATTERN SEQ(A a, B b) FROM trades"))
    >>> findings.word("b", Span(8, 21))
    Span(start=19, end=20)
    >>> findings.word("trades", Span(8, 33), after="FROM")
    Span(start=27, end=33)
    """

    def __init__(self, source: Source, aggregates: tuple[str, ...] = ()) -> None:
        self.source = source
        self.aggregates = aggregates
        """The names of aggregates that users have registered, for hints."""
        self.diagnostics: list[Diagnostic] = []
        self._seen: set[Diagnostic] = set()

    def report(self, code: str, message: str, span: Span | None, hint: str | None = None) -> None:
        """Take down one problem; the same problem at the same place counts once."""
        found = Diagnostic(code, message, span or Span(0, 0), hint)
        if found not in self._seen:
            self._seen.add(found)
            self.diagnostics.append(found)

    def knows(self, span: Span) -> bool:
        """Whether something inside `span` is wrong already: a second report would only repeat the first."""
        return any(
            span.start <= found.span.start and found.span.end <= span.end for found in self.diagnostics
        )

    def at(self, *places: Node | Span | None) -> Span:
        """The first of the places that is known."""
        for place in places:
            span = place.span if isinstance(place, Node) else place
            if span is not None:
                return span
        return Span(0, 0)

    def word(self, name: str, *places: Node | Span | None, after: str = "", nth: int = 1) -> Span:
        """Where `name` stands in the first known place, the `nth` time (-1: last) after the words `after`.

        Spelt the same if possible, else whatever its case; any word for an empty name.
        """
        whole = self.at(*places)
        awaited = after.upper().split()
        found: list[tuple[Span, str]] = []
        for span, word in self._words(whole):
            if awaited:
                # A word that breaks the run begins it anew: `PARTITION CONTIGUITY` is not `PARTITION BY`.
                awaited = awaited[1:] if word.upper() == awaited[0] else after.upper().split()
            else:
                found.append((span, word))
        alike = [span for span, word in found if word == name or not name]
        alike = alike or [span for span, word in found if word.casefold() == name.casefold()]
        place = nth - 1 if nth > 0 else len(alike) + nth
        return alike[place] if 0 <= place < len(alike) else whole

    def _words(self, within: Span) -> Iterator[tuple[Span, str]]:
        for found in _WORDS.finditer(self.source.text, within.start, within.end):
            if found["word"] is not None:
                yield Span(found.start(), found.end()), found["word"]
