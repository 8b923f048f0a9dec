"""The rule `lift_exists`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir.patterns import Exists, Pattern, Seq, targets
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.rebuilding import constrained, is_closed
from neelc.pattern.rules.rule import RefusalReason


def lift_exists(part: Pattern, facts: QueryFacts) -> Pattern | RefusalReason | None:
    """`SEQ(p, EXISTS x : q, r)` is `EXISTS x : SEQ(p, q, r)`, if p and r do not look at where x lies.

    >>> from pattern_examples import after
    >>> print(after(lift_exists, "SEQ(A a, EXISTS x : SEQ(!B b, X x, C c), D d WHERE a.x > d.x)"))
    (EXISTS x : SEQ(A a, SEQ(!B b, X x, C c), D d) : a.x > d.x)

    Proof. Let l and r be the parts before and after the EXISTS, and take a choice of events for all of them
    and for x. In both forms the events of q, x among them, lie after all bound events of l and before those
    of r: on the left because this is the scope of the EXISTS, on the right because a SEQ requires it. So
    order and the scope of everything in q are the same. The difference is in l and r, whose scopes end on
    the right at x, and on the left only at what q binds besides x. Up to the first part that is surely
    there, seen from the EXISTS, l and r must not care: no negation looks there, and no other dropped event
    is looked for there (see `is_closed`). Parts beyond it end at its events in both forms, before or after x
    in time, so that none of their negations or dropped events can be x's event either. One EXISTS that is
    lifted leaves the others what they need, so all that can be lifted are lifted together. The window, the
    conditions and the `[id]` of the SEQ go to the new EXISTS: they concern the match without x. Those on
    the old EXISTS do not name x, and go to q.

    So not beside a negation, which would look only as far as x; not beside another EXISTS, since two of
    them may take the same event; not beside a part that ends with either.

    >>> print(after(lift_exists, "SEQ(A a, !N n, EXISTS x : SEQ(X x, Y y), D d)"))
    refused: what stands beside EXISTS x : SEQ(X x, Y y) also looks at where the dropped events lie
    >>> print(after(lift_exists, "SEQ(A a, SEQ(B b, !N n) WITHIN 5, EXISTS x : X x, D d)"))
    refused: what stands beside EXISTS x : X x also looks at where the dropped events lie
    >>> print(after(lift_exists, "SEQ(A a, EXISTS x : X x, EXISTS y : Y y, D d)"))
    refused: what stands beside EXISTS y : Y y also looks at where the dropped events lie

    Parts that may be absent are no obstacle themselves, and neither is the end of the list. A window on the
    EXISTS is measured without x, and would be lost; if nothing but x is there, it measures nothing.

    >>> print(after(lift_exists, "SEQ(A a, B? b, EXISTS x : X x) WITHIN 5"))
    EXISTS x : SEQ(A a, B? b, X x)
    >>> print(after(lift_exists, "SEQ(A a, (EXISTS x : SEQ(X x, Y y)) WITHIN 5, D d)"))
    refused: the window of (EXISTS x : SEQ(X x, Y y)) WITHIN 5 MILLISECONDS is measured without what it drops
    """
    if not isinstance(part, Seq):
        return None
    refused = None
    parts: list[Pattern] = []
    dropped: list[str] = []
    for place, inner in enumerate(part.parts):
        parts.append(inner)
        if not isinstance(inner, Exists):
            continue
        if reason := _obstacle(part, place, inner):
            refused = RefusalReason(reason, inner)
        elif body := constrained(inner.part, inner.where):
            parts[-1] = body
            dropped += inner.variables
    if not dropped:
        return refused
    plain = replace(part, parts=tuple(parts), where=None, within=None)
    return Exists(tuple(dropped), plain, where=part.where, within=part.within, span=part.span)


def _obstacle(part: Seq, place: int, inner: Exists) -> str | None:
    before, after = Seq(part.parts[:place]), Seq(part.parts[place + 1 :])
    if not is_closed(before, at_end=True) or not is_closed(after, at_end=False):
        return f"what stands beside {inner} also looks at where the dropped events lie"
    if inner.within is not None and targets(inner):
        return f"the window of {inner} is measured without what it drops"
    return None
