"""Expect of everybody in people.csv that they were born before 1962."""

from datetime import datetime

import great_expectations as gx
import pandas as pd

LAST = datetime(1961, 12, 31)  # noqa: DTZ001  a day of the calendar

context = gx.get_context(mode="ephemeral")
context.variables.progress_bars = {"globally": False}
asset = context.data_sources.add_pandas("files").add_dataframe_asset("people")
whole = asset.add_batch_definition_whole_dataframe("whole")
people = pd.read_csv("people.csv", parse_dates=["born"])
batch = whole.get_batch({"dataframe": people})
told = batch.validate(
    gx.expectations.ExpectColumnValuesToBeBetween(column="born", max_value=LAST),
    result_format={"result_format": "COMPLETE", "unexpected_index_column_names": ["name"]},
)
print("met" if told.success else "not met")
print("unexpected:", *(one["name"] for one in told.result["unexpected_index_list"]))
print("missing:", told.result["missing_count"], "of", told.result["element_count"])
