"""What `models:` may say, and what is reported about what it may not."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError, Diagnostic
from constat.diagnostics.catalogue import Entry, chapter
from constat.project import ModelsSetting, load_project
from constat.project.settings import Budget, Prices, TapeSetting

if TYPE_CHECKING:
    from pathlib import Path


WHOLE = """\
models:
  named:
    careful:
      provider: anthropic
      model: large-model
      key: LARGE_KEY
      prices: {read: 3, written: 15, cached: 0.30, stored: 3.75}
      effort: high
      seconds: 30
    local: {provider: openai, model: small, base_url: "${HOST}/v1", prices: {read: 0, written: 0}}
  default: local
  tasks: {draft: careful, sub-plan: careful}
  budget:
    question: {tokens: 50_000, money: 0.25, seconds: 60}
    session: {money: 5}
  currency: EUR
  tape: {file: tapes/a.jsonl, mode: record}
  confidence: {default: 0.5, most: 0.7}
  keep: 30d
  batch: 5
"""


def load(folder: Path, text: str, **environment: str) -> ModelsSetting:
    (folder / "constat.yaml").write_text(text, encoding="utf-8")
    return load_project(folder, environment=environment).models


def complaints(folder: Path, text: str, **environment: str) -> list[Diagnostic]:
    with pytest.raises(ConstatError) as caught:
        load(folder, text, **environment)
    return list(caught.value.diagnostics)


def one_model(rest: str) -> str:
    return f"models:\n  named:\n    m: {{model: big{rest}}}\n"


def test_everything_is_read_as_it_is_written(tmp_path: Path) -> None:
    found = load(tmp_path, WHOLE, HOST="http://127.0.0.1:9")
    careful, local = found.named["careful"], found.named["local"]
    assert (careful.provider, careful.model, careful.key) == (
        "anthropic",
        "large-model",
        "LARGE_KEY",
    )
    assert careful.prices == Prices(Decimal(3), Decimal(15), Decimal("0.30"), Decimal("3.75"))
    assert (careful.effort, careful.seconds, careful.address) == ("high", 30.0, None)
    assert local.address is not None
    assert (local.address.text, local.key) == ("http://127.0.0.1:9/v1", "")
    assert found.of("draft") is careful
    assert found.of("knowledge") is local
    assert found.question == Budget(50_000, Decimal("0.25"), 60.0)
    assert found.session == Budget(2_000_000, Decimal(5), None)
    assert found.tape == TapeSetting(tmp_path / "tapes" / "a.jsonl", "record")
    assert found.confidence == (Decimal("0.5"), Decimal("0.7"))
    assert (found.keep, found.batch, found.currency) == (30 * 86_400, 5, "EUR")


def test_a_project_without_models_has_budgets_and_no_model(tmp_path: Path) -> None:
    found = load(tmp_path, "project: x\n")
    assert found == ModelsSetting()
    assert found.of("draft") is None
    assert found.question.tokens


def test_the_only_model_is_for_every_task(tmp_path: Path) -> None:
    found = load(tmp_path, one_model(""))
    assert found.of("draft") is found.named["m"]
    assert found.named["m"].key == "ANTHROPIC_API_KEY"


def test_of_several_models_none_is_the_default_unless_it_is_named(tmp_path: Path) -> None:
    text = "models: {named: {a: {model: a}, b: {model: b}}, tasks: {plan: b}}"
    found = load(tmp_path, text)
    assert found.of("draft") is None
    assert found.of("plan") is found.named["b"]


def test_prices_that_are_not_told_are_taken_to_be_dear(tmp_path: Path) -> None:
    prices = load(tmp_path, one_model(", prices: {read: 4, written: 1}")).named["m"].prices
    assert prices == Prices(Decimal(4), Decimal(1), Decimal(4), Decimal(5))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (one_model(", key: sk-abc-123"), "no name of an environment variable"),
        (one_model(", base_url: http://example.com"), "a line that anybody can read"),
        (one_model(", base_url: http://127.0.0.1.example.com"), "a line that anybody can read"),
        (one_model(", base_url: http://localhost@example.com"), "name or password"),
        (one_model(', base_url: "https://u:secret@example.com"'), "name or password"),
        (one_model(", base_url: ftp://example.com"), "no http or https"),
        (one_model(', base_url: "https://example.com/?a=b"'), "no http or https"),
        (one_model(", base_url: localhost"), "no http or https"),
        (one_model(', base_url: "https://[::1"'), "no address"),
        (one_model(", provider: antropic"), "is none of"),
        (one_model(", provider: openai"), "has no `base_url`"),
        (one_model(", effort: huge"), "is none of"),
        (one_model(", prices: {read: 1e3, written: 1}"), "no decimal number"),
        (one_model(", prices: {read: -1, written: 1}"), "no decimal number"),
        (one_model(", prices: {read: 1}"), "has no `written`"),
        ("models: {named: {m: {provider: anthropic}}}", "has no `model`"),
        ("models: {named: {m: {model: a}}, default: n}", "names no model"),
        ("models: {named: {m: {model: a}}, tasks: {draft: n}}", "names no model"),
        ("models: {named: {m: {model: a}}, tasks: {drafting: m}}", "is no task"),
        ("models: {named: {m: {model: a}}, budget: {session: {money: 1}}}", "has no prices"),
        ("models: {confidence: {default: 0.9, most: 0.8}}", "0 < default <= most < 1"),
        ("models: {confidence: {default: 0.9, most: 1}}", "0 < default <= most < 1"),
        ("models: {confidence: {default: 0}}", "0 < default <= most < 1"),
        ("models: {tape: ../a.jsonl}", "not a file inside"),
        ("models: {tape: {file: a.jsonl, mode: play}}", "is none of"),
        ("models: {keep: long}", "no duration"),
        ("models: {batch: 1000}", "more than 200"),
        ("models: {currency: dollars}", "three capital letters"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_shows_no_value(
    tmp_path: Path, text: str, said: str
) -> None:
    found = complaints(tmp_path, text)
    assert [one.code for one in found] == ["C0820"]
    assert said in found[0].message
    assert found[0].span is not None
    assert found[0].help
    shown = f"{found[0].message}{found[0].note}{found[0].help}"
    assert "secret" not in shown
    assert "sk-abc" not in shown


def test_an_address_of_the_environment_is_checked_as_one_in_the_file(tmp_path: Path) -> None:
    text = one_model(', base_url: "${WHERE}"')
    (found,) = complaints(tmp_path, text, WHERE="https://user:pw@example.com")
    assert "name or password" in found.message
    assert "pw" not in f"{found.message}{found.note}{found.help}"
    # Without the variable only the model cannot be asked; `constat models` says which it is.
    assert load(tmp_path, text).named["m"].address is not None


def test_a_key_may_go_to_this_machine_without_encryption(tmp_path: Path) -> None:
    for host in ("localhost", "127.0.0.1", "127.8.8.8", "[::1]"):
        found = load(tmp_path, one_model(f', base_url: "http://{host}:8080/v1"'))
        assert found.named["m"].address is not None


@pytest.mark.parametrize("entry", chapter("models"), ids=lambda one: one.code)
def test_the_examples_of_the_codes_do_what_they_say(tmp_path: Path, entry: Entry) -> None:
    if entry.kind == "project":
        assert {one.code for one in complaints(tmp_path, entry.wrong)} == {entry.code}
        load(tmp_path, entry.right)
