"""Bit-marking: one construction of the positive part for expressions that differ in their gaps (NEEL, IV-B).

The `EMap` says at compile time what each expression asks of the gaps; an `RVI` says what is known so far of
one partial match. Example 11: Q1 in normal form has three expressions over Recycle, Washing, Operating.

>>> from neelc.cost.sharing_expressions import expressions
>>> from neelc.rewrite.driver import rewrite
>>> from neelc.rewrite.batches import NORMALISE
>>> from neelc.rewrite.examples import query
>>> q1 = query("SEQ(Recycle r, Washing w, !SEQ(Sharpening s, Disinfection d, Checking c), Operating o)")
>>> emap = emap_of(expressions(rewrite(q1, NORMALISE).query))
>>> print(emap)
     c1  c2  c3
E1   1   0   0
E2   0   1   0
E3   0   0   1
c1: !Checking after Washing
c2: (!Disinfection, Checking latest) after Washing
c3: (!Sharpening, Disinfection latest, Checking latest) after Washing

When o20 has been joined with w5, and d6 and c16 lie between them, with no Sharpening before d6:

>>> rvi = RVI().marked(0, False).marked(1, False).marked(2, True)
>>> print(emap.marks(rvi))
RVI  0   0   1
>>> [row.name for row in emap.live(rvi)], [row.name for row in emap.results(rvi)]
(['E3'], ['E3'])

The paper's "the AND of the bit vectors is 1" must mean that *all* columns of the row hold: taken as "some bit
is left", an expression with two negations would pass with one of them, and one with none would never pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neelc.cost.sharing_expression import Constraint, Expression


@dataclass(frozen=True)
class Row:
    """An expression: the columns it asks for, by place, and its results: the query and the variables."""

    name: str
    wanted: frozenset[int]
    result: tuple[int, tuple[str, ...]]


@dataclass(frozen=True)
class RVI:
    """The result vector indicator: the columns judged so far for a partial match, and those that hold."""

    judged: frozenset[int] = frozenset()
    held: frozenset[int] = frozenset()

    def marked(self, column: int, holds: bool) -> RVI:
        return RVI(self.judged | {column}, self.held | {column} if holds else self.held)


@dataclass(frozen=True)
class EMap:
    """The expression-versus-negative map: which expression (row) asks for what in which gap (column)."""

    columns: tuple[Constraint, ...]
    rows: tuple[Row, ...]
    components: tuple[str, ...]

    def live(self, rvi: RVI) -> tuple[Row, ...]:
        """The expressions that the partial match may still satisfy.

        Lemma 1: an expression is given up when a column of its row was judged and does not hold; and the
        partial match with it when no expression is left.
        """
        return tuple(row for row in self.rows if row.wanted & rvi.judged <= rvi.held)

    def satisfied(self, rvi: RVI) -> tuple[Row, ...]:
        """The expressions that a complete match satisfies: all columns of the row hold."""
        return tuple(row for row in self.rows if row.wanted <= rvi.held)

    def results(self, rvi: RVI) -> tuple[Row, ...]:
        """The expressions for which a complete match comes out.

        Lemmas 2 and 3: once for all expressions of a query that give their events the same variables, as the
        branches do that one negation was pushed into. Expressions with other variables, or of other queries,
        have results of their own.
        """
        first: dict[tuple[int, tuple[str, ...]], Row] = {}
        for row in self.satisfied(rvi):
            first.setdefault(row.result, row)
        return tuple(first.values())

    def wanted(self, rvi: RVI) -> tuple[int, ...]:
        """The columns that still matter: not judged yet, and asked for by an expression that is live."""
        asked = frozenset[int]().union(*(row.wanted for row in self.live(rvi)))
        return tuple(sorted(asked - rvi.judged))

    def titles(self) -> tuple[str, ...]:
        """What each column stands for, with the gap it stands in."""
        return tuple(f"{column.text} {self._gap(column)}" for column in self.columns)

    def _gap(self, column: Constraint) -> str:
        return f"after {self.components[column.gap - 1]}" if column.gap else f"before {self.components[0]}"

    def marks(self, rvi: RVI) -> str:
        """The RVI as a line under the map; what is not judged yet is a dot."""
        places = range(len(self.columns))
        return _line("RVI", [str(int(place in rvi.held)) if place in rvi.judged else "." for place in places])

    def __str__(self) -> str:
        heads = [f"c{place}" for place, _ in enumerate(self.columns, start=1)]
        places = range(len(self.columns))
        rows = [_line(row.name, [str(int(place in row.wanted)) for place in places]) for row in self.rows]
        legend = [f"{head}: {title}" for head, title in zip(heads, self.titles(), strict=True)]
        return "\n".join([_line("", heads), *rows, *legend])


def _line(head: str, cells: Sequence[str]) -> str:
    return "".join([head.ljust(5), *(cell.ljust(4) for cell in cells)]).rstrip()


def emap_of(expressions: Sequence[Expression]) -> EMap:
    """The map of expressions with the same positive part."""
    assert len({expression.positive for expression in expressions}) == 1, "the positive parts agree"
    columns = tuple(dict.fromkeys(column for one in expressions for column in one.columns))
    rows = tuple(
        Row(one.name, frozenset(map(columns.index, one.columns)), (one.number, one.variables))
        for one in expressions
    )
    return EMap(columns, rows, tuple(component.text for component in expressions[0].components))
