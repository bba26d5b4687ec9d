"""findings/reproduce.py without any of the libraries: an entry for every folder, functions that exist, what it says of a wrong NAME, and that it judges
the outputs that are expected or none.

    findings_test.py
"""

import builtins
import contextlib
import io
import json
import math
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent / "findings"
SCRIPT = FOLDER / "reproduce.py"
sys.path.insert(0, str(FOLDER.parents[2] / "python/public_kernels"))

import frame  # noqa: E402


def run(*words, **environment):
    return subprocess.run([sys.executable, "-B", SCRIPT, *words], capture_output=True, text=True, timeout=60, env={**os.environ, **environment})


class Findings(unittest.TestCase):
    def setUp(self):
        self.entries = runpy.run_path(str(SCRIPT), run_name="findings")["FINDINGS"]

    def test_every_folder_has_an_entry_and_every_entry_a_folder(self):
        folders = {p.name for p in FOLDER.iterdir() if p.is_dir() and p.name != "__pycache__"}
        self.assertEqual(set(self.entries), folders)
        self.assertGreaterEqual(len(folders), 20)
        listed = run("--list").stdout.splitlines()
        self.assertEqual([line.split("  ")[0] for line in listed], list(self.entries))
        for name, (what, _) in self.entries.items():
            self.assertTrue((FOLDER / name / "witness.safetensors").is_file(), name)
            expected = json.loads((FOLDER / name / "expected.json").read_text())
            every = [(o, i) for o in expected["outputs"] for i in range(math.prod(expected["shapes"][o]))]
            self.assertEqual([(e["output"], e["index"]) for e in expected["elements"]], every, name)
            self.assertTrue(every, name)
            self.assertTrue(what, name)

    def test_entries_call_what_there_is(self):
        for name, (_, make) in self.entries.items():
            self.assertTrue(make.__code__.co_names, name)
            for used in make.__code__.co_names:
                self.assertTrue(callable(make.__globals__.get(used)) and not hasattr(builtins, used), f"{name}: {used}")

    def test_a_name_that_is_none_is_said_in_one_line(self):
        for words in ((), ("nope",), ("\x1b[2J\n",), ("../findings",), ("x" * 5000,)):
            done = run(*words)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), words)
            self.assertIn("must be one of --list", done.stderr)

    def test_what_could_not_be_run_is_no_finding(self):
        with tempfile.TemporaryDirectory() as folder:
            for library in ("numpy", "torch", "jax"):
                pathlib.Path(folder, library + ".py").write_text("raise ImportError('not here')\n")
            for name in self.entries:
                done = run(name, PYTHONPATH=folder)
                self.assertEqual((done.returncode, done.stdout), (3, ""), name)
                self.assertEqual(done.stderr, f"{name}: not judged: ImportError: not here\n")


class Tensor:
    """What frame.py asks of PyTorch's."""

    is_cuda = False

    def __init__(self, shape, *values):
        self.shape, self.values = shape, list(values)

    def detach(self):
        return self

    cpu = double = detach

    def reshape(self, _):
        return self

    def tolist(self):
        return self.values


def element(output, index, low, high, *classes):
    return {"output": output, "index": index, "exact": str(low), "low": str(low), "high": str(high), "classes": list(classes or ("finite",))}


EXPECTED = {"tensors": [], "arguments": {}, "outputs": ["o", "lse"], "shapes": {"o": [1, 2], "lse": [1]},
            "elements": [element("o", 0, 1.0, 2.0), element("o", 1, 0.0, 0.0, "nan"), element("lse", 0, 0.0, 0.0, "-inf")]}
NAN, INF = math.nan, math.inf
RIGHT = (Tensor((1, 2), 1.5, NAN), Tensor((1,), -INF))


