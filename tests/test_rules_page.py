"""docs/reference/rules.md lists the rewriting rules with their laws; `pytest --update` writes it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from itertools import chain

from repository import ROOT
from rewriting import rules

from neelc.algebra.cost.network import order_predicates
from neelc.algebra.rules.drop_needless_coalescing import drop_needless_coalescing
from neelc.algebra.rules.optimise import FILTERS
from neelc.pattern.rules.batches import MEMBERS, ORDER, SIMPLIFY, UNUSED
from neelc.pattern.rules.rule import PatternBatch

PAGE = ROOT / "docs" / "reference" / "rules.md"

HEAD = """# Rewriting rules

The rules in the order in which they run. Each rule is a function in a file of the same name in
`compiler/pattern/rules/`; its docstring has the proof and more examples.
[Rewriting](../explanation/rewriting.md) gives an overview. `pytest --update` writes this page from the
docstrings.
"""

NETWORKS = """## Networks of SELECT

Filters move towards the sources, then the conditions of each are ordered; the files are in
`compiler/algebra/rules/` and `compiler/algebra/cost/`. [How SELECT runs](../explanation/algebra.md)
explains it.
"""


def page() -> str:
    return "\n".join([HEAD, *chain.from_iterable(section(batch) for batch in batches()), *network_section()])


def network_section() -> Iterator[str]:
    """The rules for networks of SELECT."""
    yield NETWORKS
    listed: list[Callable[..., object]] = [drop_needless_coalescing, *FILTERS.parts, order_predicates]
    yield from map(entry, listed)


def batches() -> list[PatternBatch]:
    """Each batch once, where it runs first."""
    return list(dict.fromkeys((*SIMPLIFY, *UNUSED, *ORDER, *MEMBERS)))


def section(batch: PatternBatch) -> Iterator[str]:
    yield f"## {batch.name.capitalize()}\n\n{batch.why}\n"
    earlier = batches()[: batches().index(batch)]
    seen = {rule for other in earlier for rule in rules_of(other)}
    yield from (entry(rule) for rule in rules_of(batch) if rule not in seen)


def rules_of(batch: PatternBatch) -> list[Callable[..., object]]:
    return [*batch.parts, *batch.wholes]


def entry(rule: Callable[..., object]) -> str:
    """The law, and the first example and the first refusal or silence of the docstring."""
    text = inspect.getdoc(rule) or ""
    law = text.partition("\n\n")[0].replace("\n", " ")
    shown = [f"{before}\n    -> {after}" for before, after in examples(rule.__name__, text)]
    block = "\n```text\n" + "\n".join(shown) + "\n```\n" if shown else ""
    return f"### `{rule.__name__}`\n\n{law}\n{block}"


def examples(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Queries given to the rule in its docstring, and what came out: the first that changed, and one that
    was left as it was."""
    call = rf'>>> (?:print\()?after\({name},\s*"([^"]+)"\)\)?\n(?!\.\.\.)([^\n]*)'
    found = [(before, after.strip()) for before, after in re.findall(call, text)]
    changed = [pair for pair in found if pair[1] and not pair[1].startswith((">>>", "refused"))]
    kept = [(before, after) for before, after in found if after.startswith("refused")]
    silent = [(before, "(left as it is)") for before, after in found if not after or after.startswith(">>>")]
    return iter([*changed[:1], *[*kept, *silent][:1]])


def test_the_page_lists_every_rule(update: bool) -> None:
    if update:
        PAGE.write_text(page())
    assert PAGE.read_text() == page(), "run pytest --update"


def test_every_rule_runs_in_some_batch() -> None:
    listed = {rule.__name__ for batch in batches() for rule in rules_of(batch)}
    assert sorted(rules().keys() - listed) == []
