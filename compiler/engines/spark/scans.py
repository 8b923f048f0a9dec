"""What is read of each stream: events of the pattern's types that can play a role, and the columns that are
used."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import product

from neelc.engines.spark.relations import Let, SelectColumns, Union
from neelc.ir.expressions import (
    Attribute,
    Binary,
    EventTime,
    Expr,
    InList,
    IsNull,
    Literal,
    Variable,
    WholeEvent,
)
from neelc.ir.names import bare, find, is_quoted, written
from neelc.ir.program import Clock, Column, Match, Member, Stream
from neelc.ir.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    DataType,
    Map,
    Struct,
)
from neelc.pattern.plan.blocks import renamed
from neelc.pattern.plan.columns import ENDLESS, EVENT, NUMBER, EventColumn, order_names
from neelc.pattern.plan.kernel_plan import KeyColumn
from neelc.pattern.plan.plan import Role
from neelc.runtime.kernels.rules.program import BITS, word_name
from neelc.runtime.kernels.snapshots.program import FOREVER
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import TIME_WEIGHTS, EventName
from neelc.scalar.spark.expressions import as_number, as_time, sql, with_room
from neelc.scalar.spark.trees import identifier, literal, spark_type
from neelc.scalar.type_of import DATETIMES

MOST_BEGINNINGS = 8
"""Up to this many beginnings, a scan filters by the first letter of its types."""

MOST_BRANCHES = 6
"""Up to this many roles, a scan filters by the comparisons of its roles, to skip blocks of rows."""


OBSERVED = "neelc "
"""What the names of metrics begin with that count the events of a stream: its name follows."""


@dataclass(frozen=True)
class ScanRequest:
    """What a strategy reads of the events of a query. `everything`: events without a role are read too;
    `computed`: Spark adds windows to their times, which must leave room for that.

    `observed`: the events of each stream are counted before those without a role are left out. On a stream
    without end this holds back Spark's optimiser, too: it would filter events before the watermark is
    computed, and where only others come, time would stand still."""

    query: Match
    unit: str
    roles: tuple[Role, ...]
    columns: tuple[EventColumn, ...]
    keys: tuple[KeyColumn, ...] = ()
    lasting: bool = False
    everything: bool = False
    computed: bool = False
    observed: bool = False
    shapes: tuple[str, ...] = ()

    @property
    def words(self) -> int:
        """How many columns of bits the roles need."""
        return max(1, -(-len(self.roles) // BITS))


@dataclass(frozen=True)
class StreamRelations:
    """Where streams come from: the relation of each, and the unit and the clock in which the times of earlier
    queries are."""

    names: Mapping[str, str]
    units: Mapping[str, str]
    clocks: Mapping[str, Clock] = field(default_factory=dict)

    def number(self, text: str, query: str, unit: str, clock: Clock) -> str:
        """A time of an earlier query, which comes as a number, for a query with another unit and clock."""
        own = self.units[query]
        if self.is_zoned(query, clock):
            before = self.clocks[query]
            return as_number(as_time(text, own, before), before.type, "", unit, clock)
        return as_number(text, BIGINT, own, unit)

    def is_zoned(self, query: str, clock: Clock) -> bool:
        """Whether times of an earlier query become instants only by the time zone of the session."""
        own = self.clocks.get(query, clock)
        return clock.type == TIMESTAMP and own.type in (DATE, TIMESTAMP_NTZ)


def scans(request: ScanRequest, sources: StreamRelations, taken: set[str]) -> Iterator[Let]:
    """The relations that read all streams; the last of them, `events`, has all events."""
    read = [stream for stream in request.query.streams if request.everything or _members(request, stream)]
    names = []
    for stream in read:
        name = free(f"{sources.names[stream.name]}_events" if len(read) > 1 else "events", taken)
        names.append(name)
        yield Let(name, _scan(request, stream, sources), _comment(request, stream))
    if len(names) > 1:
        yield Let(free("events", taken), Union(tuple(names)), "All events together.")


def free(name: str, taken: set[str]) -> str:
    """A name that is not taken, and taken from now on."""
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    taken.add(candidate)
    return candidate


def variable_name(name: str) -> str:
    """A name for a Python variable.

    >>> variable_name("Trades"), variable_name("2 fast"), variable_name("class")
    ('trades', 'stream_2_fast', 'stream_class')
    """
    plain = re.sub(r"\W", "_", name.lower(), flags=re.ASCII)
    safe = plain.isidentifier() and not keyword.iskeyword(plain) and not plain.startswith("__")
    return plain if safe else f"stream_{plain}"


def _members(request: ScanRequest, stream: Stream) -> list[Member]:
    used = {role.type for role in request.roles}
    types = [known for known in request.query.types if known.name in used]
    return [member for known in types for member in known.members if member.stream == stream.name]


def _comment(request: ScanRequest, stream: Stream) -> str:
    if request.everything:
        return f"All events of {stream.name}: those of other types count too."
    types = dict.fromkeys(bare(m.value) for m in _members(request, stream) if m.value is not None)
    listed = f"events of {', '.join(types)}" if types else "all events"
    return f"{stream.name}: {listed} that can be part of a match."


def _scan(request: ScanRequest, stream: Stream, sources: StreamRelations) -> SelectColumns:
    on = _Events(stream, sources, request)
    having = ["start IS NOT NULL"]
    if request.lasting:
        having.append("start <= `end`")
    if not request.everything:
        having += [_has_any_role(request)] if request.observed or on.may_have_no_role() else []
    where = None if request.everything or request.observed else on.where()
    observed = f"{OBSERVED}{stream.name}" if request.observed else None
    items = tuple(on.items())
    return SelectColumns(sources.names[stream.name], items, where, " AND ".join(having), observed=observed)


def _has_any_role(request: ScanRequest) -> str:
    tests = [f"{word_name(word)} <> 0" for word in range(request.words)]
    return tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})"


def member_test(stream: Stream, members: Sequence[Member]) -> str | None:
    """The condition that an event of a stream is one of its members; None if all events are."""
    if any(member.value is None for member in members):
        return None
    column = identifier(stream.type_column or "")
    exact = dict.fromkeys(bare(m.value or "") for m in members if is_quoted(m.value or ""))
    loose = dict.fromkeys((m.value or "").casefold() for m in members if not is_quoted(m.value or ""))
    texts = [_one_of(column, list(exact)), _one_of(f"lower({column})", list(loose))]
    return " OR ".join(text for text in texts if text) or "FALSE"


@dataclass(frozen=True)
class StreamColumns:
    """What conditions read of one stream's events: its columns, as Spark SQL."""

    stream: Stream
    sources: StreamRelations

    def is_member(self, members: list[Member]) -> str | None:
        """The condition that an event is of one of these types; None if all events are."""
        return member_test(self.stream, members)

    def sql(self, expression: Expr, variable: EventName) -> str:
        return sql(renamed(expression, variable, EVENT), self._reference)

    @cached_property
    def _columns(self) -> dict[str, Column]:
        return {written(column.name): column for column in self.stream.columns}

    def _reference(self, node: Expr) -> str | None:
        match node:
            case IsNull(WholeEvent(Variable()), negated):  # it is there
                return "true" if negated else "false"
            case Attribute(Variable(), name, type):
                columns = self._columns
                column = name if name in columns else find(name, columns)
                if column is None:
                    return f"CAST(NULL AS {spark_type(type)})"
                return _as_type(identifier(columns[column].name), columns[column].type, type)
            case EventTime(Variable(), name, type):
                is_start = bare(name).lower() == "ts"
                column_name = self.stream.start if is_start else self._last
                if self.stream.query is not None:
                    unit = None if type in DATETIMES else self.stream.unit
                    own = self.sources.units[self.stream.query]
                    clock = Clock(type, unit)
                    if self.sources.is_zoned(self.stream.query, clock):
                        clock = self.sources.clocks[self.stream.query]
                    shown = _as_type(as_time(self._number(column_name), own, clock), clock.type, type)
                    if self._is_open(column_name):
                        return f"IF({number_of(column_name)} = {FOREVER}L, NULL, {shown})"
                    return shown
                return _as_type(identifier(column_name), self._type(column_name), type)
        return None

    @property
    def _last(self) -> str:
        """The column with the end of events, or with the latest time that is possible."""
        return self.stream.latest or self.stream.end or self.stream.start

    def _is_open(self, name: str) -> bool:
        """Whether a column has the first instant at which an event is no longer valid; it may have none."""
        return self.stream.half_open and name == self.stream.end

    def _number(self, name: str) -> str:
        """A time of a query's result, in its own unit: of the end the last instant."""
        return f"({number_of(name)} - 1L)" if self._is_open(name) else number_of(name)

    def _type(self, name: str) -> DataType:
        return next((column.type for column in self.stream.columns if column.name == name), BIGINT)


