"""A case: the rules of its library, the facts it states, and what it expects."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse, analyse_or_raise, check_goal, without_given
from constat.analysis.names import atoms_of
from constat.diagnostics import ConstatError, Diagnostic, Severity, Span, nearest
from constat.evaluation import Answer, Assumption, Evidence, Opening, Origin, Portion, Verdict
from constat.frozen import frozen, slotted
from constat.library.loading import CASES, SUFFIX
from constat.logic import OPEN, Atom, Constant, Positive, Predicate, Rule, Variable, is_wildcard
from constat.project.places import MANIFEST
from constat.store.clock import now
from constat.syntax import (
    PartialFacts,
    incomplete_head,
    load_program,
    parse_goal,
    print_row,
    read_annotations,
)
from constat.tiers.tier import content_hash, matched_keys, rows_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Demand, Externals
    from constat.logic import OpenRow, Program, Row
    from constat.syntax import Annotated, Annotations, Pragma

# A goal is typed and its predicate declared; what is wrong has a place. `by` names the rule of the
# last step, one for all proved goals or one for each; `uses` names rules and predicates that occur
# in the proof of each of them. `question` is a question in words whose answer is yes exactly when
# the goal holds.

EXPECT: Final = "expect"
CALLER: Final = "caller."
"""How the relation begins that asks for a goal with given columns."""
_VERDICTS: Final = MappingProxyType(
    {verdict.value.casefold(): verdict for verdict in Verdict if verdict.value}
)
_PROOFS: Final = ("by", "uses")
QUESTION: Final = "question"
_PARTS: Final = (*_VERDICTS, *_PROOFS, QUESTION)
_PROVED: Final = frozenset({Verdict.PROVED, Verdict.PROVED_UNDER})


@frozen
class Expectation:
    """A goal and what should become of it; `text` is the goal as the case has it."""

    text: str
    goal: Atom
    verdict: Verdict
    by: str
    uses: tuple[str, ...]
    span: Span


def read_expectations(
    annotations: Annotations, analysed: AnalysedProgram, diagnostics: list[Diagnostic]
) -> tuple[Expectation, ...]:
    """Give what the items of a case expect."""
    found: list[Expectation] = []
    for item in annotations.items:
        found.extend(_Item(item, analysed, diagnostics).expectations())
    return tuple(found)


class _Item:
    """One annotated item."""

    def __init__(
        self, item: Annotated, analysed: AnalysedProgram, diagnostics: list[Diagnostic]
    ) -> None:
        self.item = item
        self.analysed = analysed
        self.diagnostics = diagnostics
        self.values: dict[str, str] = {}
        self.places: dict[str, Span] = {}

    def expectations(self) -> Iterator[Expectation]:
        self._collect()
        listed = [
            (text, verdict, self.places[key])
            for key, verdict in _VERDICTS.items()
            for text in split_goals(self.values.get(key, ""))
        ]
        proved = sum(verdict in _PROVED for _, verdict, _ in listed)
        last_steps = iter(self._last_steps(proved))
        uses = self._uses(proved)
        if QUESTION in self.values and len(listed) != 1:
            message = f"`question` is one goal's, and there are {len(listed)}"
            self._complain(message, self.places[QUESTION], "proved")
        for text, verdict, place in listed:
            shown = verdict in _PROVED
            by = next(last_steps, "") if shown else ""
            goal = self._goal(text, place)
            if goal is not None:
                yield Expectation(text, goal, verdict, by, uses if shown else (), place)

    def _collect(self) -> None:
        """Sort out the parts of `expect`; report those that mean nothing."""
        for one in self.item.attributes:
            name, _, part = one.key.partition(".")
            if name != EXPECT:
                continue
            if part not in _PARTS:
                near = nearest(part, _PARTS) or "proved"
                self._complain(f"`expect` has no part `{part or '='}`", one.span, near)
            elif not split_goals(one.value):
                self._complain(f"`{part}` names nothing", one.span, part)
            else:
                self.values[part] = one.value
                self.places[part] = one.span

    def _complain(self, message: str, span: Span, part: str) -> None:
        self.diagnostics.append(
            Diagnostic(
                "C0442",
                message,
                span,
                note=f"the parts are {', '.join(_PARTS)}",
                help=f'write `@[expect({part} = "{self.item.subject}(...)")]`',
            )
        )

    def _last_steps(self, proved: int) -> list[str]:
        names = split_goals(self.values.get("by", ""))
        for name in names:
            self._check_rule(name)
        if len(names) == 1 and proved:
            return names * proved
        if len(names) != proved and names:
            message = f"`by` names {len(names)} rules for {proved} proved goals"
            self._complain(message, self.places["by"], "proved")
        return names

    def _uses(self, proved: int) -> tuple[str, ...]:
        names = split_goals(self.values.get("uses", ""))
        if names and not proved:
            message = "`uses` is about proofs, and no goal is expected to be proved"
            self._complain(message, self.places["uses"], "proved")
        predicates = self.analysed.program.predicates
        rules = {rule.id for rule in self.analysed.rules}
        for name in names:
            if name not in predicates and not any(is_rule(name, rule) for rule in rules):
                self._unknown(name, self.places["uses"], sorted({*predicates, *rules}))
        return tuple(names)

    def _check_rule(self, name: str) -> None:
        rules = [rule.id for rule in self.analysed.rules]
        if not any(is_rule(name, one) for one in rules):
            self._unknown(name, self.places["by"], sorted(rules))

    def _unknown(self, name: str, span: Span, known: list[str]) -> None:
        near = nearest(name, known)
        self.diagnostics.append(
            Diagnostic(
                "C0442",
                f"`{name}` is no rule here, nor anything else a proof could use",
                span,
                note="rules are named by `@[id = ...]`, others by their predicate and number",
                help=f"write `{near}`" if near else "`constat rules list` shows the names",
            )
        )

    def _goal(self, text: str, place: Span) -> Atom | None:
        try:
            goal = parse_goal(text, self.analysed.program)
            return check_goal(goal, _bound(goal, self.analysed))
        except ConstatError as problem:
            first = problem.diagnostics[0]
            self.diagnostics.append(
                Diagnostic(
                    "C0441",
                    f"the expected goal `{text}` is wrong: {first.message}",
                    place,
                    note=first.note,
                    help=first.help,
                )
            )
            return None


def _bound(goal: Atom, analysed: AnalysedProgram) -> AnalysedProgram:
    """Give the program to check a goal in, in which what the goal gives need not be given."""
    predicates = analysed.program.predicates
    asked = predicates.get(goal.predicate)
    if asked is None or any(
        place >= len(goal.terms) or not isinstance(goal.terms[place], Constant)
        for place in asked.given
    ):
        return analysed
    plain = {**predicates, asked.name: without_given(asked)}
    return replace(analysed, program=replace(analysed.program, predicates=plain))


def is_caller(rule: str) -> bool:
    """Tell whether a rule only asks for an expected goal with given columns."""
    return rule.startswith(CALLER)


def _with_callers(
    analysed: AnalysedProgram, expectations: Iterable[Expectation]
) -> tuple[AnalysedProgram, tuple[Expectation, ...]]:
    """Give goals over given columns a rule each that asks for them, at the end of the program."""
    base = analysed.program
    predicates, rules = dict(base.predicates), list(base.rules)
    found: list[Expectation] = []
    for one in expectations:
        asked = base.predicates[one.goal.predicate]
        if not asked.given:
            found.append(one)
            continue
        names = {
            term.name: replace(column, name=term.name, attributes={})
            for term, column in zip(one.goal.terms, asked.columns, strict=True)
            if isinstance(term, Variable)
        }
        # Names of the language have no point, so this one is free.
        name = f"{CALLER}{len(rules)}"
        head = Atom(name, tuple(map(Variable, names)), one.span)
        predicates[name] = Predicate(name, tuple(names.values()))
        rules.append(Rule(f"{name}.1", head, (Positive(one.goal),), span=one.span))
        found.append(replace(one, goal=head))
    if len(rules) == len(base.rules):
        return analysed, tuple(found)
    joined = replace(base, predicates=predicates, rules=tuple(rules))
    return analyse_or_raise(joined), tuple(found)


def goals_asked(files: Iterable[Path], question: str) -> tuple[str, ...]:
    """Give the goals for which cases beside these rule files have a question, word for word.

    A case that cannot be read, or is wrong about it, states nothing.
    """
    found: list[str] = []
    for folder in dict.fromkeys(one.parent / CASES for one in files):
        for path in sorted(folder.glob("*.dl")):
            with suppress(OSError, UnicodeDecodeError):
                text = path.read_text(encoding="utf-8")
                if question in text:
                    found += _asked(read_annotations(text, path.name), question)
    return tuple(found)


def _asked(annotations: Annotations, question: str) -> Iterator[str]:
    for item in annotations.items:
        values = {
            one.key.partition(".")[2]: one.value
            for one in item.attributes
            if one.key.partition(".")[0] == EXPECT
        }
        goals = [goal for part in _VERDICTS for goal in split_goals(values.get(part, ""))]
        if values.get(QUESTION) == question and len(goals) == 1:
            yield goals[0]


def is_rule(name: str, rule_id: str) -> bool:
    """Whether a rule has that name; `R7` also names `R7a`, an alternative of `R7`."""
    rest = rule_id.removeprefix(name)
    return rule_id == name or (rest != rule_id and rest.isalpha() and rest.islower())


def split_goals(text: str) -> list[str]:
    """Split at the semicolons that stand outside quotes."""
    parts = [""]
    quoted = escaped = False
    for one in text:
        if one == ";" and not quoted:
            parts.append("")
            continue
        parts[-1] += one
        quoted ^= one == '"' and not escaped
        escaped = one == "\\" and not escaped
    return [part.strip() for part in parts if part.strip()]


# A closed predicate speaks for every key; an open one for none.

TIER: Final = "case"


@slotted
class StatedRows:
    """Rows with one ground: whose word they are, and what must be accepted for them."""

    origin: Origin
    author: str | None
    assumption: Assumption | None
    rows: dict[Row, None] = field(default_factory=dict)


@slotted
class Table:
    """What a case says about one external predicate."""

    predicate: Predicate
    source: str
    stated: list[StatedRows] = field(default_factory=list)
    unknown: list[OpenRow] = field(default_factory=list)
    open: bool = False
    vouched: bool = False
    """Closed by declaration only: that no row is missing is an assumption."""
    read: bool = False
    """Read from its source, so that the case says nothing about it."""

    def state(self, row: Row, origin: Origin, author: str | None, given: Assumption | None) -> None:
        """Add a row."""
        for one in self.stated:
            if (one.origin, one.author, one.assumption) == (origin, author, given):
                one.rows[row] = None
                return
        self.stated.append(StatedRows(origin, author, given, {row: None}))

    def external(self) -> CaseExternal:
        """Give the predicate that answers with what was stated."""
        return CaseExternal(self)


class CaseExternal:
    """One predicate of a case."""

    cost = 1

    def __init__(self, table: Table) -> None:
        self._table = table
        self._own = self._evidence(Origin.CONFIG, None, ())
        self._portions = []
        for stated in table.stated:
            rows = tuple(stated.rows)
            evidence = self._evidence(stated.origin, stated.author, rows)
            if stated.assumption is not None:
                evidence = replace(evidence, confidence=stated.assumption.confidence)
            self._portions.append(Portion(rows, evidence, stated.assumption))
            if stated.origin is Origin.CONFIG:
                self._own = evidence

    def answer(self, demand: Demand) -> Answer:
        """Answer a demand from the case alone."""
        columns, keys = demand.columns, demand.keys
        portions = []
        for one in self._portions:
            rows = rows_for(one.rows, columns, keys)
            if rows:
                portions.append(replace(one, rows=rows))
        openings = [
            Opening(row, "the case leaves this value unknown", TIER)
            for row in self._table.unknown
            if matched_keys(row, columns, keys)
        ]
        openings.extend(self._left_open(demand))
        return Answer(tuple(portions), tuple(openings), frozenset(keys), (self._own,))

    def _left_open(self, demand: Demand) -> list[Opening]:
        name = self._table.predicate.name
        if self._table.vouched:
            text = f"the case declares that no fact of {name} is missing"
            given = Assumption("closure", name, text)
            reason = "it is closed by declaration only"
        elif self._table.open:
            given, reason = None, "the case leaves the predicate open"
        else:
            return []
        shapes = []
        for key in demand.keys:
            places = dict(zip(demand.columns, key, strict=True))
            row = tuple(places.get(column, OPEN) for column in range(demand.predicate.arity))
            shapes.append(Opening(row, reason, TIER, given))
        return shapes

    def _evidence(self, origin: Origin, author: str | None, rows: tuple[Row, ...]) -> Evidence:
        kinds = self._table.predicate.kinds
        return Evidence(
            tier=TIER,
            origin=origin,
            source=self._table.source,
            executed_at=now(),
            row_count=len(rows),
            content_hash=content_hash(rows, kinds),
            author=author,
        )


# Facts of the case become answers from outside, as in a project, so that a case tests rules and
# never adds to them; what rules derive cannot be stated. `.pragma "open" "p"` leaves p open,
# `"closed"` closes it by declaration only, and `.pragma "unknown" "tier(C009, ?t)"` says that
# there is a row whose other values nobody knows. `"source" "orders"` has orders read from where its
# `.input` says: the case then tests the source, and not only the rules.

PRAGMAS: Final = ("open", "closed", "unknown", "source")
_MODELS: Final = ("llm:", "model:")


@frozen
class Library:
    """A folder of rule files with a folder `cases` in it; `roots` are where includes may lead."""

    folder: Path
    files: tuple[Path, ...]
    cases: tuple[Path, ...]
    roots: tuple[Path, ...]

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.folder.name


@frozen
class Case:
    """One case file, ready to run."""

    program: AnalysedProgram
    externals: Externals
    expectations: tuple[Expectation, ...]
    sources: tuple[str, ...] = ()
    """The external predicates that are read from their sources; `externals` has the others."""


def names_of_files(library: Library) -> frozenset[str]:
    """Name the files of a library, and those they include, as diagnostics do."""
    own: dict[str, str] = {}
    load_program(library.files, (library.folder, *library.roots), [], texts=own)
    return frozenset(own)


def read_case(
    library: Library,
    path: Path,
    own: frozenset[str],
    diagnostics: list[Diagnostic],
    texts: dict[str, str],
) -> Case | None:
    """Read a case; `own` names the files of the library, `texts` receives what was read."""
    roots = (library.folder, *library.roots)
    name = _name_of(library, path)
    partial = PartialFacts(name)
    files = (*library.files, path)
    program = load_program(files, roots, diagnostics, texts=texts, partial=partial)
    diagnostics += _read_left_out(program, partial)
    if _errors(diagnostics):
        return None
    analysed = analyse(program, diagnostics)
    if analysed is None:
        return None
    facts = _Facts(analysed, own, name, diagnostics)
    stated = facts.read()
    rules = tuple(rule for number, rule in enumerate(program.rules) if number not in stated)
    bare = analyse(replace(program, rules=rules), [])
    if bare is not None and any(rule.proposed for rule in bare.rules):
        # Few libraries hold what a model wrote: the others run without what judges approvals.
        from constat.library.approvals import approved_program  # noqa: PLC0415  loaded when it is used

        bare = approved_program(bare, library.files, None, diagnostics)
    if bare is None or _errors(diagnostics):
        return None
    annotations = read_annotations(texts[name], name)
    world = _World(bare, facts, diagnostics)
    for pragma in annotations.pragmas:
        world.apply(pragma)
    expectations = read_expectations(annotations, bare, diagnostics)
    if _errors(diagnostics):
        return None
    asked = ((_narrowed(one.goal), f"the goal `{one.text}`") for one in expectations)
    diagnostics += _left_out_of(asked, program, partial)
    if _errors(diagnostics):
        return None
    bare, expectations = _with_callers(bare, expectations)
    if not expectations:
        diagnostics.append(_expects_nothing(name))
        return None
    tables = {one: world.table(one) for one in sorted(bare.external)}
    externals = {name: table.external() for name, table in tables.items() if not table.read}
    return Case(bare, externals, expectations, tuple(tables.keys() - externals.keys()))


def _name_of(library: Library, path: Path) -> str:
    """Name a case as the loader does; what lies elsewhere it does not read."""
    place = path.resolve()
    if not place.is_relative_to(library.folder):
        return ""
    # Names need not be text.
    return place.relative_to(library.folder).as_posix().encode("utf-8", "replace").decode()


def _read_left_out(program: Program, partial: PartialFacts) -> Iterator[Diagnostic]:
    """Say which columns a case may not leave out of its facts, because a rule reads them."""
    atoms = (
        (atom, f"rule {rule.id}")
        for rule in program.rules
        if rule.body
        for atom in tuple(atoms_of(rule))[1:]
    )
    yield from _left_out_of(atoms, program, partial)


def _narrowed(goal: Atom) -> Atom:
    """Give a goal that reads the columns alone where not any value will do."""
    terms = goal.terms
    free = (isinstance(one, Variable) and terms.count(one) == 1 for one in terms)
    wide = (Variable(f"_{n}") if each else terms[n] for n, each in enumerate(free))
    return replace(goal, terms=tuple(wide))


def _left_out_of(
    atoms: Iterable[tuple[Atom, str]], program: Program, partial: PartialFacts
) -> Iterator[Diagnostic]:
    told: set[tuple[str, int]] = set()
    for atom, reader in atoms:
        for place, span in partial.left_out.get(atom.predicate, {}).items():
            read = place < len(atom.terms) and not is_wildcard(atom.terms[place])
            if read and span is not None and (atom.predicate, place) not in told:
                told.add((atom.predicate, place))
                column = program.predicates[atom.predicate].columns[place].name
                yield replace(
                    incomplete_head(span, [column]),
                    note=f"{reader} reads it; what no rule reads may be left out of a case's facts",
                )


def _errors(diagnostics: Sequence[Diagnostic]) -> bool:
    return any(one.severity is Severity.ERROR for one in diagnostics)


def _expects_nothing(name: str) -> Diagnostic:
    return Diagnostic(
        "C0440",
        "this case expects nothing",
        Span(name, 1, 1, 1, 1),
        note="a case without an expectation can never fail",
        help='write `@[expect(proved = "p(1)", disproved = "p(2)")]` before an `.output p`',
    )


class _Facts:
    """The facts of a case by predicate, apart from the rules of the program."""

    def __init__(
        self,
        analysed: AnalysedProgram,
        own: frozenset[str],
        source: str,
        diagnostics: list[Diagnostic],
    ) -> None:
        self.analysed = analysed
        self.own = own
        self.source = source
        self.diagnostics = diagnostics
        self.tables: dict[str, Table] = {}

    def read(self) -> frozenset[int]:
        """Take the facts of the case; give the numbers of the rules they were."""
        rules = self.analysed.rules
        declared = self.analysed.program.predicates
        # What has a source besides its rules is asked for outside as well, so it can be stated.
        derived = {
            rule.head.predicate
            for rule in rules
            if rule.body and declared[rule.head.predicate].source is None
        }
        listed = {rule.head.predicate for rule in rules if not rule.body and self._is_own(rule)}
        taken: set[int] = set()
        for number, rule in enumerate(rules):
            if rule.body or self._is_own(rule) or rule.head.predicate in listed - derived:
                continue
            if rule.head.predicate in derived:
                self._complain_derived(rule)
                continue
            taken.add(number)
            self._take(rule)
        return frozenset(taken)

    def table(self, name: str) -> Table:
        """The table of an external predicate."""
        found = self.tables.get(name)
        if found is None:
            declared = self.analysed.program.predicates[name]
            found = self.tables[name] = Table(declared, self.source)
        return found

    def _is_own(self, rule: Rule) -> bool:
        return rule.span is not None and rule.span.source in self.own

    def _take(self, rule: Rule) -> None:
        row = tuple(term.value for term in rule.head.terms if isinstance(term, Constant))
        if len(row) < len(rule.head.terms):
            self.diagnostics.append(
                Diagnostic(
                    "C0445",
                    "a fact of a case holds constants only",
                    rule.span,
                    note="a case says what sources would answer, and sources compute nothing",
                    help="write the value itself",
                )
            )
            return
        table = self.table(rule.head.predicate)
        table.state(row, *_grounds(rule, row, table.predicate))

    def _complain_derived(self, rule: Rule) -> None:
        name = rule.head.predicate
        self.diagnostics.append(
            Diagnostic(
                "C0444",
                f"a case cannot state `{name}`, which rules derive",
                rule.span,
                note="a stated conclusion would hide that its rules do not give it",
                help="state the facts that its rules rest on, and expect the conclusion",
            )
        )


def _grounds(
    rule: Rule, row: Row, predicate: Predicate
) -> tuple[Origin, str | None, Assumption | None]:
    """Whose word a fact is: the case's own is certain, that of an `@[author]` is assumed."""
    author = rule.attributes.get("author")
    if author is None and rule.confidence == 1:
        return Origin.CONFIG, None, None
    told = author or "somebody"
    text = f"{told} says {print_row(predicate, row)}"
    given = Assumption("fact", print_row(predicate, row), text, rule.confidence)
    origin = Origin.LLM_KNOWLEDGE if told.startswith(_MODELS) else Origin.USER_PROVIDED
    return origin, told, given


