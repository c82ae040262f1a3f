"""Read `models:`: which language models there are, for which task, at which price.

In: a node of the configuration, the environment. Out: a `ModelsSetting`. Invariants: a key never
stands in the file, only the name of its variable; what is sent goes to an address without a
password in it, and a key goes over plain HTTP to this machine only; a budget in money has prices.
Example: `models: {named: {fast: {provider: anthropic, model: some-model}}}`.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from constat.project.document import Table, Text, printable
from constat.project.models import (
    ANTHROPIC,
    EFFORTS,
    OPENAI,
    PROVIDERS,
    RECORD,
    REPLAY,
    TASKS,
    Budget,
    ModelSetting,
    ModelsSetting,
    Prices,
    TapeSetting,
)
from constat.project.places import inside
from constat.project.suggesting import suggestion
from constat.project.variables import Expanded, expand

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from constat.project.document import Node
    from constat.project.sections import Sections

_CODE: Final = "C0820"
_KEYS: Final = (
    *("named", "tasks", "default", "budget", "currency", "tape", "confidence", "keep", "batch"),
)
_MODEL_KEYS: Final = (
    *("provider", "model", "key", "base_url", "prices", "effort", "answers_as", "seconds"),
)
_PRICE_KEYS: Final = ("read", "written", "cached", "stored")
_BUDGET_KEYS: Final = ("tokens", "money", "seconds")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}\Z")
_DECIMAL: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?\Z", re.ASCII)
_AGE: Final = re.compile(r"([1-9][0-9]{0,4})([smhd])\Z", re.ASCII)
_SECONDS: Final = (("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400))
_CURRENCY: Final = re.compile(r"[A-Z]{3}\Z")
_KEY_VARIABLES: Final = ((ANTHROPIC, "ANTHROPIC_API_KEY"),)
_MOST_BATCH: Final = 200
_CALL_SECONDS: Final = 120.0
# What a provider takes for keeping a prompt and for finding it again, as parts of the full price.
_STORED: Final = Decimal("1.25")
_CACHED: Final = Decimal(1)


def read_models(
    node: Node | None, folder: Path, environment: Mapping[str, str], sections: Sections
) -> ModelsSetting:
    """Read `models:`, a table."""
    if node is None:
        return ModelsSetting()
    return _Reading(folder, environment, sections).models(node)


class _Reading:
    def __init__(self, folder: Path, environment: Mapping[str, str], sections: Sections) -> None:
        self.folder = folder
        self.environment = environment
        self.sections = sections

    def models(self, node: Node) -> ModelsSetting:
        found = self.sections.table(node, "`models`", _KEYS)
        empty = Table((), node.span)
        plain = ModelsSetting()
        named = {
            key.text: self._model(key, value)
            for key, value in self.sections.entries(found.get("named", empty), "`named`")
        }
        tasks = {
            key.text: self._name(value, named, f"task `{printable(key.text)}`")
            for key, value in self.sections.entries(found.get("tasks", empty), "`tasks`")
            if self._is_task(key)
        }
        default = found.get("default")
        first = next(iter(named), "") if len(named) == 1 else ""
        budget = self.sections.table(
            found.get("budget", empty), "`budget`", ("question", "session")
        )
        result = ModelsSetting(
            named=named,
            tasks=tasks,
            default=first if default is None else self._name(default, named, "`default`"),
            question=self._budget(budget.get("question"), "`question`", plain.question),
            session=self._budget(budget.get("session"), "`session`", plain.session),
            currency=self._currency(found.get("currency"), plain.currency),
            tape=self._tape(found.get("tape")),
            confidence=self._confidence(found.get("confidence"), plain.confidence),
            keep=self._keep(found.get("keep")),
            batch=self._batch(found.get("batch"), plain.batch),
        )
        self._check(result, found.get("budget", node))
        return result

    def _model(self, key: Text, node: Node) -> ModelSetting:
        what, named = f"model `{printable(key.text)}`", self.sections
        found = named.table(node, what, _MODEL_KEYS)
        provider = self._choice(found.get("provider"), "`provider`", PROVIDERS, ANTHROPIC)
        if "model" not in found:
            self._complain(f"{what} has no `model`", key, "write `model:` with the provider's name")
        variable = self._variable(found.get("key"), dict(_KEY_VARIABLES).get(provider, ""))
        address = self._address(found.get("base_url"), variable)
        if provider == OPENAI and address is None and "base_url" not in found:
            hint = "write `base_url: http://localhost:11434/v1`"
            self._complain(f"{what} has no `base_url`", key, hint)
        return ModelSetting(
            name=key.text,
            provider=provider,
            model=named.text(found.get("model"), "`model`", key.text),
            key=variable,
            address=address,
            prices=self._prices(found.get("prices")),
            effort=self._choice(found.get("effort"), "`effort`", EFFORTS, ""),
            answers_as=tuple(
                one.text for one in named.texts(found.get("answers_as"), "`answers_as`")
            ),
            seconds=named.seconds(found.get("seconds"), "`seconds`", _CALL_SECONDS),
            span=key.span,
        )

    def _variable(self, node: Node | None, default: str) -> str:
        """The name of a variable. A key that was written into the file is not shown."""
        if node is None:
            return default
        if isinstance(node, Text) and not node.text:
            return ""
        written = self.sections.text(node, "`key`")
        if _VARIABLE.match(written):
            return written
        hint = "name the variable of the environment that holds the key: `key: ANTHROPIC_API_KEY`"
        self._complain("`key` is no name of an environment variable", node, hint)
        return default

    def _address(self, node: Node | None, variable: str) -> Expanded | None:
        if node is None:
            return None
        address = expand(self.sections.text(node, "`base_url`"), self.environment)
        if address.malformed:
            self._complain("a `${` that is not followed by a name and `}`", node, "")
        problem = "" if address.text is None else _unsafe(address.text, keyed=bool(variable))
        if problem:
            hint = "write `base_url: https://...`, or `http://localhost:...` for this machine"
            self._complain(problem, node, hint)
        return address

    def _prices(self, node: Node | None) -> Prices | None:
        if node is None:
            return None
        found = self.sections.table(node, "`prices`", _PRICE_KEYS)
        for name in ("read", "written"):
            if name not in found:
                self._complain(f"`prices` has no `{name}`", node, "write `{read: 3, written: 15}`")
        read = self._decimal(found.get("read"), "`read`") or Decimal(0)
        cached, stored = (self._decimal(found.get(name), name) for name in ("cached", "stored"))
        return Prices(
            read=read,
            written=self._decimal(found.get("written"), "`written`") or Decimal(0),
            # Without a price of its own the dearer one counts: budgets are to hold.
            cached=read * _CACHED if cached is None else cached,
            stored=read * _STORED if stored is None else stored,
        )

    def _budget(self, node: Node | None, what: str, plain: Budget) -> Budget:
        if node is None:
            return plain
        found = self.sections.table(node, what, _BUDGET_KEYS)
        seconds = found.get("seconds")
        tokens = found.get("tokens")
        return Budget(
            self.sections.integer(tokens, "`tokens`", 1) if tokens else plain.tokens,
            self._decimal(found.get("money"), "`money`"),
            self.sections.seconds(seconds, "`seconds`", 1.0) if seconds else plain.seconds,
        )

    def _currency(self, node: Node | None, default: str) -> str:
        written = self.sections.text(node, "`currency`", default)
        if node is not None and not _CURRENCY.match(written):
            self._complain("`currency` is no code of three capital letters", node, "write `EUR`")
            return default
        return written

    def _tape(self, node: Node | None) -> TapeSetting | None:
        if node is None:
            return None
        entries: Mapping[str, Node] = {"file": node}
        if not isinstance(node, Text):
            entries = self.sections.table(node, "`tape`", ("file", "mode"))
        mode = self._choice(entries.get("mode"), "the mode of `tape`", (REPLAY, RECORD), REPLAY)
        written = self.sections.text(entries.get("file"), "the file of `tape`")
        found = inside(written, self.folder) if written else None
        if found is None or found == self.folder:
            place = entries.get("file", node)
            hint = "write `tape: a.jsonl`"
            self._complain("`tape` is not a file inside the project", place, hint)
            return None
        return TapeSetting(found, mode)

    def _confidence(
        self, node: Node | None, plain: tuple[Decimal, Decimal]
    ) -> tuple[Decimal, Decimal]:
        if node is None:
            return plain
        found = self.sections.table(node, "`confidence`", ("default", "most"))
        usual, most = (self._decimal(found.get(name), f"`{name}`") for name in ("default", "most"))
        most = plain[1] if most is None else most
        usual = min(plain[0], most) if usual is None else usual
        if not 0 < usual <= most < 1:
            hint = "write `confidence: {default: 0.6, most: 0.8}`; a model's word is never certain"
            self._complain("`confidence` needs 0 < default <= most < 1", node, hint)
            return plain
        return usual, most

    def _keep(self, node: Node | None) -> int | None:
        written = self.sections.text(node, "`keep`", "forever")
        if written == "forever":
            return None
        if written == "never":
            return 0
        age = _AGE.match(written)
        if age is None and node is not None:
            hint = "write `30d`, `12h`, `forever` or `never`"
            self._complain("`keep` is no duration", node, hint)
        return int(age[1]) * dict(_SECONDS)[age[2]] if age else None

    def _batch(self, node: Node | None, default: int) -> int:
        found = self.sections.integer(node, "`batch`", default)
        if found > _MOST_BATCH and node is not None:
            self._complain(f"`batch` is more than {_MOST_BATCH}", node, f"write `{_MOST_BATCH}`")
            return default
        return found

    def _check(self, models: ModelsSetting, budget: Node) -> None:
        """A bound in money needs prices."""
        if models.question.money is None and models.session.money is None:
            return
        for one in models.named.values():
            if one.prices is None:
                message = f"a budget in money, and model `{printable(one.name)}` has no prices"
                hint = "write `prices: {read: 3, written: 15}`, for a million tokens each"
                self._complain(message, budget, hint)

    def _is_task(self, key: Text) -> bool:
        if key.text in TASKS:
            return True
        message = f"`{printable(key.text)}` is no task of a model"
        hint = suggestion(key.text, TASKS) or f"the tasks are {', '.join(TASKS)}"
        self._complain(message, key, hint)
        return False

    def _name(self, node: Node, named: Mapping[str, ModelSetting], what: str) -> str:
        written = self.sections.text(node, what)
        if written and written not in named:
            hint = suggestion(written, named) or "name one of `named`"
            self._complain(f"{what} names no model of `named`", node, hint)
        return written

    def _choice(self, node: Node | None, what: str, known: tuple[str, ...], default: str) -> str:
        written = self.sections.text(node, what, default)
        if node is not None and written not in known:
            hint = suggestion(written, known) or f"write one of {', '.join(known)}"
            self._complain(f"{what} is none of {', '.join(known)}", node, hint)
            return default
        return written

    def _decimal(self, node: Node | None, what: str) -> Decimal | None:
        if node is None:
            return None
        written = node.text if isinstance(node, Text) else ""
        if _DECIMAL.match(written):
            return Decimal(written)
        self._complain(f"{what} is no decimal number", node, "write it as `0.25`")
        return None

    def _complain(self, message: str, node: Node, hint: str) -> None:
        self.sections.complain(_CODE, message, node, hint=hint)


def _unsafe(address: str, *, keyed: bool) -> str:
    """Tell why nothing may be sent to an address; empty where it may."""
    try:
        parts = urlsplit(address)
        host, secret = parts.hostname or "", parts.username or parts.password
    except ValueError:
        return "`base_url` is no address"
    if parts.scheme not in {"http", "https"} or not host or parts.query or parts.fragment:
        return "`base_url` is no http or https address"
    if secret is not None:
        return "`base_url` has a name or password in it"
    local = host in {"localhost", "::1"} or re.match(r"127(?:\.[0-9]{1,3}){3}\Z", host, re.ASCII)
    if keyed and parts.scheme == "http" and not local:
        return "`base_url` would send the key over a line that anybody can read"
    return ""
