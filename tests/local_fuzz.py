"""The local engine compared with the reference, on random queries of all three languages: of `make fuzz`.

PYTHONPATH=tests python -m local_fuzz --pairs 20000 --seed 1
PYTHONPATH=tests python -m local_fuzz --language rows --pairs 10000
PYTHONPATH=tests python -m local_fuzz --language select --pairs 5000
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from random import Random

from answers import answer as answer_of
from fuzz_runner import findings_of, fuzz_parser, outcome, seen_table
from generate.network_agents import AGENTS
from generate.networks import networks
from generate.rewritable import sample
from generate.row_patterns import clause, rows
from in_local import answer, result_over, table_of
from in_rows import bound as bound_clause
from on_spark import Asking, Question, Refusal

from neelc.engines.spark.relations import Let, Read, Relations
from neelc.engines.spark.rows import row_relations
from neelc.errors import NeelError
from neelc.ir.program import Stream
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.program import bind
from neelc.rows.plan.plan import row_plan
from neelc.runtime.reference import run
from neelc.runtime.reference.model import LimitReached
from neelc.runtime.reference.recognize import CannotSkip, recognized
from neelc.runtime.reference.snapshots import differences
from neelc.runtime.values.order import comparable
from neelc.source import Source
from neelc.syntax.printer import format_script
from neelc.tools.cases.streaming.rows import as_bag

STREAMS = 2
STRATEGIES = (None, None, None, "join", "window")


def check_pattern(number: int, seen: Counter[str]) -> list[str]:
    """A random PATTERN over some streams."""
    found, chance = sample(number, STREAMS), Random(number)
    if found.shared:
        return []
    text = format_script(found.script)
    program = bind(found.script, Source(text))
    problems = []
    for tables in found.tables:
        expected = answer_of(found.match, tables)
        if expected is None:
            seen["not compared: too large"] += 1
            continue
        asking = Asking(chance.choice(STRATEGIES), chunks=chance.choice([None, True]))
        result = answer(Question(str(number), program, tables), asking)
        if isinstance(result, Refusal):
            seen[f"not compared: {result.why.partition('`')[0].strip()[:40]}"] += 1
            continue
        seen["pairs"] += 1
        seen["with matches"] += bool(expected.rows)
        own = Counter(comparable(row) for row in result.rows)
        if own != expected.rows:
            lost, added = dict(expected.rows - own), dict(own - expected.rows)
            problems.append(f"{number}, {asking}:\n{text}\n{tables}\nlost {lost}\nadded {added}")
    return problems


def check_rows(number: int, seen: Counter[str]) -> list[str]:
    """A random MATCH_RECOGNIZE over rows whose order is certain."""
    chance = Random(number)
    text = clause(chance)
    table = [{**row, "t": place} for place, row in enumerate([*rows(chance), *rows(chance)])]
    chance.shuffle(table)
    try:
        query = bound_clause(text)
        plan = row_plan(query)
        expected = as_bag(recognized(query, table))
    except (NeelError, CannotSkip, LimitReached, UnsupportedQuery) as error:
        seen[f"not compared: {type(error).__name__}"] += 1
        return []
    lets = (Let("t", Read("t")), *row_relations(plan, "t", "result", {"t"}))
    stream = Stream("t", query.columns, "t")
    found = as_bag(result_over(Relations(lets), {"t": table_of(stream, table)}, query.output))
    seen["pairs"] += 1
    seen["with rows"] += bool(expected)
    return (
        [] if found == expected else [f"{number}:\n{text}\n{table}\n{expected - found}\n{found - expected}"]
    )


def check_network(number: int, seen: Counter[str]) -> list[str]:
    """A random SELECT; agents are functions of Spark's DataFrames."""
    (network,) = networks(Random(number), 1)
    if any(f"{name}(" in network.text for name in AGENTS):
        return []
    found = answer(Question(str(number), network.program, network.tables), Asking())
    if isinstance(found, Refusal):
        seen[f"not compared: {found.why[:40]}"] += 1
        return []
    expected = run(network.program, network.tables)[-1][1]
    seen["pairs"] += 1
    seen["with events"] += bool(expected.rows)
    for at, one, other in differences(expected.rows, found.rows):
        return [f"{number}:\n{network.text}\n{network.tables}\nat {at}: {one} expected, {other} found"]
    return []


CHECKS = {"pattern": check_pattern, "rows": check_rows, "select": check_network}


def main() -> int:
    parser = fuzz_parser("local_fuzz", 2_000)
    parser.add_argument("--language", choices=CHECKS, default="pattern")
    options, begin = parser.parse_args(), time.monotonic()
    findings = findings_of(CHECKS[options.language], options, "pairs")
    return outcome(seen_table(findings.seen, time.monotonic() - begin), findings.broken)


if __name__ == "__main__":
    sys.exit(main())
