"""Each command of the REPL, typed at one pseudo-terminal after the other.

What a model would say was written for these tests, and is served on the loopback interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.cli.repl import COMMANDS
from tests.cli.terminal import LONGEST, Terminal
from tests.explore.planned import step
from tests.explore.worlds import make_regions
from tests.loopback.server import Asked, ModelServer, Written

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODELS = """
models:
  named:
    author: {{provider: anthropic, model: written-answers, base_url: "{address}", key: NO_SECRET}}
"""
RULES = """
/// Regions that sell.
.decl selling(region: symbol)
@[id = S1] selling(?r) :- sale(_, ?r, _, _, _).
/// Regions whose keeper is known.
.decl kept(region: symbol)
@[id = K1] kept(?r) :- selling(?r), keeper(?r, _).
"""
REVENUE = step(
    "revenue(region: symbol, revenue: Decimal)",
    rules="revenue(?r, ?t) :- sale(_, ?r, _, _, _), ?t = sum ?a : { sale(_i, ?r, _p, _d, ?a) }.",
)
BEST = step("best(region: symbol)", rank={"of": "revenue", "by": ["revenue desc"], "top": 1})
PLAN = """
question: how many sales are there in each region?
steps:
  - name: counts
    outputs: ["counts(region: symbol, sales: number)"]
    rules: "counts(?r, ?n) :- sale(_, ?r, _, _, _), ?n = count : { sale(_i, ?r, _p, _d, _a) }."
"""


def answer(asked: Asked) -> Written:
    """Plan the two questions of this test, and word nothing."""
    if "propose_plan" not in asked.tools:
        return Written("The regions are listed.")
    wanted, name = (
        (BEST, "best") if "Which was the best" in asked.question else (REVENUE, "revenue")
    )
    return Written(calls=(("propose_plan", {"steps": [wanted], "answer": name}),))


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """A REPL over the sales of regions, with written answers for a model's."""
    project = make_regions(tmp_path / "regions")
    (project / "sales.dl").write_text((project / "sales.dl").read_text() + RULES)
    (project / "counts.yaml").write_text(PLAN)
    monkeypatch.setenv("NO_SECRET", "sk-planted-key")
    monkeypatch.chdir(project)
    with ModelServer(answer) as server:
        text = (project / "constat.yaml").read_text()
        (project / "constat.yaml").write_text(text + MODELS.format(address=server.address))
        found = Terminal("--project", str(project), "--by", "ada")
        try:
            yield found
        finally:
            found.close()


SESSION: tuple[tuple[str, str], ...] = (
    # Typed directly: a goal, a goal with a variable, rules of several lines.
    ('selling("North")', r"PROVED: selling\(North\)"),
    ("/why", r"PROVED: selling\(North\).*S1"),
    ("selling(?r)", r"4 answers"),
    ('/why-not selling("Nowhere")', r"DISPROVED: selling\(Nowhere\)"),
    ('kept("North")', r"UNRESOLVED: kept\(North\)"),
    ("/unresolved", r"missing: keeper\(North, \?person\)"),
    ('/missing kept("North")', r"it rests on: keeper"),
    ('/facts keeper("North", "Noor")', r"added: keeper\(North, Noor\), stated by ada"),
    ("/facts", r"keeper\(North, Noor\)"),
    ('kept("North")', r"PROVED UNDER assumptions: kept\(North\)"),
    ('/retract keeper("North", "Noor")', r"(?:retracted|taken back).*keeper\(North, Noor\)"),
    ("/facts", r"no facts are stated"),
    ('/what-if add keeper("East", "Ed")', r"supposed"),
    ('kept("East")', r"WHAT IF: PROVED UNDER"),
    ("/what-if", r'supposed: keeper\("East", "Ed"\)'),
    ("/undo", r"taken back"),
    (".decl big(r: symbol)", r"declared"),
    ('big(?r) :- selling(?r),\r?r != "West".', r"1 typed rule"),
    ('big("North")', r"PROVED UNDER assumptions: big\(North\)"),
    ("/rules", r"\.decl big\(r: symbol\)"),
    ("/save mine.dl", r"written to mine\.dl"),
    ("/export certificate big.json", r"written to big\.json"),
    ("/forget", r"forgotten|supposed any more|nothing is supposed"),
    ("/load mine.dl", r"1 typed rule"),
    ("/undo", r"taken back"),
    ("/predicates sell", r"selling\(region"),
    # Explored: by a plan in a file, by a question, and on from there.
    ("/plan counts.yaml", r"counts.*East"),
    ("/solve What is the revenue of each region?", r"revenue.*East"),
    ("/follow Which was the best?", r"best.*(?:East|North|South|West)"),
    ("/tables", r"best\(region: symbol\)  step 2, version 1, 1 rows"),
    ("/query SELECT count(*) AS regions FROM revenue", r"regions\s+4"),
    ("/state", r"answered.*revenue"),
    ("/variables", r"no state variables|variables"),
    ("/history", r"2 questions: What is the revenue of each region\?"),
    ("/resume", r"best.*(?:East|North|South|West)"),
    ("/explain C0920", r"C0920:"),
    ("/tabels", r"there is no command `/tabels`.*`/tables`"),
    ("/help", r"/quit"),
)


@pytest.mark.slow
def test_every_command_does_at_a_terminal_what_it_says(terminal: Terminal) -> None:
    typed = {text.partition(" ")[0][1:] for text, _ in SESSION if text.startswith("/")}
    # `/ask` reads goals from a tape: see `test_a_question_is_read_by_a_model_of_the_project`.
    assert typed - {"tabels"} == {one.name for one in COMMANDS} - {"ask", "quit"}
    terminal.until("constat>")
    for text, seen in SESSION:
        terminal.type(f"{text}\r")
        shown = terminal.until(f"(?:{seen}).*constat>", plain=True)
        assert "internal error" not in shown
        # What colours a line reaches the terminal as that, and not spelled out.
        assert "\\x1b" not in shown
    terminal.type("/quit\r")
    assert terminal.process.wait(LONGEST) == 0
