"""Answers as data frames: exact types, nothing lost."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from constat import Session, Verdict
from tests.session.querying import THINGS, make_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(make_project(tmp_path_factory.mktemp("things") / "project")) as session:
        yield session


def test_a_data_frame_has_exact_types(things: Session) -> None:
    names = ("name", "n", "u", "f", "d", "day", "at", "ok")
    query = f"thing({', '.join(f'?{name}' for name in names)})"
    frame = things.query(query).to_pandas()
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
        "name": "string",
        "n": "Int64",
        "u": "UInt64",
        "f": "Float64",
        "d": "object",
        "day": "object",
        "at": "datetime64[us, UTC]",
        "ok": "boolean",
        "verdict": "string",
    }
    by_name = frame.set_index("name")
    assert by_name.loc["big", "n"] == 2**63 - 1
    assert by_name.loc["big", "u"] == 2**64 - 1
    assert by_name.loc["low", "n"] == -(2**63)
    assert by_name.loc["plain", "d"] == Decimal("10.5")
    assert by_name.loc["plain", "day"] == date(2025, 1, 31)
    assert by_name.loc["plain", "at"] == pd.Timestamp("2025-01-31T10:00:00.000001Z")
    assert max(by_name["at"]).year == 9999
    assert by_name["ok"].sum() == sum(thing[7] == "true" for thing in THINGS)
    assert not frame.isna().any().any()


def test_an_empty_data_frame_keeps_its_types(things: Session) -> None:
    frame = things.query("thing(name = ?x, n = ?n), ?n = 12345", confidence=True).to_pandas()
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
        "x": "string",
        "n": "Int64",
        "verdict": "string",
        "confidence": "object",
    }
    assert len(frame) == 0


def test_a_variable_called_verdict_keeps_its_column(things: Session) -> None:
    frame = things.query("pair(?verdict, e)").to_pandas()
    assert list(frame.columns) == ["verdict", "verdict_"]
    assert list(frame["verdict"]) == ["e"]


def test_pandas_is_loaded_for_frames_only(still_shop: Path) -> None:
    program = (
        "import sys; from constat import Session\n"
        "with Session(sys.argv[1]) as session: answers = session.query('is_vip(?c)')\n"
        "assert 'pandas' not in sys.modules\n"
        "assert len(answers.to_pandas()) == len(answers)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(still_shop)], check=True)


def test_a_decimal_of_more_digits_is_a_changed_value_and_no_other_column() -> None:

    frame = pd.DataFrame({"a": [Decimal("1.5"), Decimal("2.5")]})
    with Session(rules=".decl k(a: Decimal)\nk(?a) :- x(?a).", facts={"x": frame}) as session:
        assert session.prove("k(1.5)").verdict is Verdict.PROVED
        for changed in ("100.5", "0.125", "123456789.123456"):
            frame["a"] = pd.Series([Decimal(changed), Decimal("2.5")])
            assert session.prove(f"k({changed})").verdict is Verdict.PROVED
            assert session.prove("k(1.5)").verdict is Verdict.DISPROVED
        frame["a"] = ["one", "two"]
        assert session.prove("k(1.5)").verdict is Verdict.UNRESOLVED
