"""Time to detection: every seeded fault as the fuzz subject, until the first finding.

usage: detection.py --build DIR [--seconds S] [--seeds N] [--again N] [--jobs N] [--kernel GLOB] [--out FILE.md]

Each fault is fuzzed by the target of its problem, from the seed corpus, with the seeds 1..N, S seconds at most each. Seconds buy
fewer executions on a busy machine: a fault that no seed found is hunted again, N times at most, each time with another seed and
twice the seconds, and the table says so. Prints a Markdown table. Exit: 0 every fault but those of not_demanded.txt was found with
some seed; 1 one was not; 2 usage; 3 a target could not be run.
"""

import argparse
import fnmatch
import os
import statistics
import sys
from pathlib import Path

import fuzz_runs

TARGETS = ("softmax", "merge", "attention", "backward")
FORMATS = ("f32", "f16", "bf16")
HANG = 70  # the engine's exit codes
DEATHS = {71: "memory", 77: "crash"}


def faults(build, pattern):
    """[(target, kernel, formats)]: each broken kernel with those of FORMATS that it takes."""
    found = []
    for target in TARGETS:
        formats = {}
        for kernel, form, fmt in fuzz_runs.subjects(build, target):
            if form == "broken" and fnmatch.fnmatchcase(kernel, pattern):
                formats.setdefault(kernel, []).append(fmt)
        for kernel, taken in formats.items():
            found.append((target, kernel, tuple(f for f in FORMATS if f in taken)))
    return found


def hunt(build, target, kernel, formats, seed, seconds):
    """(seconds until the finding or None, what, executions), the formats sharing the time one after another."""
    spent, executions = 0, 0
    share = max(1, seconds // len(formats))
    for fmt in formats:
        took, what, ran = hunt_in(build, target, kernel, fmt, seed, share)
        executions += ran
        if took is not None:
            return spent + took, f"{what} ({fmt})", executions
        spent += share
    return None, "", executions


def hunt_again(build, subject, seeds, seconds, again):
    """More hunts of a fault that no seed found, until one finds it."""
    hunts = []
    for number in range(again):
        hunts.append(hunt(build, *subject, seeds + 1 + number, seconds * 2 ** (number + 1)))
        if hunts[-1][0] is not None:
            break
    return hunts


def demanded(subject):
    return subject[1].split(".")[2] not in not_demanded()


def hunt_in(build, target, kernel, fmt, seed, seconds):
    with fuzz_runs.scratch() as folder:
        run = fuzz_runs.FuzzRun(build, target, kernel, fmt, Path(folder) / "run")
        fuzz_runs.write_seeds(build, target, run.corpus)
        code, took = fuzz_runs.timed(lambda: run.fuzz(seconds, seed, "--stop-on-finding"))
        executions = sum(n for (n,) in run.rows("select executions from runs"))
        if code in (0, HANG):  # no seeded fault hangs, a slow case on a busy machine may: it is hunted again
            return None, "", executions
        if code in DEATHS:
            return took, DEATHS[code], executions
        what = [w for (w,) in run.rows("select what from findings")]
        if code != fuzz_runs.EXIT_FINDING or not what:
            raise fuzz_runs.Failed(f"{kernel}: exit {code}: {run.last_words()}")
        return took, what[0], executions


def table(rows, seconds, seeds):
    lines = [f"At most {seconds} s for each of {seeds} seed{'s' if seeds > 1 else ''}; one process per fault, from the seed corpus. "
             "The formats of a kernel share the time, one after another. `runs`: executions until the finding, median. Hunts beyond "
             "these are of faults that no seed found: another seed each, twice the seconds of the one before.", "",
             "| fault | found | seconds (median) | slowest | runs | by |", "|---|---|---|---|---|---|"]
    for (_, kernel, _), hunts in rows:
        times = sorted(t for t, _, _ in hunts if t is not None)
        by = sorted({what for t, what, _ in hunts if t is not None})
        median = f"{statistics.median(times):.2f}" if times else "–"
        slowest = f"{times[-1]:.2f}" if times else "–"
        runs = int(statistics.median(n for _, _, n in hunts))
        lines.append(f"| {kernel} | {len(times)}/{len(hunts)} | {median} | {slowest} | {runs} | {', '.join(by)} |")
    missed = [kernel for (_, kernel, _), hunts in rows if all(t is None for t, _, _ in hunts)]
    lines += ["", f"{len(rows) - len(missed)} of {len(rows)} faults found" +
              (f"; not found: {', '.join(missed)}" if missed else "") + "."]
    wrong = [subject[1] for subject, hunts in rows if all(t is None for t, _, _ in hunts) and demanded(subject)]
    return "\n".join(lines) + "\n", wrong


def not_demanded():
    lines = Path(__file__).with_name("not_demanded.txt").read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def positive(text):
    value = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= value <= 100000:
        raise argparse.ArgumentTypeError(f"{text!r} must be 1..100000")
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="the build folder of preset fuzz")
    parser.add_argument("--seconds", type=positive, default=10)
    parser.add_argument("--seeds", type=positive, default=1)
    parser.add_argument("--again", type=positive, default=2)
    parser.add_argument("--jobs", type=positive, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--kernel", default="*", help="glob of broken kernels")
    parser.add_argument("--out", help="write the table there, too")
    options = parser.parse_args()
    try:
        chosen = faults(options.build, options.kernel)
        if not chosen:
            print(f"detection: --kernel {options.kernel!r} matches no seeded fault", file=sys.stderr)
            return 2
        work = [(subject, seed) for subject in chosen for seed in range(1, options.seeds + 1)]
        hunts = fuzz_runs.in_parallel(
            options.jobs, lambda item: hunt(options.build, *item[0], item[1], options.seconds), work)
        by_fault = [(subject, [h for (s, _), h in zip(work, hunts) if s == subject]) for subject in chosen]
        late = [row for row in by_fault if demanded(row[0]) and all(t is None for t, _, _ in row[1])]
        more = fuzz_runs.in_parallel(
            options.jobs, lambda row: hunt_again(options.build, row[0], options.seeds, options.seconds, options.again), late)
        for (_, hunts), added in zip(late, more):
            hunts.extend(added)
    except fuzz_runs.Failed as error:
        print(f"detection: {error}", file=sys.stderr)
        return 3
    text, missed = table(by_fault, options.seconds, options.seeds)
    print(text, end="")
    if options.out:
        Path(options.out).write_text(text)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