@dataclass(frozen=True)
class _Events(StreamColumns):
    """The columns of one stream's events that are requested."""

    request: ScanRequest

    def items(self) -> Iterator[tuple[str, str]]:
        yield self._time(self.stream.start), "start"
        if self.request.lasting:
            yield self._time(self._last), "end"
        yield from ((self._shape(name), name) for name in self.request.shapes)
        yield from zip(self._order(), order_names(self.request.query), strict=True)
        yield from ((self._roles_read(word), word_name(word)) for word in range(self.request.words))
        yield from ((self._key(key), key.name) for key in self.request.keys if not key.is_column)
        for column in self.request.columns:
            yield self._column(column), column.name

    def _shape(self, name: str) -> str:
        """How likely the times of an event are: the name of a distribution, or weights; NULL if equally."""
        if name == TIME_WEIGHTS:
            column = self.stream.weights
            return f"CAST({identifier(column) if column else 'NULL'} AS ARRAY<DOUBLE>)"
        if self.stream.shape_column:
            return identifier(self.stream.shape_column)
        return literal(self.stream.shape, STRING) if self.stream.shape else "CAST(NULL AS STRING)"

    def _roles(self, word: int) -> str:
        """The roles that an event can play, as bits: looked up by its type where each event has one."""
        own = [role for role in self._own if role in self._words[word]]
        wanted = {member for role in own for member in self._members_of(role.type)}
        members = [member for member in _members(self.request, self.stream) if member in wanted]
        if not members:
            return "0"
        if any(member.value is None or is_quoted(member.value) for member in members):
            return " + ".join(self._role(role, self.is_member(self._members_of(role.type))) for role in own)
        types = dict.fromkeys((member.value or "").casefold() for member in members)
        whens = [f"WHEN {literal(type, STRING)} THEN {self._roles_of(type, own)}" for type in types]
        return f"CASE lower({identifier(self.stream.type_column or '')}) {' '.join(whens)} ELSE 0 END"

    @cached_property
    def _words(self) -> list[frozenset[Role]]:
        roles = self.request.roles
        return [frozenset(roles[first : first + BITS]) for first in range(0, max(1, len(roles)), BITS)]

    def _roles_read(self, word: int) -> str:
        """The same; none, where events are not filtered before, for those that the filter would leave out."""
        where = self.where() if self.request.observed and not self.request.everything else None
        return self._roles(word) if where is None else f"IF({where}, {self._roles(word)}, 0)"

    def may_have_no_role(self) -> bool:
        """Whether an event of the types that are read can have no role: then that is a test of its own."""
        roles = [self._roles(word) for word in range(self.request.words)]
        return len(roles) > 1 or "IF(" in roles[0] or roles[0] == "0"

    @cached_property
    def _own(self) -> list[Role]:
        return [role for role in self.request.roles if self._members_of(role.type)]

    def _roles_of(self, type: str, own: Sequence[Role]) -> str:
        """Which of these roles events of one value of the type column can play."""
        able = [role for role in own if type in self._values[role.type]]
        return " + ".join(self._role(role, None) for role in able)

    @cached_property
    def _values(self) -> dict[str, frozenset[str]]:
        """The values of the type column that events of each type have, in lower case."""
        names = dict.fromkeys(role.type for role in self._own)
        return {name: frozenset((m.value or "").casefold() for m in self._members_of(name)) for name in names}

    def _role(self, role: Role, is_member: str | None) -> str:
        bit = role_bit(self.request.roles, role.name)
        common = self._common
        tests = [c for c in (self.sql(c, role.variable) for c in role.conditions) if c not in common]
        all_tests = [test for test in (is_member, *tests) if test]
        known = all_tests if len(all_tests) == 1 else [f"({test})" for test in all_tests]
        return f"IF({' AND '.join(known)}, {bit}, 0)" if known else bit

    @cached_property
    def _common(self) -> list[str]:
        """Conditions that every role requires: an event that does not meet them is not read at all."""
        if self.request.everything:
            return []
        first, *others = ([self.sql(c, role.variable) for c in role.conditions] for role in self._own)
        return [
            condition for condition in dict.fromkeys(first) if all(condition in other for other in others)
        ]

    def where(self) -> str | None:
        """The condition that an event is of one of the pattern's types, and can play a role at all."""
        members = _members(self.request, self.stream)
        tests = (self._may_be(members), self.is_member(members), *self._common, self._compared())
        distinct = dict.fromkeys(test for test in tests if test)
        return " AND ".join(f"({test})" if " OR " in test else test for test in distinct) or None

    def _compared(self) -> str | None:
        """One of what the roles compare with constants, if all do: sources skip blocks of rows by that."""
        roles = self._own
        tests = [self._comparisons(role) for role in roles]
        if len(roles) > MOST_BRANCHES or not all(tests):
            return None
        return _any_of(list(dict.fromkeys(" AND ".join(several) for several in tests)))

    def _comparisons(self, role: Role) -> list[str]:
        """The conditions of a role alone that compare a column with constants."""
        texts = [self.sql(one, role.variable) for one in role.conditions if is_comparison(one)]
        common = self._common
        return [text for text in texts if text not in common]

    def _may_be(self, members: list[Member]) -> str | None:
        """What the types of events begin with, in all spellings: sources can skip blocks of rows by that, but
        not by `lower`. None where it would say nothing new."""
        loose = [m.value for m in members if m.value is not None and not is_quoted(m.value)]
        if not loose or any(member.value is None for member in members):
            return None
        column = self.stream.type_column or ""
        beginnings = beginnings_of(loose) if self._type(column) == STRING else None
        if beginnings is None:
            return None
        # Not `kind = 'X'`: Spark would take that out of the condition beside this one, and push neither down.
        exact = [bare(m.value or "") for m in members if is_quoted(m.value or "")]
        texts = [
            f"startswith({identifier(column)}, {literal(text, STRING)})"
            for text in dict.fromkeys((*exact, *beginnings))
        ]
        return " OR ".join(texts)

    def _members_of(self, type: str) -> list[Member]:
        return self._members_by_type.get(type, [])

    @cached_property
    def _members_by_type(self) -> dict[str, list[Member]]:
        return {
            known.name: [member for member in known.members if member.stream == self.stream.name]
            for known in reversed(self.request.query.types)
        }

    def _column(self, column: EventColumn) -> str:
        type = spark_type(BIGINT if column.form == NUMBER else column.type)
        # Where all events count, those of streams without a type of the pattern have a key, too.
        counts = self.request.everything and column.name in [key.name for key in self.request.keys]
        if not counts and not any(self._members_of(known) for known in column.types):
            return f"CAST(NULL AS {type})"
        text = self.sql(column.expression, EVENT)
        if column.form == NUMBER:
            unit = "DAY" if column.type == DATE else "MICROSECOND"
            return as_number(text, column.type, unit, unit)
        return text

    def _key(self, key: KeyColumn) -> str:
        """What events are partitioned by; for events of different types it may be something else."""
        branches = []
        for term, types in key.terms:
            members = [member for type in types for member in self._members_of(type)]
            if members:
                branches.append((self.is_member(members), self._normal(self.sql(term, EVENT), key.type)))
        if not branches and self.request.everything and len(key.terms) == 1:
            return self._normal(self.sql(key.terms[0][0], EVENT), key.type)
        if not branches:
            return f"CAST(NULL AS {spark_type(key.type)})"
        if len(branches) == 1:
            return branches[0][1]
        whens = " ".join(f"WHEN {test or 'TRUE'} THEN {text}" for test, text in branches)
        return f"CASE {whens} END"

    def _normal(self, text: str, type: DataType) -> str:
        """Equal numbers must be equal as keys: zero has two forms, and NaN many."""
        return f"nanvl({text} + 0.0D, double('NaN'))" if type in (FLOAT, DOUBLE) else text

    def _order(self) -> Iterator[str]:
        """What orders events of the same time."""
        for name, kind in zip(self.stream.then_by, self.request.query.order_types, strict=True):
            yield _as_type(identifier(name), self._type(name), kind)

    def start(self) -> str:
        return self._time(self.stream.start)

    def last(self) -> str:
        last = self._time(self._last)
        return f"IF({last} = {ENDLESS}L, {self.start()}, {last})" if self._is_open(self._last) else last

    def _time(self, name: str) -> str:
        clock = self.request.query.clock
        if self.stream.query is not None:  # a query's own times come as numbers already
            number = self.sources.number(self._number(name), self.stream.query, self.request.unit, clock)
            own = self.sources.clocks.get(self.stream.query, clock)
            number = self._with_room(number, own.type, self.sources.units[self.stream.query])
            if self._is_open(name):
                return f"IF({number_of(name)} = {FOREVER}L, {ENDLESS}L, {number})"
            return number
        number = as_number(identifier(name), self._type(name), self.stream.unit, self.request.unit, clock)
        return self._with_room(number, self._type(name), self.stream.unit)

    def _with_room(self, number: str, type: DataType, unit: str) -> str:
        return with_room(number, type, unit, self.request.unit) if self.request.computed else number


