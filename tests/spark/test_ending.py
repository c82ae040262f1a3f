"""What runs on a server is ended at a limit and when somebody cancels it, even if it is deaf."""

from __future__ import annotations

import threading

import pytest

from constat.evaluation import ResourceError, Resources
from constat.forward import Options, Rows, evaluate
from constat.project.settings import SparkSetting
from constat.spark import SparkConnection
from constat.syntax import parse_goal
from tests.language.worlds_of_text import program

WIDE = """
.decl number_(n: number)
.input number_(source="memory")
.decl far(n: number)
far(?a) :- number_(?a), ?n < 0,
  ?n = count : { number_(?b), number_(?c), ?b * ?c % 1000003 < ?a - ?b }.
"""


@pytest.mark.spark
@pytest.mark.parametrize("way", ["time", "interrupt"])
def test_what_runs_on_the_server_is_ended(
    way: str, busy_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = []
    original = SparkConnection._interrupt_server

    def interrupted(self: SparkConnection) -> None:
        ended.append(self)
        original(self)

    monkeypatch.setattr(SparkConnection, "_interrupt_server", interrupted)
    made: list[SparkConnection] = []
    start = SparkConnection.__init__

    def remembered(self: SparkConnection, *arguments: object) -> None:
        start(self, *arguments)  # type: ignore[arg-type]  # handed through
        made.append(self)

    monkeypatch.setattr(SparkConnection, "__init__", remembered)
    found = program(WIDE)
    numbers = Rows(tuple((one,) for one in range(20_000)))
    options = Options(
        Resources(seconds=4.0 if way == "time" else 60.0), spark=SparkSetting(busy_server)
    )
    timer = threading.Timer(4.0, lambda: [one.interrupt() for one in made])
    if way == "interrupt":
        timer.start()
    said = "did not finish within 4 s" if way == "time" else "it was cancelled"
    with pytest.raises(ResourceError, match=said):
        evaluate(found, [parse_goal("far(?n)", found.program)], {"number_": numbers}, options)
    timer.cancel()
    assert ended
