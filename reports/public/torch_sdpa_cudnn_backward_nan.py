"""PyTorch: the gradient of scaled_dot_product_attention is NaN where every score of a query is low and the keys fill half of a tile.

    python3 torch_sdpa_cudnn_backward_nan.py        needs PyTorch and an H100 or H200; exits 1 while the finding is there

64 keys, all with the score -s, so that every weight is 1/64, whatever s is: the exact gradients are those of s = 0 but for the sums in dq, which are
0 in the direction of the keys' common part. Printed: how many elements of o, dq, dk and dv are not finite, by backend.
"""

import contextlib
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel


def not_finite(dtype, queries, keys, score, backend):
    generator = torch.Generator("cuda").manual_seed(1)
    q, k = torch.zeros(1, 1, queries, 64, device="cuda"), torch.zeros(1, 1, keys, 64, device="cuda")
    q[..., 0], k[..., 0] = 1, score
    v, do = (torch.randn(1, 1, n, 64, device="cuda", generator=generator) for n in (keys, queries))
    q, k, v, do = (t.to(dtype).requires_grad_(True) for t in (q, k, v, do))
    with sdpa_kernel([backend]) if backend else contextlib.nullcontext():
        o = torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=1.0)
        return [int((~t.isfinite()).sum()) for t in (o, *torch.autograd.grad(o, (q, k, v), do))]


BACKENDS = {"default": None, "cuDNN": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION,
            "memory-efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}
print(torch.__version__, torch.backends.cudnn.version(), torch.cuda.get_device_name())
wrong = 0
for dtype, scores in ((torch.float16, (-10, -15, -16)), (torch.bfloat16, (-88, -93))):
    for score in scores:
        for name, backend in BACKENDS.items():
            counts = not_finite(dtype, 64, 64, score, backend)
            wrong += sum(counts)
            print(f"{dtype}, 64 queries, 64 keys of score {score}, {name}: not finite: o {counts[0]}, dq {counts[1]}, dk {counts[2]}, dv {counts[3]} of 4096")
for keys in (32, 63, 64, 65, 96, 127, 128, 129, 192, 255, 256, 320, 448, 512, 1024, 1088):
    print(f"float16, 64 queries, {keys} keys of score -20, default: dq {not_finite(torch.float16, 64, keys, -20, None)[1]} of 4096")
sys.exit(1 if wrong else 0)
