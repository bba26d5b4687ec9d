"""Every file and every command of plugin.md, as a reader would: the files are written, the commands run in order.

    python3 plugin_guide_test.py ROOT FLASHPROOF_PLUGIN [NVCC]
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

# Those that exit with something else than 0. The CUDA one: on a machine without a GPU.
CODES = {"./flashproof check ./broken.so": 1, "./flashproof check ./my_kernel.so": 4}
REPLAYS = 1


class Guide(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.text = (ROOT / "reports/guides/plugin.md").read_text()
        shim = self.folder / "flashproof"
        shim.write_text(f'#!/bin/sh\nexec "{PROGRAM}" "$@"\n')
        shim.chmod(0o755)
        for name, body in re.findall(r"(?s)\n`([a-z_]+\.(?:c|cc|cu|toml))`:\n\n```[a-z]+\n(.*?)```", self.text):
            (self.folder / name).write_text(body)

    def commands(self):
        return re.findall(r"(?m)^\$ (.*)$", self.text)

    def run_command(self, command):
        told = command.replace("nvcc -O2 -arch=native", f"'{NVCC}' -O2 -arch=sm_90")
        return subprocess.run(["bash", "-c", told], cwd=self.folder, capture_output=True, text=True, timeout=280,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LC_ALL": "C.UTF-8", "FP": str(ROOT)})

    def test_every_command(self):
        outputs = {}
        for command in self.commands():
            if "my_kernel" in command and (not os.path.exists(NVCC) or shutil.which("nvidia-smi")):
                continue  # no compiler, or a GPU whose answer is another
            done = self.run_command(command)
            code = REPLAYS if " replay " in command else CODES.get(command, 0)
            self.assertEqual(done.returncode, code, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}")
            outputs[command] = done.stdout
        self.assertEqual(len(list(self.folder.glob("*.c*"))), 4)
        # What the document says that they say.
        right = outputs["./flashproof check ./my_softmax.so"]
        self.assertRegex(right, r"(?m)^PASS +1 kernel and format does what it declares")
        self.assertRegex(right, r"(?m)^tested +softmax\.mine\.cpu f32 of ")
        unfolded = re.sub(r"\n {11}", " ", right)
        self.assertRegex(unfolded, r"(?m)^not tested \d+ of \d+ input families: too little was decided there, ")
        self.assertRegex(unfolded, r'(?m)^narrower +the declaration may add "reduction": ')
        for reason in re.findall(r"\((?:o|lse): (\w+)\)", unfolded):
            self.assertIn(f"`{reason}`", (ROOT / "reports/guides/reading.md").read_text(encoding="utf-8"))
        self.assertRegex(right, r"(?m)^decided +o \d\d %, lse \d\d %, \d\d of \d\d families$")
        self.assertRegex(outputs["./flashproof check ./my_backward.so --quick"],
                         r"(?m)^decided +dq \d\d %, dk \d\d %, dv \d\d %, ")
        suggested = outputs["./flashproof suggest ./my_softmax.so --cases 1"]
        self.assertRegex(suggested, r"(?m)^FOUND softmax\.mine\.cpu f32: a declaration explains all of \d+ cases$")
        self.assertRegex(suggested, r'(?m)^  arithmetic = "?\{?[a-z ]+')
        self.assertRegex(outputs["./flashproof check ./my_softmax.so --declare mine.toml --quick"], r"(?m)^PASS ")
        # What is suggested passes every law, not only those that suggest was told of.
        pasted = re.search(r"(?m)^in a file for check --declare:\n((?:  .*\n)+)", suggested)[1]
        (self.folder / "suggested.toml").write_text(textwrap.dedent(pasted), encoding="utf-8")
        done = self.run_command("./flashproof check ./my_softmax.so --declare suggested.toml --quick")
        self.assertEqual(done.returncode, 0, f"{pasted}\n{done.stdout}\n{done.stderr}")
        broken = outputs["./flashproof check ./broken.so"]
        self.assertRegex(broken, r"(?m)^FAIL +\d+ causes of failure, in 1 of 1 kernel and format$")
        self.assertRegex(broken, r"(?m)^1 +softmax\.mine\.cpu f32: it computes as if no maximum were subtracted before the exponentials")
        self.assertIn("./flashproof replay softmax:near_ties:5:format=f32 --plugin ", broken)
        replayed = outputs["./flashproof replay softmax:near_ties:5:format=f32 --plugin ./broken.so"]
        self.assertRegex(replayed, r"(?m)^diagnosis +it computes as if no maximum were subtracted")
        self.assertIn("o[row 0, column 0]: computed nan", replayed)

    def test_no_warning_from_the_header(self):
        for compiler, name in (("cc -std=c11", "my_softmax.c"), ("cc -std=c11", "my_backward.c"), ("c++ -std=c++17", "my_attention.cc")):
            done = self.run_command(f'{compiler} -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$FP" {name}')
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    ROOT, PROGRAM = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
    NVCC = sys.argv[3] if len(sys.argv) > 3 else ""
    unittest.main(argv=sys.argv[:1])
