#!/usr/bin/env python3
"""Makes triton.sm_90a.ptx, three entries as Triton translates them for a GPU of Hopper:

    python3 kernels/ptx/test/make_triton_ptx.py        with the package triton; 3.9.0 made what is here

No GPU is needed. The sources are here: a softmax, an attention whose tiles come by cp.async, and one whose tiles come by tensor maps.
The second takes the maximum before the scale: where the scale is negative, that is the least score.
"""
import pathlib
import re

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def row_softmax(x, o, cols, stride, WIDTH: tl.constexpr):
    at = tl.arange(0, WIDTH)
    row = tl.load(x + tl.program_id(0) * stride + at, mask=at < cols, other=float("-inf"))
    weights = tl.exp2((row - tl.max(row, 0)) * LOG2_E)
    tl.store(o + tl.program_id(0) * stride + at, weights / tl.sum(weights, 0), mask=at < cols)


@triton.jit
def add_tile(q, k, v, most, total, sums, scale, SCALE_FIRST: tl.constexpr):
    """Online softmax: the tile's keys and values on top of what was before."""
    scores = tl.dot(q, tl.trans(k))
    if SCALE_FIRST:
        scores = scores * scale
        now = tl.maximum(most, tl.max(scores, 1))
    else:
        now = tl.maximum(most, tl.max(scores, 1) * scale)
        scores = scores * scale
    weights = tl.exp2(scores - now[:, None])
    before = tl.exp2(most - now)
    sums = tl.dot(weights.to(v.dtype), v, sums * before[:, None])
    return now, total * before + tl.sum(weights, 1), sums


@triton.jit
def attention_by_pointers(q, k, v, o, lse, scale, keys, ROWS: tl.constexpr, KEYS: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, D)
    q_tile = tl.load(q + rows[:, None] * D + columns[None, :])
    most = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    sums = tl.zeros([ROWS, D], tl.float32)
    for first in range(0, keys, KEYS):
        at = (first + tl.arange(0, KEYS))[:, None] * D + columns[None, :]
        most, total, sums = add_tile(q_tile, tl.load(k + at), tl.load(v + at), most, total, sums, scale * LOG2_E, False)
    tl.store(o + rows[:, None] * D + columns[None, :], (sums / total[:, None]).to(o.dtype.element_ty))
    tl.store(lse + rows, (most + tl.log2(total)) / LOG2_E)


@triton.jit
def attention_by_maps(q, k, v, o, lse, scale, keys, ROWS: tl.constexpr, KEYS: tl.constexpr, D: tl.constexpr):
    start = tl.program_id(0) * ROWS
    q_tile = q.load([start, 0])
    most = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    sums = tl.zeros([ROWS, D], tl.float32)
    for first in range(0, keys, KEYS):
        k_tile, v_tile = k.load([first, 0]), v.load([first, 0])
        most, total, sums = add_tile(q_tile, k_tile, v_tile, most, total, sums, scale * LOG2_E, True)
    o.store([start, 0], (sums / total[:, None]).to(tl.float16))
    tl.store(lse + start + tl.arange(0, ROWS), (most + tl.log2(total)) / LOG2_E)


def text_of(function, signature: dict, constants: dict) -> str:
    signature = signature | dict.fromkeys(constants, "constexpr")
    aligned = {(i,): [["tt.divisibility", 16]] for i, kind in enumerate(signature.values()) if kind[0] == "*" or kind == "i32"}
    source = ASTSource(fn=function, signature=signature, constexprs=constants, attrs=aligned)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4, "num_stages": 2})
    print(function.__name__, made.metadata.shared, "bytes of shared memory,", made.metadata.num_warps, "warps")
    text = re.sub(r"^\s*//.*\n|[ \t]*//.*$", "", made.asm["ptx"], flags=re.M)
    text = re.sub(r"^\s*(\.loc|\.file|\$L__(tmp|func)\w+:).*\n", "", text, flags=re.M)
    text = re.sub(r"^\s*\.section.*", "", text, flags=re.M | re.S)  # what follows is for debuggers
    return re.sub(r"\n{2,}", "\n", text)


def main() -> None:
    tiles = {"ROWS": 64, "KEYS": 64, "D": 64}
    rest = {"lse": "*fp32", "scale": "fp32", "keys": "i32"}
    texts = [
        text_of(row_softmax, {"x": "*fp32", "o": "*fp32", "cols": "i32", "stride": "i32"}, {"WIDTH": 1024}),
        text_of(attention_by_pointers, dict.fromkeys("qkvo", "*fp16") | rest, tiles),
        text_of(attention_by_maps, dict.fromkeys("qkvo", "tensordesc<fp16[64,64]>") | rest, tiles),
    ]
    # One module: the head and the shared memory of the first.
    entry = re.compile(r"^\.visible \.entry .*^\}\n", re.M | re.S)  # a text has one; braces in it may start a line, too
    head = re.sub(r"^\.global .*\n", "", entry.sub("", texts[0]), flags=re.M)
    to = pathlib.Path(__file__).resolve().parent / "triton.sm_90a.ptx"
    kind = f"// kernels/ptx/test/make_triton_ptx.py, through triton {triton.__version__}\n"
    to.write_text(kind + head + "".join(entry.search(text).group(0) for text in texts))
    print(to.name, to.stat().st_size)


if __name__ == "__main__":
    main()
