"""The public kernels through flashproof.check(), their speed, and what they do differently: Markdown and JSON.

    python3 python/public_kernels --out DIR [--only GLOB ...] [--seconds N] [--device cuda] [--no-speed]

DIR/subjects/NAME.json is written as each is done, and DIR/table.md and DIR/table.json after each, so that a run that is cut short leaves
what it has; a subject that was judged, and its findings exported, is not run again. DIR/findings/NAME.LAW has the violations as scripts without flashproof.
A subject runs in a process of its own: one that crashes, hangs or loses the GPU ends alone.
"""

import argparse
import dataclasses
import datetime
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import subjects as listed
import tables

LAWS = {"attention": ("rerun_is_bitwise", "batch_invariance_is_bitwise", "hidden_nan_is_isolated", "visible_nan_is_not_laundered",
                      "unused_storage_is_isolated", "layout_invariance", "mask_forms_agree", "gqa_equals_expanded", "key_permutation_within_bound",
                      "dropped_key_is_noticed", "ones_in_ones_out", "convex_hull", "within_bound", "class_matches_semantics", "outputs_fully_written",
                      "red_zones_untouched", "signed_bias_within_limit"),
        "softmax": ("rerun_is_bitwise", "batch_invariance_is_bitwise", "visible_nan_is_not_laundered", "layout_invariance", "shift_invariance",
                    "dropped_key_is_noticed", "within_bound", "class_matches_semantics", "outputs_fully_written", "red_zones_untouched",
                    "signed_bias_within_limit"),
        "attention_backward": ("within_bound", "class_matches_semantics", "outputs_fully_written", "rerun_is_bitwise")}

SECONDS_AFTER = 60  # that a subject may take beyond --each, to import its library, and to make findings small


def parse():
    parser = argparse.ArgumentParser(prog="public_kernels", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="out/public", metavar="DIR")
    parser.add_argument("--only", action="append", metavar="GLOB", help="of subject names; may be repeated")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--seconds", type=float, default=540, help="of the whole run")
    parser.add_argument("--each", type=float, default=60, help="seconds of a subject at most")
    parser.add_argument("--cases", type=int, default=1, help="drawn per family for the laws")
    parser.add_argument("--measured", type=int, default=3, help="cases per family for the statistics")
    parser.add_argument("--jobs", type=int, default=1, help="subjects at a time; timings are then taken afterwards, alone")
    parser.add_argument("--ours", metavar="FILE", help="what kernels/gpu_benchmark wrote (--benchmark_out) on this machine: its rows stand beside")
    parser.add_argument("--no-speed", action="store_true", help="judge only; a later run with the same --out times")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--subject", help=argparse.SUPPRESS)  # the process of one subject
    parser.add_argument("--time", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seconds <= 0 or options.each <= 0 or options.jobs < 1 or options.cases < 0 or options.measured < 1:
        parser.error("--seconds, --each, --jobs and --measured must be above 0, --cases at least 0")
    return options


def versions():
    found = {}
    for module in ("torch", "triton", "jax", "jaxlib", "cupy", "numpy", "cudnn"):
        try:
            found[module] = str(__import__(module).__version__)
        except Exception:
            continue
    if "torch" in found:
        import torch

        if torch.cuda.is_available():
            found["gpu"] = torch.cuda.get_device_name()
            found["cuda"] = str(torch.version.cuda)
            found["cudnn_library"] = str(torch.backends.cudnn.version())
    return found


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(data) + "\n" if not isinstance(data, str) else data, encoding="utf-8")
    beside.replace(path)


def run_subject(options, subject):
    """In a process of its own."""
    out = pathlib.Path(options.out)
    record = {"name": subject.name, "problem": subject.problem, "dtype": subject.dtype, "arithmetic": subject.arithmetic, "note": subject.note, "copies": subject.copies,
              "date": datetime.date.today().isoformat(), "versions": versions()}
    path = out / "subjects" / f"{subject.name}.json"
    try:
        function = subject.make(timed=options.time)
    except Exception as error:
        write(path, {**record, "skipped": f"{type(error).__name__}: {error}"[:300]})
        return
    if options.time:
        import timing

        record = json.loads(path.read_text(encoding="utf-8"))
        try:
            record["speed"] = timing.time_subject(subject, function, options.device == "cpu")
        except Exception as error:
            record["speed_failed"] = f"{type(error).__name__}: {error}"[:300]
        write(path, record)
        return
    import flashproof
    import reproduction

    def check(where, seconds=options.each, **more):
        """where: the one family that is asked, since a measured case of it fails; empty: all."""
        return flashproof.check(function, problem=subject.problem, dtype=subject.dtype, arrays=subject.arrays,
                                device=subject.device if subject.arrays == "torch" or subject.device == "cpu" else "cuda", arithmetic=subject.arithmetic,
                                laws=LAWS[subject.problem], cases=max(options.cases, 8) if where else options.cases, measured=options.measured, seconds=seconds,
                                witnesses=str(out / "witnesses" / subject.name / where), name=subject.name, **subject.options, **more)

    def export(name, finding):
        if finding.witness and finding.law in reproduction.JUDGING:
            reproduction.export(str(out / "findings" / f"{subject.name}.{name}"), subject, finding, subject.source(), subject.script_expression(),
                                record["versions"])

    result = check("")
    record["result"] = flashproof._result._plain(result.to_dict())
    record["text"] = str(result)
    write(path, record)
    if subject.problem == "attention_backward":
        told = record["result"]["findings"] = []
        for finding in of_every_family(result, check):
            export(f"{finding.law}.{family_of(finding)}", finding)
            told.append(flashproof._result._plain(dataclasses.asdict(finding)))
            write(path, record)
    else:
        for finding in result.findings:
            export(finding.law, finding)
    write(path, {**record, "exported": True})


