"""Trees of steps that rules have in common: each step runs once for all rules that take it.

A row carries the rules that it may still be a match of, as bits: NEEL's result vector indicator. A check that
only some rules require is made once, for the rows of these rules, and where it fails the row loses their bits
and no others. A row that has lost all leaves (NEEL, lemmas 1 to 3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neelc.runtime.kernels.events import Numbers, Truths
from neelc.runtime.kernels.frontier import Frontier, any_bound, concerned, root
from neelc.runtime.kernels.matching import Piece, length, owned_piece
from neelc.runtime.kernels.rules.program import RuleNode, RuleTree
from neelc.runtime.kernels.running import after_step, extended, run
from neelc.runtime.kernels.taking import KernelSearch, fits
from neelc.runtime.program import Absent, AnyBound, FilterStep, KernelStep, Present, Take
from neelc.runtime.values.operations import holds, seen

LIVE = "#live"
"""The mark that holds the rules that a row may be a match of. No name of a pattern is like it."""


def tree_matches(search: KernelSearch, tree: RuleTree) -> Iterator[tuple[int, Piece]]:
    """The matches of all rules of a tree, in pieces: the number of the rule in the set, and its matches."""
    everything = root().marked(LIVE, np.array([tree.root.rules]))
    yield from _Walk(search, tree).below(tree.root, everything)


@dataclass(frozen=True, eq=False)
class _Walk:
    search: KernelSearch
    tree: RuleTree

    def below(self, node: RuleNode, frontier: Frontier) -> Iterator[tuple[int, Piece]]:
        """The matches that come of rows before a node. Each piece is brought to its end before the next."""
        pieces = iter((frontier,)) if node.step is None else after_step(self.search, node.step, frontier)
        for piece in pieces:
            rows = self._checked(node, piece)
            if len(rows):
                yield from self._complete(node, rows)
                for below in node.then:
                    yield from self.below(below, _of(rows, below.rules))

    def _checked(self, node: RuleNode, rows: Frontier) -> Frontier:
        """The rows without the rules whose checks they fail."""
        for check in node.checks:
            if not len(rows):
                break
            live = rows.marks[LIVE]
            asked = np.flatnonzero(live & check.rules)
            some = rows if len(asked) == len(rows) else rows.take(asked)
            failed = asked[~passing(self.search, check.step, some)]
            if len(failed):
                left = live.copy()
                left[failed] &= ~check.rules
                rows = _of(rows.marked(LIVE, left), -1)
        return rows

    def _complete(self, node: RuleNode, rows: Frontier) -> Iterator[tuple[int, Piece]]:
        for place in node.complete:
            own = _of(rows, 1 << place)
            if len(own):
                piece = owned_piece(self.search, self.tree.outputs[place], own)
                if length(piece):
                    yield self.tree.members[place], piece


def _of(rows: Frontier, rules: int) -> Frontier:
    """The rows that may be matches of one of these rules; of no others, from now on."""
    live: Numbers = rows.marks[LIVE] & rules
    kept = live != 0
    if kept.all():
        return rows if rules == -1 else rows.marked(LIVE, live)
    return rows.marked(LIVE, live).take(kept)


def passing(search: KernelSearch, step: KernelStep, rows: Frontier) -> Truths:
    """The rows that pass a check; those that it does not concern do."""
    which = concerned(rows, step.when)
    if which is False:
        return np.ones(len(rows), bool)
    if which is True:
        return _passing(search, step, rows)
    found = np.ones(len(rows), bool)
    found[which] = _passing(search, step, rows.take(which))
    return found


def _passing(search: KernelSearch, step: KernelStep, rows: Frontier) -> Truths:
    match step:
        case FilterStep(condition):
            return holds(condition, seen(rows), search.events, len(rows))
        case AnyBound(variables):
            return any_bound(rows, variables)
        case Absent(steps):
            return ~extended(search, steps, rows, run)
        case Present(steps):
            return extended(search, steps, rows, run)
        case Take():
            return fits(search, step, rows)
    raise AssertionError(f"{type(step).__name__} is no check")
