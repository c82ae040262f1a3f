"""Steps that take too much, lie about their result, or try to change what the next one sees."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from constat.explore.sandbox import Code, ErrorKind, Level, StepLimits, unavailable
from tests.explore.sandbox.conftest import STRONG, signal_until_gone
from tests.explore.sandbox.escapes import PRELUDE

if TYPE_CHECKING:
    from constat.explore.sandbox import Run, Sandbox

SMALL = StepLimits(seconds=30, memory=1 << 30, bytes=1 << 20, output=10_000)
# For what ends by its time alone: a busy machine needs longer for the rest.
SHORT = replace(SMALL, seconds=0.3)
HONEST = Code("store.put('n', 1)")
FORGE = (
    PRELUDE
    + """
wire = sys.modules["constat.explore.sandbox.wire"]
def say(kind, told, body=b""):
    content = wire.packed(kind, told, body)
    while content:
        content = content[os.write(3, content):]
plain = {"tables": [], "plots": [], "state": {}, "notes": []}
"""
)


def kind_of(run: Run) -> ErrorKind | None:
    return run.error.kind if run.error is not None else None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("while True: pass", ErrorKind.TIMEOUT),
        ("import time\ntime.sleep(60)", ErrorKind.TIMEOUT),
        ("import re\nre.match('(a+)+$', 'a' * 60 + 'b')", ErrorKind.TIMEOUT),
        ("x = 'x' * (1 << 31)", ErrorKind.MEMORY),
        ("def f(): return f()\nf()", ErrorKind.OTHER),
        ("raise SystemExit(0)", ErrorKind.OTHER),
        (PRELUDE + "os._exit(0)", ErrorKind.KILLED),
        (PRELUDE + "os.abort()", ErrorKind.KILLED),
        (PRELUDE + "ctypes.string_at(0)", ErrorKind.KILLED),
        (PRELUDE + "os.close(3)", ErrorKind.KILLED),
    ],
)
def test_a_step_that_takes_too_much_or_dies_is_ended(
    box: Sandbox, text: str, kind: ErrorKind
) -> None:
    run = box.run(Code(text), limits=SHORT if kind is ErrorKind.TIMEOUT else SMALL)
    assert kind_of(run) is kind, run
    assert box.run(HONEST).state == {"n": 1}


def test_a_step_that_fills_the_memory_bit_by_bit_is_ended(box: Sandbox) -> None:
    code = "x = []\nwhile True: x.append(' ' * (1 << 22) + str(len(x)))"
    run = box.run(Code(code), limits=StepLimits(seconds=20, memory=500 << 20))
    assert kind_of(run) is ErrorKind.MEMORY, run
    assert box.run(HONEST).state == {"n": 1}


def test_a_step_that_ignores_its_end_is_killed(box: Sandbox) -> None:
    code = (
        PRELUDE
        + """
