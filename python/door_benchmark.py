"""What the door costs per call: a callable that computes nothing, through Kernel and by hand. Exits 1 above --limit microseconds.

    python3 python/door_benchmark.py [--arrays numpy] [--device cpu] [--limit 100]
"""

import argparse
import statistics
import sys
import time

import numpy as np

from flashproof import _arrays, _flashproof
from flashproof._kernel import Kernel


def microseconds(call, runs):
    found = []
    for _ in range(7):
        begin = time.perf_counter()
        for _ in range(runs):
            call()
        found.append((time.perf_counter() - begin) / runs * 1e6)
    return statistics.median(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arrays", default="numpy", choices=("numpy", "torch", "jax", "cupy"))
    parser.add_argument("--device", default="")
    parser.add_argument("--dtype", default="bf16", choices=("f32", "f16", "bf16"))
    parser.add_argument("--limit", type=float, default=100)
    parser.add_argument("--runs", type=int, default=300)
    options = parser.parse_args()
    adapter = _arrays.adapter(options.arrays, options.device)
    line = f"attention:normal:0:format={options.dtype},b=1,hq=2,hk=2,sq=16,sk=64,d=64,dv=64,layout=dense"
    p = _flashproof.make_case(line)
    o = adapter.give(options.dtype, np.zeros((1, 2, 16, 64), np.uint32 if options.dtype == "f32" else np.uint16))
    lse = adapter.give("f32", np.zeros((1, 2, 16), np.uint32))
    kernel = Kernel(lambda q, k, v, scale, causal: (o, lse), "attention", adapter, ["scale", "causal"], "both")
    assert kernel(p, False)[0] == "ok"
    inner = microseconds(lambda: kernel(p, False), options.runs)
    native = microseconds(lambda: _flashproof.make_case(line), options.runs)
    print(f"{options.arrays} {options.dtype}: {inner:.1f} us per call in Python; make_case with the problem's dict {native:.1f} us")
    if inner > options.limit:
        print(f"above {options.limit} us", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
