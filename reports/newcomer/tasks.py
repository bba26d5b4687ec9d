#!/usr/bin/env python3
"""Ten tasks as a newcomer has them: how long until there is a verdict, how many lines it has, and whether it names the cause.

    tasks.py CLI PLUGIN [--check]    CLI: flashproof-cli, PLUGIN: flashproof-plugin, both built; the Python package as this Python finds it

Prints a table. --check: exit 1 where a verdict has more than 60 lines, is not the right one, or fewer than nine causes are named. Needs
a C compiler (CC, else cc) and NumPy.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MOST_LINES, LEAST_NAMED, MOST_SECONDS = 60, 9, 600
FINE, FINDING = 0, 1
FAILS = " already fails "


def c_kernel(folder, programs, mistake):
    """attention.c with one mistake, compiled as the guide says, and the command that judges it."""
    library = folder / f"{mistake.lower()}.so"
    compiler = os.environ.get("CC", "cc").split()
    subprocess.run([*compiler, "-O2", "-std=c11", "-shared", "-fPIC", f"-D{mistake}", f"-I{ROOT}", HERE / "attention.c", "-o", library, "-lm"], check=True)
    return [programs.plugin, "check", str(library)]


def callable_of(name, problem):
    # NumPy's sums depend on where its arrays lie: no bits are promised.
    return [sys.executable, "-m", "flashproof", f"{HERE / 'kernels.py'}:{name}", "--problem", problem, "--not-deterministic"]


def tasks(folder, programs):
    """(what the newcomer has, command, exit code, words that name the cause)"""
    attention = lambda name: callable_of(name, "attention")  # noqa: E731
    compiled = lambda mistake: c_kernel(folder, programs, mistake)  # noqa: E731
    return [
        ("a right kernel in C, behind the C ABI", compiled("NO_MISTAKE"), FINE, "does what it declares"),
        ("in C, a causal mask aligned top left", compiled("MASK_TOP_LEFT"), FINDING, "the causal mask is aligned top left"),
        ("in C, the last partial tile is dropped", compiled("LAST_TILE_DROPPED"), FINDING, "rounded down to a multiple of 16: the last ones are missing"),
        ("in C, lse to base 2", compiled("LSE_BASE_2"), FINDING, "lse is the logarithm to base 2"),
        ("in Python, a causal mask off by one", attention("mask_off_by_one"), FINDING, "the causal mask ends one key early"),
        ("in Python, kv heads interleaved", attention("heads_interleaved"), FINDING, "query head h reads kv head h mod Hk"),
        ("in Python, P in 16 bits", attention("weights_in_16_bits"), FINDING, "P is rounded to f16"),
        ("in Python, NaN in production", attention("nan_where_nothing_is_seen"), FINDING, "NaN where a number or an infinity is right; only where the row sees no key"),
        ("in Python, parts merged with equal weights", callable_of("merge_by_mean", "merge"), FINDING, "o is the plain average of the states"),
        ("a change that leaves out a rescaling", [programs.cli, "compare", "attention.deferred.hardened", "attention.broken.accumulator_not_rescaled", "--quick"],
         FINE, "worse, most in"),
    ]


def play(what, command, code, words):
    """(what, seconds to the first word of a failure, seconds, lines, whether the verdict is right, whether the cause is named)"""
    start, first, told = time.monotonic(), None, []
    with tempfile.TemporaryFile("w+") as printed:
        done = subprocess.Popen(command, stdout=printed, stderr=subprocess.PIPE, text=True)
        limit = threading.Timer(MOST_SECONDS, done.kill)
        limit.start()
        for line in done.stderr:
            told.append(line)
            if FAILS in line and first is None:
                first = time.monotonic() - start
        done.wait()
        limit.cancel()
        printed.seek(0)
        out = printed.read()
    seconds = time.monotonic() - start
    text = re.sub(r"\s+", " ", out)
    if done.returncode != code:
        print(f"{what}: exit {done.returncode}, not {code}\n{out}{''.join(told)}", file=sys.stderr)
    return what, seconds if first is None else first, seconds, out.count("\n"), done.returncode == code, words in text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cli")
    parser.add_argument("plugin")
    parser.add_argument("--check", action="store_true")
    programs = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        played = [play(*task) for task in tasks(pathlib.Path(folder), programs)]
    print("| task | known after | verdict after | lines | verdict | cause |\n|---|--:|--:|--:|---|---|")
    for what, first, seconds, lines, right, named in played:
        print(f"| {what} | {first:.1f} s | {seconds:.1f} s | {lines} | {'right' if right else 'WRONG'} | {'named' if named else 'not named'} |")
    named = sum(task[5] for task in played)
    print(f"\n{named} of {len(played)} causes named; the longest verdict has {max(task[3] for task in played)} lines.")
    short = all(task[3] <= MOST_LINES for task in played)
    return FINDING if programs.check and not (short and named >= LEAST_NAMED and all(task[4] for task in played)) else FINE


if __name__ == "__main__":
    sys.exit(main())
