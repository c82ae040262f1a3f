"""Sessions that several threads, processes or tasks use."""

from __future__ import annotations

import asyncio
import copy
import gc
import multiprocessing
import os
import pickle
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from constat import AsyncSession, ConstatError, Session, Verdict
from constat.evaluation.processor import Turn, finalize_here
from constat.memory import Memory
from tests.memory.rounds import user

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GOALS = ("is_vip(C001)", "is_vip(C002)", "in_vip_group(C032)", "is_strategic(C009)")
SLOW = """
.decl n(x: number)
n(0).
n(?x + 1) :- n(?x), ?x < 100000000.
"""


def verdicts(session: Session) -> list[str]:
    return [session.prove(goal).verdict.value for goal in GOALS]


def of_process(folder: str) -> list[str]:
    with Session(folder) as session:
        session.facts.add("contract_value(C010, 1)", author=str(multiprocessing.current_process()))
        return verdicts(session)


@pytest.mark.faults
def test_eight_threads_share_one_session(still_shop: Path) -> None:
    with Session(still_shop) as session:
        wanted = verdicts(session)

        def work(number: int) -> list[object]:
            found: list[object] = [*verdicts(session)]
            found.append(len(session.query("is_vip(?c)")))
            found.append(session.why_not(GOALS[number % 4]).verdict.value)
            found.append(session.verify_source(session.prove(GOALS[0]).certificate).exit_code)
            return found

        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(work, range(8)))
        count = len(session.query("is_vip(?c)"))
    assert outcomes == [[*wanted, count, wanted[n % 4], 0] for n in range(8)]


def test_eight_threads_begin_a_session_at_once() -> None:
    frame = pd.DataFrame({"x": range(100)})
    rules = ".decl s(x: number)\ns(?x) :- q(?x).\n"
    with Session(rules=rules, facts={"q": frame}) as session, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: session.prove(f"s({n})").verdict, range(90, 106)))
    assert found == [Verdict.PROVED] * 10 + [Verdict.DISPROVED] * 6


@pytest.mark.faults
@pytest.mark.parametrize("start", ["spawn", "forkserver", "fork"])
def test_eight_processes_share_one_project(shop: Path, start: str) -> None:
    with Session(shop) as session:
        wanted = verdicts(session)
    with ProcessPoolExecutor(8, multiprocessing.get_context(start)) as pool:
        outcomes = list(pool.map(of_process, [str(shop)] * 8))
    assert outcomes == [wanted] * 8
    with Session(shop) as session:
        assert len(session.facts.list()) == 8
        if start == "fork":
            pool = ProcessPoolExecutor(1, multiprocessing.get_context(start))
            with pool, pytest.raises(ConstatError, match="C0527") as refused:
                pool.submit(of_process, str(shop)).result()
            assert "forkserver" in refused.value.diagnostics[0].help


