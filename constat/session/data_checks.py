"""Check the data of a project against its constraints and keys.

In: a session. Out: for each `.constraint` and each `@[key]` of a source what breaks it. Invariant:
"nothing breaks it" is said only where every row that could was read and known. A row that breaks a
constraint is a goal: its certificate is checked like any other. Rows that contradict a key are
shown as they are: of two rows for one key none is certain (semantics 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.evaluation import Verdict
from constat.session.answers import Computed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from constat.evaluation import Observer
    from constat.logic import Column, Predicate, Row
    from constat.session.answers import Answers
    from constat.session.session import Session

CONSTRAINT: Final = "constraint"
_SURE: Final = frozenset({Verdict.PROVED, Computed.CERTAIN})
_UNDER: Final = frozenset({Verdict.PROVED_UNDER, Computed.UNDER})
_ORDER: Final = (
    Verdict.DISPROVED,
    Verdict.UNRESOLVED,
    Verdict.DISPROVED_UNDER,
    Verdict.PROVED_UNDER,
    Verdict.PROVED,
)


@dataclass(frozen=True, slots=True)
class DataCheck:
    """What came of one constraint or key; the verdict is about "it holds for all rows".

    `rows` are the first that break it, `possible` the first that may. `goals` stand beside `rows`
    where a certificate can be had. `reasons` say why more may break it.
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
    answers = session.query(_open_goal(one), observe=observe).checked()
    return _judged(answers, name, text, one.columns, most)


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
    groups: dict[Row, list[Row]] = {}
    for row, verdict in answers.weak.items():
        if verdict is Verdict.UNRESOLVED:
            groups.setdefault(tuple(row[place] for place in one.key), []).append(row)
    twice = {key: rows for key, rows in groups.items() if len(rows) > 1}
    shown = [row for key in sorted(twice, key=str)[:most] for row in twice[key]]
    verdict = Verdict.PROVED
    if twice:
        verdict = Verdict.DISPROVED
    elif groups or answers.stopped or not all(reason.null for reason in answers.reasons):
        verdict = Verdict.UNRESOLVED
    return DataCheck(
        name,
        "key",
        _text(one),
        verdict,
        one.columns,
        len(twice),
        0,
        tuple(shown),
        (),
        (),
        _reasons(answers) if verdict is not Verdict.PROVED else (),
    )


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
