"""The recipes of CONTRIBUTING.md, followed to the letter in a copy of the tree.

    python3 contributing_test.py ROOT C++COMPILER              the copies and diffs are made, and what they bring is compiled
    python3 contributing_test.py ROOT C++COMPILER --nightly    the programs are built, too, and every command is run

All copies and diffs come first, so that one build has them all. A command exits 0, or as the comment behind it says.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

MOST_LINES = 120
MOST_LINES_OF_AN_EXAMPLE = 50
LEFT_OUT = shutil.ignore_patterns("build", "out", ".git", ".cuda", ".ccache", "__pycache__")


def recipes(text):
    """Of each fenced block what it is, diff or command, and its text: a diff as a whole, commands line by line."""
    for language, block in re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", text):
        if language == "diff":
            yield "diff", block
        else:
            yield from (("command", re.sub(r"^\$ ", "", line)) for line in block.splitlines())


class Contributing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name) / "tree"
        shutil.copytree(ROOT, self.tree, ignore=LEFT_OUT, symlinks=True)
        self.text = (ROOT / "CONTRIBUTING.md").read_text()
        self.later = []
        self.brought = []
        for kind, what in recipes(self.text):
            if kind == "diff":
                # No fuzz: a diff whose context is gone is a recipe that is out of date.
                self.run_in_tree(["patch", "-p1", "-F0", "--no-backup-if-mismatch"], what)
                self.brought += re.findall(r"(?m)^\+\+\+ b/(\S+\.cc)$", what)
            elif what.startswith("cp "):
                self.run_in_tree(["bash", "-c", what])
                source, to = what.split()[1:]
                self.brought.append(to + pathlib.Path(source).name)
            else:
                self.later.append(what)

    def run_in_tree(self, command, text=None, code=0, timeout=120):
        # The copies of a tree have their objects in common, where the compiler has a cache.
        environment = {**os.environ, "CCACHE_BASEDIR": str(self.tree), "CCACHE_NOHASHDIR": "1"}
        done = subprocess.run(command, cwd=self.tree, input=text, capture_output=True, text=True, timeout=timeout, env=environment)
        self.assertEqual(done.returncode, code, f"{command}\n{text or ''}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done.stdout

    def test_what_the_recipes_bring_compiles(self):
        self.assertGreaterEqual(len(self.brought), 4)  # of three recipes a file, of one a table
        for path in self.brought:
            with self.subTest(path):
                code = f'#include "{path}"\n'
                self.run_in_tree([COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas",
                                  "-Wno-missing-field-initializers", "-I.", "-x", "c++", "-"], code)

    def test_it_is_short_and_has_every_example(self):
        self.assertLess(self.text.count("\n"), MOST_LINES)
        self.assertEqual(re.findall(r"(?m)^## An? (.*)$", self.text), ["kernel", "law", "family of inputs", "declaration"])
        for example in (ROOT / "properties/examples/contributing").iterdir():
            self.assertIn(f"properties/examples/contributing/{example.name} ", self.text)
            self.assertLess(example.read_text().count("\n"), MOST_LINES_OF_AN_EXAMPLE, example)

    @unittest.skipUnless("--nightly" in sys.argv, "builds the programs: at night")
    def test_every_command_does_what_is_said(self):
        self.assertGreaterEqual(len(self.later), 7)
        for line in self.later:
            command, _, comment = line.partition("  # ")
            code = re.match(r"\s*exit (\d)", comment)
            command = command.strip().replace("./flashproof ", "./flashproof --no-install ")
            with self.subTest(command):
                print(command, flush=True)
                out = self.run_in_tree(["bash", "-c", command], code=int(code.group(1)) if code else 0, timeout=3000)
                print(out[-1500:], flush=True)


if __name__ == "__main__":
    ROOT, COMPILER = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    unittest.main(argv=sys.argv[:1])
