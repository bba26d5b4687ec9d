"""PyTorch on a CPU: scaled_dot_product_attention of queries that overlap in memory (a sliding window) returns what was in memory before.

    python3 torch_sdpa_cpu_overlapping_queries.py        needs PyTorch alone; exits 1 while the finding is there

The output's last axis is then not the dense one. Allowed is 1e-5: float32,
47 keys, values of a few units.
"""

import sys

import torch

torch.manual_seed(0)
q = torch.randn(1, 2, 200).unfold(2, 16, 1)[:, :, :3]  # (1, 2, 3, 16), strides (400, 200, 1, 1)
k, v = torch.randn(1, 2, 47, 16), torch.randn(1, 2, 47, 16)
attention = torch.nn.functional.scaled_dot_product_attention
exact = attention(*(t.double().contiguous() for t in (q, k, v)))
wrong = 0
for what, queries in (("overlapping", q), ("a copy", q.contiguous())):
    o = attention(queries, k, v)
    error = (o.double() - exact).abs()
    far = int((~(error < 1e-5)).sum())
    print(f"{what}: strides of o {o.stride()}, {far} of {o.numel()} elements are wrong, by up to {error.nan_to_num(torch.inf).max():.3g}")
    wrong += far
print(torch.__version__, torch.backends.cpu.get_cpu_capability())
sys.exit(1 if wrong else 0)
