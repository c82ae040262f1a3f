"""Ask random projects random goals: each verdict comes out, passes both checkers, and is true.

In: seeds.  Out: differences, and counts of what there was.  A verdict is held against completions
of what the project leaves open (``projects``), all of them where they are few, else a sample that
is the same each time.  ``UNRESOLVED`` where every completion says the same is permitted; it is
counted.

    python -m tests.property.verdicts --from 0 --to 100000 --progress FILE

goes on behind the last seed that FILE names, and appends a line of counts for every 200 seeds.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import traceback
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from constat import Session
from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.proof.report.markup import checker_source
from tests.oracle.worlds import Completion, Facts, model
from tests.property.coverage import under
from tests.property.projects import VALUES, Choice, Drawn, Fact, draw_goals, draw_project
from tests.property.showing import show_atom
from tests.report.checker.second_checker import SecondChecker, node

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from constat.evaluation import Assumption
    from constat.logic import Atom
    from constat.session.result import Result

GOALS: Final = 3
FEW: Final = 16
"""So many completions are looked at, all of them where there are no more."""
_EACH: Final = 200
_LONGEST: Final = 60
_TRUE: Final = {Verdict.PROVED: True, Verdict.PROVED_UNDER: True}
_FALSE: Final = {Verdict.DISPROVED: False, Verdict.DISPROVED_UNDER: False}
DECIDED: Final = {**_TRUE, **_FALSE}


class Worlds:
    """The completions of a project, under the assumptions that somebody accepts."""

    def __init__(self, drawn: Drawn, session: Session, most: int) -> None:
        self.drawn = drawn
        self.program = session.program
        self.most = most
        self._known: dict[frozenset[Assumption], tuple[list[Facts], bool]] = {}

    def models(self, accepted: Collection[Assumption]) -> tuple[list[Facts], bool]:
        """Return models of completions, and whether they are all there are over the domain."""
        key = frozenset(accepted)
        if key not in self._known:
            texts = {one.text for one in accepted}
            rules = {one.subject for one in accepted if one.kind == "rule"}
            self._known[key] = self._complete(texts, rules)
        return self._known[key]

    def _complete(self, texts: set[str], accepted: set[str]) -> tuple[list[Facts], bool]:
        sure = set(self.drawn.sure)
        choices: list[Choice] = []
        for choice, word in self.drawn.choices:
            if word is not None and word.text in texts:
                sure |= choice[0]
            else:
                choices.append(choice)
        rules = self.program.rules
        doubtful = [n for n, one in enumerate(rules) if one.assumed and one.id not in accepted]
        widths = [len(one) for one in choices] + [2] * (len(doubtful) + 1)
        chosen, is_all = _chosen(widths, self.most, self.drawn.seed)
        found = []
        for one in chosen:
            facts: Facts = {name: set() for name in self.program.program.predicates}
            given: set[Fact] = set(sure)
            for place, choice in zip(one, choices, strict=False):
                given |= choice[place]
            for name, row in given:
                facts[name].add(row)
            left = one[len(choices) :]
            out = {n for n, place in zip(doubtful, left, strict=False) if place}
            holding = frozenset(range(len(rules))) - out
            found.append(model(self.program, Completion(facts, holding, bool(one[-1])), VALUES))
        return found, is_all


def _chosen(widths: list[int], most: int, seed: int) -> tuple[list[tuple[int, ...]], bool]:
    """Choose an alternative of each choice, in all ways or in some."""
    count = 1
    for width in widths:
        count *= width
        if count > most:
            break
    if count <= most:
        return list(product(*map(range, widths))), True
    random = Random(seed)
    found = [tuple(0 for _ in widths), tuple(width - 1 for width in widths)]
    while len(found) < most:
        share = random.choice((0.1, 0.3, 0.6, 0.9))
        found.append(
            tuple(random.randrange(1, width) if random.random() < share else 0 for width in widths)
        )
    return found, False


class TooLongError(BaseException):
    """A seed takes longer than the run waits; it is counted, and named."""


def _second() -> SecondChecker | None:
    return SecondChecker(checker_source()) if node() is not None else None


def _stop(_signal: int, _frame: object) -> None:
    raise TooLongError


class Asker:
    """Asks the goals of one seed after the other and counts."""

    def __init__(self, most: int = FEW) -> None:
        self.most = most
        self.counts: Counter[str] = Counter()
        self.slow: list[int] = []
        self.second = _second()

    def close(self) -> None:
        if self.second is not None:
            self.second.close()

    def differences(self, seed: int) -> Iterator[str]:
        """Yield what is wrong with the answers to a seed's goals."""
        drawn = draw_project(seed)
        with TemporaryDirectory(dir=_memory()) as name:
            folder = Path(name)
            drawn.write(folder)
            try:
                with Session(folder) as session:
                    session.program  # noqa: B018  read before anything is counted
                    for fact, author in drawn.stated:
                        session.facts.add(fact, author=author)
                    yield from self._asked(drawn, session)
            except ConstatError as error:
                self.counts["refused"] += 1
                self.counts["refused " + error.diagnostics[0].code] += 1
            except TooLongError:
                self.counts["too long"] += 1
                self.slow.append(seed)
                # It may have been stopped between a question and its answer.
                self.close()
                self.second = _second()
            except Exception:  # noqa: BLE001  whatever it is, it must not be
                yield f"seed {seed}: {traceback.format_exc()}"
        self.counts["programs"] += 1

    def _asked(self, drawn: Drawn, session: Session) -> Iterator[str]:
        worlds = Worlds(drawn, session, self.most)
        models, _ = worlds.models(())
        random = Random(drawn.seed + 1)
        for goal in draw_goals(random, drawn, random.choice(models), GOALS):
            shown = show_atom(goal)
            try:
                result = session.prove(shown)
            except ConstatError:
                raise
            except Exception:  # noqa: BLE001  an internal error is what is looked for
                yield f"seed {drawn.seed}, {shown}: {traceback.format_exc()}"
                continue
            self.counts["goals"] += 1
            self.counts[result.verdict.value] += 1
            if "without saying which belong together" in result.decision.limit:
                self.counts["not shown"] += 1
            wrong = self._wrong(worlds, goal, result)
            if wrong:
                yield f"seed {drawn.seed}, {shown}: {wrong}"

    def _wrong(self, worlds: Worlds, goal: Atom, result: Result) -> str:
        """Say what is wrong with a verdict; nothing where it is right."""
        report = check_certificate(result.certificate)
        if (report.verdict, report.reason) != (result.verdict.value, None):
            return f"rejected at {report.place}: {report.reason}"
        if self.second is not None:
            other = self.second.check(result.certificate)
            if not other["accepted"] or other["verdict"] != result.verdict.value:
                return f"the second checker rejects at {other.get('place')}: {other.get('reason')}"
        accepted = result.assumptions
        models, is_all = worlds.models(accepted)
        truths = {bool(under(goal, facts[goal.predicate])) for facts in models}
        wanted = DECIDED.get(result.verdict)
        if wanted is not None and truths != {wanted}:
            return f"{result.verdict.value}, and in some completion it is not so"
        if wanted is None and is_all:
            self.counts["UNRESOLVED, all completions known"] += 1
            self.counts["UNRESOLVED, all completions agree"] += len(truths) == 1
        if wanted is not None and is_all:
            self.counts["decided, all completions known"] += 1
        return ""


