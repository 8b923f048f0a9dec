"""WITH PARTIAL MATCHES: how far each start came, and why not further.

The query becomes one that has a branch for every answer: an OR of the prefixes of the SEQ, each with
variables of its own, and of the relaxed ones, which tell why. Of each start one match is kept (`Furthest`),
and RETURN speaks of the variables of its branch. Those of the others are NULL, as in every OR.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from neelc.bind.partial_outputs import Branch, partial_outputs, renamed
from neelc.bind.prefixes import WINDOW, Prefix, prefixes
from neelc.bind.strategies import ANY
from neelc.ir import expr as e
from neelc.ir import pattern as p
from neelc.ir.logical import Furthest, Level, Match
from neelc.ir.names import bare, written
from neelc.ir.parts import inner_parts, targets
from neelc.ir.types import DataType

LONGER = 2
"""How many windows are looked through for a step that comes too late."""
MOST = 2**63 - 1


def partial_matches(match: Match, time: DataType) -> Match:
    """The query with one row for each start, an event whose time has this type. Its pattern is a SEQ, which
    begins with a single event.

    >>> from neelc.rewrite.examples import query
    >>> found = query("SEQ(A a, (B b : b.n > 0)) WITHIN 9 WITH PARTIAL MATCHES RETURN b.x AS x")
    >>> for branch in found.pattern.parts:
    ...     print(branch)
    SEQ(A a_1) WITHIN 9 MILLISECONDS
    SEQ(A a_2, (B b_2 : b_2.n > 0)) WITHIN 9 MILLISECONDS
    EXISTS b_2_window : (SEQ(A a_2_window, (B b_2_window : b_2_window.n > 0)) WITHIN 18 MILLISECONDS)
    EXISTS b_2_condition : (SEQ(A a_2_condition, B b_2_condition) WITHIN 9 MILLISECONDS)
    >>> found.partial.levels[0]
    Level(start='a_1', hints=('a_2_window', 'a_2_condition'))
    """
    assert isinstance(match.pattern, p.Seq), "partial matches are those of a SEQ"
    made = _Branches(match)
    start = targets(match.pattern)[0]
    levels = [made.level(number, prefix) for number, prefix in enumerate(prefixes(match.pattern), 1)]
    reasons = [*(branch.reasons for branch in levels[1:]), ()]
    furthest = Furthest(
        tuple(
            Level(branch.names[start], tuple(name for _, name in why))
            for branch, why in zip(levels, reasons, strict=True)
        ),
        match,
    )
    return replace(
        match,
        pattern=p.Or(tuple(made.patterns), span=match.pattern.span),
        outputs=partial_outputs(match, levels, start, time),
        within=_longer(match.within),
        partial=furthest,
    )


def _longer(within: p.Window | None) -> p.Window | None:
    if within is None:
        return None
    assert isinstance(within.count, e.Literal) and isinstance(within.count.value, int)
    longer = min(LONGER * within.count.value, MOST)
    return replace(within, count=replace(within.count, value=longer))


@dataclass
class _Branches:
    """The branches as they are made, and the names that are taken."""

    match: Match
    patterns: list[p.Pattern] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def level(self, number: int, prefix: Prefix) -> Branch:
        names = self._add(prefix.pattern, f"{number}", self.match.within)
        return Branch(prefix.step, names, tuple(self._reasons(number, prefix)))

    def _reasons(self, number: int, prefix: Prefix) -> Iterator[tuple[str, str]]:
        """Each reason, and the first variable of the branch that has a match for it."""
        start = targets(prefix.pattern)[0]
        for why, pattern in prefix.relaxed:
            within = self.match.within or pattern.within
            if why == WINDOW:
                if within is None:
                    continue
                within = _longer(within)
            names = self._add(pattern, f"{number}_{why}", within, drops=True)
            yield why, names[start]

    def _add(
        self, pattern: p.Seq, suffix: str, within: p.Window | None, drops: bool = False
    ) -> Mapping[str, str]:
        names = {name: self._free(f"{bare(name)}_{suffix}") for name in _names(pattern)}
        branch = renamed(replace(pattern, within=within or pattern.within), names)
        assert isinstance(branch, p.Pattern)
        others = targets(branch)[1:]
        # Of what only tells why, it is enough that it exists; runs have to find it.
        dropped = drops and others and self.match.strategy == ANY
        self.patterns.append(p.Exists(others, branch) if dropped else branch)
        return names

    def _free(self, name: str) -> str:
        while name.casefold() in self.taken:
            name += "_"
        self.taken.add(name.casefold())
        return written(name)


def _names(part: p.Pattern) -> Iterator[str]:
    """The names declared in a part; those inside closures of composites are seen through the closure's."""
    match part:
        case p.Event(variable=variable) | p.Repeat(variable=variable):
            yield variable or ""
        case _:
            for inner in inner_parts(part):
                yield from _names(inner)
