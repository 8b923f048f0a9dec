"""The numbers that the costs of sharing rest on, from statistics."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from neelc.cost.ledger import Ledger
from neelc.cost.selectivity import truth
from neelc.cost.setting import Setting
from neelc.cost.sharing_cost import IN_ORDER, Model
from neelc.cost.sharing_expression import Component, Constraint
from neelc.cost.statistics import Statistics
from neelc.ir import pattern as p
from neelc.ir.expr import Expr
from neelc.ir.logical import Match
from neelc.ir.parts import all_parts, inner_parts


def model_of(statistics: Statistics) -> Model:
    """Events in a window from rates and from the selectivity of a component's own conditions; chances of
    conditions between components; values of the key. What is asked of a gap is taken to hold always, so that
    no plan counts on rejecting much.

    >>> from neelc.cost.sharing_expressions import expressions
    >>> from neelc.rewrite.examples import query
    >>> (found,) = expressions(query("SEQ((A a : a.id = 7), B b WHERE a.x < b.x) WITHIN 10 SECONDS"))
    >>> model = model_of(Statistics())
    >>> [model.sizes(component) for component in found.components]
    [0.01, 10.0]
    >>> round(model.chances(found.constraints[0]), 2)
    0.5
    >>> (found,) = expressions(query("SEQ(A a, B b WHERE [id]) WITHIN 10 SECONDS"))
    >>> model.sizes(found.components[0]), model.keys(found.components[0])
    (0.01, 1000.0)
    """
    known = _Known(statistics)
    return Model(known.size, known.chance, known.keys)


@dataclass
class _Known:
    statistics: Statistics
    settings: dict[int, Setting] = field(default_factory=dict)

    def setting(self, query: Match) -> Setting:
        """By identity: the setting keeps the query, so that no other has its id."""
        if id(query) not in self.settings:
            self.settings[id(query)] = Setting(Ledger(query, self.statistics))
        return self.settings[id(query)]

    def size(self, component: Component) -> float:
        setting = self.setting(component.query)
        seconds = min(map(setting.seconds, component.context.windows), default=setting.duration)
        return self._ways(component.said, setting, seconds / self.keys(component))

    def chance(self, constraint: Constraint) -> float:
        said = constraint.said
        return self._share(said, constraint.query) if isinstance(said, Expr) else 1.0

    def keys(self, component: Component) -> float:
        type = next(part.type for part in all_parts(component.said) if isinstance(part, p.Event))
        names = component.context.key
        found = (self.statistics.distinct(component.query, type, name).value for name in names)
        return prod(max(1.0, values) for values in found)

    def _share(self, condition: Expr | None, query: Match) -> float:
        return 1.0 if condition is None else truth(condition, self.setting(query).ledger).true

    def _ways(self, part: p.Pattern, setting: Setting, seconds: float) -> float:
        """How many bindings of a part there are in so much time, roughly."""
        share = self._share(part.where, setting.query)
        inner = [self._ways(one, setting, seconds) for one in inner_parts(part)]
        match part:
            case p.Event(type):
                return setting.ledger.rate(type) * seconds * share
            case p.Seq():
                return prod(inner) * IN_ORDER ** (len(inner) - 1) * share
            case p.Or():
                return sum(inner) * share
            case p.Not():
                return 1.0
        return prod(inner) * share
