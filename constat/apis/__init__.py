"""APIs as sources: what they say of themselves, and the answers of their operations.

In: an `ApiSetting` of the project. Out: cells of rows, with how they came. What an API says is
data: nothing in it decides where a request goes, or who asks.
"""

from constat.apis.operations import Description, Operation, Parameter
from constat.apis.reading import Answered, Api, drift, until_of
from constat.apis.shapes import Field, Listed, Path, PathError, Shape, read_path
from constat.apis.transport import ApiError, Asking, Reply, Transport, is_allowed

__all__ = [
    "Answered",
    "Api",
    "ApiError",
    "Asking",
    "Description",
    "Field",
    "Listed",
    "Operation",
    "Parameter",
    "Path",
    "PathError",
    "Reply",
    "Shape",
    "Transport",
    "drift",
    "is_allowed",
    "read_path",
    "until_of",
]
