"""What a language model tells: assumed, bounded, attested, paid for once, and asked for last."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.evaluation import ConcurrentPredicate
from tests.loopback.server import ModelServer, Raw, Written
from tests.tiers.building import database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.session import Result
    from tests.loopback.server import Answer, Asked

INDUSTRY = """
@[key = "company"]
.decl industry(company: symbol, name: symbol)
.input industry(source="model", about="the industry a company works in")
.decl retailer(company: symbol)
retailer(?c) :- industry(?c, "retail").
"""
Tell = dict[str, Any]


@dataclass
class Place:
    """A project whose models are a server of ours, which answers by the company's name."""

    folder: Path
    server: ModelServer
    known: dict[str, Tell] = field(default_factory=dict)
    raw: list[Answer] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answer:
        if self.raw:
            return self.raw.pop(0)
        numbered = keys(asked)
        told = [
            {"key": one["key"], **self.known.get(" ".join(one["given"].values()), {"known": False})}
            for one in numbered
        ]
        return Written(calls=(("tell", {"answers": told}),))

    @property
    def asked(self) -> list[list[str]]:
        """The keys of each call."""
        return [[" ".join(one["given"].values()) for one in keys(a)] for a in self.server.asked]

    def prove(self, goal: str, *, cache: bool = True) -> Result:
        """Prove in a session of its own, as another program would; the checker agrees."""
        with Session(self.folder, cache=cache) as session:
            result = session.prove(goal)
        assert check_certificate(result.certificate).accepted
        return result


def keys(asked: Asked) -> list[Any]:
    found: list[Any] = json.loads(asked.last.splitlines()[-1])
    return found


def rows(*names: str, confidence: object = 0.7) -> Tell:
    return {"known": True, "rows": [{"name": n} for n in names], "confidence": confidence}


@contextmanager
def place(folder: Path, rules: str = INDUSTRY, config: str = "", rest: str = "") -> Iterator[Place]:
    known: list[Place] = []

    def answer(asked: Asked) -> Answer:
        return known[0].answer(asked)

    with ModelServer(answer) as server:
        known.append(Place(folder, server))
        (folder / "r.dl").write_text(rules)
        (folder / "constat.yaml").write_text(
            f"rules: [r.dl]\nmodels:\n  named:\n    m: {{model: big, key: A_KEY, base_url: "
            f'"{server.address}", answers_as: [written-answers]}}\n{config}\n{rest}\n'
            # Keys out of rows may be sent; `tests/session/test_privacy.py` is about leave.
            "authoring: {facts: true}\n"
        )
        yield known[0]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-planted-in-the-environment")


def reasons(result: Result) -> str:
    return " ".join(one["reason"] for one in json.loads(result.certificate)["open"])


def test_what_a_model_tells_is_an_assumption_and_its_word_is_in_the_certificate(
    tmp_path: Path,
) -> None:
    with place(tmp_path) as at:
        at.known["ACME"] = rows("retail")
        result = at.prove("retailer(ACME)")
    assert (result.verdict.value, result.confidence) == ("PROVED_UNDER", Decimal("0.7"))
    assert result.usage is not None
    assert (result.usage.calls, result.usage.read > 0) == (1, True)
    (assumption,) = result.assumptions
    assert assumption.text == "tier model says industry(ACME, retail)"
    (source,) = json.loads(result.certificate)["sources"]
    assert (source["tier"], source["origin"]) == ("model", "LLM_KNOWLEDGE")
    assert source["attestation"]["agent"]["name"] == "written-answers"
    assert source["attestation"]["prompt"].startswith("sha256:")
    assert source["attestation"]["response"].startswith("sha256:")
    with Session(tmp_path) as session:
        shown = session.model_listing.reply(source["attestation"]["prompt"])
    assert shown.response == source["attestation"]["response"]
    assert "ACME" in shown.request


def test_an_estimate_has_an_origin_and_an_instruction_of_its_own(tmp_path: Path) -> None:
    rules = INDUSTRY.replace('source="model"', 'source="model", model="heuristic"')
    with place(tmp_path, rules) as at:
        at.known["ACME"] = rows("retail")
        result = at.prove("retailer(ACME)")
        assert "Estimates are wanted" in at.server.asked[0].last
    (source,) = json.loads(result.certificate)["sources"]
    assert source["origin"] == "LLM_HEURISTIC"


