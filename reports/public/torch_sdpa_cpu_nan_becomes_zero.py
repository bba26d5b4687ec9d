"""PyTorch on a CPU: scaled_dot_product_attention turns a NaN in q or k into 0 where a row has fewer keys than a vector register.

    python3 torch_sdpa_cpu_nan_becomes_zero.py        needs PyTorch alone; exits 1 while the finding is there

A score that is NaN makes the whole row NaN: softmax has no other value. So does +inf (inf - inf). The math path gives NaN everywhere.
"""

import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

attention = torch.nn.functional.scaled_dot_product_attention
wrong = 0
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    for keys in (1, 4, 17, 100):
        for what, value in (("NaN in q", float("nan")), ("inf in k of the first key", float("inf"))):
            q, k, v = torch.ones(1, 1, 1, 16, dtype=dtype), torch.ones(1, 1, keys, 16, dtype=dtype), torch.ones(1, 1, keys, 16, dtype=dtype)
            (q if "q" in what.split() else k)[0, 0, 0] = value
            with sdpa_kernel([SDPBackend.MATH]):
                math = attention(q, k, v)[0, 0, 0, 0].item()
            o = attention(q, k, v)[0, 0, 0, 0].item()
            finite = o == o and abs(o) != float("inf")
            wrong += finite
            print(f"{str(dtype)[6:]}, {keys} keys, {what}: {o}, math path {math}", "WRONG" if finite else "")
print(torch.__version__, torch.backends.cpu.get_cpu_capability())
sys.exit(1 if wrong else 0)