@slotted
class _World:
    """The tables of a case while its pragmas are applied."""

    analysed: AnalysedProgram
    facts: _Facts
    diagnostics: list[Diagnostic]

    def table(self, name: str) -> Table:
        """The table of an external predicate."""
        return self.facts.table(name)

    def apply(self, pragma: Pragma) -> None:
        """Apply a pragma, unless it is meant for another program."""
        key, value = pragma.texts[0], pragma.texts[-1]
        if key not in PRAGMAS:
            near = nearest(key, PRAGMAS)
            if near is not None:
                self._complain(pragma, f"a case has no pragma `{key}`", f'.pragma "{near}" "..."')
        elif len(pragma.texts) == 1:
            self._complain(pragma, f"the pragma `{key}` names nothing", f'.pragma "{key}" "..."')
        elif key == "unknown":
            self._unknown(pragma, value)
        elif self._is_external(pragma, value) and key == "source":
            self._read(pragma, self.table(value))
        elif value in self.analysed.external:
            table = self.table(value)
            table.open, table.vouched = table.open or key == "open", table.vouched or key != "open"

    def _read(self, pragma: Pragma, table: Table) -> None:
        """Have a predicate read from its source, of which the case then says nothing."""
        name, source = table.predicate.name, table.predicate.source
        table.read = True
        if source is None or not source.name:
            self._complain(pragma, f"`{name}` has no `.input`, so it has no source", "")
        elif table.stated:
            message = f"the case states facts of `{name}`, which it has read from its source"
            self._complain(pragma, message, "")

    def _unknown(self, pragma: Pragma, text: str) -> None:
        try:
            goal = parse_goal(text, self.analysed.program)
        except ConstatError as problem:
            first = problem.diagnostics[0]
            self._complain(pragma, first.message, '.pragma "unknown" "tier(C009, ?t)"')
            return
        if self._is_external(pragma, goal.predicate):
            row = tuple(t.value if isinstance(t, Constant) else OPEN for t in goal.terms)
            self.table(goal.predicate).unknown.append(row)

    def _is_external(self, pragma: Pragma, name: str) -> bool:
        if name in self.analysed.external:
            return True
        near = nearest(name, sorted(self.analysed.external))
        what = "is derived by rules" if name in self.analysed.program.predicates else "is unknown"
        edit = f'.pragma "{pragma.texts[0]}" "{near or "name"}"'
        self._complain(pragma, f"`{name}` {what}, so nothing outside can say it", edit)
        return False

    def _complain(self, pragma: Pragma, message: str, edit: str) -> None:
        note = f"the pragmas of a case are {', '.join(PRAGMAS)}"
        self.diagnostics.append(
            Diagnostic(
                "C0443",
                message,
                pragma.span,
                note=note,
                help=f"write `{edit}`" if edit else "take the one or the other out",
            )
        )


