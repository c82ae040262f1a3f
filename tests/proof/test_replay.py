"""A certificate made again from its own record is the same, byte for byte."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat import Session
from constat.engine import LazyEngine
from constat.evaluation import (
    Answer,
    Assumption,
    Demand,
    Evidence,
    Limits,
    Origin,
    Portion,
    Proved,
    Verdict,
)
from constat.proof import decide
from constat.proof.encoding import canonical, object_form, sha256
from constat.proof.rebuilding import rebuild
from constat.session.replaying import replay
from tests.cli.running import Ran, run
from tests.examples.fixtures import shop, shop_database, still_shop
from tests.proof.asking import (
    NOW,
    VIP,
    Table,
    analysed,
    ask,
    certificate,
    matches,
    vip_tables,
)
from tests.property.strategies import Case, cases
from tests.property.tables import Manner, tables

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["shop", "shop_database", "still_shop"]

MANNERS = st.builds(Manner, st.booleans(), st.booleans(), st.booleans())
# One of each verdict, with recursion, aggregates, negation, assumptions and gaps.
GOALS = (
    "is_vip(C001)",
    "is_vip(C002)",
    "is_vip(?c)",
    "in_vip_group(C032)",
    "is_strategic(C009)",
    "may_leave(C005)",
    "gets_partner_price(C003)",
    "is_regular(C001)",
    "controls(C001, ?owned)",
)


def certificate_of(case: Case, manner: Manner, *, exhaust: bool) -> bytes:
    externals = tables(case.program, case.world, manner)
    decision = decide(LazyEngine(), case.program, case.goal, externals, Limits(), exhaust=exhaust)
    return certificate(decision)


@settings(max_examples=12)
@given(cases(), MANNERS, st.booleans())
def test_every_certificate_comes_out_the_same(case: Case, manner: Manner, exhaust: bool) -> None:  # noqa: FBT001  drawn
    content = certificate_of(case, manner, exhaust=exhaust)
    rebuilt = rebuild(content)
    assert (rebuilt.reason, rebuilt.members) == ("", ())
    assert rebuilt.content == content


@pytest.mark.slow
@given(cases(), MANNERS, st.booleans())
def test_many_more_come_out_the_same(case: Case, manner: Manner, exhaust: bool) -> None:  # noqa: FBT001  drawn
    content = certificate_of(case, manner, exhaust=exhaust)
    assert rebuild(content).same


def test_every_goal_of_the_example_is_replayed_to_the_byte(still_shop: Path) -> None:
    verdicts = set()
    with Session(still_shop) as session:
        for goal in GOALS:
            for result in (session.prove(goal), *islice(session.proofs(goal), 1)):
                found = replay(result.certificate)
                assert found.same, (goal, found.reason, found.members)
                assert found.content == result.certificate
                assert found.exit_code == 0
                verdicts.add(result.verdict)
    assert verdicts == set(Verdict)


def test_recursive_totals_and_deep_proofs_are_replayed() -> None:
    text = (
        '.decl s(a: number, b: number, w: unsigned)\n.input s(source = "s", query = "q")\n'
        '.decl e(a: number)\n.input e(source = "s", query = "q")\n'
        ".decl c(a: number, b: number)\nc(?a, ?a) :- e(?a).\n"
        "c(?a, ?b) :- e(?b), e(?a), ?t = sum ?w : { c(?a, ?m), s(?m, ?b, ?w) }, ?t > 50.\n"
    )
    count = 40
    held = {"e": Table(tuple((n,) for n in range(count)))}
    held["s"] = Table(tuple((n, n + 1, 60) for n in range(count)))
    content = certificate(ask(analysed(text), f"c(0, {count - 1})", held))
    assert len(json.loads(content)["nodes"]) > count
    assert rebuild(content).same


class Certified(Table):
    """A table whose rows other certificates prove, one of them under assumptions."""

    def answer(self, demand: Demand) -> Answer:
        portions = []
        for goal in ("is_vip(C3)", "is_vip(C1)"):
            inner = certificate(ask(analysed(VIP), goal, vip_tables()))
            document = json.loads(inner)
            row = tuple(document["header"]["goal"][1])
            taken = tuple(
                Assumption(one["kind"], "", one["text"], Decimal(one["confidence"]))
                for one in (document["assumptions"][n] for n in document["header"]["under"])
            )
            evidence = Evidence(
                *("certificates", Origin.DERIVED, document["identity"], NOW),
                row_count=1,
                confidence=Decimal(document["header"]["confidence"]),
                proved=Proved(inner, taken),
            )
            text = f"the certificate {document['identity'][:19]} proves is_vip({row[0]})"
            held = Assumption("fact", "", f"{text} under its assumptions", parts=taken)
            if matches(demand, row):
                portions.append(Portion((row,), evidence, held if taken else None))
        return Answer(tuple(portions))


@pytest.mark.parametrize("goal", ["served(C1)", "served(C3)", "served(?c)", "both()"])
def test_what_other_certificates_prove_is_replayed_with_them(goal: str) -> None:
    text = (
        '.decl is_vip(c: symbol)\n.input is_vip(source = "s", query = "q")\n'
        ".decl served(c: symbol)\nserved(?c) :- is_vip(?c).\n"
        '.decl both()\nboth() :- is_vip("C1"), is_vip("C3").\n'
    )
    content = certificate(ask(analysed(text), goal, {"is_vip": Certified()}))
    assert json.loads(content)["proofs"]
    rebuilt = rebuild(content)
    assert (rebuilt.reason, rebuilt.members) == ("", ())
    assert rebuilt.content == content


def test_what_is_not_shown_is_not_needed(tmp_path: Path) -> None:
    # The project may be gone: only the certificate counts.
    content = certificate(ask(analysed(VIP), "is_vip(C1)", vip_tables()))
    assert Session(tmp_path / "nowhere").replay(content).same


def changed(content: bytes, **members: object) -> bytes:
    """Give a certificate with other members, its hashes made to fit."""
    document = {**json.loads(content), **members}
    parts = {k: canonical(v) for k, v in document.items() if k not in {"identity", "digest"}}
    parts["identity"] = canonical(sha256(object_form(parts, frozenset({"proofs", "record"}))))
    parts["digest"] = canonical(sha256(object_form(parts)))
    return (object_form(parts) + "\n").encode()


def test_a_valid_certificate_that_another_writer_made_comes_out_otherwise() -> None:
    # The order of facts is the writer's choice; a checker accepts others.
    content = certificate(ask(analysed(VIP), "is_vip(C1)", vip_tables()))
    document = json.loads(content)
    assert changed(content) == content
    header = {**document["header"], "search": "stopped"}
    other = changed(content, header=header)
    found = replay(other)
    assert found.same  # whether better proofs were looked for is the writer's word, and recorded
    more = [*document["assumptions"], {**_assumption()}]
    other = changed(content, assumptions=more)
    found = replay(other)
    assert not found.same
    assert "assumptions" in found.members
    assert found.exit_code == 7


def _assumption() -> dict[str, object]:
    return {"kind": "closure", "text": "nobody names this", "confidence": "1", "attestations": []}


def test_summaries_are_named_as_what_the_record_does_not_hold() -> None:
    rows = tuple(("C1", f"o{n}", 1) for n in range(1_001))
    table = Table(tuple((c, o, Decimal(200 * a)) for c, o, a in rows))
    content = certificate(ask(analysed(VIP), "is_vip(C1)", vip_tables(order_line=table)))
    assert json.loads(content)["summaries"]
    found = replay(content)
    assert found.content is None
    assert found.exit_code == 4
    assert found.reason == "1 summary stands for rows that the certificate does not hold"


# ------------------------------------------------------------------ the command


def replayed(path: Path, *more: str | Path) -> Ran:
    return run("replay", path, *more)


def test_the_command_says_whether_the_bytes_are_the_same(still_shop: Path, tmp_path: Path) -> None:
    file, again = tmp_path / "c.json", tmp_path / "again.json"
    run("prove", "is_vip(C001)", "--project", still_shop, "--certificate", file)
    ran = replayed(file, "--output", again, "--project", tmp_path)
    assert ran.code == 0
    assert ran.out.startswith("the same bytes: sha256:")
    assert again.read_bytes() == file.read_bytes()
    told = replayed(file, "--format", "json").json
    assert told["same"]
    assert told["members"] == []


def test_a_rejected_certificate_is_not_replayed(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text("{}")
    for arguments in (("replay", file), ("diff", file, file)):
        ran = run(*arguments)
        assert ran.code == 1
        assert "C0720" in ran.err


def test_a_kept_certificate_is_replayed_by_its_identity(shop: Path) -> None:
    ran = run("prove", "is_vip(C001)", "--project", shop, "--keep")
    name = ran.err.split("kept as ")[1].split(".")[0]
    assert replayed(f"sha256:{name}", "--project", shop).code == 0  # type: ignore[arg-type]
    missing = replayed(f"sha256:{'0' * 64}", "--project", shop)  # type: ignore[arg-type]
    assert missing.code == 2
    assert "C0722" in missing.err


def test_live_tells_what_became_of_each_fact(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    project = ("--project", shop)
    run("prove", "is_vip(C001)", *project, "--certificate", file)
    assert replayed(file, "--live", *project).code == 0
    text = (shop / "constat.yaml").read_text()
    (shop / "constat.yaml").write_text(
        text.replace("vip_threshold: 100000", "vip_threshold: 180000")
    )
    ran = replayed(file, "--live", *project)
    assert ran.code == 7
    assert "verdict: PROVED, now DISPROVED" in ran.out
    assert "vanished: vip_threshold(100000)" in ran.out
    (shop / "constat.yaml").write_text(text)
    shutil.move(shop / "data", shop / "gone")
    ran = replayed(file, "--live", *project, "--format", "json")
    assert ran.code == 4
    assert {one["status"] for one in ran.json["facts"]} == {"unchanged", "cannot be read"}
