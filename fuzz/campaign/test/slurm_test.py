#!/usr/bin/env python3
"""A campaign through a real Slurm of two nodes on this machine: what it merges is the union of its shards.

usage: slurm_test.py --driver FLASHPROOF-FUZZ --target TARGET --kernel GLOB [--program PATH] [--nightly]

The driver stands where the launcher would (a script drops the launcher's own option), so nothing is built here. --nightly
also kills a node, and lets a task fail the way a lost GPU does. Exit 77: no Slurm on this machine.
"""
import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import slurm_cluster  # noqa: E402
from archive_rows import rows, union  # noqa: E402
from cluster import totals  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent.parent  # fuzz/campaign
SHARDS = 4


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def slurm_lines(cluster, *command):
    done = subprocess.run(command, env=cluster.environment, capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode == 0, f"{command[0]}: {done.stderr}")
    return done.stdout.splitlines()


class Campaign:
    def __init__(self, cluster, folder, options, failing=""):
        self.cluster, self.folder, self.options = cluster, folder / "campaign", options
        self.held = {}
        self.launcher = folder / "flashproof"
        targets = ""
        if options.program:
            (folder / "targets").mkdir()
            (folder / "targets" / f"fuzz_{options.target}").symlink_to(pathlib.Path(options.program).absolute())
            targets = f' --targets "{folder}/targets"'
        self.launcher.write_text(f'#!/bin/sh\n[ "$1" = --no-build ] && shift\n{failing}\nexec "{options.driver}" "$@"{targets}\n')
        self.launcher.chmod(0o755)

    def call(self, *words):
        command = [sys.executable, str(HERE / "campaign.py"), f"--flashproof={self.launcher}", f"--driver={self.options.driver}", *words]
        return subprocess.run(command, env=self.cluster.environment, capture_output=True, text=True, timeout=600, check=False)

    def submit(self, seconds, *more):
        return self.call(self.options.target, "--kernel", self.options.kernel, "--shards", str(SHARDS), "--seconds", str(seconds),
                         "--out", str(self.folder), *more)

    def status(self):
        return self.call("--status", str(self.folder)).stdout

    def queue(self):
        """A line for each job: its shard or N/A, state, and number."""
        return slurm_lines(self.cluster, "squeue", "-h", "-r", "-o", "%K %T %i")

    def release(self):
        """True when no job is left. Slurm holds a requeued job for two minutes; this lets it start after some seconds, when its
        node takes it again (at once, it would say "credential revoked")."""
        jobs = self.queue()
        held = {}
        for line in jobs:
            shard, state, number = line.split()
            if shard != "N/A" and state == "PENDING":
                held[number] = self.held.get(number, time.monotonic())
                if time.monotonic() - held[number] > 5:
                    self.cluster.call("scontrol", "update", f"JobId={number}", "StartTime=now")
        self.held = held
        return not jobs

    def finish(self, seconds):
        check(self.cluster.poll(lambda: not self.queue(), seconds), f"not finished after {seconds} s:\n{self.status()}{self.logs()}")

    def shard(self, index):
        return self.folder / f"shard-{index}" / "archive.sqlite"

    def task(self, index):
        return json.loads((self.folder / f"shard-{index}" / "task.json").read_text())

    def logs(self):
        return "\n".join(f"--- {file.name}\n{file.read_text(errors='replace')[-3000:]}" for file in sorted((self.folder / "log").glob("*.log")))

    def check_union(self):
        merged = rows(self.folder / "archive.sqlite")
        expected = union([rows(self.shard(index)) for index in range(SHARDS)])
        for table in expected:
            check(expected[table], f"no {table}: the campaign found nothing, so this test would show nothing\n{self.logs()}")
            check(merged[table] == expected[table], f"{table} of the merged archive are not the union of the shards'")
        return merged


def two_rounds(campaign):
    first = campaign.submit(4)
    check(first.returncode == 0, first.stderr)
    again = campaign.submit(4)
    check(again.returncode == 2 and "still running" in again.stderr and again.stderr.count("\n") == 1, f"not refused: {again}")
    check("round 1" in campaign.status() and "merged: not yet" in campaign.status(), campaign.status())
    campaign.finish(60)
    before = campaign.check_union()
    status = campaign.status()
    check(status.count(" executions, ") == SHARDS and "\nmerged: " in status, status)
    last = (campaign.folder / "log" / "merge.log").read_text().splitlines()[-1]
    check(last.startswith(f"merged {SHARDS} shards: ") and f"{len(before['findings'])} findings" in last, last)

    merge = [sys.executable, "-B", str(HERE / "cluster" / "merge.py"), str(campaign.folder)]
    subprocess.run(merge, env=campaign.cluster.environment, check=True, capture_output=True)
    check(rows(campaign.folder / "archive.sqlite") == before, "merging again changed the archive")

    second = campaign.submit(3, "--wait")
    check(second.returncode in (0, 1) and "round 2" in second.stdout, f"{second}\n{campaign.logs()}")
    after = campaign.check_union()
    for table in ("elites", "findings", "runs"):
        check(set(before[table]) <= set(after[table]), f"{table}: the second round lost some")
    check(len(after["runs"]) >= len(before["runs"]) + SHARDS, "the second round left no runs of its own")
    check(all(after["elites"][key] >= ratio for key, ratio in before["elites"].items()), "an elite became less bad")


