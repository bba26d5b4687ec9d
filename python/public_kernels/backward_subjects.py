"""The gradients of the public kernels: each attention by its library's automatic differentiation, and what both passes declare."""

from typing import Any, Callable, List, Optional


def aligned(t, multiple):
    """Contiguous, at a 16-byte address, the last axis padded with zeros to a multiple: what the fused kernels document of their inputs."""
    import torch

    width = -(-t.shape[3] // multiple) * multiple
    return torch.nn.functional.pad(t, (0, width - t.shape[3])).clone(memory_format=torch.contiguous_format)


def sdpa_backward(backend: str, bias: bool, multiple: int) -> Callable[..., Any]:
    """torch.autograd.grad of scaled_dot_product_attention with one backend. Zeros behind d and dv add nothing to any product."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    only = getattr(SDPBackend, backend)
    torch.backends.cuda.matmul.allow_tf32 = False
    function = torch.nn.functional.scaled_dot_product_attention

    def gradient(q, k, v, do, mask, scale, causal):
        width = max(q.shape[3], v.shape[3])
        widened = [torch.nn.functional.pad(t, (0, width - t.shape[3])) for t in (q, k, v, do)] if multiple > 1 else [q, k, v, do]
        *leaves, seed = (aligned(t.detach(), multiple) for t in widened)
        for leaf in leaves:
            leaf.requires_grad_(True)
        with sdpa_kernel([only]):
            if causal and mask is None and q.shape[2] != k.shape[2]:
                from torch.nn.attention.bias import causal_lower_right

                mask, causal = causal_lower_right(q.shape[2], k.shape[2]), False
            o = function(*leaves, attn_mask=mask, is_causal=causal, scale=scale, enable_gqa=q.shape[1] != k.shape[1])
            found = torch.autograd.grad(o, leaves, seed)
        return tuple(g[..., :t.shape[3]] for g, t in zip(found, (q, k, v)))

    def plain(q, k, v, do, *, scale, causal):
        return gradient(q, k, v, do, None, scale, causal)

    def biased(q, k, v, do, *, scale, causal, bias=None):
        return gradient(q, k, v, do, None if bias is None else bias.to(q.dtype), scale, causal)

    return biased if bias else plain


def jax_backward(implementation: str) -> Callable[..., Any]:
    """jax.vjp of jax.nn.dot_product_attention, compiled as one function where that compiles."""
    import jax

    def whole(q, k, v, do, bias, scale, causal):
        pad = lambda t, width: jax.numpy.pad(t, ((0, 0), (0, 0), (0, 0), (0, width - t.shape[3])))  # noqa: E731
        turn = lambda t: jax.numpy.swapaxes(t, 1, 2)  # noqa: E731
        multiple = 8 if implementation == "cudnn" else 1
        width = -(-max(q.shape[3], v.shape[3]) // multiple) * multiple

        def attention(q, k, v):
            return turn(jax.nn.dot_product_attention(turn(q), turn(k), turn(v), bias=bias, scale=scale, is_causal=causal, implementation=implementation))

        with jax.default_matmul_precision("highest"):
            found = jax.vjp(attention, *(pad(t, width) for t in (q, k, v)))[1](pad(do, width))
        return tuple(g[..., :t.shape[3]] for g, t in zip(found, (q, k, v)))

    compiled = jax.jit(whole, static_argnames=("scale", "causal"))

    def gradient(q, k, v, do, *, scale, causal, bias=None):
        # F16_F16_F32 is not everywhere: JAX falls back to another precision, but not inside jit.
        run = whole if q.dtype == jax.numpy.float16 and implementation == "xla" else compiled
        return run(q, k, v, do, None if bias is None else bias.astype(q.dtype), float(scale), bool(causal))

    return gradient


def even_lengths(refuses: Callable[..., Any]) -> Callable[..., Any]:
    """What JAX asks of cuDNN's backward pass."""
    return lambda p: "Sq and Sk: even" if p.shape["q"][2] % 2 or p.shape["k"][2] % 2 else refuses(p)


def backward_subjects(device: str, make: Callable[..., Any], exact_in: Callable[..., Any]) -> List[Any]:
    """`make` is subjects.Subject, exact_in its refusal. All are asked to be deterministic, as forward: dq by atomics is not."""
    half, all_three = ("float16", "bfloat16"), ("float32", "float16", "bfloat16")
    found: List[Any] = []

    def add(name: str, dtype: str, arrays: str, arithmetic: str, expression: str, note: str, refuses: Optional[Callable[..., Any]],
            without: List[str]) -> None:
        found.append(make(f"{name}.{dtype}", "attention_backward", dtype, arrays, device, arithmetic, expression,
                          {"deterministic": True, "without": without, "refuses": refuses}, note))

    for backend, short, dtypes, arithmetic, multiple, bias, without in (
            ("FLASH_ATTENTION", "flash", half, "fa2_sm80", 8, False, ["empty"]), ("CUDNN_ATTENTION", "cudnn", half, "cudnn", 8, True, ["empty"]),
            ("EFFICIENT_ATTENTION", "efficient", all_three, "pytorch_efficient", 8, True, ["empty", "gqa"]),
            ("MATH", "math", all_three, "pytorch_math", 1, True, ["empty"])):
        if device == "cpu" and short not in ("flash", "math"):
            continue
        for dtype in dtypes:
            add(f"torch.sdpa.{short}.backward", dtype, "torch", arithmetic, f"sdpa_backward({backend!r}, {bias}, {multiple})",
                "contiguous, 16-byte aligned, zero-padded" if multiple > 1 else "", exact_in(dtype, backend), without)
    for dtype in all_three:
        add("jax.attention.xla.backward", dtype, "jax", "jax_xla", "jax_backward('xla')", "", exact_in(dtype), ["empty"])
    if device != "cpu":
        for dtype in half:
            add("jax.attention.cudnn.backward", dtype, "jax", "cudnn", "jax_backward('cudnn')", "", even_lengths(exact_in(dtype)), ["empty"])
    return found
