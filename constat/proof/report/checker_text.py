"""The second checker as one script: it sits in a report, so that the report checks itself.

In: nothing.  Out: JavaScript that defines ``constatCheck(content, options)`` and nothing else.
Invariant: the script is the files of ``checker`` in the order below, without their comments and
indentation; it holds nothing by which a page could take it for its own end.

Example: ``constatCheck(text, {}).verdict`` is ``"PROVED"`` in any browser, without a network.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final

CHECKER_FILES: Final = (
    "rejection.js",  # how a check ends early
    "sha256.js",
    "text.js",  # order, bytes and spelling of texts
    "reading.js",  # canonical JSON: rejection, sha256, text
    "decimals.js",  # whole numbers and decimals
    "floats.js",  # decimals
    "powers.js",  # floats
    "dates.js",  # decimals
    "structures.js",  # text, decimals, floats
    "values.js",  # decimals, floats, dates, structures
    "pattern.js",  # decimals (ERROR)
    "functions.js",  # all values, pattern
    "schema.js",  # rejection, values
    "cells.js",  # schema, structures
    "redaction.js",  # cells, sha256
    "program.js",  # schema, functions
    "safety.js",  # program
    "strata.js",  # program, safety
    "attestations.js",  # schema, sha256
    "commitments.js",  # schema, sha256
    "evidence.js",  # attestations, commitments, program
    "relations.js",  # rows and how they are found
    "world.js",  # evidence, relations
    "terms.js",  # functions, relations (budget)
    "joins.js",  # terms
    "groups.js",  # joins, world
    "folds.js",  # values
    "summaries.js",  # folds, groups
    "totals.js",  # summaries
    "nodes.js",  # totals
    "levels.js",  # world
    "closure.js",  # totals, levels
    "verdict.js",  # world
    "undecided.js",  # closure, verdict
    "checking.js",  # everything
)

_BEGIN: Final = '(() => {\n"use strict";\n'
_END: Final = "globalThis.constatCheck = constatCheck;\n})();\n"


def checker_parts(names: tuple[str, ...] = CHECKER_FILES) -> str:
    """Return files of the checker, all unless told, as one text without comments."""
    folder = files(__package__) / "checker"
    return "".join(_without_comments((folder / name).read_text(encoding="utf-8")) for name in names)


def checker_source() -> str:
    """Return the script that defines ``globalThis.constatCheck``."""
    return _BEGIN + checker_parts() + _END


def _without_comments(text: str) -> str:
    """Drop comment lines and indentation; no text of the checker goes over a line."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        bare = line.strip()
        inside = inside or bare.startswith("/*")
        if not inside and bare and not bare.startswith("//"):
            kept.append(bare)
        inside = inside and not bare.endswith("*/")
    return "\n".join(kept) + "\n"
