"""JAX: jax.nn.softmax of float16 and bfloat16 sums in the input's precision.

    python3 jax_softmax_in_input_precision.py        needs JAX, on a CPU or a GPU; exits 1 while the finding is there

Allowed is one rounding of the exact value to the output's format, half a unit of its last place, and 2^-20 of it for sums and exponentials in float32.
"""

import math
import sys

import jax
import jax.numpy as jnp

wrong = 0
for dtype, unit in ((jnp.float32, 2.0**-24), (jnp.float16, 2.0**-11), (jnp.bfloat16, 2.0**-8)):
    for name, x, exact in (("(0, -6)", [0.0, -6.0], 1 / (1 + math.exp(-6))), ("(0, -8)", [0.0, -8.0], 1 / (1 + math.exp(-8)))):
        for how, row in (("", jnp.array(x, dtype)), (" through float32", jnp.array(x, jnp.float32))):
            value = float(jax.nn.softmax(row).astype(dtype)[0])
            allowed = math.ldexp(unit, math.frexp(exact)[1] - 1) + 2.0**-20 * exact
            far = not abs(value - exact) <= allowed  # NaN is wrong, too
            wrong += far
            print(f"{jnp.dtype(dtype).name} {name}{how}: {value!r}, exact {exact:.9g}, error {abs(value - exact):.2e}, allowed {allowed:.2e}", "WRONG" if far else "")
print(jax.__version__, jax.devices()[0].device_kind)
sys.exit(1 if wrong else 0)
