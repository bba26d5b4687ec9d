"""The online softmax in Triton of python/public_kernels/triton_online_softmax.py, as published, on a matrix whose columns are not next to each other.

    python3 triton_column_stride.py        needs PyTorch, Triton and a GPU; exits 1 while the finding is there

The kernel is given stride(0) of input and output and steps through a row by one element, whatever stride(1) is.
"""

import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python/public_kernels"))
from triton_online_softmax import online_softmax  # noqa: E402

torch.manual_seed(0)
x = torch.randn(512, 256, device="cuda").t()  # 256 x 512, strides (1, 256)
exact = torch.softmax(x.double(), -1)
wrong = 0
for what, given in (("transposed", x), ("contiguous copy", x.contiguous())):
    error = (online_softmax(given).double() - exact).abs()
    far = int((~(error < 1e-6)).sum())  # of values below 1, in float32, rows of 512: a right sum is within 2^-20
    print(f"{what}: {far} of {error.numel()} elements are wrong, by up to {error.nan_to_num(torch.inf).max():.3g}")
    wrong += far
sys.exit(1 if wrong else 0)
