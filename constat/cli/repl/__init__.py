"""The REPL: goals, rules, questions and commands typed line by line.

In: lines, from a terminal or a pipe. Out: answers. Invariant: the library that draws on terminals
is loaded when there is a terminal. Example: `constat repl --project examples/vip`.
"""

from __future__ import annotations

from constat.cli.repl.starting import command

__all__ = ["command"]
