"""Write a certificate as CSV: the step table for auditors.

In: the bytes of a certificate.  Out: text as in RFC 4180, lines ending with CR LF.  Invariant: what
``step_table`` says, and no cell that a spreadsheet would compute.
"""

from __future__ import annotations

import csv
import io

from constat.proof.export.document import Document
from constat.proof.export.step_table import step_table


def to_csv(certificate: bytes) -> str:
    """Return the steps as CSV; ``ValueError`` for what is no certificate."""
    table = step_table(Document(certificate))
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return stream.getvalue()