def event_times(query: Match, stream: Stream, sources: StreamRelations, unit: str) -> tuple[str, str]:
    """When an event of a stream starts, and the last that is known of it: its end, or its start if it has
    none. As numbers of units."""
    on = _Events(stream, sources, ScanRequest(query, unit, (), ()))
    return on.start(), on.last()


def beginnings_of(types: Sequence[str]) -> list[str] | None:
    """How values of a type column can begin that are one of these names, whatever their case; None if there
    are too many ways. Names without quotes are of ASCII letters, digits and `_`.

    >>> beginnings_of(["Up"]), beginnings_of(["k_1"])
    (['UP', 'Up', 'uP', 'up'], ['K_', 'k_', '\u212a_'])
    >>> beginnings_of(["Login", "logout", "Transfer"])
    ['L', 'l', 'T', 't']
    """
    if not "".join(types).isascii():
        return None
    for length, most in ((2, 4), (1, MOST_BEGINNINGS)):
        ways = (product(*map(_spellings, type[:length])) for type in types)
        beginnings = dict.fromkeys("".join(letters) for several in ways for letters in several)
        if len(beginnings) <= most:
            return list(beginnings)
    return None


def _spellings(letter: str) -> Iterable[str]:
    """The characters that `lower` makes this letter of; the sign of kelvin is a k."""
    more = ["\u212a"] if letter.lower() == "k" else []
    return dict.fromkeys((letter.upper(), letter.lower(), *more))


