"""Row patterns: SQL:2016's MATCH_RECOGNIZE, JEPC-QL's MATCH_RECOGNIZE_SEQUENTIAL and _TEMPORAL."""

from __future__ import annotations

from dataclasses import field

from neelc.ir.expressions import Expr
from neelc.ir.node import Node
from neelc.ir.patterns import Window
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Span


@dataclass(frozen=True)
class RowPattern(Node):
    """A regular expression over rows."""


@dataclass(frozen=True)
class RowVariable(RowPattern):
    """A row that satisfies the variable's DEFINE condition."""

    name: str


@dataclass(frozen=True)
class RowSequence(RowPattern):
    """Two or more parts, one after the other."""

    parts: tuple[RowPattern, ...]


@dataclass(frozen=True)
class RowAlternation(RowPattern):
    """`a | b`: the first part that matches is preferred."""

    parts: tuple[RowPattern, ...]


@dataclass(frozen=True)
class RowRepeat(RowPattern):
    """`part` with a quantifier; `most=None` means no limit, `reluctant` prefers fewer."""

    part: RowPattern
    least: int
    most: int | None
    reluctant: bool = False


@dataclass(frozen=True)
class RowPermute(RowPattern):
    """`PERMUTE(a, b, ...)`: the parts in any order, lexicographic order preferred."""

    parts: tuple[RowPattern, ...]


@dataclass(frozen=True)
class RowExclusion(RowPattern):
    """`{- part -}`: matched, but left out of ALL ROWS PER MATCH."""

    part: RowPattern


@dataclass(frozen=True)
class RowAnchor(RowPattern):
    """`^` or `$`: the partition's first or last row."""

    kind: str


@dataclass(frozen=True)
class RowConjunction(RowPattern):
    """`(a, b)` in JEPC's patterns: one event that emits all of these symbols, and none of the negated."""

    parts: tuple[RowPattern, ...]


@dataclass(frozen=True)
class RowNegation(RowPattern):
    """`!a` in JEPC's patterns: where symbols follow each other directly, an event that does not emit the
    symbol; where they follow eventually, no event that emits it stands between its neighbours."""

    part: RowPattern


@dataclass(frozen=True)
class RowEmpty(RowPattern):
    """`()`: matches without taking a row."""


@dataclass(frozen=True)
class SortItem(Node):
    """One element of an ORDER BY; `nulls` is FIRST, LAST or None when not said."""

    expression: Expr
    descending: bool = False
    nulls: str | None = None


@dataclass(frozen=True)
class Output(Node):
    """`expression [AS alias]` in SELECT, RETURN and MEASURES."""

    expression: Expr
    alias: str | None = None


@dataclass(frozen=True)
class SymbolDuration(Node):
    """How long the events of a symbol last: `DURATION BETWEEN least AND most`, AT LEAST, AT MOST."""

    least: Window | None = None
    most: Window | None = None


@dataclass(frozen=True)
class Definition(Node):
    """`name AS condition` in DEFINE; temporal patterns also say how long what is defined lasts."""

    name: str
    condition: Expr
    duration: SymbolDuration | None = None


@dataclass(frozen=True)
class Subset(Node):
    """`name = (members)` in SUBSET."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class Skip(Node):
    """AFTER MATCH SKIP; `kind` is PAST LAST ROW, TO NEXT ROW, TO FIRST, TO LAST or TO. JEPC's patterns have
    EVENT in the place of ROW."""

    kind: str
    variable: str | None = None
    skip_keyword: Span | None = field(default=None, compare=False, repr=False)


ROWS_PER_MATCH = (
    "ONE ROW PER MATCH",
    "ALL ROWS PER MATCH",
    "ALL ROWS PER MATCH SHOW EMPTY MATCHES",
    "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
)


@dataclass(frozen=True)
class MatchRecognize(Node):
    """SQL:2016's clause. `rows` is one of `ROWS_PER_MATCH`, or None when not said."""

    pattern: RowPattern
    definitions: tuple[Definition, ...] = ()
    partition_by: tuple[Expr, ...] = ()
    order_by: tuple[SortItem, ...] = ()
    measures: tuple[Output, ...] = ()
    rows: str | None = None
    skip: Skip | None = None
    within: Window | None = None
    subsets: tuple[Subset, ...] = ()


@dataclass(frozen=True)
class Following(Node):
    """How the symbols of JEPC's patterns follow each other (thesis, 15.2.4): directly; or `eventually`, with
    any events between, and then at most `within` after the one before."""

    eventually: bool = False
    within: Window | None = None


@dataclass(frozen=True)
class MatchSequential(Node):
    """JEPC-QL's MATCH_RECOGNIZE_SEQUENTIAL. `following` is None when not said; `streams` are those that it
    reads besides the one that it stands at: `FromStream`s."""

    pattern: RowPattern
    definitions: tuple[Definition, ...] = ()
    partition_by: tuple[Expr, ...] = ()
    measures: tuple[Output, ...] = ()
    within: Window | None = None
    following: Following | None = None
    streams: tuple[Node, ...] = ()
    skip: Skip | None = None


# TPStream's temporal patterns: relations between the time intervals of symbols.


@dataclass(frozen=True)
class Instants(Node):
    """End points that fall together: `A.B` in `A.BAB`."""

    symbols: tuple[str, ...]


@dataclass(frozen=True)
class TemporalRelation(Node):
    """One of the 26 temporal constraints between two symbols: `AA.BB` is (A)(A B)(B).

    The first time a symbol appears is its start, the second its end; dots join equal instants.
    """

    steps: tuple[Instants, ...]


@dataclass(frozen=True)
class NamedRelation(Node):
    """`A OVERLAPS B`: one of the names of `neelc.ir.allen`, in place of the words that it stands for."""

    left: str
    name: str
    right: str


@dataclass(frozen=True)
class TemporalRelations(Node):
    """A temporal constraint list, `(AABB;A.ABB)`: one of them holds."""

    choices: tuple[TemporalRelation | NamedRelation, ...]


@dataclass(frozen=True)
class PresentSymbol(Node):
    """`s` alone: the symbol occurs."""

    symbol: str


@dataclass(frozen=True)
class AbsentSymbol(Node):
    """`!s`: the symbol does not occur."""

    symbol: str


TemporalPart = TemporalRelations | PresentSymbol | AbsentSymbol


@dataclass(frozen=True)
class TemporalPattern(Node):
    """A TP: all of its parts hold."""

    parts: tuple[TemporalPart, ...]


@dataclass(frozen=True)
class MatchTemporal(Node):
    """JEPC-QL's MATCH_RECOGNIZE_TEMPORAL; `patterns` is the TPL: one of them holds. `streams` are those that
    it reads besides the one that it stands at: `FromStream`s."""

    patterns: tuple[TemporalPattern, ...]
    definitions: tuple[Definition, ...] = ()
    partition_by: tuple[Expr, ...] = ()
    measures: tuple[Output, ...] = ()
    within: Window | None = None
    streams: tuple[Node, ...] = ()
