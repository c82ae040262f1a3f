"""Documents of the tests, and a project over them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STYLES = (
    f'<w:styles xmlns:w="{W}"><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/>'
    "</w:style></w:styles>"
)

Write = Callable[..., Path]


def docx(body: str, styles: str = STYLES) -> bytes:
    """Pack a body of WordprocessingML."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "word/document.xml", f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'
        )
        archive.writestr("word/styles.xml", styles)
    return packed.getvalue()


def pdf(*pages: str) -> bytes:
    """Write a small PDF, a line of text for each line of a page."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    for page in pages:
        lines = page.split("\n")
        shown = "".join(f"({line}) Tj 0 -20 Td " for line in lines)
        stream = f"BT /F1 12 Tf 50 700 Td {shown}ET"
        at = len(objects) + 1
        kids.append(f"{at} 0 R")
        font = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
        parts = f"/Contents {at + 1} 0 R /Resources {font} /MediaBox [0 0 600 800]"
        objects.append(f"<< /Type /Page /Parent 2 0 R {parts} >>")
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(pages)} >>"
    out, places = "%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{one}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n"
    return f"{out}{end}startxref\n{len(out)}\n%%EOF\n".encode("latin-1")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Give what writes a project: its settings, its rules, and its documents by name."""

    def written(rules: str, settings: str = "", **documents: bytes | str) -> Path:
        text = settings or "documents: {papers: papers/}\n"
        (tmp_path / "constat.yaml").write_text(f"project: p\nrules: r.dl\n{text}")
        head = '.pragma "constat" "0.1"\n.include "constat/prelude.dl"\n'
        (tmp_path / "r.dl").write_text(head + rules)
        (tmp_path / "papers").mkdir(exist_ok=True)
        for name, content in documents.items():
            data = content.encode() if isinstance(content, str) else content
            (tmp_path / "papers" / name.replace("_", ".")).write_bytes(data)
        return tmp_path

    return written
