"""Keys that are no good for parallel work: few of them, or one that has most of the events."""

from __future__ import annotations

from neelc.cost.ledger import Ledger, term_of
from neelc.cost.statistics import Statistics
from neelc.cost.truth import without_casts
from neelc.ir.expr import Attribute
from neelc.ir.logical import Match
from neelc.rewrite.keys import Key

MOST_SHARE = 0.2
"""A key with more of the events than that would keep one worker busy while the others have finished."""


def is_skewed(query: Match, keys: tuple[Key, ...], statistics: Statistics) -> bool:
    """Whether, by what somebody said about the data, one key has too large a share of the events.

    >>> from neelc.cost.statistics_known import Known
    >>> from neelc.rewrite.examples import query
    >>> from neelc.rewrite.keys import partition_keys
    >>> match = query("SEQ(A a, B b) WHERE [id] WITHIN 9")
    >>> said = [Statistics((Known("S", "MOST FREQUENT", n, "declared", None, "id"),)) for n in (0.01, 0.5)]
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