def _memory() -> str | None:
    """Name a folder in memory, where there is one: projects are written and read at once."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108  faster, not needed


def last_seed(progress: Path) -> int | None:
    """Return the last seed that a progress file names."""
    if not progress.exists():
        return None
    lines = progress.read_text().splitlines()
    done = [json.loads(line)["to"] for line in lines if line.startswith("{")]
    return max(done, default=None)


def main(arguments: list[str] | None = None) -> int:
    """Run a range of seeds; 1 where something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.property.verdicts")
    parser.add_argument("--from", dest="least", type=int, default=0)
    parser.add_argument("--to", dest="most", type=int, default=1_000)
    parser.add_argument("--completions", type=int, default=FEW)
    parser.add_argument("--progress", type=Path)
    chosen = parser.parse_args(arguments)
    known = last_seed(chosen.progress) if chosen.progress is not None else None
    seed = chosen.least if known is None else known + 1
    wrong = 0
    signal.signal(signal.SIGALRM, _stop)
    while seed < chosen.most:
        asker, started = Asker(chosen.completions), time.monotonic()
        stop = min(seed + _EACH, chosen.most)
        lines: list[str] = []
        for one in range(seed, stop):
            signal.alarm(_LONGEST)
            lines += asker.differences(one)
            signal.alarm(0)
        asker.close()
        wrong += len(lines)
        counted: dict[str, Any] = {"from": seed, "to": stop - 1, "differences": len(lines)}
        counted |= {"seconds": round(time.monotonic() - started, 1), **sorted_counts(asker.counts)}
        counted |= {"slow": asker.slow} if asker.slow else {}
        lines.append(json.dumps(counted))
        for line in lines:
            sys.stdout.write(line + "\n")
        sys.stdout.flush()
        if chosen.progress is not None:
            with chosen.progress.open("a") as file:
                file.write("\n".join(lines) + "\n")
        seed = stop
    return 1 if wrong else 0


def sorted_counts(counts: Counter[str]) -> dict[str, int]:
    """Return counts in the order of their names."""
    return dict(sorted(counts.items()))


if __name__ == "__main__":
    sys.exit(main())
