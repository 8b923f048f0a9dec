"""Samples with Kleene closure, under one selection strategy: queries, and streams in which they have matches.

    for number in range(1000):
        found = kleene_sample(number, "SKIP TILL NEXT MATCH")

Under SKIP TILL ANY MATCH lists stand everywhere: in AND, in OR, in negations and in nested sequences. Some
of the streams are witnesses of the pattern (`witnesses.py`), the others were made for no query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from generate.conditions import Seen, member, seen_in
from generate.few_conditions import attribute
from generate.following import LASTING, POINTS, Known, condition, query_text, random_tables, sequence
from generate.following import with_clauses as completed
from generate.rewritable import Sample
from generate.witnesses import Tables, tables
from neelc import syntax as parse
from neelc.errors import NeelError
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.node import walk
from neelc.ir.row_patterns import Output
from neelc.ir.script import Return, RunQuery

ANY = "SKIP TILL ANY MATCH"
MOST_EVENTS = 9
"""Events of a stream under SKIP TILL ANY MATCH: every part of them may be a list."""


def kleene_sample(number: int, strategy: str, streams: int = 4) -> Sample | None:
    """The query with this number; None if it has no closure, or is none that may be asked."""
    chance = Random(f"{strategy} {number}")
    lasting = chance.random() < 0.2
    text = _anywhere(chance) if strategy == ANY else query_text(chance, strategy)
    script = parse.script(f"{LASTING if lasting else POINTS}PATTERN {text};")
    found = Sample(script, ())
    lists = [node for node in walk(found.query.pattern) if isinstance(node, p.Repeat)]
    if not lists:
        return None
    asked = replace(found.query, returns=_returns(chance, found.query.pattern, lists))
    found = replace(found, script=replace(script, statements=(script.statements[0], RunQuery(asked))))
    made = (_tables(chance, found.query.pattern, lasting, strategy) for _ in range(streams))
    found = replace(found, tables=tuple(made))
    try:
        return found if found.match else None
    except NeelError:
        return None


def _returns(chance: Random, pattern: p.Pattern, lists: Sequence[p.Repeat]) -> Return | None:
    """All that is bound, COLLAPSED lists, or some elements of lists and what is computed of them."""
    kind = chance.choice(("all", "all", "collapsed", "some", "some"))
    if kind == "collapsed" and all(isinstance(one.part, p.Event) for one in lists):
        return Return((), collapsed=True)
    seen = seen_in(pattern)
    if kind != "some" or not seen:
        return None
    items = [_item(chance, variable) for variable in chance.sample(seen, min(len(seen), 3))]
    return Return(tuple(Output(item, f"r{place}") for place, item in enumerate(items)))


def _item(chance: Random, variable: Seen) -> e.Expr:
    if not variable.is_list or variable.inner or chance.random() < 0.4:
        return attribute(chance, variable)
    elements = e.Slice(e.Name((variable.name,)))
    function = chance.choice(("sum", "min", "max", "first", "last", "count", ""))
    values = elements if function == "count" else member(elements, "x")
    return e.Call(function, (values,)) if function else values


def _anywhere(chance: Random) -> str:
    """A query under SKIP TILL ANY MATCH: lists in whatever operator."""
    first, known = sequence(chance, "")
    second, others = sequence(chance, "1")
    inner = f" WHERE {condition(chance, others)}" if chance.random() < 0.5 else ""
    hidden = f"{second[:-1]}{inner})"
    end, both = Known("z"), [*known, *others]
    forms: dict[str, tuple[str, list[Known]]] = {
        "sequence": (first, known),
        "conjunction": (f"AND({first}, {_single(chance)} z)", [*known, end]),
        "conjunction of lists": (f"AND({first[4:-1]})", known),
        "disjunction": (f"OR({first}, {second})", both),
        "negation": (f"SEQ({first}, !{hidden}, {_single(chance)} z)", [*known, end]),
        "negation beside": (f"AND({_single(chance)} z, !{hidden})", [end]),
        "nested": (f"SEQ({_single(chance)} z, AND({first}, {_single(chance)} y))", [*known, end, Known("y")]),
    }
    pattern, visible = forms[chance.choice(["sequence", "sequence", "sequence", *forms])]
    return completed(chance, pattern, visible, ANY)


def _single(chance: Random) -> str:
    return chance.choice("ABCD")


def _tables(chance: Random, pattern: p.Pattern, lasting: bool, strategy: str) -> Tables:
    if chance.random() < 0.7:
        rows = tables(chance, pattern, lasting)["S"]
        return {"S": [{**row, "y": chance.choice((0.5, 1.0, 1.0, -0.0, 2.25, None))} for row in rows]}
    found = random_tables(chance, lasting)
    return {"S": found["S"][:MOST_EVENTS]} if strategy == ANY else found
