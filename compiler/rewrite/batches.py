"""All rules, in the order they run: the page to read first.

SIMPLIFY always helps: it makes a query smaller or lets conditions be judged earlier. The normal form does
not always help: pushing negations down and distributing OR can multiply a query, so it is one of several
`forms.py` offers, and cost decides. Within a batch the rules run until none fires.
"""

from __future__ import annotations

from neelc.rewrite.flatten_sequence import flatten_sequence
from neelc.rewrite.push_negation_into_sequence import push_negation_into_sequence
from neelc.rewrite.rule import Batch

SIMPLIFY: tuple[Batch, ...] = (
    Batch(
        "flatten",
        "First: other rules need not look through lists that only group.",
        parts=(flatten_sequence,),
    ),
)

NORMALISE: tuple[Batch, ...] = (
    Batch(
        "push negations down",
        "NEEL, III-C, step 1. Before OR is distributed: pushing a negation down makes new ORs.",
        parts=(push_negation_into_sequence,),
    ),
)
