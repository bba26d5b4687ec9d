"""What libraries do where there is no number to be right about, and what they do not promise: printed, nothing asserted.

    python3 conventions.py        PyTorch and JAX, each if it is there; on the GPU if there is one
"""

import importlib.util

import numpy as np

INF = float("inf")


def pytorch():
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    t = lambda *rows: torch.tensor(rows, device=device)  # noqa: E731
    print("torch", torch.__version__, device)
    print("  softmax of a row of -inf:", torch.softmax(t([-INF, -INF]), -1).tolist())
    print("  logsumexp of a row of -inf:", torch.logsumexp(t([-INF, -INF]), -1).tolist())
    print("  softmax of (inf, 0):", torch.softmax(t([INF, 0.0]), -1).tolist())
    print("  logsumexp of (inf, 0):", torch.logsumexp(t([INF, 0.0]), -1).tolist())
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((64, 1025), np.float32)).to(device)
    whole, alone = torch.logsumexp(x, -1), torch.cat([torch.logsumexp(row[None], -1) for row in x])
    print("  logsumexp: rows alone that differ from themselves among 64:", int((whole != alone).sum()))
    print("  logsumexp: rows that differ when x is stored transposed:", int((whole != torch.logsumexp(x.t().contiguous().t(), -1)).sum()))
    if device == "cuda":
        from torch.nn.attention import SDPBackend, sdpa_kernel

        q, k, v = (torch.randn(1, 1, 16, 64, device=device, dtype=torch.float16) for _ in range(3))
        v[:, :, 15] = float("nan")  # seen by the last query alone
        for backend in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION):
            with sdpa_kernel([backend]):
                o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            print(f"  causal attention, {backend.name}: NaN in v of the last key reaches", int(o[0, 0, :15].isnan().any(-1).sum()), "of the 15 rows that do not see it")


def jax():
    import jax
    import jax.numpy as jnp

    print("jax", jax.__version__, jax.devices()[0].device_kind)
    print("  softmax of a row of -inf:", jax.nn.softmax(jnp.array([-INF, -INF])).tolist())
    print("  logsumexp of a row of -inf:", float(jax.nn.logsumexp(jnp.array([-INF, -INF]))))
    print("  softmax of (inf, 0):", jax.nn.softmax(jnp.array([INF, 0.0])).tolist())
    print("  logsumexp of (inf, 0):", float(jax.nn.logsumexp(jnp.array([INF, 0.0]))))
    x = jnp.asarray(np.random.default_rng(0).standard_normal((64, 1025), np.float32))
    for name, f in (("logsumexp", jax.nn.logsumexp), ("softmax", jax.nn.softmax)):
        whole, alone = f(x, axis=-1), jnp.concatenate([f(x[i:i + 1], axis=-1) for i in range(64)])
        print(f"  {name}: rows alone that differ from themselves among 64:", int((whole != alone).reshape(64, -1).any(-1).sum()))


if __name__ == "__main__":
    for library, tell in (("torch", pytorch), ("jax", jax)):
        if importlib.util.find_spec(library):
            tell()
        else:
            print(library, "is not installed")
