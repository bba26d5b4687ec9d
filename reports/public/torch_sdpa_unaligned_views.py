"""PyTorch: scaled_dot_product_attention on views whose last axis is dense and whose rows are not aligned to 16 bytes.

    python3 torch_sdpa_unaligned_views.py        needs PyTorch and a GPU; exits 1 while the finding is there

The reference is the same call in float64 on the CPU. A right result differs from it by less than 2^-8 of the largest |v|: rounding the weights and the
result to 16 bits costs 2^-11 each, sums and the exponential in float32 far less.
"""

import sys

import torch

torch.manual_seed(0)
x = torch.randn(3, 2, 4, 128, 65, device="cuda", dtype=torch.float16)
q, k, v = x[..., :64]  # last axis dense, rows of 130 bytes
attention = torch.nn.functional.scaled_dot_product_attention
exact = attention(*(t.cpu().double() for t in (q, k, v)))
wrong = 0
for what, tensors in (("views", (q, k, v)), ("contiguous copies", (q.contiguous(), k.contiguous(), v.contiguous()))):
    error = (attention(*tensors).cpu().double() - exact).abs()
    far = int((~(error < v.abs().max().item() / 256)).sum())
    print(f"{what}: {far} of {error.numel()} elements are wrong, by up to {error.nan_to_num(torch.inf).max():.3g}")
    wrong += far
print(torch.__version__, torch.backends.cudnn.version(), torch.cuda.get_device_name())
sys.exit(1 if wrong else 0)
