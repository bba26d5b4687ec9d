"""The rows of an archive as Python sees them, and their union: written apart from the merge that it is compared with."""
import contextlib
import sqlite3

SUBJECT = "target || '/' || kernel || '/' || format || '/' || executor || '/' || math || '/' || "
FINDING = SUBJECT + "what || '/' || shape_class || '/' || term"
QUERIES = {
    "elites": f"SELECT {SUBJECT} shape_class || '/' || term, ratio FROM elites",
    "findings": f"SELECT {FINDING}, 1 FROM findings",
    "hits": f"SELECT {FINDING} || '@' || run, hits FROM hits",
    "runs": "SELECT id, executions FROM runs",
}


def rows(archive):
    """{table: {key: number}}; the largest number is what a union keeps."""
    with contextlib.closing(sqlite3.connect(archive)) as connection:
        return {table: dict(connection.execute(query).fetchall()) for table, query in QUERIES.items()}


def union(archives):
    total = {table: {} for table in QUERIES}
    for archive in archives:
        for table, found in archive.items():
            for key, number in found.items():
                total[table][key] = max(total[table].get(key, number), number)
    return total