def test_each_task_has_its_model_and_its_share_of_the_bill(tmp_path: Path) -> None:
    rules = INDUSTRY + (
        '.decl weight(item: symbol)\n.input weight(source="model", model="heuristic")\n'
        ".decl both(c: symbol)\nboth(?c) :- retailer(?c), weight(?c).\n"
    )
    rest = "  tasks: {knowledge: m, heuristic: n}\n"
    with place(tmp_path, rules, rest) as at:
        text = (tmp_path / "constat.yaml").read_text()
        prices = ", prices: {read: 1, written: 1}"
        other = text[text.index("    m: ") : text.index("\n  tasks")].replace("m: {", "n: {", 1)
        other = other.replace("model: big", "model: small").replace("]}", f"]{prices}}}")
        (tmp_path / "constat.yaml").write_text(text.replace("\n  tasks", f"\n{other}\n  tasks"))
        at.known["ACME"] = rows("retail")
        with Session(tmp_path) as session:
            session.prove("both(ACME)")
            notes = session.model_notes
        assert {asked.body["model"] for asked in at.server.asked} == {"big", "small"}
    assert notes[0].startswith("models: 2 calls, ")
    assert notes[0].endswith(" USD")
    assert [line.split(":")[0] for line in notes[1:]] == ["  knowledge by m", "  heuristic by n"]


def test_many_keys_go_in_few_calls_and_each_in_one(tmp_path: Path) -> None:
    companies = [f"C{number:02}" for number in range(7)]
    facts = "".join(f'customer("{one}"). ' for one in companies)
    rules = f"{INDUSTRY}.decl customer(c: symbol)\n{facts}\n.decl shop(c: symbol)\n"
    rules += "shop(?c) :- customer(?c), retailer(?c).\n"
    with place(tmp_path, rules, "  batch: 3") as at:
        at.known.update({one: rows("retail") for one in companies[:5]})
        with Session(tmp_path) as session:
            answers = session.query("shop(?c)")
            assert session.models.usage.calls == 3
        assert [len(call) for call in at.asked] == [3, 3, 1]
        assert sorted(one for call in at.asked for one in call) == companies
        # The next goal about one of them, in another program, costs nothing.
        assert at.prove("shop(C03)").verdict.value == "PROVED_UNDER"
        assert at.prove("shop(C06)").verdict.value == "UNRESOLVED"
        assert len(at.asked) == 3
    assert len(answers.assumptions) == 5


FALLBACK = """
@[key = "company"]
.decl industry(company: symbol, name: symbol)
.input industry(source="shop", query="SELECT c, i FROM industries", model="knowledge")
.decl partner(company: symbol)
.input partner(source="shop", query="SELECT c FROM partners")
.decl good(company: symbol)
good(?c) :- industry(?c, "retail").
.decl fine(company: symbol)
fine(?c) :- partner(?c).
fine(?c) :- gossip(?c).
.decl both(company: symbol)
both(?c) :- gossip(?c), partner(?c).
.decl gossip(company: symbol)
.input gossip(source="model")
"""
SHOP = "databases: {shop: {uri: 'sqlite:///shop.sqlite'}}"
SCRIPT = """
    CREATE TABLE industries (c TEXT, i TEXT); INSERT INTO industries VALUES ('ACME', 'retail');
    CREATE TABLE partners (c TEXT); INSERT INTO partners VALUES ('ACME');
"""


def test_no_model_is_asked_where_the_goal_is_settled_without_it(tmp_path: Path) -> None:
    database(tmp_path / "shop.sqlite", SCRIPT)
    with place(tmp_path, FALLBACK, rest=SHOP) as at, Session(tmp_path) as session:
        for goal, verdict in (
            ("good(ACME)", "PROVED"),
            ("good(BETA)", "DISPROVED"),
            ("fine(ACME)", "PROVED"),
            ("both(BETA)", "DISPROVED"),
        ):
            assert session.prove(goal).verdict.value == verdict
            assert at.asked == [], goal
        # Behind two databases stands one model, which is asked by one thread at a time.
        chain = session.externals["industry"]
        assert isinstance(chain, ConcurrentPredicate)
        assert chain.source == ""
        at.known["ACME"] = {"known": True, "holds": True}
        assert session.prove("both(ACME)").verdict.value == "PROVED_UNDER"
        assert at.asked == [["ACME"]]


def test_behind_a_source_that_failed_the_model_is_asked_and_the_silence_is_told(
    tmp_path: Path,
) -> None:
    database(tmp_path / "shop.sqlite", SCRIPT)
    with place(tmp_path, FALLBACK, rest=SHOP) as at:
        at.known["BETA"] = rows("retail")
        (tmp_path / "shop.sqlite").unlink()
        result = at.prove("good(BETA)")
    assert result.verdict.value == "PROVED_UNDER"
    told = " ".join(one.text for one in result.assumptions)
    assert "tier model says industry(BETA, retail)" in told
    assert "the database did not answer for industry" in told


