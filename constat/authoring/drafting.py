"""Ask a model for a goal and rules until they pass the checks, within bounded rounds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.authoring.checking import (
    ASK_BACK,
    ASK_BACK_TOOL,
    GIVE_UP,
    GIVE_UP_TOOL,
    PROPOSE,
    PROPOSE_TOOL,
    Checked,
    Proposal,
    check_proposal,
    one_line,
    read_proposal,
    read_readings,
    read_reason,
)
from constat.authoring.constants import without_echo
from constat.authoring.losses import asks_for_a_rank
from constat.authoring.prompts import (
    as_data,
    hint_text,
    question_text,
    show_predicate,
    system_prompt,
)
from constat.diagnostics import ConstatError, Diagnostic, Severity, to_json
from constat.frozen import frozen, slotted
from constat.model import ModelError, Prompt, Task, Tool, ToolResult, Turn, Usage
from constat.model.prompts import Json

if TYPE_CHECKING:
    from constat.authoring.fragments import Ground
    from constat.model import Client, Reply, ToolCall

_DIGITS = 16
CANNOT_EXPRESS: Final = 8
"""The exit code of a question for which there are no predicates; what is lacking is kept."""
SEVERAL_READINGS: Final = 9
"""The exit code of a question that has several meanings; they are listed."""
_ANSWERS: Final = (PROPOSE_TOOL, GIVE_UP_TOOL, ASK_BACK_TOOL)


@slotted
class Transcript:
    """What was exchanged about one question, in order; `outcome` is empty until it has ended."""

    question: str
    at: str
    entries: list[dict[str, Any]] = field(default_factory=list)
    outcome: dict[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """The beginning of the sha256 of question and moment."""
        return hashlib.sha256(f"{self.at}\n{self.question}".encode()).hexdigest()[:_DIGITS]

    def asked(self, text: str) -> None:
        """Note what the model was told."""
        self.entries.append({"kind": "told", "text": text})

    def replied(self, reply: Reply) -> None:
        """Note what the model said, with its hashes."""
        self.entries.append(
            {
                "kind": "reply",
                "model": reply.model,
                "at": reply.at,
                "replayed": reply.replayed,
                "prompt_hash": reply.prompt_hash,
                "response_hash": reply.response_hash,
                "stop": reply.stop,
                "text": reply.text,
                "calls": [_call(one) for one in reply.calls],
                "usage": usage_json(reply.usage),
            }
        )

    def looked_up(self, call: ToolCall, text: str, *, failed: bool) -> None:
        """Note what a tool gave."""
        self.entries.append({"kind": "lookup", "call": _call(call), "text": text, "failed": failed})

    def checked(self, number: int, diagnostics: Sequence[Diagnostic], *, passed: bool) -> None:
        """Note what a check found in a proposal."""
        self.entries.append(
            {
                "kind": "check",
                "round": number,
                "passed": passed,
                "diagnostics": to_json(diagnostics),
            }
        )

    def as_json(self) -> dict[str, Any]:
        """Give the record so far."""
        return {
            "id": self.identity,
            "question": self.question,
            "at": self.at,
            "entries": list(self.entries),
            "outcome": dict(self.outcome),
        }


def usage_json(usage: Usage) -> dict[str, Any]:
    """Give tokens as numbers and the price as an exact text."""
    return {
        "calls": usage.calls,
        "read": usage.read,
        "cached": usage.cached,
        "stored": usage.stored,
        "written": usage.written,
        "cost": f"{usage.cost:f}",
    }


def _call(call: ToolCall) -> dict[str, Any]:
    given: object = call.arguments
    arguments = dict(given) if isinstance(given, Mapping) else None
    return {"name": call.name, "arguments": arguments}


Lookup = tuple[Tool, Callable[[Json], str]]
"""A tool with what answers it."""

MOST_QUESTION: Final = 4_000
_MOST_CALLS: Final = 8
_MOST_RESULT: Final = 8_000
_MOST_TOKENS: Final = 4_096
_MOST_SHOWN: Final = 20
_MOST_NAMED: Final = 3
_ERROR: Final = "error"
# A model that only talks is reminded of the tool, and has to call it from then on.
_REMINDER: Final = "Hand in your result with the tool `propose` now."

# What to do where no model replied; what it had replied before is kept, and not paid for again.
_HELP: Final = MappingProxyType(
    {
        "C0822": "set it: `export NAME=...`; `constat models` says which model needs which",
        "C0823": "allow more with `models: {budget: {question: {...}}}`; what was paid for is kept",
        "C0825": "ask again later: what was replied before is kept, and not paid for again",
        "C0826": "ask again: what was replied before is kept, and not paid for again",
        "C0828": "write `tape: {file: ..., mode: record}`, so that a model may be asked for it",
        "C0935": "ask again later, when the other program has its reply",
    }
)

_SHOW_TOOL: Final = Tool(
    "show_predicate",
    "Show columns, description, rules and query of an existing predicate.",
    {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    },
)


_NOT_RUN: Final = "not run: a proposal ends the turn"


@frozen
class DraftContext:
    """What drafting works with.

    `sources` tells about the databases. `before` is what was said earlier in the conversation, and
    `seen` are texts of it in which constants may stand. `rejected` are earlier drafts with the
    reasons against them; `keep` is called after each step, when the transcript has it.
    """

    ground: Ground
    client: Client
    lookups: tuple[Lookup, ...] = ()
    sources: str = ""
    rejected: tuple[tuple[str, str], ...] = ()
    keep: Callable[[], None] = field(default=lambda: None)
    task: Task = Task.DRAFT
    before: str = ""
    seen: tuple[str, ...] = ()


@frozen
class Drafted:
    """A proposal that passed. `checked` holds goal and draft, `reply` is the model's last word.

    `rounds` counts proposals, `usage` all calls; `replayed` says that no model was asked. `again`
    tells the model what only its proof showed, and gives what it proposes then, if that passes.
    """

    proposal: Proposal
    checked: Checked
    reply: Reply
    rounds: int
    usage: Usage
    again: Callable[[str], Drafted | None] = field(compare=False, repr=False)

    @property
    def replayed(self) -> bool:
        """Whether the last word came from a tape."""
        return self.reply.replayed


def check_question(question: str) -> str:
    """Give the question as it is asked. Raises `ConstatError` for what is none."""
    plain = " ".join(question.split())
    problem = ""
    if not plain:
        problem = "the question is empty"
    elif len(plain) > MOST_QUESTION:
        problem = f"the question is longer than {MOST_QUESTION:,} characters"
    elif not plain.isprintable():
        problem = "the question holds control characters"
    if problem:
        hint = 'write a sentence: `constat ask "Is customer C001 a VIP?"`'
        raise ConstatError([Diagnostic("C0874", problem, help=hint)])
    return plain


def draft_for(question: str, context: DraftContext, transcript: Transcript) -> Drafted:
    """Have a question turned into a goal. Raises `ConstatError`."""
    return _Drafting(question, context, transcript).run()


class _Drafting:
    """One question on its way."""

    def __init__(self, question: str, context: DraftContext, transcript: Transcript) -> None:
        self.context = context
        self.transcript = transcript
        self.setting = context.ground.setting
        self.tools = {tool.name: run for tool, run in (*context.lookups, (_SHOW_TOOL, self.show))}
        self.seen = [question, self.setting.context, *context.seen]
        self.usage = Usage()
        self.rounds = 0
        self.looked_up = 0
        self.last: tuple[Diagnostic, ...] = ()
        program, databases, lean = (
            context.ground.program,
            context.ground.databases,
            bool(context.lookups),
        )
        hint = hint_text(program, question) if lean else ""
        told = question_text(question, context.rejected, context.before, hint)
        transcript.asked(told)
        self.prompt = Prompt(
            context.task,
            system_prompt(program, self.setting, databases, context.sources, lean=lean),
            (Turn("user", told),),
            (*(tool for tool, _ in context.lookups), _SHOW_TOOL, *_ANSWERS),
            most_tokens=_MOST_TOKENS,
        )

    def run(self) -> Drafted:
        # Each turn uses up a round or at least one lookup: so many turns are enough.
        for _ in range(self.setting.rounds + self.setting.lookups + 1):
            reply = self.ask()
            found = self.answered(reply)
            self.context.keep()
            if found is not None:
                return found
            if self.rounds >= self.setting.rounds:
                break
        raise self.failed()

    def ask(self) -> Reply:
        try:
            reply = self.context.client.ask(self.prompt)
        except ModelError as problem:
            self.usage = self.usage + problem.usage
            message = one_line(str(problem), 500)
            hint = _HELP.get(problem.code, "")
            raise ConstatError([Diagnostic(problem.code, message, help=hint)]) from None
        self.usage = self.usage + reply.usage
        self.transcript.replied(reply)
        self.context.keep()
        return reply

    def answered(self, reply: Reply) -> Drafted | None:
        """Act on a reply; the next prompt holds what came of it."""
        if reply.stop == "refusal":
            raise _gave_up("the model declined to answer", one_line(reply.text, 300))
        proposed = next((one for one in reply.calls if one.name == PROPOSE), None)
        gave_up = next((one for one in reply.calls if one.name == GIVE_UP), None)
        if proposed is None and gave_up is not None:
            raise _gave_up(
                "the model says that the question cannot be expressed",
                read_reason(gave_up),
                exit_code=CANNOT_EXPRESS,
                hint=_RANKING if asks_for_a_rank(self.seen[0]) else _OTHERWISE,
            )
        asked_back = next((one for one in reply.calls if one.name == ASK_BACK), None)
        readings = () if asked_back is None else read_readings(asked_back)
        if proposed is None and readings:
            raise _several(readings)
        if not reply.calls:
            self.remind(reply)
            return None
        results: list[ToolResult] = []
        for place, call in enumerate(reply.calls):
            if place >= _MOST_CALLS:
                text = f"not run: at most {_MOST_CALLS} calls at a time"
                results.append(ToolResult(call.identity, text, failed=True))
            elif call is proposed:
                found = self.propose(call, reply, results)
                if found is not None:
                    return found
            else:
                results.append(self.look_up(call))
        self.go_on(reply, Turn("user", results=tuple(results)))
        return None

    def remind(self, reply: Reply) -> None:
        """A reply without a call is a round that brought nothing."""
        self.rounds += 1
        message = "the reply was cut off" if reply.stop == "length" else "no proposal was handed in"
        self.last = (Diagnostic("C0861", message, help="call the tool `propose`"),)
        self.transcript.checked(self.rounds, self.last, passed=False)
        self.go_on(reply, Turn("user", _REMINDER))
        self.prompt = replace(self.prompt, must_call=PROPOSE)

    def go_on(self, reply: Reply, turn: Turn) -> None:
        # Providers refuse a turn without content.
        empty = not reply.text and not reply.calls
        said = () if empty else (Turn("assistant", reply.text, reply.calls),)
        self.prompt = replace(self.prompt, turns=(*self.prompt.turns, *said, turn), must_call=None)

    def propose(self, call: ToolCall, reply: Reply, results: list[ToolResult]) -> Drafted | None:
        """Check a proposal; its mistakes become the result of the call."""
        self.rounds += 1
        diagnostics: list[Diagnostic] = []
        proposal = read_proposal(call, diagnostics)
        checked = Checked(tuple(diagnostics))
        if proposal is not None:
            checked = check_proposal(proposal, self.context.ground, self.seen)
        self.last = checked.diagnostics
        passed = proposal is not None and checked.goal is not None
        self.transcript.checked(self.rounds, checked.diagnostics, passed=passed)
        if proposal is not None and passed:
            again = partial(self.again, reply, call)
            return Drafted(proposal, checked, reply, self.rounds, self.usage, again)
        results.append(ToolResult(call.identity, mistakes_text(checked.diagnostics), failed=True))
        return None

    def again(self, reply: Reply, proposed: ToolCall, reason: str) -> Drafted | None:
        """Have a proposal looked at once more; `None` where nothing else passes."""
        if self.rounds >= self.setting.rounds:
            return None
        results = [
            ToolResult(call.identity, reason if call is proposed else _NOT_RUN, failed=True)
            for call in reply.calls
        ]
        self.transcript.asked(reason)
        self.go_on(reply, Turn("user", results=tuple(results)))
        try:
            return self.run()
        except ConstatError:
            # What stands is the answer; that nothing better came is in the transcript.
            return None

    def look_up(self, call: ToolCall) -> ToolResult:
        """Run a tool, within bounds; what it gives is data."""
        text, failed = self.run_tool(call)
        if not failed:
            self.seen.append(without_echo(text, _texts(call.arguments)))
        self.transcript.looked_up(call, text, failed=failed)
        return ToolResult(call.identity, text, failed=failed)

    def run_tool(self, call: ToolCall) -> tuple[str, bool]:
        if self.looked_up >= self.setting.lookups:
            self.rounds += 1
            return "C0872: nothing more can be looked up; propose with what you know", True
        self.looked_up += 1
        run = self.tools.get(call.name)
        if run is None:
            return f"there is no tool `{one_line(call.name, 40)}`", True
        try:
            given = run(call.arguments)
        except ConstatError as problem:
            return mistakes_text(problem.diagnostics), True
        except (TypeError, ValueError, KeyError, AttributeError) as problem:
            return f"the arguments do not fit ({type(problem).__name__})", True
        if len(given) > _MOST_RESULT:
            given = given[:_MOST_RESULT] + "\n(shortened)"
        return given, given.startswith(_ERROR)

    def show(self, arguments: Json) -> str:
        """Answer `show_predicate`."""
        name = arguments["name"]
        program, values = self.context.ground.program, self.setting.facts
        shown = show_predicate(program, name, values=values) if isinstance(name, str) else None
        return "there is no such predicate" if shown is None else as_data(shown)

    def failed(self) -> ConstatError:
        """Say why there is no proposal, with what the last one had wrong."""
        message = f"no proposal passed the checks in {self.rounds} rounds"
        errors = [one for one in self.last if one.severity is Severity.ERROR]
        listed = "; ".join(f"{one.message} [{one.code}]" for one in errors[:_MOST_NAMED])
        more = "; and more" if len(errors) > _MOST_NAMED else ""
        note = one_line(f"the last one: {listed}{more}", 1_000)
        hint = (
            "ask in other words, or allow more with `authoring: {rounds: 5}`; "
            f"`constat ask --show {self.transcript.identity}` has all of them"
        )
        return ConstatError([Diagnostic("C0867", message, note=note, help=hint)])


def _texts(arguments: object) -> list[str]:
    """Give the texts and numbers of the arguments of a call."""
    found: list[str] = []
    waiting = [arguments]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting.extend(one.values())
        elif isinstance(one, list | tuple):
            waiting.extend(one)
        elif isinstance(one, str | int | float):
            found.append(str(one))
    return found


def mistakes_text(diagnostics: Sequence[Diagnostic]) -> str:
    """Give diagnostics as data for a model."""
    listed = to_json(diagnostics)[:_MOST_SHOWN]
    shown = [
        {key: one[key] for key in ("code", "severity", "message", "note", "help") if one[key]}
        | _place(one)
        for one in listed
    ]
    return json.dumps({"accepted": False, "mistakes": shown}, ensure_ascii=False)


def _place(one: dict[str, object]) -> dict[str, object]:
    span = one["span"]
    if not isinstance(span, dict):
        return {}
    return {"in": span["source"], "line": span["line"], "column": span["column"]}


_OTHERWISE: Final = "ask in other words, or give the project the predicates that it lacks"
_RANKING: Final = "`constat solve QUESTION` ranks rows: it plans several steps, and a goal is one"


def _gave_up(
    message: str, said: str, *, exit_code: int = 2, hint: str = _OTHERWISE
) -> ConstatError:
    note = f"it says: {said}" if said else ""
    return ConstatError([Diagnostic("C0866", message, note=note, help=hint)], exit_code=exit_code)


def _several(readings: Sequence[str]) -> ConstatError:
    listed = "; ".join(f"({number}) {one}" for number, one in enumerate(readings, 1))
    return ConstatError(
        [
            Diagnostic(
                "C0896",
                "the question has several meanings",
                note=f"which of these do you mean: {listed}",
                help="ask one of them in its place",
            )
        ],
        exit_code=SEVERAL_READINGS,
    )
