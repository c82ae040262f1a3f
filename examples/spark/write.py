"""Write the readings as a job of Spark does: a folder of Parquet files, one for each partition."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from pyspark.sql import SparkSession

FOLDER = Path(__file__).resolve().parent / "readings"
START = datetime(2026, 3, 1, tzinfo=UTC)


def degrees(machine: int, hour: int) -> Decimal | None:
    """Give a made-up temperature; machine 3 loses its sensor for some hours."""
    if machine == 3 and hour in (7, 8, 9):
        return None
    return Decimal(60 + (machine * 17 + hour * 7) % 35 + machine * 3) / 1


if __name__ == "__main__":
    spark = SparkSession.builder.master("local[2]").config("spark.sql.session.timeZone", "UTC")
    rows = [
        (f"M{machine}", START + timedelta(hours=hour), degrees(machine, hour))
        for machine in range(1, 6)
        for hour in range(24)
    ]
    schema = "machine string, at timestamp, degrees decimal(5, 1)"
    frame = spark.getOrCreate().createDataFrame(rows, schema)
    frame.repartition(3, "machine").write.mode("overwrite").parquet(str(FOLDER))
