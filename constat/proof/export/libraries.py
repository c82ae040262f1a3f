"""Libraries that only some formats need, and zip archives whose bytes depend on content only."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterable

# No format but the one that was asked for is affected.


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


# The same content gives the same bytes, on any day and machine, so an export can be compared and
# signed.

_FIRST_DAY: Final = (1980, 1, 1, 0, 0, 0)
_READABLE: Final = 0o644 << 16
_UNIX: Final = 3


def zipped(parts: Iterable[tuple[str, bytes]]) -> bytes:
    """Return an archive of the parts, in their order."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts:
            info = zipfile.ZipInfo(name, _FIRST_DAY)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = _READABLE
            info.create_system = _UNIX
            archive.writestr(info, content)
    return stream.getvalue()
