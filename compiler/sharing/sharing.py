"""Sharing: which expressions of a query, or of several, are executed together, and how.

>>> from pattern_examples import query
>>> from neelc.catalog.statistics.numbers import Statistics
>>> text = "SEQ(A, B, C) OR SEQ(A, !X, C) OR SEQ(A, !Y, C) OR SEQ(D, A, B, C) OR SEQ(E, F) WITHIN 10 SECONDS"
>>> print(share(query(text), Statistics()))
[E1, E4] suffix clustering of SEQ(A, B, C): cost 3,050, apart 3,350
[E2, E3] bit-marking on SEQ(A, C): cost 250, apart 300
[E5] single: cost 100

Bit-marking: one construction of the positive part for expressions that differ in their gaps (NEEL, IV-B).

The `EMap` holds what each expression requires of the gaps, at compile time; an `RVI` what is known so far of
one partial match. Example 11: Q1 in normal form has three expressions over Recycle, Washing, Operating.

>>> from neelc.sharing.expressions import expressions
>>> from neelc.pattern.rules.driver import rewrite
>>> from neelc.pattern.rules.batches import NORMALISE
>>> from pattern_examples import query
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

from collections.abc import Iterator, Sequence

from neelc.catalog.statistics.numbers import Statistics
from neelc.ir.patterns import targets
from neelc.ir.program import Match
from neelc.runtime.late_dataclass import dataclass
from neelc.sharing.cost import CostModel, model_of
from neelc.sharing.expressions import Constraint, Expression, expressions
from neelc.sharing.operators import MARKING, SINGLE, GroupPrice, Members, Workload
from neelc.sharing.plan_finder import SearchLimits, find_plan

# Bit-marking: one construction of the positive part for expressions that differ in their gaps (NEEL, IV-B).
#
# The `EMap` holds what each expression requires of the gaps, at compile time; an `RVI` what is known so far
# of one partial match. Example 11: Q1 in normal form has three expressions over Recycle, Washing,
# Operating.


@dataclass(frozen=True)
class EMapRow:
    """An expression: the columns it requires, by place, and its results: the query and the variables."""

    name: str
    required: frozenset[int]
    result: tuple[int, tuple[str, ...]]


@dataclass(frozen=True)
class RVI:
    """The result vector indicator: the columns checked so far for a partial match, and those that hold."""

    checked: frozenset[int] = frozenset()
    held: frozenset[int] = frozenset()

    def marked(self, column: int, holds: bool) -> RVI:
        return RVI(self.checked | {column}, self.held | {column} if holds else self.held)


@dataclass(frozen=True)
class EMap:
    """The expression-versus-negative map: which expression (row) requires what in which gap (column)."""

    columns: tuple[Constraint, ...]
    rows: tuple[EMapRow, ...]
    components: tuple[str, ...]

    def live(self, rvi: RVI) -> tuple[EMapRow, ...]:
        """The expressions that the partial match may still satisfy.

        Lemma 1: an expression is given up when a column of its row was checked and does not hold; and the
        partial match with it when no expression is left.
        """
        return tuple(row for row in self.rows if row.required & rvi.checked <= rvi.held)

    def satisfied(self, rvi: RVI) -> tuple[EMapRow, ...]:
        """The expressions that a complete match satisfies: all columns of the row hold."""
        return tuple(row for row in self.rows if row.required <= rvi.held)

    def results(self, rvi: RVI) -> tuple[EMapRow, ...]:
        """The expressions for which a complete match comes out.

        Lemmas 2 and 3: once for all expressions of a query that give their events the same variables, as the
        branches do that one negation was pushed into. Expressions with other variables, or of other queries,
        have results of their own.
        """
        first: dict[tuple[int, tuple[str, ...]], EMapRow] = {}
        for row in self.satisfied(rvi):
            first.setdefault(row.result, row)
        return tuple(first.values())

    def pending(self, rvi: RVI) -> tuple[int, ...]:
        """The columns that still matter: not checked yet, and required by an expression that is live."""
        required = frozenset[int]().union(*(row.required for row in self.live(rvi)))
        return tuple(sorted(required - rvi.checked))

    def titles(self) -> tuple[str, ...]:
        """What each column stands for, with the gap it stands in."""
        return tuple(f"{column.text} {self._gap(column)}" for column in self.columns)

    def _gap(self, column: Constraint) -> str:
        return f"after {self.components[column.gap - 1]}" if column.gap else f"before {self.components[0]}"

    def marks(self, rvi: RVI) -> str:
        """The RVI as a line under the map; what is not checked yet is a dot."""
        places = range(len(self.columns))
        return _line(
            "RVI", [str(int(place in rvi.held)) if place in rvi.checked else "." for place in places]
        )

    def __str__(self) -> str:
        heads = [f"c{place}" for place, _ in enumerate(self.columns, start=1)]
        places = range(len(self.columns))
        rows = [_line(row.name, [str(int(place in row.required)) for place in places]) for row in self.rows]
        legend = [f"{head}: {title}" for head, title in zip(heads, self.titles(), strict=True)]
        return "\n".join([_line("", heads), *rows, *legend])


def _line(head: str, cells: Sequence[str]) -> str:
    return "".join([head.ljust(5), *(cell.ljust(4) for cell in cells)]).rstrip()


def emap_of(expressions: Sequence[Expression]) -> EMap:
    """The map of expressions with the same positive part."""
    assert len({expression.positive for expression in expressions}) == 1, "the positive parts agree"
    columns = tuple(dict.fromkeys(column for one in expressions for column in one.columns))
    rows = tuple(
        EMapRow(one.name, frozenset(map(columns.index, one.columns)), (one.number, one.variables))
        for one in expressions
    )
    return EMap(columns, rows, tuple(component.text for component in expressions[0].components))


@dataclass(frozen=True)
class ExpressionGroup:
    """Expressions that are executed together.

    `shared` is what is built once for all of them; `emap` is there for bit-marking. `cost_apart` is what they
    would cost one by one. Costs are partial matches, looks into gaps and results in one window: they compare
    groups with each other, not with the estimates of whole queries.
    """

    operator: str
    members: tuple[Expression, ...]
    shared: str
    cost: float
    cost_apart: float
    emap: EMap | None = None
    first: tuple[tuple[str, ...], ...] = ()
    """The variables of each member that the shared part binds, in its order."""

    def __str__(self) -> str:
        names = ", ".join(member.name for member in self.members)
        if self.operator == SINGLE:
            return f"[{names}] {SINGLE}: cost {_number(self.cost)}"
        what = f"{self.operator} {'on' if self.emap else 'of'} {self.shared}"
        return f"[{names}] {what}: cost {_number(self.cost)}, apart {_number(self.cost_apart)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if 100 <= value < 1e15 else f"{value:.3g}"


@dataclass(frozen=True)
class Sharing:
    """The groups, in the order of their first expression: each expression is in exactly one."""

    groups: tuple[ExpressionGroup, ...]

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All expressions, in order."""
        found = [member for group in self.groups for member in group.members]
        return tuple(sorted(found, key=lambda expression: (expression.number, int(expression.name[1:]))))

    @property
    def shared(self) -> tuple[ExpressionGroup, ...]:
        """The groups that share something."""
        return tuple(group for group in self.groups if group.operator != SINGLE)

    @property
    def cost(self) -> float:
        return sum(group.cost for group in self.groups)

    @property
    def cost_apart(self) -> float:
        return sum(group.cost_apart for group in self.groups)

    def __str__(self) -> str:
        return "\n".join(map(str, self.groups))


