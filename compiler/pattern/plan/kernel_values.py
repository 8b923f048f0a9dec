"""Conditions for the kernel: an expression over several events as operations on columns of each.

The largest pieces that concern one event become columns, which Spark computes with its own functions; only
what combines them is left to the kernel, and that is numbers, truth values and comparisons."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from datetime import timedelta
from functools import partial
from itertools import pairwise

from neelc.ir import expressions as e
from neelc.ir.expressions import (
    Aggregate,
    EveryElement,
    Expr,
    Index,
    InnerVariable,
    ListElement,
    WholeEvent,
    lists,
)
from neelc.ir.node import Node, map_children, walk
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_INTERVAL,
    DOUBLE,
    FLOAT,
    GEOMETRY,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    DataType,
    Decimal,
)
from neelc.pattern.analysis.absent import value_without as without
from neelc.pattern.plan.blocks import event_names, name_of, ranges, references_in, renamed
from neelc.pattern.plan.columns import CODE, EVENT, NUMBER, PLACE, PLAIN, EventColumns
from neelc.rows.plan.expression_to_value import lowered
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    FOLDS,
    Apply,
    ApplyDeclared,
    ColumnValue,
    Constant,
    ElementName,
    EventName,
    Fold,
    IterationName,
    ListName,
    OneByOne,
    Total,
    Value,
    around_of,
    listed_in,
)
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext
from neelc.runtime.values.functions.space import SPATIAL
from neelc.runtime.values.path_folds import FOLDS as VALUE_FOLDS
from neelc.runtime.values.path_folds import LISTS as VALUE_LISTS
from neelc.runtime.values.statistics import OF_LISTS
from neelc.scalar.evaluate_constants import calls_declared
from neelc.scalar.type_of import is_zoned, is_zoned_itself, type_of, value_type

# Aggregates over lists that the kernel computes while it puts lists together.

NUMBERS: Mapping[DataType, str] = {
    TINYINT: "tinyint",
    SMALLINT: "smallint",
    INT: "int",
    BIGINT: "bigint",
    FLOAT: "float",
    DOUBLE: "double",
}


class NotInKernel(Exception):
    """An expression that the kernel cannot compute."""


@dataclass(frozen=True)
class ListFold:
    """A fold over the list of `variable`; a `running` one is over the elements before `b[i]`."""

    variable: ListName
    fold: Fold
    running: bool


def has_lists(expression: Expr) -> bool:
    """Whether an expression looks into a list by more than names of its elements."""
    nodes = (node for node in references_in(expression) if name_of(node) is None)
    return any(isinstance(node, ListElement | EveryElement | Aggregate) for node in nodes)


def list_fold(node: Aggregate, columns: EventColumns, whole: bool = False) -> ListFold:
    """The fold for an aggregate; raises `NotInKernel`. With `whole`, also one that needs the whole list."""
    ranged = tuple(dict.fromkeys(lists(node.argument))) if node.argument is not None else ()
    is_called = node.function is not None or (whole and node.name in OF_LISTS)
    is_known = is_called or node.name in FOLDS
    if not ranged or node.distinct or not is_known or node.type not in _types(is_called):
        raise NotInKernel(str(node))
    variable, running = _folded_list(node, ranged), _is_running(ranged)
    assert node.argument is not None
    argument, named = _of_one_element(node.argument, ranged)
    if isinstance(node.argument, WholeEvent) and node.function is None:
        (name,) = named
        counted = variable if len(ranged) == 1 else listed_in(_iteration(name), variable)
        return ListFold(variable, Fold(str(node), node.name, counted), running)
    if len(named) != 1 or (not is_called and type_of(argument) not in NUMBERS):
        raise NotInKernel(str(node))
    name = _iteration(next(iter(named)))
    if is_called and not _is_column(argument, name):
        raise NotInKernel(str(node))
    column, kind = columns.column(argument, name).name, _types(is_called)[node.type]
    of = listed_in(name, variable)
    return ListFold(variable, Fold(str(node), node.name, of, column, kind, is_called), running)


def _is_running(ranged: tuple[EveryElement, ...]) -> bool:
    return ranged[0].upper is not None


def chosen_fold(node: Aggregate, columns: EventColumns, form: str) -> ListFold:
    """The fold for an aggregate that is one of its values, in a column of a form that is compared as a
    number; raises `NotInKernel`."""
    if node.name not in CHOSEN or node.function is not None:
        raise NotInKernel(str(node))
    variable, running, argument, name = _one_column(node)
    column = columns.column(argument, name, form).name
    fold = Fold(f"{form} of {node}", node.name, listed_in(name, variable), column)
    return ListFold(variable, fold, running)


def value_fold(node: Aggregate, columns: EventColumns) -> ListFold:
    """The fold for an aggregate of values as Python has them; raises `NotInKernel`."""
    if node.function is not None or node.name not in (*VALUE_FOLDS, *VALUE_LISTS):
        raise NotInKernel(str(node))
    variable, running, argument, name = _one_column(node)
    column, of = columns.column(argument, name).name, listed_in(name, variable)
    kind, fold_name = value_type(node.type), f"value of {node}"
    fold = Fold(fold_name, node.name, of, column, kind, of_values=True, distinct=node.distinct)
    return ListFold(variable, fold, running)


def _one_column(node: Aggregate) -> tuple[ListName, bool, Expr, IterationName]:
    """The list that an aggregate is over, whether only the elements before `b[i]` are meant, and its argument
    for one element, which is a column of events; raises `NotInKernel`."""
    ranged = tuple(dict.fromkeys(lists(node.argument))) if node.argument is not None else ()
    if not ranged or node.argument is None:
        raise NotInKernel(str(node))
    variable = _folded_list(node, ranged)
    argument, named = _of_one_element(node.argument, ranged)
    if len(named) != 1:
        raise NotInKernel(str(node))
    name = _iteration(next(iter(named)))
    if not _is_column(argument, name):
        raise NotInKernel(str(node))
    return variable, _is_running(ranged), argument, name


def _iteration(name: EventName) -> IterationName:
    assert isinstance(name, IterationName), "an element of the list"
    return name


def _folded_list(node: Aggregate, ranged: tuple[EveryElement, ...]) -> ListName:
    """The list that an aggregate is over: `b`, `k[i].b`; of `k[].b[]`, where each list is inside of the one
    before, `k`. Raises `NotInKernel`."""
    first = ranged[0]
    inside = all(
        isinstance(one.base, InnerVariable) and one.base.base == outer and one.upper is None
        for outer, one in pairwise(ranged)
    )
    variable = name_of(first.base)
    # A list that an iteration of any list around has, be it another one than that at hand.
    is_here = variable is not None and all(
        isinstance(one, str) or (isinstance(one, IterationName) and not one.lag)
        for one in list(around_of(variable))[1:]
    )
    if variable is None or not is_here or not inside or first.upper not in (None, Index("CURRENT", -1)):
        raise NotInKernel(str(node))
    return variable


def _types(is_called: bool) -> Mapping[DataType, str]:
    """The types that an aggregate can have in the kernel. Only functions of lists can return truth values."""
    return {**NUMBERS, BOOLEAN: "boolean"} if is_called else NUMBERS


def _is_column(argument: Expr, name: IterationName) -> bool:
    """Whether what a user's function is given is a column of events: whole events are none; and where an
    iteration has no event, the function is given NULL."""
    if any(isinstance(node, WholeEvent) for node in walk(argument)):
        return False
    return name.inner is None or is_null_without(argument, name)


def is_null_without(expression: Expr, name: EventName) -> bool:
    """Whether an expression over one event is NULL where there is none. What functions of users would give is
    not asked: they are NULL where an argument is, and may be anything else."""
    alone = renamed(expression, name, EVENT)
    if calls_declared(alone):
        alone = _without_null_calls(alone)
        if calls_declared(alone):
            return False
    return evaluate(alone, EvaluationContext({EVENT: None})) is None


def _without_null_calls(expression: Expr) -> Expr:
    """Functions of users that get NULL, where the event is not there, are NULL."""

    def change(node: Node) -> Node:
        changed = map_children(node, change)
        match changed:
            case e.Call(declared=e.DeclaredFunction() as function, arguments=arguments):
                is_null = any(is_null_without(argument, EVENT) for argument in arguments)
                return e.Literal(None, function.returns) if is_null else changed
        return changed

    changed = change(expression)
    assert isinstance(changed, Expr)
    return changed


def _of_one_element(argument: Expr, ranged: tuple[EveryElement, ...]) -> tuple[Expr, frozenset[EventName]]:
    """The argument with one element in the place of each list, and all that it names then."""

    def change(node: Node) -> Node:
        changed = map_children(node, change)
        if node in ranged:
            assert isinstance(changed, EveryElement)
            return ListElement(changed.base, Index("CURRENT"))
        return changed

    changed = change(argument)
    assert isinstance(changed, Expr)
    return changed, event_names(changed)


CHOSEN = ("first", "last", "max", "min")
"""Aggregates that are one of their values."""

COUNTS = ("count", "count_if", "regr_count")
TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
_NAMES = {"coalesce": "coalesce", "greatest": "greatest", "least": "least", "abs": "abs", "if": "if"}


@dataclass
class KernelValues:
    """Translates expressions. `absent` are variables that may have no event; `coded` collects the pairs of
    columns that are compared by the order of their values."""

    columns: EventColumns
    absent: frozenset[EventName]
    coded: list[tuple[str, ...]] = field(default_factory=list)
    folds: dict[str, ListFold] = field(default_factory=dict)
    anchor: EventName | None = None
    """While a condition is translated: one of its variables that has an event for sure."""

    whole: bool = False
    """While a condition is translated: whether it may ask for functions of whole lists, which are slow."""

    all_here: bool = False
    """Whether no condition can be left for complete matches."""

    def of_match(self, condition: e.Expr) -> Value:
        """A condition of the match itself; raises `NotInKernel` if it is left for complete matches. Of one on
        elements of lists in lists, it is not."""
        is_left = not self.all_here and len(ranges(condition)) < 2
        return self.value(condition) if is_left else self.judged_here(condition)

    def judged_here(self, condition: e.Expr) -> Value:
        """A condition as operations: on whole columns, or else on single values; raises `NotInKernel`. For
        conditions that cannot be left for complete matches."""
        outside, self.whole = self.whole, True
        folds, coded = dict(self.folds), list(self.coded)
        try:
            return self.value(condition)
        except NotInKernel:
            self.folds, self.coded = folds, coded
            if any(map(_is_elsewhere, event_names(condition))):
                raise
            return OneByOne(lowered(condition, partial(self._single, self._anchor(condition))))
        finally:
            self.whole = outside

    def _anchor(self, condition: e.Expr) -> EventName | None:
        """One of its variables that has an event for sure."""
        ranged = {name_of(node.base) for node in walk(condition) if isinstance(node, EveryElement)}
        names = (name for name in sorted(event_names(condition) - ranged, key=str))
        return next((name for name in names if not self._may_be_absent(name)), None)

    def _single(self, anchor: EventName | None, node: Node) -> Value | None:
        """The column of an attribute, for what is computed one by one; and of what depends on the time zone,
        which kernels do not get."""
        match node:
            case e.IsNull(e.WholeEvent(event), negated):
                there = ColumnValue(*self._named(event, e.Literal(True, BOOLEAN)))
                return Apply("isnotnull" if negated else "isnull", (there,))
            case e.Attribute(event) | e.EventTime(event) if _is_single(node.type):
                return ColumnValue(*self._named(event, node))
            case e.Attribute() | e.EventTime() | e.WholeEvent():
                raise NotInKernel(str(node))
            case e.Aggregate():
                return self._aggregate(node)
            case e.Call(function=function) if function is not None:
                raise NotInKernel(str(node))
            case e.Call(declared=e.DeclaredFunction() as declared, arguments=arguments):
                single = partial(self._single, anchor)
                return self._declared(declared, (lowered(one, single) for one in arguments))
            case e.Expr() if is_zoned(node):
                return self._zoned(node, anchor)
        return None

    def _aggregate(self, node: e.Aggregate) -> Value:
        try:
            if node.type not in (*NUMBERS, BOOLEAN):
                raise NotInKernel(str(node))
            return self._fold(node)
        except NotInKernel:
            return self._folded(value_fold(node, self.columns))

    def _zoned(self, node: e.Expr, anchor: EventName | None) -> ColumnValue | None:
        """A column that the engine computes; None if the parts of what several events have can be."""
        names = event_names(node)
        if len(names) > 1 or has_lists(node) or not _is_single(type_of(node)):
            if is_zoned_itself(node):
                raise NotInKernel(str(node))
            return None
        name = next(iter(names), anchor)
        if name is None or (self._may_be_absent(name) and not is_null_without(node, name)):
            raise NotInKernel(str(node))
        return ColumnValue(name, self.columns.column(node, name).name)

    def _named(self, event: e.EventRef, expression: Expr) -> tuple[EventName, str]:
        name = name_of(event)
        if name is None:
            raise NotInKernel(str(event))
        return name, self.columns.column(expression, name).name

    def value(self, expression: e.Expr) -> Value:
        """The expression as operations on columns; raises `NotInKernel`."""
        names = event_names(expression)
        if any(map(_is_elsewhere, names)):
            raise NotInKernel(str(expression))
        if self.anchor is not None or has_lists(expression):
            return self._value(expression, names)
        self.anchor = next((name for name in sorted(names, key=str) if not self._may_be_absent(name)), None)
        try:
            return self._value(expression, names)
        finally:
            self.anchor = None

    def _value(self, expression: e.Expr, names: Collection[EventName]) -> Value:
        if has_lists(expression):
            return self._operation(expression)
        if not names:
            return self._constant(expression)
        if len(names) == 1 and type_of(expression) in (*NUMBERS, BOOLEAN, *TIMES):
            return self._column(expression, next(iter(names)))
        return self._operation(expression)

    def _may_be_absent(self, name: EventName) -> bool:
        """Whether a name may have no event: a list that an iteration has may be empty."""
        return name in self.absent or (isinstance(name, ElementName) and not isinstance(name.list, str))

    def _constant(self, expression: e.Expr) -> Value:
        """The kernel does not get the session's time zone: what depends on it is a column, too. So is what
        calls functions of users, none of which is called while a query is planned."""
        if any(isinstance(node, e.Call) and node.name in SPATIAL for node in walk(expression)):
            return self._operation(expression)
        if not is_zoned(expression) and not calls_declared(expression):
            return _constant(evaluate(expression, EvaluationContext({})), expression)
        if self.anchor is None or type_of(expression) not in (*NUMBERS, BOOLEAN, *TIMES):
            raise NotInKernel(str(expression))
        form = NUMBER if type_of(expression) in TIMES else PLAIN
        return ColumnValue(self.anchor, self.columns.column(expression, self.anchor, form).name)

    def _column(self, expression: e.Expr, variable: EventName) -> Value:
        form = NUMBER if type_of(expression) in TIMES else PLAIN
        column = ColumnValue(variable, self.columns.column(expression, variable, form).name)
        if not self._may_be_absent(variable):
            return column
        if is_null_without(expression, variable):
            return column
        alone = without(renamed(expression, variable, EVENT), [EVENT])
        if alone is None:
            raise NotInKernel(str(expression))
        missing = self._constant(alone)
        there = self.columns.column(e.Literal(True, BOOLEAN), variable).name
        return Apply("case", (Apply("isnotnull", (ColumnValue(variable, there),)), column, missing))

    def _operation(self, node: e.Expr) -> Value:
        match node:
            case e.Binary(op, left, right) if op in e.COMPARISONS:
                return self._comparison(op, left, right)
            case e.IsDistinct(left, right, negated):
                equal = self._comparison("<=>", left, right)
                return equal if negated else _not(equal)
            case e.Between(operand, low, high, negated):
                both = (self._comparison(">=", operand, low), self._comparison("<=", operand, high))
                return _not(Apply("and", both)) if negated else Apply("and", both)
            case e.InList(operand, items, negated):
                any_of = Apply("or", tuple(self._comparison("=", operand, item) for item in items))
                return _not(any_of) if negated else any_of
            case e.Conjunction(operands):
                return Apply("and", self._all(operands))
            case e.Disjunction(operands):
                return Apply("or", self._all(operands))
            case e.Negation(operand):
                return _not(self.value(operand))
            case e.IsNull(e.WholeEvent(event), negated):
                there = ColumnValue(*self._named(event, e.Literal(True, BOOLEAN)))
                return Apply("isnotnull" if negated else "isnull", (there,))
            case e.IsNull(operand, negated):
                return Apply("isnotnull" if negated else "isnull", (self.value(operand),))
            case e.IsTruth(operand, value, negated):
                name = "isnull" if value is None else "istrue" if value else "isfalse"
                truth = Apply(name, (self.value(operand),))
                return _not(truth) if negated else truth
            case e.Aggregate():
                return self._fold(node)
        return self._number(node)

    def _fold(self, node: e.Aggregate) -> Value:
        """An aggregate over a list: numbers, and times as numbers."""
        if self.whole and node.type in TIMES:
            return self._folded(chosen_fold(node, self.columns, NUMBER))
        folded = list_fold(node, self.columns, self.whole)
        self.folds[folded.fold.name] = folded
        total = Total(folded.fold.name)
        # Of a list that is not there, nothing is counted.
        return Apply("coalesce", (total, Constant(0))) if folded.fold.function in COUNTS else total

    def _folded(self, folded: ListFold) -> Total:
        self.folds[folded.fold.name] = folded
        return Total(folded.fold.name)

    def _number(self, node: e.Expr) -> Value:
        kind = type_of(node)
        match node:
            case e.Binary("-", left, right) if kind == DAY_INTERVAL and _are_instants(left, right):
                return Apply("-", self._all(map(_clock, (left, right))), "bigint")
            case e.Binary(op, left, right) if op in e.ARITHMETIC and kind in NUMBERS:
                return Apply(op, self._all((left, right)), NUMBERS[kind])
            case e.Unary("-", operand) if kind in NUMBERS:
                return Apply("neg", (self.value(operand),), NUMBERS[kind])
            case e.Unary("+", operand):
                return self.value(operand)
            case e.Cast(operand, to) if to in NUMBERS and type_of(operand) in NUMBERS:
                return Apply("cast", (self.value(operand),), NUMBERS[to])
            case e.Call(declared=e.DeclaredFunction() as function, arguments=arguments):
                types = (*function.takes, function.returns)
                if all(type in (*NUMBERS, BOOLEAN) for type in types):
                    return self._declared(function, self._all(arguments))
            case e.Call(name, arguments) if name in SPATIAL and kind in (DOUBLE, BOOLEAN):
                return Apply(name, self._spatial(name, arguments), NUMBERS.get(kind, "boolean"))
            case e.Call(name, arguments) if name in _NAMES and kind in (*NUMBERS, BOOLEAN):
                return Apply(_NAMES[name], self._all(arguments), NUMBERS.get(kind, "boolean"))
            case e.Case(None, whens, otherwise) if kind in (*NUMBERS, BOOLEAN):
                parts = [part for when in whens for part in (when.condition, when.result)]
                last = Constant(None) if otherwise is None else self.value(otherwise)
                return Apply("case", (*self._all(parts), last), NUMBERS.get(kind, "boolean"))
        raise NotInKernel(str(node))

    def _declared(self, function: e.DeclaredFunction, operands: Iterable[Value]) -> Value:
        """A function of users over several events: of whole columns of numbers and truth values; or of all
        that is computed one by one, of any values."""
        if function.python is None:
            raise NotInKernel(function.name)
        takes, returns = tuple(map(str, function.takes)), function.returns
        return ApplyDeclared(function.name, tuple(operands), value_type(returns), takes, str(returns))

    def _spatial(self, name: str, arguments: tuple[e.Expr, ...]) -> tuple[Value, ...]:
        """The arguments of a function of geometries: geometries are texts, which the kernel reads once."""
        kinds = SPATIAL[name].takes
        if "l" in kinds:
            raise NotInKernel(name)
        return tuple(
            self.value(one) if kind == "n" else self._geometry(one)
            for kind, one in zip(kinds, arguments, strict=False)
        )

    def _geometry(self, expression: e.Expr) -> Value:
        names = event_names(expression)
        match expression:
            case e.Literal(str(text)):
                return Constant(text)
            case e.Call(name, arguments) if (
                name in SPATIAL and len(names) != 1 and type_of(expression) == GEOMETRY
            ):
                return Apply(name, self._spatial(name, arguments), "geometry")
        if len(names) != 1 or has_lists(expression) or any(map(_is_elsewhere, names)):
            raise NotInKernel(str(expression))
        (variable,) = names
        if self._may_be_absent(variable) and not is_null_without(expression, variable):
            raise NotInKernel(str(expression))
        return ColumnValue(variable, self.columns.column(expression, variable, PLACE).name)

    def _all(self, operands: Iterable[e.Expr]) -> tuple[Value, ...]:
        return tuple(self.value(operand) for operand in operands)

    def _comparison(self, op: str, left: e.Expr, right: e.Expr) -> Value:
        kind = type_of(left)
        if kind in (*NUMBERS, BOOLEAN, *TIMES, DAY_INTERVAL):
            return Apply(op, self._all((left, right)))
        if not isinstance(kind, Decimal) and kind not in (STRING, BINARY):
            raise NotInKernel(str(left))
        (one, first), (other, second) = self._code(left), self._code(right)
        self.coded.append((first, second))
        return Apply(op, (one, other))

    def _code(self, expression: e.Expr) -> tuple[Value, str]:
        """A value of a column that is compared by the order of its values, and the column. One of an absent
        event is NULL."""
        names = event_names(expression)
        if self.whole and isinstance(expression, e.Aggregate):
            folded = chosen_fold(expression, self.columns, CODE)
            return self._folded(folded), str(folded.fold.column)
        if len(names) != 1 or has_lists(expression):
            raise NotInKernel(str(expression))
        variable = next(iter(names))
        if self._may_be_absent(variable) and not is_null_without(expression, variable):
            raise NotInKernel(str(expression))
        column = self.columns.column(expression, variable, CODE).name
        return ColumnValue(variable, column), column


def _is_single(type: DataType) -> bool:
    """Whether workers have the values of a type one by one."""
    return isinstance(type, Decimal) or type in (*NUMBERS, BOOLEAN, STRING, BINARY, GEOMETRY, *TIMES)


def _is_elsewhere(name: EventName) -> bool:
    """Whether a name is one of each element of a list that only a certain iteration has: `k[last].b[i]`."""
    around = list(around_of(name))
    return any(
        isinstance(inner, IterationName) and (isinstance(outer, ElementName) or _lag(outer))
        for inner, outer in pairwise(around)
    )


def _lag(name: EventName) -> int:
    return name.lag if isinstance(name, IterationName) else 0


def _not(value: Value) -> Value:
    return Apply("not", (value,))


def _are_instants(left: e.Expr, right: e.Expr) -> bool:
    return type_of(left) == type_of(right) and type_of(left) in (TIMESTAMP, TIMESTAMP_NTZ)


def _clock(operand: e.Expr) -> e.Expr:
    """The operand of a subtraction: as in Spark, the local time of the session, which Spark computes."""
    return e.Cast(operand, TIMESTAMP_NTZ, implicit=True) if type_of(operand) == TIMESTAMP else operand


def _constant(value: object, expression: e.Expr) -> Constant:
    match value:
        case None | bool() | int() | float():
            return Constant(value)
        case timedelta():
            return Constant(value // timedelta(microseconds=1))
    raise NotInKernel(str(expression))


def groups(pairs: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Columns that are compared, directly or through others, are coded together.

    >>> groups([("a", "b"), ("c", "d"), ("b", "e")])
    (('a', 'b', 'e'), ('c', 'd'))
    """
    joined_groups: list[list[str]] = []
    for pair in pairs:
        touched = [group for group in joined_groups if set(group) & set(pair)]
        joined = [name for group in touched for name in group] + list(pair)
        joined_groups = [group for group in joined_groups if group not in touched] + [
            list(dict.fromkeys(joined))
        ]
    return tuple(tuple(group) for group in sorted(joined_groups))