def is_comparison(condition: Expr) -> bool:
    """Whether a condition compares a column with constants, as sources do for blocks of rows.

    >>> from network_examples import condition
    >>> [is_comparison(condition(text)) for text in ("s.x > 1", "2 = s.x", "s.x IN (1, 2)", "s.x > s.y")]
    [True, True, True, False]
    """
    match condition:
        case Binary("=" | "<" | "<=" | ">" | ">=", left, right):
            kinds = {type(left), type(right)}
            return kinds == {Attribute, Literal}
        case InList(Attribute(), items, False):
            return all(isinstance(item, Literal) for item in items)
    return False


def role_bit(roles: Sequence[Role], name: str) -> str:
    """The bit of a role in the column `roles`, which is a BIGINT where an INT has too few."""
    number = next(place for place, role in enumerate(roles) if role.name == name)
    return f"{2 ** (number % BITS)}{'L' if len(roles) > 30 else ''}"


def has_role(roles: Sequence[Role], name: str, column: str = "roles") -> str:
    """The condition that an event can play a role."""
    return f"{column} & {role_bit(roles, name)} <> 0"


def number_of(name: str) -> str:
    """The column of a query's result that has `match_start` or `match_end` as a number."""
    return identifier(f"{name}_number")


def _as_type(text: str, have: DataType, want: DataType) -> str:
    return text if have == want else f"CAST({text} AS {spark_type(want)})"


