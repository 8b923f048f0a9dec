"""Matches where conditions depend on the path: the choices are tried one by one, the preferred ones first.

What can be known of a row without its path is known: no choice is tried that could not be completed even if
all other conditions held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial

import numpy as np

from neelc.runtime.failures import BACKTRACKING, FailureDetails
from neelc.runtime.kernels.rows.automaton import Ints, RowFailure, RowMatches, Viability, listed
from neelc.runtime.kernels.rows.program import (
    ACCEPT,
    OF_MATCH,
    Choices,
    ConditionValue,
    RowArgument,
    RowCondition,
    RowLocation,
    RowProgram,
    depends_on_start_only,
)
from neelc.runtime.kernels.rows.walking import NextStart, shortest_ends
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import ColumnValue
from neelc.runtime.values.operations import compiled
from neelc.runtime.values.order import comparable
from neelc.runtime.values.path_folds import FOLDS, LISTS, PathAggregate, PathFold

# Conditions that depend on which rows the match has taken so far.
#
# The values that they read are kept at hand while the match grows.

Columns = Mapping[str, Sequence[object]]
"""The values of the columns that conditions read, by row."""


AtRow = Callable[[int, "MatchPath"], object]
"""The value of a column, or of an expression, at a row of the partition."""


@dataclass
class MatchPath:
    """The rows of a partition from `head` to `tail`, and those that a match has taken so far: all of them,
    and those that are mapped to each set of variables that some condition reads. `totals` are the aggregates
    over these that were needed so far, by their numbers in the evaluator. Rows from `known` on can be looked
    at, but not taken yet. Matches from rows before `closed` take none of the rows to come, in any case."""

    head: int
    tail: int
    number: int
    known: int
    closed: int = 0
    start: int = 0
    variables: list[int] = field(default_factory=list)
    rows: dict[int, list[int]] = field(default_factory=dict)
    totals: dict[int, PathAggregate] = field(default_factory=dict)


class ConditionEvaluator:
    """Evaluates the conditions of a program over columns with these values."""

    def __init__(self, program: RowProgram, columns: Columns) -> None:
        self.names = program.names
        self.columns = columns
        self.tests = {one.variable: _test(one) for one in program.conditions}
        looked = [one for condition in program.conditions for one in condition.looked]
        self.folded: list[ConditionValue] = []
        self.masks = sorted({one.at.variables if one.at else one.variables for one in looked} - {0})
        self.values = {
            condition.variable: [self._value(one) for one in condition.looked]
            for condition in program.conditions
        }

    def begin(self, path: MatchPath, row: int) -> None:
        path.start, path.variables, path.totals = row, [], {}
        path.rows = {mask: [] for mask in self.masks}

    def push(self, path: MatchPath, row: int, variable: int) -> None:
        path.variables.append(variable)
        for mask, rows in path.rows.items():
            if mask >> variable & 1:
                rows.append(row)

    def pop(self, path: MatchPath) -> None:
        variable = path.variables.pop()
        for mask, rows in path.rows.items():
            if mask >> variable & 1:
                rows.pop()
        for number, total in path.totals.items():
            if len(total) > len(path.rows[self.folded[number].variables]):
                total.pop()

    def holds(self, path: MatchPath) -> bool:
        """Whether the row taken last meets the condition of its variable."""
        variable = path.variables[-1]
        test = self.tests.get(variable)
        if test is None:
            return True
        return test([value(path) for value in self.values[variable]]) is True

    def _value(self, looked: ConditionValue) -> Callable[[MatchPath], object]:
        """How a value that a condition reads is found."""
        at_row = self._reader(looked.column)
        if looked.at is not None:
            return partial(self._of_row, looked.at, at_row)
        match looked.name:
            case None:
                return lambda path: path.number
            case "rows":
                return lambda path: len(path.rows[looked.variables])

        if looked.name not in FOLDS:
            return partial(self._aggregate, looked, at_row)
        if looked not in self.folded:
            self.folded.append(looked)
        return partial(self._total, self.folded.index(looked), looked, FOLDS[looked.name], at_row)

    def _of_row(self, at: RowLocation, at_row: AtRow, path: MatchPath) -> object:
        row = _row(at, path)
        return None if row is None else at_row(row, path)

    def _total(
        self, number: int, looked: ConditionValue, fold: PathFold, at_row: AtRow, path: MatchPath
    ) -> object:
        """An aggregate, from its value at the last evaluation: only rows taken since then are added."""
        total = path.totals.get(number)
        if total is None:
            total = path.totals[number] = PathAggregate(fold, looked.type, looked.distinct)
        rows = path.rows[looked.variables]
        for place in range(len(total), len(rows)):
            total.push(at_row(rows[place], path))
        return total.value()

    def _aggregate(self, looked: ConditionValue, at_row: AtRow, path: MatchPath) -> object:
        """An aggregate of all its values: lists and sets, which grow with each row."""
        rows = path.rows[looked.variables]
        values = [value for row in rows if (value := at_row(row, path)) is not None]
        if looked.distinct or looked.name == "collect_set":
            values = list({comparable(value): value for value in values}.values())
        return LISTS[looked.name or ""](values)

    def _reader(self, column: str | RowArgument | None) -> AtRow:
        match column:
            case None:
                return self._variable
            case str():
                values = self.columns[column]
                return lambda row, path: values[row]

        def place(read: ColumnValue) -> int:
            return (
                OF_MATCH.index(read) if read in OF_MATCH else len(OF_MATCH) + column.columns.index(read.name)
            )

        evaluated = compiled(column.expression, place)
        columns = [self.columns[name] for name in column.columns]

        def at_row(row: int, path: MatchPath) -> object:
            return evaluated([self._variable(row, path), path.number, *(values[row] for values in columns)])

        return at_row

    def _variable(self, row: int, path: MatchPath) -> str | None:
        """The variable that a row is mapped to, None outside of the match."""
        place = row - path.start
        return self.names[path.variables[place]] if 0 <= place < len(path.variables) else None


def _row(at: RowLocation, path: MatchPath) -> int | None:
    rows = path.rows[at.variables]
    if at.place >= len(rows):
        return None
    row = rows[-1 - at.place if at.last else at.place] + at.shift
    return row if path.head <= row < path.tail else None


def _test(condition: RowCondition) -> Callable[[list[object]], object]:
    """The condition as a function of the values that it reads."""
    return compiled(condition.expression, lambda column: condition.names.index(column.name))


MOST_STEPS = 1_000_000
"""How many rows may be tried for a match from one row."""

MOST_TRIED, MOST_TRIED_EACH = 5_000_000, 100
"""How many rows may be tried in vain in a partition, or in a piece of a long one, and how many more for each
of its rows."""

UNDECIDED = [-1]
"""In place of a match's places: what the preferred match is depends on rows that have not come."""

