"""jax.logsumexp.float32: class_mismatch

class_matches_semantics: class_mismatch: not in the class of the exact result: lse[row 0]: computed inf (0x7f800000, f32), exact nan
problem: softmax f32: x (1, 1) = inf
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
    import jax.numpy as jnp
    import ml_dtypes

    return jnp.asarray(bits.copy().view(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype))


def numbers(output):
    return np.asarray(output, dtype=np.float64)


import functools
import importlib
from typing import Any, Callable, Dict, List, Optional


def jax_function(name: str) -> Callable[..., Any]:
    import jax

    return {"softmax": lambda x: jax.nn.softmax(x, axis=-1), "logsumexp": lambda x: jax.nn.logsumexp(x, axis=-1)}[name]



def main():
    given = {name: array(*pair) for name, pair in tensors().items()}
    names = EXPECTED["tensors"]
    function = jax_function('logsumexp')
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
