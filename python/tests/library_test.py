"""The shared libraries of the package: one for each kind of CPU."""

import os
import subprocess
import sys

import numpy as np
import pytest

import flashproof
from flashproof import _flashproof

SAYS = """
import hashlib, sys
sys.path.insert(0, {tests!r})
import kernels, numpy as np
import flashproof
from flashproof import _flashproof

said = hashlib.sha256()
for problem in ("attention", "attention_backward", "softmax", "merge"):
    for family in ["normal", "equal"] if problem == "attention_backward" else list(flashproof.families(problem))[::6]:
        p = _flashproof.call("make_case", line=f"{{problem}}:{{family}}:1:format=bf16" + (",mode=gradient" if problem == "attention_backward" else ""))
        for name, value in p.items():
            if isinstance(value, tuple) and isinstance(value[0], str):
                p[name] = value[0], np.array(value[1], order="C")
        for found in (_flashproof.call("truth", problem=p, narrow=True), _flashproof.call("bound", problem=p, arithmetic="unknown")):
            for part in found.values():
                for array in part.values() if isinstance(part, dict) else [part]:
                    said.update(array.tobytes())
result = flashproof.check(kernels.attention, families=["normal"], cases=1, measured=1, seconds=0)
said.update(repr([(f.family, f.cases, f.outputs) for f in result.families] + [(law.law, law.cases) for law in result.laws]).encode())
print(_flashproof._library._name, said.hexdigest())
"""


def libraries():
    folder = os.path.dirname(_flashproof.__file__)
    return sorted(name for name in os.listdir(folder) if name.startswith("libflashproof-"))


def says(library):
    """What a process computes that finds only this library."""
    only = f"import os\nthere = os.listdir\nos.listdir = lambda path: [n for n in there(path) if not n.startswith('libflashproof-') or n == {library!r}]\n"
    done = subprocess.run([sys.executable, "-c", only + SAYS.format(tests=os.path.dirname(__file__))], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    opened, digest = done.stdout.split()
    assert os.path.basename(opened) == library
    return digest


def test_the_best_library_is_opened_that_the_processor_can_run():
    with open("/proc/cpuinfo") as file:
        flags = next(line for line in file if line.startswith("flags")).split()
    modern = {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}.issubset(flags)
    best = "libflashproof-x86-64-v3.so" if modern else "libflashproof-x86-64-v2.so"
    assert os.path.basename(_flashproof._library._name) == (best if best in libraries() else libraries()[0])


def test_all_libraries_give_the_same_bits():
    if len(libraries()) == 1:
        pytest.skip(f"installed for this machine alone: {libraries()[0]}")
    assert len({says(library) for library in libraries()}) == 1


def test_a_callable_gets_copies():
    """What is written to an input reaches neither the problem in the library nor another call."""
    seen = []

    def writes(x):
        seen.append(x.tobytes())
        x[...] = 0
        return x + 0

    flashproof.check(writes, problem="softmax", returns="o", families=["normal"], laws=["rerun_is_bitwise"], cases=1, measured=0)
    assert len(seen) > 1 and seen[0] == seen[1] != bytes(len(seen[0]))


def test_arrays_that_the_library_cannot_read_are_refused():
    p = _flashproof.call("make_case", line="softmax:normal:1:format=f32")
    format, bits = p["x"]
    for x in ((format, np.zeros((8, 3), "uint32").T), (format, bits.astype("uint16")), (format, bits.tolist()), (format, None), bits, None, (format, bits, bits)):
        with pytest.raises(flashproof.UsageError, match="^x: must be "):
            _flashproof.call("truth", problem={**p, "x": x}, narrow=True)
    for name, value in (("row_length", [2**31]), ("row_length", [0.5]), ("row_length", "nan"), ("boundary", [True]), ("boundary", None)):
        with pytest.raises(flashproof.UsageError, match=f"^{name}: not of the type"):
            _flashproof.call("truth", problem={**p, name: value}, narrow=True)


def test_an_interrupted_call_is_none_that_failed(monkeypatch):
    """Between two bytecodes of what listens: the library has no reply, and no exception was kept."""
    def stops(p, guard):
        raise StopIteration

    given = dict(line="softmax:normal:1:format=f32", runs=1)
    with pytest.raises(StopIteration):
        _flashproof.call("seconds_per_call", kernel=stops, **given)
    monkeypatch.setattr(_flashproof, "_reply", lambda reply: None)
    with pytest.raises(KeyboardInterrupt):
        _flashproof.call("seconds_per_call", kernel=lambda p, guard: ("fault", "unheard"), **given)