def lost_node(campaign):
    """Kills a node with everything on it; its shards go on elsewhere from what they had written."""
    cluster = campaign.cluster
    check(campaign.submit(30).returncode == 0, "not submitted")

    def fuzzing():
        found = [totals.read(campaign.shard(index)) for index in range(SHARDS)]
        return all(isinstance(one, dict) and one["executions"] for one in found) and any(one["findings"] for one in found)

    check(cluster.poll(fuzzing, 30), f"no findings\n{campaign.logs()}")
    nodes = [campaign.task(index)["node"] for index in range(SHARDS)]
    check(set(nodes) == {"n0", "n1"}, f"the shards are not on both nodes: {nodes}")
    lost = next(nodes[index] for index in range(SHARDS) if totals.read(campaign.shard(index))["findings"])
    left = "n1" if lost == "n0" else "n0"
    victims = [index for index in range(SHARDS) if nodes[index] == lost]
    check(cluster.kill_node(lost) >= 1 + 3 * len(victims), "the node's processes were not there to be killed")  # slurmd; stepd, task, driver
    flushed = {}
    for index in victims:
        with tempfile.TemporaryDirectory() as folder:
            flushed[index] = rows(totals.snapshot(campaign.shard(index), pathlib.Path(folder)))
    check(any(one["findings"] for one in flushed.values()), "the node had no findings to lose")

    check(cluster.poll(campaign.release, 300), f"not finished\n{campaign.status()}{campaign.logs()}{cluster.logs()}")
    merged = campaign.check_union()
    for index in victims:
        task = campaign.task(index)
        check(task["node"] == left and task["restarts"] == 1 and task["state"] in ("done", "findings"), f"shard {index}: {task}")
        check(set(flushed[index]["findings"]) <= set(merged["findings"]), f"shard {index}: a finding that was on disk is lost")
        shard = rows(campaign.shard(index))
        for run, executions in flushed[index]["runs"].items():
            check(shard["runs"].get(run) == executions, f"shard {index}: run {run} of the killed attempt has changed")
        check(len(shard["runs"]) > len(flushed[index]["runs"]), f"shard {index}: the second attempt left no run")
        for hit, count in flushed[index]["hits"].items():
            check(merged["hits"][hit] == count, f"shard {index}: hits {hit} of the killed attempt are counted again")
    cluster.start_node(lost)


def lost_context(campaign, marks):
    """Shard 0 fails once as a lost GPU does, shard 1 for ever: one is done in the end, the other given up after 4 attempts."""
    check(campaign.submit(2).returncode == 0, "not submitted")
    cluster = campaign.cluster

    check(cluster.poll(campaign.release, 240), f"not finished\n{campaign.status()}{campaign.logs()}{cluster.logs()}")
    check(campaign.task(0)["state"] in ("done", "findings") and campaign.task(0)["failures"] == 1, str(campaign.task(0)))
    check(campaign.task(1)["state"] == "failed" and campaign.task(1)["code"] == 75, str(campaign.task(1)))
    attempts = len(list(marks.glob("1.*")))
    check(attempts == 4, f"{attempts} attempts of the shard that always fails; its first and 3 requeues are meant")
    check("failed" in campaign.status() and "merged: " in campaign.status(), campaign.status())


def main():
    parser = argparse.ArgumentParser()
    for word in ("driver", "target", "kernel"):
        parser.add_argument(f"--{word}", required=True)
    parser.add_argument("--program", help="stands for the target: a program that honours the contract of fuzz/targets")
    parser.add_argument("--nightly", action="store_true")
    options = parser.parse_args()
    if not slurm_cluster.installed():
        print("SKIPPED: no Slurm here (packages slurm-wlm, munge)")
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the cluster is stopped
    with tempfile.TemporaryDirectory(prefix="fp-") as name:
        folder = pathlib.Path(name)
        for part in ("rounds", "node", "context", "slurm", "marks"):
            (folder / part).mkdir()
        with slurm_cluster.Cluster(folder / "slurm") as cluster:
            start = time.monotonic()
            two_rounds(Campaign(cluster, folder / "rounds", options))
            print(f"two rounds: {time.monotonic() - start:.0f} s", flush=True)
            if options.nightly:
                marks = folder / "marks"
                failing = (f'case "$*" in *"--shard 0/"*) [ -e {marks}/0 ] || {{ : >{marks}/0; exit 75; }} ;; '
                           f'*"--shard 1/"*) : >{marks}/1.$$; exit 75 ;; esac')
                start = time.monotonic()
                lost_context(Campaign(cluster, folder / "context", options, failing), marks)
                print(f"lost context: {time.monotonic() - start:.0f} s", flush=True)
                start = time.monotonic()
                lost_node(Campaign(cluster, folder / "node", options))
                print(f"lost node: {time.monotonic() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
