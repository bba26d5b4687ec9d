"""PyTorch's scaled_dot_product_attention on views whose last axis is dense but whose rows are not aligned to 16 bytes: what comes out, as Markdown.

    python3 python/public_kernels/strided_views.py

PyTorch and NumPy alone. Every cell is a process of its own, since a CUDA error ends one. A result is wrong if it differs from the double-precision
one by more than 2^-8 of the largest |v|: the rounding of P and of o to 16 bits, n + 2 additions in f32 and the exponential stay below 2^-9 of it.
"""

import subprocess
import sys

BACKENDS = ("default", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH")
VIEWS = {
    "contiguous": "torch.randn(B, H, S, D, **on)",
    "heads and queries swapped": "torch.randn(B, S, H, D, **on).transpose(1, 2)",
    "rows of D + 8, from 0": "torch.randn(B, H, S, D + 8, **on)[..., :D]",
    "rows of D + 4, from 0": "torch.randn(B, H, S, D + 4, **on)[..., :D]",
    "rows of D + 1, from 0": "torch.randn(B, H, S, D + 1, **on)[..., :D]",
    "rows of D + 8, from 1": "torch.randn(B, H, S, D + 8, **on)[..., 1:D + 1]",
}
CELL = '''
import contextlib, sys, torch
from torch.nn.attention import SDPBackend, sdpa_kernel
torch.manual_seed(0)
B, H, S, D = 2, 4, 128, 64
on = dict(device="cuda", dtype=torch.float16)
q, k, v = ({view} for _ in range(3))
exact = torch.softmax(q.double() @ k.double().transpose(-1, -2) / D ** 0.5, -1) @ v.double()
with contextlib.nullcontext() if "{backend}" == "default" else sdpa_kernel([getattr(SDPBackend, "{backend}")]):
    o = torch.nn.functional.scaled_dot_product_attention(q, k, v)
torch.cuda.synchronize()
error = (o.double() - exact).abs()
limit = 2.0 ** -8 * v.abs().max().item()
bad = int((~(error <= limit)).sum())
print("right" if bad == 0 else f"WRONG: {{bad}} of {{o.numel()}} elements, {{int(o.isnan().sum())}} of them NaN, else by up to {{error.nan_to_num(0).max().item():.2g}}")
'''


def cell(backend, view):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", CELL.format(backend=backend, view=view)], capture_output=True, text=True, timeout=120)
    if done.returncode == 0:
        return done.stdout.strip()
    last = [line for line in done.stderr.splitlines() if "Error" in line]
    return "raises: " + (last[0].split(". ")[0].strip()[:110].replace("|", "/") if last else f"exit {done.returncode}")


def main():
    import torch

    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}; float16, q, k, v of (2, 4, 128, 64)\n")
    print("| view | " + " | ".join(BACKENDS) + " |\n|" + "---|" * (1 + len(BACKENDS)))
    for name, view in VIEWS.items():
        print(f"| {name} | " + " | ".join(cell(b, view) for b in BACKENDS) + " |", flush=True)


if __name__ == "__main__":
    main()
