#!/usr/bin/env python3
"""What a campaign does apart from Slurm: its arguments, its plan, one task on this machine, and reading archives in use.

usage: campaign_test.py TARGET...     the fuzz targets that CMake knows
"""
import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import campaign  # noqa: E402
from cluster import plan, shard, slurm, status, totals  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent.parent  # fuzz/campaign
KNOWN = []  # from the command line


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"

    def call(self, *words, **environment):
        return subprocess.run([sys.executable, str(HERE / "campaign.py"), *words], capture_output=True, text=True, check=False,
                              env=dict(os.environ, **environment))

    def write_plan(self, **changes):
        options = campaign.parse(["softmax", "--shards", "2", "--seconds", "20", "--out", str(self.out)])
        self.out.mkdir(exist_ok=True)
        value = dict(campaign.new_plan(options, None), **changes)
        plan.write_json(self.out / "campaign.json", value)
        return value


class Arguments(Folder):
    LEGAL = ("softmax", "--shards", "4", "--seconds", "60")

    def test_every_target_of_cmake_and_no_other(self):
        self.assertEqual(sorted(KNOWN), sorted(campaign.TARGETS))

    def test_a_wrong_word_is_one_line_and_exit_2(self):
        out = ("--out", str(self.out))
        for words, needle in (
                (("softmx", "--shards", "4", "--seconds", "60", *out), "the targets are: softmax"),
                (("softmax", "--seconds", "60", *out), "--shards is missing"),
                (self.LEGAL, "--out is missing"),
                (("softmax", "--shards", "0", "--seconds", "60", *out), "from 1 to 10000"),
                (("softmax", "--shards", "4", "--seconds", "1e3", *out), "from 1 to 31536000"),
                ((*self.LEGAL, *out, "--cores", "-1"), "--cores"),
                ((*self.LEGAL, *out, "--exec", "tpu"), "cpu"),
                ((*self.LEGAL, *out, "--kernel", "a b"), "a glob of letters"),
                ((*self.LEGAL, *out, "--sbatch-option", "--array=0-9"), "the campaign sets this one itself"),
                ((*self.LEGAL, *out, "--sbatch-option", "two words"), "one option of sbatch as one word"),
                ((*self.LEGAL, *out, "--partition", "a;b"), "--partition"),
                ((*self.LEGAL, "--out", "a%b"), "without %"),
                (("--status", str(self.out), "--shards", "3"), "stands alone"),
                (("--status", str(self.out)), "no campaign.json"),
                ((*self.LEGAL, *out, "--bogus"), "--bogus"),
                ((*self.LEGAL, "--out", __file__), "not a folder")):
            done = self.call(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn(needle, done.stderr)
            self.assertFalse(self.out.exists())

    def test_a_dry_run_prints_both_jobs_and_changes_nothing(self):
        done = self.call(*self.LEGAL, "--out", str(self.out), "--exec", "cuda", "--dry-run", "--sbatch-option", "--account=me",
                         "--sbatch-option=--time=30", PATH="/nonexistent")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        array, merge = (line for line in done.stdout.splitlines() if line.startswith("sbatch "))
        for word in ("--array=0-3", "--gres=gpu:1", "--requeue", "--open-mode=append", "--signal=B:TERM@60", "--account=me", "--time=30"):
            self.assertIn(f" {word} ", array)
        self.assertEqual(array.count("--time="), 1)
        self.assertIn(" --dependency=afterany:JOB ", merge)
        self.assertIn(" --account=me ", merge)
        self.assertNotIn("gpu", merge)
        self.assertFalse(self.out.exists())

    def test_without_slurm_it_says_how_by_hand_and_exits_3(self):
        done = self.call(*self.LEGAL, "--out", str(self.out), PATH="/nonexistent")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn(f"./flashproof fuzz softmax --shard I/4 --out {self.out}/shard-I --seconds 60", done.stderr)
        self.assertFalse(self.out.exists())

    def test_another_target_in_the_same_folder_is_refused(self):
        self.write_plan(target="merge")
        (self.folder / "sbatch").write_text("#!/bin/sh\nexit 1\n")
        (self.folder / "sbatch").chmod(0o755)
        done = self.call(*self.LEGAL, "--out", str(self.out), PATH=str(self.folder))
        self.assertEqual(done.returncode, 2)
        self.assertIn("holds a campaign of merge", done.stderr)


class Plans(Folder):
    def test_a_damaged_plan_is_one_line(self):
        self.write_plan()
        for text in ("", "[]", "{", '{"campaign": 1}', "[" * 100000):
            (self.out / "campaign.json").write_text(text)
            with self.assertRaises(plan.CampaignError) as error:
                plan.read_plan(self.out)
            self.assertEqual(error.exception.code, 2)
            self.assertNotIn("\n", str(error.exception))

    def test_a_plan_is_a_regular_file_and_its_name_is_shown_as_text(self):
        self.write_plan()
        file = self.out / "campaign.json"
        for kind in ("pipe", "device", "sparse", "folder"):
            file.rmdir() if file.is_dir() else file.unlink()
            {"pipe": lambda: os.mkfifo(file), "device": lambda: file.symlink_to("/dev/zero"), "folder": file.mkdir,
             "sparse": lambda: (file.touch(), os.truncate(file, 8 << 40))}[kind]()
            done = self.call("--status", str(self.out))
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), kind + done.stderr)
            self.assertIn("campaign.json: must be a regular file", done.stderr)
        done = self.call("--status", str(self.folder / "a\x1b[2J\n\u202e"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("a?[2J??: no campaign.json", done.stderr)

    def test_a_failed_write_leaves_the_old_text(self):
        self.write_plan()
        before = (self.out / "campaign.json").read_text()
        with self.assertRaises(TypeError):
            plan.write_json(self.out / "campaign.json", {"value": object()})
        self.assertEqual((self.out / "campaign.json").read_text(), before)
        self.assertEqual([file.name for file in self.out.iterdir()], ["campaign.json"])

    def test_every_shard_round_and_attempt_has_its_own_seed(self):
        one = self.write_plan()
        seeds = {shard.seed_of(dict(one, round=turn), index, restart) for turn in (1, 2) for index in range(50) for restart in range(5)}
        self.assertEqual(len(seeds), 500)
        self.assertTrue(all(0 < seed < 2**31 for seed in seeds))


class Tasks(Folder):
    """One task without Slurm around it; a shell script stands for the launcher."""

    def start(self, script, index=0, **changes):
        launcher = self.folder / "launcher"
        launcher.write_text(f"#!/bin/sh\necho \"$@\" >>{self.folder}/calls\n{script}\n")
        launcher.chmod(0o755)
        if not (self.out / "campaign.json").exists():
            self.write_plan(flashproof=str(launcher), **changes)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
        process = subprocess.Popen([sys.executable, "-B", str(HERE / "cluster" / "shard.py"), str(self.out)], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, env=dict(environment, SLURM_ARRAY_TASK_ID=str(index)))
        for step in (process.stdout.close, process.wait, process.kill):  # the last one first
            self.addCleanup(step)
        return process

    def task(self, index=0):
        return json.loads((self.out / f"shard-{index}" / "task.json").read_text())

    def calls(self):
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / "calls").read_text().splitlines()
        return []

    def wait_for(self, condition):
        end = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_exit_codes(self):
        for index, (code, state, exits) in enumerate(((0, "done", 0), (1, "findings", 1), (2, "failed", 2), (75, "failed", 3), (3, "failed", 3))):
            self.assertEqual(self.start(f"exit {code}", index, shards=9).wait(20), exits)
            self.assertEqual((self.task(index)["state"], self.task(index)["code"]), (state, code))
            (self.folder / "launcher").unlink()
        self.assertIn("--shard 0/9", self.calls()[0])
        self.assertTrue(self.calls()[0].startswith("--no-build fuzz softmax "))

    def test_term_ends_in_a_saved_state(self):
        process = self.start("trap 'exit 0' TERM; while :; do sleep 0.1; done")
        self.wait_for(self.calls)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 0)
        self.assertEqual(self.task()["state"], "stopped")

    def test_a_second_attempt_has_what_is_left_of_the_time(self):
        process = self.start("sleep 2; exit 3")
        self.assertEqual(process.wait(20), 3)
        self.assertEqual(self.start("exit 0").wait(20), 0)
        seconds = [int(call.split("--seconds ")[1].split()[0]) for call in self.calls()]
        self.assertEqual(seconds[0], 20)
        self.assertTrue(16 <= seconds[1] <= 18, seconds)

    def test_the_older_attempt_stops_for_the_newer(self):
        older = self.start("exec sleep 60")
        self.wait_for(self.calls)
        newer = self.start("exec sleep 60")
        self.assertEqual(older.wait(20), 0)
        self.assertIn("a newer attempt owns the shard", older.stdout.read())
        self.assertIsNone(newer.poll())
        self.assertEqual(len(self.calls()), 1, "the newer one must wait for the older")
        newer.kill()

    def test_a_killed_task_takes_its_fuzzer_with_it(self):
        process = self.start(f"trap ': >{self.folder}/saved; exit 0' TERM; while :; do sleep 0.1; done")
        self.wait_for(self.calls)
        process.kill()
        self.wait_for((self.folder / "saved").exists)


