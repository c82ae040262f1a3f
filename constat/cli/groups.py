"""Commands whose help is printed as written, and groups that load a command when it is used."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from constat.diagnostics import nearest

if TYPE_CHECKING:
    from click import Command, Context, HelpFormatter

format_option = click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="How to print the result; `constat schema` describes the JSON.",
)


class ProfileFile(click.ParamType[str]):
    """The type of `--profile`: the name of a flame graph, or nothing.

    The word behind it is easily the goal or the program, which must never be written over.
    """

    name = "file"

    def convert(self, value: str, param: click.Parameter | None, ctx: Context | None) -> str:
        """Read a name."""
        if value and not value.lower().endswith((".svg", ".folded")):
            told = f"`{value[:60]}` ends neither in .svg nor in .folded; write --profile last"
            self.fail(told, param, ctx)
        return value


profile_option = click.option(
    "--profile",
    type=ProfileFile(),
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Compute in bulk, and show in place of results what time and rows each rule and step "
    "took; with a FILE.svg or FILE.folded draw a flame graph there as well.",
)


_EVERYWHERE: Final = ("quiet", "verbose", "project")


def _keep_wish(ctx: Context, param: click.Parameter, value: object) -> None:
    if value and param.name is not None:
        ctx.meta[f"constat.{param.name}"] = value


def _with_every(own: list[click.Parameter]) -> list[click.Parameter]:
    """Add those options of every command that are none of its own."""
    taken = {name for one in own for name in one.opts}
    how: Any = {"expose_value": False, "hidden": True, "callback": _keep_wish}
    every = (
        click.Option(["-q", "--quiet"], is_flag=True, **how),
        click.Option(["-v", "--verbose"], is_flag=True, **how),
        click.Option(["--project"], metavar="DIR", **how),
    )
    return [*own, *(one for one in every if taken.isdisjoint(one.opts))]


class PlainCommand(click.Command):
    """A command with plain help, and with the options of which `constat --help` tells."""

    def get_params(self, ctx: Context) -> list[click.Parameter]:
        """Give the options of the command, and of those of every command the others."""
        return _with_every(super().get_params(ctx))

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read the arguments; where a file to write is `-`, what else is told goes to stderr.

        What was said before the command's name holds where the command says nothing else.
        """
        rest = super().parse_args(ctx, args)
        for name in _EVERYWHERE:
            said = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
            if name in ctx.params and f"constat.{name}" in ctx.meta and not said:
                ctx.params[name] = ctx.meta[f"constat.{name}"]
        for one in self.params:
            written = one.name in {"certificate", "output"} and str(one.metavar).startswith("FILE")
            if written and ctx.params.get(str(one.name)) == "-":
                ctx.meta["constat.piped"] = True
        return rest

    def format_help_text(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002
        """Write the help."""
        write_plain(self.help, formatter)

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Say where to read on."""
        super().format_epilog(ctx, formatter)
        topics = "goals | language | functions | nulls | exit-codes | environment | files | json"
        formatter.write(f"\nMore: constat help {topics}\n")


class PlainGroup(click.Group):
    """A group with plain help, whose commands have it too."""

    command_class = PlainCommand

    def get_params(self, ctx: Context) -> list[click.Parameter]:
        """Give the options, and those of every command, which may stand before its name."""
        return _with_every(super().get_params(ctx))

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """Find the command that is named; for one that is not there name the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            near = self._near(ctx, args[0]) if args else ()
            if near:
                written = " or ".join(f"`{ctx.command_path} {one}`" for one in near)
                raise click.UsageError(f"{problem.message} Write {written}.", ctx) from None
            raise

    def _near(self, ctx: Context, name: str) -> tuple[str, ...]:
        """Give the nearest command; where none is near, those that have the name as a part."""
        names = self.list_commands(ctx)
        near = nearest(name, names)
        if near:
            return (near,)
        found = [one for one in names if name in one.split("-")]
        for one in names:
            group = self.get_command(ctx, one)
            if isinstance(group, click.Group) and name in group.list_commands(ctx):
                found.append(f"{one} {name}")
        return tuple(found)

    def format_help_text(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002
        """Write the help."""
        write_plain(self.help, formatter)


def write_plain(text: str | None, formatter: HelpFormatter) -> None:
    """Write lines without wrapping them."""
    formatter.write("\n")
    for line in inspect.cleandoc(text or "").splitlines():
        formatter.write(f"  {line}\n" if line else "\n")


# Help and completion of the group load no command, so that they are fast.

Listed = tuple[tuple[str, str, click.Command | str], ...]
"""Names, one-line helps, and commands, or where in `constat.cli` a command is found."""
Sections = tuple[tuple[str, tuple[str, ...]], ...]


class LazyGroup(PlainGroup):
    """The group; a command that is named by its place loads when it is used.

    The help lists commands by `sections`; those that no section names come under `rest`.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        listed: Listed = (),
        sections: Sections = (),
        rest: str = "Commands",
        **attributes: object,
    ) -> None:
        super().__init__(name, **attributes)  # type: ignore[arg-type]  # click checks them
        self._listed = listed
        self._sections = sections
        self._rest = rest

    def list_commands(self, ctx: Context) -> list[str]:  # noqa: ARG002  click's protocol
        """Name the commands."""
        return [name for name, _, _ in self._listed]

    def summaries(self) -> tuple[tuple[str, str], ...]:
        """Give names and one-line helps, without loading a command."""
        return tuple((name, text) for name, text, _ in self._listed)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:  # noqa: ARG002
        """Load one command."""
        home = {name: home for name, _, home in self._listed}.get(cmd_name)
        if not isinstance(home, str):
            return home
        module, _, symbol = home.partition(".")
        found: Command = getattr(importlib.import_module(f"constat.cli.{module}"), symbol)
        return found

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without loading them."""
        helps = dict(self.summaries())
        grouped = [name for _, names in self._sections for name in names]
        others = tuple(name for name in helps if name not in grouped)
        width = max(map(len, helps))
        for title, names in (*self._sections, (self._rest, others)):
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", helps[name]) for name in names])
