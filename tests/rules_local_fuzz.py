"""Sets of rules, executed together by the local engine, compared with each rule alone on the reference; part
of `make fuzz`.

    PYTHONPATH=tests python -m rules_local_fuzz --sets 1000 --seed 1

The rules are those of `rules_spark_fuzz`: texts, which go the way that those of users go. The table of all
rules is compared, and of two rules of each set their own columns.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from random import Random
from unittest.mock import patch

from fuzz_runner import fuzz
from generate.rule_scripts import rule_script
from in_local import table_of
from rules_spark_fuzz import (
    STREAMS,
    ReferenceRules,
    Rows,
    answers,
    bound,
    compiled,
    describe,
    difference,
    own_row,
    problems,
    table_row,
)

import neelc
from neelc.api.local_rules import LocalRules
from neelc.engines.local import tasks


def check_set(number: int, seen: Counter[str]) -> Iterator[str]:
    """What is wrong with the set of a number."""
    script = rule_script(number, STREAMS)
    if script is None:
        return
    chance, rules = Random(f"local {number}"), bound(script)
    tables = {
        name: table_of(stream, script.all_rows[name]).data
        for name, stream in rules.streams(rules.names).items()
    }
    found = compiled(neelc.local(processes=1).rules, rules, tables, chance, seen)
    if found is None:
        return
    assert isinstance(found, LocalRules)
    expected = answers(rules, found.names)
    describe(found, rules, seen)
    with patch.object(tasks, "BATCH", chance.choice([1, 3, 100_000])), found.persist():
        wrong = list(problems(expected, rows_of(found, rules), seen))
        for name in chance.sample(list(expected), min(2, len(expected))):
            collapsed = rules.query(name).collapsed
            own = Rows(own_row(row, collapsed) for row in found[name].rows())
            wrong += difference(f"{name} with its own columns", expected[name].own, own)
            columns = [(column.name, column.type) for column in rules.query(name).columns]
            assert [*found[name].types.items()] == columns, f"{name}: {found[name].types}"
            seen["rules with their own columns"] += 1
    yield from (f"set {number}, {one}" for one in wrong)


def rows_of(found: LocalRules, rules: ReferenceRules) -> dict[str, Rows]:
    """The rows of each rule in the table of all."""
    tables: dict[str, Rows] = {name: Rows() for name in found.names}
    for row in found.df.with_json().rows():
        name = str(row[0])
        tables[name][table_row(row, rules.query(name).collapsed)] += 1
    return tables


def check(number: int, seen: Counter[str]) -> list[str]:
    """The same; what fails is wrong, too, and does not end the run."""
    try:
        return list(check_set(number, seen))
    except Exception as error:
        return [f"set {number}: {type(error).__name__}: {str(error)[:2000]}"]


if __name__ == "__main__":
    sys.exit(fuzz(check, "rules_local_fuzz", 1_000, "sets"))
