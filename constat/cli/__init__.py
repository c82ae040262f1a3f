"""The command line: arguments in, text or JSON on stdout and an exit code out.

Results go to stdout, everything else to stderr. A command's module is loaded when the command runs,
so `constat --help` stays fast. Example: `constat prove "is_vip(C001)"` exits with 0 when it is
PROVED.
"""

from constat.cli.entry import main

__all__ = ["main"]
