import pathlib
import re
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def run(*words, folder=HERE):
    return subprocess.run([sys.executable, "-m", "flashproof", *words], cwd=folder, capture_output=True, text=True, timeout=120)


def test_a_check_and_its_replay_line(tmp_path):
    small = ("--family", "normal", "--law", "within_bound", "--cases", "1", "--measured", "1")
    assert run("kernels:attention", *small).returncode == 0
    done = run("kernels:wrong_shape", *small, "--witnesses", str(tmp_path), "--junit", str(tmp_path / "j.xml"), "--json", str(tmp_path / "r.json"))
    assert done.returncode == 1 and (tmp_path / "j.xml").is_file() and (tmp_path / "r.json").is_file()
    line = re.search(r"replay: python3 (.*)", done.stdout).group(1).split()
    again = subprocess.run([sys.executable, *line], cwd=HERE, capture_output=True, text=True, timeout=120)
    assert again.returncode == 1 and "wrong_shape" in again.stdout, again.stdout + again.stderr


def replayed(done, folder):
    line = re.search(r"replay: python3 (.*)", done.stdout).group(1)
    return subprocess.run([sys.executable, *shlex.split(line)], cwd=folder, capture_output=True, text=True, timeout=120)


def test_a_replay_line_says_what_was_promised():
    done = run("kernels:knows_its_batch", "--family", "normal", "--law", "batch_invariance_is_bitwise", "--cases", "4", "--measured", "0",
               "--batch-invariant", "--without", "gqa")
    assert done.returncode == 1 and "batch_invariance_is_bitwise: nondeterministic" in done.stdout, done.stdout
    again = replayed(done, HERE)
    assert again.returncode == 1 and "batch_invariance_is_bitwise: nondeterministic" in again.stdout, again.stdout + again.stderr


def test_a_replay_line_of_a_file_names_the_file(tmp_path):
    (tmp_path / "my kernels.py").write_text("def mine(q, k, v):\n    return q[:0]\n")
    done = run("my kernels.py:mine", "--family", "normal", "--law", "within_bound", "--cases", "1", "--measured", "0", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    again = replayed(done, tmp_path)
    assert again.returncode == 1 and "wrong_shape" in again.stdout, again.stdout + again.stderr


def test_a_file_that_does_not_load_is_no_finding(tmp_path):
    for text in ("raise ValueError('first\\nsecond')", "def f(:", "import sys; sys.exit(1)"):
        (tmp_path / "mine.py").write_text(text)
        for where in ("mine.py:f", "mine:f"):
            done = run(where, folder=tmp_path)
            assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr


def test_errors_are_one_line():
    for words in (("kernels:nope",), ("nope.py:f",), ("kernels",), ("kernels:attention", "--dtype", "int8"), ("kernels:attention", "--arithmetic", "{x"),
                  ("no_such_module:f",)):
        done = run(*words)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
