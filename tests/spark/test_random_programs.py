"""Random programs have the rows on Spark that the oracle gives, or are refused."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, event, given, settings

from constat.diagnostics import ConstatError
from constat.evaluation import CERTAIN
from constat.project.settings import SparkSetting
from tests.forward.running import forward
from tests.property.coverage import under
from tests.property.running import truth
from tests.property.strategies import EXACT, Case, cases


@pytest.mark.spark
@settings(suppress_health_check=[*HealthCheck], max_examples=max(60, settings().max_examples))
@given(cases(EXACT))
def test_where_nothing_is_open_spark_finds_exactly_the_model(spark_server: str, case: Case) -> None:
    try:
        found = forward(case.program, case.world, case.goal, spark=SparkSetting(spark_server))
    except ConstatError as refused:
        [code] = {one.code for one in refused.diagnostics}
        event(code)
        assert code in {"C0681", "C0682"}
        return
    expected = truth(case.program, case.world)
    event("the same")
    assert found.strength == expected.strength(case.goal)
    assert found.rows[CERTAIN] == under(case.goal, expected.rows(case.goal.predicate, CERTAIN))
