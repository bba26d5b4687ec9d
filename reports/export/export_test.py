"""Runs exported scripts as a stranger would: python3 in another folder, nothing but NumPy (and PyTorch, if it is there).

    python3 export_test.py FLASHPROOF_CLI [--nightly]

What it asks of every case: with the recorded output the script says what flashproof says of the worst element and exits
accordingly; with the exact values it exits 0; the plain formula in `kernel`, written from the semantics and in doubles, is
right too, which tests both it and the truth. Exits 77 without NumPy: then nothing was tested.
"""

import ast
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: no NumPy (Debian: python3-numpy)")
    sys.exit(77)

CLI = ""
NIGHTLY = "--nightly" in sys.argv
SOFTMAX = ("softmax.online_two_pass.published", "softmax.naive.published", "softmax.online_two_pass.hardened")
MERGE = ("merge.pairwise_naive.published", "merge.ring_update.published", "merge.nway.hardened")
ATTENTION = ("attention.online_element.published", "attention.online_chunk.hardened", "attention.deferred.hardened")
# A case, the kernel, and whether flashproof finds fault with it.
JUDGED = (
    ("softmax:mask_first_tile:0:format=f32", SOFTMAX[0], True),
    ("softmax:overflow_edge:0:format=f16", SOFTMAX[1], True),
    ("softmax:normal:3:cols=64,format=bf16", SOFTMAX[2], False),
    ("merge:mask_first_tile:0:format=f32", MERGE[0], True),
    ("merge:lse_gaps:0:format=f32", MERGE[1], True),
    ("merge:normal:1:format=f16", MERGE[2], False),
    ("attention:mask_first_tile:0:format=f32", ATTENTION[0], True),
    ("attention:max_window:1:format=f16", ATTENTION[0], True),
    ("attention:normal:2:format=bf16", ATTENTION[1], False),
    ("attention_backward:normal:2:format=f32,mode=stage", "attention_backward.two_kernels.hardened", False),
    ("attention_backward:normal:3:format=f32,mode=gradient", "attention_backward.broken.delta_not_subtracted", True),
    ("attention_backward:normal:1:format=f16,mode=gradient", "attention_backward.two_kernels.hardened", False),
)


def run(*command, folder="/"):
    return subprocess.run([str(c) for c in command], cwd=folder, capture_output=True, text=True, timeout=300)


