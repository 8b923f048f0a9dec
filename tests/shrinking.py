"""A counter-example made small: whatever can be left out of a sample while the same rule still breaks it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from generate.conditions import together
from generate.rewritable import Sample, script_of
from generate.witnesses import Tables
from rewriting import Broken, Tally, check_sample

from neelc.errors import NeelError
from neelc.ir import patterns as p
from neelc.ir.expressions import conjuncts
from neelc.ir.patterns import inner_parts, targets
from neelc.ir.script import PatternQuery
from neelc.pattern.rules.rebuilding import replaced

IsBroken = Callable[[Sample], bool]


def counter_example(found: Sample, broken: Broken, alone: Collection[str] | None = None) -> Broken:
    """What is wrong with a broken sample, reported for one as small as possible."""

    def is_broken(smaller: Sample) -> bool:
        return (again := broken_by(smaller, alone)) is not None and again.rule == broken.rule

    # One rule is checked faster than all, if it breaks the sample alone.
    everything, alone = alone, [broken.rule]
    if not is_broken(found):
        alone = everything
    return broken_by(shrunk(found, is_broken), alone) or broken


def broken_by(found: Sample, alone: Collection[str] | None) -> Broken | None:
    try:
        check_sample(found, Tally(), alone)
    except Broken as broken:
        return broken
    return None


def shrunk(sample: Sample, is_broken: IsBroken) -> Sample:
    """The sample, smaller; `is_broken` says whether one is still a counter-example."""
    while smaller := next(filter(lambda s: _is_accepted(s) and is_broken(s), _smaller(sample)), None):
        sample = smaller
    return sample


def _is_accepted(sample: Sample) -> bool:
    try:
        return bool(sample.match)
    except NeelError:
        return False


def _smaller(sample: Sample) -> Iterator[Sample]:
    """Every sample with one thing less."""
    if sample.shared:
        yield replace(sample, shared=False)
    if len(sample.tables) > 1:
        yield from (replace(sample, tables=(table,)) for table in sample.tables)
    for query in _smaller_queries(sample.query):
        yield replace(sample, script=script_of(query, sample.script))
    for tables in sample.tables:
        for fewer in _smaller_tables(tables):
            yield replace(sample, tables=(fewer,))


def _smaller_tables(tables: Tables) -> Iterator[Tables]:
    for name, rows in tables.items():
        for place in range(len(rows)):
            yield {**tables, name: [*rows[:place], *rows[place + 1 :]]}
    for name, rows in tables.items():
        for place, row in enumerate(rows):
            # 1 is the value that says least.
            for plain in ({**row, "id": 1}, {**row, "x": 1}, {**row, "x": 1, "id": 1}):
                if plain != row:
                    yield {**tables, name: [*rows[:place], plain, *rows[place + 1 :]]}


def _smaller_queries(query: PatternQuery) -> Iterator[PatternQuery]:
    plain = PatternQuery(query.pattern)
    for name in ("returns", "partition_by", "strategy", "confidence", "within"):
        if getattr(query, name):
            yield replace(query, **{name: getattr(plain, name)})
    for place in range(len(kept := conjuncts(query.where))):
        yield replace(query, where=together([*kept[:place], *kept[place + 1 :]]))
    for pattern in _smaller_patterns(query.pattern):
        yield replace(query, pattern=pattern)


def _smaller_patterns(node: p.Pattern) -> Iterator[p.Pattern]:
    """The pattern with a part left out, an operator, a window or a conjunct."""
    if node.follow:
        yield replace(node, follow=None)
    if isinstance(node, p.Repeat):
        if node.each:
            yield replace(node, each=None)
        if node.each_within:
            yield replace(node, each_within=None)
        if node.gaps:
            yield replace(node, gaps=node.gaps[1:])
    if not isinstance(node, p.Repeat | p.ClosureGap):  # its part may have no name
        yield from (part for part in inner_parts(node) if not isinstance(part, p.Not))
    if isinstance(node, p.Not) and isinstance(node.part, p.Not):
        yield node.part.part
    if isinstance(node, p.Listing):
        for place in range(len(node.parts)):
            if len(node.parts) > 1:
                yield replace(node, parts=(*node.parts[:place], *node.parts[place + 1 :]))
    if node.within:
        yield replace(node, within=None)
    for place in range(len(kept := conjuncts(node.where))):
        yield replace(node, where=together([*kept[:place], *kept[place + 1 :]]))
    for part in inner_parts(node):
        yield from (_fitting(replaced(node, part, smaller)) for smaller in _smaller_patterns(part))


def _fitting(node: p.Pattern) -> p.Pattern:
    """EXISTS drops only what is left in its part, and is not there when it drops nothing."""
    if isinstance(node, p.Exists):
        left = tuple(name for name in node.variables if name in targets(node.part))
        return replace(node, variables=left) if left else node.part
    return node
