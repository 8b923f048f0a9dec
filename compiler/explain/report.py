"""The explanation of a whole script."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from neelc.bind.patterns_in_from import with_named_patterns
from neelc.cost.choose import Choice, choose
from neelc.cost.sharing import share_queries
from neelc.cost.statistics import Statistics
from neelc.explain.explained import explained
from neelc.explain.explanation import Explanation, Report, SharedGroup, SharedMember
from neelc.explain.network import NetworkExplanation, explained_network
from neelc.ir.algebra import Algebra
from neelc.ir.logical import Match, Program
from neelc.ir.script import CreateQuery, RunQuery, Script
from neelc.ir.show import format_script
from neelc.lints import query_lints
from neelc.rewrite.forms import has_readers
from neelc.source import Source


@dataclass(frozen=True)
class Written:
    """A query's name, or its place if it has none, and its text as `neelc fmt` prints it."""

    name: str
    text: str


def written_queries(script: Script, program: Program) -> list[Written]:
    """The queries of a script in order; a PATTERN in FROM is one of them."""
    named = with_named_patterns(iter(script.statements))
    statements = [s for s in named if isinstance(s, CreateQuery | RunQuery)]
    pairs = zip(statements, program.queries, strict=True)
    return [
        Written(query.name or f"query {number}", format_script(Script((statement,))).rstrip())
        for number, (statement, query) in enumerate(pairs, 1)
    ]


def report(
    file: str,
    script: Script,
    program: Program,
    statistics: Statistics,
    places: Collection[int],
    source: Source | None = None,
) -> Report:
    """Why the queries at these places are executed as they are, and what they share.

    A query may read another one: what that is expected to find is supposed from then on.
    Warnings point into `source`; without it there are none.
    """
    found: list[Explanation] = []
    choices: list[Choice] = []
    networks: list[NetworkExplanation] = []
    texts = written_queries(script, program)
    for place, (query, written) in enumerate(zip(program.queries, texts, strict=True)):
        if not isinstance(query.query, Match):
            if isinstance(query.query, Algebra):
                is_read = has_readers(query, program)
                network = explained_network(written.name, written.text, query.query, statistics, is_read)
                networks += [network] if place in places else []
                statistics = statistics.holding(written.name, network.plan.rows or 0.0)
            continue
        choice = choose(query.match, statistics, is_stream=has_readers(query, program))
        if place in places:
            lints = query_lints(query.match, source) if source else ()
            found.append(explained(written.name, written.text, choice, statistics, lints))
            choices.append(choice)
        if query.name is not None:
            statistics = statistics.supposing(query.name, choice.chosen.estimate.rows_produced)
    names = [explanation.name for explanation in found]
    sharing = tuple(_shared(choices, names, statistics))
    order = tuple(written.name for place, written in enumerate(texts) if place in places)
    return Report(file, tuple(found), tuple(networks), sharing, statistics.notes, order)


def _shared(choices: Sequence[Choice], names: Sequence[str], statistics: Statistics) -> Iterator[SharedGroup]:
    """What is executed together, of all the queries in their chosen forms."""
    queries = [choice.chosen.form.rewriting.query for choice in choices]
    for group in share_queries(queries, statistics).shared:
        members = [SharedMember(one.name, names[one.number], str(one.part)) for one in group.members]
        saving = group.cost_apart / group.cost if group.cost else 1.0
        marks = None if group.emap is None else str(group.emap)
        yield SharedGroup(group.operator, tuple(members), group.shared, saving, marks)
