"""`constat help [TOPIC]`: what all commands share, and the help of commands by another way."""

from __future__ import annotations

import click

from constat.cli.helping import PlainCommand
from constat.cli.output import write
from constat.cli.topics import TOPICS, topic_text
from constat.diagnostics import ConstatError, Diagnostic, nearest


@click.command(name="help", cls=PlainCommand)
@click.argument("topic", nargs=-1, metavar="[TOPIC | COMMAND]")
@click.pass_context
def command(ctx: click.Context, topic: tuple[str, ...]) -> None:
    """Explain a topic that concerns all commands, or show the help of a command.

    Examples:
      constat help
      constat help exit-codes
      constat help facts add

    Exit codes: 0 shown, 2 there is no such topic or command.
    """
    root = ctx.find_root()
    if not topic:
        write(root.get_help())
        return
    text = topic_text(topic[0]) if len(topic) == 1 else None
    if text is not None:
        write(text.rstrip("\n"))
        return
    found = root
    for word in topic:
        group = found.command
        inner = group.get_command(found, word) if isinstance(group, click.Group) else None
        if inner is None:
            raise ConstatError([_unknown(" ".join(topic), root)])
        found = click.Context(inner, info_name=word, parent=found)
    write(found.get_help())


def _unknown(name: str, root: click.Context) -> Diagnostic:
    group = root.command
    commands = group.list_commands(root) if isinstance(group, click.Group) else []
    names = [*(topic for topic, _ in TOPICS), *commands]
    near = nearest(name, names)
    return Diagnostic(
        "C0436",
        f"there is no topic and no command `{name}`",
        note="the topics are " + ", ".join(topic for topic, _ in TOPICS),
        help=f"write `constat help {near}`" if near else "`constat help` lists the commands",
    )
