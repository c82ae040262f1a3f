"""A group whose commands are loaded one at a time, when they are used.

In: names with one-line helps, and where their modules are. Out: the command `command` of a module.
Invariant: help and completion of the group load no command, so that they are fast. Example: with
`listed=(("check", "Check rule files."),)` and `modules="constat.cli.rules_"` the command `check` is
found in `constat/cli/rules_check.py`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from constat.cli.helping import PlainGroup

if TYPE_CHECKING:
    from click import Command, Context, HelpFormatter

Listed = tuple[tuple[str, str], ...]
Sections = tuple[tuple[str, tuple[str, ...]], ...]


class LazyGroup(PlainGroup):
    """The group; `modules` is what stands before a command's name in the name of its module.

    The help lists commands by `sections`; those that no section names come under `rest`.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        listed: Listed = (),
        modules: str = "",
        sections: Sections = (),
        rest: str = "Commands",
        **attributes: object,
    ) -> None:
        super().__init__(name, **attributes)  # type: ignore[arg-type]  # click checks them
        self._listed = listed
        self._modules = modules
        self._sections = sections
        self._rest = rest

    def list_commands(self, ctx: Context) -> list[str]:  # noqa: ARG002  click's protocol
        """Name the commands."""
        return [name for name, _ in self._listed]

    def summaries(self) -> Listed:
        """Give names and one-line helps, without loading a command."""
        return self._listed

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:  # noqa: ARG002
        """Load one command."""
        if cmd_name not in dict(self._listed):
            return None
        found: Command = importlib.import_module(self._modules + cmd_name.replace("-", "_")).command
        return found

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without loading them."""
        helps = dict(self._listed)
        grouped = [name for _, names in self._sections for name in names]
        others = tuple(name for name in helps if name not in grouped)
        width = max(map(len, helps))
        for title, names in (*self._sections, (self._rest, others)):
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", helps[name]) for name in names])
