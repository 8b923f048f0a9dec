"""TPStream's temporal patterns: relations between the time intervals of symbols."""

from __future__ import annotations

from dataclasses import dataclass

from neelc.ir.expr import Expr
from neelc.ir.node import Node
from neelc.ir.pattern import Window
from neelc.ir.rows import Definition, Output


@dataclass(frozen=True)
class Instants(Node):
    """End points that fall together: `A.B` in `A.BAB`."""

    symbols: tuple[str, ...]


@dataclass(frozen=True)
class Relation(Node):
    """One of the 26 temporal constraints between two symbols: `AA.BB` is (A)(A B)(B).

    The first time a symbol appears is its start, the second its end; dots join equal instants.
    """

    steps: tuple[Instants, ...]


@dataclass(frozen=True)
class Relations(Node):
    """A temporal constraint list, `(AABB;A.ABB)`: one of them holds."""

    choices: tuple[Relation, ...]


@dataclass(frozen=True)
class Absent(Node):
    """`!s`: the symbol does not occur."""

    symbol: str


@dataclass(frozen=True)
class TemporalPattern(Node):
    """A TP: all of its parts hold."""

    parts: tuple[Relations | Absent, ...]


@dataclass(frozen=True)
class MatchTemporal(Node):
    """JEPC-QL's MATCH_RECOGNIZE_TEMPORAL; `patterns` is the TPL: one of them holds."""

    patterns: tuple[TemporalPattern, ...]
    definitions: tuple[Definition, ...] = ()
    partition_by: tuple[Expr, ...] = ()
    measures: tuple[Output, ...] = ()
    within: Window | None = None