def _any_of(texts: Sequence[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    return " OR ".join(f"({text})" if " AND " in text else text for text in texts)


def _one_of(text: str, values: list[str]) -> str:
    if not values:
        return ""
    if len(values) == 1:
        return f"{text} = {literal(values[0], STRING)}"
    return f"{text} IN ({', '.join(literal(value, STRING) for value in values)})"


# Values of text files in Spark SQL, as the reference interpreter would read them.


def csv_options(path: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options of Spark's CSV reader: there is a header, and quotes inside quotes are doubled.

    >>> csv_options("a.tsv", {"quote": "'"})
    {'header': 'true', 'escape': "'", 'sep': '\\t', 'quote': "'"}
    """
    known = {"header": "true", "escape": options.get("quote", '"')}
    if path.lower().endswith(".tsv"):
        known["sep"] = "\t"
    return known | {key: value.replace("\\t", "\t") for key, value in options.items()}


def value_of(column: str, type: DataType, stream: str) -> str:
    """Spark SQL for the value of a column of texts; what does not fit its type fails the run.

    >>> value_of("sym", STRING, "trades")
    'sym'
    """
    text = identifier(column)
    if type == STRING:
        return text
    complaint = _literal(f"` is not of type {type} (column `{column}` of stream `{stream}`)")
    refusal = f"raise_error(concat('NEEL5003: `', {text}, {complaint}))"
    # `null` is JSON for NULL.
    is_json = isinstance(type, Array | Map | Struct)
    is_null = f"{text} IS NULL" + (f" OR trim({text}) = 'null'" if is_json else "")
    return f"coalesce({_cast(text, type)}, IF({is_null}, NULL, {refusal}))"


def by_format(column: str, pattern: str, stream: str) -> str:
    """Spark SQL for the TIMESTAMP that a text stands for by a pattern; a TIMESTAMP stays what it is."""
    text = identifier(column)
    wrong = _literal(f"` is not written as {pattern} (column `{column}` of stream `{stream}`)")
    refusal = f"raise_error(concat('NEEL5003: `', {text}, {wrong}))"
    read = f"CAST(try_to_timestamp({text}, {_literal(pattern)}) AS TIMESTAMP)"
    return f"coalesce({read}, IF({text} IS NULL, NULL, {refusal}))"


def _cast(text: str, type: DataType) -> str:
    if isinstance(type, Array | Map | Struct):
        return f"from_json({text}, {_literal(str(type))})"
    if type == BOOLEAN:  # Spark also takes yes, t and 1 for TRUE
        return f"CASE lower(trim({text})) WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END"
    return f"try_cast(trim({text}) AS {type})"


def _literal(text: str) -> str:
    r"""A string of Spark SQL. Quotes and backslashes are given by their codes: how they are escaped depends
    on spark.sql.parser.escapedStringLiterals. So are dollars: Spark replaces `${env:HOME}` before it reads.

    >>> print(_literal("it's"))
    concat('it', char(39), 's')
    """
    parts: list[str] = []
    plain = ""
    for character in text:
        if character in "'\\$":
            parts += [f"'{plain}'", f"char({ord(character)})"]
            plain = ""
        else:
            plain += character
    parts.append(f"'{plain}'")
    return f"concat({', '.join(parts)})" if len(parts) > 1 else parts[0]
