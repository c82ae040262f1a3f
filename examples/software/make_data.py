"""Build the example's data: bills of materials in two formats, advisories, attestations.

In: nothing.  Out: `data/boms/` with a bill for each product, half of them SPDX and half CycloneDX,
and `data/software.sqlite` beside this file, or the path given as the only argument, that
`read_boms.py` reads them into; `--products N` makes more.  Invariant: what is written depends on
the seed and the number alone; the database appears complete or not at all.

    python examples/software/make_data.py
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import runpy
import shutil
import sqlite3
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

SEED: Final = 2847
PRODUCTS: Final = 40
LIBRARIES: Final = 220

SCHEMA: Final = """
CREATE TABLE advisories (id TEXT PRIMARY KEY NOT NULL, severity TEXT);
CREATE TABLE ranges (
    advisory_id TEXT NOT NULL, package TEXT NOT NULL, first TEXT NOT NULL, fixed TEXT NOT NULL
);
CREATE TABLE exploits (advisory_id TEXT NOT NULL, day TEXT NOT NULL);
CREATE TABLE statements (
    product_id TEXT NOT NULL, component_id TEXT NOT NULL, advisory_id TEXT NOT NULL,
    why TEXT NOT NULL
);
CREATE TABLE attestations (
    digest TEXT NOT NULL, builder TEXT NOT NULL, level INTEGER NOT NULL, day TEXT NOT NULL
);
CREATE TABLE reports (product_id TEXT NOT NULL, advisory_id TEXT NOT NULL, day TEXT NOT NULL);
"""

LICENCES: Final = (
    *("MIT", "MIT", "Apache-2.0", "Apache-2.0", "BSD-3-Clause", "ISC", "MPL-2.0"),
    *("MIT OR Apache-2.0", "LGPL-2.1-only", "GPL-3.0-only", "GPL-2.0-only OR MIT"),
    *("MIT AND BSD-3-Clause", "GPL-2.0-only WITH Classpath-exception-2.0", "NOASSERTION"),
)
OUTBOUND: Final = ("Apache-2.0", "LicenseRef-Proprietary", "GPL-3.0-only")

# These components are part of the documentation; what they are is not left to chance.
Part = dict[str, Any]


def part(name: str, version: str, licence: str = "MIT", **more: object) -> Part:
    """Give a component as both formats can tell it."""
    digest = hashlib.sha256(f"{name}@{version}".encode()).hexdigest()
    made = {"name": name, "version": version, "licence": licence, "supplier": "Acme", "needs": []}
    return {**made, "sha256": digest, **more}


TOLD_PARTS: Final = (
    part("web", "2.4.1", needs=["json@1.9.0"]),
    part("json", "1.9.0", needs=["text@0.9.9"]),
    part("text", "0.9.9", "MIT OR GPL-3.0-only"),
    part("draw", "3.0.0", "GPL-3.0-only"),
    part("chart", "1.0.0", needs=["draw@3.0.0"]),
    part("blob", "1.0.0", "NOASSERTION"),
    part("old", "1.0.0", supplier=None),
)
TOLD_PRODUCTS: Final = (
    ("Harbor", "LicenseRef-Proprietary", ["web@2.4.1"]),
    ("Beacon", "LicenseRef-Proprietary", ["text@0.9.9"]),
    ("Canvas", "LicenseRef-Proprietary", ["chart@1.0.0"]),
    ("Canvas Free", "GPL-3.0-only", ["chart@1.0.0"]),
    ("Dory", "Apache-2.0", ["blob@1.0.0"]),
    ("Elder", "Apache-2.0", ["old@1.0.0"]),
    ("Fern", "Apache-2.0", ["web@2.4.1"]),
)
TOLD_ADVISORIES: Final = (
    ("ADV-1", "8.1", "json", "1.0.0", "1.9.1", "2026-09-20"),
    ("ADV-2", "9.8", "text", "0", "0.9.9", None),
)
TOLD_STATEMENTS: Final = (("Fern", "pkg:generic/json@1.9.0", "ADV-1", "the code is not reached"),)


def library(chance: random.Random, number: int, before: list[Part]) -> Part:
    """Give a component that needs some of those before it."""
    name = f"lib{number:04d}"
    version = f"{chance.randrange(5)}.{chance.randrange(12)}.{chance.randrange(20)}"
    if chance.random() < 0.05:
        version += "-rc.1"
    count = min(len(before), chance.choice((0, 0, 1, 2, 3)))
    needs = [
        f"{one['name']}@{one['version']}"
        for one in chance.sample(before[-60:], min(count, len(before[-60:])))
    ]
    supplier = "Acme" if chance.random() < 0.95 else None
    return part(name, version, chance.choice(LICENCES), needs=sorted(needs), supplier=supplier)


def below(first: list[str], parts: dict[str, Part]) -> list[str]:
    """Give what a product holds, at any depth."""
    found, waiting = set(first), list(first)
    while waiting:
        new = set(parts[waiting.pop()]["needs"]) - found
        found |= new
        waiting += new
    return sorted(found)


def spdx(product: str, licence: str, first: list[str], parts: dict[str, Part]) -> dict[str, Any]:
    """Write a bill as SPDX 2.3."""
    names = {one: f"SPDXRef-{number}" for number, one in enumerate(below(first, parts), 1)}
    packages = [
        {
            "SPDXID": "SPDXRef-0",
            "name": product,
            "versionInfo": "1.0.0",
            "supplier": "Organization: We",
            "licenseConcluded": licence,
        }
    ]
    for one, ref in names.items():
        it = parts[one]
        packages.append(
            {
                "SPDXID": ref,
                "name": it["name"],
                "versionInfo": it["version"],
                "supplier": f"Organization: {it['supplier']}" if it["supplier"] else "NOASSERTION",
                "licenseConcluded": "NOASSERTION",
                "licenseDeclared": it["licence"],
                "checksums": [{"algorithm": "SHA256", "checksumValue": it["sha256"]}],
                "externalRefs": [
                    {
                        "referenceCategory": "PACKAGE-MANAGER",
                        "referenceType": "purl",
                        "referenceLocator": f"pkg:generic/{one}",
                    }
                ],
            }
        )
    pairs = [("SPDXRef-0", names[one]) for one in first]
    pairs += [(names[one], names[two]) for one in names for two in parts[one]["needs"]]
    return {
        "spdxVersion": "SPDX-2.3",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": product,
        "packages": packages,
        "relationships": [
            {
                "spdxElementId": "SPDXRef-DOCUMENT",
                "relationshipType": "DESCRIBES",
                "relatedSpdxElement": "SPDXRef-0",
            },
            *(
                {"spdxElementId": one, "relationshipType": "DEPENDS_ON", "relatedSpdxElement": two}
                for one, two in pairs
            ),
        ],
    }


def cyclonedx(
    product: str, licence: str, first: list[str], parts: dict[str, Part]
) -> dict[str, Any]:
    """Write a bill as CycloneDX 1.6."""
    components = []
    held = below(first, parts)
    for one in held:
        it = parts[one]
        entry: dict[str, Any] = {
            "type": "library",
            "bom-ref": one,
            "name": it["name"],
            "version": it["version"],
            "purl": f"pkg:generic/{one}",
            "hashes": [{"alg": "SHA-256", "content": it["sha256"]}],
        }
        if it["supplier"]:
            entry["supplier"] = {"name": it["supplier"]}
        if it["licence"] != "NOASSERTION":
            entry["licenses"] = [{"expression": it["licence"]}]
        components.append(entry)
    root = {
        "type": "application",
        "bom-ref": "root",
        "name": product,
        "version": "1.0.0",
        "licenses": [{"expression": licence}],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "metadata": {"component": root},
        "components": components,
        "dependencies": [
            {"ref": "root", "dependsOn": first},
            *({"ref": one, "dependsOn": parts[one]["needs"]} for one in held),
        ],
    }


def bills(
    chance: random.Random, count: int
) -> tuple[dict[str, Part], list[tuple[str, str, list[str]]]]:
    """Give all components and all products, the told ones first."""
    made: list[Part] = []
    for number in range(1, LIBRARIES + 1):
        made.append(library(chance, number, made))
    parts = {f"{one['name']}@{one['version']}": one for one in (*TOLD_PARTS, *made)}
    names = [f"{one['name']}@{one['version']}" for one in made]
    products = [
        (
            f"Product {number}",
            chance.choice(OUTBOUND),
            sorted(chance.sample(names, chance.randint(1, 5))),
        )
        for number in range(1, count + 1)
    ]
    return parts, [*TOLD_PRODUCTS, *products]


def advisories(chance: random.Random, parts: dict[str, Part], rank: Any) -> dict[str, list[Any]]:  # noqa: ANN401  a function of a script
    """Give the rows of all that is no bill."""
    rows: dict[str, list[Any]] = {
        "advisories": [(one[0], one[1]) for one in TOLD_ADVISORIES],
        "ranges": [
            (one[0], f"generic/{one[2]}", rank(one[3]), rank(one[4])) for one in TOLD_ADVISORIES
        ],
        "exploits": [(one[0], one[5]) for one in TOLD_ADVISORIES if one[5]],
        "statements": list(TOLD_STATEMENTS),
        "attestations": [],
        "reports": [("Fern", "ADV-1", "2026-09-21")],
    }
    for number in range(60):
        name = f"CVE-2026-{number:04d}"
        it = parts[chance.choice(sorted(parts))]
        severity = None if chance.random() < 0.05 else f"{chance.randrange(20, 100) / 10:.1f}"
        rows["advisories"].append((name, severity))
        fixed = (
            "~"
            if chance.random() < 0.3
            else rank(f"{chance.randrange(5)}.{chance.randrange(12)}.0")
        )
        rows["ranges"].append(
            (name, f"generic/{it['name']}", rank(f"{chance.randrange(3)}.0"), fixed)
        )
        if chance.random() < 0.15:
            day = date(2026, 7, 1) + timedelta(days=chance.randrange(110))
            rows["exploits"].append((name, day.isoformat()))
    for it in parts.values():
        if chance.random() < 0.9 or it in TOLD_PARTS:
            level = 3 if it in TOLD_PARTS else chance.choice((1, 2, 3))
            builder = "forge" if it in TOLD_PARTS or chance.random() < 0.9 else "desktop"
            day = date(2026, 1, 1) + timedelta(days=chance.randrange(250))
            rows["attestations"].append((it["sha256"], builder, level, day.isoformat()))
    return rows


def build(path: Path, products: int = PRODUCTS) -> None:
    """Write bills and the database; an older file is replaced in one step."""
    reader = runpy.run_path(str(Path(__file__).resolve().with_name("read_boms.py")))
    chance = random.Random(SEED)
    parts, made = bills(chance, products)
    folder = path.parent / "boms"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, (name, licence, first) in enumerate(made):
        write, ending = ((spdx, "spdx"), (cyclonedx, "cdx"))[number % 2]
        text = json.dumps(write(name, licence, first, parts), indent=1)
        (folder / f"{number:04d}.{ending}.json").write_text(text, encoding="utf-8")
    growing = path.with_name(f"{path.name}.{os.getpid()}.new")
    growing.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(growing)) as connection, connection:
            reader["store"](reader["read_folder"](folder), connection)
            connection.executescript(SCHEMA)
            for name, found in advisories(chance, parts, reader["rank"]).items():
                marks = ", ".join("?" * len(found[0]))
                connection.executemany(f"INSERT INTO {name} VALUES ({marks})", found)
        growing.replace(path)
    finally:
        growing.unlink(missing_ok=True)


def main() -> None:
    """Build where the argument says, or beside this file."""
    beside = Path(__file__).resolve().parent / "data" / "software.sqlite"
    parser = argparse.ArgumentParser(description="Build the example's data.")
    parser.add_argument("path", type=Path, nargs="?", default=beside)
    parser.add_argument("--products", type=int, default=PRODUCTS, help="how many are made up")
    chosen = parser.parse_args()
    build(chosen.path, chosen.products)
    print(f"wrote {chosen.path.name}")


if __name__ == "__main__":
    main()
