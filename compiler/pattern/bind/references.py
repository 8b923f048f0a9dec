"""Names become references: which variable, which element of its list, which attribute."""

from __future__ import annotations

from neelc.catalog.catalog import KnownType, why_no_attribute
from neelc.errors import Hint, write
from neelc.findings import did_you_mean
from neelc.ir import expressions as e
from neelc.ir.expressions import Binary, Expr, Index, Literal, Name
from neelc.ir.names import bare, find, same, written
from neelc.ir.program import MATCH_NUMBER
from neelc.ir.types import BIGINT, DOUBLE, STRING, VOID, Array, DataType, Map, Struct, StructField
from neelc.pattern.bind.scopes import CLOSURE, EVENT, DeclaredVariable, ExpressionScope, lookup
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Span

# Places in a list: `b[i]`, `b[i-1]`, `b[1]`, `b[last]`.

_ANCHORS = {"i": "CURRENT", "last": "LAST", "first": "FIRST"}


def bind_index(expression: Expr, name: str, place: ExpressionScope) -> Index | None:
    """The place that the text in the brackets means; None after a report. `name` is the list's."""
    found = read_index(expression)
    findings = place.findings
    span = findings.at(expression)
    if isinstance(found, Index):
        if found.anchor == "CURRENT" and place.in_return:
            message = f"`i` stands for the elements of `{name}` in a condition; it is not allowed in RETURN"
            words = f"write {name}[last], {name}[1], or {name}[] for all of them"
            findings.report("NEEL3013", message, span, Hint(words, ("last", "1")))
            return None
        return Index(found.anchor, found.offset, span=expression.span)
    hint = f"elements: {name}[1], {name}[i], {name}[i-1], {name}[last]"
    findings.report("NEEL3015", f"`{name}` has no such element: {found}", span, hint)
    return None


def read_index(expression: Expr) -> Index | str:
    """The index, or what is wrong with it.

    >>> from neelc.syntax import expression
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


# The types of what references reach: values, events, iterations of closures.


def value_type(value: e.Expr) -> DataType:
    """The type of a bound value; over a list, that of one element."""
    match value:
        case (
            e.Attribute() | e.WholeEvent() | e.EventTime() | e.Field() | e.ElementAccess() | e.MatchProperty()
        ):
            return value.type
        case e.Literal() | e.Cast() | e.Aggregate():
            return value.type
        case e.Call(type=DataType() as kind):
            return kind
    return VOID


def event_time(known: KnownType, name: str) -> str | None:
    """Which end of an event's time `name` means: a match of a named query also has a `match_start`."""
    names = {"ts": "ts", "te": "te"}
    if known.is_query:
        names |= {"match_start": "ts", "match_end": "te"}
    return next((end for word, end in names.items() if same(name, word)), None)


def struct_of(variable: DeclaredVariable, place: ExpressionScope) -> DataType | None:
    known = place.types.get(variable.type or "")
    return None if known is None else known.struct


def iteration_struct(closure: DeclaredVariable, place: ExpressionScope) -> DataType | None:
    """One iteration of a closure: a struct with a field for each variable of its body."""
    fields = []
    for v in place.scopes.iteration(closure):
        kind = iteration_struct(v, place) if v.kind == CLOSURE else struct_of(v, place)
        if kind is None:
            return None
        fields.append(StructField(written(bare(v.name)), kind if v.kind == EVENT else Array(kind)))
    return Struct(tuple(fields))


# What a reference has reached: one event, a list that still needs an index, one iteration of a closure.
ONE, LIST, ITERATION = "one", "list", "iteration"


@dataclass(frozen=True)
class PartialReference:
    """A reference on its way to an attribute."""

    event: e.EventRef
    variable: DeclaredVariable
    reached: str
    text: str


@dataclass(frozen=True)
class VariableUse:
    """A variable that an expression names, and where."""

    variable: DeclaredVariable
    span: Span


