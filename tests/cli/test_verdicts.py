"""Every verdict on the example: exit code, text, JSON, certificate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from constat.check import check_certificate
from tests.check.writer import seal
from tests.cli.running import run, run_process

if TYPE_CHECKING:
    from pathlib import Path

GOALS = (
    ("is_vip(C001)", 0, "PROVED"),
    ("is_vip(customer = C003)", 0, "PROVED"),
    ("is_vip(?who)", 0, "PROVED"),
    ("in_vip_group(C032)", 0, "PROVED"),
    ("group_head(C031, H001)", 0, "PROVED"),
    ("controls(C034, C034)", 0, "PROVED"),
    ("customer_revenue(C001, 150000)", 0, "PROVED"),
    ("may_leave(C005)", 3, "PROVED_UNDER"),
    ("is_strategic(C009)", 4, "UNRESOLVED"),
    ("is_regular(C001)", 4, "UNRESOLVED"),
    ("is_vip(C002)", 5, "DISPROVED"),
    ("is_vip(C004)", 5, "DISPROVED"),
    ("is_vip(C005)", 0, "PROVED"),
    ("is_vip(C006)", 5, "DISPROVED"),
    ("is_vip(NOBODY)", 5, "DISPROVED"),
    ("controls(C001, C033)", 5, "DISPROVED"),
    ("group_head(C031, C001)", 5, "DISPROVED"),
    ("gets_partner_price(C003)", 6, "DISPROVED_UNDER"),
)


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize(("goal", "code", "verdict"), GOALS)
def test_a_goal_ends_with_the_code_of_its_verdict(
    still_shop: Path, tmp_path: Path, goal: str, code: int, verdict: str
) -> None:
    file = tmp_path / "certificate.json"
    ran = run("prove", goal, "--project", still_shop, "--certificate", file)
    assert ran.code == code, ran.err
    assert ran.out.startswith(verdict.replace("_UNDER", " UNDER assumptions") + ": ")
    report = check_certificate(file.read_bytes())
    assert (report.accepted, report.verdict, report.reason) == (True, verdict, None)
    verified = run("verify", file)
    assert verified.code == code
    assert "leaves were not re-read" in verified.out
    reread = run("verify", file, "--source", "--project", still_shop)
    assert (reread.code, reread.err) == (code, ""), reread.out
    assert "leaves were not re-read" not in reread.out


def test_a_sentence_turned_round_is_told_with_code_1(still_shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    run("prove", "is_vip(C001)", "--project", still_shop, "--certificate", file)
    file.write_bytes(seal(json.loads(file.read_text().replace("is a VIP", "is NO VIP"))))
    assert run("verify", file).code == 0
    again = ("verify", file, "--source", "--project", still_shop)
    told = 'the sentence of is_vip has changed: the certificate says "{customer} is NO VIP"'
    told += ', the project says "{customer} is a VIP"'
    text, members = run(*again), run(*again, "--format", "json").json
    assert text.code == members["exit_code"] == 1
    assert text.out.startswith("REJECTED at rules: ")
    assert told in text.out
    assert members["rules_changed"][0] == told
    assert run(*again, "--allow-other-rules").code == 0
    live = run("replay", file, "--live", "--project", still_shop)
    assert (live.code, f"\n  {told}\n" in live.out) == (7, True)
    stands = run("stale", file, "--project", still_shop)
    assert (stands.code, f"\n  {told}\n" in stands.out) == (0, True)


@pytest.mark.parametrize(("goal", "code", "verdict"), GOALS[::3])
def test_the_json_of_a_verdict_has_the_documented_keys(
    still_shop: Path, goal: str, code: int, verdict: str
) -> None:
    ran = run("prove", goal, "--project", still_shop, "--format", "json")
    assert ran.code == code
    told = ran.json
    assert told["exit_code"] == code
    assert told["verdict"] == verdict
    kinds = {
        "goal": str,
        "verdict": str,
        "exit_code": int,
        "confidence": str,
        "confidence_is_exact": bool,
        "snapshot": str,
        "created": str,
        "as_of": type(None),
        "supersedes": type(None),
        "logged": type(None),
        "assumptions": list,
        "missing": list,
        "conflicts": list,
        "translation": dict,
        "unapproved": list,
        "proof": dict,
        "calls": list,
        "models": type(None),
    }
    assert {key: type(value) for key, value in told.items()} == kinds
    assert bool(told["assumptions"]) == verdict.endswith("UNDER")
    assert bool(told["missing"]) == (verdict == "UNRESOLVED")
    for call in told["calls"]:
        assert set(call) == {
            "number",
            "predicate",
            "bound",
            "keys",
            "rows",
            "open",
            "unanswered",
            "milliseconds",
        }


def test_the_proof_shows_source_query_time_and_reason(still_shop: Path) -> None:
    out = run("prove", "is_vip(C001)", "--project", still_shop).out
    for part in ("derived_from:", "source: DATABASE (sales)", "query: ", "executed_at: "):
        assert part in out
    assert "source: CONFIG (constat.yaml)" in out
    assert "evenue ($150,000) exceeds the VIP threshold ($100,000)" in out


def test_an_unresolved_goal_names_what_is_missing_as_a_goal(still_shop: Path) -> None:
    told = run("prove", "is_strategic(C009)", "--project", still_shop, "--format", "json").json
    assert told["missing"] == ["contract_value(C009, ?amount)"]
    again = run("prove", told["missing"][0], "--project", still_shop)
    assert again.code == 4


def test_a_stated_fact_turns_unresolved_into_proved_under(shop: Path) -> None:
    goal, fact = "is_strategic(C009)", "contract_value(C009, 250000)"
    assert run("prove", goal, "--project", shop).code == 4
    assert run("facts", "add", fact, "--by", "alice", "--project", shop).code == 0
    under = run("prove", goal, "--project", shop)
    assert under.code == 3
    assert "alice" in under.out
    assert run("facts", "retract", fact, "--by", "bob", "--project", shop).code == 0
    assert run("prove", goal, "--project", shop).code == 4


def test_the_project_is_found_from_the_root_of_the_repository(shop: Path) -> None:
    ran = run_process("prove", "is_vip(C001)", cwd=shop.parent.parent)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("PROVED: is_vip(C001)\n")


def test_a_missing_database_leaves_the_goal_unresolved_and_says_why(shop: Path) -> None:
    (shop / "data" / "shop.sqlite").unlink()
    ran = run("prove", "is_vip(C001)", "--project", shop)
    assert ran.code == 4
    assert "sales" in ran.out


def test_quiet_prints_the_verdict_only(still_shop: Path) -> None:
    ran = run("prove", "is_vip(C002)", "--project", still_shop, "--quiet")
    assert (ran.code, ran.out) == (5, "DISPROVED: is_vip(C002)\n")


def test_trace_calls_prints_each_demand(still_shop: Path) -> None:
    ran = run("prove", "is_vip(C001)", "--project", still_shop, "--trace-calls")
    calls = ran.out.partition("calls: ")[2].splitlines()
    assert int(calls[0]) == len(calls) - 1 > 0
    assert any("placed_order by customer: 1 key," in line for line in calls)


def test_depth_bounds_the_printed_proof(still_shop: Path) -> None:
    whole = run("prove", "in_vip_group(C032)", "--project", still_shop).out
    short = run("prove", "in_vip_group(C032)", "--project", still_shop, "--depth", "1").out
    assert len(short) < len(whole)
    assert "depth limit" in short


def test_a_rule_over_all_customers_makes_a_handful_of_calls(still_shop: Path) -> None:
    told = run(
        "prove",
        "is_vip(?who)",
        "--project",
        still_shop,
        "--minimal",
        "confidence",
        "--format",
        "json",
    ).json
    assert len(told["calls"]) <= 12


def test_rules_with_warnings_say_so_once_on_stderr(tmp_path: Path) -> None:
    rules = '.pragma "constat" "0.1"\n.decl n(x: number)\nn(1).\n.decl h(x: number)\n'
    (tmp_path / "rules.dl").write_text(rules + "h(?y) :- n(?x), ?y = ?x / 2.\n")
    (tmp_path / "constat.yaml").write_text("rules: rules.dl\n")
    told = "1 warning in the rules: `constat rules check "
    for asked in (
        ["prove", "h(0)"],
        ["prove", "h(0)", "--all"],
        ["prove", "h(0)", "--format", "json"],
        ["query", "h(?x)"],
    ):
        ran = run(*asked, "--project", tmp_path)
        assert ran.code == 0, ran.err
        assert ran.err.count(told) == 1, asked
        assert told not in ran.out
        assert ran.err.rstrip().endswith("rules.dl`")
    for asked in (["prove", "h(0)"], ["prove", "h(0)", "--all"]):
        assert told not in run(*asked, "--quiet", "--project", tmp_path).err
    (tmp_path / "rules.dl").write_text(rules + "h(?x) :- n(?x).\n")
    assert told not in run("prove", "h(1)", "--project", tmp_path).err


def test_where_no_fact_would_do_the_next_command_says_what_stops_it(tmp_path: Path) -> None:
    rules = '.pragma "constat" "0.1"\n@[abducible]\n.decl n(x: number)\n.decl h(x: number)\n'
    (tmp_path / "rules.dl").write_text(rules + "h(?x) :- n(?x), ?x > 5.\n")
    (tmp_path / "constat.yaml").write_text("rules: rules.dl\n")
    told = run("missing", "h(1)", "--project", tmp_path).out.splitlines()
    assert told[-1] == "what stops it: constat why-not 'h(1)'"
    assert "required: more than 5" in run("why-not", "h(1)", "--project", tmp_path).out
