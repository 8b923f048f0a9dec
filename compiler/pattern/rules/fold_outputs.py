"""The rule `fold_outputs`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir.program import Match
from neelc.scalar.evaluate_constants import folded


def fold_outputs(query: Match) -> Match | None:
    """What RETURN computes without events is computed once, now: see `fold_constants`.

    >>> import pattern_examples
    >>> rewritten = fold_outputs(pattern_examples.query("A a RETURN a.x * (1 + 1) AS twice"))
    >>> print(rewritten.outputs[0].expression)
    a.x * 2.0D

    An aggregate is never constant: it counts matches, or groups them.

    >>> fold_outputs(pattern_examples.query("A a RETURN count(*) AS n, sum(1) AS m"))
    """
    outputs = tuple(replace(output, expression=folded(output.expression)) for output in query.outputs)
    return None if outputs == query.outputs else replace(query, outputs=outputs)