class References:
    """Resolves the references of one expression. `used` are the variables it names; `broken` means that
    something in it was reported, and that its type says nothing."""

    def __init__(self, place: ExpressionScope) -> None:
        self.place = place
        self.findings = place.findings
        self.used: list[VariableUse] = []
        self.broken = False
        self.in_aggregate = False

    def resolve(self, node: e.Expr) -> e.Expr:
        """A reference of the parser as one of the binder; NULL in place of one that was reported."""
        found = self.reach(node)
        if isinstance(found, PartialReference):
            found = self.whole(found, node)
        return found or self.nothing(node)

    def nothing(self, node: e.Expr) -> e.Expr:
        self.broken = True
        return e.Literal(None, VOID, span=node.span)

    def reach(self, node: e.Expr) -> PartialReference | e.Expr | None:
        match node:
            case e.Name((first, *members)):
                prefix = self.start(first, node, alone=not members)
                for member in members:
                    prefix = self.member(prefix, member, node)
                return prefix
            case e.Name():
                self.findings.report("NEEL2001", "a name is missing", node.span)
                return None
            case e.MemberAccess(base, name):
                return self.member(self.reach(base), name, node)
            case e.Subscript(base, index):
                return self.subscript(self.reach(base), index, node)
            case e.Slice(base, upper):
                return self.slice(self.reach(base), upper, node)
        return self.value(node)

    def value(self, node: e.Expr) -> e.Expr | None:
        """What is no reference, but stands before `.` or `[`: a function's result."""
        raise NotImplementedError

    def start(self, name: str, node: e.Name, alone: bool) -> PartialReference | e.Expr | None:
        span = self.findings.at(name, node)
        key = bare(name).casefold()
        if (
            alone
            and key in ("match_start", "match_end", MATCH_NUMBER, "confidence")
            and self.place.scopes.variable(name) is None
        ):
            return self.property(key, span)
        variable = lookup(name, span, self.place, alone)
        if variable is None:
            return None
        self.used.append(VariableUse(variable, span))
        return self.handle(e.Variable(variable.name, span=span), variable, variable.name)

    def handle(self, event: e.EventRef, variable: DeclaredVariable, text: str) -> PartialReference:
        return PartialReference(event, variable, ONE if variable.kind == EVENT else LIST, text)

    def property(self, name: str, span: Span) -> e.Expr | None:
        if not self.place.in_return:
            hint = None if name == "confidence" else "the first and last events have times: a.ts, b.te"
            hint = hint or "write WITH CONFIDENCE >= 0.6"
            hint = "ORDER BY and LIMIT choose among the rows" if name == MATCH_NUMBER else hint
            self.findings.report(
                "NEEL2010",
                f"`{name}` is known only for complete matches, so it is allowed only in RETURN",
                span,
                hint,
            )
            return None
        clock = self.place.clock
        if name != "confidence" and clock is None:
            return None  # the streams have been reported
        kind = DOUBLE if clock is None or name == "confidence" else clock.type
        kind = BIGINT if name == MATCH_NUMBER else kind
        return e.MatchProperty(name, kind, span=span)

    def member(
        self, base: PartialReference | e.Expr | None, name: str, node: e.Expr
    ) -> PartialReference | e.Expr | None:
        if base is None:
            return None
        span = self.findings.at(name, node)
        if not isinstance(base, PartialReference):
            return self.field(base, name, span, node)
        if base.reached == ONE:
            return self.attribute(base, name, span, node)
        if base.reached == ITERATION:
            return self.inner(base, name, span)
        whole = f"{base.text}.{name}"
        index = "" if self.in_aggregate or self.place.in_return else _likely_index(base)
        hint = write(f"{base.text}[{index}].{name}")
        if self.place.in_return and not self.in_aggregate:
            other = f"{base.text}[last].{name}"
            hint = Hint(f"{hint.words}, or {other}", (*hint.replacements, other))
        message = f"`{base.text}` is a list, and `{whole}` does not say which element"
        self.findings.report("NEEL3011", message, node.span, hint)
        return None

    def inner(self, base: PartialReference, name: str, span: Span) -> PartialReference | None:
        variable = self.place.scopes.inner(base.variable, name)
        if variable is None:
            names = [bare(v.name) for v in self.place.scopes.iteration(base.variable)]
            hint = did_you_mean(name, names, f"variables of {base.text}")
            self.findings.report("NEEL2001", f"`{base.text}` has no variable `{name}`", span, hint)
            return None
        return self.handle(
            e.InnerVariable(base.event, variable.name, span=span), variable, f"{base.text}.{variable.name}"
        )

    def attribute(self, base: PartialReference, name: str, span: Span, node: e.Expr) -> e.Expr | None:
        known = self.place.types.get(base.variable.type or "")
        if known is None:
            return None
        column, time = known.attribute(name), event_time(known, name)
        # A time that only some of the streams have as a column is the time of the event for all of them.
        is_column = time is None or known.clock is None or known.is_everywhere(name)
        if column is not None and is_column:
            return e.Attribute(base.event, written(column.name), column.type, span=node.span)
        if time is not None and known.clock is not None:
            return e.EventTime(base.event, time, known.clock.type, span=node.span)
        if time is not None:
            self.report_clocks(base, known, span)
            return None
        code, message, hint = why_no_attribute(known, name, base.text)
        self.findings.report(code, message, span, hint)
        return None

    def report_clocks(self, base: PartialReference, known: KnownType, span: Span) -> None:
        """The time of events that write it in different ways has no type."""
        clocks = ", ".join(f"{entry.name} has {entry.clock}" for entry in known.entries)
        columns = [entry.stream.start for entry in known.entries if entry.stream is not None]
        hint = f"name the column that holds it: {base.text}.{written(columns[0])}"
        self.findings.report("NEEL2011", f"the time of `{base.text}` has several types: {clocks}", span, hint)

    def field(self, base: e.Expr, name: str, span: Span, node: e.Expr) -> e.Expr | None:
        kind = value_type(base)
        match kind:
            case Struct(fields):
                found = find(name, [field.name for field in fields])
                field = next((field for field in fields if field.name == found), None)
                if field is not None:
                    return e.Field(base, field.name, field.type, span=node.span)
                hint = did_you_mean(name, [bare(field.name) for field in fields], "its fields")
                self.findings.report("NEEL2014", f"the struct has no field `{bare(name)}`", span, hint)
            case Map(_, value):
                return e.ElementAccess(base, e.Literal(bare(name), STRING, span=span), value, span=node.span)
            case _:
                self.findings.report(
                    "NEEL2014",
                    f"`{base}` is of type {kind}, which has no fields",
                    span,
                    "structs have fields",
                )
        return None

    def subscript(
        self, base: PartialReference | e.Expr | None, index: e.Expr, node: e.Expr
    ) -> PartialReference | e.Expr | None:
        if base is None:
            return None
        if isinstance(base, PartialReference):
            if base.reached != LIST:
                self.not_a_list(base, node)
                return None
            at = bind_index(index, base.text, self.place)
            if at is None:
                return None
            reached = ITERATION if base.variable.kind == CLOSURE else ONE
            text = f"{base.text}[{index}]"
            return PartialReference(
                e.ListElement(base.event, at, span=node.span), base.variable, reached, text
            )
        kind = value_type(base)
        item = kind.element if isinstance(kind, Array) else kind.value if isinstance(kind, Map) else None
        if item is None:
            message = f"`{base}` is of type {kind}, which has no elements"
            self.findings.report(
                "NEEL2014", message, self.findings.at(node), "only arrays and maps take an index"
            )
            return None
        position = self.value(index)
        return None if position is None else e.ElementAccess(base, position, item, span=node.span)

    def slice(
        self, base: PartialReference | e.Expr | None, upper: e.Expr | None, node: e.Expr
    ) -> PartialReference | None:
        if base is None:
            return None
        if not isinstance(base, PartialReference) or base.reached != LIST:
            self.not_a_list(base, node)
            return None
        last = None if upper is None else bind_index(upper, base.text, self.place)
        if upper is not None and last is None:
            return None
        reached = ITERATION if base.variable.kind == CLOSURE else ONE
        text = f"{base.text}[{'' if upper is None else f'..{upper}'}]"
        return PartialReference(
            e.EveryElement(base.event, last, span=node.span), base.variable, reached, text
        )

    def not_a_list(self, base: PartialReference | e.Expr, node: e.Expr) -> None:
        text = base.text if isinstance(base, PartialReference) else str(base)
        what = (
            "one iteration"
            if isinstance(base, PartialReference) and base.reached == ITERATION
            else "one event"
        )
        if not isinstance(base, PartialReference):
            what = "a value"
        message = f"`{text}` is {what}, not a list: it takes no index"
        hint = write(text, ", or repeat it in the pattern: +, * or {n,m}")
        if not isinstance(base, PartialReference):
            hint = write(text, "; empty brackets follow the variable of a list: b[].x")
        self.findings.report("NEEL3012", message, self.findings.at(node), hint)

    def whole(self, base: PartialReference, node: e.Expr) -> e.Expr | None:
        """The event itself, or the iteration, as a struct."""
        if base.reached == LIST:
            every = self.in_aggregate or self.place.in_return
            better = f"{base.text}[]" if every else f"{base.text}[{_likely_index(base)}]"
            message = f"`{base.text}` is a list: it needs an index"
            self.findings.report("NEEL3011", message, self.findings.at(node), write(better))
            return None
        variable = base.variable
        kind = (
            struct_of(variable, self.place) if base.reached == ONE else iteration_struct(variable, self.place)
        )
        return None if kind is None else e.WholeEvent(base.event, kind, span=node.span)


def _likely_index(base: PartialReference) -> str:
    """The current element, unless `i` runs over another list already."""
    return "last" if "[i" in base.text else "i"
