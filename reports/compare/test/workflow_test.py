"""Is compare-pull-request.yml what it says: well-formed, its command one that compare takes, its comment within GitHub's limit?

    workflow_test.py check WORKFLOW PROGRAM       PROGRAM: flashproof-cli
    workflow_test.py controls WORKFLOW PROGRAM    does check refuse each of CONTROLS?

The parser is the one of properties/examples/workflow_test.py.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "properties" / "examples"
sys.path.insert(0, str(EXAMPLES))
sys.dont_write_bytecode = True
import workflow_test  # noqa: E402

# One place of the file each, and what somebody might leave there by mistake.
CONTROLS = [
    ("      - name: Comment\n", "     - name: Comment\n"),
    ("--markdown out/compare.md", "--markdwon out/compare.md"),
    ("--gate out/policy.toml", "--gate properties/examples/compare-policy.toml"),
    ('git show "$BASE:', 'git show "$HEAD:'),
    ("compare-policy.toml\" >out", "policy.toml\" >out"),
    ("actions/github-script@v7", "actions/github-script@main"),
    ("  pull-requests: write\n", "  pull-requests: read\n"),
    ("          fetch-depth: 0\n", "          fetch-depth: 1\n"),
    ("readFileSync('out/compare.md'", "readFileSync('compare.md'"),
    ('cat out/compare.md >>"$GITHUB_STEP_SUMMARY"', 'cat out/compare.md >>"$GITHUB_STEP_SUMMARY'),
]
if shutil.which("node"):
    CONTROLS.append(("if (old) {", "if (old {"))


def fail(text):
    sys.exit("workflow_test: " + text)


def check(workflow, program):
    text = pathlib.Path(workflow).read_text(encoding="utf-8")
    whole = workflow_test.Parser(text).value(-1)
    if whole["permissions"] != {"contents": "read", "pull-requests": "write"}:
        fail("the permissions must be those that the comment needs, and no others")
    steps = workflow_test.read(workflow)
    for name, step in steps.items():
        if "uses" in step and not re.fullmatch(r"actions/[a-z-]+@v[0-9]+", step["uses"]):
            fail(f"step {name}: uses {step['uses']}: must be pinned by its major version")
        if "run" in step:
            subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)
    if steps["Both revisions"]["with"]["fetch-depth"] != 0:
        fail("the base revision is not fetched")

    line = next(line for line in steps["Compare"]["run"].split("\n") if line.startswith("./flashproof compare "))
    options = re.findall(r" (--[a-z-]+)", line.split('"$HEAD"')[1])
    known = subprocess.run([program, "compare", "--help"], capture_output=True, text=True, check=True).stdout
    for option in options:
        if not re.search(rf"(^|[\s,]){option}([\s,]|$)", known):
            fail(f"compare has no option {option}")
    policy = re.search(r"--gate (\S+)", line).group(1)
    source = re.search(rf'^git show "\$BASE:(\S+)" >{re.escape(policy)}$', steps["Compare"]["run"], re.MULTILINE)
    if not source:
        fail("the policy is not the base's: a request could loosen the rules that it is judged by")
    policy = EXAMPLES.parents[1] / source.group(1)
    markdown = re.search(r"--markdown (\S+)", line).group(1)
    # With --check the policy is read, and nothing else is done.
    subprocess.run([program, "compare", "A.json", "B.json", "--check", "--gate", policy], check=True)
    for name in ("Summary", "Comment", "Keep the comparison"):
        if not steps[name]["if"].startswith("always()"):
            fail(f"step {name}: a gate that fails would leave it out")
    script = steps["Comment"]["with"]["script"]
    if f"'{markdown}'" not in script or markdown not in steps["Summary"]["run"]:
        fail(f"{markdown} is not what is posted")
    if shutil.which("node"):  # an async function's body, as the action runs it
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "script.js"
            file.write_text("async function run(github, context) {\n" + script + "}\n", encoding="utf-8")
            subprocess.run(["node", "--check", file], check=True)


def controls(workflow, program):
    check(workflow, program)  # else the controls would be refused for another reason
    text = pathlib.Path(workflow).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        changed = pathlib.Path(folder) / "changed.yml"
        for old, new in CONTROLS:
            if text.count(old) != 1:
                fail(f"control {old!r}: there {text.count(old)} times, not once")
            changed.write_text(text.replace(old, new), encoding="utf-8")
            arguments = [sys.executable, "-B", __file__, "check", changed, program]
            if subprocess.run(arguments, capture_output=True, text=True).returncode == 0:
                fail(f"{new!r} in place of {old!r} was accepted")


if __name__ == "__main__":
    if sys.argv[1:2] == ["check"] and len(sys.argv) == 4:
        check(*sys.argv[2:])
    elif sys.argv[1:2] == ["controls"] and len(sys.argv) == 4:
        controls(*sys.argv[2:])
    else:
        fail(__doc__)
