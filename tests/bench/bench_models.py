"""What asking models takes beside the models: calls, tokens, and our own time.

In: nothing. Out: two tables. A server on the loopback interface gives written answers at once, so
the times are ours alone; its tokens are a quarter of a request's bytes: figures to compare with one
another, not with a provider's bill. Example: `python -m tests.bench.bench_models`.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat import Session
from constat.model import Prompt, Task, Turn
from constat.model.tapes import Tape
from tests.architecture.sources import ROOT
from tests.loopback.server import ModelServer, Written

if TYPE_CHECKING:
    from constat.model.asking import AskingClient
    from tests.loopback.server import Asked

FACTS: Final = 100
CALLS: Final = 200
_RULES: Final = """
.decl customer(c: symbol)
{facts}
/// The industry a company works in.
@[key = "company"]
.decl industry(company: symbol, name: symbol)
.input industry(source="model")
.decl retailer(company: symbol)
retailer(?c) :- customer(?c), industry(?c, "retail").
"""
_CONFIGURATION: Final = """
rules: [r.dl]
models:
  named: {{m: {{model: m, key: A_KEY, base_url: "{address}", answers_as: [written-answers]}}}}
  batch: {batch}
  budget: {{question: {{tokens: 9_000_000}}, session: {{tokens: 9_000_000}}}}
"""


def write(line: str) -> None:
    """Write a line of a table."""
    sys.stdout.write(f"{line}\n")


def retail(asked: Asked) -> Written:
    """Tell for each key that it is in retail."""
    numbered = json.loads(asked.last.splitlines()[-1])
    rows = [{"name": "retail"}]
    told = [{"key": k["key"], "known": True, "rows": rows, "confidence": 0.7} for k in numbered]
    return Written(calls=(("tell", {"answers": told}),))


def batches() -> None:
    """Write calls and tokens for a hundred facts, by the size of batches, and once more."""
    write(f"| {FACTS} facts | calls | tokens read | tokens written | tokens a fact | seconds |")
    write("|---|---:|---:|---:|---:|---:|")
    for batch in (1, 5, 20, 50):
        with tempfile.TemporaryDirectory() as folder, ModelServer(retail) as server:
            facts = "".join(f'customer("C{number:03}"). ' for number in range(FACTS))
            Path(folder, "r.dl").write_text(_RULES.format(facts=facts))
            text = _CONFIGURATION.format(address=server.address, batch=batch)
            Path(folder, "constat.yaml").write_text(text)
            for again in (False, True) if batch == 20 else (False,):
                name = f"batches of {batch}" + (", asked again by the next program" * again)
                write(_asked(Path(folder), name))


def _asked(folder: Path, name: str) -> str:
    with Session(folder) as session:
        before = time.perf_counter()
        answers = session.query("retailer(?c)")
        seconds = time.perf_counter() - before
        used = session.models.usage
    if len(answers.assumptions) != FACTS:
        raise AssertionError("not every fact was told")
    each = used.tokens / FACTS
    return (
        f"| {name} | {used.calls} | {used.read:,} | {used.written:,} | {each:.0f} | {seconds:.2f} |"
    )


def calls() -> None:
    """Write what one call takes of us: sent, kept and served again."""
    with tempfile.TemporaryDirectory() as folder, ModelServer(lambda _: Written("ok")) as server:
        Path(folder, "r.dl").write_text("")
        text = _CONFIGURATION.format(address=server.address, batch=20)
        Path(folder, "constat.yaml").write_text(text)
        write("| one call | median |\n|---|---:|")
        with Session(folder) as session:
            client = session.models.client(Task.DRAFT)
            started = time.perf_counter()
            client.ask(_prompt(-1))
            write(f"| the first, with the library | {time.perf_counter() - started:.2f} s |")
            write(f"| sent, answered, on the disk | {_each(client):.1f} ms |")
            write(f"| the same, served from the disk | {_each(client):.1f} ms |")


def _prompt(number: int) -> Prompt:
    return Prompt(Task.DRAFT, "You count." * 100, (Turn("user", str(number)),))


def _each(client: AskingClient) -> float:
    times = []
    for number in range(CALLS):
        before = time.perf_counter()
        client.ask(_prompt(number))
        times.append(time.perf_counter() - before)
    return statistics.median(times) * 1000


def prompts() -> None:
    """Write the size of the prompts on the examples' tapes, of which a part stays the same."""
    write("| prompts of the examples | turn | tokens read | of them the same each time | written |")
    write("|---|---:|---:|---:|---:|")
    for path in sorted((ROOT / "examples").glob("*/tapes/*.jsonl")):
        for taped in Tape(path).entries[:4]:
            request = taped.request
            fixed = len(request["system"]) + len(json.dumps(request["tools"]))
            turn = sum(one["role"] == "assistant" for one in request["turns"])
            name = f"{path.parts[-3]}, {request['must_call'] or 'free to call'}"
            same = fixed / max(len(json.dumps(request)), 1)
            used = taped.answered.usage
            write(f"| {name} | {turn} | {used.read:,} | {same:.0%} | {used.written:,} |")


def main() -> int:
    """Write the tables."""
    os.environ.setdefault("A_KEY", "no key is needed")
    # The first call loads the library: it comes before what is timed.
    for part in (calls, batches, prompts):
        part()
        write("")
    return 0


if __name__ == "__main__":
    sys.exit(main())
