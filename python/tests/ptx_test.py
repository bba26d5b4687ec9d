"""Compiled kernels called from Python: right and wrong launches, what arguments may be, and the laws on them."""

import ctypes
import pathlib
import re
import signal
import threading
import time

import numpy as np
import pytest

import flashproof
from flashproof import ptx

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "kernels" / "examples" / "ptx"
KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 out, .param .u64 in, .param .u32 n, .param .f32 factor)
{
  .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; ld.param.u32 %r1, [n]; ld.param.f32 %f1, [factor];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra DONE;
  mul.wide.u32 %rd3, %r5, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd5]; mul.rn.f32 %f3, %f2, %f1; st.global.f32 [%rd4], %f3;
DONE:
  ret;
}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="module")
def scale():
    return ptx.Kernel(KERNEL)


def test_a_launch_computes(scale):
    x = np.arange(100, dtype=np.float32)
    out = np.zeros(100, np.float32)
    launch = scale(out, x, 100, 2.5, grid=4, block=32)
    assert launch.completed and launch.instructions > 500 and launch.printed == ""
    assert np.array_equal(out, x * np.float32(2.5))
    assert scale.module.entries == ("scale",) and scale.module.target == "sm_80"


def test_a_view_is_where_it_lies_and_nothing_around_it_is(scale):
    x = np.arange(64, dtype=np.float32)
    out = np.zeros(64, np.float32)
    scale(out[16:32], x[8:24], 16, 1.0, block=32)
    assert np.array_equal(out[16:32], x[8:24]) and not out[:16].any() and not out[32:].any()
    with pytest.raises(ptx.LaunchError, match=r"kernel\.ptx:12: reads 4 bytes .*0 bytes behind the end of argument 1.*thread \(16, 0, 0\)"):
        scale(out[16:32], x[8:24], 17, 1.0, block=32)
    x.flags.writeable = False
    with pytest.raises(ptx.LaunchError, match="argument 0"):
        scale(x, out, 16, 1.0)


def test_an_array_with_a_negative_stride_reaches_down(scale):
    x = np.arange(8, dtype=np.float32)
    with pytest.raises(ptx.LaunchError, match="behind the end"):  # its first element is the last of the memory
        scale(np.zeros(8, np.float32), x[::-1], 2, 1.0)


def test_findings_are_those_of_the_launch(scale):
    with pytest.raises(ptx.LaunchError) as error:
        scale(None, np.zeros(4, np.float32), 4, 1.0)
    assert not error.value.launch.completed and error.value.launch.findings[0].line == 12
    with pytest.raises(ptx.LaunchError, match="instructions"):
        scale(np.zeros(4, np.float32), np.zeros(4, np.float32), 4, 1.0, max_instructions=10)


@pytest.mark.parametrize("arguments, options, text", [
    ((1,), {}, "1 arguments, it has 4 parameters"),
    (("x", None, 1, 1.0), {}, "argument 0 'x': legal an array, a number, bytes, a TensorMap or None"),
    ((None, None, 1.5, 1.0), {}, r"argument 2 1.5: the parameter is .u32, legal a whole number or a scalar of NumPy, np.float32\(1.5\)"),
    ((None, None, 1 << 32, 1.0), {}, "argument 2 4294967296: legal whole numbers of 32 bits"),
    ((None, None, np.int64(1), 1.0), {}, "argument 2 1: 8 bytes, the parameter has 4"),
    ((None, None, b"123", 1.0), {}, "3 bytes, the parameter has 4"),
    ((None, None, np.zeros(1), 1.0), {}, "8 bytes, the parameter has 4"),
    ((np.array([None]), None, 1, 1.0), {}, "argument 0: an array of object, legal one of numbers"),
    ((None, None, 1, 1.0), {"grid": 0}, "grid x: 0, legal: 1 to 2147483647"),
    ((None, None, 1, 1.0), {"grid": (1, 2, 3, 4)}, r"grid \(1, 2, 3, 4\): legal one to three sizes"),
    ((None, None, 1, 1.0), {"block": 1025}, "block x: 1025, legal: 1 to 1024"),
    ((None, None, 1, 1.0), {"block": -1}, "block -1: legal a whole number in 0.."),
    ((None, None, 1, 1.0), {"shared": "7"}, "shared '7': legal a whole number"),
    ((None, None, 1, 1.0), {"max_instructions": 0}, "instructions at most: 0, legal: 1 to"),
    ((None, None, 1, 1.0), {"arrays": [3]}, r"arrays\[0\] 3: legal a NumPy array or a tensor of PyTorch"),
])
def test_a_wrong_argument_is_named(scale, arguments, options, text):
    with pytest.raises(flashproof.UsageError, match=text):
        scale(*arguments, **options)


def test_a_wrong_file_is_named(tmp_path):
    for source, text in [(tmp_path / "none.ptx", "none.ptx"), (7, "a PTX 7: legal the path of a .ptx or a .cu"), ("no\nptx", "kernel.ptx:1: "),
                         (KERNEL.replace("mul.rn", "mul.rx"), "kernel.ptx:12: "), ("\ud800\n", "UTF-8")]:
        with pytest.raises(flashproof.UsageError, match=text):
            ptx.Kernel(source)
    with pytest.raises(flashproof.UsageError, match="entry 'other', there are: scale"):
        ptx.Kernel(KERNEL, "other")
    with pytest.raises(flashproof.UsageError, match="entry 3: legal a name"):
        ptx.Kernel(KERNEL, 3)


