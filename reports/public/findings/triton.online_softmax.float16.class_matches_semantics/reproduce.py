"""triton.online_softmax.float16: class_mismatch

class_matches_semantics: class_mismatch: not finite, but the exact result is: o[row 0, column 0]: computed nan (0x7fff, f16), exact 0 ± 0, bound 0 = weights 0 + numerator 0 + denominator 0 + output 0 (all zero)
problem: softmax f16: x (1, 1) = -inf
declared arithmetic: unknown
versions: torch 2.11.0+cu130, triton 3.6.0, jax 0.11.2, jaxlib 0.11.2, cupy 14.2.0, numpy 2.5.2, cudnn 1.32.0, gpu NVIDIA H200, cuda 13.0, cudnn_library 91900

    python3 reproduce.py        exits 1 while the finding is there
"""

import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = json.loads((HERE / "expected.json").read_text())


def tensors():
    """The inputs of witness.safetensors as raw bits: name -> (dtype, array)."""
    raw = (HERE / "witness.safetensors").read_bytes()
    size = int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8:8 + size])
    kinds = {"F32": ("float32", "<u4"), "F16": ("float16", "<u2"), "BF16": ("bfloat16", "<u2")}
    found = {}
    for name, entry in head.items():
        if name != "__metadata__":
            dtype, bits = kinds[entry["dtype"]]
            begin, end = entry["data_offsets"]
            found[name] = (dtype, np.frombuffer(raw[8 + size + begin:8 + size + end], bits).reshape(entry["shape"]))
    return found


def array(dtype, bits):
    import torch

    signed = {4: "<i4", 2: "<i2"}[bits.itemsize]
    return torch.from_numpy(bits.view(signed).copy()).to("cuda").view(getattr(torch, dtype))


def numbers(output):
    return output.detach().float().cpu().numpy().astype(np.float64)


import functools
import importlib
from typing import Any, Callable, Dict, List, Optional


import torch
import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(
    output_ptr, input_ptr,
    input_row_stride, output_row_stride,
    n_rows, n_cols,
    BLOCK_SIZE: tl.constexpr,
):
    row_idx = tl.program_id(0)
    row_in  = input_ptr  + row_idx * input_row_stride
    row_out = output_ptr + row_idx * output_row_stride

    # --- pass 1: accumulate (m, d) over chunks ---
    m = float('-inf')
    d = 0.0

    for block_start in range(0, n_cols, BLOCK_SIZE):
        cols = block_start + tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        x    = tl.load(row_in + cols, mask=mask, other=float('-inf'))

        block_m = tl.max(x, axis=0)
        m_new   = tl.maximum(m, block_m)

        # rescale running denominator, add this block's contribution
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new), axis=0)
        m = m_new

    # --- pass 2: normalize ---
    for block_start in range(0, n_cols, BLOCK_SIZE):
        cols = block_start + tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        x    = tl.load(row_in + cols, mask=mask, other=0.0)
        y    = tl.exp(x - m) / d
        tl.store(row_out + cols, y, mask=mask)


def online_softmax(x: torch.Tensor) -> torch.Tensor:
    assert x.ndim == 2
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)

    # BLOCK_SIZE is fixed and hardware-safe, independent of n_cols
    BLOCK_SIZE = 1024

    online_softmax_kernel[(n_rows,)](
        y, x,
        x.stride(0), y.stride(0),
        n_rows, n_cols,
        BLOCK_SIZE=BLOCK_SIZE,
    )
    return y





def main():
    given = {name: array(*pair) for name, pair in tensors().items()}
    names = EXPECTED["tensors"]
    function = online_softmax
    computed = function(*(given[n] for n in names), **{n: given.get(n, v) for n, v in EXPECTED["arguments"].items()})
    outputs = computed if isinstance(computed, (tuple, list)) else (computed,)
    values = dict(zip(EXPECTED["outputs"], (numbers(o) for o in outputs)))
    wrong = []
    for e in EXPECTED["elements"]:
        value = float(values[e["output"]].reshape(-1)[e["index"]])
        low, high = float(e["low"]), float(e["high"])
        if not (low <= value <= high if e["class"] == "finite" else str(value) == e["class"]):
            allowed = f"{low} to {high}" if e["class"] == "finite" else e["class"]
            wrong.append(f"{e['output']}[{e['index']}]: computed {value!r}, exact {e['exact']}, allowed {allowed}  WRONG")
    print("\n".join([*wrong[:20], f"{len(wrong)} of {len(EXPECTED['elements'])} elements are wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
