"""How long a subject takes on one problem of ordinary size: on a GPU by events, medians of 20, after 5 that do not count."""

import statistics
import time
from typing import Any, Callable, Dict, List

#: Those of kernels/gpu_benchmark, so that its rows stand beside: (B, H, S, d) and (rows, columns).
SHAPES = {"attention": [(2, 16, 8192, 128), (2, 16, 16384, 64)], "softmax": [(65536, 1024), (32768, 4096), (8192, 32768)]}


def samples(call: Callable[[], Any], device: str, runs: int = 20) -> List[float]:
    """Milliseconds."""
    found = []
    if device.startswith("cuda"):
        import torch

        for i in range(runs + 5):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            call()
            end.record()
            torch.cuda.synchronize()
            if i >= 5:
                found.append(begin.elapsed_time(end))
        return found
    for i in range(runs + 5):
        begin = time.perf_counter()
        call()
        if i >= 5:
            found.append(1e3 * (time.perf_counter() - begin))
    return found


def time_subject(subject: Any, function: Callable[..., Any], small: bool) -> List[Dict[str, Any]]:
    """`small`: shapes for a CPU."""
    rows = []
    for shape in SHAPES[subject.problem]:
        shape = tuple(min(n, 64) if small else n for n in shape)
        for causal in (False, True) if subject.problem == "attention" else (False,):
            call = caller(subject, function, shape, causal)
            found = samples(call, subject.device if subject.arrays == "torch" else "host", 5 if small else 20)
            median = statistics.median(found)
            row = {"shape": list(shape), "causal": causal, "median_ms": median, "min_ms": min(found)}
            if subject.problem == "attention":
                b, h, s, d = shape
                row["tflops"] = 4 * b * h * s * s * d * (0.5 if causal else 1) / (median * 1e9)
            else:
                row["gb_per_s"] = 2 * shape[0] * shape[1] * (4 if subject.dtype == "float32" else 2) / (median * 1e6)
            rows.append(row)
    return rows


def caller(subject: Any, function: Callable[..., Any], shape: Any, causal: bool) -> Callable[[], Any]:
    named = {"scale": shape[-1] ** -0.5, "causal": causal} if subject.problem == "attention" else {}
    count = 3 if subject.problem == "attention" else 1
    if subject.arrays == "torch":
        import torch

        tensors = [torch.randn(shape, device=subject.device, dtype=getattr(torch, subject.dtype)) for _ in range(count)]
        return lambda: function(*tensors, **named)
    import jax

    where = jax.devices("gpu" if subject.device.startswith("cuda") else "cpu")[0]
    keys = jax.random.split(jax.random.key(0), count)
    tensors = [jax.device_put(jax.random.normal(key, shape, dtype=subject.dtype), where) for key in keys]
    compiled = jax.jit(lambda *t: function(*t, **named))
    return lambda: compiled(*tensors).block_until_ready()
