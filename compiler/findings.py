"""The diagnostics of one run, as they are found, and the places in the text they point at."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from neelc.errors import Diagnostic, Hint, diagnostic
from neelc.ir.names import Identifier, bare, variable, written
from neelc.ir.node import Node
from neelc.source import Source, Span


class Findings:
    """Collects diagnostics, and finds their places.

    >>> from neelc.syntax import pattern
    >>> findings, part = Findings(Source("SEQ(A a, B b)")), pattern("SEQ(A a, B b)").parts[1]
    >>> findings.at(part.variable), findings.at("c", part)
    (Span(start=11, end=12), Span(start=9, end=12))
    """

    def __init__(self, source: Source, aggregates: tuple[str, ...] = ()) -> None:
        self.source = source
        self.aggregates = aggregates
        """The names of aggregates that users have registered, for hints."""
        self.diagnostics: list[Diagnostic] = []
        self._seen: set[Diagnostic] = set()

    def has(self, code: str, span: Span | None) -> bool:
        """Whether something of this kind has been reported at a place."""
        return any(one.code == code and one.span == span for one in self.diagnostics)

    def report(self, code: str, message: str, span: Span | None, hint: Hint | str | None = None) -> None:
        """Take down one problem; the same problem at the same place counts once."""
        found = diagnostic(code, message, span or Span(0, 0), hint)
        if found not in self._seen:
            self._seen.add(found)
            self.diagnostics.append(found)

    def knows(self, span: Span) -> bool:
        """Whether something inside `span` is wrong already: a second report would only repeat the first."""
        return any(
            span.start <= found.span.start and found.span.end <= span.end for found in self.diagnostics
        )

    def at(self, *places: Node | Span | str | None) -> Span:
        """The first of the places that is known. A name has one if it stands in the text."""
        for place in places:
            span = place.span if isinstance(place, Node | Identifier) else place
            if isinstance(span, Span):
                return span
        return Span(0, 0)


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


def did_you_mean(name: str, candidates: Iterable[str], what: str) -> Hint | None:
    """The hint for an unknown name in source form: the closest candidate, and what there is.

    >>> hint = did_you_mean(Identifier("prise", Span(2, 7)), ["id", "price"], "attributes of a")
    >>> print(hint, hint.replacements, hint.place)
    did you mean `price`? attributes of a: id, price ('price',) Span(start=2, end=7)
    >>> did_you_mean("c", ["a", "b"], "variables in scope").words
    'variables in scope: a, b'
    """
    there = list(dict.fromkeys(candidates))
    known = listing(what, there)
    close = closest(bare(name), there)
    if close is not None:
        return Hint(f"did you mean `{close}`? {known}", (written(close),), _place(name))
    return None if known is None else Hint(known)


def variable_meant(name: str, variables: Iterable[str]) -> Hint | None:
    """The hint for an unknown variable of a row pattern; all names are in source form.

    >>> print(variable_meant("dwn", ["strt", "`down`"]))
    did you mean `down`? variables of the pattern: strt, `down`
    >>> print(variable_meant("`down`", ["strt", "down"]))
    write down: without backticks a variable is in capitals, between them its case counts
    """
    there = list(variables)
    alike = in_another_case(name, there)
    if alike or not there:
        return alike
    known = f"variables of the pattern: {', '.join(there[:_LISTED])}"
    by_name = {bare(one): one for one in there}
    close = closest(bare(name), by_name)
    if close is None:
        return Hint(known)
    return Hint(f"did you mean `{close}`? {known}", (by_name[close],), _place(name))


def in_another_case(name: str, variables: Iterable[str]) -> Hint | None:
    """The hint for a name that differs in case only from a variable of a row pattern."""
    for one in variables:
        if variable(one).casefold() == variable(name).casefold():
            words = "without backticks a variable is in capitals, between them its case counts"
            return Hint(f"write {one}: {words}", (one,), _place(name))
    return None


def _place(name: str) -> Span | None:
    return name.span if isinstance(name, Identifier) else None