class Archives(Folder):
    def archive(self):
        connection = sqlite3.connect(self.folder / "archive.sqlite", isolation_level=None)
        self.addCleanup(connection.close)
        connection.executescript("PRAGMA journal_mode=WAL; CREATE TABLE elites(ratio); CREATE TABLE findings(x); CREATE TABLE hits(hits);"
                                 "CREATE TABLE runs(executions, seconds); INSERT INTO elites VALUES (0.5), (0.75); INSERT INTO hits VALUES (3)")
        return connection

    def test_what_is_only_in_the_log_is_read_and_nothing_is_touched(self):
        connection = self.archive()
        files = {file.name: file.read_bytes() for file in self.folder.iterdir() if not file.name.endswith("-shm")}
        self.assertIn("archive.sqlite-wal", files)
        found = totals.read(self.folder / "archive.sqlite")
        self.assertEqual((found["elites"], found["worst"], found["hits"], found["executions"]), (2, 0.75, 3, 0))
        self.assertEqual(files, {file.name: file.read_bytes() for file in self.folder.iterdir() if not file.name.endswith("-shm")})
        connection.execute("INSERT INTO elites VALUES (0.9)")
        self.assertEqual(totals.read(self.folder / "archive.sqlite")["worst"], 0.9)

    def test_a_damaged_archive_is_said_not_thrown(self):
        (self.folder / "archive.sqlite").write_bytes(b"no database" * 100)
        self.assertIn("archive.sqlite", totals.read(self.folder / "archive.sqlite"))
        self.assertIsNone(totals.read(self.folder / "none.sqlite"))