def share(query: Match, statistics: Statistics, seed: int = 0, stop: SearchLimits | None = None) -> Sharing:
    """What the expressions of a query in normal form share."""
    return share_queries((query,), statistics, seed, stop)


def share_queries(
    queries: Sequence[Match], statistics: Statistics, seed: int = 0, stop: SearchLimits | None = None
) -> Sharing:
    """What the expressions of several queries of a script share. Windows and keys must agree for that.

    >>> from pattern_examples import query
    >>> two = [query(f"SEQ(A a, B b, {last} c) WHERE [id] WITHIN 10 SECONDS") for last in ("C", "D")]
    >>> print(share_queries(two, Statistics()))
    [E1, E2] prefix caching of SEQ(A, B): cost 0.051, apart 0.101
    >>> other = query("SEQ(A a, B b, C c) WHERE [id] WITHIN 20 SECONDS")
    >>> len(share_queries([two[0], other], Statistics()).shared)
    0
    """
    found: list[Expression] = []
    for number, query in enumerate(queries):
        found += expressions(query, number, first=len(found) + 1)
    return share_expressions(found, model_of(statistics), seed, stop)


def share_expressions(
    found: Sequence[Expression], model: CostModel, seed: int = 0, stop: SearchLimits | None = None
) -> Sharing:
    """What expressions share, at costs that rest on a model."""
    if not found:
        return Sharing(())
    workload = Workload(found, model)
    return Sharing(tuple(_group(workload, members) for members in find_plan(workload, seed, stop)))


def _group(workload: Workload, numbers: Members) -> ExpressionGroup:
    price = workload.price(numbers)
    members = tuple(workload.expressions[number] for number in sorted(numbers))
    shared = "" if price.shared is None else str(price.shared)
    emap = emap_of(members) if price.operator == MARKING else None
    return ExpressionGroup(
        price.operator,
        members,
        shared,
        price.cost,
        workload.cost_apart(numbers),
        emap,
        tuple(_shared_variables(price, members)),
    )


def _shared_variables(price: GroupPrice, members: Sequence[Expression]) -> Iterator[tuple[str, ...]]:
    if price.shared is None or price.starts is None:
        return
    length = len(price.shared.components)
    for member, start in zip(members, price.starts, strict=True):
        parts = member.components[start : start + length]
        yield tuple(name for part in parts for name in targets(part.original))
