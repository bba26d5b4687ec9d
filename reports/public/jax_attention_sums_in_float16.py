"""JAX: jax.nn.dot_product_attention (implementation="xla") of float16 adds P·V in float16 at small shapes.

    python3 jax_attention_sums_in_float16.py        needs JAX and a GPU; exits 1 while the finding is there

q = 0 and a power of two of keys: every weight is exactly 1/n, every product is exact. v is 256 n for the first key and 1/4 for the others, so that the
exact result is 256 + (n - 1) / 4n. Adding in float32 and rounding once is within 1/8 of it; adding in float16 gives 256, since every step is lost.
"""

import sys

import jax
import jax.numpy as jnp

wrong = 0
for queries in (1, 2, 16, 64):
    for n in (8, 64, 128):
        q, k = jnp.zeros((1, queries, 2, 8), jnp.float16), jnp.zeros((1, n, 2, 8), jnp.float16)
        v = jnp.full((1, n, 2, 8), 0.25, jnp.float16).at[:, 0].set(256 * n)
        exact = 256 + (n - 1) / (4 * n)
        with jax.default_matmul_precision("highest"):
            o = float(jax.nn.dot_product_attention(q, k, v, implementation="xla")[0, 0, 0, 0])
        far = not abs(o - exact) <= 0.125  # NaN is wrong, too
        wrong += far
        print(f"{queries} queries, {n} keys: {o!r}, exact {exact:.6g}", "WRONG" if far else "")
print(jax.__version__, jax.devices()[0].device_kind)
sys.exit(1 if wrong else 0)
