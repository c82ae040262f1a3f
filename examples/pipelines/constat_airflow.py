"""Apache Airflow 3: an operator that proves a goal, and a DAG that is gated by it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow.exceptions import AirflowFailException
from airflow.sdk import DAG, BaseOperator
from gate import NotProvedError, prove

HERE = Path(__file__).parent


class ConstatProve(BaseOperator):
    """Prove a goal; what follows runs only where it holds. Gives the certificate's path.

    To try again changes no verdict over the same rows, so the task fails for good.
    """

    template_fields = ("goal", "certificate")

    def __init__(self, *, goal: str, project: str, certificate: str, **how: Any) -> None:  # noqa: ANN401  as the base class has it
        super().__init__(**how)
        self.goal = goal
        self.project = project
        self.certificate = certificate

    def execute(self, context: Any) -> str:  # noqa: ANN401, ARG002  as the base class has it
        """Prove it."""
        try:
            found = prove(self.goal, self.project, self.certificate)
        except NotProvedError as problem:
            raise AirflowFailException(str(problem)) from None
        self.log.info("%s: %s", self.goal, found["verdict"])
        return self.certificate


with DAG(
    "close_the_day", schedule="@daily", start_date=datetime(2026, 3, 1, tzinfo=UTC), catchup=False
) as dag:
    ConstatProve(
        task_id="may_close",
        goal="may_close({{ ds }})",
        project=os.environ.get("CONSTAT_PROJECT", str(HERE)),
        certificate=str(HERE / "build" / "may_close-{{ ds }}.json"),
    )
