"""Gradients of attention for the tests: right ones in a declared arithmetic, and one for each thing that may be wrong with them."""

import numpy as np


def _weights(q, k, *, scale, causal, bias=None, key_length=None, real=np.float64):
    """P of every query; NaN for the visible keys of a row with a NaN or +inf among its scores."""
    queries, keys = q.shape[2], k.shape[2]
    hidden = np.zeros((q.shape[0], 1, queries, keys), bool)
    if causal:
        hidden |= np.arange(keys) > np.arange(queries)[:, None] + keys - queries
    if key_length is not None:
        hidden |= np.arange(keys) >= np.asarray(key_length)[:, None, None, None]
    s = np.einsum("bhid,bhjd->bhij", q, k) * real(scale)
    if bias is not None:
        s, hidden = s + bias, hidden | (bias == -np.inf)
    s = np.where(np.broadcast_to(hidden, s.shape), real(-np.inf), s)
    m = s.max(-1, keepdims=True, initial=-np.inf)
    p = np.where(s == -np.inf, real(0), np.exp(s - np.where(np.isfinite(m), m, 0)))
    l = p.sum(-1, keepdims=True)
    bad = np.isnan(s).any(-1, keepdims=True) | (s == np.inf).any(-1, keepdims=True)
    p = np.where(l == 0, real(0), p / np.where(l == 0, 1, l))
    return np.where(bad & ~np.broadcast_to(hidden, s.shape), real(np.nan), p)


def _groups(x, heads):
    """Sums of the query heads that read one kv head."""
    b, h, s, d = x.shape
    return x.reshape(b, heads, h // heads if heads else 1, s, d).sum(2)


def backward(q, k, v, do, *, scale, causal, bias=None, key_length=None, real=np.float64, delta=True, store=None, sums=None):
    """The textbook in `real`. store: P, dP and dS rounded to it; sums: what sums are accumulated in; delta=False: D is forgotten."""
    dtype, heads = q.dtype, k.shape[1]
    group = q.shape[1] // k.shape[1]
    q, k, v, do = (a.astype(real, order="C") for a in (q, k, v, do))  # a sum of the same order whatever the layout
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    with np.errstate(all="ignore"):
        p = _weights(q, k, scale=scale, causal=causal, bias=bias, key_length=key_length, real=real)
        keep = (lambda x: x.astype(store).astype(real)) if store is not None else (lambda x: x)
        dp = keep(np.einsum("bhic,bhjc->bhij", do, v))
        d = np.where(p == 0, real(0), p * dp).sum(-1, keepdims=True) if delta else real(0)
        ds = np.where(p == 0, real(0), p * (dp - d))
        p, ds = keep(p), keep(ds)

        def over_keys(a, x):  # 0 times what a hidden key holds is not 0
            return np.where(a[..., None] == 0, real(0), a[..., None] * x[:, :, None]).sum(3) if sums is None else one_by_one(a, x)

        def over_queries(a, x):
            return over_keys(a.swapaxes(2, 3), x)

        def one_by_one(a, x):
            total = np.zeros((*a.shape[:3], x.shape[3]), sums)
            for n in range(a.shape[3]):
                total = (total + a[:, :, :, n:n + 1] * x[:, :, n:n + 1]).astype(sums)
            return total.astype(real)

        dq = over_keys(ds, k) * real(scale)
        dk = _groups(over_queries(ds, q) * real(scale), heads)
        dv = _groups(over_queries(p, do), heads)
    return dq.astype(dtype), dk.astype(dtype), dv.astype(dtype)


def right(q, k, v, do, *, scale, causal):
    return backward(q, k, v, do, scale=scale, causal=causal)


def single(q, k, v, do, *, scale, causal):
    """float32 throughout, as PyTorch's math path."""
    return backward(q, k, v, do, scale=scale, causal=causal, real=np.float32)


def stored(q, k, v, do, *, scale, causal):
    """float32 sums of P, dP and dS in the inputs' format, as XLA's."""
    return backward(q, k, v, do, scale=scale, causal=causal, real=np.float32, store=q.dtype)


def forgets_delta(q, k, v, do, *, scale, causal):
    return backward(q, k, v, do, scale=scale, causal=causal, delta=False)


def sums_in_half(q, k, v, do, *, scale, causal):
    return backward(q, k, v, do, scale=scale, causal=causal, real=np.float32, sums=np.float16)


def unscaled(q, k, v, do, *, scale, causal):
    dq, dk, dv = right(q, k, v, do, scale=scale, causal=causal)
    return (dq / np.float32(scale or 1)).astype(dq.dtype), dk, dv


def skips_a_query(q, k, v, do, *, scale, causal):
    """The last query has no part in dk and dv."""
    dq, _, _ = right(q, k, v, do, scale=scale, causal=causal)
    less = do.copy()
    less[:, :, -1:] = 0
    return (dq, *right(q, k, v, less, scale=scale, causal=causal)[1:])


def divides_by_keys(q, k, v, do, *, scale, causal):
    """dq is the mean over the keys, not their sum."""
    dq, dk, dv = right(q, k, v, do, scale=scale, causal=causal)
    return (dq / max(k.shape[2], 1)).astype(dq.dtype), dk, dv


def launders(q, k, v, do, *, scale, causal):
    return tuple(np.nan_to_num(x) for x in right(q, k, v, do, scale=scale, causal=causal))


def pair(q, k, v, do, *, scale, causal):
    return right(q, k, v, do, scale=scale, causal=causal)[:2]


def half_dv(q, k, v, do, *, scale, causal):
    dq, dk, dv = right(q, k, v, do, scale=scale, causal=causal)
    return dq, dk, dv.astype(np.float16)


def short_dk(q, k, v, do, *, scale, causal):
    dq, dk, dv = right(q, k, v, do, scale=scale, causal=causal)
    return dq, dk[..., :-1], dv


def writes_do(q, k, v, do, *, scale, causal):
    found = right(q, k, v, do, scale=scale, causal=causal)
    if do.size:
        do[...] = 1
    return found


def hands_back_q(q, k, v, do, *, scale, causal):
    return q, *right(q, k, v, do, scale=scale, causal=causal)[1:]


def raises(q, k, v, do, *, scale, causal):
    raise RuntimeError("no backward kernel\nfor this")


def nothing(q, k, v, do, *, scale, causal):
    return tuple(np.full_like(x, np.nan) for x in (q, k, v))


def zeros(q, k, v, do, *, scale, causal):
    return tuple(np.zeros_like(x) for x in (q, k, v))


def as_of_one_key(q, k, v, do, *, scale):
    """Right where every query sees the one key that there is: its weight is 1, whatever q and k are."""
    dv = _groups(do.astype(np.float64), k.shape[1]).sum(2, keepdims=True)
    return np.zeros_like(q), np.zeros_like(k), np.broadcast_to(dv, v.shape).astype(v.dtype)


class Drifts:
    """dq by atomics: the last bit differs from call to call."""

    def __init__(self):
        self.calls = 0

    def __call__(self, q, k, v, do, *, scale, causal):
        self.calls += 1
        dq, dk, dv = right(q, k, v, do, scale=scale, causal=causal)
        to = np.float32(np.inf if self.calls % 2 else -np.inf)
        with np.errstate(all="ignore"):
            return np.where(np.isfinite(dq) & (dq != 0), np.nextafter(dq, to), dq), dk, dv


drifts = Drifts()
