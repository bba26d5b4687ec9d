import pathlib
import shlex
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest
from block_text import replay_line

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
    done.stdout.fnmatch_lines(["*undecided  rerun_is_bitwise: class_matches_semantics was not asked, and says*"])
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
    line = replay_line(done.stdout.str()).replace("\\\n", "")
    again = subprocess.run([sys.executable, *shlex.split(line)[1:]], cwd=pytester.path, capture_output=True, text=True, timeout=120)
    assert again.returncode == 1 and "wrong_shape" in again.stdout, line + again.stdout + again.stderr


FAMILIES = """
import sys
sys.path.insert(0, {tests!r})
import classic_mistakes, kernels, pytest

@pytest.mark.flashproof(families=["normal", "gqa", "window"], cases=1, measured=2)
def test_right(flashproof_family):
    flashproof_family(kernels.attention)

@pytest.mark.flashproof(families=["normal", "gqa"], cases=1, measured=2)
def test_wrong(flashproof_family):
    flashproof_family(classic_mistakes.ATTENTION["query head h reads key head h mod Hk"])

@pytest.mark.flashproof(families=["normal"], laws=["rerun_is_bitwise"], cases=4, measured=0)
def test_undecided(flashproof_family):
    flashproof_family(kernels.nothing)

@pytest.mark.flashproof(families=["nomral"])
def test_no_family(flashproof_family):
    pass
"""


def test_a_test_per_family(pytester: pytest.Pytester):
    pytester.makepyfile(FAMILIES.format(tests=TESTS).rsplit("@pytest", 1)[0])
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--strict-markers", "-rA", "--flashproof-out=out")
    done.assert_outcomes(passed=2, failed=3, skipped=1)
    done.stdout.fnmatch_lines(["PASSED *test_right[[]normal[]]*", "PASSED *test_right[[]gqa[]]*"])
    done.stdout.fnmatch_lines(["*the kernel takes none of these cases: window: *"])
    done.stdout.fnmatch_lines(["FAIL       attention.h_mod_hk: *", "UNDECIDED  attention.nothing: *"])
    assert len({path.parent for path in (pytester.path / "out").rglob("*.xml")}) == 6, "a folder per test"


def test_a_family_that_there_is_none_of_is_told_before_any_test(pytester: pytest.Pytester):
    pytester.makepyfile(FAMILIES.format(tests=TESTS))
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert done.ret != 0
    done.stdout.fnmatch_lines(["*test_no_family: *nomral*"])


def test_seconds_are_of_each_check(pytester: pytest.Pytester):
    pytester.makepyfile("""
import pytest

@pytest.mark.flashproof(families=["normal"])
def test_short(flashproof_family):
    flashproof_family(lambda q, k, v: 1 / 0)
""")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--flashproof-seconds=0.000001")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["UNDECIDED  *", "*the time was over*"])


def test_ctrl_c_ends_pytest_with_what_there_is(pytester: pytest.Pytester):
    pytester.makepyfile("""
import pytest

@pytest.mark.flashproof(families=["normal", "equal"])
def test_interrupted(flashproof_family):
    def ends(q, k, v):
        raise KeyboardInterrupt
    flashproof_family(ends)
""")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert done.ret != 0
    done.stdout.fnmatch_lines(["*PARTIAL *"])
    assert "Traceback" not in done.stdout.str() + done.stderr.str()
