"""The codes that no example can show as text: files, bytes, sizes. Each has its golden too."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError, Diagnostic, render
from constat.diagnostics.catalogue import chapter
from constat.syntax import load_program, loading, parse_fact, parse_goal, parse_text
from tests.diagnostics.rendered import RUNNABLE

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).parent / "golden"
Found = tuple[list[Diagnostic], dict[str, str]]


def loaded(folder: Path, contents: dict[str, bytes], first: str = "a.dl") -> Found:
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    found: list[Diagnostic] = []
    texts: dict[str, str] = {}
    load_program([folder / first], [folder], found, texts=texts)
    return found, texts


def asked(parse: Callable[..., object], text: str) -> Found:
    program = parse_text(".decl tier(c: symbol, t: symbol)\n", "rules.dl", [])
    with pytest.raises(ConstatError) as caught:
        parse(text, program)
    return list(caught.value.diagnostics), {"<goal>": text, "<fact>": text}


def half_a_pair(folder: Path) -> Found:
    text = 'tier("C001\ud800", "gold").'
    found: list[Diagnostic] = []
    parse_text(text, "a.dl", found)
    return found, {"a.dl": text}


def many_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Found:
    monkeypatch.setattr(loading, "MAX_FILES", 2)
    chain = {f"{name}.dl": f'.include "{after}.dl"'.encode() for name, after in ("ab", "bc")}
    return loaded(folder, chain | {"c.dl": b""})


def outside(folder: Path) -> Found:
    (folder / "inner").mkdir()
    (folder / "other.dl").write_bytes(b"secret(1).")
    return loaded(folder / "inner", {"a.dl": b'.include "../other.dl"'})


def build(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Found:
    """Files or texts that give a code."""
    contents: dict[str, dict[str, bytes]] = {
        "C0107": {"a.dl": b'tier("C001\0", "gold").\n'},
        "C0109": {"a.dl": b'tier("C001", "gold").\ntier("caf\xe9", "gold").\n'},
        "C0110": {"a.dl": b"tier(1).\n" * 500_000},
        "C0151": {"a.dl": b'.include "b.dl"\n', "b.dl": b'.include "a.dl"\n'},
        "C0154": {"a.dl": b'.include "b.dl"\n.include "b.dl"\n', "b.dl": b""},
        "C0157": {"a.dl": b"tier(Gold).\n" * 1_000},
    }
    match code:
        case "C0108":
            return half_a_pair(folder)
        case "C0152":
            return outside(folder)
        case "C0153":
            return many_files(folder, monkeypatch)
        case "C0155":
            (folder / "rules.dl").mkdir()
            return loaded(folder, {"a.dl": b'.include "rules.dl"\n'})
        case "C0188":
            return asked(parse_fact, "tier(C001, ?t)")
        case "C0189":
            return asked(parse_goal, f"tier({'x' * 200_000}, gold)")
        case _:
            return loaded(folder, contents[code])


CODES = [entry.code for entry in chapter("syntax") if entry.kind not in RUNNABLE]


@pytest.mark.parametrize("code", CODES)
def test_a_file_that_shows_the_mistake_is_rendered_as_in_the_golden(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, texts = build(code, tmp_path, monkeypatch)
    shown = [one for one in found if one.code == code]
    assert len(shown) == 1
    text = render(shown, texts, colour=False)
    path = GOLDEN / f"{code}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text
    assert str(tmp_path) not in text
    assert "secret" not in text
