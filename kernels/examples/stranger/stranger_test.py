"""The steps of README.md, as they stand there: how many lines change, that nvcc takes the original, what the laws say at each step.

    python3 stranger_test.py FOLDER PORTED FIXED [NVCC]
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

MOST_LINES = 10


def changed(diff):
    """Lines that the diff adds or changes: a line taken away is one of them, or its successor is."""
    lines = diff.read_text().split("\n")
    added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    return max(added, removed)


def run(program, *options):
    done = subprocess.run([program, "--program", "p", "--cases", "3", *options], capture_output=True, text=True, timeout=250)
    return done.returncode, done.stdout


class Stranger(unittest.TestCase):
    def test_the_port_changes_few_lines(self):
        self.assertLessEqual(changed(FOLDER / "1-port.diff"), MOST_LINES)
        self.assertLessEqual(changed(FOLDER / "2-fix.diff"), 2)

    def test_the_document_shows_these_files(self):
        text = (FOLDER / "README.md").read_text()
        for name in ("1-port.diff", "2-fix.diff"):
            self.assertIn("```diff\n" + (FOLDER / name).read_text() + "```", text, name)

    def test_the_original_is_ordinary_cuda(self):
        text = (FOLDER / "row_softmax.cu").read_text()
        self.assertNotIn("#include \"", text)
        if not NVCC or NVCC.endswith("NOTFOUND"):
            self.skipTest("no nvcc")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([NVCC, "-arch=sm_90", "-c", FOLDER / "row_softmax.cu", "-o", pathlib.Path(folder) / "o"], check=True,
                           timeout=200)

    def test_the_laws_find_what_is_wrong_with_it(self):
        with tempfile.TemporaryDirectory() as folder:
            code, out = run(PORTED, "--law", "class_matches_semantics", "--out", folder)
        self.assertEqual(code, 1, out)
        self.assertIn("fail(class_mismatch)", out)
        self.assertIn("(shrunk to softmax f32: x (1, 1) = -inf)", out)

    def test_on_numbers_it_is_right_at_once(self):
        code, out = run(PORTED, "--law", "within_bound", "--family", "normal")
        self.assertEqual(code, 0, out)

    def test_fixed_it_passes_every_law(self):
        code, out = run(FIXED)
        self.assertEqual(code, 0, out)


if __name__ == "__main__":
    FOLDER, PORTED, FIXED = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    NVCC = sys.argv[4] if len(sys.argv) > 4 else ""
    unittest.main(argv=sys.argv[:1])
