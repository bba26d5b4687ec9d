"""Every door of this package refuses a wrong number in the words of the option table: a range that changes there changes all of them."""

import os
import subprocess
import sys

import pytest

import flashproof
import kernels
from flashproof._options import options_of

pytest_plugins = "pytester"
NUMBERS = [row for row in options_of("python") if row["number"]]


def sentence(row, shown, value):
    return f'{shown} "{value}": must be {row["range"]}'


def test_the_table_has_the_numbers():
    assert [row["name"] for row in NUMBERS] == ["--cases", "--measured", "--seed", "--seconds"]


@pytest.mark.parametrize("row", NUMBERS, ids=lambda row: row["name"])
@pytest.mark.parametrize("value", ["-1", "no", "nan", "1e30"])
def test_the_shell(row, value):
    done = subprocess.run([sys.executable, "-m", "flashproof", "kernels:attention", row["name"], value], capture_output=True, text=True,
                          cwd=os.path.dirname(__file__))
    assert done.returncode == 2 and done.stderr == f"flashproof: {sentence(row, row['name'], value)} (see --help)\n"


@pytest.mark.parametrize("row", NUMBERS, ids=lambda row: row["name"])
@pytest.mark.parametrize("value", [-1, 2**70, True, "5", None, float("nan")], ids=repr)
def test_check(row, value):
    name = row["name"][2:]
    with pytest.raises(flashproof.UsageError) as raised:
        flashproof.check(kernels.attention, **{name: value})
    assert str(raised.value) == sentence(row, name, repr(value))


@pytest.mark.parametrize("row", [row for row in options_of("python-suggest")], ids=lambda row: row["name"])
def test_suggest(row):
    with pytest.raises(flashproof.UsageError) as raised:
        flashproof.suggest(kernels.attention, **{row["name"][2:]: -1})
    assert str(raised.value) == sentence(row, row["name"][2:], -1)


def test_the_help_is_that_of_the_table():
    done = subprocess.run([sys.executable, "-m", "flashproof", "--help"], capture_output=True, text=True, env={**os.environ, "COLUMNS": "300"})
    for row in options_of("python"):
        assert row["name"] in done.stdout and row["help"] in done.stdout, row


def test_pytest(pytester: pytest.Pytester):
    pytester.makepyfile("def test_one(flashproof_check):\n    flashproof_check(lambda q, k, v: q)\n")
    for name in ("--seconds", "--cases"):
        row = next(row for row in NUMBERS if row["name"] == name)
        done = pytester.runpytest_subprocess("-p", "no:cacheprovider", f"--flashproof-{name[2:]}=-1")
        done.stdout.fnmatch_lines([f"*{sentence(row, '--flashproof-' + name[2:], -1)}"])
