import pathlib
import xml.etree.ElementTree as xml

import pytest

pytest_plugins = ["pytester"]
TESTS = str(pathlib.Path(__file__).parent)

SUITE = """
import sys
sys.path.insert(0, {tests!r})
import kernels, pytest

@pytest.mark.flashproof(dtype="float32", families=["normal"], laws=["within_bound"], cases=1, measured=1)
def test_right(flashproof_check):
    assert flashproof_check(kernels.attention).ok

@pytest.mark.flashproof(families=["normal"], laws=["within_bound"], cases=1, measured=1)
def test_wrong(flashproof_check):
    flashproof_check(kernels.wrong_shape)

@pytest.mark.flashproof("attention")
def test_position(flashproof_check):
    flashproof_check(kernels.attention)
"""


def test_fixture_marker_and_files(pytester: pytest.Pytester):
    pytester.makepyfile(SUITE.format(tests=TESTS))
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--strict-markers", "--junitxml=all.xml", "--flashproof-out=out")
    done.assert_outcomes(passed=1, failed=2)
    done.stdout.fnmatch_lines(["*wrong_shape*"])
    done.stdout.fnmatch_lines(["*marker flashproof: takes options by name alone*"])
    root = xml.parse(pytester.path / "all.xml").getroot()
    properties = {(c.get("name"), p.get("name")) for c in root.iter("testcase") for p in c.iter("property")}
    assert ("test_right", "flashproof.max_ratio") in properties and ("test_wrong", "flashproof.finding") in properties
    assert len(list((pytester.path / "out").rglob("*.xml"))) == 2
    assert len(list((pytester.path / "out").rglob("*.safetensors"))) == 1
