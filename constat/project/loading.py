"""Read a project folder's configuration."""

from __future__ import annotations

import os
import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from constat.diagnostics import ConstatError, Diagnostic, Span
from constat.logic import LOCALES, find_locale
from constat.patterns import regex
from constat.project.document import MAX_BYTES, Node, Table, Text, printable, read_document
from constat.project.files import read_files, read_remote
from constat.project.places import (
    CONFIGURATION,
    PACKAGES,
    PACKAGES_LOCK,
    files_at,
    folder_at,
    inside,
)
from constat.project.reading import Expanded, Sections, expand, suggestion
from constat.project.settings import (
    ANTHROPIC,
    APPROVER,
    BUILT_IN_TIERS,
    CHECKS,
    CONFLICTS,
    EFFORTS,
    FOREVER,
    KEPT,
    NO_NAMES_OF_SOURCES,
    OPENAI,
    PROVIDERS,
    READERS,
    RECORD,
    REPLAY,
    ROLES,
    SPELLINGS,
    STRICT,
    TASKS,
    AuthoringSetting,
    Bounds,
    Budget,
    CallerSetting,
    CatalogSetting,
    CustomTier,
    Database,
    KeySetting,
    LoginSetting,
    LogSetting,
    ModelSetting,
    ModelsSetting,
    Prices,
    Project,
    RecordSetting,
    ReviewSetting,
    RightsSetting,
    SightOf,
    SubPlanSetting,
    TapeSetting,
    read_catalog,
    read_closed,
    read_explore,
    read_facts,
    read_memory,
    read_record,
    read_set_by,
    read_spark,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.project.apis import ApiSetting
    from constat.project.documents import DocumentsSetting
    from constat.project.packages import Package

# Bounds have an upper end, whatever is written.

_AUTHORING_KEYS: Final = (
    *("rounds", "lookups", "variables", "context", "queries", "query_rows", "facts"),
)
_SUB_PLAN_KEYS: Final = ("predicates", "depth")
_MOST_ROUNDS: Final = 20
_MOST_LOOKUPS: Final = 200
_MOST_CONTEXT: Final = 20_000
_MOST_DEPTH: Final = 5
_MOST_ROWS: Final = 1_000_000_000


def read_authoring(node: Node | None, sections: Sections) -> AuthoringSetting:
    """Read `authoring:`, a table."""
    plain = AuthoringSetting()
    if node is None:
        return plain
    found = sections.table(node, "`authoring`", _AUTHORING_KEYS)
    return AuthoringSetting(
        rounds=_bounded(found.get("rounds"), "`rounds`", plain.rounds, _MOST_ROUNDS, sections),
        lookups=_bounded(found.get("lookups"), "`lookups`", plain.lookups, _MOST_LOOKUPS, sections),
        variables=_spelling(found.get("variables"), sections),
        context=_context(found.get("context"), sections),
        queries=sections.flag(found["queries"], "`queries`") if "queries" in found else True,
        query_rows=_bounded(
            found.get("query_rows"), "`query_rows`", plain.query_rows, _MOST_ROWS, sections
        ),
        facts=sections.flag(found.get("facts"), "`facts`"),
    )


def read_sub_plans(node: Node | None, sections: Sections) -> SubPlanSetting:
    """Read `sub_plans:`, a table. Whether the predicates exist is known once rules are read."""
    plain = SubPlanSetting()
    if node is None:
        return plain
    found = sections.table(node, "`sub_plans`", _SUB_PLAN_KEYS)
    named = sections.texts(found.get("predicates"), "`predicates`")
    return SubPlanSetting(
        predicates=tuple(dict.fromkeys(one.text for one in named)),
        depth=_bounded(found.get("depth"), "`depth`", plain.depth, _MOST_DEPTH, sections),
    )


def _bounded(node: Node | None, what: str, default: int, most: int, sections: Sections) -> int:
    number = sections.integer(node, what, default)
    if number > most and node is not None:
        hint = f"write a number up to {most}"
        sections.complain("C0860", f"{what} is more than {most:,}", node, hint=hint)
        return default
    return number


def _spelling(node: Node | None, sections: Sections) -> str:
    written = sections.text(node, "`variables`", STRICT)
    if written not in SPELLINGS and node is not None:
        hint = suggestion(written, SPELLINGS) or "write `variables: strict`"
        sections.complain("C0860", "`variables` is neither strict nor bare", node, hint=hint)
        return STRICT
    return written


def _context(node: Node | None, sections: Sections) -> str:
    written = sections.text(node, "`context`")
    if len(written) > _MOST_CONTEXT and node is not None:
        hint = f"keep it below {_MOST_CONTEXT:,} characters"
        sections.complain("C0860", "`context` is too long", node, hint=hint)
        return ""
    return written


_CODE: Final = "C0820"
_KEYS: Final = (
    *("named", "tasks", "default", "budget", "currency", "tape", "confidence", "keep", "batch"),
)
_MODEL_KEYS: Final = (
    *("provider", "model", "key", "base_url", "prices", "effort", "answers_as", "seconds"),
)
_PRICE_KEYS: Final = ("read", "written", "cached", "stored")
_BUDGET_KEYS: Final = ("tokens", "money", "seconds")
_VARIABLE: Final = regex(r"[A-Za-z_][A-Za-z0-9_]{0,199}\Z")
_DECIMAL: Final = regex(r"[0-9]{1,9}(?:\.[0-9]{1,9})?\Z", re.ASCII)
_AGE: Final = regex(r"([1-9][0-9]{0,4})([smhd])\Z", re.ASCII)
_SECONDS: Final = (("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400))
_CURRENCY: Final = regex(r"[A-Z]{3}\Z")
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


# Files and folders lie inside the project after resolving links; dates are real days; a retention
# is a number of days or `forever`.

_KEY_KEYS: Final = ("file", "roles", "expires", "revoked")
_LOG_KEYS: Final = ("on", "folder", "retention", "classes", "readable_by")
_ROLE: Final = regex(r"[a-z][a-z0-9-]{0,39}\Z")
_DAYS: Final = regex(r"([1-9][0-9]{0,5})d\Z", re.ASCII)


def read_keys(node: Node, folder: Path, sections: Sections) -> dict[str, KeySetting]:
    """Read `keys:`, a table of names."""
    return {
        key.text: _key(key, value, folder, sections)
        for key, value in sections.entries(node, "`keys`")
    }


def _key(key: Text, node: Node, folder: Path, sections: Sections) -> KeySetting:
    what = f"key `{printable(key.text)}`"
    found = sections.table(node, what, _KEY_KEYS)
    for name in ("file", "roles"):
        if name not in found:
            hint = "write `file: keys/ada.pub.pem` and `roles: [approver]`"
            sections.complain("C0745", f"{what} has no `{name}`", key, hint=hint)
    file = inside(sections.text(found.get("file"), "`file`", "."), folder)
    if file is None:
        sections.complain("C0745", f"the file of {what} leads out of the project", found["file"])
    roles = sections.texts(found.get("roles"), "`roles`")
    for role in roles:
        if not _ROLE.match(role.text):
            hint = "a role is lower-case letters, digits and `-`, such as `approver`"
            sections.complain("C0745", "this is no name of a role", role, hint=hint)
    return KeySetting(
        name=key.text,
        file=file or folder,
        roles=tuple(role.text for role in roles),
        expires=_day(found.get("expires"), "`expires`", sections),
        revoked=_day(found.get("revoked"), "`revoked`", sections),
        span=key.span,
    )


def _day(node: Node | None, what: str, sections: Sections) -> str | None:
    if node is None:
        return None
    written = sections.text(node, what)
    try:
        return date.fromisoformat(written).isoformat()
    except ValueError:
        sections.complain("C0745", f"{what} is no date", node, hint="write it as `2027-01-31`")
        return None


def read_log(node: Node | None, folder: Path, sections: Sections) -> LogSetting:
    """Read `log:`, which is true, false or a table; a table means true unless it says `on`."""
    if node is None:
        return LogSetting()
    if isinstance(node, Text) and node.text:
        return LogSetting(on=sections.flag(node, "`log`"))
    found = sections.table(node, "`log`", _LOG_KEYS)
    classes = _classes(found.get("classes", Table((), node.span)), sections)
    return LogSetting(
        on=sections.flag(found["on"], "`on`") if "on" in found else True,
        folder=_folder(found.get("folder"), folder, sections),
        retention=_retention(found.get("retention"), classes, sections),
        classes=classes,
        file_mode=_file_mode(found.get("readable_by"), sections),
    )


def _file_mode(node: Node | None, sections: Sections) -> int:
    written = "owner" if node is None else sections.text(node, "`readable_by`", "owner")
    if node is not None and written not in READERS:
        hint = suggestion(written, list(READERS))
        message = "`readable_by` is `owner`, `group` or `everyone`"
        sections.complain("C0505", message, node, hint=hint)
        return READERS["owner"]
    return READERS[written]


def _folder(node: Node | None, folder: Path, sections: Sections) -> Path | None:
    if node is None:
        return None
    found = inside(sections.text(node, "`folder`", "."), folder)
    if found is None or found == folder:
        sections.complain("C0505", "`folder` is not a folder inside the project", node)
        return None
    return found


def _classes(node: Node, sections: Sections) -> dict[str, int | None]:
    classes: dict[str, int | None] = {}
    for key, value in sections.entries(node, "`classes`"):
        written = sections.text(value, "a retention", FOREVER)
        days = _DAYS.match(written)
        if days is None and written != FOREVER:
            hint = "write days such as `3650d`, or `forever`"
            sections.complain("C0757", "this is no retention", value, hint=hint)
        if not _ROLE.match(key.text) or key.text == KEPT:
            hint = (
                f"use lower-case letters, digits and `-`; `{KEPT}` is built in and means for ever"
            )
            sections.complain("C0757", "this is no name for a class", key, hint=hint)
        classes[key.text] = int(days[1]) if days else None
    return classes


def _retention(node: Node | None, classes: Mapping[str, int | None], sections: Sections) -> str:
    if node is None:
        return KEPT
    written = sections.text(node, "`retention`", KEPT)
    if written != KEPT and written not in classes:
        hint = suggestion(written, [*classes, KEPT])
        sections.complain("C0757", "`retention` names no class of `classes`", node, hint=hint)
        return KEPT
    return written


# The number of approvers is one that people can reach.

_REVIEW_KEYS: Final = ("four_eyes", "approvers", "signed", "approved", "owners")
_POLICIES: Final = ("recorded", "required")
_MOST_APPROVERS: Final = 20


def read_review(
    node: Node | None, keys: Mapping[str, KeySetting], sections: Sections
) -> ReviewSetting:
    """Read `review:`."""
    if node is None:
        return ReviewSetting()
    found = sections.table(node, "`review`", _REVIEW_KEYS)
    approvers = sections.integer(found.get("approvers"), "`approvers`", 1)
    if approvers > _MOST_APPROVERS:
        message = f"`approvers` is more than {_MOST_APPROVERS}"
        sections.complain("C0889", message, found["approvers"], hint="write `approvers: 2`")
        approvers = 1
    signed = sections.flag(found["signed"], "`signed`") if "signed" in found else None
    if signed and not any(APPROVER in one.roles for one in keys.values()):
        message = "`signed` wants signatures, and no key is trusted as approver"
        hint = "name one under `keys:` with `roles: [approver]`, or leave `signed` out"
        sections.complain("C0889", message, found["signed"], hint=hint)
    four_eyes = sections.flag(found.get("four_eyes"), "`four_eyes`")
    policy = sections.text(found.get("approved"), "`approved`", _POLICIES[0])
    if policy not in _POLICIES:
        hint = suggestion(policy, _POLICIES) or f"write `approved: {_POLICIES[1]}`"
        message = f"`approved` is {' or '.join(_POLICIES)}"
        sections.complain("C0889", message, found["approved"], hint=hint)
    listed = sections.entries(found["owners"], "`owners`") if "owners" in found else ()
    owners = {
        key.text: tuple(name.text for name in sections.texts(one, f"`{key.text}` of `owners`"))
        for key, one in listed
    }
    return ReviewSetting(four_eyes, approvers, signed, policy, owners)


# What is not named is not seen, so a slip closes more and never less.

_SIGHT_KEYS: Final = ("rows", "columns")
_EVERYTHING: Final = "all"


def read_rights(node: Node | None, sections: Sections) -> RightsSetting:
    """Read `rights:`."""
    if node is None:
        return RightsSetting()
    found = sections.table(node, "`rights`", ROLES)
    if not found:
        message = "`rights` name no role, so that nobody would see anything"
        sections.complain("C0593", message, node, hint="write `admin: all`")
    return RightsSetting({role: _relations(one, sections) for role, one in found.items()})


def _relations(node: Node, sections: Sections) -> Mapping[str, SightOf] | None:
    if isinstance(node, Text) and node.text == _EVERYTHING:
        return None
    return {
        key.text: _sight_of(key.text, one, sections)
        for key, one in sections.entries(node, "the rights of a role")
    }


def _sight_of(name: str, node: Node, sections: Sections) -> SightOf:
    if isinstance(node, Text) and node.text == _EVERYTHING:
        return SightOf()
    found = sections.table(node, f"the rights on `{name}`", _SIGHT_KEYS)
    if not found:
        message = f"the rights on `{name}` say neither `rows` nor `columns`"
        sections.complain("C0593", message, node, hint=f"write `{name}: all`")
    rows = sections.entries(found["rows"], "`rows`") if "rows" in found else ()
    columns = sections.texts(found["columns"], "`columns`") if "columns" in found else None
    return SightOf(
        {
            key.text: tuple(one.text for one in sections.texts(value, "`rows`"))
            for key, value in rows
        },
        None if columns is None else tuple(one.text for one in columns),
    )


_CALLER_KEYS: Final = ("setting", "role", "account")
# With a dot it is a setting of somebody's own: none of the server's can be turned by it.
_OWN_SETTING: Final = regex(r"[A-Za-z_][A-Za-z0-9_$]*(?:\.[A-Za-z_][A-Za-z0-9_$]*)+")
_LONGEST_ROLE: Final = 63
_NO_ROLE: Final = ("none", "default")


def read_caller(node: Node | None, what: str, sections: Sections) -> CallerSetting | None:
    """Read how a database is told who asks."""
    if node is None:
        return None
    found = sections.table(node, f"`caller` of {what}", _CALLER_KEYS)
    setting = sections.text(found.get("setting"), "`setting`")
    if setting and _OWN_SETTING.fullmatch(setting) is None:
        hint = "write a setting of your own, with a dot: `app.caller`"
        sections.complain("C0593", "`setting` is no setting of one's own", node, hint=hint)
    roles = {}
    for key, value in (
        sections.table(found["role"], "`role`", ROLES).items() if "role" in found else ()
    ):
        role = roles[key] = sections.text(value, f"the role of `{key}`")
        if not 0 < len(role.encode()) <= _LONGEST_ROLE or role.lower() in _NO_ROLE:
            sections.complain("C0593", "this is no role of a database", value)
    listed = sections.texts(found["account"], "`account`") if "account" in found else ()
    account = tuple(one.text for one in listed)
    for one in listed:
        if one.text not in ROLES:
            hint = f"write {', '.join(ROLES[:-1])} or {ROLES[-1]}"
            sections.complain("C0593", "`account` names no role of callers", one, hint=hint)
    left = [one for one in ROLES if one not in {*roles, *account}]
    if not (setting or roles):
        hint = "write `caller: {setting: app.caller}`, or `role:` with a role for each"
        sections.complain("C0593", f"`caller` of {what} tells nobody", node, hint=hint)
    elif roles and left:
        message = f"`caller` of {what} has no role for {', '.join(left)}"
        hint = f"add `{left[0]}:` below `role:`, or to `account`, which reads as the account does"
        sections.complain("C0593", message, node, hint=hint)
    return CallerSetting(setting, roles, account)


_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_LOGIN_KEYS: Final = ("issuer", "audience", "people", "name", "claim", "roles")


def read_login(node: Node | None, sections: Sections) -> LoginSetting | None:
    """Read `login:`."""
    if node is None:
        return None
    found = sections.table(node, "`login`", _LOGIN_KEYS)
    for needed in ("issuer", "audience", "roles"):
        if needed not in found:
            hint = f"add `{needed}:` below `login:`"
            sections.complain("C0596", f"`login` has no `{needed}`", node, hint=hint)
    roles = {}
    for key, value in sections.entries(found["roles"], "`roles`") if "roles" in found else ():
        role = sections.text(value, f"the role of `{printable(key.text)}`")
        if role not in ROLES:
            hint = f"write {', '.join(ROLES[:-1])} or {ROLES[-1]}"
            sections.complain("C0596", "a group has no role of ours", value, hint=hint)
        roles[key.text] = role
    issuer = sections.text(found.get("issuer"), "`issuer`")
    if issuer and not is_private_line(issuer):
        hint = "write its address as it stands in its tokens, with https"
        sections.complain("C0596", "`issuer` is no https address", found["issuer"], hint=hint)
    return LoginSetting(
        issuer,
        sections.text(found.get("audience"), "`audience`"),
        roles,
        tuple(one.text for one in sections.texts(found.get("people"), "`people`")),
        sections.text(found.get("name"), "`name`", "sub"),
        sections.text(found.get("claim"), "`claim`", "roles"),
    )


def is_private_line(address: str) -> bool:
    """Tell whether nobody on the way can change what comes from there."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)


# Rule files and the state folder are resolved through links and lie where the project allows.

SCHEMA: Final = Path(__file__).with_name("constat.schema.json")
"""The JSON Schema of a configuration, for editors; written from the readers below."""
TOP_LEVEL: Final = MappingProxyType(
    {
        "project": "the name of the project",
        "rules": "rule files, and folders of them",
        "libraries": "folders of rules outside the project",
        "packages": "libraries that others publish, copied and locked by `constat rules add`",
        "databases": "what rules call a source: an address, or a folder of files",
        "apis": "servers whose operations are predicates, described by OpenAPI or GraphQL",
        "documents": "files that people read: texts, pages, letters; rules ask what they say",
        "facts": "values: a scalar closes its predicate, a list of rows does not",
        "closed": "who declares that no fact of a predicate is missing",
        "set_by": "who set the values of a key of `facts`, when and by what: pages say it",
        "conflicts": "which of different values for one key counts: `source`, `user` or"
        " `unresolved` (semantics, 40)",
        "check": "when answers in bulk are counted again: `background` (rows wait two seconds for"
        " it), `always` or `off` (semantics, 38)",
        "tiers": "further tiers, written in Python",
        "limits": "bounds of an evaluation and of a query",
        "state": "the folder that Constat writes to, `.constat`",
        "keys": "public keys, and the roles that they are trusted for",
        "log": "whether and for how long decisions are written down",
        "record": "whose answers are recorded, for `--as-of`",
        "locale": "how sentences write numbers and days",
        "models": "language models, their tasks, prices and budgets",
        "authoring": "how drafts are made, and what models may see",
        "sub_plans": "predicates that a model may plan",
        "review": "what an approval needs",
        "rights": "what each role sees over HTTP: rows and columns of relations",
        "login": "the issuer of OpenID Connect whose tokens let somebody into a server",
        "catalog": "which values of sources may be shown",
        "explore": "bounds of the steps of an exploration, and the sandbox",
        "memory": "how much of a conversation a model is told",
        "engines": "where else whole relations are computed, for `--engine spark`",
    }
)
"""The keys of the first level, and what each says."""
_DATABASE_OPTIONS: Final = ("database", "region", "sample")
_DATABASE_KEYS: Final = (
    *("uri", "type", "files", "seconds", "rows", "immutable", "description"),
    *("manifest", "caller", "tables"),
    *("private", "bytes", "auth"),
    *_DATABASE_OPTIONS,
)
_TIER_KEYS: Final = ("factory", "after", "cost", "predicates", "options")
_BOUNDS: Final = Bounds()
_RULE_SUFFIX: Final = ".dl"
ENVIRONMENT: Final = ".env"
_SETTING: Final = regex(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)\Z")


def load_project(
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    libraries: Sequence[Path] = (),
    packages: bool = True,
) -> Project:
    """Read `constat.yaml` of the folder. `libraries` are further folders rules may lie in.

    Without `packages` only the project's own rules are read, whatever is locked.

    Raises `ConstatError` with all mistakes of the file, each with its place.
    """
    diagnostics: list[Diagnostic] = []
    document = read_document(_content(Path(folder)), CONFIGURATION, diagnostics)
    if document is None:
        raise ConstatError(diagnostics)
    variables = environment_of(folder) if environment is None else environment
    project = _Loading(Path(folder).resolve(), Sections(diagnostics), variables).project(
        document, tuple(libraries), packages=packages
    )
    if diagnostics:
        raise ConstatError(diagnostics)
    return project


def environment_of(folder: Path) -> Mapping[str, str]:
    """Give the environment, and below it the variables of the project's `.env`, if there is one.

    Lines are `NAME=value`; quotes around a value and `export` before a name are taken away. The
    file is only ever read, and what the environment says itself counts first.
    """
    try:
        with (Path(folder) / ENVIRONMENT).open("rb") as file:
            text = file.read(MAX_BYTES).decode("utf-8")
    except (OSError, ValueError):
        # Without the file, or without the right to read it, a variable that is needed is missing.
        return os.environ
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _SETTING.match(line.strip())
        if match:
            value = match[2].strip()
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
            found[match[1]] = value[1:-1] if quoted else value
    return {**found, **os.environ}


def _content(folder: Path) -> bytes:
    try:
        with (folder / CONFIGURATION).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as problem:
        message = f"{CONFIGURATION} cannot be read ({type(problem).__name__})"
        raise ConstatError([Diagnostic("C0500", message)]) from None


class _Loading:
    """One reading of one file."""

    def __init__(self, folder: Path, sections: Sections, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.sections = sections
        self.environment = environment
        self.rule_folders: dict[Path, None] = {}

    def project(self, document: Node, given: tuple[Path, ...], *, packages: bool) -> Project:
        top = self.sections.table(document, CONFIGURATION, tuple(TOP_LEVEL))
        keys = read_keys(top.get("keys", Table((), document.span)), self.folder, self.sections)
        empty = Table((), document.span)
        roots = (self.folder, *given, *self._libraries(top.get("libraries")))
        locked = self._packages(top) if packages else ()
        places = (self.folder / PACKAGES / one.name for one in locked)
        packed = [file for one in places for file in files_at(one, _RULE_SUFFIX) or ()]
        facts = read_facts(top.get("facts", empty), self.environment, self.sections)
        return Project(
            folder=self.folder,
            name=self.sections.text(top.get("project"), "`project`", self.folder.name),
            databases={
                key.text: self._database(key, value)
                for key, value in self.sections.entries(top.get("databases", empty), "`databases`")
            },
            apis=self._apis(top),
            documents=self._documents(top),
            rules=tuple(dict.fromkeys((*packed, *self._rules(top.get("rules"), roots)))),
            rule_roots=roots,
            packages=locked,
            facts=facts,
            set_by=read_set_by(top.get("set_by", empty), facts, self.sections),
            closed=read_closed(top.get("closed", empty), self.sections, CONFIGURATION),
            conflicts=self._word(top.get("conflicts"), "conflicts", CONFLICTS),
            check=self._word(top.get("check"), "check", CHECKS),
            tiers=self._tiers(top.get("tiers", empty)),
            limits=self._limits(top.get("limits", empty)),
            state=self._state(top.get("state")),
            keys=keys,
            review=read_review(top.get("review"), keys, self.sections),
            rights=read_rights(top.get("rights"), self.sections),
            login=read_login(top.get("login"), self.sections),
            log=read_log(top.get("log"), self.folder, self.sections),
            record=self._record(top),
            locale=self._locale(top.get("locale")),
            models=read_models(top.get("models"), self.folder, self.environment, self.sections),
            authoring=read_authoring(top.get("authoring"), self.sections),
            catalog=self._catalog(top),
            sub_plans=read_sub_plans(top.get("sub_plans"), self.sections),
            explore=read_explore(top.get("explore"), self.environment, self.sections),
            memory=read_memory(top.get("memory"), self.folder, self.sections),
            spark=read_spark(top.get("engines"), self.environment, self.sections),
            rule_folders=tuple(self.rule_folders),
            config_name=CONFIGURATION,
        )

    def _apis(self, top: Mapping[str, Node]) -> Mapping[str, ApiSetting]:
        if "apis" not in top:
            return {}
        from constat.project.apis import read_apis  # noqa: PLC0415  loaded when it is used

        return read_apis(
            top["apis"], self.environment, self._taken(top, "tiers", "databases"), self.sections
        )

    def _documents(self, top: Mapping[str, Node]) -> Mapping[str, DocumentsSetting]:
        if "documents" not in top:
            return {}
        from constat.project.documents import read_documents  # noqa: PLC0415  loaded when it is used

        taken = self._taken(top, "tiers", "databases", "apis")
        return read_documents(top["documents"], taken, self.sections)

    def _taken(self, top: Mapping[str, Node], *kinds: str) -> Mapping[str, str]:
        """Give the names of sources of these kinds, and what each is."""
        taken = dict.fromkeys(NO_NAMES_OF_SOURCES, "tier of Constat")
        for kind in kinds:
            what = "API" if kind == "apis" else kind.removesuffix("s")
            named = self.sections.entries(top[kind], f"`{kind}`") if kind in top else ()
            taken |= {key.text: what for key, _ in named}
        return taken

    def _word(self, node: Node | None, key: str, words: Sequence[str]) -> str:
        """Read one of some words, of which the first counts where there is none."""
        name = self.sections.text(node, f"`{key}`", words[0])
        if name not in words and node is not None:
            hint = suggestion(name, words) or f"write `{key}: {words[0]}`"
            message = f"`{key}` is {', '.join(words[:-1])} or {words[-1]}"
            self.sections.complain("C0504", message, node, hint=hint)
        return name

    def _locale(self, node: Node | None) -> str:
        """The locale of sentences, in its own spelling; empty where none is named."""
        name = self.sections.text(node, "`locale`")
        if not name or node is None:
            return ""
        found = find_locale(name)
        if found is None:
            hint = suggestion(name, [one.name for one in LOCALES]) or "write `locale: de_DE`"
            self.sections.complain("C0790", "this locale is not known", node, hint=hint)
        return found.name if found is not None else ""

    def _record(self, top: Mapping[str, Node]) -> RecordSetting:
        empty: tuple[tuple[Text, Node], ...] = ()
        named = [
            key.text
            for name in ("databases", "tiers")
            for key, _ in (self.sections.entries(top[name], f"`{name}`") if name in top else empty)
        ]
        return read_record(top.get("record"), named, self.sections)

    def _catalog(self, top: Mapping[str, Node]) -> CatalogSetting:
        if "catalog" not in top:
            return CatalogSetting()
        empty = Table((), top["catalog"].span)
        names = [
            key.text
            for name in ("databases", "documents")
            for key, _ in self.sections.entries(top.get(name, empty), f"`{name}`")
        ]
        return read_catalog(top["catalog"], names, self.sections)

    def _libraries(self, node: Node | None) -> tuple[Path, ...]:
        """Libraries are the one kind of folder that may lie outside: they are named for that."""
        folders = []
        for named in self.sections.texts(node, "`libraries`"):
            folder = folder_at(self.folder, named.text)
            if folder is None:
                self.sections.complain("C0505", "there is no such library folder", named)
            else:
                folders.append(folder)
        return tuple(folders)

    def _packages(self, top: Mapping[str, Node]) -> tuple[Package, ...]:
        if "packages" not in top and not (self.folder / PACKAGES_LOCK).exists():
            return ()
        from constat.project.packages import locked_packages, read_wanted  # noqa: PLC0415  loaded when it is used

        wanted = read_wanted(
            top.get("packages", Table((), Span(CONFIGURATION, 1, 1, 1, 1))), self.sections
        )
        return locked_packages(self.folder, wanted, self.sections)

    def _rules(self, node: Node | None, roots: tuple[Path, ...]) -> tuple[Path, ...]:
        files: dict[Path, None] = {}
        for named in self.sections.texts(node, "`rules`"):
            found = inside(named.text, self.folder, roots)
            if found is None:
                self.sections.complain(
                    "C0505",
                    "this path leads out of the project",
                    named,
                    note="rules lie in the project's folder or in one of `libraries`",
                )
                continue
            listed = files_at(found, _RULE_SUFFIX)
            if listed is None:
                self._missing_rules(named, found)
            else:
                files.update(dict.fromkeys(listed))
                if found.is_dir():
                    self.rule_folders[found] = None
        return tuple(files)

    def _missing_rules(self, named: Text, found: Path) -> None:
        siblings = [one.name for one in files_at(found.parent, _RULE_SUFFIX) or ()]
        hint = suggestion(found.name, siblings)
        self.sections.complain("C0505", "there is no such rule file", named, hint=hint)

    def _database(self, key: Text, node: Node) -> Database:
        what = f"database `{printable(key.text)}`"
        named = self.sections
        if isinstance(node, Text):
            entries: Mapping[str, Node] = {"uri": node}
        else:
            entries = named.table(node, what, _DATABASE_KEYS)
        address = expand(named.text(entries.get("uri"), f"the uri of {what}"), self.environment)
        if address.malformed:
            named.complain("C0504", "a `${` that is not followed by a name and `}`", node)
        self._check_whole(entries, what, node)
        seconds, rows = entries.get("seconds"), entries.get("rows")
        files = read_files(entries.get("files"), what, named)
        named.integer(entries.get("sample"), "`sample`", 1)
        return Database(
            name=key.text,
            kind=named.text(
                entries.get("type"), f"the type of {what}", "files" if "files" in entries else "sql"
            ),
            address=address,
            files=files,
            remote=read_remote(key, entries, files, self.environment, named),
            seconds=named.seconds(seconds, "`seconds`", 1.0) if seconds else None,
            rows=named.integer(rows, "`rows`", 1) if rows else None,
            immutable=named.flag(entries.get("immutable"), "`immutable`"),
            options={
                option: named.text(entries[option], f"`{option}`")
                for option in _DATABASE_OPTIONS
                if option in entries
            },
            manifest=named.text(entries.get("manifest"), f"the manifest of {what}"),
            description=named.text(entries.get("description"), f"the description of {what}"),
            caller=read_caller(entries.get("caller"), what, named),
            span=key.span,
            tables={
                name.text: named.text(pattern, f"the pattern of `{printable(name.text)}`")
                for name, pattern in named.entries(
                    entries.get("tables", Table((), key.span)), "`tables`"
                )
            },
        )

    def _check_whole(self, entries: Mapping[str, Node], what: str, node: Node) -> None:
        """A database is either an address or a folder's files."""
        kind = entries.get("type")
        files = isinstance(kind, Text) and kind.text == "files"
        if files and "files" not in entries:
            hint = "write `files: {orders: data/orders.csv}`"
            self.sections.complain("C0504", f"{what} names no `files`", node, hint=hint)
        elif not {"uri", "type", "files"} & entries.keys():
            self.sections.complain("C0504", f"{what} has no `uri`", node)
        elif "files" in entries and ("uri" in entries or (kind is not None and not files)):
            self.sections.complain("C0504", f"{what} has `files` beside `uri` or a `type`", node)

    def _tiers(self, node: Node) -> dict[str, CustomTier]:
        entries = self.sections.entries(node, "`tiers`")
        names = [key.text for key, _ in entries]
        return {key.text: self._tier(key, value, names) for key, value in entries}

    def _tier(self, key: Text, node: Node, names: list[str]) -> CustomTier:
        what, named = f"tier `{printable(key.text)}`", self.sections
        if key.text in {*BUILT_IN_TIERS, "api", "user"}:
            named.complain("C0504", f"{what} is built in and takes no settings here", key)
        entries = named.table(node, what, _TIER_KEYS)
        after = named.text(entries.get("after"), "`after`", "database")
        known = [*BUILT_IN_TIERS, *(name for name in names if name != key.text)]
        if after not in known:
            hint = suggestion(after, known)
            named.complain("C0504", "`after` names no tier", entries["after"], hint=hint)
        listed = entries.get("predicates")
        predicates = tuple(one.text for one in named.texts(listed, "`predicates`"))
        options = named.entries(entries.get("options", Table((), key.span)), "`options`")
        return CustomTier(
            name=key.text,
            factory=named.text(entries.get("factory"), "`factory`"),
            after=after,
            cost=named.integer(entries.get("cost"), "`cost`", 100),
            predicates=None if listed is None else predicates,
            options={option.text: named.text(value, "an option") for option, value in options},
            span=key.span,
        )

    def _limits(self, node: Node) -> Bounds:
        named = self.sections
        keys = ("seconds", "rows", "calls", "query_seconds", "query_rows")
        found = named.table(node, "`limits`", keys)
        return Bounds(
            named.seconds(found.get("seconds"), "`seconds`", _BOUNDS.seconds),
            named.integer(found.get("rows"), "`rows`", _BOUNDS.rows),
            named.integer(found.get("calls"), "`calls`", _BOUNDS.calls),
            named.seconds(found.get("query_seconds"), "`query_seconds`", _BOUNDS.query_seconds),
            named.integer(found.get("query_rows"), "`query_rows`", _BOUNDS.query_rows),
        )

    def _state(self, node: Node | None) -> Path:
        written = self.sections.text(node, "`state`", ".constat")
        found = inside(written, self.folder)
        if found is None or found == self.folder:
            if node is not None:
                self.sections.complain("C0505", "`state` is not a folder inside the project", node)
            return self.folder / ".constat"
        return found
