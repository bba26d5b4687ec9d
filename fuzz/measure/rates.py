"""How many inputs a second a target takes on one core, in the engine, truth, bound and verdict included.

usage: rates.py --build DIR [--target NAME]... [--inputs N] [--repetitions N]

The engine runs a folder of recipes (f32, family normal, no law that runs the kernel again) as it runs any corpus: bytes to
feedback, with its own look at every counter. `at`: all of the largest shape; `up to`: extents drawn evenly from what a
recipe's bytes can say up to that shape. Variants of the guide take turns, so that a machine that slows down slows all of them.
Processor time, so that what else runs counts less, and the best of the repetitions, since it can only slow them; the time of a
run without inputs is taken off. `spread`: the best over the worst. Build preset `fuzz` for coverage, `fuzz-asan` for the sanitizers.
Exit: 0; 2 usage; 3 a target could not be run.
"""

import argparse
import random
import resource
import subprocess
import sys
from pathlib import Path

import fuzz_runs
from detection import positive

GUIDES = ("none", "counters", "edges")
EXTENTS = (*range(1, 19), 20, 23, 24, 31, 32, 33, 40, 47, 48, 49, 63, 64)  # kExtents of fuzz/input/codec.cc
NO_LAW = 224  # fuzz/input/codec.h
SUBJECTS = {
    "attention": ("attention.online_chunk.hardened", {"sq": 16, "sk": 64, "d": 32, "dv": 32}, "b=1,hq=1,hk=1,chunk=16"),
    "softmax": ("softmax.online_two_pass.hardened", {"rows": 16, "cols": 64}, ""),
    "merge": ("merge.pairwise_stable.hardened", {"n": 8, "rows": 16, "dv": 32}, ""),
}


def recipes(target, number, largest):
    """Lines of cases. The same for every run: only their own numbers decide."""
    draw = random.Random(1)
    _, extents, rest = SUBJECTS[target]
    for seed in range(number):
        keys = {k: most if largest else draw.choice([e for e in EXTENTS if e <= most]) for k, most in extents.items()}
        text = ",".join([rest] * bool(rest) + [f"{k}={v}" for k, v in keys.items()] + ["layout=dense"])
        yield f"{target}:normal:{seed}:{text}"


def write_inputs(build, target, lines, folder):
    """The inputs of these cases; not those that a seed corpus has beside them, which run the kernel again for a law."""
    text = folder.with_suffix(".txt")
    text.write_text("\n".join(lines) + "\n")
    run = subprocess.run([fuzz_runs.target_path(build, target), "--seeds", text, folder], capture_output=True, text=True)
    if run.returncode != 0:
        raise fuzz_runs.Failed(f"fuzz_{target} --seeds: {run.stderr.strip()[:300]}")
    # The copies of the tables above are right if every line became one plain input.
    for path in folder.iterdir():
        if path.read_bytes()[1] >= NO_LAW:
            path.unlink()
    return len(list(folder.iterdir()))


def processor_seconds():
    """Of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_all(build, target, kernel, guide, inputs):
    """Processor seconds of one process that runs every input once, cases judged, rows that needed more than the oracle's first tier."""
    with fuzz_runs.scratch() as folder:
        run = fuzz_runs.FuzzRun(build, target, kernel, "f32", Path(folder) / "run")
        run.corpus = inputs
        before = processor_seconds()
        code = run.replay(f"--guide={guide}")
        took = processor_seconds() - before
        if code != 0:
            raise fuzz_runs.Failed(f"{kernel}: exit {code}: {run.last_words()}")
        judged, escalated = run.rows("select sum(judged), sum(escalated) from runs")[0]
        return took, judged, escalated


def measure(build, target, largest, number, repetitions):
    """A line of the table."""
    kernel, extents, _ = SUBJECTS[target]
    with fuzz_runs.scratch() as folder:
        inputs, nothing = Path(folder) / "inputs", Path(folder) / "nothing"
        nothing.mkdir()
        count = write_inputs(build, target, recipes(target, number, largest), inputs)
        if count != number:
            raise fuzz_runs.Failed(f"{target}: {number} recipes became {count} inputs")
        rates, start = {guide: [] for guide in GUIDES}, []
        for _ in range(repetitions):
            start.append(run_all(build, target, kernel, "none", nothing)[0])
            for guide in GUIDES:
                took, judged, escalated = run_all(build, target, kernel, guide, inputs)
                if judged < count:
                    raise fuzz_runs.Failed(f"{kernel}: {judged} of {count} inputs were judged")
                rates[guide].append(count / (took - min(start)))
    shape = " × ".join(map(str, extents.values()))
    best = {guide: max(list_) for guide, list_ in rates.items()}
    spread = max(max(list_) / min(list_) - 1 for list_ in rates.values())
    cost = " | ".join(f"{best['none'] / best[guide] - 1:+.1%}" for guide in GUIDES[1:])
    cells = " | ".join(f"{best[guide]:,.0f}" for guide in GUIDES)
    return f"| {kernel} | {'at' if largest else 'up to'} {shape} | {cells} | {cost} | {spread:.1%} | {escalated / judged:.3f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="the build folder of preset fuzz or fuzz-asan")
    parser.add_argument("--target", choices=tuple(SUBJECTS), action="append", help="default: all of them")
    parser.add_argument("--inputs", type=positive, default=2000)
    parser.add_argument("--repetitions", type=positive, default=5)
    options = parser.parse_args()
    print("| kernel, f32 | shape | no guide, executions/s | counters | edges | cost of counters | of edges | spread | climbed per case |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    try:
        for target in options.target or SUBJECTS:
            for largest in (True, False):
                print(measure(options.build, target, largest, options.inputs, options.repetitions), flush=True)
    except fuzz_runs.Failed as error:
        print(f"rates: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
