"""What is paid for once, what is never sent, and what is served again."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from constat.model import ModelError, Turn, Usage
from constat.model.prompts import RawCall, hash_of, request_of
from constat.model.retrying import BrokenReplyError
from constat.project.settings import Budget
from constat.store.model_answers import FILE_NAME
from tests.model.speaking import KEY, SETTING, Scripted, around, prompt, said

UNREACHED = ModelError("C0825", "the provider has trouble", retryable=True)


def test_a_reply_carries_the_hashes_of_exactly_what_was_sent_and_said(tmp_path: Path) -> None:
    at = around(tmp_path, Scripted([said(3)]))
    reply = at.client.ask(prompt())
    assert reply.prompt_hash == request_of(prompt(), "big").hash
    assert reply.response_hash == hash_of(said(3).form)
    kept = at.kept.find(reply.prompt_hash)
    assert kept is not None
    # Whoever holds a certificate can hold it against what was kept.
    assert hash_of(kept.request) == reply.prompt_hash
    assert hash_of(kept.response) == reply.response_hash
    assert kept.at == reply.at


def test_what_was_paid_for_is_served_by_the_next_program(tmp_path: Path) -> None:
    first = around(tmp_path, Scripted([said(3)])).client.ask(prompt())
    at = around(tmp_path, Scripted([]))
    again = at.client.ask(prompt())
    assert again == replace(first, usage=Usage(), replayed=True)
    assert (at.ledger.usage, at.ledger.replayed) == (Usage(), 1)


def test_another_prompt_or_model_is_asked_for_itself(tmp_path: Path) -> None:
    around(tmp_path, Scripted([said(3)])).client.ask(prompt())
    other = Scripted([said(4), said(5, model="small")])
    assert around(tmp_path, other).client.ask(prompt("And now?")).calls[0].arguments == {"n": 4}
    setting = replace(SETTING, model="small")
    assert around(tmp_path, other, setting=setting).client.ask(prompt()).model == "small"
    assert len(other.sent) == 2


def test_asked_anew_the_new_reply_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    around(tmp_path, Scripted([said(3)])).client.ask(prompt())
    anew = around(tmp_path, Scripted([said(4)]), serve=False)
    assert anew.client.ask(prompt()).calls[0].arguments == {"n": 4}
    assert around(tmp_path, Scripted([])).client.ask(prompt()).calls[0].arguments == {"n": 4}


def test_a_reply_is_served_as_long_as_the_project_says(tmp_path: Path) -> None:
    around(tmp_path, Scripted([said(3)])).client.ask(prompt())
    long_ago = (datetime.now(UTC) - timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("UPDATE replies SET at = ?", (long_ago,))
    connection.commit()
    connection.close()
    assert around(tmp_path, Scripted([]), keep=7300).client.ask(prompt()).replayed
    provider = Scripted([said(4), said(5)])
    assert not around(tmp_path, provider, keep=7100).client.ask(prompt()).replayed
    assert not around(tmp_path, provider, keep=0).client.ask(prompt()).replayed


def test_what_is_of_no_use_is_in_the_books_and_asked_for_again(tmp_path: Path) -> None:
    broken = BrokenReplyError("it broke off", replace(said(3), whole=False))
    provider = Scripted([broken, said(3, model="other"), said(4)])
    at = around(tmp_path, provider)
    for code in ("C0826", "C0827"):
        with pytest.raises(ModelError) as caught:
            at.client.ask(prompt())
        assert caught.value.code == code
    assert at.client.ask(prompt()).calls[0].arguments == {"n": 4}
    (spent,) = at.kept.spent()
    assert (spent.calls, spent.read) == (3, 210)
    assert spent.cost == at.ledger.usage.cost == Decimal("0.000855")
    assert len(provider.sent) == 3


def test_a_model_whose_call_does_not_fit_is_told_so_and_asked_once_more(tmp_path: Path) -> None:
    wrong = replace(said(3), text="Let me see.", calls=(RawCall("a", "count", '{"n": "three"}'),))
    path = tmp_path / "tape.jsonl"
    provider = Scripted([wrong, said(3)])
    at = around(tmp_path, provider, tape=path)
    reply = at.client.ask(prompt())
    assert reply.calls[0].arguments == {"n": 3}
    first, second = provider.sent
    assert reply.prompt_hash == second.hash != first.hash
    assert second.prompt.turns[0] == first.prompt.turns[0]
    assert second.prompt.turns[1] == Turn("assistant", "Let me see.")
    assert "are no integer at `n`" in second.prompt.turns[2].text
    assert at.ledger.usage.calls == 2
    # The tape has both, so that a replay goes the same way.
    replayed = around(tmp_path, Scripted([]), tape=path, replaying=True).client.ask(prompt())
    assert replayed == replace(reply, usage=Usage(), replayed=True)


def test_a_model_that_does_not_mend_its_call_is_not_asked_a_third_time(tmp_path: Path) -> None:
    wrong = replace(said(3), calls=(RawCall("a", "drop", "{}"),))
    provider = Scripted([wrong, wrong])
    at = around(tmp_path, provider)
    with pytest.raises(ModelError, match="`drop`, which is none of the tools"):
        at.client.ask(prompt())
    assert len(provider.sent) == 2
    assert at.kept.spent()[0].calls == 2


def test_a_call_that_might_exceed_the_tokens_is_not_sent(tmp_path: Path) -> None:
    worst = len(request_of(prompt(), "big").text)
    few, free = Budget(tokens=worst), Budget()
    for name, question, session in (("question", few, free), ("session", free, few)):
        provider = Scripted([said(3)])
        at = around(tmp_path / name, provider, question=question, session=session)
        with at.ledger.question(), pytest.raises(ModelError) as caught:
            at.client.ask(prompt())
        assert caught.value.code == "C0823"
        assert name in str(caught.value)
        assert provider.sent == []
        assert at.ledger.usage == Usage()


def test_near_the_budget_the_provider_counts_before_the_call_is_refused(tmp_path: Path) -> None:
    budget = Budget(tokens=200)
    for tokens, allowed in ((100, True), (101, False), (None, False)):
        provider = Scripted([said(3)], tokens=tokens)
        at = around(tmp_path / str(tokens), provider, session=budget)
        if allowed:
            at.client.ask(prompt())
        else:
            with pytest.raises(ModelError, match="tokens are left"):
                at.client.ask(prompt())
        assert bool(provider.sent) == allowed


def test_money_is_counted_at_the_dearest_price_before_and_at_the_real_one_after(
    tmp_path: Path,
) -> None:
    # 300 tokens at 3.75 and 100 at 15 for a million are 0.002625.
    for money, allowed in ((Decimal("0.002625"), True), (Decimal("0.002624"), False)):
        provider = Scripted([said(3)], tokens=300)
        at = around(tmp_path / str(money), provider, session=Budget(money=money))
        if allowed:
            assert at.client.ask(prompt()).usage.cost == Decimal("0.000285")
        else:
            with pytest.raises(ModelError, match="in money is left"):
                at.client.ask(prompt())
        assert bool(provider.sent) == allowed


def test_a_call_gets_no_more_time_than_there_is(tmp_path: Path) -> None:
    provider = Scripted([said(n) for n in range(4)])
    at = around(tmp_path, provider, question=Budget(seconds=50.0))
    at.client.ask(prompt("0"))
    with at.ledger.question():
        at.client.ask(prompt("1"))
        at.client.ask(prompt("2"), seconds=3.0)
        at.ledger.settle(at.ledger.reserve(Usage()), Usage(), 50.0, ("draft", "m"))
        with pytest.raises(ModelError, match="seconds for waiting are over"):
            at.client.ask(prompt("3"))
    assert provider.seconds == [50.0, 50.0, 3.0]


def test_what_nobody_would_wait_for_is_not_sent(tmp_path: Path) -> None:
    provider = Scripted([])
    at = around(tmp_path, provider)
    with pytest.raises(ModelError, match="no time is left"):
        at.client.ask(prompt(), seconds=0.0)
    assert (provider.sent, at.ledger.usage) == ([], Usage())


def test_no_retry_outlives_the_time(tmp_path: Path) -> None:
    slow = ModelError("C0825", "busy", retryable=True, retry_after=60.0)
    provider = Scripted([slow, slow, slow])
    at = around(tmp_path, provider, setting=replace(SETTING, seconds=100.0))
    with pytest.raises(ModelError, match="too late"):
        at.client.ask(prompt())
    assert at.time.pauses == [60.0]
    assert provider.seconds == [100.0, 40.0]


def test_a_provider_in_trouble_is_asked_three_times(tmp_path: Path) -> None:
    provider = Scripted([UNREACHED, UNREACHED, said(3)])
    assert around(tmp_path, provider).client.ask(prompt()).calls
    with pytest.raises(ModelError, match="trouble"):
        around(tmp_path, Scripted([UNREACHED] * 3)).client.ask(prompt("else"))


def test_a_reply_that_cannot_be_kept_is_used_and_reported(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"no database" * 500)
    at = around(tmp_path, Scripted([said(3)]))
    assert at.client.ask(prompt()).calls[0].arguments == {"n": 3}
    # It was looked for before and after whoever might have asked the same; people read it once.
    assert [code for code, _ in dict.fromkeys(at.warnings)] == ["C0830", "C0830"]
    assert "could not be kept" in at.warnings[-1][1]


def test_a_kept_reply_that_somebody_changed_is_not_served(tmp_path: Path) -> None:
    around(tmp_path, Scripted([said(3)])).client.ask(prompt())
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("UPDATE replies SET response = replace(response, '3', '4')")
    connection.commit()
    connection.close()
    at = around(tmp_path, Scripted([said(5)]))
    assert at.client.ask(prompt()).calls[0].arguments == {"n": 5}
    assert "damaged" in at.warnings[0][1]


def test_a_key_is_in_nothing_that_is_kept(tmp_path: Path) -> None:
    at = around(tmp_path, Scripted([said(3)]), tape=tmp_path / "tape.jsonl")
    at.client.ask(prompt())
    at.kept.close()
    for file in filter(Path.is_file, tmp_path.rglob("*")):
        assert KEY.encode() not in file.read_bytes()
