"""The back end for Spark: the same plan over Spark Connect, rounds driven from here.

In: a forward plan without a dictionary of texts, and where its inputs lie. Out: its relations as
folders of Parquet on the server, and those that are wanted in the database of the results. What a
server cannot compute exactly as the language has it is refused before anything is read.

Public names: `SparkConnection`, `SparkRelations`, `run_stage`, `unsupported`, `statements`.
"""

from constat.spark.connection import SparkConnection, SparkFailureError
from constat.spark.loading import fetch, load_files, load_table, send, write_there
from constat.spark.relations import SparkRelations, SparkTables
from constat.spark.stages import run_stage, statements, unsupported, way_of

__all__ = [
    "SparkConnection",
    "SparkFailureError",
    "SparkRelations",
    "SparkTables",
    "fetch",
    "load_files",
    "load_table",
    "run_stage",
    "send",
    "statements",
    "unsupported",
    "way_of",
    "write_there",
]
