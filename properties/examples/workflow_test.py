"""Is github-actions.yml what it says: well-formed, its commands there, its packages the project's own?

    workflow_test.py check WORKFLOW PACKAGES BUILD    reports/launcher/packages.txt; a configured build folder
    workflow_test.py controls WORKFLOW PACKAGES BUILD does check refuse each of CONTROLS?
    workflow_test.py run WORKFLOW FOLDER                 steps Build and Test in FOLDER, then: is there what is uploaded?

The parser here takes the part of YAML that the file uses, and nothing else; where PyYAML is installed, it must agree.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# One place of the file each, and what somebody might leave there by mistake.
CONTROLS = [
    ("      - name: Test\n", "     - name: Test\n"),
    ("        run: |\n          ctest", "        run: |\n\t  ctest"),
    ("        run: |\n          ctest", "        run: |\n          ctests"),
    ("    container: debian:12\n", "    container: debian:12\n    container: debian:12\n"),
    ("        if: always()\n", "        if: failure()\n"),
    (" libmpfi-dev", ""),
    ("--target flashproof_property_driver", "--target flashproof_driver"),
    ("--preset cpu", "--preset gpu"),
    ('"$(nproc)"', '"$(nproc)'),
    ("uses: actions/cache@v4", "use: actions/cache@v4"),
]


def fail(text):
    sys.exit("workflow_test: " + text)


def scalar(text, line):
    text = re.sub(r"\s+#.*$", "", text).strip()
    if text.startswith("[") and text.endswith("]"):
        return [scalar(item, line) for item in text[1:-1].split(",")]
    if re.search(r"^[&*!|>%@`\"'{\[]|: |:$", text):
        fail(f"line {line}: {text!r} is outside the YAML that this test reads")
    return int(text) if re.fullmatch(r"[0-9]+", text) else text


class Parser:
    def __init__(self, text):
        if "\t" in text:
            fail("a tab: YAML indents with spaces")
        self.raw = text.split("\n")
        self.at = 0

    def skip(self):
        while self.at < len(self.raw) and re.fullmatch(r"\s*(#.*)?", self.raw[self.at]):
            self.at += 1

    def indent(self):
        self.skip()
        return -1 if self.at == len(self.raw) else len(self.raw[self.at]) - len(self.raw[self.at].lstrip())

    def block_scalar(self, outer):
        lines = []
        while self.at < len(self.raw):
            line = self.raw[self.at]
            if line.strip() and len(line) - len(line.lstrip()) <= outer:
                break
            lines.append(line)
            self.at += 1
        while lines and not lines[-1].strip():
            lines.pop()
        if not lines:
            fail(f"line {self.at}: an empty block")
        margin = len(lines[0]) - len(lines[0].lstrip())
        if any(line.strip() and line[:margin].strip() for line in lines):
            fail(f"line {self.at}: a block that is indented less than its first line")
        return "\n".join(line[margin:] for line in lines) + "\n"

    def value(self, outer):
        """A mapping or a list, indented more than `outer`."""
        indent = self.indent()
        if indent <= outer:
            fail(f"line {self.at + 1}: a key without a value")
        is_list = self.raw[self.at].lstrip().startswith("- ")
        result = [] if is_list else {}
        while self.indent() == indent:
            line = self.raw[self.at]
            if is_list:
                if not line.lstrip().startswith("- "):
                    fail(f"line {self.at + 1}: a list item expected")
                self.raw[self.at] = line.replace("- ", "  ", 1)
                result.append(self.value(indent))
                continue
            match = re.fullmatch(r"\s*([A-Za-z_-]+):(?:\s+(.*))?", line)
            if not match:
                fail(f"line {self.at + 1}: neither a key nor a list item: {line!r}")
            key, text = match.group(1), match.group(2) or ""
            if key in result:
                fail(f"line {self.at + 1}: {key} twice")
            self.at += 1
            if text == "|":
                result[key] = self.block_scalar(indent)
            elif not text or text.startswith("#"):
                result[key] = self.value(indent)
            else:
                result[key] = scalar(text, self.at)
        if self.indent() > indent:
            fail(f"line {self.at + 1}: indented further than its neighbours")
        return result


def read(path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    workflow = Parser(text).value(-1)
    try:
        import yaml
    except ImportError:
        print("PyYAML is not installed: the file was read by the parser of this test alone")
    else:
        theirs = yaml.safe_load(text)
        theirs = {"on" if key is True else key: value for key, value in theirs.items()}  # YAML 1.1's boolean
        if theirs != workflow:
            fail(f"PyYAML reads something else:\n{theirs}\n{workflow}")
    (job,) = workflow["jobs"].values()
    return {step["name"]: step for step in job["steps"]}


def commands(script):
    """The first word of every command line of a step."""
    joined = script.replace("\\\n", " ")
    return [line.split()[0] for line in joined.split("\n") if line.strip()]


def check(workflow, packages, build):
    steps = read(workflow)
    for name, step in steps.items():
        if ("run" in step) == ("uses" in step):
            fail(f"step {name}: either run or uses")
        if "uses" in step and not re.fullmatch(r"actions/[a-z-]+@v[0-9]+", step["uses"]):
            fail(f"step {name}: uses {step['uses']}")
        if "run" in step:
            subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)
            for command in commands(step["run"]):
                if shutil.which(command) is None and not (command == "apt-get" and shutil.which("dpkg") is None):
                    fail(f"step {name}: there is no command {command}")
    if steps["Keep JUnit and witnesses"]["if"] != "always()":
        fail("a failed run keeps nothing")

    listed = pathlib.Path(packages).read_text(encoding="utf-8")
    needed = set(re.findall(r"(?m)^build +(\S+)", listed))
    installed = steps["Packages"]["run"].replace("\\\n", " ").split(" -y ")[1].split()
    if set(installed) != needed | {"ca-certificates", "git"}:
        fail(f"packages: not those of {packages}: {sorted(set(installed) ^ needed)}")

    target = re.search(r"--target (\S+)", steps["Install flashproof"]["run"]).group(1)
    targets = subprocess.run(["cmake", "--build", build, "--target", "help"], capture_output=True, text=True, check=True)
    if not re.search(rf"(^|\s){target}(:|\s|$)", targets.stdout):
        fail(f"there is no target {target}")
    preset = re.search(r"--preset (\S+)", steps["Install flashproof"]["run"]).group(1)
    root = pathlib.Path(packages).resolve().parents[2]
    presets = subprocess.run(["cmake", "--list-presets"], cwd=root, capture_output=True, text=True, check=True)
    if f'"{preset}"' not in presets.stdout:
        fail(f"there is no preset {preset}")


def controls(workflow, packages, build):
    check(workflow, packages, build)  # else the controls would be refused for another reason
    text = pathlib.Path(workflow).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        changed = pathlib.Path(folder) / "changed.yml"
        for old, new in CONTROLS:
            if text.count(old) != 1:
                fail(f"control {old!r}: there {text.count(old)} times, not once")
            changed.write_text(text.replace(old, new), encoding="utf-8")
            arguments = [sys.executable, "-B", __file__, "check", changed, packages, build]
            if subprocess.run(arguments, capture_output=True, text=True).returncode == 0:
                fail(f"{new!r} in place of {old!r} was accepted")


def run(workflow, folder):
    steps = read(workflow)
    for name in ("Build", "Test"):
        print(f"== {name}", flush=True)
        script = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", steps[name]["run"]], cwd=folder)
        if script.returncode != 0:
            fail(f"step {name}: exit {script.returncode}")
    for path in steps["Keep JUnit and witnesses"]["with"]["path"].split():
        if not (pathlib.Path(folder) / path).exists():
            fail(f"{path} is to be kept, and is not there")


if __name__ == "__main__":
    if sys.argv[1:2] == ["check"] and len(sys.argv) == 5:
        check(*sys.argv[2:])
    elif sys.argv[1:2] == ["controls"] and len(sys.argv) == 5:
        controls(*sys.argv[2:])
    elif sys.argv[1:2] == ["run"] and len(sys.argv) == 4:
        run(*sys.argv[2:])
    else:
        fail(__doc__)
