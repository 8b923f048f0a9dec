"""The diagnostics of one run, as they are found, and the places in the text they point at."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator

from neelc.errors import Diagnostic
from neelc.ir.names import bare, variable, written
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


# What might have been meant.

# A hint is one line: more names than this are not read.
_LISTED = 12


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `name` might be a misspelling of; all are bare names.

    >>> closest("prise", ["id", "price"]), closest("c", ["a", "b"]), closest("symbol", ["sym", "id"])
    ('price', None, 'sym')
    """
    by_key = {candidate.casefold(): candidate for candidate in candidates}
    # Two letters that changed places weigh more in a short name.
    least = 0.6 if len(name) <= 4 else 0.7
    found = difflib.get_close_matches(name.casefold(), list(by_key), 1, least)
    if not found:  # `symbol` for `sym`: an abbreviation, or what it is short for
        key = name.casefold()
        found = [k for k in by_key if min(len(k), len(key)) > 2 and (k.startswith(key) or key.startswith(k))]
    return by_key[found[0]] if len(found) == 1 else None


def listing(what: str, candidates: Iterable[str]) -> str | None:
    """The names there are, after the word for them; None when there are none.

    >>> listing("streams", ["trades", "unit price"])
    'streams: trades, `unit price`'
    """
    names = [written(candidate) for candidate in candidates]
    if not names:
        return None
    more = f", ... ({len(names)} in all)" if len(names) > _LISTED else ""
    return f"{what}: {', '.join(names[:_LISTED])}{more}"


def did_you_mean(name: str, candidates: Iterable[str], what: str) -> str | None:
    """The hint for an unknown name in source form: the closest candidate, and what there is.

    >>> did_you_mean("prise", ["id", "price"], "attributes of a")
    'did you mean `price`? attributes of a: id, price'
    >>> did_you_mean("c", ["a", "b"], "variables in scope")
    'variables in scope: a, b'
    """
    there = list(dict.fromkeys(candidates))
    close = closest(bare(name), there)
    known = listing(what, there)
    if close is None:
        return known
    return f"did you mean `{close}`? {known}"


def variable_meant(name: str, variables: Iterable[str]) -> str | None:
    """The hint for an unknown variable of a row pattern; all names are in source form.

    >>> variable_meant("dwn", ["strt", "`down`"])
    'did you mean `down`? variables of the pattern: strt, `down`'
    >>> variable_meant("`down`", ["strt", "down"])
    'write down: without backticks a variable is in capitals, between them its case counts'
    """
    there = list(variables)
    alike = in_another_case(name, there)
    if alike:
        return alike
    known = f"variables of the pattern: {', '.join(there[:_LISTED])}" if there else None
    close = closest(bare(name), map(bare, there))
    return known if close is None else f"did you mean `{close}`? {known}"


def in_another_case(name: str, variables: Iterable[str]) -> str | None:
    """The hint for a name that differs in case only from a variable of a row pattern."""
    for one in variables:
        if variable(one).casefold() == variable(name).casefold():
            return f"write {one}: without backticks a variable is in capitals, between them its case counts"
    return None