def test_numbers_have_the_bits_of_the_parameter(scale):
    out = np.zeros(2, np.float32)
    for factor in (3, np.float32(3), b"\0\0\x40\x40", (ctypes.c_float * 1)):
        if factor is ctypes.c_float * 1:
            class Structure(ctypes.Structure):
                _fields_ = [("value", ctypes.c_float)]
            factor = Structure(3)
        out[:] = 0
        scale(out, np.ones(2, np.float32), np.uint32(2), factor)
        assert (out == 3).all(), factor
    for beyond in (1e300, 10**400):
        scale(out, np.ones(2, np.float32), 2, beyond)
        assert np.isinf(out).all()


def test_kernels_of_a_module_share_its_variables():
    module = ptx.Module(""".version 8.0
.target sm_80
.address_size 64
.global .u32 kept;
.visible .entry put(.param .u32 value) { .reg .b32 %r<2>; ld.param.u32 %r1, [value]; st.global.u32 [kept], %r1; ret; }
.visible .entry get(.param .u64 out) { .reg .b32 %r<2>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [out]; ld.global.u32 %r1, [kept]; st.global.u32 [%rd1], %r1; ret; }
""")
    out = np.zeros(1, np.uint32)
    ptx.Kernel(module, "put")(-7, block=1)
    ptx.Kernel(module, "get")(out, block=1)
    assert out[0] == 2**32 - 7


def test_a_race_is_a_finding():
    racy = ptx.Kernel(""".version 8.0
.target sm_80
.address_size 64
.visible .entry racy(.param .u64 out) {
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x;
  st.global.u32 [%rd1], %r1;
  ret;
}
""")
    with pytest.raises(ptx.LaunchError, match="kernel.ptx:7: "):
        racy(np.zeros(1, np.uint32), grid=2, block=1)
    racy(np.zeros(1, np.uint32), grid=1, block=1)


def test_ctrl_c_ends_a_launch():
    endless = ptx.Kernel(""".version 8.0
.target sm_80
.address_size 64
.visible .entry endless(.param .u64 out) {
  .reg .b32 %r<2>; .reg .b64 %rd<2>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [out]; mov.u32 %r1, 1;
AGAIN:
  add.u32 %r1, %r1, 2; setp.ne.u32 %p1, %r1, 0;
  @%p1 bra AGAIN;
  st.global.u32 [%rd1], %r1;
  ret;
}
""")
    out = np.zeros(1, np.uint32)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            endless(out, block=1, max_instructions=10**15)  # days
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 60 and not out.any()


def test_a_tensor_map_says_what_is_wrong():
    x = np.zeros((4, 64), np.float16)
    assert len(ptx.TensorMap(x, (4, 64)).bytes) == 128
    assert ptx.TensorMap(x, (4, 64), swizzle=128).bytes != ptx.TensorMap(x, (4, 64)).bytes
    for arguments, text in [((3, (1,)), "tensor map of 3: legal a NumPy array"), ((x, (4,)), "legal 1 to 5 axes"), ((x, (4, 64), 16), "swizzle 16, legal 0, 32, 64, 128"),
                            ((x, (4, 64), 0, "int3"), "dtype 'int3', legal uint8"), ((x.T, (64, 4)), r"strides \[1, 64\], legal one for each axis, the last 1"),
                            ((x, 4), "box 4, legal one number for each axis"), ((x, (4, 64), 0, "", None, 3), "strides 3, legal one number"),
                            ((np.zeros(4, [("a", "f8"), ("b", "f4")])["a"], (4,)), "legal multiples of an element, 8"),
                            ((x, (4, 0)), "box"), ((x, (4, -1)), r"box \[4, -1\]: legal whole numbers")]:
        with pytest.raises(flashproof.UsageError, match=text):
            ptx.TensorMap(*arguments)


def softmax_of(normalize_columns=0):
    module = ptx.Module(EXAMPLES / "softmax.ptx")
    statistics, normalize = ptx.Kernel(module, "row_statistics"), ptx.Kernel(module, "normalize")

    def softmax(x):
        rows, cols = x.shape
        o, lse, kept = np.empty((rows, cols), np.float32), np.empty(rows, np.float32), np.empty((rows, 2), np.float32)
        if rows:
            stride = x.strides[0] // 4
            statistics(x, kept, lse, cols, stride, grid=rows, block=128)
            normalize(x, kept, o, cols + normalize_columns, stride, grid=((cols + 127) // 128, rows), block=128)
        return o, lse
    return softmax


LIMITS = {"problem": "softmax", "cases": 1, "seconds": 0, "families": ["normal", "near_ties", "logit_spread", "descending"],
          "refuses": lambda p: None if 0 not in p.shape["x"] and p.strides["x"][1] == 1 else "a column, and columns side by side"}


def test_every_law_is_asked_of_a_compiled_kernel():
    result = flashproof.check(softmax_of(), **LIMITS)
    assert result.ok, str(result)
    assert result.max_ratio > 0 and result.decided["o"] > 0.5


def test_what_the_executor_finds_is_a_finding():
    result = flashproof.check(softmax_of(normalize_columns=1), **LIMITS)
    assert not result.ok
    assert re.search(r"LaunchError: softmax\.ptx:\d+: reads 4 bytes at .*behind the end of argument 0", result.details()), result.details()
