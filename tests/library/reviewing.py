"""Proofs as pages for somebody who knows the field and no logic: some rest on wrong rules.

    python -m tests.library.reviewing FOLDER [ROUND]

In: a folder that does not exist yet, and the round: 1 has ten libraries with a page of each, 2 the
other two with four pages of each, 3 two pages of each library of which the first two rounds have no
wrong one, 4 a proof and a refutation from each library, and four wrong ones among them.  Out:
`01.html` and so on in it, and no word of which are wrong.  Each wrong one comes from a copy of a
library with one comparison written otherwise, a condition left out, or a number that is not the
law's, so that certificate and page are in order, and only the rule is not what its words say.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from constat import Session
from constat.memory import Memory, from_openai
from constat.proof.report.page import to_html
from tests.examples.projects import ROOT, copy_example

USAGE: Final = "usage: python -m tests.library.reviewing FOLDER [1 | 2 | 3 | 4]"


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A goal of an example, and what of which file is written otherwise, if anything."""

    example: str
    library: str
    goal: str
    file: str = ""
    old: str = ""
    new: str = ""


FIRST: Final = (
    Exhibit("software", "software-supply-chain", "may_release(Harbor)"),
    Exhibit("ownership", "ownership-control", "controls(Birch, Dogwood)"),
    Exhibit("laundering", "anti-money-laundering", "report_overdue(Orwell, 2026-05-04)"),
    Exhibit(
        "lending",
        "lending",
        "approved(A103)",
        *("credit.dl", "?years_employed >= ?years,", "?years >= ?years_employed,"),
    ),
    Exhibit("families", "tax-benefit", "entitled(Carol, Cal, 2025-06-02)"),
    Exhibit("privacy", "data-protection", "lawful(A3)"),
    Exhibit("parts", "supply-chain", "untraceable(PA-1)"),
    Exhibit("screening", "clinical-eligibility", "eligible(Ada, PRESS)"),
    Exhibit(
        "access",
        "access-control",
        'open_breach(anna, "four eyes on payments")',
        *("separation.dl", "?day <= ?last,", "?last <= ?day,"),
    ),
    Exhibit("credit", "credit-decision", "declined(A2)"),
)

OTHERS: Final = (
    Exhibit("vip", "customer-value", "in_vip_group(C032)"),
    Exhibit("memory", "memory", "pinned(m0[34:66] constraint)"),
    Exhibit(
        "vip",
        "customer-value",
        "is_vip(C002)",
        *("vip.dl", "?total > ?threshold", "?total >= ?threshold"),
    ),
    Exhibit("memory", "memory", "pinned(m17[64:78] pending)"),
    Exhibit("vip", "customer-value", "is_vip(C001)"),
    Exhibit("memory", "memory", "of_class(m10[0:35] error, 6)"),
    Exhibit("vip", "customer-value", "gets_partner_price(C003)"),
    Exhibit(
        "memory",
        "memory",
        "of_class(m14[319:330] leaf, 2)",
        *(
            "relevance.dl",
            "taking_up(?how),\n  ?later > ?at.",
            "taking_up(?how),\n  ?at > ?later.",
        ),
    ),
)