def in_a_fork(work: Callable[[], object]) -> str:
    """Work in a forked process, and give what it said; a signal that ended it has a number."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        # What waits for ever ends the process, too.
        signal.alarm(60)
        try:
            said = str(work())
        except BaseException as problem:  # noqa: BLE001  told to the other process
            said = str(problem)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        said = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return said if code == 0 else f"{said} {code}"


FORKED = "C0527: this process was forked from one that had a session or a memory open"


def test_nothing_is_answered_behind_a_fork_of_open_sessions(still_shop: Path) -> None:
    rules = ".decl s(x: number)\ns(?x) :- q(?x).\n"
    framed = Session(rules=rules, facts={"q": pd.DataFrame({"x": range(100)})})
    held = {"shop": Session(still_shop), "framed": framed}
    found = verdicts(held["shop"])
    rows = len(held["framed"].query("s(?x)"))

    def forget() -> str:
        # Connections that are closed here would end the process.
        held["shop"].close()
        held.clear()
        gc.collect()
        return "forgotten"

    assert in_a_fork(lambda: verdicts(held["shop"])) == FORKED
    assert in_a_fork(lambda: len(held["framed"].query("s(?x)"))) == FORKED
    assert in_a_fork(lambda: verdicts(Session(still_shop))) == FORKED
    assert in_a_fork(lambda: in_a_fork(lambda: verdicts(Session(still_shop)))) == FORKED
    assert in_a_fork(forget) == "forgotten"
    assert verdicts(held["shop"]) == found
    assert len(held["framed"].query("s(?x)")) == rows
    for one in held.values():
        one.close()


def test_what_is_tidied_up_at_the_end_is_left_behind_a_fork(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    holder = Turn()
    tidy = finalize_here(holder, folder.rmdir)
    assert in_a_fork(tidy) == "None"
    assert folder.exists()
    tidy()
    assert not folder.exists()


def test_an_asynchronous_session_is_not_answered_behind_a_fork(still_shop: Path) -> None:
    async def main() -> tuple[str, str]:
        async with AsyncSession(still_shop) as session:
            await session.prove(GOALS[0])
            waiting = lambda: asyncio.new_event_loop().run_until_complete(session.prove(GOALS[0]))  # noqa: E731
            return in_a_fork(waiting), repr(await session.prove(GOALS[0]))

    assert asyncio.run(main()) == (FORKED, "<PROVED: is_vip(C001), confidence 1>")


def test_a_memory_is_not_read_behind_a_fork(tmp_path: Path) -> None:
    with Memory(tmp_path, "s") as memory:
        memory.append([user("the code is 7")])
        assert in_a_fork(lambda: memory.archive.count("s")) == FORKED
        assert in_a_fork(memory.close) == "None"
        assert memory.archive.count("s") == 1
    assert in_a_fork(lambda: memory.archive.count("s")) == "1"


def test_a_fork_answers_where_all_was_closed(still_shop: Path) -> None:
    with Session(still_shop) as session, ThreadPoolExecutor(2) as pool:
        wanted = next(iter(pool.map(lambda _: verdicts(session), range(2))))
    unused = Session(still_shop)

    def work() -> list[str]:
        with Session(still_shop) as own:
            return [*verdicts(own), *verdicts(session), *verdicts(unused)]

    assert in_a_fork(work) == str(wanted * 3)


def test_a_turn_is_not_waited_for_behind_a_fork() -> None:
    turn, begun, over = Turn(), threading.Event(), threading.Event()

    def take() -> None:
        with turn:
            begun.set()
            over.wait()

    def work() -> str:
        with turn:
            return "taken"

    taker = threading.Thread(target=take)
    taker.start()
    begun.wait()
    assert in_a_fork(work) == "taken"
    over.set()
    taker.join()


def test_the_loop_goes_on_while_a_question_is_answered(still_shop: Path) -> None:
    async def main() -> tuple[list[str], str, int, str]:
        async with AsyncSession(still_shop) as session:
            found = await asyncio.gather(*(session.prove(goal) for goal in GOALS))
            answers = await session.query("is_vip(?c)")
            why = await session.why_not("is_vip(C002)")
            what = await session.what_if("is_vip(C002)", settings={"vip_threshold": "5"})
            missing = await session.missing_facts("is_vip(C002)")
            report = await session.verify(found[0].certificate)
            stated = await session.run(lambda one: len(one.facts.list()))
        assert (why.verdict, what.verdict) == (Verdict.DISPROVED, Verdict.PROVED_UNDER)
        assert not missing.holds
        return [one.verdict.value for one in found], str(report.verdict), stated, repr(answers)

    shown, verdict, stated, answers = asyncio.run(main())
    with Session(still_shop) as session:
        assert shown == verdicts(session)
        assert answers == repr(session.query("is_vip(?c)"))
    assert (verdict, stated) == ("PROVED", 0)


def test_errors_reach_whoever_waits() -> None:
    async def main() -> None:
        async with AsyncSession(rules=SLOW) as session:
            await session.prove("m(1)")

    with pytest.raises(ConstatError, match="C0181"):
        asyncio.run(main())


def test_who_cancels_a_question_ends_the_work() -> None:
    async def main() -> str:
        async with AsyncSession(rules=SLOW) as session:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(session.prove("n(99999999)"), 0.5)
            waiting = asyncio.create_task(session.prove("n(99999999)"))
            behind = asyncio.create_task(session.prove("n(99999998)"))
            await asyncio.sleep(0.2)
            behind.cancel()
            waiting.cancel()
            # Answered before the limits of the questions above would have ended them.
            return repr(await session.prove("n(0)"))

    before = time.monotonic()
    assert asyncio.run(main()) == "<PROVED: n(0), confidence 1>"
    assert time.monotonic() - before < 50


def test_what_belongs_to_a_session_is_its_own_copy_and_says_what_to_send(shop: Path) -> None:
    with Session(shop) as session:
        found = session.prove("is_vip(C001)")
        answers = session.query("is_vip(?c)")
        told = (
            (found, "`.certificate`"),
            (answers, "`.to_pandas()`"),
            (answers.rows, "`.values`"),
            (answers.rows[0], "`.values`"),
            (session.why_not("is_vip(C002)"), "`.result`"),
            (session.what_if("is_vip(C002)"), "`.certificate`"),
            (session.missing_facts("is_vip(C002)"), "`.sets`"),
        )
        for one, instead in told:
            assert copy.copy(one) is one
            assert copy.deepcopy([one])[0] is one
            with pytest.raises(TypeError, match="belongs to its session") as caught:
                pickle.dumps(one)
            assert instead in str(caught.value)
        for work in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="open one in each process"):
                work(session)
        # What is to be sent can be.
        assert pickle.dumps((found.certificate, found.tree, found.verdict))
