"""Triton kernels on the CPU, unmodified: right ones pass the laws, wrong ones are findings with their line."""

import pathlib
import re
import sys

import numpy as np
import pytest

import flashproof
from flashproof import ptx

triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "kernels" / "ptx" / "test"))
from make_triton_ptx import attention_by_maps  # noqa: E402

from flashproof import triton_array as array  # noqa: E402
from flashproof import triton_on_cpu as on_cpu  # noqa: E402


@pytest.fixture(autouse=True)
def caches(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "triton"))


@triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_warps=1), triton.Config({"BLOCK": 256}, num_warps=4)], key=["n"])
@triton.heuristics({"EVEN": lambda given: given["n"] % given["BLOCK"] == 0})
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + at, tl.load(x + at) + tl.load(y + at))
    else:
        tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@pytest.mark.parametrize("triton_on_cpu", [80, 86, 89, 90], indirect=True)
def test_a_grid_of_a_function_autotuning_and_heuristics(triton_on_cpu):
    for n in (512, 500):
        x, y = (array(np.random.default_rng(seed).normal(size=n).astype(np.float32)) for seed in (1, 2))
        out = array(np.zeros(n, np.float32))
        add[lambda given: (triton.cdiv(n, given["BLOCK"]),)](x, y, out, n)
        assert np.array_equal(out, x + y)


def test_what_was_active_is_active_again():
    from triton.runtime import driver
    before = dict(vars(driver))
    with on_cpu(80):
        with on_cpu(90):
            assert driver.active.get_current_target().arch == 90
        assert driver.active.get_current_target().arch == 80
    assert vars(driver) == before
    with pytest.raises(flashproof.UsageError, match="capability 75: legal 80, 86, 89, 90"):
        with on_cpu(75):
            pass


def test_a_kernel_that_was_tuned_here_is_timed_by_another_driver_there():
    from triton.runtime import driver
    x = array(np.ones(256, np.float32))
    with on_cpu(80):
        def run():
            add[lambda given: (triton.cdiv(256, given["BLOCK"]),)](x, x, array(np.zeros(256, np.float32)), 256)
        run()
        counted = add.do_bench(run, quantiles=(0.5, 0.2, 0.8))
        assert len(counted) == 3 and counted[0] > 1000
    name = "_active" if "_active" in vars(driver) else "active"
    before = vars(driver)[name]

    class Other:
        def get_benchmarker(self):
            return lambda call, **options: "timed"

    try:
        driver.set_active(Other())
        assert add.do_bench(lambda: None, quantiles=(0.5,)) == "timed"
    finally:
        setattr(driver, name, before)


@triton.jit
def row_softmax(x, o, lse, cols, stride, WIDTH: tl.constexpr, MASKED: tl.constexpr):
    at = tl.arange(0, WIDTH)
    row = tl.load(x + tl.program_id(0) * stride + at, mask=at < cols, other=float("-inf")) if MASKED else tl.load(x + tl.program_id(0) * stride + at)
    most = tl.max(row, 0)
    shift = tl.where(most == float("-inf"), 0.0, most)
    weights = tl.exp(row - shift)
    total = tl.sum(weights, 0)
    tl.store(o + tl.program_id(0) * cols + at, tl.where(total == 0, 0.0, weights / total), mask=at < cols)
    tl.store(lse + tl.program_id(0), tl.log(total) + shift)


def softmax(x, masked=True):
    rows, cols = x.shape
    o, lse = array(np.empty((rows, cols), np.float32)), array(np.empty(rows, np.float32))
    row_softmax[(rows,)](array(x), o, lse, cols, x.strides[0] // 4, WIDTH=triton.next_power_of_2(cols), MASKED=masked)
    return np.asarray(o), np.asarray(lse)


LIMITS = {"problem": "softmax", "cases": 1, "seconds": 0, "families": ["normal", "near_ties", "descending"],
          "refuses": lambda p: None if 0 not in p.shape["x"] and p.shape["x"][1] <= 4096 and p.strides["x"][1] == 1 else "at most 4096 columns, side by side"}


def test_every_law_is_asked_of_a_triton_kernel(triton_on_cpu):
    result = flashproof.check(softmax, deterministic=False, **LIMITS)  # Triton compiles again where a stride is no multiple of 16: sums in another order
    assert result.ok, str(result)
    assert result.max_ratio > 0 and result.decided["o"] > 0.5


def test_a_load_without_its_mask_is_a_finding_with_its_line(triton_on_cpu):
    result = flashproof.check(lambda x: softmax(x, masked=False), **LIMITS)
    assert not result.ok
    assert re.search(r"LaunchError: row_softmax\.ptx:\d+ \(triton_test\.py:\d+\): reads .*behind the end of argument 0", result.details()), result.details()


@pytest.mark.parametrize("triton_on_cpu", [80, 90], indirect=True)
def test_tensor_descriptors_of_the_host(triton_on_cpu):
    descriptor = pytest.importorskip("triton.tools.tensor_descriptor").TensorDescriptor
    random = np.random.default_rng(7)
    q, k, v = (array(random.normal(size=(128, 64)).astype(np.float16)) for _ in range(3))
    o, lse = array(np.zeros((128, 64), np.float16)), array(np.zeros(128, np.float32))
    maps = [descriptor(x, x.shape, x.stride(), [64, 64]) for x in (q, k, v, o)]
    attention_by_maps[(2,)](*maps, lse, 0.125, 128, ROWS=64, KEYS=64, D=64)
    inputs = [np.asarray(x)[None, None] for x in (q, k, v)]
    truth, bound = flashproof.truth(*inputs, scale=0.125), flashproof.bound(*inputs, scale=0.125)
    exact, error = truth.o.value[0, 0], bound.o.total[0, 0]
    assert (error < bound.range[0, 0] / 2).all(), "a bound that says nothing"
    rounded = (np.abs(exact) + error) * 2.0**-11 + 2.0**-25  # o into float16, which the bound is in front of; its least number is 2^-24
    assert (np.abs(o - exact) <= error + rounded).all() and (np.abs(lse - truth.lse.value[0, 0]) <= bound.lse.total[0, 0] + np.abs(lse) * 2.0**-24).all()  # lse into float32


def test_a_launch_that_the_executor_refuses_says_so(triton_on_cpu):
    x = array(np.zeros(64, np.float32))
    with pytest.raises(flashproof.UsageError, match="grid x: 0"):
        add.fn.fn[(0,)](x, x, x, 64, BLOCK=64, EVEN=True)
    with pytest.raises(ptx.LaunchError, match="in no array"):
        add.fn.fn[(2,)](x, x, array(np.zeros(64, np.float32)), 128, BLOCK=64, EVEN=True)