# Links are not followed out of a named folder.

_MOST_FOLDERS: Final = 10_000


def find_libraries(paths: Sequence[Path], roots: Sequence[Path] = ()) -> tuple[Library, ...]:
    """Give the libraries of the paths, with the cases that are meant."""
    chosen: dict[Path, dict[Path, None]] = {}
    for path in paths:
        for folder, cases in _under(path):
            chosen.setdefault(folder, {}).update(dict.fromkeys(cases))
    libraries = []
    for folder, wanted in chosen.items():
        required = required_beside(folder)
        files = [*_rule_files(folder), *(file for one in required for file in _rule_files(one))]
        libraries.append(Library(folder, tuple(files), tuple(wanted), (*roots, *required)))
    return tuple(libraries)


def required_beside(folder: Path) -> tuple[Path, ...]:
    """Give the folders beside a library of those that its manifest requires, and they in turn."""
    found: dict[Path, None] = {}
    waiting = [folder]
    while waiting:
        manifest = waiting.pop() / MANIFEST
        if manifest.is_file():
            # Few libraries have a manifest that requires others.
            from constat.project.packages import read_required  # noqa: PLC0415  loaded when it is used

            places = [folder.parent / one for one in read_required(manifest)]
            waiting += [one for one in places if one not in found and one.is_dir()]
            found |= dict.fromkeys(one for one in places if one.is_dir())
    return tuple(one for one in found if one != folder)


def _under(path: Path) -> Iterator[tuple[Path, list[Path]]]:
    try:
        found = path.resolve()
        if found.is_file():
            if found.parent.name == CASES and found.suffix == SUFFIX:
                yield found.parent.parent, [found]
        elif found.name == CASES and found.is_dir():
            yield found.parent, _rule_files(found)
        elif found.is_dir():
            yield from _below(found)
    except (OSError, RuntimeError, ValueError):
        # A path that the system does not know names no library.
        return


def _below(root: Path) -> Iterator[tuple[Path, list[Path]]]:
    for number, (place, folders, _) in enumerate(os.walk(root)):
        if number >= _MOST_FOLDERS:
            return
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if CASES in folders:
            folders.remove(CASES)
            folder = Path(place)
            if _rule_files(folder):
                yield folder, _rule_files(folder / CASES)


def _rule_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob(f"*{SUFFIX}")) if path.is_file()]
