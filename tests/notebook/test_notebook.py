"""Magics of notebooks, with a shell of the test, with IPython, and in a kernel."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from constat import ConstatError, Verdict
from constat.notebook import Magics, NotebookError
from tests.examples.shop import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EXAMPLE = ROOT / "examples" / "notebook" / "orders.ipynb"
RULES = """
.decl big(customer: symbol)
@[says = "{c} has an order of {a}"]
big(?c) :- orders(_, ?c, ?a), ?a > 50.0.
"""


class Shell:
    """What IPython offers to an extension."""

    def __init__(self, **variables: Any) -> None:  # noqa: ANN401  variables of a notebook
        self.user_ns = dict(variables)
        self.magics: dict[str, Any] = {}

    def register_magic_function(
        self, func: Callable[..., object], magic_kind: str, magic_name: str | None = None
    ) -> None:
        self.magics[f"{'%' * (1 + (magic_kind == 'cell'))}{magic_name or func.__name__}"] = func


def orders() -> pd.DataFrame:
    return pd.DataFrame({"id": [1, 2], "customer": ["C1", "C2"], "amount": [60.5, 10.0]})


@pytest.fixture
def magics() -> dict[str, Any]:
    shell = Shell(frame=orders(), orders=orders())
    Magics(shell).register()
    return shell.magics


def test_rules_are_a_cell_and_questions_are_lines(magics: dict[str, Any]) -> None:
    begun = magics["%%rules"]("orders", RULES)
    assert repr(begun) == "<1 rule, 2 predicates, frames: orders>"
    assert (
        begun._repr_html_() == f"<pre>{repr(begun).replace('<', '&lt;').replace('>', '&gt;')}</pre>"
    )
    assert magics["%prove"]("big(C1)").verdict is Verdict.PROVED
    assert [row["c"] for row in magics["%query"]("big(?c)")] == ["C1"]
    assert magics["%why_not"]("big(C2)").verdict is Verdict.DISPROVED
    assert not magics["%missing"]("big(C2)").holds
    what = magics["%%what_if"](
        "big(C2)", "add orders(3, C2, 70.0)\n\n  remove orders(1, C1, 60.5)\n"
    )
    assert what.verdict is Verdict.PROVED_UNDER
    assert len(what.supposed) == 2
    assert begun.session.prove("big(C1)").verdict is Verdict.PROVED
    assert magics["%%rules"]("orders=frame", RULES).session is not begun.session


def test_a_project_is_used_and_rules_join_it(magics: dict[str, Any], still_shop: Path) -> None:
    magics["%project"](str(still_shop))
    assert magics["%prove"]("is_vip(C001)").verdict is Verdict.PROVED
    what = magics["%%what_if"]("is_vip(C002)", "set vip_threshold 5")
    assert what.verdict is Verdict.PROVED_UNDER
    magics["%%rules"]("", ".decl first(c: symbol)\nfirst(?c) :- is_vip(?c).\n")
    assert magics["%prove"]("first(C001)").verdict is Verdict.PROVED


def rendered(problem: ConstatError) -> str:
    assert isinstance(problem, NotebookError)
    return "\n".join(problem._render_traceback_())


def test_a_mistake_is_shown_with_its_place_and_the_session_before_stays(
    magics: dict[str, Any],
) -> None:
    magics["%%rules"]("orders", RULES)
    with pytest.raises(ConstatError) as caught:
        magics["%%rules"]("orders", RULES.replace("?a > 50.0", "?b > 50.0"))
    shown = rendered(caught.value)
    assert "rules.dl:4" in shown
    assert "?b > 50.0" in shown
    assert "^" in shown
    with pytest.raises(ConstatError) as caught:
        magics["%prove"]("bigg(C1)")
    assert "help: write `big`" in rendered(caught.value)
    assert magics["%prove"]("big(C1)").verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("magic", "arguments", "hint"),
    [
        ("%%rules", ("nothing", RULES), "`orders=variable`"),
        ("%%rules", ("orders=nothing", RULES), "`orders=variable`"),
        ("%%what_if", ("big(C2)", "suppose x"), "`add`, `remove` or `set`"),
        ("%%what_if", ("big(C2)", "add"), "`add`, `remove` or `set`"),
    ],
)
def test_what_cannot_be_read_is_told(
    magics: dict[str, Any], magic: str, arguments: tuple[str, str], hint: str
) -> None:
    magics["%%rules"]("orders", RULES)
    with pytest.raises(ConstatError, match="C0591") as caught:
        magics[magic](*arguments)
    assert hint in rendered(caught.value)


def test_frames_that_are_not_named_are_told_how_they_come_in(magics: dict[str, Any]) -> None:
    town = ".decl town(name: symbol)\n"
    asked = '.input town(source = "frames", query = "SELECT name FROM towns")\n'
    magics["%%rules"]("", town + asked)
    with pytest.raises(ConstatError, match="C0510") as caught:
        magics["%prove"]("town(Bonn)")
    assert "in a notebook `%%rules NAME`" in rendered(caught.value)


@pytest.fixture
def kernel() -> Any:  # noqa: ANN401  a module without types
    pytest.importorskip("ipykernel", reason="the extra `notebook` is not installed")
    return pytest.importorskip("nbclient", reason="nbclient is not installed")


@pytest.mark.filterwarnings("default")
def test_the_example_is_executed_and_shows_what_is_written_in_it(kernel: Any) -> None:  # noqa: ANN401  a module without types
    nbformat: Any = pytest.importorskip("nbformat", reason="nbclient is not installed")
    wanted, executed = (nbformat.read(EXAMPLE, 4) for _ in range(2))
    kernel.NotebookClient(executed, timeout=300, kernel_name="python3").execute()
    assert texts(executed) == texts(wanted)
    htmls = [one["data"]["text/html"] for one in outputs(executed) if "text/html" in one["data"]]
    assert any("✓ certificate" in one for one in htmls)
    assert not any("<script" in one for one in htmls)


def outputs(notebook: Any) -> list[Any]:  # noqa: ANN401  a notebook
    cells = (one for one in notebook.cells if one.cell_type == "code")
    return [output for cell in cells for output in cell.outputs if output.output_type != "stream"]


def texts(notebook: Any) -> list[str]:  # noqa: ANN401  a notebook
    return [output.data["text/plain"] for output in outputs(notebook)]


@pytest.mark.filterwarnings("default")
def test_ipython_replaces_nothing_in_a_goal_and_shows_mistakes_without_a_traceback(
    kernel: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kernel
    from IPython.core import interactiveshell

    # A shell puts a module of its own there and leaves it.
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])

    of_ipython: Any = interactiveshell.InteractiveShell
    shell = of_ipython()
    try:
        shell.user_ns.update(orders=orders(), C1="C2", c="C2")
        assert shell.run_cell("%load_ext constat").success
        assert shell.run_cell(f"%%rules orders\n{RULES}").success
        # IPython would put the variable's value there.
        assert shell.run_cell("%prove big({C1})").result.goal == 'big("{C1}")'
        mistaken = shell.run_cell("%prove bigg(C1)")
        shown = capsys.readouterr().out
        assert not mistaken.success
        assert "help: write `big`" in shown
        assert "Traceback" not in shown
        found = shell.run_cell("result = %prove big(C1)\nresult.verdict.label").result
        assert found == "PROVED"
    finally:
        shell.atexit_operations()
        of_ipython.clear_instance()


def test_the_example_holds_no_place_of_this_machine() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert str(ROOT) not in text
    assert {one["cell_type"] for one in json.loads(text)["cells"]} == {"code", "markdown"}
