"""One part of a pattern in the place of another."""

from __future__ import annotations

from neelc.ir.node import transform
from neelc.ir.pattern import Pattern


def replaced(root: Pattern, old: Pattern, new: Pattern) -> Pattern:
    """`root` with `new` wherever the very part `old` stands: equal parts elsewhere stay.

    >>> from neelc.parse import pattern
    >>> root = pattern("SEQ(A a, AND(B b, C c))")
    >>> print(replaced(root, root.parts[1], pattern("D d")))
    SEQ(A a, D d)
    """
    changed = transform(root, lambda node: new if node is old else None)
    assert isinstance(changed, Pattern)
    return changed
