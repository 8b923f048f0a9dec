"""The choice between the forms of a query, by cost."""

from __future__ import annotations

from dataclasses import dataclass

from neelc.cost.estimate import Estimate
from neelc.ir.logical import Match
from neelc.rewrite.forms import Form


@dataclass(frozen=True)
class Alternative:
    """A form of the query and what it is expected to cost."""

    form: Form
    estimate: Estimate


@dataclass(frozen=True)
class Choice:
    """A query, its alternatives in the order they were found, and the one that is executed."""

    query: Match
    alternatives: tuple[Alternative, ...]
    chosen: Alternative
    reason: str