class Status(Folder):
    def test_states_without_a_queue(self):
        value = self.write_plan()
        for task, queue, state in (({}, {}, "never ran"), ({"round": 1, "state": "running", "node": "a"}, {}, "lost"),
                                   ({"round": 1, "state": "done", "node": "a"}, {}, "done"),
                                   ({"round": 0, "state": "done", "node": "a"}, {}, "never ran"),
                                   ({"round": 1, "state": "done", "node": "a"}, {0: ("running", "b", "None")}, "running"),
                                   ({"round": 1, "state": "running", "node": "a"}, None, "running")):
            self.assertEqual(status.state_of(0, value, task, queue)[0], state)

    def test_squeue_is_read_as_it_writes(self):
        program = self.folder / "squeue"
        program.write_text("#!/bin/sh\necho 'fp|3|RUNNING|n1|None'\necho 'fp-merge|N/A|PENDING||Dependency'\n")
        program.chmod(0o755)
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = f"{self.folder}:{path}"
        self.assertEqual(slurm.queue("fp"), {3: ("running", "n1", "None"), "merge": ("pending", "", "Dependency")})
        program.write_text("#!/bin/sh\necho 'cannot connect' >&2\nexit 1\n")
        with self.assertRaises(plan.CampaignError) as error:
            slurm.queue("fp")
        self.assertEqual(error.exception.code, 3)


if __name__ == "__main__":
    KNOWN = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
