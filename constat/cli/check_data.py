"""`constat check-data [NAME...]`: do the rows of the sources keep to constraints and keys."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click

from constat.cli.groups import PlainCommand, format_option
from constat.cli.options import asked, project_option
from constat.cli.output import write, write_certificate, write_json
from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.frozen import frozen
from constat.logic import display_value
from constat.session import Session
from constat.session.data_checks import check_data, nearly_keys, prove_broken_keys, worst

if TYPE_CHECKING:
    from constat.logic import Row
    from constat.session.data_checks import DataCheck, NearlyKey

_WORDS: Final = MappingProxyType(
    {
        Verdict.PROVED: "holds",
        Verdict.PROVED_UNDER: "holds under assumptions",
        Verdict.UNRESOLVED: "not known",
        Verdict.DISPROVED_UNDER: "broken under assumptions",
        Verdict.DISPROVED: "BROKEN",
    }
)


@click.command(name="check-data", cls=PlainCommand)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--most",
    type=click.IntRange(min=0, max=10_000),
    default=10,
    show_default=True,
    help="Show so many rows of each constraint.",
)
@click.option(
    "--certificates",
    metavar="DIR",
    help="Prove each row and each broken key that is shown, and write certificates into DIR.",
)
@format_option
@project_option
def command(
    names: tuple[str, ...], *, most: int, certificates: str | None, form: str, project: str | None
) -> int:
    """Check the rows of the sources against the constraints of the rules and the declared keys.

    A rule file says `.constraint known_customer: orders(?o, ?c) => customers(?c, _).`: wherever the
    left side holds, the right side must. What breaks it is listed by `violates_known_customer`,
    so each row is a goal that `constat prove` proves and `constat verify` accepts. Rows that may
    break it, because a cell is not known, are told apart. A source that fails is shown. Before
    `.constraint`, `@[null = none]` says that a cell that is NULL refers to nothing, as in SQL.

    A key is broken where the source has two rows for it, alike ones too. Its certificate proves
    that two rows have it, and in which column they differ where somebody sees a difference. Where
    no key is declared, a column that nearly is one is named with the edit that has it checked.

    Examples:
      constat check-data --most 3
      constat check-data --certificates broken --format json

    NAME is that of a constraint, or "key of orders" for the key of a predicate.

    Exit codes: 0 all hold, 3 all hold under assumptions, 4 some are not known,
    5 some are broken, 6 some are broken under assumptions, 2 bad usage, rules or name.
    """
    with Session(project) as session, asked(session):
        checks = check_data(session, names, most)
        near = [] if names else nearly_keys(session)
        written = _certify(session, checks, certificates) if certificates else {}
        keys = _certify_keys(session, checks, certificates) if certificates else {}
    verdict = worst(checks)
    if form == "json":
        write_json({**_json(checks, written, keys, verdict), "nearly_keys": _near_json(near)})
    else:
        _print(checks, written, keys)
        _print_near(near)
    return verdict.exit_code


@frozen
class _Key:
    """What is wrong with a key, and the file that proves it, or why there is none."""

    text: str
    file: str | None
    why: str


def _certify_keys(session: Session, checks: list[DataCheck], folder: str) -> dict[str, list[_Key]]:
    """Prove of each key that is shown that two rows have it."""
    found: dict[str, list[_Key]] = {}
    for check in checks:
        for number, (text, proof) in enumerate(prove_broken_keys(session, check), start=1):
            told = found.setdefault(check.name, [])
            if isinstance(proof, str):
                told.append(_Key(text, None, proof))
                continue
            place = Path(folder) / f"{check.name.replace(' ', '-')}-{number}.json"
            place.parent.mkdir(parents=True, exist_ok=True)
            write_certificate(str(place), proof.certificate)
            told.append(_Key(text, str(place), ""))
    return found


def _certify(session: Session, checks: list[DataCheck], folder: str) -> dict[str, str]:
    """Prove the rows that break a constraint; give the file of each goal."""
    written: dict[str, str] = {}
    for check in checks:
        for number, goal in enumerate(check.goals, start=1):
            try:
                result = session.prove(goal)
            except ConstatError:
                # The row stays in the list; that it has no certificate is to be seen there.
                continue
            place = Path(folder) / f"{check.name}-{number}.json"
            place.parent.mkdir(parents=True, exist_ok=True)
            write_certificate(str(place), result.certificate)
            written[goal] = str(place)
    return written


def _print(checks: list[DataCheck], written: dict[str, str], keys: dict[str, list[_Key]]) -> None:
    if not checks:
        write("the rules have no `.constraint`, and no source has an `@[key]`")
        return
    for check in checks:
        write(f"{check.name}: {_WORDS[check.verdict]}{_count(check)}")
        if check.text:
            write(f"  {check.text}")
        for row, goal in zip(check.rows, check.goals or ("",) * len(check.rows), strict=True):
            certified = f"  ({written[goal]})" if goal in written else ""
            write(f"  {goal or _row(check, row)}{certified}")
        if check.broken > len(check.rows) and check.kind == "constraint":
            write(f"  and {check.broken - len(check.rows):,} more")
        if check.alike:
            write(f"  {_alike(check.alike)}")
        for key in keys.get(check.name, ()):
            write(f"  {key.text}  ({key.file or f'no certificate: {key.why}'})")
        for row in check.possible:
            write(f"  perhaps: {_row(check, row)}")
        for reason in check.reasons:
            write(f"  not known: {reason}")


def _print_near(near: list[NearlyKey]) -> None:
    for one in near:
        examples = f", for example {one.examples}" if one.examples else ""
        write(f"{one.text}{examples}")
        write(f"  help: {one.help}")


def _near_json(near: list[NearlyKey]) -> list[dict[str, str]]:
    return [
        {
            "predicate": one.predicate,
            "column": one.column,
            "text": one.text,
            "examples": one.examples,
            "help": one.help,
        }
        for one in near
    ]


def _alike(keys: int) -> str:
    which = "a row that stands alone here comes" if keys == 1 else "rows that stand alone here come"
    return f"{which} more than once in the source, alike in every column"


def _count(check: DataCheck) -> str:
    what = "row" if check.kind == "constraint" else "key"
    told = [f"{check.broken:,} {what}{'' if check.broken == 1 else 's'}"] if check.broken else []
    if check.maybe:
        told.append(f"{check.maybe:,} more may break it")
    return f", {', '.join(told)}" if told else ""


def _row(check: DataCheck, row: Row) -> str:
    shown = zip(check.columns, _cells(check, row), strict=True)
    return ", ".join(f"{column.name} = {cell}" for column, cell in shown)


def _cells(check: DataCheck, row: Row) -> list[str]:
    return [display_value(cell, one.kind) for one, cell in zip(check.columns, row, strict=True)]


def _json(
    checks: list[DataCheck],
    written: dict[str, str],
    keys: dict[str, list[_Key]],
    verdict: Verdict,
) -> dict[str, object]:
    return {
        "exit_code": verdict.exit_code,
        "checks": [
            {
                "name": one.name,
                "kind": one.kind,
                "text": one.text,
                "verdict": one.verdict.value,
                "broken": one.broken,
                "possible": one.maybe,
                "columns": [column.name for column in one.columns],
                "rows": [_cells(one, row) for row in one.rows],
                "possible_rows": [_cells(one, row) for row in one.possible],
                "goals": list(one.goals),
                "certificates": [written.get(goal) for goal in one.goals] if written else [],
                "reasons": list(one.reasons),
                "keys": [
                    {"text": each.text, "certificate": each.file, "why_none": each.why}
                    for each in keys.get(one.name, ())
                ],
            }
            for one in checks
        ],
    }
