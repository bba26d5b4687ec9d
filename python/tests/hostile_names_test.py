"""Names, paths and messages from outside: an error of one line, or shown as text. None drives a terminal, and a replay line is still a command."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import kernels
from block_text import replay_line
import numpy as np
import pytest

import flashproof

pytest_plugins = ["pytester"]

HOSTILE = "\x1b[2J\x1b]0;title\x07\r\nok  \x9b\u202e\u200b'\"`|$&<\\"
NO_UTF8 = "a\udcff\ud800"
LONG = "x" * 100_000
ONE = dict(families=["normal"], laws=["within_bound"], cases=1, measured=0)


class Mute:
    def __str__(self):
        raise ValueError("no text")


HOSTILES = {"control": HOSTILE, "no UTF-8": NO_UTF8, "long": LONG, "mute": Mute()}
q = np.zeros((1, 1, 2, 4), np.float32)


def is_one_line(text, most=2000):
    return text.isprintable() and len(text) <= most


def is_shown(text):
    return all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("kind", HOSTILES)
@pytest.mark.parametrize("call", [
    *(lambda x, name=name: flashproof.check(kernels.attention, **{name: x}) for name in
      ("problem", "dtype", "arithmetic", "arrays", "device", "returns", "without", "families", "laws", "case", "cases", "measured", "seed", "seconds", "refuses")),
    *(lambda x, name=name: flashproof.check(lambda q, k, v, do: q, problem="attention_backward", **{name: x}) for name in
      ("dtype", "arithmetic", "returns", "families", "laws", "case")),
    lambda x: flashproof.check(kernels.attention, families=[x]), lambda x: flashproof.check(kernels.attention, arithmetic={"preset": x}),
    lambda x: flashproof.check(kernels.attention, arithmetic={"preset": "unknown", str(x): 1}), lambda x: flashproof.check(x),
    lambda x: flashproof.check(kernels.attention, arrays="jax", device=x),
    lambda x: flashproof.families(x), lambda x: flashproof.arithmetics(x), lambda x: flashproof.make_case(x), lambda x: flashproof.make_case(f"softmax:{x}:0"),
    lambda x: flashproof.read_witness(x), lambda x: flashproof.truth(q, q, q, problem=x), lambda x: flashproof.truth(q, q, q, **{str(x): 1}),
    lambda x: flashproof.bound(q, q, q, arithmetic=x), lambda x: flashproof.gradients(q, q, q, q, **{str(x): 1}),
    lambda x: flashproof.gradient_bound(q, q, q, q, arithmetic=x), lambda x: flashproof.write_witness("w.safetensors", q, q, q, case=x),
])
def test_an_argument_is_refused_on_one_line(call, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        call(HOSTILES[kind])
    except flashproof.UsageError as error:
        assert is_one_line(str(error)), repr(str(error))
    except ValueError as error:
        assert kind == "mute" and str(error) == "no text", "the test's own str()"
    else:
        pytest.fail("not refused")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["name", "witnesses"])
def test_what_is_no_text_is_refused(option):
    with pytest.raises(flashproof.UsageError, match=f"{option} .a Mute whose text raises.: legal"):
        flashproof.check(kernels.attention, **{option: Mute()})


@pytest.mark.parametrize("name", [HOSTILE, NO_UTF8, LONG, ""])
def test_a_kernel_may_have_any_name(name, tmp_path):
    def kernel(q, k, v, *, scale, causal):
        raise type(name.replace("\0", "") or "E", (Exception,), {})(name)

    kernel.__name__ = kernel.__qualname__ = kernel.__module__ = name
    folder = tmp_path / HOSTILE.replace("/", "")
    result = flashproof.check(kernel, name=name, witnesses=folder, returns="o", **ONE)
    assert re.fullmatch(r"attention\.[A-Za-z0-9_.-]{1,110}", result.kernel)
    assert is_shown(str(result)) and len(str(result)) < 100_000
    (finding,) = result.findings
    assert finding.kind == "raised" and is_one_line(finding.message) and is_one_line(finding.replay, 500_000)
    assert os.path.isfile(finding.witness) and os.path.dirname(finding.witness) == str(folder)
    result.junit(tmp_path / "j.xml")
    result.json(tmp_path / "r.json")
    assert xml.parse(tmp_path / "j.xml").getroot().find(".//failure") is not None and is_shown((tmp_path / "j.xml").read_text("utf-8"))
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["findings"][0]["witness"] == finding.witness
    assert not flashproof.replay(kernel, finding.witness, returns="o").ok


@pytest.mark.parametrize("odd", [3, None, b"k", Mute()])
def test_what_is_no_name_does_not_end_the_run(odd):
    class Kernel:
        def __call__(self, q, k, v, *, scale, causal):
            return kernels.attention(q, k, v, scale=scale, causal=causal)

    kernel = Kernel()
    kernel.__name__ = kernel.__qualname__ = kernel.__module__ = odd
    assert not flashproof.check(kernel, arrays="numpy", **ONE).findings


def test_what_a_kernel_returns_and_a_predicate_says_is_text():
    odd = type("O" + HOSTILE + LONG, (), {})
    result = flashproof.check(lambda q, k, v: odd(), returns="o", **ONE)
    assert result.findings[0].kind == "wrong_type" and is_one_line(result.findings[0].message) and is_shown(str(result))
    for why in (HOSTILE, NO_UTF8, LONG):
        result = flashproof.check(kernels.attention, refuses=lambda p: why, **ONE)
        assert result.findings[0].kind == "nothing_tested" and is_one_line(result.findings[0].message) and is_shown(str(result))


def test_a_parameter_may_have_any_name():
    scope = {}
    for name in ("ключ", LONG):
        exec(f"def kernel(q, k, v, {name}): return q", scope)
        with pytest.raises(flashproof.UsageError, match="of the callable: legal beside q, k, v") as error:
            flashproof.check(scope["kernel"])
        assert is_one_line(str(error.value))


@pytest.mark.parametrize("folder, word", [("w\0", "path of a folder"), ("w\udcff", "legal UTF-8"), (LONG, "legal")])
def test_a_folder_that_cannot_be_is_refused(folder, word, tmp_path):
    with pytest.raises(flashproof.UsageError, match=word) as error:
        flashproof.check(kernels.attention, witnesses=str(tmp_path / folder), **ONE)
    assert is_one_line(str(error.value))


def test_notes_of_a_witness_are_data(tmp_path):
    flashproof.write_witness(tmp_path / "w.safetensors", q, q, q, notes={"kernel": HOSTILE, "verdict": LONG, "of": NO_UTF8})
    assert flashproof.read_witness(tmp_path / "w.safetensors").notes == {"kernel": HOSTILE, "verdict": LONG, "of": "a\\udcff\\ud800"}
    for key in (HOSTILE, NO_UTF8, LONG):
        with pytest.raises(flashproof.UsageError, match="note ") as error:
            flashproof.write_witness(tmp_path / "other.safetensors", q, q, q, notes={key: ""})
        assert is_one_line(str(error.value))
    assert is_shown(str(flashproof.replay(kernels.wrong_shape, tmp_path / "w.safetensors")))


def run(*words, **options):
    python = os.path.dirname(sys.executable)
    env = {**os.environ, "PATH": python + os.pathsep + os.environ["PATH"], **options.pop("env", {})}
    return subprocess.run(words, capture_output=True, timeout=120, env=env, **options)


def module(*words, **options):
    return run(sys.executable, "-m", "flashproof", *words, **options)


SMALL = ("--family", "normal", "--law", "within_bound", "--cases", "1", "--measured", "0")
KERNEL = "def mine(q, k, v):\n    raise ValueError('\\x1b[2J\\u00e9')\n"


@pytest.mark.parametrize("file", ["k" + HOSTILE.replace("/", "") + ".py", "k\udcff.py", "k\u202eé.py", "k'\\.py"])
def test_a_shell_takes_a_replay_line_back(file, tmp_path):
    (tmp_path / file).write_text(KERNEL, encoding="utf-8")
    folder = tmp_path / "w\x1b[2J\n'$"
    done = module(file + ":mine", *SMALL, "--witnesses", folder, cwd=tmp_path)
    said = done.stdout.decode("utf-8")
    assert done.returncode == 1 and is_shown(said), said + done.stderr.decode()
    line = replay_line(said)
    again = run("bash", "-c", line, cwd=tmp_path)
    assert again.returncode == 1 and b"raised: ValueError" in b" ".join(again.stdout.split()), line + again.stdout.decode() + again.stderr.decode()


@pytest.mark.parametrize("words", [
    ("kernels.py:mine", "--\x1b[2J"), ("kernels.py:mine", "more\x1b[2J\nlines"), ("kernels.py:mine", "--cases", "\x1b[2J"), ("kernels.py:mine", "--cases"), (),
    (HOSTILE,), (HOSTILE + ":f",), ("kernels.py:" + HOSTILE,), ("kernels.py:mine." + NO_UTF8[:2],), (LONG + ".py:f",), (LONG + ":f",), ("no\udcff.py:f",),
    ("kernels.py:mine", "--replay", HOSTILE), ("kernels.py:mine", "--replay", "\udcff.safetensors"), ("kernels.py:mine", "--arithmetic", "{" + HOSTILE),
    ("kernels.py:mine", "--arithmetic", '{"a": ' + "9" * 5000 + "}"), ("kernels.py:mine", "--arithmetic", "[" * 100_000), ("kernels.py:mine", "--device", LONG),
    ("kernels.py:mine", "--witnesses", "w\udcff"), ("kernels.py:odd",), ("kernels.py:odd.x",), ("kernels.py:mine", "--family", "\udcff"),
])
def test_a_command_line_is_refused_on_one_line(words, tmp_path):
    (tmp_path / "kernels.py").write_text(KERNEL + f"class Odd:\n    def __getattr__(self, name): raise ValueError({HOSTILE!r})\nodd = Odd()\n")
    done = module(*words, cwd=tmp_path)
    said = done.stderr.decode("utf-8")
    assert done.returncode == 2 and done.stdout == b"" and said.endswith("\n") and is_one_line(said[:-1], 2100), said[-2000:]
    assert said.startswith("flashproof: ")


def test_a_terminal_without_the_letter_ends_no_run(tmp_path):
    (tmp_path / "k.py").write_text(KERNEL)
    done = module("k.py:mine", *SMALL, cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 1 and b"\\xe9" in done.stdout, done.stdout + done.stderr


def test_a_test_may_have_any_name(pytester):
    pytester.makepyfile(f"""
import sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
import kernels, pytest

@pytest.mark.parametrize("n", range(4), ids=[{HOSTILE!r}, "a b", "a?b", {LONG[:5000]!r}])
@pytest.mark.flashproof(families=["normal"], laws=["within_bound"], cases=1, measured=0)
def test_it(flashproof_check, n):
    flashproof_check(kernels.wrong_shape)
""")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--junitxml=all.xml", "--flashproof-out=out")
    done.assert_outcomes(failed=4)
    assert len(list((pytester.path / "out").rglob("*.safetensors"))) == 4
    xml.parse(pytester.path / "all.xml")
