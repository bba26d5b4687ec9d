"""The task of one shard, inside a Slurm job: starts the fuzzer, passes signals on, says how it went.

usage: shard.py DIR      the shard's number is SLURM_ARRAY_TASK_ID

A task can be started again: Slurm requeues it when its node is lost, and this program when the machine failed it (exit 3,
75 or a signal), a bounded number of times. It then fuzzes what is left of its seconds. A node that Slurm has given up may
still be running its task; two nodes must not write to one archive, so the newest attempt owns the shard (file `owner`)
and every older one stops within seconds of seeing that.
"""
import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from cluster import slurm  # noqa: E402
from cluster.plan import INFRASTRUCTURE, USAGE, CampaignError, end_with, read_json, read_plan, shard_folder, write_json  # noqa: E402

POLL = 0.5      # s: how soon a task sees that it ended, or that a newer attempt owns its shard
SAVE = 5.0      # s: how often it writes how far it is
GRACE = 10.0    # s that a newer attempt leaves the older one to stop
FINAL = {0: "done", 1: "findings", USAGE: "failed"}  # every other exit code is the machine's fault


def seed_of(plan, index, restart):
    """31 bits, never 0: another stream for each shard, round and attempt."""
    return zlib.crc32(f"{plan['seed']} {plan['round']} {index} {restart}".encode()) % 0x7FFFFFFF + 1


def command(plan, folder, index, restart, seconds):
    words = [plan["flashproof"], "--no-build", "fuzz", plan["target"], "--shard", f"{index}/{plan['shards']}",
             "--out", str(shard_folder(folder, index)), "--seconds", str(seconds),
             "--seed", str(seed_of(plan, index, restart)), "--exec", plan["exec"]]
    if plan["exec"] == "cpu":
        words += ["--jobs", str(plan["cores"])]
    for option in ("kernel", "format"):
        if plan.get(option):
            words += [f"--{option}", plan[option]]
    return words


def die_with_parent():
    """The kernel tells the child to save and stop when this process is killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


class Task:
    def __init__(self, folder, index):
        self.plan = read_plan(folder)
        if self.plan is None:
            raise CampaignError(USAGE, f"{folder}: no campaign.json")
        self.folder, self.index = folder, index
        self.restart = int(os.environ.get("SLURM_RESTART_COUNT") or 0)
        self.home = shard_folder(folder, index)
        self.home.mkdir(exist_ok=True)
        self.owner = self.home / "owner"
        self.attempt = f"{os.environ.get('SLURM_JOB_ID', '-')}.{self.restart} {socket.gethostname()} {os.getpid()}"
        self.node = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
        before = read_json(self.home / "task.json") or {}
        same_round = before.get("round") == self.plan["round"]
        self.seconds = float(before.get("seconds", 0)) if same_round else 0.0
        self.failures = int(before.get("failures", 0)) if same_round else 0
        self.left_running = before.get("state") == "running"
        self.stopping = False

    def owned(self):
        return self.owner.read_text(encoding="utf-8") == self.attempt

    def save(self, state, code=None):
        write_json(self.home / "task.json", {
            "round": self.plan["round"], "state": state, "code": code, "seconds": round(self.seconds, 1),
            "restarts": self.restart, "failures": self.failures, "node": self.node, "updated": int(time.time())})

    def claim(self):
        temporary = self.home / f".owner.{os.getpid()}"
        temporary.write_text(self.attempt, encoding="utf-8")
        os.replace(temporary, self.owner)
        if self.left_running:
            print(f"shard {self.index}: an earlier attempt did not end; waiting {GRACE:.0f} s for it to stop", flush=True)
            time.sleep(GRACE)
        self.save("running")

    def run(self):
        """The fuzzer's exit code; None if a newer attempt owns the shard."""
        left = round(self.plan["seconds"] - self.seconds)
        if left < 1:
            return 0
        words = command(self.plan, self.folder, self.index, self.restart, left)
        print(f"shard {self.index}, round {self.plan['round']}, attempt {self.restart} on {self.node}: {' '.join(words)}", flush=True)
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_parent)

        def stop(*_):
            if not self.stopping:
                self.stopping = True
                child.terminate()

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        start, before, saved = time.monotonic(), self.seconds, time.monotonic()
        while child.poll() is None:
            time.sleep(POLL)
            self.seconds = before + time.monotonic() - start
            if not self.owned():
                self.end(child)
                return None
            if time.monotonic() - saved >= SAVE:
                saved = time.monotonic()
                self.save("running")
        self.seconds = min(before + time.monotonic() - start, float(self.plan["seconds"]))
        return child.returncode if self.owned() else None

    def end(self, child):
        child.terminate()
        try:
            child.wait(GRACE / 2)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def finish(self, code):
        if code is None:
            print(f"shard {self.index}: a newer attempt owns the shard; this one has stopped", flush=True)
            return 0
        if self.stopping and code in (0, 128 + signal.SIGTERM, -signal.SIGTERM):  # the latter two: before it ran
            self.save("stopped", 0)
            return 0
        if code in FINAL:
            self.save(FINAL[code], code)
            return code
        self.failures += 1
        job = os.environ.get("SLURM_ARRAY_JOB_ID")
        if self.stopping or self.failures > self.plan["requeues"] or not job:
            self.save("failed", code)
            print(f"shard {self.index}: failed, exit {code}, {self.failures} times", flush=True)
            return INFRASTRUCTURE
        self.save("requeued", code)
        print(f"shard {self.index}: exit {code}; requeued, {self.failures} of at most {self.plan['requeues']}", flush=True)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        slurm.requeue(f"{job}_{self.index}")
        time.sleep(600)  # Slurm ends this attempt
        return INFRASTRUCTURE


def main():
    index = os.environ.get("SLURM_ARRAY_TASK_ID", "")
    if len(sys.argv) != 2 or not index.isdigit():
        raise CampaignError(USAGE, "usage: shard.py DIR, as a task of a job array")
    task = Task(pathlib.Path(sys.argv[1]), int(index))
    task.claim()
    return task.finish(task.run())


if __name__ == "__main__":
    end_with(main)
