"""Names become references: which variable, which element of its list, which attribute."""

from __future__ import annotations

from dataclasses import dataclass

from neelc.bind.event_types import KnownType, why_no_attribute
from neelc.bind.indexes import bind_index
from neelc.bind.scopes import CLOSURE, EVENT, Declared
from neelc.bind.structs import event_time, iteration_struct, struct_of, value_type
from neelc.bind.suggest import did_you_mean
from neelc.bind.visibility import Place, lookup
from neelc.ir import expr as e
from neelc.ir.names import bare, find, written
from neelc.ir.types import DOUBLE, STRING, VOID, Array, Map, Struct
from neelc.source import Span

# What a reference has reached: one event, a list that still needs an index, one iteration of a closure.
ONE, LIST, ITERATION = "one", "list", "iteration"


@dataclass(frozen=True)
class Handle:
    """A reference on its way to an attribute."""

    event: e.EventRef
    variable: Declared
    reached: str
    text: str


@dataclass(frozen=True)
class Use:
    """A variable that an expression names, and where."""

    variable: Declared
    span: Span


class References:
    """Resolves the references of one expression. `used` are the variables it names; `broken` means that
    something in it was reported, and that its type says nothing."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.findings = place.findings
        self.used: list[Use] = []
        self.broken = False
        self.in_aggregate = False

    def resolve(self, node: e.Expr) -> e.Expr:
        """A reference of the parser as one of the binder; NULL in place of one that was reported."""
        found = self.reach(node)
        if isinstance(found, Handle):
            found = self.whole(found, node)
        return found or self.nothing(node)

    def nothing(self, node: e.Expr) -> e.Expr:
        self.broken = True
        return e.Literal(None, VOID, span=node.span)

    def reach(self, node: e.Expr) -> Handle | e.Expr | None:
        match node:
            case e.Name((first, *members)):
                prefix = self.start(first, node, alone=not members)
                for place, member in enumerate(members, 2):
                    # In `a.b.a` the second `a` is meant: as many as there are up to this part.
                    prefix = self.member(prefix, member, node, node.parts[:place].count(member))
                return prefix
            case e.Name():
                self.findings.report("NEEL2001", "a name is missing", node.span)
                return None
            case e.Member(base, name):
                return self.member(self.reach(base), name, node)
            case e.Subscript(base, index):
                return self.subscript(self.reach(base), index, node)
            case e.Slice(base, upper):
                return self.slice(self.reach(base), upper, node)
        return self.value(node)

    def value(self, node: e.Expr) -> e.Expr | None:
        """What is no reference, but stands before `.` or `[`: a function's result."""
        raise NotImplementedError

    def start(self, name: str, node: e.Name, alone: bool) -> Handle | e.Expr | None:
        span = self.findings.word(name, node)
        key = bare(name).casefold()
        if (
            alone
            and key in ("match_start", "match_end", "confidence")
            and self.place.scopes.variable(name) is None
        ):
            return self.property(key, span)
        variable = lookup(name, span, self.place, alone)
        if variable is None:
            return None
        self.used.append(Use(variable, span))
        return self.handle(e.Variable(variable.name, span=span), variable, variable.name)

    def handle(self, event: e.EventRef, variable: Declared, text: str) -> Handle:
        return Handle(event, variable, ONE if variable.kind == EVENT else LIST, text)

    def property(self, name: str, span: Span) -> e.Expr | None:
        if not self.place.in_return:
            hint = None if name == "confidence" else "the first and last events have times: a.ts, b.te"
            hint = hint or "write WITH CONFIDENCE >= 0.6"
            self.findings.report(
                "NEEL2010", f"`{name}` is known for complete matches: in RETURN only", span, hint
            )
            return None
        clock = self.place.clock
        if name != "confidence" and clock is None:
            return None  # the streams have been reported
        kind = DOUBLE if clock is None or name == "confidence" else clock.type
        return e.MatchProperty(name, kind, span=span)

    def member(
        self, base: Handle | e.Expr | None, name: str, node: e.Expr, nth: int = -1
    ) -> Handle | e.Expr | None:
        if base is None:
            return None
        span = self.findings.word(name, node, nth=nth)
        if not isinstance(base, Handle):
            return self.field(base, name, span, node)
        if base.reached == ONE:
            return self.attribute(base, name, span, node)
        if base.reached == ITERATION:
            return self.inner(base, name, span)
        whole = f"{base.text}.{name}"
        if self.in_aggregate or self.place.in_return:
            better = f"{base.text}[].{name}" + ("" if self.in_aggregate else f", or {base.text}[last].{name}")
        else:
            better = f"{base.text}[{_likely_index(base)}].{name}"
        message = f"`{base.text}` is a list, and `{whole}` does not say of which element"
        self.findings.report("NEEL3011", message, node.span, f"write {better}")
        return None

    def inner(self, base: Handle, name: str, span: Span) -> Handle | None:
        variable = self.place.scopes.inner(base.variable, name)
        if variable is None:
            names = [bare(v.name) for v in self.place.scopes.iteration(base.variable)]
            hint = did_you_mean(name, names, f"variables of {base.text}")
            self.findings.report("NEEL2001", f"`{base.text}` has no variable `{name}`", span, hint)
            return None
        return self.handle(
            e.Inner(base.event, variable.name, span=span), variable, f"{base.text}.{variable.name}"
        )

    def attribute(self, base: Handle, name: str, span: Span, node: e.Expr) -> e.Expr | None:
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

    def report_clocks(self, base: Handle, known: KnownType, span: Span) -> None:
        """The time of events that write it in different ways has no type."""
        clocks = ", ".join(f"{entry.name} has {entry.clock}" for entry in known.entries)
        columns = [entry.stream.start for entry in known.entries if entry.stream is not None]
        hint = f"name the column that holds it: {base.text}.{written(columns[0])}"
        self.findings.report("NEEL2011", f"the time of `{base.text}` has no one type: {clocks}", span, hint)

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
                return e.Item(base, e.Literal(bare(name), STRING, span=span), value, span=node.span)
            case _:
                self.findings.report(
                    "NEEL2014",
                    f"`{base}` is of type {kind}, which has no fields",
                    span,
                    "structs have fields",
                )
        return None

    def subscript(self, base: Handle | e.Expr | None, index: e.Expr, node: e.Expr) -> Handle | e.Expr | None:
        if base is None:
            return None
        if isinstance(base, Handle):
            if base.reached != LIST:
                self.not_a_list(base, node)
                return None
            at = bind_index(index, base.text, self.place)
            if at is None:
                return None
            reached = ITERATION if base.variable.kind == CLOSURE else ONE
            text = f"{base.text}[{index}]"
            return Handle(e.At(base.event, at, span=node.span), base.variable, reached, text)
        kind = value_type(base)
        item = kind.element if isinstance(kind, Array) else kind.value if isinstance(kind, Map) else None
        if item is None:
            message = f"`{base}` is of type {kind}, which has no elements"
            self.findings.report(
                "NEEL2014", message, self.findings.at(node), "only arrays and maps take an index"
            )
            return None
        position = self.value(index)
        return None if position is None else e.Item(base, position, item, span=node.span)

    def slice(self, base: Handle | e.Expr | None, upper: e.Expr | None, node: e.Expr) -> Handle | None:
        if base is None:
            return None
        if not isinstance(base, Handle) or base.reached != LIST:
            self.not_a_list(base, node)
            return None
        last = None if upper is None else bind_index(upper, base.text, self.place)
        if upper is not None and last is None:
            return None
        reached = ITERATION if base.variable.kind == CLOSURE else ONE
        text = f"{base.text}[{'' if upper is None else f'..{upper}'}]"
        return Handle(e.Each(base.event, last, span=node.span), base.variable, reached, text)

    def not_a_list(self, base: Handle | e.Expr, node: e.Expr) -> None:
        text = base.text if isinstance(base, Handle) else str(base)
        what = "one iteration" if isinstance(base, Handle) and base.reached == ITERATION else "one event"
        if not isinstance(base, Handle):
            what = "a value"
        message = f"`{text}` is {what}, not a list: it takes no index"
        hint = f"write {text}, or repeat it in the pattern: +, * or {{n,m}}"
        if not isinstance(base, Handle):
            hint = f"write {text}; brackets without an index stand after the variable of a list: b[].x"
        self.findings.report("NEEL3012", message, self.findings.at(node), hint)

    def whole(self, base: Handle, node: e.Expr) -> e.Expr | None:
        """The event itself, or the iteration, as a struct."""
        if base.reached == LIST:
            every = self.in_aggregate or self.place.in_return
            better = f"{base.text}[]" if every else f"{base.text}[{_likely_index(base)}]"
            message = f"`{base.text}` is a list: it needs an index"
            self.findings.report("NEEL3011", message, self.findings.at(node), f"write {better}")
            return None
        variable = base.variable
        kind = (
            struct_of(variable, self.place) if base.reached == ONE else iteration_struct(variable, self.place)
        )
        return None if kind is None else e.Whole(base.event, kind, span=node.span)


def _likely_index(base: Handle) -> str:
    """The current element, unless `i` runs over another list already."""
    return "last" if "[i" in base.text else "i"
