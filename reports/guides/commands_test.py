"""Runs every command of the documents, so that none says what does not work: what to do with each stands in commands.py.

    python3 commands_test.py ROOT FLASHPROOF_CLI PROPERTIES FUZZ_DRIVER FAKE_TARGET [--nightly]

A command is a line of a fenced block that begins with `$ `, ./flashproof, cmake, ctest, git, python3 or build/, or an inline `./flashproof ...`.
A command that commands.py does not know fails the test, and so does an entry that no document has.
"""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from commands import COMMANDS, Listed

SKIPPED_FOLDERS = {"build", "out", ".git", ".cuda", ".ccache", "tables"}
STARTS = r"(?:\$ |(?=\./flashproof |cmake |ctest |git |python3 |build/))"


def documents():
    for path in sorted(ROOT.rglob("*.md")):
        parts = path.relative_to(ROOT).parts
        if not SKIPPED_FOLDERS.intersection(parts[:-1]) and path.name != "CHANGELOG.md":
            yield path


def commands_of(text):
    """In order. Comments behind two spaces are not part of a command; a backslash at the end joins two lines."""
    found, fenced = [], False
    lines = iter(text.split("\n"))
    for line in lines:
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced and re.match(STARTS, line):
            while line.endswith("\\"):
                line = line[:-1].rstrip() + " " + next(lines).strip()
            found.append(re.sub(r"\s+#\s.*$", "", re.sub(r"^\$ ", "", line)).strip())
        elif not fenced:
            found += [c.strip() for c in re.findall(r"`(\./flashproof [^`]+)`", line)]
    return found


def output_of(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


class Commands(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # What the launcher does, without building: the program that a command belongs to.
        shim = self.folder / "flashproof"
        shim.write_text(
            "#!/bin/sh\n"
            f'if [ "$1" = properties ]; then shift; exec "{PROPERTIES}" --program ./flashproof --out out/properties "$@"; fi\n'
            f'if [ "$1" = fuzz ]; then shift; exec "{DRIVER}" fuzz --targets targets "$@"; fi\n'
            f'if [ "$1" = campaign ]; then shift; exec python3 -B "{ROOT}/fuzz/campaign/campaign.py" "$@" '
            f'--flashproof ./flashproof --driver "{DRIVER}"; fi\n'
            f'exec "{CLI}" "$@"\n')
        shim.chmod(0o755)
        for preset in ("cpu", "fuzz"):
            (self.folder / "build" / preset / "fuzz").mkdir(parents=True)
            (self.folder / "build" / preset / "fuzz" / "flashproof-fuzz").symlink_to(DRIVER)
        (self.folder / "targets").mkdir()
        for target in ("softmax", "attention"):
            (self.folder / "targets" / f"fuzz_{target}").symlink_to(FAKE_TARGET)
        waivers = re.search(r"(?s)```toml\n(\[\[waiver\]\].*?)```", (ROOT / "reports/guides/change.md").read_text())
        (self.folder / "waivers.toml").write_text(waivers.group(1))
        for side in ("base", "head"):  # as Google Benchmark writes it
            times = [{"name": "case/7", "run_name": "case/7", "run_type": "iteration", "repetitions": 20, "repetition_index": i,
                      "iterations": 9, "real_time": 10 + i * 7 % 20 / 100, "cpu_time": 10, "time_unit": "us"} for i in range(20)]
            (self.folder / f"{side}.json").write_text(json.dumps({"context": {"num_cpus": 2, "caches": []}, "benchmarks": times}))
        # The python of the documents is the one that runs this test.
        (self.folder / "python3").symlink_to(sys.executable)

    def missing(self, needs):
        if needs == "numpy" and importlib.util.find_spec("numpy") is None:
            return "no NumPy"
        if needs == "jsonschema" and importlib.util.find_spec("jsonschema") is None:
            return "no jsonschema"
        if needs == "checkout" and not (shutil.which("git") and (ROOT / ".git").exists() and ROOT.stat().st_uid == os.getuid()):
            return "no git checkout of this user's"
        if needs == "no GPU" and shutil.which("nvidia-smi") is not None:
            return "there may be a GPU"
        return ""

    def run_command(self, command, entry, where):
        told = entry.instead or command
        done = subprocess.run(["bash", "-c", told], cwd=self.folder, capture_output=True, text=True, timeout=300,
                              env={"PATH": f"{self.folder}:/usr/bin:/bin", "HOME": str(self.folder), "LC_ALL": "C.UTF-8"})
        self.assertEqual(done.returncode, entry.code, f"{where}: {told}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")

    def check_options(self, command, where):
        """Of what is not run: the command exists, and has these options."""
        words = command.split()
        options = {w.split("=")[0] for w in words if w.startswith("--")}
        if words[0].endswith("flashproof-fuzz"):
            text = output_of(DRIVER, "--help")
            self.assertRegex(text, rf"(?m)\b{re.escape(words[1])}\b", f"{where}: {command}")
        elif words[0] == "./flashproof":
            name = words[1]
            self.assertRegex(output_of("bash", ROOT / "flashproof", "--help"), rf"(?m)^  {re.escape(name)} ", f"{where}: {command}")
            programs = {"fuzz": (DRIVER, "fuzz"), "properties": (PROPERTIES,),
                        "campaign": (sys.executable, "-B", ROOT / "fuzz/campaign/campaign.py")}
            if name in ("check", "suggest") and any(word.endswith((".so", ".ptx")) for word in words):
                programs[name] = (CLI.parent / "plugin/flashproof-plugin", name)
            text = output_of(*programs.get(name, (CLI, name)), "--help")
            for option in options - {"--account"}:  # --account is Slurm's
                known = option if not option.startswith("--benchmark_") else "--benchmark_"
                self.assertIn(known.strip("[]"), text, f"{where}: {command}: {option}")

    def test_every_command_is_known(self):
        found = {c for path in documents() for c in commands_of(path.read_text())}
        self.assertGreater(len(found), 40)
        self.assertEqual(sorted(found - set(COMMANDS)), [], "in a document, not in commands.py")
        self.assertEqual(sorted(set(COMMANDS) - found), [], "in commands.py, in no document")

    def test_commands_are_found(self):
        text = "`./flashproof a`\n```\n$ b --c  # d\n./flashproof e \\\n   f\noutput\n```\n$ g\n"
        self.assertEqual(commands_of(text), ["./flashproof a", "b --c", "./flashproof e f"])

    def test_run_them(self):
        ran, listed, skipped = 0, [], []
        for path in documents():
            where = path.relative_to(ROOT)
            for command in dict.fromkeys(commands_of(path.read_text())):
                entry = COMMANDS.get(command)
                if entry is None:
                    continue  # the other test says so
                with self.subTest(document=str(where), command=command):
                    if isinstance(entry, Listed):
                        listed.append(f"{command}: {entry.why}")
                        self.check_options(command, where)
                        continue
                    why = self.missing(entry.needs) or ("" if NIGHTLY or not entry.nightly else "at night")
                    if why:
                        skipped.append(f"{command}: {why}")
                        continue
                    self.run_command(command, entry, where)
                    ran += 1
        print(f"{ran} commands run")
        for line in sorted(set(listed)):
            print("not run:", line)
        for line in sorted(set(skipped)):
            print("skipped:", line)
        self.assertGreater(ran, 50)


if __name__ == "__main__":
    NIGHTLY = "--nightly" in sys.argv
    ROOT, CLI, PROPERTIES, DRIVER, FAKE_TARGET = (pathlib.Path(a).resolve() for a in sys.argv[1:6])
    unittest.main(argv=sys.argv[:1])
