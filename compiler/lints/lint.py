"""What a lint is, and what it may look at.

A lint looks at a bound query and warns of what is right but most likely not meant. It must be certain of
what it says by the form of the query alone, whatever the events are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from neelc.errors import Diagnostic
from neelc.ir import expr as e
from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjuncts
from neelc.ir.logical import Match
from neelc.ir.node import Node, walk
from neelc.ir.parts import all_parts
from neelc.lints.clashes import Clash, clashes
from neelc.lints.times import times_in
from neelc.rewrite.always import always
from neelc.rewrite.facts import Facts
from neelc.source import Source, Span

MAX_TEXT = 60


@dataclass(frozen=True)
class Asked:
    """A bound query, and the text it was written in."""

    match: Match
    source: Source

    @cached_property
    def facts(self) -> Facts:
        return Facts(lambda: self.match)

    @cached_property
    def conditions(self) -> tuple[tuple[e.Expr, p.Pattern], ...]:
        """All conjuncts of the pattern, each with the part it stands at; `[id]` is not one of them."""
        return tuple(
            (conjunct, part)
            for part in all_parts(self.match.pattern)
            for conjunct in conjuncts(part.where)
            if not isinstance(conjunct, e.Same)
        )

    @cached_property
    def clashes(self) -> tuple[Clash, ...]:
        """What cannot be TRUE together."""
        return tuple(clashes(self.match))

    def is_always_true(self, conjunct: e.Expr, part: p.Pattern) -> bool:
        """Whether a conjunct excludes nothing. The part it stands at matters only for times."""
        if times_in(conjunct, self.match.streams):
            return always(conjunct, part, self.facts) is True
        return always(conjunct) is True

    def warning(self, code: str, message: str, place: Node | None, hint: str | None = None) -> Diagnostic:
        """A warning that points at a node of the query, or at the whole query if that has no place."""
        span = (place and place.span) or self.match.pattern.span or self.match.span or Span(0, 1)
        return Diagnostic(code, message, span, hint)

    def text(self, node: Node) -> str:
        """A node as it was written, in one line that is not too long."""
        written = self.source.text[node.span.start : node.span.end] if node.span else ""
        text = " ".join(written.split()) or str(node)
        return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."

    def has_parameter(self, node: Node) -> bool:
        """Whether a value in it came from outside: with another one it might say something else."""
        spans = (inner.span for inner in walk(node) if isinstance(inner, e.Literal | e.Interval))
        return any(self.source.text[span.start : span.start + 1] == ":" for span in spans if span)


Lint = Callable[[Asked], Iterator[Diagnostic]]
