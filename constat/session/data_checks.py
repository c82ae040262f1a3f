"""Check the data of a project against its constraints and keys.

In: a session. Out: for each `.constraint` and each `@[key]` of a source what breaks it. Invariant:
"nothing breaks it" is said only where every row that could was read and known. A row that breaks a
constraint is a goal: its certificate is checked like any other. Rows that contradict a key are
shown as they are: of two rows for one key none is certain (semantics 6). What certifies that is a
goal too: among the rows of the source alone two have this key, and differ in a column or are two.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from constat.analysis import analyse
from constat.catalog import QueryMistakeError, SourceFailureError, guard
from constat.catalog.keyed import unused_name
from constat.catalog.schema.checking import NAMING_KINDS, likely_keys, near_key
from constat.catalog.schema.introspection import reading
from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.evaluation import CONTESTED, Verdict
from constat.frozen import frozen
from constat.logic import (
    OPEN,
    Atom,
    Column,
    Comparison,
    Constant,
    Kind,
    NullCell,
    NullPolicy,
    Positive,
    Predicate,
    Rule,
    Variable,
    display_value,
    null_words,
)
from constat.proof.sentences import ASKED
from constat.session.answers import Computed
from constat.session.drafted import JoinedProgram
from constat.tiers.database import ALIKE, NO_VALUE
from constat.tiers.shadowing import NOBODY_COUNTS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from constat.analysis import AnalysedProgram
    from constat.catalog import Connection
    from constat.evaluation import Observer
    from constat.logic import Literal, Row, Value
    from constat.session.answers import Answers, OpenReason
    from constat.session.result import Result
    from constat.session.session import Session

CONSTRAINT: Final = "constraint"
_SECONDS: Final = 2.0
_SURE: Final = frozenset({Verdict.PROVED, Computed.CERTAIN})
_UNDER: Final = frozenset({Verdict.PROVED_UNDER, Computed.UNDER})
_ORDER: Final = (
    Verdict.DISPROVED,
    Verdict.UNRESOLVED,
    Verdict.DISPROVED_UNDER,
    Verdict.PROVED_UNDER,
    Verdict.PROVED,
)


@frozen
class DataCheck:
    """What came of one constraint or key; the verdict is about "it holds for all rows".

    `rows` are the first that break it, `possible` the first that may. `goals` stand beside `rows`
    where a certificate can be had. `reasons` say why more may break it. `key` is the predicate
    whose key was checked; of `alike` keys all rows are alike.
    """

    name: str
    kind: str
    text: str
    verdict: Verdict
    columns: tuple[Column, ...]
    broken: int
    maybe: int
    rows: tuple[Row, ...] = ()
    goals: tuple[str, ...] = ()
    possible: tuple[Row, ...] = ()
    reasons: tuple[str, ...] = ()
    key: Predicate | None = None
    alike: int = 0


def worst(checks: Iterable[DataCheck]) -> Verdict:
    """Give the verdict of all checks together."""
    found = {one.verdict for one in checks}
    return next((one for one in _ORDER if one in found), Verdict.PROVED)


def names_to_check(predicates: Iterable[Predicate]) -> dict[str, Predicate]:
    """Give what can be checked by the name that people use for it."""
    found: dict[str, Predicate] = {}
    for one in predicates:
        if CONSTRAINT in one.attributes:
            found[_constraint_name(one)] = one
    for one in predicates:
        if one.key and one.source is not None:
            found[f"key of {one.name}"] = one
    return found


def check_data(
    session: Session, names: Sequence[str], most: int, observe: Observer | None = None
) -> list[DataCheck]:
    """Check the named constraints, or all there are. Raises `ConstatError` for unknown names."""
    known = names_to_check(tuple(session.program.program.predicates.values()))
    chosen = [_asked(name, known) for name in names] or list(known)
    return [_checked(session, name, known[name], most, observe) for name in dict.fromkeys(chosen)]


def _checked(
    session: Session, name: str, one: Predicate, most: int, observe: Observer | None
) -> DataCheck:
    """Check one; what keeps it from being checked is a reason, so the others are still checked."""
    kind = CONSTRAINT if CONSTRAINT in one.attributes else "key"
    check = _of_constraint if kind == CONSTRAINT else _of_key
    try:
        return check(session, name, one, most, observe)
    except ConstatError as problem:
        reasons = tuple(f"{one.code}: {one.message}" for one in problem.diagnostics)
        return DataCheck(
            name, kind, _text(one), Verdict.UNRESOLVED, one.columns, 0, 0, reasons=reasons
        )


def _constraint_name(one: Predicate) -> str:
    name = one.attributes[CONSTRAINT]
    return one.name if name == "true" else name


def _asked(name: str, known: dict[str, Predicate]) -> str:
    """Find what a person named: a constraint, its relation, or a predicate with a key."""
    for shown, one in known.items():
        if name in {shown, one.name}:
            return shown
    near = nearest(name, list(known))
    raise ConstatError(
        [
            Diagnostic(
                "C0526",
                f"there is no constraint `{name}`",
                note="checked are `.constraint` declarations and the `@[key]` of sources: "
                + (", ".join(list(known)[:20]) or "this project has none"),
                help=f"name `{near}`"
                if near
                else "write `.constraint name: orders(?o, ?c) => customers(?c, _).` in a rule file",
            )
        ]
    )


def _of_constraint(
    session: Session, name: str, one: Predicate, most: int, observe: Observer | None
) -> DataCheck:
    text = _text(one)
    if not one.columns:
        result = session.prove(f"{one.name}()", observe=observe)
        opposite = _OPPOSITES[result.verdict]
        broken = opposite in {Verdict.DISPROVED, Verdict.DISPROVED_UNDER}
        goals = (f"{one.name}()",) if broken else ()
        unknown = result.verdict is Verdict.UNRESOLVED
        reasons = ("the goal is not decided",) if unknown else ()
        return DataCheck(
            name, CONSTRAINT, text, opposite, (), int(broken), 0, ((),) * broken, goals, (), reasons
        )
    with _where_null_is_none(session, one) as asked:
        answers = asked.query(_open_goal(one), observe=observe).checked()
    return _judged(answers, name, text, one.columns, most)


@contextmanager
def _where_null_is_none(session: Session, one: Predicate) -> Iterator[Session]:
    """Give the session in which what a constraint reads has no value where it is null.

    That is what SQL says of a foreign key, and `@[null = none]` of a constraint.
    """
    program = session.program
    declared = dict(program.program.predicates)
    if one.attributes.get("null") != NullPolicy.NONE.value:
        yield session
        return
    for atom in _positive_atoms(program.program.rules_for(one.name)):
        declared[atom.predicate] = _without_maybe(declared[atom.predicate])
    other = session.over(
        JoinedProgram(replace(program, program=replace(program.program, predicates=declared)))
    )
    try:
        yield other
    finally:
        other.close()


def _positive_atoms(rules: Iterable[Rule]) -> Iterator[Atom]:
    for rule in rules:
        yield from (literal.atom for literal in rule.body if isinstance(literal, Positive))


def _without_maybe(predicate: Predicate) -> Predicate:
    """Give a declaration under which a null cell is no value, wherever a row may hold one."""
    none = NullPolicy.NONE.value
    held = {NullPolicy.MAYBE.value, NullPolicy.UNKNOWN.value}
    columns = (
        replace(column, attributes={**column.attributes, "null": none}) if word in held else column
        for column, word in zip(predicate.columns, null_words(predicate), strict=True)
    )
    return replace(predicate, columns=tuple(columns))


def _judged(
    answers: Answers, name: str, text: str, columns: tuple[Column, ...], most: int
) -> DataCheck:
    """Say what answers mean for a constraint whose violations they are."""
    weak = answers.weak
    open_rows = [row for row, verdict in weak.items() if verdict is Verdict.UNRESOLVED]
    under = len(weak) - len(open_rows)
    certain = len(answers.sure) - len(weak)
    shown: list[Row] = []
    goals: list[str] = []
    if certain or under:
        for row in answers:
            if len(shown) >= most:
                break
            if row.verdict in _SURE or (not certain and row.verdict in _UNDER):
                shown.append(row.values)
                goals.extend(row.goals[:1])
    if certain:
        verdict = Verdict.DISPROVED
    elif answers.exit_code == Verdict.UNRESOLVED.exit_code or open_rows:
        verdict = Verdict.UNRESOLVED
    elif under:
        verdict = Verdict.DISPROVED_UNDER
    else:
        verdict = Verdict.PROVED if answers.exit_code == 0 else Verdict.PROVED_UNDER
    return DataCheck(
        name,
        CONSTRAINT,
        text,
        verdict,
        columns,
        certain or under,
        len(open_rows) + answers.open_shapes,
        tuple(shown),
        tuple(goals),
        tuple(sorted(open_rows, key=str)[:most]),
        _reasons(answers),
    )


def _reasons(answers: Answers) -> tuple[str, ...]:
    found = [f"{one.predicate}: {one.reason}" for one in answers.reasons]
    return tuple(dict.fromkeys([*found, *([answers.stopped] if answers.stopped else [])]))


def _of_key(
    session: Session, name: str, one: Predicate, most: int, observe: Observer | None
) -> DataCheck:
    """Look for rows with equal keys: none of them is certain, so these are all open."""
    # Every column is read: rows that differ in one that nobody reads are one row to everybody else.
    answers = session.query(_open_goal(one), observe=observe).checked()
    twice = _contested(one, answers)
    holes = _holes(one, answers)
    again = _keys_again(one, answers, holes)
    twice.update((key, []) for key in sorted(again, key=str) if key not in twice)
    shown = [row for key in sorted(twice, key=str)[:most] for row in twice[key]]
    untold = (reason for reason in answers.reasons if not _is_told(reason))
    told = {
        reason
        for reason, keys in holes.items()
        if all(key is not None and (NO_VALUE in reason or key in again) for key in keys)
    }
    others = [reason for reason in untold if reason.reason not in told]
    verdict = Verdict.DISPROVED if twice else Verdict.PROVED
    if not twice and (answers.stopped or others):
        verdict = Verdict.UNRESOLVED
    return DataCheck(
        name,
        "key",
        _text(one) + _told_again(one, sorted(again, key=str)[:most]),
        verdict,
        one.columns,
        len(twice),
        0,
        tuple(shown),
        reasons=_reasons(replace(answers, reasons=tuple(others))),
        key=one,
        alike=sum(len(rows) == 1 for rows in twice.values()),
    )


def _contested(one: Predicate, answers: Answers) -> dict[Row, list[Row]]:
    """Give the rows of each key that more than one row has; alike ones once."""
    found: dict[Row, dict[object, Row]] = {}
    for call in answers.calls:
        if call.demand.predicate.name != one.name:
            continue
        conflicts = (each for each in call.answer.conflicts if each.text.endswith(NOBODY_COUNTS))
        rows = [row for each in conflicts for row in each.rows]
        alike = (each.row for each in call.answer.openings if ALIKE in each.reason)
        # Such a row is as far known as its cells are.
        rows += [cast("Row", row) for row in alike]
        for row in rows:
            key = tuple(row[place] for place in one.key)
            found.setdefault(key, {})[tuple(map(_as_seen, row))] = row
    return {key: list(rows.values()) for key, rows in found.items()}


def _holes(one: Predicate, answers: Answers) -> dict[str, list[Row | None]]:
    """Give the keys of open rows by the reason; `None` for a key that is not known as a whole."""
    found: dict[str, list[Row | None]] = {}
    for call in answers.calls:
        if call.demand.predicate.name == one.name:
            for opening in call.answer.openings:
                key = tuple(opening.row[place] for place in one.key)
                known = None if OPEN in key else cast("Row", key)
                found.setdefault(opening.reason, []).append(known)
    return found


def _keys_again(
    one: Predicate, answers: Answers, holes: Mapping[str, list[Row | None]]
) -> set[Row]:
    """Give the keys that another row has beside one with a cell that is no value.

    Whether a key is there twice does not rest on such a cell.
    """
    odd = [key for reason, keys in holes.items() if NO_VALUE in reason for key in keys if key]
    if not odd:
        return set()
    rows = (tuple(row.values[place] for place in one.key) for row in answers)
    others = (key for reason, keys in holes.items() if NO_VALUE not in reason for key in keys)
    again = {key for key, times in Counter(odd).items() if times > 1}
    return again | ({*odd} & {*rows, *others})


def _told_again(one: Predicate, keys: Sequence[Row]) -> str:
    """Name keys that two rows have of which one is not known as a whole."""
    named = (
        ", ".join(
            f"{one.columns[place].name} = {display_value(value, one.columns[place].kind)}"
            for place, value in zip(one.key, key, strict=True)
        )
        for key in keys
    )
    told = "; ".join(named)
    return f"; two have {told}, and a cell of one of them is no value" if told else ""


def _as_seen(cell: Value | NullCell) -> object:
    """Give what of a cell can be compared: of two that are null nobody sees a difference."""
    return None if isinstance(cell, NullCell) else cell


def _is_told(reason: OpenReason) -> bool:
    """Tell whether a reason is a null cell, or is told by the rows of a contested key."""
    return reason.null or any(word in reason.reason for word in (ALIKE, CONTESTED))


@frozen
class NearlyKey:
    """A predicate of which nobody declares a key, and the column that nearly is one.

    `text` says how many rows keep it from being one, `examples` are the values that these share.
    """

    predicate: str
    column: str
    text: str
    examples: str

    @property
    def help(self) -> str:
        """The edit that has these rows checked."""
        edit = f"write `@[key = {self.column}]` before `.decl {self.predicate}`"
        return f"{edit}: `constat check-data` lists these rows then, to be mended in the source"


def nearly_keys(session: Session) -> list[NearlyKey]:
    """Find what looks like a key where no key is declared, and rows that keep it from being one.

    A source that does not answer in time is passed over: nothing is declared, nothing is broken.
    """
    project, found = session.project, []
    declared = session.program.program.predicates.values()
    for database in project.databases.values():
        asked = [one for one in declared if one.source and one.source.name == database.name]
        asked = [one for one in asked if not one.key]
        if not asked:
            continue
        try:
            with reading(database, project) as connection:
                told = [_nearly_key(one, connection) for one in asked]
        except (ConstatError, SourceFailureError):
            continue
        found += [one for one in told if one is not None]
    return found


def _nearly_key(one: Predicate, connection: Connection) -> NearlyKey | None:
    from sqlglot import exp, parse_one  # noqa: PLC0415  heavy library, loaded on first use

    query = one.source.parameters.get("query", "") if one.source else ""
    try:
        guarded = guard(query, connection.dialect)
        names = connection.columns(guarded.text)
        pairs = [*zip(names, one.columns, strict=False)]
        called = {name: column.name for name, column in pairs}
        naming = [name for name, column in pairs if column.kind in NAMING_KINDS]
        source = parse_one(guarded.text, dialect=connection.dialect)
        likely = likely_keys(one.name, naming)
        near = near_key(
            connection,
            exp.Subquery(this=source, alias=exp.TableAlias(this=exp.to_identifier("q"))),
            likely,
            _SECONDS,
        )
    except (QueryMistakeError, SourceFailureError):
        return None
    if near is None or near.is_key or near.column not in called:
        return None
    name = called[near.column]
    return NearlyKey(one.name, name, f"{one.name}: {near.said(name)}", near.shown())


# Of rows that share a key none is certain, so the predicate itself proves nothing of them. The rows
# as the source gives them are a predicate without a key, `p.rows`, which no text can name: that two
# of them have the same key and differ in a column is a goal like any other, and says no more. Where
# nobody sees a difference, `p.numbered` has the number of each row and its key, and two numbers
# have it. Numbers follow the key, so of rows with one key it does not matter which has which.

_ROWS: Final = ".rows"
_NUMBERED: Final = ".numbered"


def with_rows(program: AnalysedProgram, names: Iterable[str]) -> AnalysedProgram:
    """Give a program with the rows of these predicates as their sources give them."""
    predicates = dict(program.program.predicates)
    for name in names:
        one = predicates[name]
        told = {k: v for k, v in one.attributes.items() if k == "null"}
        rows = replace(one, name=f"{name}{_ROWS}", attributes={**told, "distinct": "true"})
        predicates[rows.name] = rows
        numbered = _numbered(one)
        if numbered is not None:
            predicates[numbered.name] = numbered
    found = analyse(replace(program.program, predicates=predicates), [])
    return program if found is None else found


def _numbered(one: Predicate) -> Predicate | None:
    """Declare the numbers of the rows of a query, with their keys; `None` without a query.

    A row whose key holds a null shares it with no other row, and is left out.
    """
    source = one.source
    query = source.parameters.get("query") if source else None
    if source is None or query is None:
        return None
    given = ", ".join(f"c{place}" for place in range(one.arity))
    key = ", ".join(f"c{place}" for place in one.key)
    # A line break ends a comment that may close the query.
    name = unused_name("given", query)
    text = (
        f"WITH {name}({given}) AS (\n{query}\n)\n"
        f"SELECT row_number() OVER (ORDER BY {key}), {key} FROM {name}"
    )
    names = {one.columns[place].name for place in one.key}
    number = Column(_unused("row", names), Kind.NUMBER.value, Kind.NUMBER)
    columns = (replace(one.columns[n], attributes={"null": "skip"}) for n in one.key)
    return replace(
        one,
        name=f"{one.name}{_NUMBERED}",
        columns=(number, *columns),
        attributes={},
        source=replace(source, parameters={**source.parameters, "query": text}),
    )


def over_rows_in(session: Session, document: Mapping[str, Any]) -> Session:
    """Give the session with the rows of the predicates with keys that a certificate speaks of."""
    declared = session.program.program.predicates
    names = (str(one["name"]) for one in document["declarations"])
    parted = (name.partition(".") for name in names)
    bases = dict.fromkeys(name for name, *end in parted if "".join(end) in {_ROWS, _NUMBERED})
    found = [name for name in bases if name in declared and declared[name].key]
    if not found:
        return session
    return session.over(JoinedProgram(with_rows(session.program, found)))


def prove_broken_keys(session: Session, check: DataCheck) -> Iterator[tuple[str, Result | str]]:
    """Yield for each key that is shown what is wrong, with its proof or why there is none."""
    one = check.key
    if one is None:
        return
    groups: dict[Row, list[Row]] = {}
    for row in check.rows:
        groups.setdefault(tuple(row[place] for place in one.key), []).append(row)
    program = with_rows(session.program, [one.name])
    for rows in groups.values():
        yield _proof_of(session, program, one, rows)


def _proof_of(
    session: Session, program: AnalysedProgram, one: Predicate, rows: Sequence[Row]
) -> tuple[str, Result | str]:
    cells = [(one.columns[n].name, display_value(rows[0][n], one.kinds[n])) for n in one.key]
    text = f"two rows of {one.name} have {' and '.join(map(' '.join, cells))}"
    place = _difference(rows)
    if place is not None:
        text += f" and differ in {one.columns[place].name}"
        rule = _differing(one, place)
    elif f"{one.name}{_NUMBERED}" in program.program.predicates:
        rule = _twice(one)
    else:
        return text, "nobody sees a difference between them, and its source has no query"
    other = session.over(JoinedProgram(_with_goal(program, one, rule, text)))
    goal = Atom(ASKED, tuple(Constant(rows[0][n], one.kinds[n]) for n in one.key))
    try:
        with other.at_present() as present:
            result = present.prove(goal, exhaust=False)
    except ConstatError as problem:
        return text, "; ".join(each.message for each in problem.diagnostics)
    finally:
        other.close()
    if result.verdict is not Verdict.PROVED:
        return text, "the source has other rows now, or did not answer"
    return text, result.asked_as(text)


def _difference(rows: Sequence[Row]) -> int | None:
    """Find a column in which two rows have different values."""
    for place, cells in enumerate(zip(*rows, strict=True)):
        if len({cell for cell in cells if not isinstance(cell, NullCell)}) > 1:
            return place
    return None


def _differing(one: Predicate, place: int) -> Rule:
    """Give the rule of the keys whose rows differ in a column."""
    names, unread = {one.columns[n].name for n in one.key}, count(1)
    values = [Variable(_unused(f"{n}_{one.columns[place].name}", names)) for n in ("one", "other")]
    body: list[Literal] = []
    for value in values:
        terms = (
            Variable(column.name)
            if n in one.key
            else value
            if n == place
            else Variable(f"_{next(unread)}")
            for n, column in enumerate(one.columns)
        )
        body.append(Positive(Atom(f"{one.name}{_ROWS}", tuple(terms))))
    return Rule(f"{ASKED}.1", _key_of(one), (*body, Comparison("!=", values[0], values[1])))


def _twice(one: Predicate) -> Rule:
    """Give the rule of the keys that rows with two numbers have."""
    head = _key_of(one)
    numbers = [
        Variable(_unused(n, {column.name for column in one.columns})) for n in ("one", "other")
    ]
    rows = (Positive(Atom(f"{one.name}{_NUMBERED}", (n, *head.terms))) for n in numbers)
    return Rule(f"{ASKED}.1", head, (*rows, Comparison("<", numbers[0], numbers[1])))


def _key_of(one: Predicate) -> Atom:
    return Atom(ASKED, tuple(Variable(one.columns[n].name) for n in one.key))


def _unused(name: str, names: Container[str]) -> str:
    while name in names:
        name += "_"
    return name


def _with_goal(program: AnalysedProgram, one: Predicate, rule: Rule, says: str) -> AnalysedProgram:
    """Add a rule of keys, and the sentence of such a key."""
    columns = tuple(replace(one.columns[n], attributes={}) for n in one.key)
    base = program.program
    predicates = {**base.predicates, ASKED: Predicate(ASKED, columns, attributes={"says": says})}
    found: list[Diagnostic] = []
    joined = analyse(replace(base, predicates=predicates, rules=(*base.rules, rule)), found)
    if joined is None:
        raise ConstatError(found)
    return joined


def _text(one: Predicate) -> str:
    """Say what a constraint or a key demands, in the words of its author where there are any."""
    if CONSTRAINT in one.attributes:
        return " ".join(one.description.split())
    return f"one row of {one.name} for each {', '.join(one.columns[p].name for p in one.key)}"


def _open_goal(one: Predicate) -> str:
    return f"{one.name}({', '.join(f'?{column.name}' for column in one.columns)})"


_OPPOSITES: Final = MappingProxyType(
    {
        Verdict.PROVED: Verdict.DISPROVED,
        Verdict.PROVED_UNDER: Verdict.DISPROVED_UNDER,
        Verdict.UNRESOLVED: Verdict.UNRESOLVED,
        Verdict.DISPROVED_UNDER: Verdict.PROVED_UNDER,
        Verdict.DISPROVED: Verdict.PROVED,
    }
)
