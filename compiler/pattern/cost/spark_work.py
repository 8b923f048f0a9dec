"""What Spark does before and after the search for matches: scan, filter, shuffle, sort, hand over, produce.

As docs/explanation/architecture.md has it: only events of the pattern's types that pass the conditions on
single events reach the shuffle, only with the columns used; there they are brought together by key, or by
chunk of time where there is none, sorted by time, and handed to the kernel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log2, prod

from neelc.catalog.statistics.numbers import Statistics
from neelc.ir import expressions as e
from neelc.ir.conditions import conjuncts
from neelc.ir.expressions import Attribute, Expr
from neelc.ir.names import bare, same
from neelc.ir.node import walk
from neelc.ir.patterns import Event, Pattern, Repeat, all_parts
from neelc.ir.program import Column, Match
from neelc.ir.types import Array, DataType, Decimal, Map, SimpleType, Struct
from neelc.pattern.analysis.keys import Key
from neelc.pattern.cost import ledger as w
from neelc.pattern.cost.ledger import CostItem, Ledger, evaluation_cost, subject, term_of
from neelc.pattern.cost.region import single_event
from neelc.pattern.cost.selectivity import truth, without_casts
from neelc.pattern.cost.setting import CostSetting

# How many bytes events take: the columns a query uses, and their types.

TIME, TYPE = 8.0, 4.0
"""Every event has a time and a type; types travel as codes."""
TEXT = 20.0
"""A name, a word or an identifier, with its length."""
ITEMS = 10.0
"""Items of an array or map, or of a list that is a result."""

_WIDTHS = {
    "VOID": 1, "BOOLEAN": 1, "TINYINT": 1, "SMALLINT": 2, "INT": 4, "FLOAT": 4, "DATE": 4, "STRING": TEXT,
    "BINARY": 5 * TEXT,
}  # fmt: skip


def width(type: DataType) -> float:
    """
    >>> from neelc.ir.types import BIGINT, INT, STRING, StructField
    >>> width(BIGINT), width(Struct((StructField("a", INT), StructField("b", Array(STRING)))))
    (8.0, 204.0)
    """
    match type:
        case SimpleType(name):
            return float(_WIDTHS.get(name, 8))
        case Decimal():
            return 16.0
        case Array(element):
            return ITEMS * width(element)
        case Map(key, value):
            return ITEMS * (width(key) + width(value))
        case Struct(fields):
            return sum(width(field.type) for field in fields)
    return TEXT


def used_columns(query: Match) -> dict[str, frozenset[str] | None]:
    """The columns that conditions and results use of the events of each type; None for all of them.

    >>> from neelc.pattern.rules.examples import query
    >>> found = used_columns(query("SEQ(A a, B b) WHERE [id] AND a.x > 1 RETURN b.user, a AS whole"))
    >>> found["A"], sorted(found["B"])
    (None, ['id', 'user'])
    """
    types: dict[str, set[str]] = {}
    for part in all_parts(query.pattern):
        match part:
            case Event(type, str() as name) | Repeat(Event(type), variable=str() as name):
                types.setdefault(name, set()).add(type)
    found: dict[str, set[str]] = {
        type: set(map(bare, query.partition)) for several in types.values() for type in several
    }
    whole: set[str] = set()
    for node in (node for root in (query.pattern, *query.outputs) for node in walk(root)):
        match node:
            case e.Attribute(event, name):
                for type in types.get(subject(event), ()):
                    found[type].add(bare(name))
            case e.WholeEvent(event):
                whole |= types.get(subject(event), set())
            case e.SameAttributes(attributes):
                for columns in found.values():
                    columns.update(map(bare, attributes))
    return {type: None if type in whole else frozenset(columns) for type, columns in found.items()}


CHUNK = 10.0
"""Without a key, time is cut into chunks of so many windows, and each gets one window more than its own."""


@dataclass
class KernelInput:
    """The events of a query on their way to the kernel.

    Of a million events a tenth are A, and of these one in 1,000 has the id 7.

    >>> from neelc.pattern.cost.ledger import Ledger
    >>> from neelc.catalog.statistics.numbers import Statistics
    >>> from neelc.pattern.rules.examples import query
    >>> match = query("SEQ(A a, B b) WHERE a.id = 7 RETURN a.id, b.x")
    >>> data = KernelInput(CostSetting(Ledger(match, Statistics())))
    >>> data.rows_scanned, {type: round(rows) for type, rows in data.kept.items()}
    (1000000.0, {'A': 100, 'B': 100000})
    >>> round(data.bytes_shuffled)  # time, type and one column of 8 bytes
    2002000
    """

    setting: CostSetting

    @cached_property
    def rows_scanned(self) -> float:
        """All rows of each stream, once, however many types and variables use it."""
        return sum(map(self.setting.ledger.stream_events, self.setting.query.streams))

    @cached_property
    def conditions(self) -> dict[str, list[Expr]]:
        """The conditions on single events, by variable."""
        found: dict[str, list[Expr]] = defaultdict(list)
        for part in walk(self.setting.query.pattern):
            if isinstance(part, Pattern):
                for condition in conjuncts(part.where):
                    if (name := single_event(condition)) is not None:
                        found[name].append(condition)
        return found

    @cached_property
    def kept(self) -> dict[str, float]:
        """Events of each type that some variable can use."""
        ledger, missed = self.setting.ledger, defaultdict[str, float](lambda: 1.0)
        for variable, type in ledger.types.items():
            shares = [truth(condition, ledger).true for condition in self.conditions[variable]]
            missed[type] *= 1 - prod(shares) * self.setting.left_by_shortcuts(variable)
        return {type: ledger.events(type) * (1 - share) for type, share in missed.items()}

    @property
    def counts_all(self) -> bool:
        """Whether events of other types matter too: they count in windows of events, and break contiguity."""
        query = self.setting.query
        within = query.within is not None and query.within.unit == "EVENT"
        return within or query.strategy.is_contiguous

    @property
    def copies(self) -> float:
        """How often an event is sent: twice where chunks of time overlap."""
        return 1.0 if self.setting.keys or self.setting.query.within is None else 1 + 1 / CHUNK

    @property
    def rows_sorted(self) -> float:
        kept = self.rows_scanned if self.counts_all else min(self.rows_scanned, sum(self.kept.values()))
        return kept * self.copies

    @cached_property
    def bytes_shuffled(self) -> float:
        """Time, type and the columns used; of events that only count, time and key."""
        columns = {known.name: known.columns for known in self.setting.query.types}
        used = used_columns(self.setting.query)
        found, rows = 0.0, 0.0
        for type, kept in self.kept.items():
            wanted = _columns(columns[type], used.get(type, frozenset()))
            found += kept * (TIME + TYPE + sum(width(column.type) for column in wanted))
            rows += kept
        scale = min(1.0, self.rows_scanned / rows) if rows else 0.0
        others = max(0.0, self.rows_scanned - rows) if self.counts_all else 0.0
        return (found * scale + others * (TIME + TYPE + TIME)) * self.copies

    def items(self) -> Iterator[CostItem]:
        """The work, line by line."""
        ledger = self.setting.ledger
        yield CostItem("scan", self.rows_scanned * w.SCAN_ROW)
        judged = sum(
            ledger.events(ledger.types[variable]) * sum(map(evaluation_cost, conditions))
            for variable, conditions in self.conditions.items()
            if variable in ledger.types
        )
        yield CostItem("filter events", w.comparisons_work(judged))
        rows = self.rows_sorted
        yield CostItem("shuffle", rows * w.SHUFFLE_ROW + self.bytes_shuffled * w.SHUFFLE_BYTE)
        yield CostItem("sort", rows * log2(max(2.0, rows)) * w.SORT_COMPARISON)
        yield CostItem("hand over", rows * w.HAND_OVER_ROW)


def produced(rows: float, setting: CostSetting) -> CostItem:
    """The rows of the result."""
    size = sum(width(output.type) for output in setting.query.outputs)
    return CostItem("produce rows", rows * (w.PRODUCE_ROW + size * w.PRODUCE_BYTE))


def _columns(known: tuple[Column, ...], names: frozenset[str] | None) -> list[Column]:
    if names is None:
        return list(known)
    return [column for column in known if any(same(column.name, name) for name in names)]


# Keys that are no good for parallel work: few of them, or one that has most of the events.

MOST_SHARE = 0.2
"""A key with more of the events than that would keep one worker busy while the others have finished."""


def is_skewed(query: Match, keys: tuple[Key, ...], statistics: Statistics) -> bool:
    """Whether, by what somebody said about the data, one key has too large a share of the events.

    >>> from neelc.catalog.statistics.known import KnownStatistic
    >>> from neelc.pattern.rules.examples import query
    >>> from neelc.pattern.analysis.keys import partition_keys
    >>> match = query("SEQ(A a, B b) WHERE [id] WITHIN 9")
    >>> numbers = [KnownStatistic("S", "MOST FREQUENT", n, "declared", None, "id") for n in (0.01, 0.5)]
    >>> said = [Statistics((number,)) for number in numbers]
    >>> [is_skewed(match, partition_keys(match), statistics) for statistics in (Statistics(), *said)]
    [False, False, True]
    """
    ledger = Ledger(query, statistics)
    shares = []
    for key in keys:
        terms = [without_casts(term) for _, term in key.terms]
        attributes = [term for term in terms if isinstance(term, Attribute)]
        shares.append(max((ledger.most_frequent(*term_of(term)) for term in attributes), default=0.0))
    return bool(shares) and min(shares) > MOST_SHARE
