"""Write a certificate as the JSON of Nemo and evee: conclusions, and inferences one by one.

In: the bytes of a certificate.  Out: ``{"finalConclusion", "inferences"}``, an inference being
``{"ruleName", "conclusion", "premises"}``.  Invariant: every premise is the conclusion of an
earlier inference; texts stand in quotes, so that equal strings mean equal facts.

What those programs do not know stands there in words of ours: ``!p("a")`` for an absence, and
``sum = 3`` with its place for an aggregate.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from constat.proof.export.document import Document
from constat.proof.export.steps import ABSENCE, AGGREGATE, CLOSURE, FACT, ROW, steps_of
from constat.proof.render import printable

if TYPE_CHECKING:
    from constat.proof.export.steps import Step

# What Nemo calls a fact that was given to it.
_GIVEN: Final = "Asserted"
_TEXTS: Final = frozenset({"symbol", "Date", "Timestamp", "structure"})


def to_nemo(certificate: bytes) -> str:
    """Return the proof as inferences; ``ValueError`` for what is no certificate."""
    document = Document(certificate)
    steps = steps_of(document)
    shown = [_conclusion(document, step) for step in steps.steps]
    # An absence that two rules rest on is one inference.
    inferences = {
        (
            _rule_name(document, step),
            shown[number],
            tuple(shown[premise.step] for premise in step.premises),
        ): None
        for number, step in enumerate(steps.steps)
    }
    members = {
        "finalConclusion": [shown[answer] for answer in steps.answers],
        "inferences": [
            {"ruleName": name, "conclusion": conclusion, "premises": premises}
            for name, conclusion, premises in inferences
        ],
    }
    return json.dumps(members, indent=1) + "\n"


def _rule_name(document: Document, step: Step) -> str:
    if step.rule is not None:
        return printable(document.rules[step.rule]["id"])
    return _GIVEN if step.kind in {FACT, ROW} else step.kind


def _conclusion(document: Document, step: Step) -> str:
    if step.kind in {AGGREGATE, CLOSURE}:
        # Two groups may have one value; the step's name tells them apart.
        return f"{step.fact} [{step.name}]"
    kinds = document.program.program.predicates[step.predicate].kinds
    cells = (
        "_" if cell is None else json.dumps(cell) if kind.value in _TEXTS else cell
        for cell, kind in zip(step.row, kinds, strict=True)
    )
    return f"{'!' if step.kind == ABSENCE else ''}{step.predicate}({', '.join(cells)})"
