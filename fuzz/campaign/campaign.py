#!/usr/bin/env python3
"""`./flashproof campaign`: a fuzz campaign as a Slurm job array of shards and a job that merges them.

Slurm schedules, restarts and ends; nothing here runs on. Submitting writes the plan, then the jobs; `--status` reads the
folder and the queue. See README.md, cluster/shard.py for what a task does and cluster/merge.py for the last job.
"""
import argparse
import fcntl
import pathlib
import re
import secrets
import shlex
import sys
import time

sys.dont_write_bytecode = True
from cluster import slurm, status  # noqa: E402
from cluster.plan import INFRASTRUCTURE, USAGE, VERSION, CampaignError, absolute, end_with, read_plan, write_json  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
TARGETS = ("softmax", "merge", "attention", "backward", "schedule", "witness", "differential")  # of fuzz/targets
REQUEUES = 3  # of one shard in one round, after failures of the machine
OURS = ("array", "a", "chdir", "D", "dependency", "d", "error", "e", "job-name", "J", "open-mode", "output", "o", "parsable",
        "requeue", "no-requeue", "signal", "test-only", "wait", "W", "wrap")  # sbatch's options that are not the user's
SHARD_ONLY = ("cpus-per-task", "c", "exclusive", "gpus", "G", "gpus-per-node", "gpus-per-task", "gres", "time", "t")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise CampaignError(USAGE, f"campaign: {message}")


def whole(low, high):
    def parse(text):
        if not re.fullmatch(r"[0-9]{1,9}", text) or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text[:40]!r}: a whole number from {low} to {high}")
        return int(text)
    return parse


def glob(text):
    if not re.fullmatch(r"[A-Za-z0-9_.*?|-]{1,200}", text):
        raise argparse.ArgumentTypeError(f"{text[:40]!r}: a glob of letters, digits and _ . * ? | -")
    return text


def sbatch_option(text):
    """--name, --name=value or -x..., and not one that the campaign itself rests on."""
    match = re.fullmatch(r"--([a-z][a-z-]*)(=[^\n]*)?|-([A-Za-z])([^\n]*)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text[:40]!r}: one option of sbatch as one word, like --account=NAME")
    if (match[1] or match[3]) in OURS:
        raise argparse.ArgumentTypeError(f"{text[:40]!r}: the campaign sets this one itself")
    return text


def option_name(option):
    return option[2:].split("=")[0] if option.startswith("--") else option[1]


def parse(arguments):
    parser = Parser(prog="./flashproof campaign", allow_abbrev=False,
                    description="Fuzzes one target on many nodes of a Slurm cluster, and merges what the shards find.",
                    epilog="DIR and this source tree must lie on a file system that every node sees. A second call with the same "
                           "DIR, once the first campaign has ended, goes on from what that one left. Exit codes: 0 fine, "
                           "1 findings (--wait), 2 usage, 3 infrastructure.")
    parser.add_argument("target", nargs="?", metavar="TARGET", help=f"what to fuzz: {' '.join(TARGETS)}")
    parser.add_argument("--shards", type=whole(1, 10000), metavar="N", help="tasks of the job array; Slurm's own limit is 1001 unless raised")
    parser.add_argument("--seconds", type=whole(1, 31536000), metavar="S", help="fuzzing time of each shard")
    parser.add_argument("--out", metavar="DIR", help="the campaign's folder")
    parser.add_argument("--kernel", type=glob, metavar="GLOB")
    parser.add_argument("--format", type=glob, metavar="GLOB")
    parser.add_argument("--exec", choices=("cpu", "cuda"), default="cpu", help="cuda: one GPU for each shard")
    parser.add_argument("--cores", type=whole(1, 1024), default=1, metavar="n", help="of each shard; default 1")
    parser.add_argument("--seed", type=whole(0, 999999999), default=1, metavar="N")
    parser.add_argument("--partition", metavar="P")
    parser.add_argument("--sbatch-option", type=sbatch_option, action="append", default=[], metavar="X",
                        help="one more option for sbatch, as one word: --sbatch-option=--account=NAME; may be repeated")
    parser.add_argument("--wait", action="store_true", help="return when the merge is done")
    parser.add_argument("--dry-run", action="store_true", help="print what would be submitted, and change nothing")
    parser.add_argument("--status", metavar="DIR", help="each shard's state, and the merged totals")
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)  # the arguments only: before a long build
    parser.add_argument("--flashproof", default=str(HERE.parent.parent / "flashproof"), help=argparse.SUPPRESS)
    parser.add_argument("--driver", default="flashproof-fuzz", help=argparse.SUPPRESS)
    options = parser.parse_args(join_option_words(arguments))
    if options.status is not None:
        others = [word for word in ("target", "shards", "seconds", "out") if getattr(options, word) is not None]
        if others:
            parser.error(f"--status DIR stands alone, without {others[0]}")
        return options
    for word in ("target", "shards", "seconds", "out"):
        if getattr(options, word) is None:
            parser.error(f"{'TARGET' if word == 'target' else '--' + word} is missing; ./flashproof campaign --help")
    if options.target not in TARGETS:
        parser.error(f"unknown target {options.target[:40]!r}; the targets are: {' '.join(TARGETS)}")
    if options.partition is not None and not re.fullmatch(r"[A-Za-z0-9_.,-]{1,100}", options.partition):
        parser.error(f"--partition {options.partition[:40]!r}: letters, digits and _ . , -")
    if not options.out or "\n" in options.out or "%" in options.out or "\\" in options.out:
        parser.error(f"--out {options.out[:40]!r}: a folder's name without %, \\ and line breaks, which Slurm would read otherwise")
    options.out = absolute(options.out)
    if options.out.exists() and not options.out.is_dir():
        parser.error(f"--out {options.out}: not a folder")
    return options


