"""baseline.py without any program: two tiny dumps held against each other, and what it says of what it cannot use.

    baseline_test.py
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

import dump
import parts

OLD = {("about", "dump"): {"tier": "quick", "seed": "1"},
       ("check", "c_softmax"): {"exit": 0},
       ("report", "softmax.a f32 normal"): {"verdict": "pass", "terms": {"weights": 1.5, "output": 0.25}, "state": {"o": "aa"}},
       ("report", "softmax.b f32 normal"): {"verdict": "pass", "terms": None, "state": {"o": "bb"}}}


def changed(part, key, **fields):
    return {**OLD, (part, key): {**OLD[part, key], **fields}}


class Baseline(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, records):
        path = self.folder / name
        path.write_text(records if isinstance(records, str) else dump.text_of(records), encoding="utf-8")
        return path

    def run_script(self, *words):
        return subprocess.run([sys.executable, "-B", FOLDER / "baseline.py", *words], capture_output=True, text=True, timeout=60)

    def compared(self, new):
        return self.run_script("--read", self.file("new", new), "--against", self.file("old", OLD))

    def refused(self, code, text, *words):
        done = self.run_script(*words)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(text, done.stderr.splitlines()[-1])

    def test_the_same_is_the_same_in_any_order(self):
        done = self.compared(dict(reversed(OLD.items())))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), ["about: 0 of 1 records differ", "check: 0 of 1 records differ", "report: 0 of 2 records differ"])

    def test_a_changed_verdict_is_said_with_nothing_that_did_not_change(self):
        done = self.compared(changed("report", "softmax.a f32 normal", verdict="fail"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[2:], ["report: 1 of 2 records differ", '-report softmax.a f32 normal: verdict="pass"',
                                                        '+report softmax.a f32 normal: verdict="fail"'])

    def test_the_least_change_of_a_term_a_state_or_an_exit_code_is_one(self):
        for part, key, fields, said in (("report", "softmax.a f32 normal", {"terms": {"weights": 1.5000000000000002, "output": 0.25}}, "terms.weights=1.5000000000000002"),
                                        ("report", "softmax.b f32 normal", {"terms": {}}, "terms={}"), ("report", "softmax.b f32 normal", {"state": {"o": "bc"}}, 'state.o="bc"'),
                                        ("check", "c_softmax", {"exit": 4}, "exit=4"), ("check", "c_softmax", {"new": None}, "new=null")):
            done = self.compared(changed(part, key, **fields))
            self.assertEqual(done.returncode, 1, said)
            self.assertIn(said + "\n", done.stdout)

    def test_a_verdict_is_shown_however_much_else_has_changed(self):
        done = self.compared(changed("report", "softmax.a f32 normal", verdict="fail", state={"o": "x" * 400}, hashes={"a": "x" * 400}))
        self.assertRegex(done.stdout, r'(?m)^\+report softmax.a f32 normal: verdict="fail" .*…$')

    def test_a_record_that_is_gone_or_new_is_a_difference(self):
        gone = {k: v for k, v in OLD.items() if k[1] != "c_softmax"}
        done = self.compared(gone)
        self.assertEqual(done.returncode, 1)
        self.assertIn("check: 1 of 1 records differ\n-check c_softmax\n", done.stdout)
        self.assertIn("+check other\n", self.compared({**OLD, ("check", "other"): {"exit": 0}}).stdout)

    def test_forty_lines_at_most_shared_by_the_parts(self):
        many = {(part, f"{i:03}"): {"x": 0} for part in ("check", "report") for i in range(100)}
        text, differing = dump.compare(many, {key: {"x": "y" * 1000} for key in many})
        lines = text.splitlines()
        self.assertEqual(differing, 200)
        self.assertEqual(sum(line[0] in "-+" for line in lines), dump.MOST_LINES)
        self.assertEqual([sum(line.startswith("+" + part) for line in lines) for part in ("check", "report")], [10, 10])
        self.assertLessEqual(max(map(len, lines)), dump.MOST_WIDTH)

    def test_a_dump_is_read_as_it_was_written(self):
        self.assertEqual(dump.read(self.file("dump", OLD)), OLD)
        done = self.run_script("--read", self.file("dump", OLD))
        self.assertEqual((done.returncode, done.stdout), (0, dump.text_of(OLD)))

    def test_what_is_no_dump_is_refused_in_one_line(self):
        for text in ("", "x\n", "a\tb\t[1]\n", "a\tb\t{}\na\tb\t{}\n", "a\tb\t{\n", "a\tb\tc\t{}\n"):
            self.refused(2, "bad", "--against", self.file("bad", text), "--read", self.file("old", OLD))
        self.refused(2, "missing: cannot be read", "--against", self.folder / "missing")
        self.refused(2, "cannot be read", "--against", self.folder)
        other = self.file("whole", changed("about", "dump", tier="whole"))
        self.refused(2, "must be a quick dump", "--against", other, "--read", self.file("old", OLD))
        self.refused(2, "must be a whole dump", "--against", self.file("old", OLD))
        for number in ("0", "-1", "x", "5000", "1\n"):
            self.refused(2, "must be 1..4096", "--jobs", number)

    def test_a_missing_program_is_said_before_any_work(self):
        self.refused(3, "missing; cmake --build", "--quick", "--build", self.folder)

    def test_an_out_that_cannot_be_written_is_said_before_any_work(self):
        (self.folder / "loop").symlink_to("loop")
        for out, said in (("", "must be a regular file"), (self.folder, "must be a regular file"), ("/dev/null", "must be a regular file"),
                          (self.folder / "none" / "x", "No such file"), ("x" * 300, "File name too long"), (self.folder / "loop", "")):
            self.refused(2, "--out ", "--quick", "--build", self.folder, "--out", out)  # a missing program would be exit 3
            self.refused(2, said, "--quick", "--build", self.folder, "--out", out)

    def test_an_earlier_dump_stays_where_the_work_fails_and_is_replaced_where_it_does_not(self):
        old, link = self.file("old", OLD), self.folder / "link"
        link.symlink_to(old)
        self.refused(3, "missing; cmake", "--quick", "--build", self.folder, "--out", old)
        self.assertEqual(dump.read(old), OLD)
        new = changed("check", "c_softmax", exit=4)
        done = self.run_script("--read", self.file("new", new), "--out", link)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(dump.read(old), new)
        self.assertEqual({p.name for p in self.folder.iterdir()}, {"old", "new", "link"})
        self.assertEqual(old.stat().st_mode, (self.folder / "new").stat().st_mode)

    def test_a_key_of_two_processes_is_refused(self):
        self.assertEqual(parts.merged(({("a", "x"): {}}, {("a", "y"): {}, ("b", "x"): {}})), {("a", "x"): {}, ("a", "y"): {}, ("b", "x"): {}})
        with self.assertRaisesRegex(dump.Refused, "a: x: there twice"):
            parts.merged(({("a", "x"): {}}, {("a", "x"): {}}))

    def stub(self, body):
        """A build whose programs all run these lines of Python; `out` is the folder behind --out."""
        for name in (parts.CLI, parts.PROPERTIES, parts.RECORDS, *parts.PLUGINS):
            path = self.folder / "build" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#!{sys.executable}\nimport pathlib, shutil, sys\nif sys.argv[1:2] == ['render']:\n    sys.exit(shutil.copy(sys.argv[2], sys.argv[4]) and 0)\nout = pathlib.Path(sys.argv[sys.argv.index('--out') + 1])\nout.mkdir(parents=True)\n{body}\n")
            path.chmod(0o755)
        return "--build", self.folder / "build"

    def test_a_part_that_is_not_whole_is_an_error(self):
        run = '{"seed": 1, "tier": "quick", "cases": 0, "kernel_runs": 0, "partial": null}'
        few = self.stub(f"""(out / "report.json").write_text('{{"runs": [{run}], "records": [], "investigate": []}}')""")
        self.refused(3, "report: 1 records, must be at least 1650", "--quick", *few)
        self.refused(3, "report: 1 records, must be at least 7600", *few)
        self.refused(3, "report: not understood", "--quick", *self.stub("""(out / "report.json").write_text('{"records": []}')"""))
        odd = "{" + ", ".join(f'"{n}": "x"' for n in ("kernel", "format", "executor", "math", "family", "tensor", "what")) + "}"
        twice = self.stub(f"""(out / "report.json").write_text('{{"runs": [{run}], "records": [], "investigate": [{odd}, {odd}]}}')""")
        self.refused(3, "report: investigate x x x x x x x: there twice", "--quick", *twice)
        self.refused(3, "report: not understood: AttributeError", "--quick", *self.stub(f"""(out / "report.json").write_text('{{"runs": [{run}], "records": ["x"]}}')"""))
        self.refused(3, "report: not understood", "--quick", *self.stub("pass"))
        self.refused(3, "exit 3: it was interrupted", "--quick", *self.stub("print('it was interrupted', file=sys.stderr); sys.exit(3)"))
        self.refused(3, "exit -9: no word", "--quick", *self.stub("import os; os.kill(os.getpid(), 9)"))


if __name__ == "__main__":
    unittest.main()
