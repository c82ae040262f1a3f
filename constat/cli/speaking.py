"""The option that says in which locale sentences are told.

In: nothing. Out: the option. Example: `@locale_option` gives a command `--locale de_DE`. It stands
apart from `helping` because the table of locales is not needed to print a help.
"""

from __future__ import annotations

import click

from constat.logic.locales import LOCALES

locale_option = click.option(
    "--locale",
    metavar="LOCALE",
    type=click.Choice([one.name for one in LOCALES]),
    help="How sentences write numbers and days, and in which language: de_DE, en_GB, ...",
)
