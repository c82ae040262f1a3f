"""A copy of the example whose model is a server of ours, spoken to as a provider would be.

In: the example's folder, the address of a `ModelServer`. Out: the same folder, without its tape.
Invariant: whoever answers is called `written-answers`; no model is asked. Example:
`with ModelServer(written_answers(ANSWERS)) as server: ask_server(shop, server)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import yaml

from tests.examples.shop import PROJECT
from tests.loopback.server import WRITTEN_MODEL

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback.server import ModelServer

ANSWERS: Final = PROJECT / "tapes" / "ask.yaml"
KEY: Final = "CONSTAT_WRITTEN_ANSWERS_KEY"
ENVIRONMENT: Final = {KEY: "written answers need no key"}


def ask_server(project: Path, server: ModelServer, *, provider: str = "anthropic") -> Path:
    """Let every question of a project go to a server; gives the project."""
    path = project / "constat.yaml"
    config = yaml.safe_load(path.read_text("utf-8"))
    address = server.address if provider == "anthropic" else server.chat_address
    model = {"provider": provider, "model": WRITTEN_MODEL, "key": KEY, "base_url": address}
    prices = {"read": "3", "written": "15", "cached": "0.3", "stored": "3.75"}
    config["models"] = {"named": {"author": {**model, "prices": prices}}}
    path.write_text(yaml.safe_dump(config, sort_keys=False), "utf-8")
    return project
