"""Places in a list: `b[i]`, `b[i-1]`, `b[1]`, `b[last]`."""

from __future__ import annotations

from neelc.bind.visibility import Place
from neelc.ir.expr import Binary, Expr, Index, Literal, Name
from neelc.ir.names import bare

_ANCHORS = {"i": "CURRENT", "last": "LAST", "first": "FIRST"}


def bind_index(expression: Expr, name: str, place: Place) -> Index | None:
    """The place that the text in the brackets means; None after a report. `name` is the list's."""
    found = read_index(expression)
    findings = place.findings
    span = findings.at(expression)
    if isinstance(found, Index):
        if found.anchor == "CURRENT" and place.in_return:
            message = f"`i` runs over the elements of `{name}` in a condition; in RETURN it has no meaning"
            hint = f"write {name}[last], {name}[1], or {name}[] for all of them"
            findings.report("NEEL3013", message, span, hint)
            return None
        return Index(found.anchor, found.offset, span=expression.span)
    hint = f"elements: {name}[1], {name}[i], {name}[i-1], {name}[last]"
    findings.report("NEEL3015", f"`{name}` has no such element: {found}", span, hint)
    return None


def read_index(expression: Expr) -> Index | str:
    """The index, or what is wrong with it.

    >>> from neelc.parse import expression
    >>> read_index(expression("i - 1")), read_index(expression("last")), read_index(expression("3"))
    (Index(anchor='CURRENT', offset=-1), Index(anchor='LAST', offset=0), Index(anchor='FIRST', offset=2))
    >>> read_index(expression("0")), read_index(expression("i + 1"))
    ('lists begin at 1', 'an index counts back from i, from last or forth from 1')
    """
    match expression:
        case Literal(int() as number) if not isinstance(number, bool):
            return Index("FIRST", number - 1) if number > 0 else "lists begin at 1"
        case Name((word,)) if bare(word).casefold() in _ANCHORS:
            return Index(_ANCHORS[bare(word).casefold()])
        case Binary("-", Name((word,)), Literal(int() as number)) if not isinstance(number, bool):
            anchor = _ANCHORS.get(bare(word).casefold())
            if anchor in ("CURRENT", "LAST") and number >= 0:
                return Index(anchor, -number)
    return "an index counts back from i, from last or forth from 1"
