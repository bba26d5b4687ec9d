"""jax.attention.xla.float32: class_mismatch

class_matches_semantics: class_mismatch: not finite, but the exact result is: o[row 0, column 0]: computed nan (0x7fffffff, f32), exact 0 ± 0, bound 0 = weights 0 + numerator 0 + denominator 0 + output 0 (all zero)
problem: attention f32: q (1, 1, 1, 1) = 0; k (1, 1, 1, 1) = 0; v (1, 1, 1, 1) = 0; bias (1, 1, 1, 1) = -inf
declared arithmetic: jax_xla
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
    import jax.numpy as jnp
    import ml_dtypes

    return jnp.asarray(bits.copy().view(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype))


def numbers(output):
    return np.asarray(output, dtype=np.float64)


import functools
import importlib
from typing import Any, Callable, Dict, List, Optional


def jax_attention(implementation: str) -> Callable[..., Any]:
    import jax

    def run(q, k, v, *, scale, causal, bias=None):
        multiple = 8 if implementation == "cudnn" else 1
        values, width = v.shape[3], -(-max(q.shape[3], v.shape[3]) // multiple) * multiple  # one width for all: zeros behind, cut off again
        q, k, v = (jax.numpy.pad(t, ((0, 0), (0, 0), (0, 0), (0, width - t.shape[3]))) for t in (q, k, v))
        turn = lambda t: jax.numpy.swapaxes(t, 1, 2)  # noqa: E731
        with jax.default_matmul_precision("highest"):
            bias = None if bias is None else bias.astype(q.dtype)
            return turn(jax.nn.dot_product_attention(turn(q), turn(k), turn(v), bias=bias, scale=float(scale), is_causal=bool(causal),
                                                     implementation=implementation))[..., :values]

    return run



def main():
    given = {name: array(*pair) for name, pair in tensors().items()}
    names = EXPECTED["tensors"]
    function = jax_attention('xla')
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
