"""Is compare-pull-request.yml what it says: well-formed, its command one that compare takes, its comment posted? The same of
compare-merge-request.gitlab-ci.yml, whose note is posted to a pretended server.

    workflow_test.py check WORKFLOW PROGRAM       PROGRAM: flashproof-cli
    workflow_test.py controls WORKFLOW PROGRAM    does check refuse each of CONTROLS?

The parser is the one of properties/examples/workflow_test.py.
"""

import json
import os
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
GITLAB_CONTROLS = [
    ("  script: |\n", " script: |\n"),
    ("--markdown out/compare.md", "--markdwon out/compare.md"),
    ("--gate out/policy.toml", "--gate properties/examples/compare-policy.toml"),
    ('git show "FETCH_HEAD:', 'git show "HEAD:'),
    ("    GIT_DEPTH: 0\n", "    GIT_DEPTH: 20\n"),
    ("    when: always\n", "    when: on_success\n"),
    ("method=PUT", "method=POST"),
    ('"body=<out/note.md"', '"body=out/note.md"'),
    ('test -n "$FLASHPROOF_TOKEN" || exit 0', "true"),
    ("cat - out/compare.md", "cat out/compare.md"),
]
if shutil.which("node"):
    CONTROLS.append(("if (old) {", "if (old {"))


def fail(text):
    sys.exit("workflow_test: " + text)


def check_command(script, after, policy_of, program):
    """The policy and the Markdown of the one line that compares; `after`: what ends its two sides."""
    line = next(line for line in script.split("\n") if line.startswith("./flashproof compare "))
    known = subprocess.run([program, "compare", "--help"], capture_output=True, text=True, check=True).stdout
    for option in re.findall(r" (--[a-z-]+)", line.split(after)[1]):
        if not re.search(rf"(^|[\s,]){option}([\s,]|$)", known):
            fail(f"compare has no option {option}")
    policy = re.search(r"--gate (\S+)", line).group(1)
    source = re.search(rf'^git show "{policy_of}:(\S+)" >{re.escape(policy)}$', script, re.MULTILINE)
    if not source:
        fail("the policy is not the base's: a request could loosen the rules that it is judged by")
    # With --check the policy is read, and nothing else is done.
    policy = EXAMPLES.parents[1] / source.group(1)
    subprocess.run([program, "compare", "A.json", "B.json", "--check", "--gate", policy], check=True)
    return re.search(r"--markdown (\S+)", line).group(1)


# Answers as GitLab: its arguments become a line of JSON in `calls`, a body that is a file is put in.
CURL = """#!/usr/bin/env python3
import json, os, pathlib, sys
words = [open(word[6:]).read() if word.startswith("body=<") else word for word in sys.argv[1:]]
with open("calls", "a") as calls:
    calls.write(json.dumps(words) + "\\n")
if "--request" not in words:
    print(pathlib.Path("notes").read_text())
"""


def posted(script, token, notes):
    """The request that the script makes of a comparison, as curl's words; None: none."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        (here / "out").mkdir()
        (here / "out/compare.md").write_text("# the comparison\n", encoding="utf-8")
        (here / "notes").write_text(json.dumps(notes), encoding="utf-8")
        (here / "curl").write_text(CURL, encoding="utf-8")
        (here / "curl").chmod(0o755)
        environment = {"PATH": f"{here}:{os.environ['PATH']}", "CI_API_V4_URL": "u", "CI_PROJECT_ID": "7",
                       "CI_MERGE_REQUEST_IID": "3"} | ({"FLASHPROOF_TOKEN": token} if token else {})
        subprocess.run(["sh", "-eu" if token else "-e", "-c", script], cwd=here, env=environment, check=True)
        calls = (here / "calls").read_text().splitlines() if (here / "calls").exists() else []
        return next((words for words in map(json.loads, calls) if "--request" in words), None)


def check_gitlab(workflow, program):
    job = workflow_test.Parser(pathlib.Path(workflow).read_text(encoding="utf-8")).value(-1)["compare"]
    for script in (job["script"], job["after_script"]):
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    if job["variables"]["GIT_DEPTH"] != 0:
        fail("the base revision is not fetched")
    markdown = check_command(job["script"], '"$CI_COMMIT_SHA"', "FETCH_HEAD", program)
    if job["artifacts"]["when"] != "always" or markdown not in job["artifacts"]["paths"]:
        fail("a gate that fails would leave the comparison out")
    body = "<!-- flashproof compare -->\n# the comparison\n"
    other = {"id": 4, "body": "a remark"}
    for notes, method, where in (([], "POST", "u/projects/7/merge_requests/3/notes"),
                                 ([other, {"id": 5, "body": body}], "PUT", "u/projects/7/merge_requests/3/notes/5")):
        words = posted(job["after_script"], "secret", notes)
        if words is None or words[words.index("--request") + 1] != method or where not in words or body not in words:
            fail(f"with the notes {notes}: {words} is posted")
    if posted(job["after_script"], "", []) is not None:
        fail("without a token something is posted")


def check(workflow, program):
    if str(workflow).endswith(".gitlab-ci.yml"):
        check_gitlab(workflow, program)
        return
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

    markdown = check_command(steps["Compare"]["run"], '"$HEAD"', r"\$BASE", program)
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
        gitlab = str(workflow).endswith(".gitlab-ci.yml")
        changed = pathlib.Path(folder) / ("changed.gitlab-ci.yml" if gitlab else "changed.yml")
        for old, new in GITLAB_CONTROLS if gitlab else CONTROLS:
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
