"""The attributes by which the events of a query are brought together."""

from __future__ import annotations

from neelc.cost.agreement import Term
from neelc.cost.ledger import term_of
from neelc.cost.truth import without_casts
from neelc.ir.expr import Attribute
from neelc.rewrite.keys import Key


def key_terms(keys: tuple[Key, ...]) -> frozenset[Term]:
    """Each variable with the attributes that are its keys.

    >>> from neelc.rewrite.examples import query
    >>> from neelc.rewrite.keys import partition_keys
    >>> sorted(key_terms(partition_keys(query("SEQ(A a, !N n, B b) WHERE [id] WITHIN 5"))))
    [('a', 'id'), ('b', 'id'), ('n', 'id')]
    """
    terms = (term for key in keys for term in key.terms)
    found = ((name, without_casts(value)) for name, value in terms)
    return frozenset((name, term_of(value)[1]) for name, value in found if isinstance(value, Attribute))
