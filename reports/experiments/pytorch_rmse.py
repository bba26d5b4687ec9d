"""FlashAttention-3's outlier distribution on PyTorch's attention backends, on a GPU: python3 pytorch_rmse.py

RMSE of o against fp64 of the stored inputs, and against fp64 of the draws before they were rounded to the format, beside
the RMSE that rounding the exact o alone leaves. 2 x 8 heads, 2048 keys, d = 128, seed 0. Markdown on stdout.
"""
import warnings

import torch
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel

BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cuDNN": SDPBackend.CUDNN_ATTENTION,
    "memory-efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}
SCALE = 128**-0.5


def draw(outliers):
    x = torch.randn(2, 8, 2048, 128, dtype=torch.float64, device="cuda")
    return x + 10 * torch.randn_like(x) * (torch.rand_like(x) < 0.001) if outliers else x


def exact(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2) * SCALE, -1) @ v


def rms(x):
    return x.square().mean().sqrt().item()


def candidates(q, k, v):
    for name, backend in BACKENDS.items():
        try:
            with sdpa_kernel(backend):
                yield name, functional.scaled_dot_product_attention(q, k, v)
        except RuntimeError:
            yield name, None
    yield "S and P stored in the format", torch.softmax(q @ k.transpose(-1, -2) * SCALE, -1) @ v


def main():
    warnings.simplefilter("ignore")  # PyTorch warns of every backend that it was told not to use
    torch.manual_seed(0)
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}, cuDNN {torch.backends.cudnn.version()}\n")
    print("| data | format | backend | RMSE | rounding of o alone | RMSE with the inputs' rounding |")
    print("|---|---|---|---|---|---|")
    for data, outliers in (("N(0,1)", False), ("with outliers", True)):
        draws = [draw(outliers) for _ in range(3)]
        from_draws = exact(*draws)
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            q, k, v = (x.to(dtype) for x in draws)
            want = exact(q.double(), k.double(), v.double())
            rounding = rms(want.to(dtype).double() - want)
            for name, got in candidates(q, k, v):
                figures = "refused | | " if got is None else (
                    f"{rms(got.double() - want):.2e} | {rounding:.2e} | {rms(got.double() - from_draws):.2e} ")
                print(f"| {data} | {str(dtype).removeprefix('torch.')} | {name} | {figures}|")


if __name__ == "__main__":
    main()
