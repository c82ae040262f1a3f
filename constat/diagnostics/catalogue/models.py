"""The codes about language models: C0820 to C0839, C0935 and C0936.

In: nothing. Out: `ENTRIES`. Invariant: no message of these codes shows a key, or a text from
outside that is not one printable line. Example: C0823 says that a call might exceed a budget, and
that it was not made.
"""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

_FAST: Final = "models:\n  named:\n    fast: {provider: anthropic, model: some-model"

_CONFIGURED: Final = (
    Entry(
        "C0820",
        "a mistake in `models:`",
        "`models:` names the language models of a project, the task each is for, prices, budgets "
        "and a tape. A key never stands in the file: `key` names the environment variable that "
        "holds it. A key goes over plain HTTP to this machine only, and a budget in money needs "
        "the prices of all models.",
        wrong=f"{_FAST}, key: sk-123-not-a-name}}\n",
        right=f"{_FAST}, key: MY_KEY}}\n",
        kind="project",
    ),
    Entry(
        "C0821",
        "no model for a task",
        "A task was to be done by a language model, and the project has none for it. Models are "
        "named under `models:`; `tasks` says which is for what, `default` which is for the rest.",
        wrong="models: {named: {}}",
        right="models:\n  named:\n    fast: {provider: anthropic, model: some-model}",
        kind="text",
    ),
    Entry(
        "C0822",
        "no key",
        "The environment variable with the key of a model, or one in its address, is not set, or "
        "it holds characters that no key has. `constat models` lists which keys are set.",
        wrong='constat ask "Is C001 a VIP?"',
        right='ANTHROPIC_API_KEY=... constat ask "Is C001 a VIP?"',
        kind="text",
    ),
    Entry(
        "C0823",
        "a call that a budget does not allow",
        "Before a model is asked, the most that the call may use is held against the budgets of "
        "the question and of the session: the tokens it reads, and all those it may write. It "
        "was not made. What was known without it was used.",
        wrong="models: {budget: {question: {tokens: 100}}}",
        right="models: {budget: {question: {tokens: 50000, money: 0.50}}}",
        kind="text",
    ),
)

_ASKED: Final = (
    Entry(
        "C0824",
        "a request that the provider refuses",
        "The provider of a model refused the request itself: an unknown model, a wrong key, a "
        "prompt that is too long. Asking again would change nothing, so it was not asked again.",
        wrong="models: {named: {fast: {model: no-such-model}}}",
        right="models: {named: {fast: {model: a-model-of-the-provider}}}",
        kind="text",
    ),
    Entry(
        "C0825",
        "a provider that does not answer",
        "The provider of a model cannot be reached, is asked too much, or did not answer in time. "
        "It was asked up to three times, and not before the time it asked for; where that time "
        "lies beyond the budget, nobody waited for it.",
        wrong='constat ask "Is C001 a VIP?"     # the line is down',
        right='constat ask "Is C001 a VIP?"     # later',
        kind="text",
    ),
    Entry(
        "C0826",
        "a reply that cannot be used",
        "A model's reply broke off, is too large, is no JSON, calls a tool that was not offered or "
        "with arguments that do not fit, or came from elsewhere. Nothing of it was used. What it "
        "cost is in `constat models`.",
        wrong='{"name": "drop_tables", "arguments": {}}',
        right='{"name": "tell", "arguments": {"answers": []}}',
        kind="text",
    ),
    Entry(
        "C0827",
        "a reply of another model",
        "The reply says that it is of another model than was asked. Certificates name the model "
        "whose word they rest on, so it was not used. A gateway that has names of its own is told "
        "by `answers_as`; a dated version of the model that was asked is taken.",
        wrong="models: {named: {fast: {model: some-model}}}",
        right="models: {named: {fast: {model: some-model, answers_as: [name-of-the-gateway]}}}",
        kind="text",
    ),
    Entry(
        "C0828",
        "a prompt that the tape does not have",
        "The project replays the replies of a tape, and this prompt is not on it: the question, "
        "the rules, the model or a prompt of Constat has changed. No model was asked. With "
        "`mode: record` what is missing is asked and put on the tape.",
        wrong="models: {tape: tapes/demo.jsonl}",
        right="models: {tape: {file: tapes/demo.jsonl, mode: record}}",
        kind="text",
    ),
    Entry(
        "C0829",
        "a tape that cannot be used",
        "A tape is a file of lines, the first of which says whose replies follow. It cannot be "
        "read or written, or a line has another hash than it says: a tape is made, not edited.",
        wrong="(a reply on the tape was changed by hand)",
        right="(the tape is recorded again)",
        kind="text",
    ),
    Entry(
        "C0830",
        "replies that cannot be kept",
        "Replies of models were paid for, so each is kept in `model_answers.sqlite` in the state "
        "folder before it is used. That file could not be read or written. The reply was used; "
        "the next program will pay for it again.",
        wrong="(the disk is full)",
        right="constat models --clear 90d",
        kind="text",
    ),
    Entry(
        "C0831",
        "a library that is not installed",
        "Models behind an OpenAI-compatible interface need the library `openai`.",
        wrong="pip install constat",
        right="pip install 'constat[openai]'",
        kind="text",
    ),
    Entry(
        "C0832",
        "a mistake about a model in an `.input`",
        'With `source = "model"` a model is asked about a predicate, with `model = "knowledge"` '
        'or `"heuristic"` where its source failed. `given` names the columns by which it is '
        "asked, `about` says what the relation means. A predicate with a key is asked by its key.",
        wrong='.input industry(source = "model", model = "wisdom")',
        right='.input industry(source = "model", model = "heuristic")',
        kind="text",
    ),
    Entry(
        "C0833",
        "an answer that says nothing usable about a fact",
        "A model was asked about a fact, and what it told does not fit: another type than is "
        "declared, a confidence that is none, two answers, or more than it was asked for. The "
        "fact is unknown.",
        wrong='{"key": 0, "known": true, "rows": [{"i": "retail"}], "confidence": 5}',
        right='{"key": 0, "known": true, "rows": [{"i": "retail"}], "confidence": 0.7}',
        kind="text",
    ),
    Entry(
        "C0834",
        "a prompt that is not kept",
        "Prompts are named by the hash that certificates show, or by its first digits, eight or "
        "more. Only those are kept that this project has asked, and that were not cleared.",
        wrong="constat models --show 66ee",
        right="constat models --show 66eeb5d749e3933f",
        kind="text",
    ),
)

_AT_ONCE: Final = (
    Entry(
        "C0935",
        "a prompt that another program is asking",
        "Two programs of a project asked a model the same at the same time. The second waits for "
        "the reply that the first one pays for, as long as it would wait for the model. None came "
        "in that time, and it was not asked and paid for twice. Ask again later.",
        wrong='constat ask "Is C001 a VIP?" & constat ask "Is C001 a VIP?"   # nobody answers',
        right='constat ask "Is C001 a VIP?"',
        kind="text",
    ),
    Entry(
        "C0936",
        "a program that ended while it waited for a model",
        "A warning: an earlier program had sent the same prompt and was ended before the reply "
        "came, or before it was kept. The provider may charge for it; the books do not have it. "
        "The prompt was sent again. Replies that had come before are kept and were used.",
        wrong="kill -9 PID   # while constat waits for a model",
        right="(Ctrl-C ends a question tidily)",
        kind="text",
    ),
)

ENTRIES: Final = (*_CONFIGURED, *_ASKED, *_AT_ONCE)