Match = tuple[int, list[int]]
"""The row at which a match starts, and the places of its rows."""

START, FIRST = -1, -2
"""Where choices are made besides after places: at the first row of a match, and at that of a partition."""


class RowSearch:
    """Looks for matches in rows whose states are known. In an open partition, more rows may come after them.
    `before` says how many rows of the partition came before them, `offset` where the states of matches from
    each row begin, if there are several kinds."""

    def __init__(
        self,
        program: RowProgram,
        viability: Viability,
        states: Ints,
        evaluator: ConditionEvaluator,
        times: Sequence[int] | None,
        before: int = 0,
        offset: Ints | None = None,
    ) -> None:
        self.program = program
        self.before = before
        self.offset = None if offset is None else offset.tolist()
        self.shift = 0
        self.is_open = viability.is_open
        self.machine = viability.machine
        self.sets = viability.sets
        self.states = states.tolist()
        self.evaluator = evaluator
        self.times = times
        self.known: dict[tuple[int, int], list[int]] = {}
        self.remembers = depends_on_start_only(program)
        self.shortest = shortest_ends(self.machine) if self.is_open else []
        self.tried = 0

    def matches(self, heads: Ints, next_start: NextStart) -> RowMatches:
        """The matches of all partitions."""
        found: list[Match] = []
        count = len(self.states) if self.offset is None else len(self.offset)
        tails = np.append(heads[1:], count).tolist()
        for head, tail in zip(heads.tolist(), tails, strict=True):
            self.collect(MatchPath(head, tail, 1, tail), range(head, tail), next_start, found)
        return listed_matches(found, heads)

    def matches_from(self, path: MatchPath, rows: range, next_start: NextStart) -> tuple[RowMatches, int]:
        """The matches of one partition that start at some rows; and the row from which on it is yet to be
        decided where matches start."""
        found: list[Match] = []
        decided = self.collect(path, rows, next_start, found)
        return listed_matches(found, np.array([path.head])), decided

    def collect(self, path: MatchPath, rows: range, next_start: NextStart, found: list[Match]) -> int:
        """Adds the matches of one partition that start at some rows; the row from which on it is yet to be
        decided where matches start."""
        row = rows.start
        self.tried = 0
        while row < rows.stop:
            self.shift = 0 if self.offset is None else self.offset[row]
            can_begin = self._viable(FIRST if row == path.head else START, row)
            places = self._first(path, row) if can_begin else None
            if places is UNDECIDED:
                return row
            if self.tried > MOST_TRIED + MOST_TRIED_EACH * (row - rows.start):
                raise RowFailure(_tried_in_vain(row - rows.start, row - path.head + self.before), row)
            if places is None:
                row += 1
                continue
            path.number += 1
            found.append((row, places))
            row = next_start(row, places) if places else row + 1
        return row

    def _first(self, path: MatchPath, row: int) -> list[int] | None:
        """The places of the preferred match from a row; None if there is none; or UNDECIDED."""
        machine, evaluator = self.machine, self.evaluator
        evaluator.begin(path, row)
        places: list[int] = []
        waiting = [iter(self._viable(FIRST if row == path.head else START, row))]
        failed: set[tuple[int, int]] = set()
        is_open, steps = self.is_open and row >= path.closed, 0
        while waiting:
            choice = next(waiting[-1], None)
            if choice is None:
                waiting.pop()
                if places:
                    failed.add((places.pop(), row + len(places)))
                    evaluator.pop(path)
                continue
            if choice == ACCEPT:
                break
            at = row + len(places)
            if self.remembers and (choice, at) in failed:
                continue
            steps += 1
            if steps > MOST_STEPS:
                if is_open:
                    return UNDECIDED  # rows to come may show that nothing had to be tried
                raise RowFailure(_hard_to_find(row - path.head + self.before), row)
            evaluator.push(path, at, machine.variables[choice])
            if not self._reaches(row, at) or not evaluator.holds(path):
                evaluator.pop(path)
                continue
            places.append(choice)
            if at + 1 < path.known:
                waiting.append(iter(self._viable(choice, at + 1)))
            elif is_open and self._may_go_on(choice, len(places)):
                return UNDECIDED
            elif ACCEPT in machine.after[choice] if is_open else machine.ends[choice]:
                break
            else:
                places.pop()
                evaluator.pop(path)
        self.tried += steps - len(places)
        return places if waiting else None

    def _may_go_on(self, place: int, length: int) -> bool:
        """Whether a match of so many rows, the last of them in a place, would rather take rows to come."""
        most = self.program.rows
        for one in self.machine.after[place]:
            if one == ACCEPT:
                return False
            if most is None or length + self.shortest[one] <= most:
                return True
        return self.machine.ends[place]  # if the partition ends here

    def _viable(self, place: int, row: int) -> list[int]:
        """The choices after a place that can be completed, if they take a row."""
        key = (place, self.states[row + self.shift])
        found = self.known.get(key)
        if found is None:
            viable, choices = self.sets[key[1]].possible, self._choices(place)
            found = [choice for choice in choices if choice == ACCEPT or viable >> choice & 1]
            self.known[key] = found
        return found

    def _choices(self, place: int) -> Choices:
        machine = self.machine
        return {START: machine.start, FIRST: machine.first}[place] if place < 0 else machine.after[place]

    def _reaches(self, row: int, at: int) -> bool:
        program = self.program
        if program.rows is not None and at - row >= program.rows:
            return False
        if program.reach is None or self.times is None:
            return True
        first, last = self.times[row], self.times[at]
        return first is not None and last is not None and abs(last - first) <= program.reach


def listed_matches(found: list[Match], heads: Ints) -> RowMatches:
    starts, lengths = [row for row, _ in found], [len(places) for _, places in found]
    return listed(starts, lengths, [place for _, places in found for place in places], heads)


def _hard_to_find(row: int) -> FailureDetails:
    message = (
        f"more than {MOST_STEPS} attempts to match from row {row + 1} of a partition: conditions "
        "of this pattern depend on the path, so that each way is tried"
    )
    return FailureDetails(BACKTRACKING, message, limit=MOST_STEPS, number=MOST_STEPS + 1)


def _tried_in_vain(rows: int, row: int) -> FailureDetails:
    limit = MOST_TRIED + MOST_TRIED_EACH * rows
    message = (
        f"more than {limit} attempts to match in vain, up to row {row + 1} of a partition: conditions of "
        "this pattern depend on the path, so that the rows behind each row are tried again"
    )
    return FailureDetails(BACKTRACKING, message, limit=limit, number=limit + 1)
