"""What the alternatives cost and what that rests on, as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from neelc.cost.estimate import Estimate
from neelc.cost.facts import Fact
from neelc.explain import numbers
from neelc.explain.explanation import Explanation, ShownAlternative
from neelc.explain.text_layout import WIDTH, indented, table

ORIGINS = {
    "declared": "the script, WITH STATS",
    "file": "the file of statistics",
    "metadata": "the data files' metadata",
    "counted": "counted in the data files",
    "assumed": "assumed: nobody said",
}
"""Where a number comes from, in words."""

MEASURES: dict[str, Callable[[Estimate], str]] = {
    "rows read": lambda found: numbers.amount(found.rows_scanned),
    "shuffled": lambda found: numbers.size(found.bytes_shuffled),
    "rows sorted": lambda found: numbers.amount(found.rows_sorted),
    "partial matches": lambda found: numbers.amount(found.partial_matches),
    "held at a time": lambda found: numbers.amount(found.held),
    "rows returned": lambda found: numbers.amount(found.rows_produced),
}
"""What there is to know of an estimate beside its work."""


def cost_lines(explanation: Explanation) -> Iterator[str]:
    forms = [one for one in explanation.alternatives if not one.baseline]
    baselines = [one for one in explanation.alternatives if one.baseline]
    yield "Alternatives (one unit of work is reading one row)"
    for group in _groups(forms):
        yield from indented(_breakdown(group))
        yield ""
    if baselines:
        yield "For comparison: the query as written, by simpler means"
        yield from indented(_compared_with(baselines))
        yield ""
    yield from _search(next(one.estimate for one in forms if one.chosen))
    yield "What the numbers rest on"
    yield from indented(fact_lines(explanation.facts))


def compared(ratio: float) -> str:
    """
    >>> compared(3.14), compared(1.001), compared(0.5)
    ('3.1x as much', 'as much', '0.5x as much')
    """
    return "as much" if abs(ratio - 1) < 0.05 else f"{numbers.times(ratio)} as much"


def _groups(alternatives: Sequence[ShownAlternative]) -> Iterator[Sequence[ShownAlternative]]:
    """As many alternatives side by side as a page is wide."""
    room = WIDTH - 4 - max(len(item.what) for one in alternatives for item in one.estimate.items)
    group: list[ShownAlternative] = []
    for alternative in alternatives:
        if group and sum(max(len(one.name), 16) + 2 for one in (*group, alternative)) > room:
            yield group
            group = []
        group.append(alternative)
    yield group


def _breakdown(alternatives: Sequence[ShownAlternative]) -> list[str]:
    names = dict.fromkeys(item.what for one in alternatives for item in one.estimate.items)
    empty = ["" for _ in range(len(alternatives) + 1)]
    rows = [
        ["", *("chosen" if one.chosen else compared(one.ratio) for one in alternatives)],
        ["work", *(numbers.amount(one.estimate.work) for one in alternatives)],
        *([f"  {name}", *(_work(one, name) for one in alternatives)] for name in names),
        empty,
        *([what, *(measure(one.estimate) for one in alternatives)] for what, measure in MEASURES.items()),
    ]
    return table(["", *(one.name for one in alternatives)], rows)


def _work(alternative: ShownAlternative, name: str) -> str:
    works = [item.work for item in alternative.estimate.items if item.what == name]
    return numbers.amount(sum(works)) if works else ""


def _compared_with(baselines: Sequence[ShownAlternative]) -> list[str]:
    rows = [[one.name, numbers.amount(one.estimate.work), compared(one.ratio)] for one in baselines]
    return table(["", "work", ""], rows)


def _search(found: Estimate) -> Iterator[str]:
    """What the search for matches looks at, step by step."""
    if found.steps:
        yield "The search, step by step (in the whole input)"
        rows = [[_cut(s.what), numbers.amount(s.tried), numbers.amount(s.kept)] for s in found.steps]
        yield from indented(table(["", "looked at", "kept"], rows))
        yield ""


def _cut(text: str) -> str:
    """What fits into a table."""
    return text if len(text) <= WIDTH - 35 else text[: WIDTH - 38] + "..."


def fact_lines(facts: Sequence[Fact]) -> Iterator[str]:
    """Numbers by origin, those that somebody said first."""
    if not facts:
        yield "No statistics were needed."
    texts = {fact: _cut(fact.what) for fact in facts}
    wide = max(map(len, texts.values()), default=0)
    values = {fact: numbers.amount(fact.value) for fact in facts}
    high = max(map(len, values.values()), default=0)
    for origin, words in ORIGINS.items():
        own = [fact for fact in facts if fact.origin == origin]
        if own:
            yield words
            yield from (f"  {texts[fact].ljust(wide)}  {values[fact].rjust(high)}" for fact in own)
