"""Several texts as one script: files of a directory, or rules in a dictionary. Each query is a rule.

Each text is read alone, and all are bound together, as one text in which every message is told in terms of
the file that it is about. An error in a rule does not stop the others: the rule is left out, and so are those
that read it.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

from neelc.errors import Diagnostic, NeelError
from neelc.files import CallError, read_source, script_files
from neelc.ir.names import Identifier, bare, find, quote, same
from neelc.ir.node import Node, walk
from neelc.ir.patterns import Event
from neelc.ir.program import Program
from neelc.ir.script import (
    CreateFunction,
    CreateHierarchy,
    CreateQuery,
    CreateStream,
    CreateType,
    FromStream,
    HostSelect,
    PatternQuery,
    RunQuery,
    Script,
    Statement,
    UnreadStatement,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source, Span
from neelc.syntax import read
from neelc.syntax.host_tokens import tokens

BETWEEN = "\n;\n"
"""Between two texts: the last statement of a text may have no semicolon."""

UNNAMED = "rule of "
"""What the name begins with that a query without a name has while it is bound. Nobody can read it: a file is
often called as a type of events, which the rules of other files mean."""


@dataclass(frozen=True)
class RuleText:
    """A text with rules. `name` is for messages; a query without a name is called `label`, and if there are
    several, label_1, label_2, ... Paths in it are relative to its `directory`, if it has one."""

    text: str
    name: str
    label: str
    directory: Path | None = None


@dataclass(frozen=True)
class JoinedScript:
    """Texts as one script; `starts` are the places in the text of `source` at which each of them begins."""

    texts: tuple[RuleText, ...]
    source: Source
    starts: tuple[int, ...]
    script: Script

    def located(self, error: NeelError) -> list[NeelError]:
        """The errors of each text, in terms of that text."""
        if isinstance(error, RuleErrors):
            return list(error.errors)
        if error.source is not self.source:
            return [error]
        found: dict[int, list[Diagnostic]] = {}
        for one in error.diagnostics:
            place = self.place_of(one.span)
            found.setdefault(place, []).append(moved(one, -self.starts[place]))
        return [
            NeelError(diagnostics, Source(self.texts[place].text, self.texts[place].name))
            for place, diagnostics in sorted(found.items())
        ]

    def place_of(self, span: Span) -> int:
        """The number of the text that a place is in."""
        return max(0, bisect_right(self.starts, span.start) - 1)

    def rule_name(self, statement: Statement) -> str | None:
        """What the rule of a statement is called; None for a declaration."""
        match statement:
            case CreateQuery(name):
                return rule_name(bare(name))
            case UnreadStatement(declares=name) if not _is_declaration(statement, self.source):
                return bare(name) if name else self._place_name(_span(statement))
        return None

    def _place_name(self, span: Span) -> str:
        """The file and the line of a place."""
        text = self.texts[(place := self.place_of(span))]
        line = Source(text.text, text.name).position(span.start - self.starts[place]).line
        return f"{text.name}:{line}"

    @property
    def rule_names(self) -> tuple[str, ...]:
        """The names of all rules, also of those that cannot be read."""
        names = (self.rule_name(statement) for statement in self.script.statements)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def only(self, names: Sequence[str]) -> JoinedScript:
        """The rules of these names, and those that they read; raises `CallError` for a name that none has."""
        known = self.rule_names
        required = set[str]()
        for name in names:
            found = find(name, known)
            if found is None:
                raise CallError(f"no rule {name}; rules: {', '.join(known)}")
            required.add(found)
        kept: list[Statement] = []
        concepts = _concepts(self.script)
        for statement in reversed(self.script.statements):
            own = self.rule_name(statement)
            if own is None or own in required:
                kept.append(statement)
                read_here = [] if own is None else names_read(statement, concepts)
                required |= {other for other in known if find(other, read_here) is not None}
        return replace(self, script=replace(self.script, statements=tuple(reversed(kept))))


def rule_name(name: str) -> str:
    """The name of a rule, by the bare name that its query was bound with.

    >>> rule_name("rule of burst"), rule_name("Burst")
    ('burst', 'Burst')
    """
    return name.removeprefix(UNNAMED)


def moved(value: Any, by: int) -> Any:
    """A value, a tree for instance, that stands somewhere else: all places in it are moved by so many
    characters.

    >>> moved(Span(3, 5), 10), moved((Identifier("a", Span(0, 1)),), 4)[0].span
    (Span(start=13, end=15), Span(start=4, end=5))
    """
    match value:
        case Span(start, end):
            return Span(start + by, end + by)
        case Identifier():
            return Identifier(str(value), moved(value.span, by))
        case tuple():
            return tuple(moved(one, by) for one in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    return replace(value, **{slot.name: moved(getattr(value, slot.name), by) for slot in fields(value)})


# Texts of files and of callers.


def rule_files(paths: Sequence[str | Path]) -> list[RuleText]:
    """The texts of files, and of all *.neel files below directories; `-` is standard input."""
    texts = []
    for file in script_files(paths):
        source = read_source(str(file))
        label = "rule" if source.name == "<stdin>" else file.stem
        texts.append(RuleText(source.text, source.name, label, file.parent))
    return texts


def rule_texts(rules: object) -> list[RuleText]:
    """Texts as a caller gives them: a script, a path, a dictionary of names and scripts, or several of
    these.

    >>> [text.label for text in rule_texts({"burst": "PATTERN A a", "calm": "PATTERN B b"})]
    ['burst', 'calm']
    """
    match rules:
        case RuleText():
            return [rules]
        case Path():
            return rule_files([rules])
        case str() if _is_path(rules):
            return rule_files([rules])
        case str():
            return [RuleText(rules, "rules", "rule")]
        case Mapping():
            for name, text in rules.items():
                if not isinstance(name, str) or not isinstance(text, str):
                    raise TypeError("rules: a dictionary of names and texts")
            return [RuleText(text, name, name) for name, text in rules.items()]
        case Sequence():
            return [text for one in rules for text in rule_texts(one)]
    raise TypeError(f"rules: texts, paths, or a dictionary of names and texts, not {type(rules).__name__}")


def _is_path(text: str) -> bool:
    """Whether a text names a file or a directory, not the script itself.

    >>> _is_path("rules/burst.neel"), _is_path("rules/"), _is_path("PATTERN A a WHERE a.x / a.y > 1")
    (True, True, False)
    """
    if "\n" in text or len(text) > 1000:
        return False
    return text.endswith((".neel", "/")) or (bool(text) and Path(text).exists())


# One script.


def joined(texts: Sequence[RuleText]) -> JoinedScript:
    """Texts as one script. A stream or type that several texts declare in the same way is declared once.

    >>> one, two = RuleText("PATTERN A a", "one.neel", "one"), RuleText("PATTERN B b;", "two.neel", "two")
    >>> joined([one, two]).rule_names
    ('one', 'two')
    """
    starts, place = [], 0
    for text in texts:
        starts.append(place)
        place += len(text.text) + len(BETWEEN)
    name = texts[0].name if len(texts) == 1 else "rules"
    whole = Source(BETWEEN.join(text.text for text in texts), name)
    # One by one: a quote or a comment that is not closed must not reach into the next text.
    scripts = (moved(read(Source(text.text, text.name)), at) for text, at in zip(texts, starts, strict=True))
    statements: list[Statement] = []
    for text, script in zip(texts, scripts, strict=True):
        statements += (one for one in _named(text, script.statements) if not _is_known(one, statements))
    # Declarations may stand in any file: those that others use come first.
    order = sorted(_distinct(statements), key=_rank)
    script = Script(tuple(order), span=Span(0, len(whole.text)))
    return JoinedScript(tuple(texts), whole, tuple(starts), script)


DECLARATIONS = (CreateStream, CreateType, CreateHierarchy, CreateFunction)
"""What others use, whatever file it stands in; a hierarchy uses a stream."""


def _rank(statement: Statement) -> int:
    if isinstance(statement, CreateStream | CreateType | CreateFunction):
        return 0
    return 1 if isinstance(statement, CreateHierarchy) else 2


def _is_known(statement: Statement, before: Sequence[Statement]) -> bool:
    return isinstance(statement, DECLARATIONS) and statement in before


def _named(text: RuleText, statements: Sequence[Statement]) -> Iterator[Statement]:
    """The statements of a text, with a name for each query, and with paths as they are from here."""
    nameless = [one for one in statements if isinstance(one, RunQuery)]
    many = len(nameless) > 1
    names = iter([f"{text.label}_{n + 1}" if many else text.label for n in range(len(nameless))])
    for one in statements:
        match one:
            case RunQuery(query):
                yield CreateQuery(quote(UNNAMED + next(names)), query, span=one.span)
            case CreateStream(path=str() as path) if text.directory is not None and "://" not in path:
                # Two files may reach the same data by different paths.
                yield replace(one, path=os.path.normpath(text.directory / path))
            case _:
                yield one


def _distinct(statements: Sequence[Statement]) -> Iterator[Statement]:
    """The statements; a query without a name whose file is called as another rule is an error."""
    queries = [one for one in statements if isinstance(one, CreateQuery)]
    taken = [bare(one.name) for one in queries if not bare(one.name).startswith(UNNAMED)]
    for one in statements:
        if not isinstance(one, CreateQuery) or not bare(one.name).startswith(UNNAMED):
            yield one
            continue
        name = rule_name(bare(one.name))
        if find(name, taken) is None:
            taken.append(name)
            yield one
            continue
        message = f"the query has no name, and that of its file, `{name}`, is the name of another rule"
        found = Diagnostic("NEEL2201", message, _span(one), "name it: CREATE QUERY name AS ...")
        yield UnreadStatement((found,), quote(name), span=one.span)


def with_rule_names(program: Program) -> Program:
    """The program of a joined script; queries without a name have that of their text."""
    queries = (replace(one, name=one.name and rule_name(one.name)) for one in program.queries)
    return replace(program, queries=tuple(queries))


def rule_places(program: Program) -> list[int]:
    """The places of the queries that are rules: all with a name that somebody has written."""
    return [n for n, one in enumerate(program.queries) if one.name and not one.name.startswith("pattern ")]


# What statements read.


Concepts = Mapping[str, Sequence[str]]
"""The members of each CREATE TYPE, by its name."""


def names_read(statement: Statement, concepts: Concepts | None = None) -> list[str]:
    """The names, in source form, of streams, types and queries that the query of a statement reads. A pattern
    with FROM reads what is named there; of its types, the members of concepts count."""
    return [*_names_read(statement, concepts or {})]


def _names_read(statement: Statement, concepts: Concepts) -> Iterator[str]:
    for node in walk(statement):
        match node:
            case PatternQuery(pattern, streams):
                yield from streams
                for part in walk(pattern):
                    for name in _types_named(part):
                        members = _members(name, concepts)
                        yield from members[1:] if streams else members
            case FromStream(name=name):
                yield name
            case HostSelect(text):
                yield from _tables(text)


def read_by_all(rules: JoinedScript) -> list[str]:
    """The names that rules read, also those with errors."""
    concepts = _concepts(rules.script)
    return [name for one in rules.script.statements for name in names_read(one, concepts)]


def _members(name: str, concepts: Concepts) -> list[str]:
    """A type, and all that it contains."""
    found = [name]
    for one in found:  # which grows
        concept = find(one, concepts)
        inside = () if concept is None else concepts[concept]
        found += [member for member in inside if find(member, found) is None]
    return found


def _tables(text: str) -> Iterator[str]:
    """What a text of Spark's own SQL might read: the names after FROM, JOIN and commas.

    >>> list(_tables("SELECT x FROM (SELECT * FROM `a b`) JOIN c, d MATCH_RECOGNIZE (PATTERN (A)) AS m"))
    ['`a b`', 'c', 'd']
    """
    before = None
    for token in tokens(text):
        if token.is_name and before is not None and before.says("FROM", "JOIN", ","):
            yield token.text
        before = token


def _concepts(script: Script) -> Concepts:
    return {one.name: one.members for one in script.statements if isinstance(one, CreateType)}


def _is_declaration(statement: Statement, source: Source) -> bool:
    if isinstance(statement, DECLARATIONS):
        return True
    if not isinstance(statement, UnreadStatement):
        return False
    words = [token.text.upper() for token in islice(tokens(source.text, _span(statement).start), 2)]
    return words[:1] == ["CREATE"] and words[1:] in (["STREAM"], ["RELATION"], ["TYPE"], ["HIERARCHY"])


def _span(statement: Statement) -> Span:
    return statement.span or Span(0, 0)


# Binding without the rules that have errors.

Bound = TypeVar("Bound")


@dataclass(frozen=True)
class BoundTogether(Generic[Bound]):
    """What was made of all rules without errors. `errors` are those of the others, in terms of each text, and
    `left_out` the names of these rules."""

    bound: Bound
    errors: tuple[NeelError, ...]
    left_out: tuple[str, ...]


def bound_together(
    rules: JoinedScript, bind: Callable[[Script], Bound], strict: bool = False
) -> BoundTogether[Bound]:
    """What `bind` makes of all rules without errors. Raises `NeelError` with all that is wrong if no rule is
    left, or if a declaration has an error; `strict`, if any rule has one."""
    script, wrong = rules.script, list[Diagnostic]()
    found: Bound | None = None
    while found is None:
        try:
            found = bind(script)
        except NeelError as error:
            if error.source is not rules.source:  # about data, or about what the call says
                raise
            wrong += error.diagnostics
            left = _without(rules, script, error)
            if left is None:
                raise all_errors(rules, wrong) from None
            script, more = left
            wrong += more
            if not any(isinstance(one, CreateQuery) for one in script.statements):
                raise all_errors(rules, wrong) from None
    if wrong and strict:
        raise all_errors(rules, wrong)
    kept = {id(one) for one in script.statements}
    names = (rules.rule_name(one) for one in rules.script.statements if id(one) not in kept)
    errors = rules.located(NeelError(wrong, rules.source)) if wrong else []
    return BoundTogether(found, tuple(errors), tuple(name for name in names if name is not None))


def _without(rules: JoinedScript, script: Script, error: NeelError) -> tuple[Script, list[Diagnostic]] | None:
    """The script without the rules that an error is about and those that read them, with the errors of the
    latter. None if the error is about a declaration."""
    by_start = sorted(script.statements, key=_span)
    starts = [_span(statement).start for statement in by_start]
    gone = dict[int, Statement]()
    for one in error.diagnostics:
        place = bisect_right(starts, one.span.start) - 1  # what is missing at the end is told behind the end
        if place < 0 or _is_declaration(by_start[place], rules.source):
            return None
        gone[id(by_start[place])] = by_start[place]
    readers = _without_readers(rules, script, gone)
    return replace(script, statements=tuple(s for s in script.statements if id(s) not in gone)), readers


def _without_readers(rules: JoinedScript, script: Script, gone: dict[int, Statement]) -> list[Diagnostic]:
    """Add what reads a rule that is gone to what is gone; gives an error for each. Left in, it might have
    another meaning: the name of a rule could be that of a type of events."""
    concepts, found = _concepts(script), list[Diagnostic]()
    present, absent = list[str](), list[str]()
    for statement in script.statements:
        missing = [] if id(statement) in gone else _missing(names_read(statement, concepts), absent)
        if missing:
            gone[id(statement)] = statement
            message = f"rule `{bare(missing[0])}`, which this rule reads, is left out: it has errors"
            found.append(Diagnostic("NEEL2004", message, _place(statement, missing[0])))
        name = rules.rule_name(statement)
        if name is not None and id(statement) not in gone:
            present.append(name)
        elif name is not None and find(name, present) is None:
            absent.append(name)
    return found


def _missing(names: Iterable[str], absent: Sequence[str]) -> list[str]:
    return [name for name in names if find(name, absent) is not None]


def _types_named(part: Node) -> Iterator[str]:
    """The types that a part of a pattern may mean: `Any x` is read as a word before a part, too."""
    match part:
        case Event(name, variable, follow=word):
            yield name
            if variable is None and word is not None:
                yield str(word.kind)


def _place(statement: Statement, name: str) -> Span:
    """Where a statement reads a name, as exactly as is known."""
    if isinstance(name, Identifier):
        return name.span
    events = (node for node in walk(statement) if isinstance(node, Event) and same(node.type, name))
    return next((one.span for one in events if one.span is not None), _span(statement))


def all_errors(rules: JoinedScript, wrong: Sequence[Diagnostic]) -> NeelError:
    """One error for those of all texts; if they are about one text, in terms of that."""
    return as_one(rules.located(NeelError(wrong, rules.source)))


def as_one(errors: Sequence[NeelError]) -> NeelError:
    """Several errors as one."""
    return errors[0] if len(errors) == 1 else RuleErrors(errors)


class RuleErrors(NeelError):
    """The errors of several texts. The diagnostics are those of the first; the text has all."""

    def __init__(self, errors: Sequence[NeelError]) -> None:
        super().__init__(errors[0].diagnostics, errors[0].source)
        self.errors = tuple(errors)
        self.args = ("\n\n".join(map(str, errors)),)
