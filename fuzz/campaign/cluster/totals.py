"""What an archive holds, in numbers. The only file here that knows its tables (fuzz/archive/archive.h).

A shard's archive may be in use on another node, and SQLite's write-ahead log is for the processes of one machine: opening
it from here could damage it. So it is copied, with its log, and the copy is read; a copy during which a checkpoint ran is
taken again.
"""
import contextlib
import pathlib
import shutil
import sqlite3
import tempfile
import time

TRIES = 5

QUERIES = {
    "elites": "SELECT count(*) FROM elites",
    "findings": "SELECT count(*) FROM findings",
    "hits": "SELECT coalesce(sum(hits), 0) FROM hits",
    "executions": "SELECT coalesce(sum(executions), 0) FROM runs",
    "seconds": "SELECT coalesce(sum(seconds), 0) FROM runs",
    "worst": "SELECT max(ratio) FROM elites",
}


def signature(archive, log):
    facts = archive.stat()
    with contextlib.suppress(FileNotFoundError), open(log, "rb") as file:
        return facts.st_size, facts.st_mtime_ns, file.read(32)  # the log's header: it changes when the log starts anew
    return facts.st_size, facts.st_mtime_ns, b""


def snapshot(archive, folder):
    """A consistent copy in the folder."""
    log = archive.with_name(archive.name + "-wal")
    copy = folder / "archive.sqlite"
    for _ in range(TRIES):
        before = signature(archive, log)
        shutil.copyfile(archive, copy)
        try:
            shutil.copyfile(log, folder / "archive.sqlite-wal")
        except FileNotFoundError:
            (folder / "archive.sqlite-wal").unlink(missing_ok=True)
        if signature(archive, log) == before:
            break
        time.sleep(0.2)
    return copy


def read(archive):
    """{name of QUERIES: number}; None if there is no archive; a string that says why it cannot be read."""
    archive = pathlib.Path(archive)
    if not archive.is_file():
        return None
    try:
        with tempfile.TemporaryDirectory() as folder, \
                contextlib.closing(sqlite3.connect(snapshot(archive, pathlib.Path(folder)))) as connection:
            return {name: connection.execute(query).fetchone()[0] for name, query in QUERIES.items()}
    except (sqlite3.Error, OSError) as error:
        return f"{archive}: {error}"


def sentence(totals):
    worst = "nothing measured" if totals["worst"] is None else f"worst err/bound {totals['worst']:.3f}"
    return (f"{totals['elites']} elites, {totals['findings']} findings ({totals['hits']} hits), "
            f"{totals['executions']} executions in {totals['seconds']:.0f} s, {worst}")
