"""Magics of notebooks: `%load_ext constat`, then `%%rules`, `%prove`, `%query`, `%why_not`.

In: lines and cells as they are typed; nothing in them is replaced by values of the notebook, so a
goal says what stands there. Out: results, which a notebook shows in its own way; a mistake is shown
with its place and an edit, without a traceback. There is one session; `%%rules` and `%project`
begin it anew.
"""

from __future__ import annotations

import shlex
from functools import wraps
from html import escape
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from constat.diagnostics import ConstatError, Diagnostic
from constat.diagnostics.render import render
from constat.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from constat.session import Answers, MissingFacts, Result, WhatIf, WhyNotResult

Found = TypeVar("Found")

_CODE: Final = "C0591"


class Shell(Protocol):
    """What is asked of IPython."""

    user_ns: dict[str, Any]

    def register_magic_function(
        self, func: Callable[..., object], magic_kind: str, magic_name: str | None = None
    ) -> None:
        """Add a magic."""


class NotebookError(ConstatError):
    """A mistake, shown as the command line shows it; every `ConstatError` of a magic is one."""

    def __init__(self, problem: ConstatError, texts: Mapping[str, str]) -> None:
        super().__init__(problem.diagnostics, exit_code=problem.exit_code)
        self._texts = dict(texts)

    def _render_traceback_(self) -> list[str]:
        return render(self.diagnostics, self._texts, colour=False).splitlines()


class Begun:
    """What a session has begun with; `session` answers everything that no magic does."""

    def __init__(self, session: Session, frames: tuple[str, ...] = ()) -> None:
        self.session = session
        self._frames = frames

    def __repr__(self) -> str:
        program = self.session.program.program
        rules = sum(1 for one in program.rules if one.body)
        told = [f"{rules} rule{'s' * (rules != 1)}", f"{len(program.predicates)} predicates"]
        if self._frames:
            told.append(f"frames: {', '.join(self._frames)}")
        warnings = render(self.session.rule_warnings, self.session.texts, colour=False)
        return f"<{', '.join(told)}>\n{warnings}".rstrip()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


class Magics:
    """The magics of one notebook."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._project: str | None = None
        self._session: Session | None = None

    def register(self) -> None:
        """Add all magics to the shell."""
        lines = (self.project, self.prove, self.query, self.why_not, self.missing)
        for line in lines:
            self._shell.register_magic_function(_as_typed(line), "line")
        for cell in (self.rules, self.what_if):
            self._shell.register_magic_function(_as_typed(cell), "cell")

    def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            self._session.close()
        self._session = None

    def project(self, line: str) -> Begun:
        """Use a project: `%project FOLDER`. Rules of `%%rules` join it from now on."""
        folder = line.strip() or "."
        return self._begin(lambda: Session(folder), folder, {})

    def rules(self, line: str, cell: str) -> Begun:
        """Begin with the rules of the cell: `%%rules orders accounts=frame`.

        The line names frames of the notebook, as `relation` or `relation=variable`.
        """
        try:
            frames = self._frames(line)
        except ConstatError as problem:
            raise NotebookError(problem, {}) from None
        return self._begin(
            lambda: Session(self._project, rules=cell or "\n", facts=frames), self._project, frames
        )

    def prove(self, line: str) -> Result:
        """Prove or disprove a goal: `%prove is_big(C1)`."""
        return self._answer(lambda session: session.prove(line))

    def query(self, line: str) -> Answers:
        """Find all answers: `%query spent(?c, ?total), ?total > 100.0`."""
        return self._answer(lambda session: session.query(line))

    def why_not(self, line: str) -> WhyNotResult:
        """Say why a goal does not hold: `%why_not is_big(C2)`."""
        return self._answer(lambda session: session.why_not(line))

    def missing(self, line: str) -> MissingFacts:
        """Find facts that would prove a goal: `%missing is_big(C2)`."""
        return self._answer(lambda session: session.missing_facts(line))

    def what_if(self, line: str, cell: str) -> WhatIf:
        """Answer a goal under suppositions: `%%what_if is_big(C2)`, then a line for each.

        The lines are `add FACT`, `remove FACT` or `set NAME VALUE`.
        """

        def work(session: Session) -> WhatIf:
            supposed: dict[str, list[str]] = {"add": [], "remove": [], "set": []}
            for one in filter(None, map(str.strip, cell.splitlines())):
                word, _, rest = one.partition(" ")
                if word not in supposed or not rest.strip():
                    hint = "begin it with `add`, `remove` or `set`, such as `add is_gold(C1)`"
                    message = f"a supposition cannot be read: {one[:60]!r}"
                    raise ConstatError([Diagnostic(_CODE, message, help=hint)])
                supposed[word].append(rest.strip())
            settings = dict(_setting(one) for one in supposed["set"])
            add, remove = supposed["add"], supposed["remove"]
            return session.what_if(line, add=add, remove=remove, settings=settings)

        return self._answer(work)

    def _frames(self, line: str) -> dict[str, object]:
        frames: dict[str, object] = {}
        for one in shlex.split(line):
            name, _, variable = one.partition("=")
            if (variable or name) not in self._shell.user_ns:
                message = f"the notebook has no variable `{(variable or name)[:60]}`"
                hint = "name a frame, as `orders` or `orders=variable`"
                raise ConstatError([Diagnostic(_CODE, message, help=hint)])
            frames[name] = self._shell.user_ns[variable or name]
        return frames

    def _begin(
        self, make: Callable[[], Session], project: str | None, frames: Mapping[str, object]
    ) -> Begun:
        """Begin with another session; where its rules are wrong the one before stays."""
        session: Session | None = None
        try:
            session = make()
            session.program  # noqa: B018  mistakes are shown at once
        except ConstatError as problem:
            texts = {} if session is None else session.texts
            raise NotebookError(problem, texts) from None
        self.close()
        self._session, self._project = session, project
        return Begun(session, tuple(frames))

    def _answer(self, work: Callable[[Session], Found]) -> Found:
        if self._session is None:
            self._session = Session(self._project)
        try:
            return work(self._session)
        except ConstatError as problem:
            raise NotebookError(problem, self._session.texts) from None


def _as_typed(magic: Callable[..., object]) -> Callable[..., object]:
    """Give a magic whose line IPython hands over as it stands, `{total}` and `$x` included."""

    @wraps(magic)
    def typed(*given: str) -> object:
        return magic(*given)

    vars(typed)["_ipython_magic_no_var_expand"] = True
    return typed


def _setting(text: str) -> tuple[str, str]:
    name, _, value = text.partition(" ")
    return name, value.strip()


def load_ipython_extension(shell: Shell) -> None:
    """Add the magics to a notebook; `%load_ext constat` calls this."""
    Magics(shell).register()
