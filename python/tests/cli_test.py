import pathlib
import re
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


def test_errors_are_one_line():
    for words in (("kernels:nope",), ("nope.py:f",), ("kernels",), ("kernels:attention", "--dtype", "int8"), ("kernels:attention", "--arithmetic", "{x"),
                  ("no_such_module:f",)):
        done = run(*words)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
