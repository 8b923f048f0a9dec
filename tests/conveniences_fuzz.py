"""What is said beside a pattern, on random queries: values looked up in relations against the values
themselves, ORDER BY and LIMIT against a sort of all rows, functions of users against the reference. The local
engine finds the same. A part of `make fuzz`.

    PYTHONPATH=tests .venv/bin/python -m conveniences_fuzz --family lookups --pairs 10000 --seed 1
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from random import Random

from answers import answer
from fuzz_runner import Check, fuzz_families
from generate.conveniences import looked_up, ordered
from generate.declared import with_functions
from generate.kept import kept_sample
from generate.repeated import kleene_sample
from generate.rewritable import Sample, sample
from generate.words import worded_sample
from in_kernel import planned_for
from in_stream import arrival
from kept_fuzz import answers as kept_answers
from kept_fuzz import by_reference
from kernel_fuzz import Different, Tally, check_pair, ways_to_write
from local_fuzz import by_values, prepared
from on_spark import Asking
from stream_fuzz import check_pair as check_stream

from neelc.ir.script import SelectionStrategy
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.program import bind
from neelc.runtime.reference import LimitReached
from neelc.source import Source
from neelc.syntax.printer import format_script


def check_lookups(number: int, seen: Counter[str]) -> Iterator[str]:
    """IN (SELECT ...): the reference finds what it finds with the values, the local engine the same."""
    found = looked_up(number)
    if found is None:
        return
    text = format_script(found.sample.script)
    query = prepared(bind(found.sample.script, Source(text)), _asking(number), seen, len(found.sample.tables))
    for tables in found.sample.tables:
        expected, by_relation = answer(found.plain.match, tables), answer(found.sample.match, tables)
        if expected is None or by_relation is None:
            seen["not compared: too large"] += 1
            continue
        seen["pairs"] += 1
        seen["with rows"] += bool(expected.rows)
        if by_relation.bindings != expected.bindings:
            yield f"{number}, the reference:\n{text}\n{tables}"
        elif query is not None:
            seen["on the local engine"] += 1
            if difference := by_values(query.answer(tables).rows, by_relation.result.rows):
                yield f"{number}, the local engine:\n{text}\n{tables}\n{difference}"


def check_ordered(number: int, seen: Counter[str]) -> Iterator[str]:
    """ORDER BY and LIMIT: the rows come in this order, on the reference and on the local engine."""
    found = ordered(number)
    if found is None:
        return
    text = format_script(found.sample.script)
    query = prepared(bind(found.sample.script, Source(text)), _asking(number), seen, len(found.sample.tables))
    for tables in found.sample.tables:
        every, own = answer(found.plain.match, tables), answer(found.sample.match, tables)
        if every is None or own is None:
            seen["not compared: too large"] += 1
            continue
        expected = found.rows(every.result.rows)
        seen["pairs"] += 1
        seen["with rows"] += len(expected) > 1
        if not found.is_same(own.result.rows, expected):
            yield f"{number}, the reference:\n{text}\n{tables}\n{own.result.rows}\n{expected}"
        elif query is not None:
            seen["on the local engine"] += 1
            rows = [*query.answer(tables).rows]
            if not found.is_same(rows, expected):
                yield f"{number}, the local engine:\n{text}\n{tables}\n{rows}\n{expected}"


def _asking(number: int) -> Asking:
    return Asking(chunks=Random(number).choice([None, True]))


def check_functions(number: int, seen: Counter[str]) -> Iterator[str]:
    """Functions of texts in conditions on several events: kernel, bridge and streams find the same."""
    strategies = [*SelectionStrategy]
    draw: Callable[[int], Sample | None] = (
        sample,
        partial(kleene_sample, strategy=strategies[number // 4 % len(strategies)]),
        worded_sample,
        kept_sample,
    )[number % 4]
    found = draw(number)
    if found is None or (match := with_functions(found.match)) == found.match:
        return
    tally = Tally()
    for tables in found.tables:
        try:
            if match.kept is not None:
                expected = by_reference(match, tables)
                wrong = [way for way, rows in kept_answers(match, tables, number, seen) if rows != expected]
                seen["pairs"] += 1
                seen["with rows"] += bool(expected)
                yield from (f"{number}, {way}: {match.pattern}\n{tables}" for way in wrong)
                continue
            for _, form in ways_to_write(match):
                planned = planned_for(form)
                seen["with rows"] += check_pair(form, tables, tally, number + seen["pairs"], planned)
                seen["pairs"] += 1
            if not match.is_imprecise:
                check_stream(match, tables, number + seen["pairs"], planned_for(match))
                seen["as streams"] += 1
        except UnsupportedQuery as refusal:
            seen[f"not compared: {refusal.what.partition('`')[0].strip()[-40:]}"] += 1
        except LimitReached:
            seen["not compared: too large"] += 1
        except Different as different:
            yield f"{number}: {match.pattern}\n{tables}\n{arrival(number)}\n{different}"


FAMILIES: dict[str, Check] = {
    "lookups": check_lookups,
    "ordered": check_ordered,
    "functions": check_functions,
}


if __name__ == "__main__":
    sys.exit(fuzz_families(FAMILIES, "conveniences_fuzz", 2_000))