class Exported(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = pathlib.Path(self.folder.name)

    def export(self, *arguments, code=0):
        done = run(CLI, "export", *arguments, "--out", self.out)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}")
        return done

    def script(self, *arguments):
        return run(sys.executable, "-B", self.out / "reproduce.py", *arguments)

    def outputs(self, source):
        """Exit code, elements wrong, of how many, and the numbers of the worst one."""
        done = self.script(source)
        self.assertEqual(done.stderr, "", source)
        said = re.fullmatch(r"(\w+): (\d+) of (\d+) elements wrong; worst: (.*)\n", done.stdout)
        self.assertIsNotNone(said, done.stdout)
        return done.returncode, int(said[2]), int(said[3]), said[4]

    def test_says_what_flashproof_says(self):
        for case, kernel, fails in JUDGED:
            with self.subTest(case=case, kernel=kernel):
                said = self.export(case, "--kernel", kernel).stdout
                self.assertEqual(said.startswith("fail("), fails, said)
                code, wrong, total, worst = self.outputs("recorded")
                self.assertEqual(code, 1 if fails else 0, worst)
                self.assertEqual(wrong > 0, fails)
                # The last line: "o[35]: error E, U ulp, R of its bound". Of a NaN flashproof's error is inf, as the script's.
                theirs = re.search(r"    (\w+)\[(\d+)\]: (error .*)\n$", said)
                mine = re.fullmatch(r"(\w+)\[([\d, ]*)\]: .*, (error .*)", worst)
                self.assertIsNotNone(mine, worst)
                place = np.ravel_multi_index([int(i) for i in mine[2].split(",")], self.shape(mine[1]))
                self.assertEqual((mine[1], place, mine[3]), (theirs[1], int(theirs[2]), theirs[3]))

    def test_the_exact_values_and_the_plain_formula_are_right(self):
        for case, kernel, _ in JUDGED:
            with self.subTest(case=case, kernel=kernel):
                self.export(case, "--kernel", kernel)
                for source in ("exact", "kernel"):
                    self.assertEqual(self.outputs(source)[:2], (0, 0), (source, self.outputs(source)))

    @unittest.skipUnless(NIGHTLY, "some hundred scripts: nightly")
    def test_the_plain_formula_agrees_with_the_truth_of_every_family(self):
        families = json.loads(run(CLI, "list", "families", "--json").stdout)
        tried = 0
        for family in families:
            name = family["name"]
            for problem, kernels in (("softmax", SOFTMAX[2:]), ("merge", MERGE[2:]), ("attention", ATTENTION[1:2]),
                                     ("attention_backward", ["attention_backward.fused.hardened"])):
                case = f"{problem}:{name}:{len(name) % 4}:format=f32"
                done = run(CLI, "export", case, "--kernel", kernels[0], "--out", self.out)
                if done.returncode == 2:  # not this problem's family, or not this kernel's
                    done = run(CLI, "export", case, "--out", self.out)
                    if done.returncode == 2:
                        continue
                tried += 1
                with self.subTest(case=case):
                    for source in ("exact", "kernel"):
                        self.assertEqual(self.outputs(source)[:2], (0, 0), (source, self.outputs(source)))
        self.assertGreater(tried, 100)

    def test_a_wrong_output_is_wrong(self):
        self.export("attention:normal:2:format=f32", "--kernel", ATTENTION[1])
        path = self.out / "reproduce.py"
        text = path.read_text()
        for old, new in (("p.sum()", "(p.sum() * 1.01)"), ("s.max() + np.log", "np.log"), ("SCALE * ", "1.001 * SCALE * "),
                         ("see = (s != -np.inf)", "see = (s != -np.inf) & (np.arange(len(s)) != 0)")):
            self.assertIn(old, text)
            path.write_text(text.replace(old, new))
            self.assertEqual(self.outputs("kernel")[0], 1, new)

        path.write_text(text.replace("return o, lse", "return o[..., :1], lse"))
        done = self.script()
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("AssertionError: ('o', (", done.stderr)
        for returned, word in (("return (o,)", "('lse', ()"), ("return o, lse, o", "KeyError: 'None.exact'")):
            path.write_text(text.replace("return o, lse", returned))
            done = self.script()
            self.assertEqual((done.returncode, done.stdout), (1, ""), returned)
            self.assertIn(word, done.stderr)

    def test_is_short(self):
        for case, kernel, _ in JUDGED:
            if case.split(":")[1:] != ["mask_first_tile", "0", "format=f32"]:
                continue
            with self.subTest(case=case):
                self.export(case, "--kernel", kernel)
                self.assertLessEqual(len((self.out / "reproduce.py").read_text().splitlines()), 49)

    def test_a_witness_needs_no_options(self):
        run(CLI, "report", "--quick", "--kernel", MERGE[0], "--family", "mask_first_tile", "--format", "f32", "--out",
            self.out / "report")
        witness = self.out / "report/witnesses" / (MERGE[0] + ".f32.mask_first_tile.safetensors")
        self.assertTrue(witness.exists())
        self.assertIn("fail(class_mismatch)", self.export(witness).stdout)
        self.assertEqual(self.outputs("recorded")[0], 1)

    def test_without_a_kernel_classes_and_a_limit_of_ones_own(self):
        self.export("attention:normal:2:format=bf16")
        self.assertEqual(self.outputs("kernel")[:2], (0, 0))
        done = self.script("recorded")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        path = self.out / "reproduce.py"
        path.write_text(path.read_text().replace('LIMIT_ULP = float("inf")', "LIMIT_ULP = 0.4"))
        self.assertEqual(self.outputs("kernel")[0], 1)  # roundings reach half an ulp

    def test_the_torch_script(self):
        self.export("attention:sink:0:format=bf16", "--kernel", ATTENTION[1], "--python", "torch")
        path = self.out / "reproduce.py"
        ast.parse(path.read_text())
        self.assertNotIn("np.", path.read_text())
        try:
            import torch  # noqa: F401
        except ImportError:
            self.skipTest("no PyTorch: its scripts were parsed, not run")
        for case, kernel, fails in JUDGED if NIGHTLY else JUDGED[::4]:  # a start of PyTorch takes seconds
            with self.subTest(case=case, kernel=kernel):
                self.export(case, "--kernel", kernel, "--python", "torch")
                self.assertEqual(self.outputs("recorded")[0], 1 if fails else 0)
                for source in ("exact", "kernel"):
                    self.assertEqual(self.outputs(source)[:2], (0, 0), (source, self.outputs(source)))

    def test_refuses_in_one_line(self):
        case = "attention:normal:2:format=bf16"
        for arguments in (["no.safetensors"], ["attention:nowhere:0"], [case, "--kernel", "softmax.naive.published"],
                          [case, "--kernel", "attention.*"], [case, "--kernel", "none"], [case, "--python", "ruby"],
                          [case, "--exec", "all"], [case, "--schedule", "x"], [case, "--kernel", ATTENTION[0], "--math", "fast"]):
            with self.subTest(arguments=arguments):
                done = self.export(*arguments, code=2)
                self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), done.stderr)
        (self.out / "file").write_text("mine")
        done = run(CLI, "export", case, "--out", self.out / "file")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
        self.assertEqual((self.out / "file").read_text(), "mine")

    def shape(self, name):
        raw = (self.out / "reproduction.safetensors").read_bytes()
        return json.loads(raw[8:8 + int.from_bytes(raw[:8], "little")])[name + ".exact"]["shape"]


if __name__ == "__main__":
    if NIGHTLY:
        sys.argv.remove("--nightly")
    CLI = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
