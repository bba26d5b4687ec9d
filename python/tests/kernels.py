"""Kernels for the tests: right ones, and one for each thing that a callable can do wrong."""

import numpy as np

import flashproof


def attention(q, k, v, *, scale, causal, bias=None, key_length=None):
    """Textbook attention in float64, rounded once. Returns (o, lse)."""
    o_dtype = q.dtype
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    queries, keys = q.shape[2], k.shape[2]
    hidden = np.zeros((q.shape[0], 1, queries, keys), bool)
    if causal:
        hidden |= np.arange(keys) > np.arange(queries)[:, None] + keys - queries
    if key_length is not None:
        hidden |= np.arange(keys) >= np.asarray(key_length)[:, None, None, None]
    with np.errstate(all="ignore"):
        s = np.einsum("bhid,bhjd->bhij", q, k) * np.float64(scale)
        if bias is not None:
            s = s + bias
            hidden = hidden | (bias == -np.inf)
        hidden = np.broadcast_to(hidden, s.shape) | (s == -np.inf)
        s = np.where(hidden, -np.inf, s)
        m = s.max(-1, keepdims=True, initial=-np.inf)
        shift = np.where(np.isfinite(m), m, 0)
        p = np.where(hidden, 0, np.exp(s - shift))
        l = p.sum(-1, keepdims=True)
        # 0 times what a hidden key holds is not 0: one key at a time.
        terms = np.where(hidden[..., None], 0, p[..., None] * v[:, :, None])
        o = np.where(l == 0, 0, terms.sum(-2) / l)
        lse = np.where(l == 0, -np.inf, np.log(l) + shift)
        bad = np.isnan(s).any(-1, keepdims=True) | (s == np.inf).any(-1, keepdims=True)
        o, lse = np.where(bad, np.nan, o), np.where(bad, np.nan, lse)
    return o.astype(o_dtype), lse[..., 0].astype(np.float32)


def nothing(q, k, v, *, scale, causal):
    return np.full((*q.shape[:3], v.shape[3]), np.nan, q.dtype), np.full(q.shape[:3], np.nan, np.float32)


def zeros(q, k, v, *, scale, causal):
    return np.zeros((*q.shape[:3], v.shape[3]), q.dtype), np.zeros(q.shape[:3], np.float32)


def softmax(x):
    with np.errstate(all="ignore"):
        y = x.astype(np.float64)
        m = y.max(-1, keepdims=True, initial=-np.inf)
        p = np.exp(y - np.where(m == -np.inf, 0, m))
        p = np.where(y == -np.inf, 0, p)
        l = p.sum(-1, keepdims=True)
        p = np.where(l == 0, 0, p / np.where(l == 0, 1, l))
        return np.where(m == np.inf, np.nan, p).astype(x.dtype)


def two_minds(x):
    """In some cases off as far as one meaning of an open declaration allows, in others as far as another does: no single one explains it."""
    exact = flashproof.truth(x, problem="softmax", narrow=False).o
    unfused, fused = (flashproof.bound(x, problem="softmax", arithmetic={"preset": "unknown", "reduction": "chunked_online", "exponent": e}).o.total
                      for e in ("unfused", "fused"))
    off = unfused if (unfused > fused).any() else fused
    with np.errstate(all="ignore"):
        y = (exact.value + 0.9 * off).astype(x.dtype)
    return np.where((exact.classes == 1) & np.isfinite(y), y, softmax(x))


def logsumexp(x):
    with np.errstate(all="ignore"):
        y = x.astype(np.float64)
        m = y.max(-1, keepdims=True, initial=-np.inf)
        p = np.where(y == -np.inf, 0, np.exp(y - np.where(m == -np.inf, 0, m)))
        lse = np.log(p.sum(-1)) + np.where(m == -np.inf, 0, m)[:, 0]
        return np.where(m[:, 0] == np.inf, np.nan, lse).astype(np.float32)


def merge(o, lse):
    with np.errstate(all="ignore"):
        z = lse.astype(np.float64)
        m = z.max(0)
        w = np.where(z == -np.inf, 0, np.exp(z - np.where(m == -np.inf, 0, m)))
        total = w.sum(0)
        y = np.where((w == 0)[..., None], 0, w[..., None] * o.astype(np.float64)).sum(0)
        y = np.where((total == 0)[:, None], 0, y / np.where(total == 0, 1, total)[:, None])
        bad = np.isnan(z).any(0) | (m == np.inf)
        out = np.where(bad, np.nan, np.log(total) + np.where(m == -np.inf, 0, m))
        return np.where(bad[:, None], np.nan, y).astype(o.dtype), out.astype(np.float32)


def drops_a_key(q, k, v, *, scale, causal):
    return attention(q, k[:, :, :-1], v[:, :, :-1], scale=scale, causal=False) if k.shape[2] > 1 and not causal else attention(
        q, k, v, scale=scale, causal=causal)


def half_for_single(q, k, v, *, scale, causal):
    return attention(q, k, v, scale=scale, causal=causal)[0].astype(np.float16)


def wrong_shape(q, k, v, *, scale, causal):
    return attention(q, k, v, scale=scale, causal=causal)[0][:, :, :, :-1]


def raises(q, k, v, *, scale, causal):
    raise RuntimeError("no kernel image is available\nfor execution")


def a_list(q, k, v, *, scale, causal):
    return attention(q, k, v, scale=scale, causal=causal)[0].tolist()


def writes_input(q, k, v, *, scale, causal):
    o = attention(q, k, v, scale=scale, causal=causal)
    if q.size:
        q[...] = 0
    return o


def writes_bias(q, k, v, *, scale, causal, bias=None):
    o = attention(q, k, v, scale=scale, causal=causal, bias=bias)
    if bias is not None and bias.size:
        bias[...] = 0
    return o


def leaves(q, k, v, *, scale, causal):
    raise SystemExit(3)


def says_what_is_no_text(q, k, v, *, scale, causal):
    raise RuntimeError("\ud800")


class Mute(Exception):
    def __str__(self):
        raise ValueError("no text")


def raises_mute(q, k, v, *, scale, causal):
    raise Mute


def knows_its_batch(q, k, v, *, scale, causal):
    """A row alone has other bits than among others."""
    o, lse = attention(q, k, v, scale=scale, causal=causal)
    with np.errstate(all="ignore"):
        return o, np.where(np.isfinite(lse), np.nextafter(lse, np.float32(np.inf)), lse) if lse.size > 1 else lse


class Drifts:
    """Another answer in every call, inside the bound of half precision."""

    def __init__(self):
        self.calls = 0

    def __call__(self, q, k, v, *, scale, causal):
        self.calls += 1
        o, lse = attention(q, k, v, scale=scale, causal=causal)
        with np.errstate(all="ignore"):
            return o, np.where(np.isfinite(lse), np.nextafter(lse, np.float32(np.inf if self.calls % 2 else -np.inf)), lse)


drifts = Drifts()


class Loses:
    """As a kernel that makes an illegal access: the device answers nothing any more."""

    def __init__(self, after):
        self.calls, self.after = 0, after

    def __call__(self, q, k, v, *, scale, causal):
        self.calls += 1
        if self.calls > self.after:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        return attention(q, k, v, scale=scale, causal=causal)
