"""Trees of steps that rules have in common: each step runs once for all rules that take it.

A row carries the rules that it may still be a match of, as bits: NEEL's result vector indicator. A check that
only some rules require is made once, for the rows of these rules, and where it fails the row loses their bits
and no others. A row that has lost all leaves (NEEL, lemmas 1 to 3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

import numpy as np

from neelc.runtime.kernels.events import Numbers, Truths
from neelc.runtime.kernels.frontier import Frontier, any_bound, concerned, root
from neelc.runtime.kernels.matching import Piece, length, owned_piece
from neelc.runtime.kernels.rules.program import RuleNode, RuleTree
from neelc.runtime.kernels.running import after_step, extended, only_plain, run
from neelc.runtime.kernels.taking import KernelSearch, Room, fits, occupied, rooms
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import Absent, AnyBound, Bounds, FilterStep, KernelStep, Present, Take, Value
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
        if not node.checks:
            return rows
        live = rows.marks[LIVE].copy()
        looked = RowChecks(self.search, node, rows)
        for check in node.checks:
            asked = np.flatnonzero((live & check.rules) != 0)
            if len(asked):
                live[asked[~looked.passing(check.step, asked)]] &= ~check.rules
        return _of(rows.marked(LIVE, live), -1)

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


@dataclass(frozen=True, eq=False)
class RowChecks:
    """What rules require of the rows at a node. Checks with the same bounds look at the same room."""

    search: KernelSearch
    node: RuleNode
    rows: Frontier
    _rooms: dict[Bounds, Room] = field(default_factory=dict)

    def passing(self, step: KernelStep, asked: Numbers) -> Truths:
        """Of the rows that are `asked`, those that pass a check; those that it does not concern do."""
        match step:
            case Absent((Take(),) as steps, when=()) if plain := only_plain(self.search, steps):
                return ~self._occupied(plain, asked)
            case Present((Take(),) as steps, when=()) if plain := only_plain(self.search, steps):
                return self._occupied(plain, asked)
        rows = self.rows if len(asked) == len(self.rows) else self.rows.take(asked)
        which = concerned(rows, step.when)
        if isinstance(which, bool):
            return self._passing(step, rows) if which else np.ones(len(rows), bool)
        found = np.ones(len(rows), bool)
        found[which] = self._passing(step, rows.take(which))
        return found

    def _occupied(self, step: Take[Value], asked: Numbers) -> Truths:
        bounds = step.bounds
        if bounds not in self._rooms:
            self._rooms[bounds], _ = rooms(bounds, self.rows, self.search.timeline)
        room = self._rooms[bounds]
        return occupied(self.search.unowned(), step, Room(room.start[asked], room.end[asked]))

    def _passing(self, step: KernelStep, rows: Frontier) -> Truths:
        match step:
            case FilterStep(condition):
                return holds(condition, seen(rows), self.search.events, len(rows))
            case AnyBound(variables):
                return any_bound(rows, variables)
            case Absent(steps):
                return ~extended(self.search, steps, rows, run)
            case Present(steps):
                return extended(self.search, steps, rows, run)
            case Take():
                known = self.node.step
                return fits(self.search, step, rows, known if isinstance(known, Take) else None)
        raise AssertionError(f"{type(step).__name__} is no check")
