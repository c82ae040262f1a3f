"""Libraries that only some formats need: named with what to install where they are missing.

In: a package and the extra it comes with.  Out: an error for the user.  Invariant: no format but
the one that was asked for is affected.
"""

from __future__ import annotations

from constat.diagnostics import ConstatError, Diagnostic


def missing_package(package: str, extra: str) -> ConstatError:
    """Return the error that says how to install a package."""
    return ConstatError(
        [
            Diagnostic(
                "C0770",
                f"this format needs the package `{package}`, which is not installed",
                note="`constat export --list` names what each format needs",
                help=f"run `pip install 'constat[{extra}]'`",
            )
        ]
    )
