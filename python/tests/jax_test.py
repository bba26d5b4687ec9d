"""A real foreign kernel on the CPU."""

import pytest

import flashproof

jax = pytest.importorskip("jax")
jnp = jax.numpy


def dot_product_attention(q, k, v, *, scale, causal, bias=None):
    """jax.nn's, which has (batch, length, heads, width) and aligns causal top left."""
    turn = lambda a: jnp.swapaxes(a, 1, 2)  # noqa: E731
    with jax.default_matmul_precision("highest"):
        return turn(jax.nn.dot_product_attention(turn(q), turn(k), turn(v), bias=bias, scale=float(scale), is_causal=bool(causal)))


def refuses(p):
    return "causal: Sq = Sk" if p.causal and p.shape["q"][2] != p.shape["k"][2] else None


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_attention_is_within_its_bound(dtype):
    result = flashproof.check(dot_product_attention, dtype=dtype, arrays="jax", arithmetic="jax_xla", refuses=refuses, without=["empty", "value_dim"],
                              families=["normal", "equal", "logit_spread"], laws=["within_bound", "rerun_is_bitwise"], cases=2, measured=2)
    assert result.ok, str(result)
    assert result.max_ratio > 0


def test_softmax_and_logsumexp():
    for kernel, returns in ((lambda x: jax.nn.softmax(x), "o"), (lambda x: jax.nn.logsumexp(x, axis=-1), "lse")):
        result = flashproof.check(kernel, problem="softmax", arrays="jax", returns=returns, families=["normal", "ramp", "huge"], cases=1, without=["empty"],
                                  laws=["within_bound"], measured=1)
        assert result.ok, str(result)


def test_a_numpy_array_is_no_jax_array():
    import numpy as np

    result = flashproof.check(lambda x: np.asarray(x), problem="softmax", arrays="jax", returns="o", families=["normal"], cases=1, measured=1)
    assert {f.kind for f in result.findings} == {"wrong_type"}
