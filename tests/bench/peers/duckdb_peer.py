"""DuckDB with SQL written by hand: `python -m tests.bench.peers.duckdb_peer w1 FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import duckdb

from tests.bench.peers.workloads import WORKLOADS

_PATHS: Final = """
    WITH RECURSIVE path(a, b) AS (
        SELECT a, b FROM edge UNION
        SELECT path.a, edge.b FROM path JOIN edge ON path.b = edge.a
    ) SELECT 'path', count(*) FROM path"""
_SQL: Final = {
    "w1": _PATHS,
    "w2": _PATHS,
    "w2s": _PATHS,
    "w3": """
    WITH RECURSIVE same(a, b) AS (
        SELECT one.c, two.c FROM parent one JOIN parent two USING (p) UNION
        SELECT one.c, two.c FROM same
        JOIN parent one ON one.p = same.a JOIN parent two ON two.p = same.b
    ) SELECT 'same', count(*) FROM same""",
    "w4": """
    WITH RECURSIVE reached(a) AS (
        SELECT a FROM source UNION SELECT edge.b FROM reached JOIN edge USING (a)
    ) SELECT 'reached', count(*) FROM reached""",
    "w5": """
    WITH revenue AS (SELECT c, sum(amt) total FROM orders GROUP BY c),
    big AS (
        SELECT c FROM revenue WHERE total > 200000
        UNION SELECT c FROM customer WHERE tier = 'gold'
    ),
    vip AS (SELECT c FROM big ANTI JOIN blocked USING (c)),
    region AS (SELECT reg, count(DISTINCT c) FROM orders SEMI JOIN vip USING (c) GROUP BY reg)
    SELECT 'is_vip', count(*) FROM vip UNION ALL SELECT * FROM region""",
    "kin": """
    WITH RECURSIVE same(a, b) AS (
        SELECT one.c, two.c FROM parent one JOIN parent two USING (p) UNION
        SELECT one.c, two.c FROM same
        JOIN parent one ON one.p = same.a JOIN parent two ON two.p = same.b
    ) SELECT 'same', count(*) FROM same""",
    "bom": """
    WITH RECURSIVE below(p, s) AS (
        SELECT p, s FROM made UNION
        SELECT below.p, made.s FROM below JOIN made ON below.s = made.p
    ),
    leaf AS (SELECT * FROM part ANTI JOIN made USING (p)),
    total AS (
        SELECT part.p, coalesce(sum(leaf.c), 0) FROM part
        LEFT JOIN below ON below.p = part.p LEFT JOIN leaf ON leaf.p = below.s GROUP BY part.p
    ),
    kinds AS (
        SELECT part.p, count(below.s) FROM part LEFT JOIN below ON below.p = part.p GROUP BY part.p
    )
    SELECT 'below', count(*) FROM below UNION ALL SELECT 'total', count(*) FROM total
    UNION ALL SELECT 'kinds', count(*) FROM kinds""",
    "near": """
    WITH RECURSIVE path(a, b, d) AS (
        SELECT edge.a, edge.b, edge.w FROM start JOIN edge USING (a) UNION
        SELECT path.a, edge.b, path.d + edge.w FROM path JOIN edge ON path.b = edge.a
        WHERE path.d + edge.w <= 60
    ),
    shortest AS (SELECT a, b, min(d) FROM path GROUP BY a, b)
    SELECT 'path', count(*) FROM path UNION ALL SELECT 'shortest', count(*) FROM shortest""",
    "texts": """
    WITH RECURSIVE place AS (SELECT DISTINCT b a, b || v k FROM needs),
    uses AS (SELECT DISTINCT a, b || v k FROM needs),
    reach(a, k) AS (
        SELECT a, k FROM uses UNION
        SELECT uses.a, reach.k FROM reach JOIN place ON place.a = reach.a
        JOIN uses ON uses.k = place.k
    ),
    exposed AS (
        SELECT DISTINCT reach.a FROM reach JOIN place USING (k) JOIN needs
        ON needs.b = reach.a AND needs.a = place.a
    )
    SELECT 'reach', count(*) FROM reach UNION ALL SELECT 'exposed', count(*) FROM exposed""",
}


def main(name: str, folder: Path) -> int:
    """Answer one workload; 3 where plain SQL cannot say it."""
    if name not in _SQL:
        return 3
    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = false")
        for relation in WORKLOADS[name].inputs:
            path = str(folder / f"{relation}.parquet").replace("'", "''")
            connection.execute(f"CREATE TABLE {relation} AS FROM '{path}'")
        for answer, count in connection.execute(_SQL[name]).fetchall():
            sys.stdout.write(f"{answer}\t{count}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