def join_option_words(arguments):
    """argparse takes `--sbatch-option --x` for two options; it is one with its value."""
    joined, words = [], iter(arguments)
    for word in words:
        joined.append(f"{word}={next(words, '')}" if word == "--sbatch-option" else word)
    return joined


def new_plan(options, old):
    return {"campaign": VERSION, "name": old["name"] if old else f"flashproof-{secrets.token_hex(4)}",
            "round": old["round"] + 1 if old else 1, "target": options.target, "shards": options.shards,
            "seconds": options.seconds, "kernel": options.kernel, "format": options.format, "exec": options.exec,
            "cores": options.cores, "seed": options.seed, "requeues": REQUEUES, "flashproof": str(absolute(options.flashproof)),
            "driver": str(absolute(options.driver)), "submitted": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def script(program, folder):
    return f"#!/bin/sh\nexec python3 -B {shlex.quote(str(HERE / 'cluster' / program))} {shlex.quote(str(folder))}\n"


def jobs(options, plan):
    """(sbatch's options, script) of the array and of the merge; the merge lacks its dependency."""
    folder, names = options.out, [option_name(option) for option in options.sbatch_option]
    common = ["--ntasks=1", "--requeue", "--open-mode=append", f"--chdir={folder}"]
    if options.partition:
        common.append(f"--partition={options.partition}")
    array = [f"--job-name={plan['name']}", f"--array=0-{plan['shards'] - 1}", f"--output={folder}/log/shard-%a.log",
             "--signal=B:TERM@60", f"--cpus-per-task={plan['cores']}"]
    if "time" not in names and "t" not in names:
        array.append(f"--time={-(-plan['seconds'] // 60) + 10}")  # minutes; a requeued task has its whole limit again
    if plan["exec"] == "cuda" and not {"gres", "gpus", "G", "gpus-per-node", "gpus-per-task"} & set(names):
        array.append("--gres=gpu:1")
    merge = [f"--job-name={plan['name']}-merge", f"--output={folder}/log/merge.log", "--cpus-per-task=1"]
    kept = [option for option, name in zip(options.sbatch_option, names) if name not in SHARD_ONLY]
    return ((array + common + options.sbatch_option, script("shard.py", folder)), (merge + common + kept, script("merge.py", folder)))


def dry_run(options):
    (array, first), (merge, last) = jobs(options, new_plan(options, read_plan(options.out)))
    for words, text in ((array, first), (["--dependency=afterany:JOB"] + merge, last)):
        print(f"sbatch {shlex.join(words)} <<'SCRIPT'\n{text}SCRIPT")
    return 0


def by_hand(options):
    globs = "".join(f" --{name} {shlex.quote(value)}" for name in ("kernel", "format") if (value := getattr(options, name)))
    return (f"./flashproof fuzz {options.target} --shard I/{options.shards} --out {shlex.quote(str(options.out))}/shard-I "
            f"--seconds {options.seconds} --exec {options.exec}{globs}")


def require_slurm(options):
    if not slurm.here():
        raise CampaignError(INFRASTRUCTURE, f"no Slurm here (no sbatch); by hand, for I from 0 to {options.shards - 1}: {by_hand(options)}; "
                            f"then build/fuzz/fuzz/flashproof-fuzz merge {shlex.quote(str(options.out))} {shlex.quote(str(options.out))}/shard-*")


def submit(options):
    require_slurm(options)
    folder = options.out
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".campaign.lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CampaignError(USAGE, f"{folder}: another call is submitting into it") from None
        old = read_plan(folder)
        if old and old["target"] != options.target:
            raise CampaignError(USAGE, f"{folder} holds a campaign of {old['target']}, not of {options.target}: take another folder")
        if old and slurm.queue(old["name"]):
            raise CampaignError(USAGE, f"{folder}: its campaign is still running; watch: ./flashproof campaign --status {shlex.quote(str(folder))}, "
                                f"stop: scancel --name={old['name']}")
        plan = new_plan(options, old)
        (folder / "log").mkdir(exist_ok=True)
        write_json(folder / "campaign.json", plan)
        (array, first), (merge, last) = jobs(options, plan)
        try:
            job = slurm.submit(array, first)
            slurm.submit([f"--dependency=afterany:{job}"] + merge, last)
        except BaseException:  # a campaign without its merge is none
            slurm.cancel(plan["name"])
            raise
    print(f"{plan['name']}: {plan['shards']} shards of {plan['target']}, {plan['seconds']} s each, round {plan['round']}, job {job}; "
          f"{folder} and {HERE.parent.parent} must be folders that every node sees")
    print(f"watch: ./flashproof campaign --status {shlex.quote(str(folder))}", flush=True)
    return plan


def wait(folder, plan):
    try:
        while slurm.queue(plan["name"]):
            time.sleep(2)
    except KeyboardInterrupt:
        print(f"\nflashproof: the campaign goes on; stop it: scancel --name={plan['name']}", file=sys.stderr)
        return INFRASTRUCTURE
    return status.show(folder)


def main():
    options = parse(sys.argv[1:])
    if options.check:
        if options.status is None and not options.dry_run:
            require_slurm(options)
        return 0
    if options.status is not None:
        status.show(absolute(options.status))
        return 0
    if options.dry_run:
        return dry_run(options)
    plan = submit(options)
    return wait(options.out, plan) if options.wait else 0


if __name__ == "__main__":
    end_with(main)
