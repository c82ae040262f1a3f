"""What the engine may ask at the same time, and when an evaluation's queries end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.evaluation import ConcurrentPredicate
from tests.tiers.building import configured, declare, reasons, setting

if TYPE_CHECKING:
    from pathlib import Path

SERVER = 'databases: {crm: {uri: "postgresql://u:p@127.0.0.1:1/x"}}\n'
OWN = "tiers: {own: {factory: 'tests.tiers.sample_tiers:Sample', predicates: [p]}}\n"
COUNTING = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000000)"
    " SELECT i FROM n WHERE i < 0"
)


@pytest.mark.parametrize(("more", "source"), [("", "crm"), (OWN, "")])
def test_a_predicate_names_its_source_where_nobody_else_is_asked(
    tmp_path: Path, more: str, source: str
) -> None:
    predicate = declare("p(k: symbol)", "SELECT id FROM t", source="crm")
    external = configured(tmp_path, SERVER + more, predicate).tiers.externals["p"]
    assert isinstance(external, ConcurrentPredicate)
    assert external.source == source
    assert external.cost >= 100


def test_a_query_takes_no_longer_than_its_evaluation(tmp_path: Path) -> None:
    found = setting(tmp_path, declare("p(i: number)", COUNTING))
    found.tiers.start(0.05)
    answer = found.ask("p")
    assert "[C0521]" in reasons(answer)
    assert not answer.answered


def test_the_bound_of_an_evaluation_ends_with_it(tmp_path: Path) -> None:
    found = setting(tmp_path, declare("p(i: number)", "SELECT 1"))
    found.tiers.start(0.0)
    found.tiers.release()
    assert found.ask("p").answered


def test_what_is_forgotten_is_asked_again(tmp_path: Path) -> None:
    found = setting(tmp_path, declare("p(i: number)", "SELECT 1"))
    found.ask("p")
    found.ask("p")
    assert len(found.queries) == 1
    found.tiers.forget()
    found.ask("p")
    assert len(found.queries) == 2