BOUNDED: list[tuple[Tell, str]] = [
    (rows("retail", confidence=0.95), "0.8"),
    (rows("retail", confidence=1), "0.8"),
    (rows("retail", confidence=0.1234567), "0.123456"),
    ({"known": True, "rows": [{"name": "retail"}]}, "0.6"),
]


def test_the_confidence_of_a_model_is_bounded(tmp_path: Path) -> None:
    with place(tmp_path) as at, Session(tmp_path) as session:
        for number, (tell, confidence) in enumerate(BOUNDED):
            at.known[f"C{number}"] = tell
            assert session.prove(f"retailer(C{number})").confidence == Decimal(confidence)


def test_the_project_says_how_far_a_model_is_believed(tmp_path: Path) -> None:
    with place(tmp_path, config="  confidence: {default: 0.2, most: 0.3}") as at:
        at.known |= {"ACME": rows("retail"), "BETA": {"known": True, "rows": [{"name": "retail"}]}}
        assert at.prove("retailer(ACME)").confidence == Decimal("0.3")
        assert at.prove("retailer(BETA)").confidence == Decimal("0.2")


REFUSED: list[tuple[Tell, str]] = [
    (rows("retail", confidence=5), "not above 0 and at most 1"),
    (rows("retail", confidence=0), "not above 0 and at most 1"),
    (rows("retail", confidence=-0.5), "not above 0 and at most 1"),
    (rows("retail", confidence=1e-9), "too small to count"),
    ({**rows("retail"), "origin": "DATABASE"}, "member `origin`"),
    ({**rows("retail"), "approved": True}, "member `approved`"),
    (rows("re\x1b[31mtail"), "control character"),
    (rows("re\ntail"), "control character"),
    ({"known": True, "rows": [{"name": "retail", "company": "OTHER"}]}, "other columns"),
    ({"known": True, "holds": True}, "no rows"),
]


def test_an_answer_that_says_more_or_other_than_it_may_counts_as_nothing(tmp_path: Path) -> None:
    with place(tmp_path) as at, Session(tmp_path) as session:
        for number, (tell, reason) in enumerate(REFUSED):
            at.known[f"C{number}"] = tell
            result = session.prove(f"retailer(C{number})")
            assert result.verdict.value == "UNRESOLVED"
            assert reason in reasons(result)
            assert "[C0833]" in reasons(result)


def test_not_knowing_and_refusing_are_unknown(tmp_path: Path) -> None:
    with place(tmp_path) as at, Session(tmp_path) as session:
        at.known["ACME"] = {"known": True, "rows": []}
        assert session.prove("retailer(ACME)").verdict.value == "UNRESOLVED"
        unknown = session.prove("retailer(BETA)")
        assert unknown.verdict.value == "UNRESOLVED"
        assert "model written-answers: it does not know" in reasons(unknown)
        at.raw = [Written("I will not.", stop="refusal")]
        refused = session.prove("retailer(GAMMA)")
        assert refused.verdict.value == "UNRESOLVED"
        assert "refuses to answer" in reasons(refused)
        at.raw = [Written(calls=(("tell", '{"answers": [{'),), stop="max_tokens")]
        assert "did not come to an answer" in reasons(session.prove("retailer(DELTA)"))


def test_two_values_for_one_key_are_a_conflict_and_neither_counts(tmp_path: Path) -> None:
    with place(tmp_path) as at:
        at.known["ACME"] = rows("retail", "mining")
        assert at.prove("retailer(ACME)").verdict.value == "UNRESOLVED"


def test_a_model_that_contradicts_a_higher_tier_loses_and_the_conflict_is_told(
    tmp_path: Path,
) -> None:
    facts = "facts: {industry: [[ACME, mining]]}"
    with place(tmp_path, rest=facts) as at:
        at.known["ACME"] = rows("retail")
        told: list[str] = []
        with Session(tmp_path) as session:
            result = session.prove(
                "industry(ACME, mining)", observe=lambda event: told.append(str(event))
            )
            assert session.prove("retailer(ACME)").verdict.value != "PROVED_UNDER"
    assert result.verdict.value == "PROVED"
    assert not at.asked or any("(conflict)" in event for event in told)


