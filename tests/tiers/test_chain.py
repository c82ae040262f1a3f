"""Who is asked, who is believed, and what rests on what (semantics 4 to 6, 13, 18, 27)."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.evaluation import Origin, TierAsked
from constat.logic import OPEN
from tests.tiers.building import (
    Setting,
    assumptions,
    database,
    declare,
    open_rows,
    reasons,
    rows,
    setting,
)

if TYPE_CHECKING:
    from pathlib import Path

TIER = "tier(c: symbol, t: symbol)"
QUERY = "SELECT c, t FROM accounts"
SCRIPT = """
    CREATE TABLE accounts (c TEXT PRIMARY KEY, t TEXT);
    INSERT INTO accounts VALUES ('C001', 'silver'), ('C002', 'gold');
"""
CRM = '{factory: "tests.tiers.sample_tiers:Sample", options: '
C1, C2, C9 = ("C001",), ("C002",), ("C009",)


def outcomes(found: Setting) -> list[tuple[str, str]]:
    return [(one.tier, one.outcome) for one in found.events if isinstance(one, TierAsked)]


def test_the_database_is_the_authority_of_what_it_reads(tmp_path: Path) -> None:
    found = setting(tmp_path, declare(TIER, QUERY), script=SCRIPT)
    answer = found.ask("tier", (0,), C1, C9)
    assert rows(answer, assumed=False) == {("C001", "silver")}
    assert answer.answered == {C1, C9}
    assert answer.openings == ()
    assert [one.source for one in answer.authorities] == ["sales"]


def test_tiers_that_are_not_configured_are_passed_over(tmp_path: Path) -> None:
    found = setting(tmp_path, declare(TIER))
    answer = found.ask("tier", (0,), C1)
    assert answer.answered == frozenset()
    assert open_rows(answer) == {("C001", OPEN)}
    assert outcomes(found) == [
        (name, "skipped") for name in ("cache", "config", "database", "model", "sub-plan")
    ]


def test_later_tiers_are_not_asked_once_a_pattern_is_complete(tmp_path: Path) -> None:
    config = f"tiers: {{crm: {CRM}{{mode: raise}}}}}}"
    found = setting(tmp_path, declare(TIER, QUERY), script=SCRIPT, config=config)
    assert found.ask("tier", (0,), C1).answered == {C1}
    assert ("crm", "skipped") in outcomes(found)


def test_a_scalar_in_the_configuration_closes_its_predicate(tmp_path: Path) -> None:
    config = "facts: {vip_threshold: 150000.50}"
    found = setting(tmp_path, declare("vip_threshold(x: Decimal)"), config=config)
    answer = found.ask("vip_threshold")
    assert rows(answer, assumed=False) == {(Decimal("150000.5"),)}
    assert answer.answered == {()}
    assert answer.authorities[0].origin is Origin.CONFIG
    assert answer.authorities[0].source == "constat.yaml"


def test_rows_in_the_configuration_do_not_close_their_predicate(tmp_path: Path) -> None:
    found = setting(tmp_path, declare(TIER), config="facts: {tier: [[C001, gold]]}")
    answer = found.ask("tier", (0,), C1)
    assert rows(answer, assumed=False) == {("C001", "gold")}
    assert answer.answered == frozenset()


def test_rows_of_a_predicate_whose_source_is_config_are_complete(tmp_path: Path) -> None:
    predicate = declare(TIER, source="config", parameters={"key": "tiers"})
    found = setting(tmp_path, predicate, config="facts: {tiers: [[C001, gold], [C002, x]]}")
    answer = found.ask("tier", (0,), C1, C9)
    assert rows(answer) == {("C001", "gold")}
    assert answer.answered == {C1, C9}


def test_a_missing_configuration_value_is_unknown_and_named(tmp_path: Path) -> None:
    found = setting(tmp_path, declare("vip_threshold(x: Decimal)", source="config"))
    answer = found.ask("vip_threshold")
    assert answer.answered == frozenset()
    assert "facts: vip_threshold" in reasons(answer)


def test_a_variable_of_the_configuration_is_recorded_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONSTAT_TEST_LIMIT", "7")
    config = "facts: {a: '${CONSTAT_TEST_LIMIT}', b: '${CONSTAT_TEST_NOTHING}'}"
    found = setting(tmp_path, declare("a(x: number)"), declare("b(x: number)"), config=config)
    answer = found.ask("a")
    assert rows(answer) == {(7,)}
    assert answer.portions[0].evidence.source == "env:CONSTAT_TEST_LIMIT"
    missing = found.ask("b")
    assert missing.answered == frozenset()
    assert "CONSTAT_TEST_NOTHING" in reasons(missing)


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ("{rate: [[north]]}", "C0507"),
        ("{rate: [[north, high]]}", "C0507"),
        ("{rate: {r: north, y: 1}}", "C0507"),
        ("{rate: {r: north}}", "C0507"),
        ("{rte: [[north, 1]]}", "C0506"),
        ("{rate: no}", "C0507"),
    ],
)
def test_configured_facts_must_fit_their_declaration(tmp_path: Path, facts: str, code: str) -> None:
    with pytest.raises(ConstatError, match=code) as caught:
        setting(tmp_path, declare("rate(r: symbol, x: Decimal)"), config=f"facts: {facts}")
    assert caught.value.diagnostics[0].span is not None


def test_a_stated_fact_is_united_under_its_authors_word(tmp_path: Path) -> None:
    found = setting(tmp_path, declare(TIER, QUERY), script=SCRIPT)
    found.ask("tier", (0,), C9)
    found.store.add("tier", ("C009", "gold"), "alice")
    # The empty answer is remembered, and hides nothing.
    answer = found.ask("tier", (0,), C9)
    assert rows(answer, assumed=True) == {("C009", "gold")}
    assert assumptions(answer) == {("fact", "user alice says tier(C009, gold)")}
    evidence = answer.portions[0].evidence
    assert (evidence.origin, evidence.author) == (Origin.USER_PROVIDED, "alice")
    found.store.retract("tier", ("C009", "gold"), "alice")
    assert rows(found.ask("tier", (0,), C9)) == set()


def test_a_stated_fact_answers_where_nothing_else_does_and_closes_nothing(tmp_path: Path) -> None:
    found = setting(tmp_path, declare(TIER))
    found.store.add("tier", ("C009", "gold"), "alice")
    answer = found.ask("tier", (0,), C9)
    assert rows(answer, assumed=True) == {("C009", "gold")}
    assert answer.answered == frozenset()


def test_a_stated_fact_that_no_longer_fits_makes_the_pattern_open(tmp_path: Path) -> None:
    found = setting(tmp_path, declare("limit(x: number)"), config="facts: {limit: 3}")
    found.store.add("limit", ("three",), "alice")
    assert "does not fit" in reasons(found.ask("limit"))


def test_stated_floats_come_back_as_they_were(tmp_path: Path) -> None:
    found = setting(tmp_path, declare("rate(x: float)"))
    found.store.add("rate", ((0.1).hex(),), "alice")
    assert rows(found.ask("rate")) == {(0.1,)}


def test_a_declared_closure_is_an_assumption(tmp_path: Path) -> None:
    found = setting(tmp_path, declare("blocked(c: symbol)"), config="closed: {blocked: legal}")
    answer = found.ask("blocked", (0,), C1)
    assert answer.answered == {C1}
    assert answer.authorities == ()
    assert open_rows(answer) == {("C001",)}
    assert assumptions(answer) == {("closure", "legal declares that no fact of blocked is missing")}


def test_a_closure_does_not_hide_a_source_that_failed(tmp_path: Path) -> None:
    config = "closed: {tier: legal}"
    found = setting(tmp_path, declare(TIER, QUERY), config=config, script=SCRIPT)
    (tmp_path / "shop.sqlite").unlink()
    assert found.ask("tier", (0,), C1).answered == frozenset()


def test_without_a_key_the_rows_of_tiers_are_united(tmp_path: Path) -> None:
    config = "facts: {tier: [[C001, gold]]}"
    found = setting(tmp_path, declare(TIER, QUERY), config=config, script=SCRIPT)
    answer = found.ask("tier", (0,), C1)
    assert rows(answer, assumed=False) == {("C001", "gold"), ("C001", "silver")}
    assert answer.answered == {C1}


def test_with_a_key_the_higher_tier_wins_and_the_conflict_is_reported(tmp_path: Path) -> None:
    config = "facts: {tier: [[C001, gold], [C002, gold]]}"
    found = setting(tmp_path, declare(TIER, QUERY, key="c"), config=config, script=SCRIPT)
    assert rows(found.ask("tier", (0,), C1, C2)) == {("C001", "gold"), ("C002", "gold")}
    details = [one.detail for one in found.events if isinstance(one, TierAsked)]
    assert [one for one in details if one.startswith("1 keys have another value")]


@pytest.mark.parametrize(
    ("columns", "key", "wanted"),
    [
        ((0,), ("C001",), {("C001", "gold")}),
        ((1,), ("silver",), set()),
        ((1,), ("gold",), {("C001", "gold"), ("C002", "gold")}),
        ((0, 1), ("C001", "silver"), set()),
        ((0, 1), ("C001", "gold"), {("C001", "gold")}),
        ((), (), {("C001", "gold"), ("C002", "gold")}),
    ],
)
def test_shadowing_does_not_depend_on_what_is_bound(
    tmp_path: Path, columns: tuple[int, ...], key: tuple[str, ...], wanted: set[tuple[str, str]]
) -> None:
    config = "facts: {tier: [[C001, gold]]}"
    found = setting(tmp_path, declare(TIER, QUERY, key="c"), config=config, script=SCRIPT)
    answer = found.ask("tier", columns, key)
    assert rows(answer) == wanted
    assert answer.answered == {key}
    assert answer.openings == ()


def test_two_values_for_one_key_in_one_tier_are_both_possible(tmp_path: Path) -> None:
    script = (
        "CREATE TABLE accounts (c, t); INSERT INTO accounts VALUES ('C001', 'a'), ('C001', 'b')"
    )
    found = setting(tmp_path, declare(TIER, QUERY, key="c"), script=script)
    for columns, key in (((0,), C1), ((), ())):
        answer = found.ask("tier", columns, key)
        assert rows(answer) == set()
        assert open_rows(answer) == {("C001", "a"), ("C001", "b")}
        assert answer.answered == {key}
        assert "2 rows for one key" in reasons(answer)
    # Bound otherwise, the value that is asked for is still only possible.
    assert open_rows(found.ask("tier", (1,), ("a",))) == {("C001", "a")}


def test_a_stated_fact_stands_below_the_tiers_of_a_key(tmp_path: Path) -> None:
    found = setting(tmp_path, declare(TIER, QUERY, key="c"), script=SCRIPT)
    found.store.add("tier", ("C001", "gold"), "alice")
    found.store.add("tier", ("C009", "gold"), "alice")
    for columns, keys in (((0,), (C1, C9)), ((), ((),))):
        answer = found.ask("tier", columns, *keys)
        assert {row for row in rows(answer) if row[0] != "C002"} == {
            ("C001", "silver"), ("C009", "gold"),
        }  # fmt: skip
    answer = found.ask("tier", (1,), ("gold",))
    assert rows(answer, assumed=True) == {("C009", "gold")}
    assert rows(answer, assumed=False) == {("C002", "gold")}


def test_two_people_who_contradict_each_other_leave_it_open(tmp_path: Path) -> None:
    found = setting(tmp_path, declare(TIER, QUERY, key="c"), script=SCRIPT)
    found.store.add("tier", ("C009", "gold"), "alice")
    found.store.add("tier", ("C009", "silver"), "bob")
    answer = found.ask("tier", (0,), C9)
    assert rows(answer) == set()
    assert open_rows(answer) == {("C009", "gold"), ("C009", "silver")}


def test_falling_through_a_tier_that_failed_is_an_assumption(tmp_path: Path) -> None:
    config = "facts: {tier: [[C001, '${CONSTAT_TEST_NOTHING}']]}"
    for key in ("", "c"):
        folder = tmp_path / f"key-{key}"
        folder.mkdir()
        found = setting(folder, declare(TIER, QUERY, key=key), config=config, script=SCRIPT)
        answer = found.ask("tier", (0,), C1, C2)
        assert rows(answer, assumed=True) == {("C001", "silver")}
        assert rows(answer, assumed=False) == {("C002", "gold")}
        assert answer.answered == {C1, C2}
        assert ("fall-through", "the configuration did not answer for tier") in assumptions(answer)
        hard = {one.row for one in answer.openings if one.assumption is not None}
        assert hard == {("C001", OPEN)}


@pytest.mark.parametrize("mode", ["raise", "fail", "nonsense", "wrong row", "wrong kind"])
def test_a_tier_that_breaks_down_is_recorded_as_unknown(tmp_path: Path, mode: str) -> None:
    config = f"tiers: {{crm: {CRM}{{mode: {mode}}}}}}}"
    found = setting(tmp_path, declare(TIER), config=config)
    answer = found.ask("tier", (0,), C1)
    assert answer.answered == frozenset()
    assert rows(answer) == set()
    assert "tier crm" in reasons(answer)
    assert "hunter" not in str(answer)
    assert ("crm", "unknown") in outcomes(found)
    if mode == "raise":
        assert "RuntimeError" in reasons(answer)


def test_a_failing_tier_before_the_database_weakens_it(tmp_path: Path) -> None:
    config = f"tiers: {{crm: {{after: config, {CRM[1:]}{{mode: raise}}}}}}"
    found = setting(tmp_path, declare(TIER, QUERY), config=config, script=SCRIPT)
    answer = found.ask("tier", (0,), C1)
    assert rows(answer, assumed=True) == {("C001", "silver")}
    assert assumptions(answer) == {("fall-through", "tier crm did not answer for tier")}
    # What failed is asked again; only what is known is remembered.
    found.events.clear()
    found.ask("tier", (0,), C1)
    assert ("crm", "unknown") in outcomes(found)


def test_an_assumed_origin_needs_an_assumption_whatever_the_tier_says(tmp_path: Path) -> None:
    config = f"tiers: {{crm: {CRM}{{rows: C001/gold C005/x}}}}}}"
    found = setting(tmp_path, declare(TIER), config=config)
    answer = found.ask("tier", (0,), C1)
    assert rows(answer, assumed=True) == {("C001", "gold")}
    (assumption,) = {portion.assumption for portion in answer.portions}
    assert assumption is not None
    assert (assumption.text, assumption.confidence) == (
        "tier crm says tier(C001, gold)", Decimal("0.8"),
    )  # fmt: skip


def test_only_the_authority_can_be_complete(tmp_path: Path) -> None:
    config = f"tiers: {{crm: {CRM}{{rows: C001/gold, complete: x, origin: DATABASE}}}}}}"
    added = setting(tmp_path, declare(TIER), config=config)
    assert added.ask("tier", (0,), C1).answered == frozenset()
    named = tmp_path / "named"
    named.mkdir()
    authority = setting(named, declare(TIER, source="crm"), config=config)
    answer = authority.ask("tier", (0,), C1)
    assert answer.answered == {C1}
    assert rows(answer, assumed=False) == {("C001", "gold")}
    assert answer.openings == ()


def test_an_authority_whose_word_is_assumed_closes_by_assumption(tmp_path: Path) -> None:
    config = f"tiers: {{crm: {CRM}{{complete: x, origin: API}}}}}}"
    found = setting(tmp_path, declare(TIER, source="crm"), config=config)
    answer = found.ask("tier", (0,), C1)
    assert answer.answered == {C1}
    assert open_rows(answer) == {("C001", OPEN)}
    assert assumptions(answer) == {("closure", "tier crm declares that no fact of tier is missing")}


@pytest.mark.parametrize(
    ("factory", "reason"),
    [
        ("tests.tiers.sample_tiers", "module:callable"),
        ("tests.tiers.nowhere:x", r"no module `tests.tiers.nowhere`"),
        ("tests.tiers.sample_tiers:nothing", "no callable"),
        ("tests.tiers.sample_tiers:broken", "factory failed"),
    ],
)
def test_a_tier_that_cannot_be_built_is_a_mistake_of_the_project(
    tmp_path: Path, factory: str, reason: str
) -> None:
    config = f'tiers: {{crm: {{factory: "{factory}", predicates: [tier]}}}}'
    found = setting(tmp_path, declare(TIER), config=config)
    with pytest.raises(ConstatError, match="C0530") as caught:
        found.ask("tier", (0,), C1)
    assert reason in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_name_without_a_factory_is_an_entry_point(tmp_path: Path) -> None:
    found = setting(tmp_path, declare(TIER), config="tiers: {nobody_has_this: {}}")
    with pytest.raises(ConstatError, match="no callable"):
        found.ask("tier", (0,), C1)


def install(folder: Path, target: str) -> None:
    """Put a distribution on the path that registers a tier `crm`, as an installer would."""
    described = folder / "crm_tier-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: crm-tier\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(f"[constat.tiers]\ncrm = {target}\n")


def test_an_installed_entry_point_is_a_tier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "site", "tests.tiers.sample_tiers:Sample")
    monkeypatch.syspath_prepend(tmp_path / "site")
    config = "tiers: {crm: {predicates: [tier], options: {complete: x, rows: C001/gold}}}"
    found = setting(tmp_path, declare(TIER, source="crm"), config=config)
    assert rows(found.ask("tier", (0,), C1)) == {("C001", "gold")}


def test_an_entry_point_that_cannot_be_loaded_is_a_mistake_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "site", "tests.tiers.nowhere:x")
    monkeypatch.syspath_prepend(tmp_path / "site")
    found = setting(tmp_path, declare(TIER, source="crm"), config="tiers: {crm: {}}")
    with pytest.raises(ConstatError, match=r"entry point fails \(ModuleNotFoundError\)"):
        found.ask("tier", (0,), C1)


def test_tiers_that_wait_for_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConstatError, match="circle"):
        setting(tmp_path, declare(TIER), config="tiers: {a: {after: b}, b: {after: a}}")


def test_a_wider_answer_serves_a_narrower_demand_and_not_the_reverse(tmp_path: Path) -> None:
    found = setting(tmp_path, declare(TIER, QUERY), script=SCRIPT)
    found.ask("tier", (0,), C1)
    assert len(found.queries) == 1
    found.ask("tier", (0, 1), ("C001", "silver"))
    found.ask("tier", (0,), C1)
    assert len(found.queries) == 1
    assert len(rows(found.ask("tier"))) == 2
    assert len(found.queries) == 2
    assert rows(found.ask("tier", (1,), ("gold",))) == {("C002", "gold")}
    assert len(found.queries) == 2


def test_a_remembered_answer_is_forgotten_when_the_source_changes(tmp_path: Path) -> None:
    found = setting(tmp_path, declare(TIER, QUERY), script=SCRIPT)
    assert rows(found.ask("tier", (0,), C1)) == {("C001", "silver")}
    found.tiers.release()
    database(tmp_path / "shop.sqlite", "UPDATE accounts SET t = 'gold'")
    assert rows(found.ask("tier", (0,), C1)) == {("C001", "gold")}


@pytest.mark.parametrize(
    ("predicate", "code", "fix"),
    [
        (declare("p(x: symbol)", "SELECT 1", source="sale"), "C0510", "sales"),
        (declare("p(x: symbol)", source="", parameters={"query": "SELECT 1"}), "C0510", "sales"),
        (declare("p(x: symbol)", source="sales"), "C0513", "query"),
        (declare("p(x: symbol)", "SELECT 1", parameters={"quey": "1"}), "C0513", "query"),
        (declare("p(x: symbol)", "SELECT 1", parameters={"null": "skp"}), "C0513", "skip"),
        (declare("p(x: symbol)", nulls={"x": "never"}), "C0513", "skip"),
        (declare("p(x: symbol)", key="y"), "C0513", "x"),
    ],
)
def test_what_the_rules_say_of_sources_is_held_against_the_project(
    tmp_path: Path, predicate: object, code: str, fix: str
) -> None:
    with pytest.raises(ConstatError, match=code) as caught:
        setting(tmp_path, predicate)  # type: ignore[arg-type]
    assert fix in caught.value.diagnostics[0].help


def test_cost_tells_the_dearest_tier_that_may_be_asked(tmp_path: Path) -> None:
    predicates = (declare(TIER, QUERY), declare("limit(x: number)"), declare("other(x: number)"))
    config = (
        f"facts: {{limit: 3}}\ntiers: {{crm: {{cost: 700, predicates: [other], {CRM[1:]}{{}}}}}}"
    )
    externals = setting(tmp_path, *predicates, config=config).tiers.externals
    assert {name: one.cost for name, one in externals.items()} == {
        "tier": 10, "limit": 1, "other": 700,
    }  # fmt: skip


def test_a_row_below_a_failed_authority_says_so_in_its_assumption(tmp_path: Path) -> None:
    config = f"tiers: {{crm: {CRM}{{rows: C001/gold}}}}}}"
    found = setting(tmp_path, declare(TIER, QUERY), config=config, script=SCRIPT)
    (tmp_path / "shop.sqlite").unlink()
    answer = found.ask("tier", (0,), C1)
    assert answer.answered == frozenset()
    assert assumptions(answer) == {
        ("fact", "tier crm says tier(C001, gold), and the database did not answer for tier")
    }


def test_a_stated_fact_never_settles_what_a_tier_contradicts_itself_about(tmp_path: Path) -> None:
    script = (
        "CREATE TABLE accounts (c, t); INSERT INTO accounts VALUES ('C001', 'a'), ('C001', 'b')"
    )
    found = setting(tmp_path, declare(TIER, QUERY, key="c"), script=script)
    found.store.add("tier", ("C001", "a"), "alice")
    assert rows(found.ask("tier", (0,), C1)) == set()


def test_a_stated_fact_of_a_predicate_that_is_all_key_survives_a_failed_source(
    tmp_path: Path,
) -> None:
    predicate = declare("blocked(c: symbol)", "SELECT c FROM accounts", key="c")
    found = setting(tmp_path, predicate, script=SCRIPT)
    found.store.add("blocked", ("C009",), "alice")
    (tmp_path / "shop.sqlite").unlink()
    assert rows(found.ask("blocked", (0,), C9), assumed=True) == {("C009",)}


def test_no_keys_are_no_question(tmp_path: Path) -> None:
    from constat.evaluation import Answer, Demand

    found = setting(tmp_path, declare(TIER, QUERY), script=SCRIPT)
    chain = found.tiers.externals["tier"]
    assert chain.answer(Demand(found.predicates["tier"], (0,), ())) == Answer()
    assert found.queries == []
