"""Documents as sources: files of a project, what was read of them, and what they say where.

In: a `DocumentsSetting` of the project. Out: cells of rows, each with the words of the document
that it stands in. What a document says is data: nothing in it is obeyed.
"""

from constat.documents.extraction import Finder, Found, PatternError, read_pattern
from constat.documents.library import (
    Collection,
    Document,
    Documents,
    Passage,
    Relation,
    relations,
    unnamed,
)
from constat.documents.parsed import Field, Parsed, Places, Section, Table, TableRow

__all__ = [
    "Collection",
    "Document",
    "Documents",
    "Field",
    "Finder",
    "Found",
    "Parsed",
    "Passage",
    "PatternError",
    "Places",
    "Relation",
    "Section",
    "Table",
    "TableRow",
    "read_pattern",
    "relations",
    "unnamed",
]
