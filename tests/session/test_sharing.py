"""Sessions that several threads, processes or tasks use."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from constat import AsyncSession, ConstatError, Session, Verdict

if TYPE_CHECKING:
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
def test_eight_processes_share_one_project(shop: Path) -> None:
    with Session(shop) as session:
        wanted = verdicts(session)
    with ProcessPoolExecutor(8, multiprocessing.get_context("spawn")) as pool:
        outcomes = list(pool.map(of_process, [str(shop)] * 8))
    assert outcomes == [wanted] * 8
    with Session(shop) as session:
        assert len(session.facts.list()) == 8


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
