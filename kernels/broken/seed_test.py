#!/usr/bin/env python3
"""What seed.py makes of small faults, and what it refuses. usage: seed_test.py"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SEED = pathlib.Path(__file__).with_name("seed.py")
SOURCE = "kernels/softmax/row.h"
TEXT = "int m = 0;\n-- m;\nint d = 1;\nreturn d;\nint e = 2;\nreturn d;\n"
FIELDS = """id      softmax.broken.wrong
fault   F01
kernel  softmax.row.hardened
file    softmax/row
defect  d is 0
from    here
"""
HEAD = f"--- a/{SOURCE}\n+++ b/{SOURCE}\n"
HUNK = "@@\n-int d = 1;\n+int d = 0;\n"


class Seed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.out = self.root / "out"
        (self.root / SOURCE).parent.mkdir(parents=True)
        (self.root / SOURCE).write_text(TEXT)

    def seed(self, **faults):
        for name, text in faults.items():
            (self.root / f"{name}.diff").write_text(text)
        paths = [self.root / f"{name}.diff" for name in faults]
        return subprocess.run([sys.executable, "-B", SEED, self.root, self.out, *paths], capture_output=True, text=True)

    def changed(self, fault="wrong"):
        return (self.out / fault / SOURCE).read_text()

    def files(self):
        return {str(path.relative_to(self.out)) for path in self.out.rglob("*") if path.is_file()}

    def expect_seeded(self, **faults):
        done = self.seed(**faults)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def expect_refused(self, why, **faults):
        done = self.seed(**faults)
        self.assertEqual(done.returncode, 1)
        self.assertIn(why, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_applies(self):
        self.expect_seeded(wrong=FIELDS + HEAD + HUNK)
        self.assertEqual(self.changed(), TEXT.replace("d = 1", "d = 0"))
        self.assertEqual(self.files(),
                         {"faults.cc", "races.cc", "sources.txt", "unfit.txt", "wrong/wrong.cc", f"wrong/{SOURCE}"})
        self.assertIn('"softmax.broken.wrong"', (self.out / "faults.cc").read_text())
        self.assertEqual((self.out / "sources.txt").read_text(), SOURCE + "\n")

    def test_hunks_apply_one_after_the_other(self):
        self.expect_seeded(wrong=FIELDS + HEAD + HUNK + "@@\n int d = 0;\n-return d;\n")
        self.assertEqual(self.changed(), "int m = 0;\n-- m;\nint d = 0;\nint e = 2;\nreturn d;\n")

    def test_a_removed_line_may_look_like_the_head_of_a_file(self):
        self.expect_seeded(wrong=FIELDS + HEAD + "@@\n int m = 0;\n--- m;\n int d = 1;\n")
        self.assertEqual(self.changed(), TEXT.replace("-- m;\n", ""))

    def test_leaves_out_what_the_kernel_has_no_lines_for(self):
        self.expect_seeded(wrong=FIELDS + HEAD + HUNK)
        self.assertEqual((self.out / "unfit.txt").read_text(), "every fault applies\n")
        for hunk, times in (("@@\n-int d = 7;\n+int d = 0;\n", 0), ("@@\n-return d;\n", 2)):
            self.expect_seeded(wrong=FIELDS + HEAD + hunk, good=FIELDS.replace("broken.wrong", "broken.good") + HEAD + HUNK)
            self.assertIn(f"wrong: the old lines of a hunk stand {times} times in {SOURCE}, must stand once:\n{hunk[4:]}"
                          .split("\n+", maxsplit=1)[0], (self.out / "unfit.txt").read_text())
            self.assertFalse((self.out / "wrong").exists())
            self.assertNotIn("broken.wrong", (self.out / "faults.cc").read_text())
            self.assertIn("broken.good", (self.out / "faults.cc").read_text())
            self.assertEqual((self.out / "sources.txt").read_text(), SOURCE + "\n")

    def test_refuses_a_diff_of_no_file(self):
        self.expect_refused("wrong: no file kernels/none.h", wrong=FIELDS + HEAD.replace(SOURCE, "kernels/none.h") + HUNK)
        self.assertFalse(self.out.exists())

    def test_numbers_have_no_end(self):
        for number in ("F07", "F99", "F100", "F1234"):
            self.expect_seeded(wrong=FIELDS.replace("F01", number) + HEAD + HUNK)
            self.assertIn(f'.number = "{number}"', (self.out / "faults.cc").read_text())
        for number in ("F0", "F00", "F7", "F007", "G01", "F1x"):
            self.expect_refused("legal F01, F02", wrong=FIELDS.replace("F01", number) + HEAD + HUNK)

    def test_refuses_what_changes_nothing(self):
        self.expect_refused("wrong: changes nothing", wrong=FIELDS)
        self.expect_refused("changes nothing", wrong=FIELDS + HEAD + HUNK + "@@\n int e = 2;\n")
        self.expect_refused("changes nothing", wrong=FIELDS + HEAD + "@@\n-int d = 1;\n+int d = 1;\n")

    def test_refuses_fields_unknown_missing_or_twice(self):
        self.expect_refused("field 'colour', legal id, ", wrong=FIELDS + "colour  red\n" + HEAD + HUNK)
        self.expect_refused("field 'from' is missing", wrong=FIELDS.replace("from    here\n", "") + HEAD + HUNK)
        self.expect_refused("field 'fault' twice", wrong=FIELDS + "fault   F02\n" + HEAD + HUNK)
        self.expect_refused("id softmax.broken.wrong twice", wrong=FIELDS + HEAD + HUNK, other=FIELDS + HEAD + HUNK)

    def test_deletes_what_an_earlier_run_left(self):
        other = "kernels/softmax/other.h"
        (self.root / other).write_text("int o = 1;\n")
        self.expect_seeded(wrong=FIELDS + "shadow  yes\n" + HEAD + HUNK,
                           gone=FIELDS.replace("broken.wrong", "broken.gone") + HEAD + HUNK)
        self.assertIn("wrong/wrong_race.cc", self.files())
        self.expect_seeded(wrong=FIELDS + f"--- a/{other}\n+++ b/{other}\n@@\n-int o = 1;\n+int o = 2;\n")
        self.assertEqual(self.files(), {"faults.cc", "races.cc", "sources.txt", "unfit.txt", "wrong/wrong.cc", f"wrong/{other}"})
        self.assertFalse((self.out / "gone").exists())

    def test_writes_nothing_again_that_is_the_same(self):
        self.expect_seeded(wrong=FIELDS + HEAD + HUNK)
        before = {name: (self.out / name).stat().st_mtime_ns for name in self.files()}
        self.expect_seeded(wrong=FIELDS + HEAD + HUNK)
        self.assertEqual(before, {name: (self.out / name).stat().st_mtime_ns for name in self.files()})

    def test_deletes_nothing_in_a_folder_of_others(self):
        self.out.mkdir()
        (self.out / "letter.txt").write_text("dear")
        self.expect_refused("holds what this program did not write", wrong=FIELDS + HEAD + HUNK)
        self.assertEqual(self.files(), {"letter.txt"})


if __name__ == "__main__":
    unittest.main()
