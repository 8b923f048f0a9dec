"""The physical plan as text: named relations, one after the other, each built from those before it.

Expressions are Spark SQL, so that one plan can be written as PySpark source and as SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from neelc.ir.expressions import DeclaredFunction
from neelc.rows.bind.host_text import SparkQuery
from neelc.runtime.kernels.rows.program import RowProgram, StreamedRows
from neelc.runtime.kernels.rules.program import RuleSet, StreamedRules
from neelc.runtime.kernels.sequential.program import GroupMember, SequentialGroup, SequentialProgram
from neelc.runtime.kernels.snapshots.program import CoalesceProgram, SnapshotNetwork, SnapshotProgram
from neelc.runtime.kernels.temporal.program import TemporalProgram
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    NetworkProgram,
    PatternProgram,
    StreamedGroups,
    StreamedImprecise,
    StreamedPattern,
    declared_calls,
    registered_folds,
)
from neelc.runtime.values.functions.space import PREFIX, SPATIAL
from neelc.runtime.values.statistics import OF_LISTS

AnyProgram = (
    PatternProgram
    | RuleSet
    | RowProgram
    | SnapshotProgram
    | CoalesceProgram
    | SequentialProgram
    | SequentialGroup
    | GroupMember
    | TemporalProgram
)

StreamedProgram = (
    StreamedPattern
    | StreamedRules
    | StreamedGroups
    | StreamedImprecise
    | SnapshotNetwork
    | NetworkProgram
    | StreamedRows
)

Items = tuple[tuple[str, str], ...]
"""Expressions and the names of their columns."""


@dataclass(frozen=True)
class Read:
    """A stream: given by the caller, or else read from `path`; then `items` are its columns, if they must
    be made out of texts. `is_streaming`: as files are added to the path."""

    stream: str
    path: str | None = None
    format: str | None = None
    schema: str = ""
    options: tuple[tuple[str, str], ...] = ()
    items: Items = ()
    is_streaming: bool = False


@dataclass(frozen=True)
class SelectColumns:
    """Columns of a relation: of the rows that meet `where`, kept if they meet `having`, which sees the new
    columns. Before that they are counted, if they are `observed` under a name."""

    source: str
    items: Items
    where: str | None = None
    having: str | None = None
    distinct: bool = False
    observed: str | None = None


@dataclass(frozen=True)
class Extend:
    """A relation with more columns."""

    source: str
    items: Items


@dataclass(frozen=True)
class Where:
    """The rows of a relation that meet a condition."""

    source: str
    condition: str


@dataclass(frozen=True)
class Union:
    """The rows of all relations; their columns have the same names."""

    sources: tuple[str, ...]


@dataclass(frozen=True)
class Join:
    """Two relations under other names, for the condition: INNER, LEFT SEMI or LEFT ANTI. The columns are
    `items`; without them, those of the left relation."""

    left: tuple[str, str]
    right: tuple[str, str]
    on: str
    kind: str = "INNER"
    items: Items = ()


@dataclass(frozen=True)
class LookUp:
    """A relation with one more column, `name`: the `value` of the row of `values`, which is small, whose
    `key` is equal to a column of the relation; NULL where there is none."""

    source: str
    column: str
    values: str
    name: str


@dataclass(frozen=True)
class BesideRow:
    """A relation with the columns of another one, which has a single row."""

    source: str
    row: str


@dataclass(frozen=True)
class AggregateRows:
    """Groups of rows. Without `groups` there is one row, even if there are none."""

    source: str
    groups: Items
    items: Items


@dataclass(frozen=True)
class Ordered:
    """The rows in an order: expressions, each with its direction, such as `ASC NULLS FIRST`. The first
    `limit` of them, if it is given."""

    source: str
    order: tuple[tuple[str, str], ...]
    limit: int | None = None


@dataclass(frozen=True)
class Sorted:
    """Rows of equal keys in one partition, in the order of columns or of expressions. Without keys: all in
    one partition."""

    source: str
    keys: tuple[str, ...]
    order: tuple[str, ...]


@dataclass(frozen=True)
class Kernel:
    """The matches that a program finds among sorted events; more than `most_matches` in one task are a
    failure."""

    source: str
    program: AnyProgram
    schema: str
    most_matches: int | None = None
    measured: bool = False
    """Whether its steps are counted: then there are rows that have only the column `MEASURED`."""


@dataclass(frozen=True)
class Observed:
    """A relation whose rows Spark aggregates in passing, for the observation of this `key`. `dropped` is a
    column that rows for the observation have alone: neither the column nor these rows are in the result."""

    source: str
    key: str
    items: Items
    dropped: str | None = None


@dataclass(frozen=True)
class KernelOnStream:
    """What a program finds among the events of a stream without end, which have a `bucket`. A unit of its
    clock has `nanos` nanoseconds; `identity` is what its state depends on. The numbers of each micro-batch
    are observed as `metrics`. There are so many `buckets`. `others` are more events, with other columns."""

    source: str
    program: StreamedProgram
    schema: str
    nanos: int
    identity: tuple[tuple[str, str], ...]
    metrics: str
    buckets: int
    most_matches: int | None = None
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Watermark:
    """A stream whose events come at most `delay` (an interval of Spark's) late: by its column `time`, which
    is the expression `event_time` if that is not a column of the stream."""

    source: str
    time: str
    delay: str
    event_time: str | None = None


@dataclass(frozen=True)
class WatermarkCheck:
    """A relation whose `column` must be the one that the watermark is of."""

    source: str
    column: str


@dataclass(frozen=True)
class FunctionCall:
    """A user's function: its name, the column of the lists that it is given, that of its results and their
    type."""

    function: str
    values: str
    name: str
    type: str


@dataclass(frozen=True)
class CalledFunctions:
    """A relation with what users' functions give for lists, in place of these."""

    source: str
    calls: tuple[FunctionCall, ...]


@dataclass(frozen=True)
class AgentCall:
    """What a user's agent, a function of DataFrames, makes of relations."""

    agent: str
    sources: tuple[str, ...]


Relation = (
    SparkQuery
    | Read
    | SelectColumns
    | Extend
    | Where
    | Union
    | Join
    | LookUp
    | BesideRow
    | AggregateRows
    | Ordered
    | Sorted
    | Kernel
    | Observed
    | KernelOnStream
    | Watermark
    | WatermarkCheck
    | CalledFunctions
    | AgentCall
)


IN_PYTHON = (
    Observed | Kernel | KernelOnStream | Watermark | WatermarkCheck | CalledFunctions | SparkQuery | AgentCall
)
"""Relations that SQL has no words for."""


@dataclass(frozen=True)
class Let:
    """A relation, its name, and what it is for."""

    name: str
    relation: Relation
    comment: str = ""


_SPATIAL_CALL = re.compile(rf"\b{PREFIX}(st_\w+)")


@dataclass(frozen=True)
class Relations:
    """A plan: the last relation is the result."""

    lets: tuple[Let, ...]
    declared: tuple[DeclaredFunction, ...] = ()
    """The functions that its texts may call."""

    @property
    def in_python(self) -> tuple[DeclaredFunction, ...]:
        """Those of them that have Python code."""
        return tuple(one for one in self.declared if one.python is not None)

    @cached_property
    def spatial(self) -> tuple[str, ...]:
        """The functions of geometries that its texts call. One that a string only mentions is declared in
        vain."""
        called = {name for let in self.lets for name in _SPATIAL_CALL.findall(repr(let.relation))}
        return tuple(sorted(called & set(SPATIAL)))

    @property
    def is_relational(self) -> bool:
        return (
            not self.in_python
            and not self.spatial
            and not any(isinstance(let.relation, IN_PYTHON) for let in self.lets)
        )

    @property
    def state_identity(self) -> tuple[tuple[str, str], ...]:
        """What the state over streams without end depends on, part by part; nothing, if there is none."""
        kernels = (let.relation for let in self.lets if isinstance(let.relation, KernelOnStream))
        return tuple(part for kernel in kernels for part in kernel.identity)

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of users' agents that it calls."""
        calls = (let.relation for let in self.lets if isinstance(let.relation, AgentCall))
        return tuple(dict.fromkeys(call.agent for call in calls))

    @property
    def observations(self) -> tuple[str, ...]:
        """The keys of what is observed."""
        return tuple(let.relation.key for let in self.lets if isinstance(let.relation, Observed))

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of users' functions that it calls."""
        functions = [one.name for one in self.in_python]
        for relation in (let.relation for let in self.lets):
            match relation:
                case Kernel(program=program):
                    functions += functions_of(program)
                case KernelOnStream(program=streamed):
                    functions += functions_on_stream(streamed)
                case CalledFunctions(calls=calls):
                    functions += [call.function for call in calls]
        return tuple(dict.fromkeys(functions))


def functions_of(program: AnyProgram) -> list[str]:
    """The names of users' functions that a program calls."""
    if isinstance(program, RuleSet):
        return [name for one in program.programs for name in functions_of(one)]
    if not isinstance(program, PatternProgram):
        return []
    declared = (call.operation for call in declared_calls(program.steps))
    folded = (fold.function for fold in registered_folds(program.steps))
    return [*(name for name in folded if name not in OF_LISTS), *declared]


def functions_on_stream(streamed: StreamedProgram) -> list[str]:
    """The same of a program for streams."""
    if isinstance(streamed, NetworkProgram):
        return [name for node in streamed.nodes for name in functions_on_stream(node.program)]
    if isinstance(streamed, StreamedRules):
        return functions_of(streamed.rules)
    return [] if isinstance(streamed, SnapshotNetwork) else functions_of(streamed.program)


# Equal relations once: queries that are executed together often begin alike.

ONCE = Read | SelectColumns | Extend | Where | Union | Join | BesideRow | AggregateRows | Sorted | Kernel
"""Relations that are the same wherever the same is written. What users' functions do is not known."""


def without_repetitions(lets: Iterable[Let]) -> Iterator[Let]:
    """Each relation once: whoever reads an equal one reads the first. The last one stays, it is the result.

    >>> lets = Let("s", Read("S")), Let("t", Read("S")), Let("few", Where("t", "x > 1"))
    >>> for one in without_repetitions(lets):
    ...     print(one.name, one.relation)
    s Read(stream='S', path=None, format=None, schema='', options=(), items=(), is_streaming=False)
    few Where(source='s', condition='x > 1')
    """
    *before, last = lets
    known: dict[Relation, str] = {}
    first: dict[str, str] = {}
    for let in before:
        relation = reading(let.relation, first)
        name = known.setdefault(relation, let.name) if isinstance(relation, ONCE) else let.name
        if name != let.name:
            first[let.name] = name
        else:
            yield replace(let, relation=relation)
    yield replace(last, relation=reading(last.relation, first))


def reading(relation: Relation, renamed: Mapping[str, str]) -> Relation:
    """The relation made from others: those of the names that `renamed` has for them.

    >>> reading(Union(("a", "b", "b")), {"b": "c"})
    Union(sources=('a', 'c', 'c'))
    """

    def named(name: str) -> str:
        return renamed.get(name, name)

    match relation:
        case Read():
            return relation
        case SparkQuery(text, names) if names:
            # Braces of the text's own are doubled, and no names are in them.
            text = re.sub(r"{{|}}|{(\w+)}", lambda m: f"{{{named(m[1])}}}" if m[1] else m[0], text)
            return replace(relation, text=text, names=tuple(dict.fromkeys(map(named, names))))
        case SparkQuery():
            return relation
        case Union(sources) | AgentCall(_, sources):
            return replace(relation, sources=tuple(map(named, sources)))
        case Join((left, one), (right, other)):
            return replace(relation, left=(named(left), one), right=(named(right), other))
        case KernelOnStream(source, others=others):
            return replace(relation, source=named(source), others=tuple(map(named, others)))
        case LookUp(source, values=values):
            return replace(relation, source=named(source), values=named(values))
        case BesideRow(source, row):
            return BesideRow(named(source), named(row))
    return replace(relation, source=named(relation.source))
