"""Rules that contain others: whenever one has a match, another has one of the same events.

Both rules are in one tree of steps, and the wider one is complete where the narrower one still goes on, or is
complete as well: what the wider one requires on the way there, the narrower one requires, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from neelc.pattern.plan.rule_trees import is_forecast, taken_by
from neelc.runtime.kernels.rules.program import RuleNode, RuleSet, RuleTree
from neelc.runtime.program import KernelStep


def contained_rules(rules: RuleSet) -> Mapping[int, tuple[int, ...]]:
    """For rules that contain others, by number, these: each match of one of them has, in its events, a match
    of the rule."""
    found: dict[int, tuple[int, ...]] = {}
    for tree in rules.trees:
        for wide, narrow in _pairs(tree, tree.root, {}):
            found[tree.members[wide]] = (*found.get(tree.members[wide], ()), tree.members[narrow])
    return {wide: tuple(sorted(set(narrow))) for wide, narrow in sorted(found.items())}


def _pairs(
    tree: RuleTree, node: RuleNode, required: Mapping[int, frozenset[object]]
) -> Iterator[tuple[int, int]]:
    """Pairs of a rule and one that it contains, by their places in the tree. `required` are the checks of
    each rule on the way here."""
    places = [place for place in range(len(tree.members)) if node.rules >> place & 1]
    later = taken_by(_steps_below(node))
    checks = [check for check in node.checks if not is_forecast(check.step, later)]
    here = {
        place: required.get(place, frozenset()) | {check.step for check in checks if check.rules >> place & 1}
        for place in places
    }
    for wide in node.complete:
        for narrow in places:
            if narrow != wide and here[wide] <= here[narrow]:
                yield wide, narrow
    for below in node.then:
        yield from _pairs(tree, below, here)


def _steps_below(node: RuleNode) -> Iterator[KernelStep]:
    for below in node.then:
        if below.step is not None:
            yield below.step
        yield from _steps_below(below)
