"""Runs of fuzz targets, one per process, for the measurements beside this file."""

import concurrent.futures
import os
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

EXIT_FINDING, EXIT_USAGE, EXIT_MACHINE = 1, 2, 3


class Failed(Exception):
    """A target could not be run: one line."""


def target_path(build, target):
    path = Path(build) / "fuzz" / "targets" / f"fuzz_{target}"
    if not path.is_file():
        raise Failed(f"{path}: not there; build preset fuzz")
    return path


def subjects(build, target):
    """[(kernel, form, format)] of the target, in its order."""
    run = subprocess.run([target_path(build, target), "--list"], capture_output=True, text=True)
    if run.returncode != 0:
        raise Failed(f"fuzz_{target} --list: {run.stderr.strip()[:300]}")
    return [tuple(line.split("\t")) for line in run.stdout.splitlines() if not line.startswith("#")]


def write_seeds(build, target, folder):
    """The target's seed corpus (fuzz/corpus/TARGET.txt) as inputs in the folder."""
    lines = Path(__file__).resolve().parent.parent / "corpus" / f"{target}.txt"
    run = subprocess.run([target_path(build, target), "--seeds", lines, folder], capture_output=True, text=True)
    if run.returncode != 0:
        raise Failed(f"fuzz_{target} --seeds: {run.stderr.strip()[:300]}")


class FuzzRun:
    """One subject in a folder of its own: archive, corpus, artifacts."""

    def __init__(self, build, target, kernel, fmt, folder):
        self.target = target
        self.path = target_path(build, target)
        self.folder = Path(folder)
        self.corpus = self.folder / "corpus"
        self.corpus.mkdir(parents=True)
        self.archive = self.folder / "archive.sqlite"
        self.subject = [f"--kernel={kernel}", f"--format={fmt}", f"--archive={self.archive}"]

    def fuzz(self, seconds, seed, *options):
        """The exit code of the process."""
        arguments = [f"-max_total_time={seconds}", f"-seed={seed}", "-timeout=60", "-rss_limit_mb=4096",
                     "-max_len=4096", "-print_final_stats=1", f"-artifact_prefix={self.folder}/", self.corpus]
        return self._call([*options, *arguments], seconds + 120)

    def replay(self, *options):
        """Every input of the corpus once, in the engine."""
        return self._call([*options, "-runs=0", "-timeout=60", "-rss_limit_mb=8192", "-max_len=4096",
                           f"-artifact_prefix={self.folder}/", self.corpus], 600)

    def climb(self, seconds):
        return self._call([f"--climb={seconds}", self.corpus], seconds + 120)

    def _call(self, arguments, limit):
        with open(self.folder / "log.txt", "ab") as log:
            try:
                return subprocess.run([self.path, *self.subject, *arguments], stdout=log, stderr=log,
                                      timeout=limit).returncode
            except subprocess.TimeoutExpired:
                return 70  # as the engine calls a hang

    def rows(self, query):
        """Of the archive; empty without one."""
        if not self.archive.is_file():
            return []
        with sqlite3.connect(f"file:{self.archive}?mode=ro", uri=True) as db:
            return db.execute(query).fetchall()

    def last_words(self):
        text = (self.folder / "log.txt").read_text(errors="replace").strip().splitlines()
        return text[-1][:200] if text else ""


def in_parallel(jobs, work, items):
    """work(item) of each, `jobs` at a time; results in the order of the items."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(work, items))


def scratch():
    """A temporary folder; in memory where that is possible, so that a slow disk measures nothing."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None, prefix="flashproof-")


def timed(call):
    start = time.monotonic()
    result = call()
    return result, time.monotonic() - start