def family_of(finding):
    """Empty where no case was judged."""
    return finding.case.split(":")[1] if ":" in finding.case else ""


def of_every_family(result, check):
    """A law tells of the first case that breaks it: after these findings what every other failing family, asked alone, tells."""
    measured = {family_of(f): f for f in result.findings if f.law == "judged" and family_of(f)}  # without a witness: asked again below
    told = {(f.law, family_of(f)) for f in result.findings}
    yield from (f for f in result.findings if f not in measured.values())
    waiting = [f.family for f in result.families if f.finding and not {("within_bound", f.family), ("class_matches_semantics", f.family)} & told]
    end = time.monotonic() + SECONDS_AFTER / 2
    while waiting and not result.lost:
        left = (end - time.monotonic()) / len(waiting)
        if left < 1:
            print(f"no time to make findings small in {', '.join(waiting)}", file=sys.stderr, flush=True)
            break
        family = waiting.pop(0)
        measured.pop(family, None)
        result = check(family, seconds=left, families=[family])
        yield from (f for f in result.findings if f.law == "judged" or (f.law, family_of(f)) not in told)
    yield from measured.values()


def start(options, name, *more):
    words = [sys.executable, str(pathlib.Path(__file__).resolve().parent), "--subject", name, "--out", options.out, "--device", options.device, "--each",
             str(options.each), "--cases", str(options.cases), "--measured", str(options.measured), *more]
    environment = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", **os.environ}
    if options.device == "cpu":
        environment["JAX_PLATFORMS"] = "cpu"
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)


def failed(options, subject, why, timing):
    """A process that did not end well: what it leaves, completed."""
    path = pathlib.Path(options.out) / "subjects" / f"{subject.name}.json"
    if not path.is_file():
        write(path, {"name": subject.name, "problem": subject.problem, "dtype": subject.dtype, "arithmetic": subject.arithmetic, "note": subject.note, "copies": subject.copies,
                     "died": why[-600:]})
    elif timing:
        write(path, {**json.loads(path.read_text(encoding="utf-8")), "speed_failed": why[-300:]})
    else:  # of what comes after the record; it is judged again next time
        print(f"{subject.name}: its findings were not all exported: {why[-200:]}", file=sys.stderr, flush=True)


def is_done(options, subject):
    path = pathlib.Path(options.out) / "subjects" / f"{subject.name}.json"
    return path.is_file() and bool({"exported", "skipped", "died"} & set(json.loads(path.read_text(encoding="utf-8"))))


def run_all(options, chosen, done, *more):
    """At most --jobs at a time; a process that outlasts its time by a minute is ended."""
    waiting, running = list(chosen), {}
    end = time.monotonic() + options.seconds
    while waiting or running:
        while waiting and len(running) < options.jobs and time.monotonic() + 5 < end:
            subject = waiting.pop(0)
            running[start(options, subject.name, *more)] = (subject, min(time.monotonic() + options.each + SECONDS_AFTER, end))
        if waiting and not running:
            print(f"out of time: {len(waiting)} subjects not run", flush=True)
            return
        for process, (subject, limit) in list(running.items()):
            if process.poll() is None:
                if time.monotonic() > limit:
                    process.kill()
                continue
            error = process.stderr.read()
            if process.returncode != 0:
                failed(options, subject, f"exit {process.returncode}: {error.strip()}", "--time" in more)
            del running[process]
            done(subject)
        time.sleep(0.05)


def main():
    options = parse()
    everything = listed.subjects(options.device)
    if options.subject:
        run_subject(options, next(s for s in everything if s.name == options.subject))
        return 0
    chosen = [s for s in everything if not options.only or any(fnmatch.fnmatch(s.name, glob) for glob in options.only)]
    if options.list or not chosen:
        print("\n".join(s.name for s in everything))
        return 0 if options.list else 2
    out = pathlib.Path(options.out)
    begin = time.monotonic()

    def done(subject):
        write(out / "table.md", tables.markdown(out, options.ours))
        write(out / "table.json", tables.collected(out))
        print(f"{time.monotonic() - begin:6.1f} s  {subject.name}  {tables.line(out, subject.name)}", flush=True)

    fresh = [s for s in chosen if not is_done(options, s)]
    if not options.no_speed:
        options.seconds *= 0.85
    run_all(options, fresh, done)
    if options.no_speed:
        return 0
    timed = [s for s in chosen if tables.wants_time(out, s.name)]
    options.seconds, options.jobs, options.each = options.seconds / 0.85 - (time.monotonic() - begin), 1, 30
    run_all(options, timed, done, "--time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
