"""Does the error as feedback help? The same target, kernel and time with and without it.

usage: guidance.py --build DIR [--subject TARGET:GLOB:FORMAT]... [--seconds S] [--seeds N] [--jobs N] [--variant NAME]... [--empty] [--out FILE.md]

Variants: coverage alone; the error by extra counters; by edges; counters with local search (a quarter of the time); and
the last in a quarter of the time of the others. Every run has an archive of its own. Of each run the worst err/bound is
taken, over the terms and per term; the table shows the median over the seeds, its factor over coverage, and, last, the geometric
mean over the terms of theirs. Where a run fails, which is told, its seed is left out for all variants of that kernel. Exit: 0; 2 usage; 3 a target could not be run.
"""

import argparse
import fnmatch
import os
import sqlite3
import statistics
import sys
from pathlib import Path

import fuzz_runs
from detection import positive

SUBJECTS = ("softmax:softmax.online_block.hardened:f32", "merge:merge.pairwise_tree.hardened:f32", "attention:attention.deferred.hardened:f32")
# Name, --guide, local search, divisor of the time.
VARIANTS = (("coverage", "none", False, 1), ("counters", "counters", False, 1), ("edges", "edges", False, 1),
            ("counters + climb", "counters", True, 1), ("counters + climb, 1/4 of the time", "counters", True, 4))
ROUNDS = 4  # of fuzzing and local search in turn


def chosen(build, words):
    """[(target, kernel, format)] of all TARGET:GLOB:FORMAT; glob and format match hardened kernels alone."""
    found = []
    for word in words:
        target, glob, fmt = word.split(":")
        some = [(target, kernel, f) for kernel, form, f in fuzz_runs.subjects(build, target)
                if form == "hardened" and fnmatch.fnmatchcase(kernel, glob) and fnmatch.fnmatchcase(f, fmt)]
        if not some:
            raise argparse.ArgumentTypeError(f"{word!r}: no hardened kernel of fuzz_{target} --list")
        found += [s for s in some if s not in found]
    return found


def subject_word(text):
    if text.count(":") != 2:
        raise argparse.ArgumentTypeError(f"{text!r}: TARGET:GLOB:FORMAT")
    return text


def measure(build, subject, variant, seed, seconds, seeded):
    """({term: worst ratio}, executions)."""
    target, kernel, fmt = subject
    with fuzz_runs.scratch() as folder:
        run = fuzz_runs.FuzzRun(build, target, kernel, fmt, Path(folder) / "run")
        if seeded:
            fuzz_runs.write_seeds(build, target, run.corpus)
        name, guide, local, divisor = variant
        seconds = seconds // divisor
        how = (f"--guide={guide}",)
        codes = []
        if local:
            climb = seconds // (4 * ROUNDS)
            for turn in range(ROUNDS):
                codes.append(run.fuzz(seconds // ROUNDS - climb, seed + 1000 * turn, *how))
                codes.append(run.climb(climb))
        else:
            codes.append(run.fuzz(seconds, seed, *how))
        if not set(codes) <= {0, fuzz_runs.EXIT_FINDING}:
            raise fuzz_runs.Failed(f"{kernel}, {name}: exit {codes}: {run.last_words()}")
        worst = dict(run.rows("select term, max(ratio) from elites group by term"))
        return worst, sum(n for (n,) in run.rows("select executions from runs"))


def factor(results, subject, variant, terms):
    """Geometric mean over the terms that coverage met, of the medians; – where one of them was not met."""
    def medians(v):
        return {t: statistics.median(worst.get(t, 0) for worst, _ in results[subject, v]) for t in terms}

    ours, theirs = medians(variant), medians(VARIANTS[0])
    factors = [ours[t] / theirs[t] for t in terms if theirs[t] > 0.01]
    return f"{statistics.geometric_mean(factors):.2f}" if factors and min(factors) > 0 else "–"


def best_of(runs):
    return [max(worst.values(), default=0) for worst, _ in runs]


def table(results, subjects, variants, seconds, seeds, seeded):
    lines = [f"{seconds} s per run, seeds 1 to {seeds}, {'from the seed corpus' if seeded else 'from an empty corpus'}. "
             "Median over the seeds (least to largest) of the worst err/bound; `executions` is the median, too.", ""]
    for subject in subjects:
        present = [v for v in variants if results.get((subject, v))]
        terms = sorted({t for variant in present for worst, _ in results[subject, variant] for t in worst})
        lines += [f"**{subject[1]}, {subject[2]}**", "", "| variant | worst of all | factor | " + " | ".join(terms) + " | executions | mean factor of the terms |",
                  "|---|---|---|" + "---|" * len(terms) + "---|---|"]
        for variant in present:
            runs = results[subject, variant]
            best = best_of(runs)
            alone = results.get((subject, VARIANTS[0]))
            base = statistics.median(best_of(alone)) if alone else 0
            cells = [f"{statistics.median(best):.3f} ({min(best):.3f}–{max(best):.3f})", f"{statistics.median(best) / base:.2f}" if base > 0 else "–"]
            cells += [f"{statistics.median(worst.get(t, 0) for worst, _ in runs):.3f}" for t in terms]
            executions = statistics.median(n for _, n in runs)
            last = factor(results, subject, variant, terms) if alone else "–"
            lines.append(f"| {variant[0]}{'' if len(runs) == seeds else f' ({len(runs)} runs)'} | " + " | ".join(cells) + f" | {executions / 1000:.0f} k | {last} |")
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="the build folder of preset fuzz")
    parser.add_argument("--subject", type=subject_word, action="append", metavar="TARGET:GLOB:FORMAT", help="default: " + ", ".join(SUBJECTS))
    parser.add_argument("--seconds", type=positive, default=64)
    parser.add_argument("--seeds", type=positive, default=5)
    parser.add_argument("--jobs", type=positive, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--variant", choices=[v[0] for v in VARIANTS], action="append", help="default: all; coverage always")
    parser.add_argument("--empty", action="store_true", help="start from an empty corpus")
    parser.add_argument("--out", help="write the table there, too")
    options = parser.parse_args()
    variants = [v for v in VARIANTS if v is VARIANTS[0] or not options.variant or v[0] in options.variant]
    least = 4 * ROUNDS * max(v[3] for v in variants)
    if options.seconds < least:
        parser.error(f"--seconds: at least {least}")
    failed = []

    def one(task):
        try:
            return measure(options.build, *task, options.seconds, not options.empty)
        except (fuzz_runs.Failed, sqlite3.Error, OSError) as error:
            failed.append((task[0], task[2]))
            print(f"guidance: {error}", file=sys.stderr)

    try:
        subjects = chosen(options.build, options.subject or SUBJECTS)
        # Variants in turn, so that a machine that slows down slows all of them.
        work = [(s, v, seed) for seed in range(1, options.seeds + 1) for s in subjects for v in variants]
        measured = fuzz_runs.in_parallel(options.jobs, one, work)
    except argparse.ArgumentTypeError as error:
        parser.error(f"argument --subject: {error}")
    except fuzz_runs.Failed as error:
        print(f"guidance: {error}", file=sys.stderr)
        return 3
    results = {}
    for (subject, variant, seed), result in zip(work, measured):
        if (subject, seed) not in failed:
            results.setdefault((subject, variant), []).append(result)
    text = table(results, subjects, variants, options.seconds, options.seeds, not options.empty)
    print(text)
    if options.out:
        Path(options.out).write_text(text)
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
