"""The mistakes that kernels have again and again, one function for each, as their authors would write them.

A tile is 64 keys and a split 128 of them, as in kernels for GPUs: below these sizes such a mistake is not there.
"""

import functools

import numpy as np

TILE, SPLIT = 64, 128


def attention(q, k, v, *, scale, causal, off=0, shift=True, wrong_heads=False, top_left=False, unguarded=False):
    """Textbook attention in float64, one matrix product for each head. `off`: added to the causal diagonal."""
    o = np.zeros((*q.shape[:3], v.shape[3]))
    lse = np.full(q.shape[:3], -np.inf)
    group, (queries, keys) = max(1, q.shape[1] // max(1, k.shape[1])), (q.shape[2], k.shape[2])
    seen = np.arange(keys) <= np.arange(queries)[:, None] + (0 if top_left else keys - queries) + off if causal else np.ones((queries, keys), bool)
    with np.errstate(all="ignore"):
        for b, h in np.ndindex(*q.shape[:2]):
            at = h % k.shape[1] if wrong_heads else h // group
            x, y, z = (np.array(t, np.float64, order="C") for t in (q[b, h], k[b, at], v[b, at]))
            s = np.where(seen, (x[:, None] * y).sum(-1) * np.float64(scale), -np.inf)
            m = s.max(-1, initial=-np.inf)
            base = np.where(np.isfinite(m) if not unguarded else True, m, 0) if shift else np.zeros_like(m)
            p = np.exp(s - base[:, None]) if shift else np.exp(s.astype(np.float32))
            l = p.sum(-1)
            # 0 times what a hidden key holds is not 0.
            sums = np.where(p[..., None] == 0, 0, p[..., None] * z).sum(1)
            bad = np.isnan(s).any(-1) | (s == np.inf).any(-1)
            o[b, h] = np.where(bad[:, None], np.nan, sums / l[:, None] if unguarded else np.where(l[:, None] == 0, 0, sums / np.where(l == 0, 1, l)[:, None]))
            lse[b, h] = np.where(bad, np.nan, np.log(l) + base)
        return o.astype(q.dtype), lse.astype(np.float32)


def _sees_one_key_more(q, k, v, *, scale, causal):
    return attention(q, k, v, scale=scale, causal=causal, off=1)


def _sees_one_key_less(q, k, v, *, scale, causal):
    return attention(q, k, v, scale=scale, causal=causal, off=-1)


def _aligned_top_left(q, k, v, *, scale, causal):
    return attention(q, k, v, scale=scale, causal=causal, top_left=True)


def _no_maximum(q, k, v, *, scale, causal):
    return attention(q, k, v, scale=scale, causal=causal, shift=False)


def _h_mod_hk(q, k, v, *, scale, causal):
    return attention(q, k, v, scale=scale, causal=causal, wrong_heads=True)


def _lse_in_base_2(q, k, v, *, scale, causal):
    o, lse = attention(q, k, v, scale=scale, causal=causal)
    return o, lse / np.float32(np.log(2))


def _nan_of_masked_rows(q, k, v, *, scale, causal):
    return attention(q, k, v, scale=scale, causal=causal, unguarded=True)


def _drops_the_last_tile(q, k, v, *, scale, causal):
    whole = k.shape[2] // TILE * TILE or k.shape[2]
    if causal:
        return attention(q, k, v, scale=scale, causal=True)
    return attention(q, k[:, :, :whole], v[:, :, :whole], scale=scale, causal=False)


def _mean_of_two_splits(q, k, v, *, scale, causal):
    """Split-K for long rows of keys: the parts are averaged, whatever they weigh."""
    if causal or k.shape[2] <= SPLIT:
        return attention(q, k, v, scale=scale, causal=causal)
    (a, x), (b, y) = (attention(q, k[:, :, part], v[:, :, part], scale=scale, causal=False) for part in (slice(SPLIT), slice(SPLIT, None)))
    with np.errstate(all="ignore"):
        return ((a.astype(np.float64) + b) / 2).astype(q.dtype), np.logaddexp(x, y)


def _taken_for_contiguous(x):
    """The storage from the first element on, whatever the strides say; at most what belongs to the array."""
    if x.size == 0 or 1 + sum((n - 1) * s // x.itemsize for n, s in zip(x.shape, x.strides)) < x.size:
        return x
    return np.lib.stride_tricks.as_strided(x, x.shape, [x.itemsize * int(np.prod(x.shape[i + 1:])) for i in range(x.ndim)])


def _q_taken_for_contiguous(q, k, v, *, scale, causal):
    return attention(_taken_for_contiguous(q), k, v, scale=scale, causal=causal)


def _k_taken_for_contiguous(q, k, v, *, scale, causal):
    return attention(q, _taken_for_contiguous(k), v, scale=scale, causal=causal)


def _like(value, q, k, v, *, scale, causal):
    return np.full((*q.shape[:3], v.shape[3]), value, q.dtype), np.full(q.shape[:3], value, np.float32)


def _nan(q, k, v, *, scale, causal):
    return _like(np.nan, q, k, v, scale=scale, causal=causal)


def _zeros(q, k, v, *, scale, causal):
    return _like(0, q, k, v, scale=scale, causal=causal)


#: Of attention: what is wrong, and the kernel.
ATTENTION = {
    "causal mask one key too far": _sees_one_key_more, "causal mask one key short": _sees_one_key_less, "causal mask aligned top-left": _aligned_top_left,
    "splits merged by their mean": _mean_of_two_splits, "no maximum is subtracted": _no_maximum, "query head h reads key head h mod Hk": _h_mod_hk,
    "lse in base 2": _lse_in_base_2, "a wholly masked row is NaN": _nan_of_masked_rows, "last partial tile dropped": _drops_the_last_tile,
    "q taken for contiguous": _q_taken_for_contiguous, "k taken for contiguous": _k_taken_for_contiguous, "NaN everywhere": _nan, "zeros everywhere": _zeros,
}


def _softmax(x, *, shift=True, base=1.0, guard=True, dropped=False):
    with np.errstate(all="ignore"):
        y = np.array(x, np.float64, order="C")
        if dropped:
            y[:, y.shape[1] // TILE * TILE or y.shape[1]:] = -np.inf
        m = y.max(-1, keepdims=True, initial=-np.inf)
        m = (np.where(np.isfinite(m), m, 0) if guard else m) if shift else np.zeros_like(m)
        p = np.exp(y - m) if shift else np.exp(y.astype(np.float32)).astype(np.float32)
        l = p.sum(-1, keepdims=True)
        o = np.where(l == 0, 0, p / np.where(l == 0, 1, l)) if guard else p / l
        bad = np.isnan(y).any(-1, keepdims=True) | (y == np.inf).any(-1, keepdims=True)
        return np.where(bad, np.nan, o).astype(x.dtype), np.where(bad, np.nan, (np.log(l) + m) * base)[:, 0].astype(np.float32)


def softmax(x):
    return _softmax(x)


def _softmax_without_maximum(x):
    return _softmax(x, shift=False)


def _softmax_in_base_2(x):
    return _softmax(x, base=1 / np.log(2))


def _softmax_of_masked_rows(x):
    return _softmax(x, guard=False)


def _softmax_drops(x):
    return _softmax(x, dropped=True)


def _softmax_contiguous(x):
    return _softmax(_taken_for_contiguous(x))


def _softmax_nan(x):
    return np.full(x.shape, np.nan, x.dtype), np.full(x.shape[:1], np.nan, np.float32)


def _softmax_zeros(x):
    return np.zeros(x.shape, x.dtype), np.zeros(x.shape[:1], np.float32)


SOFTMAX = {
    "no maximum is subtracted": _softmax_without_maximum, "lse in base 2": _softmax_in_base_2, "a wholly masked row is NaN": _softmax_of_masked_rows,
    "last partial tile dropped": _softmax_drops, "x taken for contiguous": _softmax_contiguous, "NaN everywhere": _softmax_nan,
    "zeros everywhere": _softmax_zeros,
}


def _merge(o, lse, *, mean=False, shift=True, base=1.0, guard=True, states=None):
    with np.errstate(all="ignore"):
        z, y = np.array(lse[:states], np.float64, order="C"), np.array(o[:states], np.float64, order="C")
        m = z.max(0, initial=-np.inf)
        m = (np.where(np.isfinite(m), m, 0) if guard else m) if shift else np.zeros_like(m)
        w = np.exp(z - m) if shift else np.exp(z.astype(np.float32)).astype(np.float64)
        l = w.sum(0)
        out = np.where((w == 0)[..., None], 0, w[..., None] * y).sum(0)
        out = y.mean(0) if mean else np.where((l == 0)[:, None], 0, out / np.where(l == 0, 1, l)[:, None]) if guard else out / l[:, None]
        bad = np.isnan(z).any(0) | (z == np.inf).any(0)
        return np.where(bad[:, None], np.nan, out).astype(o.dtype), np.where(bad, np.nan, (np.log(l) + m) * base).astype(np.float32)


def merge(o, lse):
    return _merge(o, lse)


def _merge_by_mean(o, lse):
    return _merge(o, lse, mean=True)


def _merge_without_maximum(o, lse):
    return _merge(o, lse, shift=False)


def _merge_in_base_2(o, lse):
    return _merge(o, lse, base=1 / np.log(2))


def _merge_of_empty_states(o, lse):
    return _merge(o, lse, guard=False)


def _merge_drops_the_last(o, lse):
    return _merge(o, lse, states=-1 if len(o) > 4 else None)


def _merge_contiguous(o, lse):
    return _merge(_taken_for_contiguous(o), lse)


def _merge_nan(o, lse):
    return np.full(o.shape[1:], np.nan, o.dtype), np.full(o.shape[1:2], np.nan, np.float32)


def _merge_zeros(o, lse):
    return np.zeros(o.shape[1:], o.dtype), np.zeros(o.shape[1:2], np.float32)


MERGE = {
    "states merged by their mean": _merge_by_mean, "no maximum is subtracted": _merge_without_maximum, "lse in base 2": _merge_in_base_2,
    "only empty states give NaN": _merge_of_empty_states, "last state of an odd number dropped": _merge_drops_the_last, "o taken for contiguous": _merge_contiguous,
    "NaN everywhere": _merge_nan, "zeros everywhere": _merge_zeros,
}


def gradient(q, k, v, do, *, scale, causal, off=0, shift=True, wrong_heads=False, top_left=False, unguarded=False, delta=True):
    """Textbook gradient in float64, head by head."""
    found = [np.zeros(t.shape) for t in (q, k, v)]
    group, (queries, keys) = max(1, q.shape[1] // max(1, k.shape[1])), (q.shape[2], k.shape[2])
    seen = np.arange(keys) <= np.arange(queries)[:, None] + (0 if top_left else keys - queries) + off if causal else np.ones((queries, keys), bool)
    with np.errstate(all="ignore"):
        for b, h in np.ndindex(*q.shape[:2]):
            at = h % k.shape[1] if wrong_heads else h // group
            x, y, z, g = (np.array(t, np.float64, order="C") for t in (q[b, h], k[b, at], v[b, at], do[b, h]))
            s = np.where(seen, (x[:, None] * y).sum(-1) * np.float64(scale), -np.inf)
            m = s.max(-1, keepdims=True, initial=-np.inf)
            m = (m if unguarded else np.where(np.isfinite(m), m, 0)) if shift else np.zeros_like(m)
            p = np.exp(s - m) if shift else np.exp(s.astype(np.float32)).astype(np.float64)
            l = p.sum(-1, keepdims=True)
            p = p / l if unguarded else np.where(l == 0, 0, p / np.where(l == 0, 1, l))
            bad = np.isnan(s).any(-1, keepdims=True) | (s == np.inf).any(-1, keepdims=True)
            p = np.where(bad & seen, np.nan, p)
            dp = (g[:, None] * z).sum(-1)
            ds = np.where(p == 0, 0, p * (dp - (np.where(p == 0, 0, p * dp).sum(-1, keepdims=True) if delta else 0)))

            def product(a, t):  # 0 times what a hidden key holds is not 0
                return np.where(a[..., None] == 0, 0, a[..., None] * t).sum(1)

            found[0][b, h] += product(ds, y) * np.float64(scale)
            found[1][b, at] += product(ds.T, x) * np.float64(scale)
            found[2][b, at] += product(p.T, g)
        return tuple(t.astype(q.dtype) for t in found)


def _of_gradient(**wrong):
    def kernel(q, k, v, do, *, scale, causal):
        return gradient(q, k, v, do, scale=scale, causal=causal, **wrong)

    return kernel


def _gradient_contiguous(q, k, v, do, *, scale, causal):
    return gradient(q, k, v, _taken_for_contiguous(do), scale=scale, causal=causal)


def _gradient_like(value):
    def kernel(q, k, v, do, *, scale, causal):
        return tuple(np.full(t.shape, value, t.dtype) for t in (q, k, v))

    return kernel


GRADIENT = {
    "causal mask one key too far": _of_gradient(off=1), "causal mask one key short": _of_gradient(off=-1), "causal mask aligned top-left": _of_gradient(top_left=True),
    "no maximum is subtracted": _of_gradient(shift=False), "query head h reads key head h mod Hk": _of_gradient(wrong_heads=True),
    "a wholly masked row is NaN": _of_gradient(unguarded=True), "D is forgotten": _of_gradient(delta=False), "dO taken for contiguous": _gradient_contiguous,
    "NaN everywhere": _gradient_like(np.nan), "zeros everywhere": _gradient_like(0),
}

RIGHT = {"attention": attention, "softmax": softmax, "merge": merge, "attention_backward": gradient}
WRONG = {"attention": ATTENTION, "softmax": SOFTMAX, "merge": MERGE, "attention_backward": GRADIENT}