def test_a_model_never_speaks_for_all_rows(tmp_path: Path) -> None:
    rules = INDUSTRY + (
        '.decl firm(c: symbol)\nfirm("ACME").\n'
        ".decl other(c: symbol)\nother(?c) :- firm(?c), !retailer(?c).\n"
    )
    with place(tmp_path, rules) as at:
        at.known["ACME"] = rows("mining")
        assert at.prove("other(ACME)").verdict.value == "UNRESOLVED"
        assert at.prove("industry(ACME, retail)").verdict.value == "UNRESOLVED"


def test_without_a_key_a_model_is_asked_whether_a_row_holds(tmp_path: Path) -> None:
    rules = '.decl owns(a: symbol, b: symbol)\n.input owns(source="model")\n'
    with place(tmp_path, rules) as at:
        at.known["A B"] = {"known": True, "holds": True}
        at.known["A C"] = {"known": True, "holds": False}
        assert at.prove("owns(A, B)").verdict.value == "PROVED_UNDER"
        assert at.prove("owns(A, C)").verdict.value == "UNRESOLVED"
        wide = at.prove("owns(A, ?x)")
        assert wide.verdict.value == "UNRESOLVED"
        assert "is asked about owns by a, b" in reasons(wide)
        assert at.asked == [["A B"], ["A C"]]


def test_given_columns_let_one_key_have_several_rows(tmp_path: Path) -> None:
    rules = '.decl sells(firm: symbol, name: symbol)\n.input sells(source="model", given="firm")\n'
    with place(tmp_path, rules) as at:
        at.known["ACME"] = rows("hammers", "anvils")
        with Session(tmp_path) as session:
            found = session.query('sells("ACME", ?x)')
        assert len(found.assumptions) == 2
        assert at.prove("sells(ACME, anvils)").verdict.value == "PROVED_UNDER"
        assert at.asked == [["ACME"]]


def test_what_was_told_is_asked_again_only_on_demand(tmp_path: Path) -> None:
    with place(tmp_path) as at:
        at.known["ACME"] = rows("retail")
        first = at.prove("retailer(ACME)")
        at.known["ACME"] = rows("mining")
        again = at.prove("retailer(ACME)")
        assert len(at.asked) == 1
        assert json.loads(again.certificate)["sources"] == json.loads(first.certificate)["sources"]
        assert at.prove("retailer(ACME)", cache=False).verdict.value == "UNRESOLVED"
        assert at.prove("retailer(ACME)").verdict.value == "UNRESOLVED"
        assert len(at.asked) == 2


def test_what_is_too_old_for_its_predicate_is_asked_again(tmp_path: Path) -> None:
    with place(tmp_path, INDUSTRY.replace('source="model"', 'source="model", max_age="1h"')) as at:
        at.known["ACME"] = rows("retail")
        at.prove("retailer(ACME)")
        assert at.prove("retailer(ACME)").verdict.value == "PROVED_UNDER"
        assert len(at.asked) == 1
        with closing(sqlite3.connect(tmp_path / ".constat" / "model_answers.sqlite")) as kept:
            kept.execute("UPDATE replies SET at = '2026-01-01T00:00:00.000000Z'")
            kept.commit()
        at.known["ACME"] = rows("mining")
        assert at.prove("retailer(ACME)").verdict.value == "UNRESOLVED"
        assert len(at.asked) == 2


def test_the_reason_of_a_model_is_a_note_that_a_terminal_can_take(tmp_path: Path) -> None:
    with place(tmp_path) as at:
        at.known["ACME"] = {**rows("retail"), "why": "its \x1b[31mshops\n" + "x" * 999}
        result = at.prove("retailer(ACME)")
    (source,) = json.loads(result.certificate)["sources"]
    assert source["attestation"]["note"].startswith("its  [31mshops xxx")
    assert source["attestation"]["note"].isprintable()
    assert len(source["attestation"]["note"]) < 250


def test_another_question_about_the_same_key_is_asked(tmp_path: Path) -> None:
    with place(tmp_path) as at:
        at.known["ACME"] = rows("retail")
        at.prove("retailer(ACME)")
        text = (tmp_path / "r.dl").read_text()
        (tmp_path / "r.dl").write_text(text.replace("works in", "earns most in"))
        at.prove("retailer(ACME)")
        assert len(at.asked) == 2


def test_a_certificate_is_read_again_without_paying_again(tmp_path: Path) -> None:
    with place(tmp_path) as at:
        at.known["ACME"] = rows("retail")
        result = at.prove("retailer(ACME)")
        with Session(tmp_path) as session:
            report = session.verify_source(result.certificate)
        assert report.exit_code == 3
        assert report.drift == ()
        forged = result.certificate.replace(b'"retail"', b'"mining"')
        with Session(tmp_path) as session:
            assert session.verify_source(forged).exit_code == 1
        assert len(at.asked) == 1


