"""Zip archives whose bytes depend on nothing but their content.

In: names and contents.  Out: the bytes of an archive.  Invariant: the same content gives the same
bytes, on any day and machine, so an export can be compared and signed.
"""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

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
