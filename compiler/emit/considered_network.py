"""How a network would be executed by itself: for explanations."""

from __future__ import annotations

from neelc.cost.statistics import Statistics
from neelc.emit.algebra_relations import Way, algebra_relations
from neelc.emit.relations import Let
from neelc.emit.scans import Sources
from neelc.ir.algebra import Algebra, Operator
from neelc.plan.widths import network_unit


def considered_network(query: Algebra, root: Operator, statistics: Statistics) -> tuple[Let, ...]:
    """The relations of a network; raises `Unsupported`."""
    units = {stream.query: network_unit(query) for stream in query.streams if stream.query}
    sources = Sources({stream.name: stream.name for stream in query.streams}, units)
    return tuple(
        algebra_relations(query, root, network_unit(query), sources, set(), "result", False, Way(statistics))
    )