def test_what_did_not_fit_into_one_reply_is_asked_in_halves(tmp_path: Path) -> None:
    facts = "".join(f'customer("C{number}"). ' for number in range(5))
    rules = f"{INDUSTRY}.decl customer(c: symbol)\n{facts}\n.decl shop(c: symbol)\n"
    rules += "shop(?c) :- customer(?c), retailer(?c).\n"
    with place(tmp_path, rules) as at:
        at.known |= {f"C{number}": rows("retail") for number in range(5)}
        at.raw = [Written("", (("tell", '{"answers": [{"key": 0'),), stop="max_tokens")]
        with Session(tmp_path) as session:
            assert len(session.query("shop(?c)").assumptions) == 5
        assert [len(call) for call in at.asked] == [5, 2, 3]


def test_a_budget_leaves_the_rest_unknown_and_says_so(tmp_path: Path) -> None:
    companies = [f"C{number}" for number in range(3)]
    facts = "".join(f'customer("{one}"). ' for one in companies)
    rules = f"{INDUSTRY}.decl customer(c: symbol)\n{facts}\n.decl shop(c: symbol)\n"
    rules += "shop(?c) :- customer(?c), retailer(?c).\n"
    config = "  batch: 1\n  budget: {question: {tokens: 1600}}"
    with place(tmp_path, rules, config) as at:
        at.known.update({one: rows("retail") for one in companies})
        with Session(tmp_path) as session:
            answers = session.query("shop(?c)")
        told = len(answers.assumptions)
        assert 0 < told < 3
        assert len(at.asked) == told
        assert any("[C0823]" in one.reason for one in answers.reasons)
        # Another question has a budget of its own, and nothing is paid for twice.
        with Session(tmp_path) as session:
            assert len(session.query("shop(?c)").assumptions) > told


def test_a_provider_that_refuses_is_not_asked_for_every_batch(tmp_path: Path) -> None:
    rules = f'{INDUSTRY}.decl customer(c: symbol)\ncustomer("A"). customer("B").\n'
    rules += ".decl shop(c: symbol)\nshop(?c) :- customer(?c), retailer(?c).\n"
    with place(tmp_path, rules, "  batch: 1") as at:
        at.raw = [Raw(401, {"content-type": "application/json"}, (b"{}",))] * 9
        with Session(tmp_path) as session:
            answers = session.query("shop(?c)")
        assert len(at.asked) == 1
        assert any("[C0824]" in one.reason for one in answers.reasons)


def test_without_a_model_or_its_key_the_fact_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with place(tmp_path) as at:
        monkeypatch.delenv("A_KEY")
        result = at.prove("retailer(ACME)")
        assert "A_KEY, which is not set [C0822]" in reasons(result)
        (tmp_path / "constat.yaml").write_text("rules: [r.dl]\n")
        assert "[C0821]" in reasons(at.prove("retailer(ACME)"))
        assert at.asked == []


def test_a_project_that_asks_no_model_loads_nothing_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("constat.session.models", "constat.tiers.model", "anthropic", "httpx2"):
        monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "r.dl").write_text('.decl p(x: symbol)\n.input p(source="config")\n')
    (tmp_path / "constat.yaml").write_text(
        "rules: [r.dl]\nfacts: {p: [[a]]}\nmodels: {named: {m: {model: big}}}\n"
    )
    with Session(tmp_path) as session:
        result = session.prove("p(a)")
    assert (result.verdict.value, result.usage) == ("PROVED", None)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('source="model", model="wisdom"', "is none of knowledge, heuristic"),
        ('source="model", given="firm"', "names a column that it has not"),
        ('source="model", given="name"', "has a key, and another `given`"),
        (f'source="model", about="{"a" * 2001}"', "is too long"),
        ('source="config", about="x"', "asks no model"),
        ('source="modle", model="knowledge"', "which the project has not"),
    ],
)
def test_a_mistake_about_a_model_in_an_input_is_told(
    tmp_path: Path, written: str, said: str
) -> None:
    rules = INDUSTRY.replace('source="model", about="the industry a company works in"', written)
    with place(tmp_path, rules) as at, pytest.raises(ConstatError) as caught:
        at.prove("retailer(ACME)")
    found = caught.value.diagnostics[0]
    assert found.code in {"C0832", "C0510"}
    assert said in found.message
