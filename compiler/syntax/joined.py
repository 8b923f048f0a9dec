"""Several texts as one script: files of a directory, or rules in a dictionary. Each of their queries is a
rule.

They are bound together, as one text in which every message is told in terms of the file that it is about.
What is wrong with a rule does not stop the others: it is left out, and so is what reads it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from neelc.errors import Diagnostic, NeelError
from neelc.files import CallError, read_source
from neelc.ir.names import bare, quote
from neelc.ir.script import (
    CreateHierarchy,
    CreateQuery,
    CreateStream,
    CreateType,
    RunQuery,
    Script,
    Statement,
)
from neelc.source import Source, Span
from neelc.syntax import read

BETWEEN = "\n;\n"
"""Between two texts: the last statement of a text may have no semicolon."""


@dataclass(frozen=True)
class RuleText:
    """A text with rules. `name` is for messages; a query without a name is called `label`, and if there are
    several, label_1, label_2, ..."""

    text: str
    name: str
    label: str


@dataclass(frozen=True)
class JoinedScript:
    """Texts as one script; `starts` are the places in the text of `source` at which each of them begins."""

    texts: tuple[RuleText, ...]
    source: Source
    starts: tuple[int, ...]
    script: Script

    def located(self, error: NeelError) -> list[NeelError]:
        """What is wrong, for each text that something is wrong with."""
        found: dict[int, list[Diagnostic]] = {}
        for one in error.diagnostics:
            place = self.place_of(one.span)
            start = self.starts[place]
            span = Span(one.span.start - start, one.span.end - start)
            fixes = tuple(
                replace(fix, span=Span(fix.span.start - start, fix.span.end - start)) for fix in one.fixes
            )
            found.setdefault(place, []).append(replace(one, span=span, fixes=fixes))
        return [
            NeelError(diagnostics, Source(self.texts[place].text, self.texts[place].name))
            for place, diagnostics in sorted(found.items())
        ]

    def place_of(self, span: Span) -> int:
        """The number of the text that a place is in."""
        return max(0, bisect_right(self.starts, span.start) - 1)


def rule_files(paths: Sequence[str | Path]) -> list[RuleText]:
    """The texts of files, and of all *.neel files below directories."""
    texts = []
    for path in map(Path, paths):
        if path.is_dir():
            files = sorted(path.rglob("*.neel"))
            if not files:
                raise CallError(f"{path}: the directory has no *.neel file")
        else:
            files = [path]
        texts += [RuleText(read_source(str(file)).text, str(file), file.stem) for file in files]
    return texts


def rule_texts(rules: object) -> list[RuleText]:
    """Texts as a caller gives them: a script, a path, a dictionary of names and scripts, or several of
    these.

    >>> [text.label for text in rule_texts({"burst": "PATTERN A a", "calm": "PATTERN B b"})]
    ['burst', 'calm']
    """
    match rules:
        case Path():
            return rule_files([rules])
        case str() if "\n" not in rules and len(rules) < 1000 and Path(rules).exists():
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


def joined(texts: Sequence[RuleText]) -> JoinedScript:
    """Texts as one script. A stream or type that several texts declare in the same way is declared once.

    >>> one, two = RuleText("PATTERN A a", "one.neel", "one"), RuleText("PATTERN B b;", "two.neel", "two")
    >>> [statement.name for statement in joined([one, two]).script.statements]
    ['`one`', '`two`']
    """
    starts, place = [], 0
    for text in texts:
        starts.append(place)
        place += len(text.text) + len(BETWEEN)
    whole = Source(BETWEEN.join(text.text for text in texts), texts[0].name if len(texts) == 1 else "rules")
    script = JoinedScript(tuple(texts), whole, tuple(starts), Script(()))
    return replace(script, script=_named(script, read(whole)))


def _named(found: JoinedScript, script: Script) -> Script:
    """The script, with a name for each query, and each declaration once."""
    by_text: dict[int, list[Statement]] = {}
    for statement in script.statements:
        by_text.setdefault(found.place_of(statement.span or Span(0, 0)), []).append(statement)
    statements: list[Statement] = []
    for place, own in sorted(by_text.items()):
        nameless = [one for one in own if isinstance(one, RunQuery)]
        label = found.texts[place].label
        names = [label] if len(nameless) == 1 else [f"{label}_{n + 1}" for n in range(len(nameless))]
        labels = iter(names)
        for one in own:
            if isinstance(one, RunQuery):
                statements.append(CreateQuery(quote(next(labels)), one.query, span=one.span))
            elif not (isinstance(one, DECLARATIONS) and one in statements):
                statements.append(one)
    # Declarations may stand in any file: those that others use come first.
    order = sorted(statements, key=_rank)
    return replace(script, statements=tuple(order))


DECLARATIONS = (CreateStream, CreateType, CreateHierarchy)
"""What others use, whatever file it stands in; a hierarchy uses a stream."""


def _rank(statement: Statement) -> int:
    if isinstance(statement, CreateStream | CreateType):
        return 0
    return 1 if isinstance(statement, CreateHierarchy) else 2


Bound = TypeVar("Bound")


def bound_together(
    rules: JoinedScript, bind: Callable[[Script], Bound], strict: bool = False
) -> tuple[Bound, list[NeelError]]:
    """What `bind` makes of all rules that nothing is wrong with, and what is wrong with the others. Raises
    `NeelError` if there is no rule left, or something is wrong with a declaration; `strict`, also if
    something is wrong with a rule."""
    script, wrong = rules.script, list[Diagnostic]()
    while True:
        try:
            found = bind(script)
            break
        except NeelError as error:
            left = _without(script, error)
            wrong += error.diagnostics
            if left is None or strict:
                raise _all_of(rules, wrong) from None
            script = left
    return found, rules.located(NeelError(wrong, rules.source)) if wrong else []


def _without(script: Script, error: NeelError) -> Script | None:
    """The script without the rules that an error is about; None if none would be left, or if it is about
    something else."""
    by_start = sorted(script.statements, key=_start)
    starts = [_start(statement) for statement in by_start]
    gone = set[int]()
    for one in error.diagnostics:
        place = bisect_right(starts, one.span.start) - 1  # what is missing at the end is told behind the end
        if place < 0 or isinstance(by_start[place], DECLARATIONS):
            return None
        gone.add(id(by_start[place]))
    left = tuple(one for one in script.statements if id(one) not in gone)
    return replace(script, statements=left) if any(isinstance(s, CreateQuery) for s in left) else None


def _start(statement: Statement) -> int:
    return 0 if statement.span is None else statement.span.start


def _all_of(rules: JoinedScript, wrong: Sequence[Diagnostic]) -> NeelError:
    """One error for what is wrong with all texts; if it is about one text, in terms of that."""
    errors = rules.located(NeelError(wrong, rules.source))
    return errors[0] if len(errors) == 1 else RuleErrors(errors)


class RuleErrors(NeelError):
    """What is wrong with several texts."""

    def __init__(self, errors: Sequence[NeelError]) -> None:
        super().__init__(errors[0].diagnostics, errors[0].source)
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.errors))


def names_of(script: Script) -> Iterator[str]:
    """The names of the rules of a script, in order."""
    return (bare(one.name) for one in script.statements if isinstance(one, CreateQuery))
