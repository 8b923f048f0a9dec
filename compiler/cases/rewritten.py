"""The script of a case, rewritten: in every form it finds the same, by the rules that the case names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from textwrap import indent

from neelc.bind.suggest import did_you_mean
from neelc.cases.file import Case
from neelc.cases.problem import CaseError
from neelc.ir.algebra import Algebra
from neelc.ir.logical import Match, Program
from neelc.rewrite.algebra.optimise import RULES, optimise
from neelc.rewrite.batches import SIMPLIFY, UNUSED
from neelc.rewrite.driver import rewrite
from neelc.rewrite.forms import FORMS, forms, has_readers
from neelc.rewrite.rule import Rewriting

Forms = Mapping[str, tuple[Rewriting, ...]]
"""For each form, how each PATTERN query of a script is rewritten."""


def rule_names() -> tuple[str, ...]:
    """The names of all rules that some form of a query, or a network, is made with."""
    batches = (*SIMPLIFY, *UNUSED, *(batch for form in FORMS.values() for batch in form))
    names = {rule.__name__ for batch in batches for rule in (*batch.parts, *batch.queries)}
    return tuple(sorted(names | {rule.__name__ for rule in RULES}))


def check_rule_names(case: Case) -> None:
    """`CaseError` for the first name in `fires` or `silent` that no rule has."""
    known = rule_names()
    for name, line in (*case.fires, *case.silent):
        if name not in known:
            raise CaseError(case.path, line, f"no rule `{name}`; {did_you_mean(name, known, 'rules')}")


def forms_of(program: Program) -> Forms:
    """The forms of a script; a query that does not have one of them is simplified in it."""
    found = [
        {form.name: form.rewriting for form in forms(query.match, has_readers(query, program))}
        for query in program.pattern_queries
    ]
    return {
        name: tuple(known.get(name, next(iter(known.values()))) for known in found)
        for name in FORMS
        if any(name in known for known in found)
    }


def programs(program: Program, found: Forms) -> Iterator[tuple[str, Program]]:
    """The script in each form that differs from the script as it was written."""
    for name, made in found.items():
        changed = iter(made)
        queries = tuple(
            replace(query, query=next(changed).query) if isinstance(query.query, Match) else query
            for query in program.queries
        )
        if queries != program.queries:
            yield name, replace(program, queries=queries)
    networks = tuple(
        replace(query, query=replace(query.query, root=optimise(query.query.root).root))
        if isinstance(query.query, Algebra)
        else query
        for query in program.queries
    )
    if networks != program.queries:
        yield "networks rewritten", replace(program, queries=networks)


def problems(case: Case, program: Program, found: Forms) -> Iterator[str]:
    """What a case says about rules and is not so."""
    changes = _changes(program, found)
    for name, _ in case.fires:
        if name not in changes:
            others = ", ".join(sorted(changes)) or "none"
            yield f"fires {name}: it did not fire{_why_not(name, program)}; rules that did: {others}"
    for name, _ in case.silent:
        if name in changes:
            yield f"silent {name}: it fired\n{indent(changes[name], '  ')}"


def _changes(program: Program, found: Forms) -> dict[str, str]:
    """What each rule that fired has changed, the first time it did."""
    changes: dict[str, str] = {}
    for made in found.values():
        for query, rewriting in zip(program.pattern_queries, made, strict=True):
            before = query.match
            for step in rewriting.steps:
                change = f"before {step.before or before}\nafter  {step.after or step.query}"
                changes.setdefault(step.rule, change)
                before = step.query
    for named in program.queries:
        if isinstance(named.query, Algebra):
            for moved in optimise(named.query.root).steps:
                changes.setdefault(moved.rule, f"before {moved.before}\nafter  {moved.after}")
    return changes


def _why_not(rule: str, program: Program) -> str:
    """The reason a rule gives for not firing, if it gives one."""
    for query in program.pattern_queries:
        for batches in FORMS.values():
            for refusal in rewrite(query.match, (*SIMPLIFY, *batches)).refusals:
                if refusal.rule == rule:
                    return f" ({refusal.reason})"
    return ""
