"""torch.sdpa.efficient.float32: class_mismatch

class_matches_semantics: class_mismatch: not finite, but the exact result is: o[row 0, column 0]: computed nan (0x7fffffff, f32), exact 0 ± 0, bound 0 = weights 0 + numerator 0 + denominator 0 + output 0 (all zero)
problem: attention f32: q (1, 1, 1, 1) = -1; k (1, 1, 1, 1) = inf; v (1, 1, 1, 1) = -inf
declared arithmetic: pytorch_efficient
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


def contiguous(call: Callable[..., Any]) -> Callable[..., Any]:
    """Of every tensor a copy with dense rows, from an address that every vector load can have."""
    import torch

    @functools.wraps(call)
    def run(*tensors, **named):
        copy = lambda t: t.clone(memory_format=torch.contiguous_format) if isinstance(t, torch.Tensor) else t  # noqa: E731
        return call(*map(copy, tensors), **{name: copy(t) for name, t in named.items()})

    return run


def padded(call: Callable[..., Any], multiple: int) -> Callable[..., Any]:
    """Heads as wide as the kernel takes: zeros behind d and dv, which add nothing to any product, cut off again."""
    import torch

    @functools.wraps(call)  # its parameters are what flashproof asks for
    def run(q, k, v, **named):
        width = -(-max(q.shape[3], v.shape[3]) // multiple) * multiple
        pad = lambda t: t if t.shape[3] == width else torch.nn.functional.pad(t, (0, width - t.shape[3]))  # noqa: E731
        result = call(pad(q), pad(k), pad(v), **named)
        if isinstance(result, tuple):
            return (result[0][..., :v.shape[3]], *result[1:])
        return result[..., :v.shape[3]]

    return run


def sdpa(backend: str, bias: bool) -> Callable[..., Any]:
    """torch.nn.functional.scaled_dot_product_attention with one backend."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    only = getattr(SDPBackend, backend)
    torch.backends.cuda.matmul.allow_tf32 = False
    function = torch.nn.functional.scaled_dot_product_attention

    def plain(q, k, v, *, scale, causal):
        with sdpa_kernel([only]):
            if causal and q.shape[2] != k.shape[2]:
                from torch.nn.attention.bias import causal_lower_right

                return function(q, k, v, attn_mask=causal_lower_right(q.shape[2], k.shape[2]), scale=scale)
            return function(q, k, v, is_causal=causal, scale=scale, enable_gqa=q.shape[1] != k.shape[1])

    def biased(q, k, v, *, scale, causal, bias=None):
        with sdpa_kernel([only]):
            mask = None if bias is None else bias.to(q.dtype)
            return function(q, k, v, attn_mask=mask, is_causal=causal, scale=scale, enable_gqa=q.shape[1] != k.shape[1])

    return biased if bias else plain



def main():
    given = {name: array(*pair) for name, pair in tensors().items()}
    names = EXPECTED["tensors"]
    function = contiguous(padded(sdpa('EFFICIENT_ATTENTION', True), 8))
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
