import pathlib
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

pytest_plugins = ["pytester"]
TESTS = str(pathlib.Path(__file__).parent)

SUITE = """
import sys
sys.path.insert(0, {tests!r})
import gradient_kernels, kernels, pytest

@pytest.mark.flashproof(dtype="float32", families=["normal"], laws=["within_bound"], cases=4, measured=4)
def test_right(flashproof_check):
    assert flashproof_check(kernels.attention).ok

@pytest.mark.flashproof(families=["normal"], laws=["within_bound"], cases=1, measured=1)
def test_wrong(flashproof_check):
    flashproof_check(kernels.wrong_shape)

@pytest.mark.flashproof(problem="attention_backward", families=["normal"], laws=["rerun_is_bitwise"], cases=4, measured=0)
def test_undecided(flashproof_check):
    flashproof_check(gradient_kernels.nothing)

@pytest.mark.flashproof("attention")
def test_position(flashproof_check):
    flashproof_check(kernels.attention)
"""


def test_fixture_marker_and_files(pytester: pytest.Pytester):
    pytester.makepyfile(SUITE.format(tests=TESTS))
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--strict-markers", "--junitxml=all.xml", "--flashproof-out=out")
    done.assert_outcomes(passed=1, failed=3)
    done.stdout.fnmatch_lines(["*wrong_shape*"])
    done.stdout.fnmatch_lines(["*UNDECIDED: rerun_is_bitwise: class_matches_semantics was not asked, and says fail(class_mismatch)*"])
    done.stdout.fnmatch_lines(["*marker flashproof: takes options by name alone*"])
    root = xml.parse(pytester.path / "all.xml").getroot()
    properties = {(c.get("name"), p.get("name")) for c in root.iter("testcase") for p in c.iter("property")}
    assert ("test_right", "flashproof.max_ratio") in properties and ("test_wrong", "flashproof.finding") in properties
    assert len(list((pytester.path / "out").rglob("*.xml"))) == 3
    assert len(list((pytester.path / "out").rglob("*.safetensors"))) == 1


def test_a_replay_line_of_a_test_runs_where_the_tests_ran(pytester: pytest.Pytester):
    folder = pytester.mkdir("tests")
    (folder / "shapes_test.py").write_text("""
import pytest

def wrong_shape(q, k, v):
    return q[..., :0]

@pytest.mark.flashproof(families=["normal"], laws=["within_bound"], cases=1, measured=0)
def test_wrong(flashproof_check):
    flashproof_check(wrong_shape)
""")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--flashproof-out=out")
    line = re.search("replay: python3 (.*)", done.stdout.str()).group(1)
    again = subprocess.run([sys.executable, *shlex.split(line)], cwd=pytester.path, capture_output=True, text=True, timeout=120)
    assert again.returncode == 1 and "wrong_shape" in again.stdout, line + again.stdout + again.stderr