signal.signal(signal.SIGALRM, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("still here", flush=True)
while True:
    try:
        while True: pass
    except BaseException: pass
"""
    )
    run = box.run(Code(code), limits=SHORT)
    assert kind_of(run) is ErrorKind.TIMEOUT
    assert run.output == "still here\n"
    assert box.run(HONEST).state == {"n": 1}


def test_a_step_that_closes_everything_and_stays_is_killed(box: Sandbox) -> None:
    code = PRELUDE + "signal.signal(signal.SIGALRM, signal.SIG_IGN)\nos.closerange(0, 9)\n"
    run = box.run(Code(code + "while True: pass"), limits=SHORT)
    assert run.error is not None
    assert box.run(HONEST).state == {"n": 1}


def test_much_output_is_cut(box: Sandbox) -> None:
    run = box.run(Code("for i in range(200): print('x' * 1000)\nstore.put('n', 1)"), limits=SMALL)
    assert run.state == {"n": 1}
    assert len(run.output) < 11_000
    assert "190200 more bytes of output were cut" in run.output


def test_output_does_nothing_to_a_terminal(box: Sandbox) -> None:
    run = box.run(Code("print('\\x1b[2J\\x9b31m\\u202e', 'tab\\t')"))
    assert run.output == "\\x1b[2J\\x9b31m\\u202e tab\t\n"


def test_a_name_of_a_variable_does_nothing_to_a_terminal(box: Sandbox) -> None:
    run = box.run(Code("globals()['a\\x1b[31m'] = '\\x1b[0m'\nraise ValueError('\\x1b]0;x\\x07')"))
    assert run.error is not None
    assert all(text.isprintable() for pair in run.error.variables for text in pair)
    assert "\x1b" not in run.error.message + run.error.traceback


@pytest.mark.parametrize(
    "lie",
    [
        "os.write(3, b'x' * 100)",
        "os.write(3, wire._PREFIX.pack(b'CNF1', 10, 1 << 60))",
        "os.write(3, wire._PREFIX.pack(b'CNF1', 1 << 31, 0))",
        "os.write(3, wire._PREFIX.pack(b'CNF1', 3, 0) + b'[1]')",
        "os.write(3, wire._PREFIX.pack(b'CNF1', 200_000, 0) + b'[' * 200_000)",
        "say('result', plain)\nsay('result', plain)",
        "say('result', plain)\nsay('query', {'database': 'sales', 'text': '', 'parameters': []})",
        "say('query', {'database': 'other', 'text': 'SELECT 1', 'parameters': []})",
        "say('query', {'database': 'sales', 'text': 'SELECT 1', 'parameters': [1.5]})",
        "say('step', plain)",
        "say('result', plain, b'x' * (2 << 20))",
    ],
)
def test_a_frame_that_was_not_agreed_ends_the_step(box: Sandbox, lie: str) -> None:
    run = box.run(Code(FORGE + lie), limits=SMALL)
    assert kind_of(run) is ErrorKind.PROTOCOL, run
    assert not run.tables
    assert box.run(HONEST).state == {"n": 1}


@pytest.mark.parametrize(
    "told",
    [
        "{**plain, 'state': {'bad name': 1}}",
        "{**plain, 'state': [1]}",
        "{**plain, 'tables': [['t', 4]]}, b'junk'",
        "{**plain, 'tables': [['t', -1], ['u', 1]]}",
        "{**plain, 'tables': 'all'}",
        "{**plain, 'plots': [['p', 4]]}, b'GIF8'",
        "{**plain, 'notes': 7}",
        "{**plain, 'tables': [['t', 8], ['t', 0]]}, b'CNSTTAB1'",
    ],
)
def test_a_result_that_is_none_is_refused(box: Sandbox, told: str) -> None:
    run = box.run(Code(FORGE + f"say('result', {told})\nos._exit(0)"), limits=SMALL)
    assert kind_of(run) is ErrorKind.RESULT, run
    assert not run.tables
    assert not run.state


def test_a_pickle_is_never_read(box: Sandbox) -> None:
    code = (
        FORGE
        + """
content = b"cbuiltins\\nprint\\n(S'boom'\\ntR."
say("result", {**plain, "tables": [["t", len(content)]]}, content)
os._exit(0)
"""
    )
    assert kind_of(box.run(Code(code))) is ErrorKind.RESULT


def test_a_step_says_nothing_about_what_is_measured_outside(box: Sandbox) -> None:
    code = (
        FORGE
        + """
say("result", {**plain, "state": {"n": 7}, "level": "none", "seconds": 0, "queries": [["a"]],
    "code": "other", "output": "nothing"})
os._exit(0)
"""
    )
    run = box.run(Code(code))
    assert run.state == {"n": 7}
    assert (run.level, run.queries) == (box.level, ())
    assert run.seconds > 0


TAMPERING = (
    "pd.DataFrame.sum = lambda *a, **k: 666",
    "np.sum = lambda *a, **k: 666",
    "pd.io.common.os.sys.modules['math'].sqrt = lambda x: 666",
    "pd.io.common.os.environ['LEFT'] = '1'",
    "pd.options.mode.copy_on_write = False",
    "__builtins__['len'] = lambda x: 666",
    "pd.io.common.os.sys.modules['builtins'].len = lambda x: 666",
    "pd.io.common.os.sys.path.insert(0, '/tmp')",
    "np.random.seed(99)",
    "import decimal\ndecimal.getcontext().prec = 2",
    "pd.io.common.os.sys.modules['constat.store.table_forms'].encode = lambda t: b''",
)


def test_one_step_does_not_change_what_the_next_one_sees(box: Sandbox) -> None:
    look = Code("""
import math, decimal
frame = pd.DataFrame({"a": [1, 2]})
store.put("seen", [int(frame.sum().iloc[0]), int(np.sum([1, 2])), math.sqrt(4), len("abc"),
    str(pd.io.common.os.environ.get("LEFT")), str(pd.io.common.os.sys.path), np.random.rand(),
    decimal.getcontext().prec, pd.io.common.os.getcwd(), sorted(globals())])
store.put("frame", frame)
""")
    before = box.run(look)
    assert before.error is None
    for tampering in TAMPERING:
        box.run(Code(tampering))
        after = box.run(look)
        assert (after.state, after.tables) == (before.state, before.tables), tampering


def test_each_step_is_another_process(box: Sandbox) -> None:
    first = box.run(Code(PRELUDE + "store.put('p', os.getpid())")).state["p"]
    second = box.run(Code(PRELUDE + "store.put('p', os.getpid())")).state["p"]
    assert first != second


ORPHAN = """
    import sys, threading, time
    from constat.explore.sandbox import Code, Level, Sandbox, StepLimits
    box = Sandbox(Level(sys.argv[1]), StepLimits(seconds=600))
    box.run(Code("1"))
    print(box._fork_server.process.pid, flush=True)
    box.run(Code("while True: pass"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("level", STRONG, ids=lambda level: level.value)
def test_nothing_is_left_when_the_program_is_killed(level: Level) -> None:
    if unavailable(level):
        pytest.skip(unavailable(level))
    command = [sys.executable, "-c", textwrap.dedent(ORPHAN), level.value]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        group = int(program.stdout.readline())
        os.killpg(group, 0)
        program.kill()
    with pytest.raises(ProcessLookupError):
        signal_until_gone(group)
