"""torch.sdpa.flash.backward.float16: laundering

gradient_within_bound: laundering: finite where NaN is the answer: dv[row 0, column 0]: computed 0 (0x0000, f16), exact nan
problem: attention_backward f16 gradient: q (1, 1, 1, 1) = 0; k (1, 1, 2, 1) = 0, inf; v (1, 1, 2, 1) = 0, 0; dO (1, 1, 1, 1) = 0
declared arithmetic: fa2_sm80
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


def sdpa_backward(backend: str, bias: bool, multiple: int) -> Callable[..., Any]:
    """torch.autograd.grad of scaled_dot_product_attention with one backend. Zeros behind d and dv add nothing to any product."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    only = getattr(SDPBackend, backend)
    torch.backends.cuda.matmul.allow_tf32 = False
    function = torch.nn.functional.scaled_dot_product_attention

    def gradient(q, k, v, do, mask, scale, causal):
        width = max(q.shape[3], v.shape[3])
        widened = [torch.nn.functional.pad(t, (0, width - t.shape[3])) for t in (q, k, v, do)] if multiple > 1 else [q, k, v, do]
        *leaves, seed = (aligned(t.detach(), multiple) for t in widened)
        for leaf in leaves:
            leaf.requires_grad_(True)
        with sdpa_kernel([only]):
            if causal and mask is None and q.shape[2] != k.shape[2]:
                from torch.nn.attention.bias import causal_lower_right

                mask, causal = causal_lower_right(q.shape[2], k.shape[2]), False
            o = function(*leaves, attn_mask=mask, is_causal=causal, scale=scale, enable_gqa=q.shape[1] != k.shape[1])
            found = torch.autograd.grad(o, leaves, seed)
        return tuple(g[..., :t.shape[3]] for g, t in zip(found, (q, k, v)))

    def plain(q, k, v, do, *, scale, causal):
        return gradient(q, k, v, do, None, scale, causal)

    def biased(q, k, v, do, *, scale, causal, bias=None):
        return gradient(q, k, v, do, None if bias is None else bias.to(q.dtype), scale, causal)

    return biased if bias else plain


def aligned(t, multiple):
    """Contiguous, at a 16-byte address, the last axis padded with zeros to a multiple: what the fused kernels document of their inputs."""
    import torch

    width = -(-t.shape[3] // multiple) * multiple
    return torch.nn.functional.pad(t, (0, width - t.shape[3])).clone(memory_format=torch.contiguous_format)



def main():
    given = {name: array(*pair) for name, pair in tensors().items()}
    names = EXPECTED["tensors"]
    function = sdpa_backward('FLASH_ATTENTION', False, 8)
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
