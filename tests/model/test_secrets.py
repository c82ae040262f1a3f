"""A planted key is sent to its provider, and is nowhere else."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from constat import Session
from constat.cli.entry import cli
from constat.model import ModelError
from constat.model.anthropic_client import AnthropicProvider
from constat.model.openai_client import OpenAIProvider
from tests.loopback.server import ModelServer, Raw, Written
from tests.model.speaking import JSON, KEY, SETTING, chat, counting, prompt, table

if TYPE_CHECKING:
    from constat.project import ModelSetting
    from tests.loopback.server import Answer, Asked

BOTH = pytest.mark.parametrize("setting", [SETTING, chat()], ids=lambda one: one.provider)
RULES = '.decl p(x: symbol)\n.input p(source="model")\n'


def parrot(asked: Asked) -> Raw:
    """Say back all that came, headers included, as error messages of some servers do."""
    said = {"error": {"type": "x", "message": f"{dict(asked.headers)}"[-900:] + KEY}}
    return Raw(400, JSON, (json.dumps(said).encode(),))


@BOTH
def test_a_provider_that_says_the_key_back_is_not_repeated(
    tmp_path: Path, setting: ModelSetting, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with table(tmp_path, parrot, setting=setting) as at:
        with pytest.raises(ModelError) as caught:
            at.client.ask(prompt())
        assert KEY in str(at.server.asked[0].headers)
    chain: list[BaseException | None] = [caught.value, caught.value.__cause__]
    assert KEY not in " ".join(map(repr, chain))
    assert caught.value.__suppress_context__
    assert KEY not in caplog.text


def test_no_repr_shows_a_key() -> None:
    for provider in (AnthropicProvider("http://x", KEY), OpenAIProvider("http://x", KEY)):
        assert KEY not in repr(provider)


def project(folder: Path, server: ModelServer, rest: str = "") -> Path:
    (folder / "r.dl").write_text(RULES)
    (folder / "constat.yaml").write_text(
        f'rules: [r.dl]\nmodels:\n  named:\n    m: {{model: big, key: A_KEY, base_url: "'
        f'{server.address}", answers_as: [written-answers], prices: {{read: 3, written: 15}}}}\n'
        f"{rest}"
    )
    return folder


def holds(asked: Asked) -> Answer:
    return Written(calls=(("tell", {"answers": [{"key": 0, "known": True, "holds": True}]}),))


def test_the_key_is_in_no_output_no_certificate_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with ModelServer(holds) as server:
        where = str(project(tmp_path, server, "  tape: {file: a.jsonl, mode: record}\n"))
        runner = CliRunner()
        proved = runner.invoke(
            cli, ["prove", "p(a)", "--keep", "--format", "json", "--project", where]
        )
        listed = runner.invoke(cli, ["models", "--project", where])
        as_json = runner.invoke(cli, ["models", "--format", "json", "--project", where])
        assert KEY in str(server.asked[0].headers)
    assert json.loads(proved.stdout)["verdict"] == "PROVED_UNDER"
    assert "A_KEY is set" in listed.output
    assert json.loads(as_json.stdout)["models"][0]["key_set"] is True
    assert KEY not in proved.output + listed.output + as_json.output
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"a.jsonl", "model_answers.sqlite"} <= {path.name for path in files}
    for path in files:
        assert KEY.encode() not in path.read_bytes(), path
        # The address is nobody's business either: the tape works wherever it was recorded.
        assert path.name != "a.jsonl" or server.address.encode() not in path.read_bytes()


def test_a_key_that_is_none_is_refused_before_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(lambda _: counting()) as server:
        project(tmp_path, server)
        for key in ("", "two\nlines", " sk", "schlüssel"):
            monkeypatch.setenv("A_KEY", key)
            with Session(tmp_path) as session:
                with pytest.raises(ModelError) as caught:
                    session.models.client(prompt().task).ask(prompt())
                assert caught.value.code == "C0822"
                assert not key or key not in str(caught.value)
        assert server.asked == []


def test_only_its_own_key_goes_to_a_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys of the environment that the project does not name stay where they are."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, f"sk-of-{name}")
    for setting in (SETTING, chat()):
        with table(tmp_path, counting(), setting=setting, serve=False) as at:
            at.client.ask(prompt())
            assert "sk-of-" not in str(at.server.asked[0].headers)
