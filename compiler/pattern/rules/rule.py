"""What a rule is, and what it leaves behind.

A rule looks at one part of a pattern, or at a whole query. It gives the new part or query; None when it has
nothing to say; or `RefusalReason` when it would have had something to do but must not: the reason is shown by
`neelc explain`.
"""

from __future__ import annotations

from collections.abc import Callable

from neelc.ir.patterns import Pattern
from neelc.ir.program import Match
from neelc.pattern.analysis.regions import QueryFacts
from neelc.rewriting import Batch
from neelc.runtime.late_dataclass import dataclass


@dataclass(frozen=True)
class RefusalReason:
    """A rule that must not fire: why, as the end of the sentence "not done: ...", and what it looked at."""

    reason: str
    part: Pattern | None = None


PartRule = Callable[[Pattern, QueryFacts], "Pattern | RefusalReason | None"]
QueryRule = Callable[[Match], "Match | RefusalReason | None"]


PatternBatch = Batch[PartRule, QueryRule]


@dataclass(frozen=True)
class RuleStep:
    """A rule that fired: the part it changed, before and after, and the whole query after it.

    `before` and `after` are None for a rule on the whole query.
    """

    rule: str
    query: Match
    before: Pattern | None = None
    after: Pattern | None = None


@dataclass(frozen=True)
class Refusal:
    """A rule that did not fire and why; `part` is what it looked at."""

    rule: str
    reason: str
    part: Pattern | None = None


@dataclass(frozen=True)
class Rewriting:
    """A query, the steps that led to it, and what was refused on the way and still stands in it."""

    query: Match
    steps: tuple[RuleStep, ...] = ()
    refusals: tuple[Refusal, ...] = ()