_BROKEN: Final = (
    Exhibit(
        "software",
        "software-supply-chain",
        "may_release(Harbor)",
        *("vulnerabilities.dl", "?rank < ?fixed.", "?fixed < ?rank."),
    ),
    Exhibit(
        "ownership",
        "ownership-control",
        "directly_controls(Birch, Cedar)",
        *("control.dl", "?held * 2.0 > ?counted,", "?counted > ?held * 2.0,"),
    ),
    Exhibit(
        "laundering",
        "anti-money-laundering",
        'open_alert(Jarndyce, "due diligence missing")',
        *("alerts.dl", "?passed < ?years.", "?years < ?passed."),
    ),
    Exhibit(
        "families",
        "tax-benefit",
        "entitled(Carol, Cal, 2025-06-02)",
        *("award.dl", "?age < ?limit.", "?limit < ?age."),
    ),
    Exhibit(
        "privacy",
        "data-protection",
        "must_erase(Q-Ada, A1)",
        *("basis.dl", "?day >= ?given,", "?given >= ?day,"),
    ),
    Exhibit(
        "parts",
        "supply-chain",
        'originating("city bike")',
        *("parts.dl", "?total - ?price * ?share", "?total + ?price * ?share"),
    ),
    Exhibit(
        "screening",
        "clinical-eligibility",
        "eligible(Eve, PRESS)",
        *("eligibility.dl", "?day <= ?last.", "?last <= ?day."),
    ),
    Exhibit(
        "credit",
        "credit-decision",
        "approved(A1)",
        *("decision.dl", "?score >= ?approve,", "?approve >= ?score,"),
    ),
)
THIRD: Final = tuple(
    one
    for broken in _BROKEN
    for one in (*(right for right in FIRST if right.library == broken.library), broken)
)
"""Two proofs of each library of which no wrong one was shown: the second rests on a wrong rule."""
FOURTH: Final = (
    Exhibit("privacy", "data-protection", "lawful(A3)"),
    Exhibit("access", "access-control", "permitted(boris, create, vendor)"),
    Exhibit("vip", "customer-value", "is_vip(C004)"),
    Exhibit(
        "parts",
        "supply-chain",
        'originating("cargo bike")',
        *(
            "parts.dl",
            "{ material(?item, ?component, ?value), originating(?component) }",
            "{ material(?item, _component, ?value) }",
        ),
    ),
    Exhibit("screening", "clinical-eligibility", "eligible(Dan, KIDNEY)"),
    Exhibit("credit", "credit-decision", "approved(A2)"),
    Exhibit("ownership", "ownership-control", "controls(Birch, Cedar)"),
    Exhibit("laundering", "anti-money-laundering", "open_alert(Rudge, structuring)"),
    Exhibit("software", "software-supply-chain", "may_release(Beacon)"),
    Exhibit(
        "access",
        "access-control",
        "permitted(chen, approve, payment)",
        *(
            "roles.dl",
            "?day <= ?last,\n  member(?delegator, ?role),\n  ?delegator",
            "?day < ?last,\n  member(?delegator, ?role),\n  ?delegator",
        ),
    ),
    Exhibit("families", "tax-benefit", "paid(Ann, 2025-06-02, ?weekly)"),
    Exhibit("parts", "supply-chain", 'to_be_told("Velo Sud", CB-1, "cracks at the weld")'),
    Exhibit("privacy", "data-protection", "lawful(C1)"),
    Exhibit("memory", "memory", "pinned(m0[34:66] constraint)"),
    Exhibit(
        "families",
        "tax-benefit",
        "charge(Bob, 2024, 100, 2212)",
        *("constat.yaml", "- [2024, 60000, 200]", "- [2024, 60000, 100]"),
    ),
    Exhibit("credit", "credit-decision", "declined(A4)"),
    Exhibit("software", "software-supply-chain", "may_release(Elder)"),
    Exhibit("ownership", "ownership-control", "controls(Birch, Dogwood)"),
    Exhibit("vip", "customer-value", "is_vip(C001)"),
    Exhibit(
        "privacy",
        "data-protection",
        "must_erase(Q-Ada, A2)",
        *(
            "erasure.dl",
            "ground(?record, ?point),\n  !exempt(?record, _).",
            "ground(?record, ?point).",
        ),
    ),
    Exhibit("screening", "clinical-eligibility", "eligible(Dan, PRESS)"),
    Exhibit(
        "laundering",
        "anti-money-laundering",
        "structuring(Marlowe, 2026-03-02, ?number, ?total)",
    ),
    Exhibit("access", "access-control", "can_approve_own(anna, R001)"),
    Exhibit("families", "tax-benefit", "entitled(Edda, Eli, 2025-03-03)"),
    Exhibit("parts", "supply-chain", "to_be_told(Radhaus, CB-1, ?hazard)"),
)
"""A proof and a refutation from each library, the memory's refutation left to `constat memory`."""
ROUNDS: Final = {"1": FIRST, "2": OTHERS, "3": THIRD, "4": FOURTH}


def prove(exhibit: Exhibit, folder: Path, *, broken: bool = True) -> tuple[str, str]:
    """Prove an exhibit in a copy below `folder`; give the verdict and the page."""
    rules = folder / "rules" / exhibit.library
    project = folder / "examples" / exhibit.example
    if exhibit.example in {"lending", "memory"}:
        ignored = shutil.ignore_patterns(".constat", "cases")
        shutil.copytree(ROOT / "examples" / exhibit.example, project, ignore=ignored)
        shutil.copytree(ROOT / "rules" / exhibit.library, rules, ignore=ignored)
    else:
        copy_example(exhibit.example, exhibit.library, folder)
    if exhibit.old and broken:
        file = (project if exhibit.file.endswith(".yaml") else rules) / exhibit.file
        text = file.read_text(encoding="utf-8")
        if text.count(exhibit.old) != 1:
            message = f"{exhibit.file} has {text.count(exhibit.old)} times: {exhibit.old}"
            raise ValueError(message)
        file.write_text(text.replace(exhibit.old, exhibit.new), encoding="utf-8")
    if exhibit.example == "memory":
        return said(exhibit.goal, project / "refund.json", rules)
    with Session(project) as session:
        result = session.prove(exhibit.goal)
    return result.verdict.value, to_html(result.certificate)


def said(goal: str, log: Path, rules: Path) -> tuple[str, str]:
    """Give what these rules of memory say of the fact in a goal, if it is this goal."""
    claim = goal.partition("(")[2].rstrip(")").partition(",")[0]
    with Memory(rules=rules) as memory:
        memory.append(from_openai(json.loads(log.read_text(encoding="utf-8"))))
        for proof in memory.why(claim, "refund order O-7"):
            if proof.goal == goal:
                return proof.verdict.value, to_html(proof.certificate)
    return "NOT SAID", ""


def main(arguments: list[str]) -> int:
    """Write the pages of a round."""
    chosen = ROUNDS.get(arguments[1] if len(arguments) > 1 else "1")
    if len(arguments) not in {1, 2} or chosen is None or Path(arguments[0]).exists():
        sys.stderr.write(f"{USAGE}\nThe folder must not exist yet.\n")
        return 2
    target = Path(arguments[0])
    target.mkdir(parents=True)
    for number, exhibit in enumerate(chosen, start=1):
        with tempfile.TemporaryDirectory() as folder:
            verdict, page = prove(exhibit, Path(folder))
        (target / f"{number:02d}.html").write_text(page, encoding="utf-8")
        sys.stdout.write(f"{number:02d}.html {verdict} {exhibit.goal}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
