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
@pytest.mark.parametrize(
    ("way", "seconds", "said"),
    [("time", 8.0, "did not finish within 8 s"), ("interrupt", 90.0, "it was cancelled")],
)
def test_what_runs_on_the_server_is_ended(
    way: str, seconds: float, said: str, busy_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[SparkConnection] = []
    original, start = SparkConnection._interrupt_server, SparkConnection.__init__

    def interrupted(self: SparkConnection) -> None:
        ended.append(self)
        original(self)

    def started(self: SparkConnection, setting: SparkSetting, resources: Resources) -> None:
        start(self, setting, resources)
        if way == "interrupt":
            threading.Timer(4.0, self.interrupt).start()

    monkeypatch.setattr(SparkConnection, "_interrupt_server", interrupted)
    monkeypatch.setattr(SparkConnection, "__init__", started)
    found = program(WIDE)
    numbers = Rows(tuple((one,) for one in range(20_000)))
    options = Options(Resources(seconds=seconds), spark=SparkSetting(busy_server))
    with pytest.raises(ResourceError, match=said):
        evaluate(found, [parse_goal("far(?n)", found.program)], {"number_": numbers}, options)
    # At its time it may have ended before the server was asked.
    assert ended or way == "time"
