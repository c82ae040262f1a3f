"""Sources of one's own, and the suite that their authors run."""

from __future__ import annotations

import contextlib
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from constat import Session, Verdict
from constat.sources import Cell, Request, Row, Source, SourceError, TierSettings
from constat.testing import Trial, check_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

TOKEN = "a-very-quiet-word"  # noqa: S105  of nothing
DECLARED = ".decl stay(guest: symbol, night: Date, price: Decimal, @[null = unknown] room: number)"
ROWS: list[tuple[Cell, ...]] = [
    ("Kim", date(2026, 1, 31), Decimal("80.50"), 7),
    ("kim", date(2026, 2, 1), Decimal("80.50"), 8),
    ("Lou", date(2026, 2, 1), Decimal(75), None),
]
DOWN: list[bool] = []


class Hotel(Source):
    """A right one."""

    authority = True
    secrets: tuple[str, ...] = (TOKEN,)
    held: Sequence[tuple[Cell, ...]] = ROWS

    def rows(self, request: Request) -> Iterable[Row]:
        if DOWN:
            raise SourceError(f"the desk does not answer to {TOKEN}")
        for number, row in enumerate(self.held):
            if number % 100 == 0:
                request.check()
            yield row


class Large(Hotel):
    held = tuple((f"guest {n}", date(2026, 1, 1), Decimal(n), n) for n in range(5_000))


class Texts(Hotel):
    held = tuple((guest, night, f"about {price}", room) for guest, night, price, room in ROWS)


class WithoutNulls(Hotel):
    held = ROWS[:2]


class Careless(Hotel):
    def rows(self, request: Request) -> Iterable[Row]:
        return [] if DOWN else self.held


class Talkative(Hotel):
    secrets: tuple[str, ...] = ()

    def describe(self, request: Request) -> str:
        return f"GET /stays?token={TOKEN}"


class AnyCase(Hotel):
    def rows(self, request: Request) -> Iterator[Row]:
        for row in super().rows(request):
            named = dict(zip(request.columns, row, strict=True))
            asked = [dict(zip(request.bound, key, strict=True)) for key in request.keys]
            if any(all(named[name] == one[name] for name in one) for one in asked[:1]):
                yield row


class AllAtOnce(Hotel):
    held = Large.held

    def rows(self, request: Request) -> Iterable[Row]:
        return list(self.held)


class Turning(Hotel):
    def rows(self, request: Request) -> Iterator[Row]:
        self.asked = getattr(self, "asked", 0) + 1
        for row in super().rows(request):
            whole = isinstance(row, tuple) and row[0] == "Kim" and self.asked > 1
            yield (*row[:3], self.asked) if whole and isinstance(row, tuple) else row


@contextlib.contextmanager
def down() -> Iterator[None]:
    DOWN.append(True)
    try:
        yield
    finally:
        DOWN.clear()


def trial(made: type[Source], many: type[Source] = Large) -> list[str]:
    return check_source(Trial(made, DECLARED, ROWS, down, many, (TOKEN,)))


def test_a_right_source_breaks_no_promise() -> None:
    assert trial(Hotel) == []


@pytest.mark.parametrize(
    ("made", "promise"),
    [
        (Texts, "types: it "),
        (WithoutNulls, "types: it leaves out ('Lou', '2026-02-01', Decimal('75')"),
        (Careless, "faults: it cannot be reached, and says that there are no rows"),
        (Talkative, "evidence: it shows a secret"),
        (AnyCase, "keys: asked by `guest` it leaves out"),
        (Turning, "again: the same question has different answers"),
    ],
)
def test_each_defect_of_a_source_is_noticed(made: type[Source], promise: str) -> None:
    found = trial(made)
    assert any(line.startswith(promise) for line in found), found


def test_a_source_that_makes_all_rows_at_once_is_noticed() -> None:
    assert trial(Hotel, AllAtOnce) == [
        "limits: it makes all rows at once: yield them, and call request.check()"
    ]


def project(folder: Path, made: str) -> Path:
    (folder / "constat.yaml").write_text(
        f"rules: [rules.dl]\ntiers: {{desk: {{factory: '{__name__}:{made}'}}}}\n",
        encoding="utf-8",
    )
    (folder / "rules.dl").write_text(
        f'.pragma "constat" "0.1"\n{DECLARED}\n.input stay(source = "desk")\n'
        ".decl regular(guest: symbol)\n"
        "regular(?g) :- stay(?g, _, ?p, _), ?p > 80.\n",
        encoding="utf-8",
    )
    return folder


class Hearsay(Hotel):
    authority = False


def test_a_source_proves_by_its_authority_and_is_only_believed_without(tmp_path: Path) -> None:
    with Session(project(tmp_path, "Hotel")) as session:
        assert session.prove("regular(Kim)").verdict is Verdict.PROVED
        assert session.prove("regular(Lou)").verdict is Verdict.DISPROVED
        with down():
            missing = session.prove("regular(Max)")
            assert missing.verdict is Verdict.UNRESOLVED
            assert TOKEN not in str(missing.certificate)
    with Session(project(tmp_path, "Hearsay")) as session:
        assert session.prove("regular(Kim)").verdict is Verdict.PROVED_UNDER
        assert session.prove("regular(Lou)").verdict is Verdict.UNRESOLVED


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("Kim", "it gives no rows"),
        ([{"guest": "Kim"}], "a row has no `night`; NULL is given as None"),
        ([("Kim",)], "a row is no sequence of 4 cells"),
        (["Kim1"], "a row is no sequence of 4 cells"),
    ],
)
def test_what_is_no_row_is_a_failure_and_no_absence(given: object, said: str) -> None:
    class Strange(Hotel):
        def rows(self, request: Request) -> Iterable[Row]:
            return given  # type: ignore[return-value]  # that is what is wrong

    found = trial(Strange)
    assert any(said in line for line in found), found


def test_foreign_exceptions_are_named_and_not_quoted() -> None:
    class Breaking(Hotel):
        def rows(self, request: Request) -> Iterable[Row]:
            raise RuntimeError(TOKEN)

    assert any("it broke down (RuntimeError)" in line for line in trial(Breaking))


def test_settings_reach_the_source() -> None:
    settings = TierSettings("desk", Path(), 5, ("stay",), {"city": "Ulm"})
    assert Hotel(settings).settings.options["city"] == "Ulm"