class Judged(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "name"
        self.folder.mkdir()
        self.file("expected.json", json.dumps(EXPECTED).encode())
        self.file("witness.safetensors", (2).to_bytes(8, "little") + b"{}")

    def file(self, name, data):
        (self.folder / name).write_bytes(data)

    def reproduced(self, computed, device="cpu"):
        """(exit code, stdout, stderr)."""
        out, err = io.StringIO(), io.StringIO()
        inputs, frame.tensors = frame.tensors, lambda folder: {}
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                return frame.reproduce(self.folder, "torch", device, lambda: lambda: computed), out.getvalue(), err.getvalue()
        finally:
            frame.tensors = inputs

    def test_what_is_right_and_what_is_wrong(self):
        self.assertEqual(self.reproduced(RIGHT), (0, "0 of 3 elements are wrong, computed on the CPU\n", ""))
        for o, lse in (((2.5, NAN), -INF), ((NAN, NAN), -INF), ((INF, NAN), -INF), ((1.5, 0.0), -INF), ((1.5, INF), -INF), ((1.5, NAN), INF), ((1.5, NAN), 0.0)):
            code, text, said = self.reproduced((Tensor((1, 2), *o), Tensor((1,), lse)))
            self.assertEqual((code, said, text.count("WRONG")), (1, "", 1), (o, lse))
            self.assertIn("1 of 3 elements are wrong, computed on the CPU\n", text)

    def not_judged(self, answer, why):
        code, text, said = answer
        self.assertEqual((code, text, said.count("\n")), (3, "", 1), said)
        self.assertRegex(said, "^name: not judged: .*" + why)

    def test_any_legal_class_is_right_and_no_other(self):
        for classes, right, wrong in ((("finite", "nan"), (1.0, 2.0, NAN), (2.5, INF, -INF)), (("inf", "nan"), (INF, NAN), (1.5, -INF)), (("inf", "-inf"), (INF, -INF), (1.5, NAN))):
            one = {**EXPECTED, "outputs": ["o"], "shapes": {"o": [1]}, "elements": [element("o", 0, 1.0, 2.0, *classes)]}
            self.file("expected.json", json.dumps(one).encode())
            self.assertEqual([self.reproduced(Tensor((1,), value))[0] for value in (*right, *wrong)], [0] * len(right) + [1] * len(wrong), classes)
            said = " or ".join("1.0 to 2.0" if kind == "finite" else kind for kind in classes)
            self.assertIn(f"allowed {said}  WRONG", self.reproduced(Tensor((1,), wrong[0]))[1])

    def test_other_outputs_are_not_judged(self):
        o, lse = RIGHT
        for computed, why in ((o, "1 outputs, must be 2: o, lse"), ((o,), "1 outputs"), ((o, lse, lse), "3 outputs"), ((), "0 outputs"),
                              ((Tensor((1, 1), 1.5), lse), r"o is \[1, 1\], must be \[1, 2\]"), ((Tensor((2, 1), 1.5, NAN), lse), r"o is \[2, 1\]"),
                              ((Tensor((2,), 1.5, NAN), lse), r"o is \[2\]"), ((o, Tensor((), -INF)), r"lse is \[\], must be \[1\]"), ((o, None), "")):
            self.not_judged(self.reproduced(computed), why)

    def test_another_device_than_was_asked_for_is_not_judged(self):
        self.not_judged(self.reproduced(RIGHT, "cuda"), "computed on the CPU, must be on a GPU")

    def test_files_that_are_not_whole_are_not_judged(self):
        for name, data, why in (("witness.safetensors", None, "FileNotFoundError"), ("witness.safetensors", b"\xff" * 20, "UnicodeDecodeError"),
                                ("witness.safetensors", b"", "JSONDecodeError"), ("expected.json", b"{", "JSONDecodeError"), ("expected.json", None, "FileNotFoundError")):
            if data is None:
                (self.folder / name).unlink()
            else:
                self.file(name, data)
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = frame.reproduce(self.folder, "torch", "cpu", lambda: lambda: RIGHT)
            self.not_judged((code, out.getvalue(), err.getvalue()), why)
        self.file("expected.json", json.dumps({**EXPECTED, "shapes": {}}).encode())
        self.not_judged(self.reproduced(RIGHT), "KeyError")


if __name__ == "__main__":
    unittest.main()
