"""What the door costs per call: a callable that computes nothing, from a problem in C++ to its outputs in C++. Exits 1 above --limit microseconds, if one is given.

    python3 python/benchmarks/door.py [--arrays numpy] [--device cpu] [--limit 100]
"""

import argparse
import sys

import numpy as np

from flashproof import _arrays, _flashproof
from flashproof._kernel import Kernel


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arrays", default="numpy", choices=("numpy", "torch", "jax", "cupy"))
    parser.add_argument("--device", default="")
    parser.add_argument("--dtype", default="bf16", choices=("f32", "f16", "bf16"))
    parser.add_argument("--limit", type=float, default=float("inf"))
    parser.add_argument("--runs", type=int, default=300)
    options = parser.parse_args()
    adapter = _arrays.adapter(options.arrays, options.device)
    line = f"attention:normal:0:format={options.dtype},b=1,hq=2,hk=2,sq=16,sk=64,d=64,dv=64,layout=dense"
    p = _flashproof.call("make_case", line=line)
    o = adapter.give(options.dtype, np.zeros((1, 2, 16, 64), np.uint32 if options.dtype == "f32" else np.uint16))
    lse = adapter.give("f32", np.zeros((1, 2, 16), np.uint32))
    kernel = Kernel(lambda q, k, v, scale, causal: (o, lse), "attention", adapter, ["scale", "causal"], "both")
    assert kernel(p, False)[0] == "ok"
    cost = 1e6 * _flashproof.call("seconds_per_call", kernel=kernel, line=line, runs=options.runs)
    print(f"{options.arrays} {options.dtype} {options.device or 'cpu'}: {cost:.1f} us per call")
    if cost > options.limit:
        print(f"above {options.limit} us", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
