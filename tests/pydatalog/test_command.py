"""`constat prove --engine pydatalog`, and the session behind it."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

import constat
from constat.cli.schemas import json_schema
from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.session import Session
from tests.cli.running import Ran, run, run_process
from tests.pydatalog.test_process import PATIENCE, running, wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.sampled(2)

SCHEMA = json_schema("prove-engine")
IMPORT = re.compile(r"^\s*(import|from) pyDatalog\b", re.MULTILINE)
CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children")
ENDLESS = ".decl n(x: number)\nn(0).\nn(?y) :- n(?x), ?y = ?x + 1.\n"


def prove(project: Path, *arguments: str) -> Ran:
    return run("prove", "--engine", "pydatalog", "--project", project, *arguments)


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """Give a project whose rules have no end, and a second in which to find out."""
    text = "rules: [rules.dl]\nlimits: {seconds: 1}\n"
    (tmp_path / "constat.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "rules.dl").write_text(ENDLESS, encoding="utf-8")
    return tmp_path


@pytest.mark.examples
@pytest.mark.parametrize(
    ("goal", "code", "lines"),
    [
        ("is_vip(C001)", 0, ["YES: is_vip(C001)"]),
        ("is_vip(customer = C002)", 5, ["NO: is_vip(C002)"]),
        ("is_vip(?who)", 0, ["YES: is_vip(?who)", "42 rows match"]),
        ("controls(C034, C034)", 0, ["YES: controls(C034, C034)"]),
    ],
)
def test_a_goal_is_answered_without_a_certificate(
    still_shop: Path, goal: str, code: int, lines: list[str]
) -> None:
    ran = prove(still_shop, goal)
    assert (ran.code, ran.err) == (code, "")
    assert ran.out.splitlines() == [*lines, "by pyDatalog, without a certificate"]


def test_quiet_leaves_the_first_line(still_shop: Path) -> None:
    assert prove(still_shop, "is_vip(?who)", "-q").out.splitlines() == ["YES: is_vip(?who)"]


def checked(ran: Ran) -> Mapping[str, object]:
    found: Mapping[str, object] = ran.json
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    assert found["exit_code"] == ran.code
    return found


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["title"]
    assert SCHEMA["description"]


@pytest.mark.examples
def test_json_says_the_same(still_shop: Path) -> None:
    found = checked(prove(still_shop, "is_vip(?who)", "--format", "json"))
    assert (found["answer"], found["rows"], found["reason"]) == ("yes", 42, "")
    assert checked(prove(still_shop, "is_vip(C002)", "--format", "json"))["answer"] == "no"


def test_a_run_that_is_stopped_has_no_answer(endless: Path) -> None:
    ran = prove(endless, "n(-1)")
    assert ran.code == 4
    assert ran.out.splitlines()[0] == "NO ANSWER: n(-1)"
    assert "this is not a no" in ran.out
    found = checked(prove(endless, "n(-1)", "--format", "json"))
    assert (found["answer"], found["rows"]) == ("none", None)
    assert "time limit" in str(found["reason"])


@pytest.mark.parametrize(
    ("goal", "exit_code", "code"),
    [("may_leave(C005)", 78, "C0420"), ("is_strategic(C001)", 4, "C0422")],
)
def test_what_is_refused_is_said_on_stderr(
    still_shop: Path, goal: str, exit_code: int, code: str
) -> None:
    ran = prove(still_shop, goal)
    assert (ran.code, ran.out) == (exit_code, "")
    assert f"error[{code}]" in ran.err
    assert "-->" in ran.err, "the place is shown"


@pytest.mark.parametrize(
    "options",
    [("--certificate", "c.json"), ("--all",), ("--trace-calls",), ("--depth", "2")],
)
def test_what_needs_proofs_is_a_usage_error(
    still_shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = prove(still_shop, "is_vip(C001)", *options)
    assert (ran.code, ran.out) == (2, "")
    assert options[0] in ran.err
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_engine_is_a_usage_error(still_shop: Path) -> None:
    assert run("prove", "--engine", "prolog", "--project", still_shop, "is_vip(C001)").code == 2


def test_a_mistake_in_the_goal_is_found_before_anything_is_started(still_shop: Path) -> None:
    assert prove(still_shop, "is_vpi(C001)").code == 2


def test_both_engines_agree_on_every_customer_of_the_example(still_shop: Path) -> None:
    with Session(still_shop) as session:
        found = session.second_opinion("is_vip(?c)")
        assert len(found.rows) == 42
        some = [f"C{number:03}" for number in range(1, 60, 4)]
        for customer in some:
            verdict = session.prove(f"is_vip({customer})").verdict
            if verdict in {Verdict.PROVED, Verdict.DISPROVED}:
                assert ((customer,) in found.rows) == (verdict is Verdict.PROVED)


def test_the_session_can_be_used_on_after_a_refusal(still_shop: Path) -> None:
    with Session(still_shop) as session:
        with pytest.raises(ConstatError, match="C0420"):
            session.second_opinion("may_leave(C005)")
        assert session.second_opinion("is_vip(C001)").holds is True
        assert session.prove("is_vip(C001)").verdict is Verdict.PROVED


def test_the_command_works_as_a_process_of_its_own(still_shop: Path) -> None:
    ran = run_process("prove", "is_vip(C001)", "--engine", "pydatalog", cwd=still_shop)
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.skipif(not CHILDREN.exists(), reason="this system does not list children")
def test_ctrl_c_ends_the_command_and_its_child(endless: Path) -> None:
    text = (endless / "constat.yaml").read_text(encoding="utf-8")
    patient = text.replace("seconds: 1}", "seconds: 300}")
    (endless / "constat.yaml").write_text(patient, encoding="utf-8")
    command = [sys.executable, "-m", "constat", "prove", "n(-1)", "--engine", "pydatalog"]
    with subprocess.Popen(command, cwd=endless, stderr=subprocess.PIPE, text=True) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        assert wait_until(lambda: bool(children.read_text(encoding="utf-8").split()))
        child = int(children.read_text(encoding="utf-8").split()[0])
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err.strip() == "constat: interrupted"
    # An interruption may come while the child is being started: then it ends by itself.
    assert wait_until(lambda: not running(child))


def test_proving_loads_nothing_of_it(still_shop: Path) -> None:
    program = (
        "import sys; from constat.cli import main;"
        f"main(['prove', 'is_vip(C001)', '-q', '--project', {str(still_shop)!r}]);"
        "print(*[n for n in sys.modules if 'pydatalog' in n.lower()])"
    )
    ran = run_process_of(program)
    assert ran.splitlines()[1:] == [""]


def run_process_of(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout


def imports_pydatalog(text: str) -> bool:
    if not IMPORT.search(text):
        return False
    names = [
        name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None), *(alias.name for alias in node.names)]
    ]
    return any(name and name.partition(".")[0] == "pyDatalog" for name in names)


def test_only_this_package_imports_pydatalog() -> None:
    # And of this package only what runs in the child: the parent never holds the library.
    package = Path(constat.__file__).parent
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if imports_pydatalog(path.read_text(encoding="utf-8"))
    }
    assert users == {"pydatalog/child.py"}
