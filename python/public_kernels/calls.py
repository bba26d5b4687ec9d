"""The public kernels, each behind a few lines that name its arguments as flashproof does. Of flashproof nothing is needed here.

A library is imported where its kernel is made, so that a machine without one of them runs the others.
"""

import functools
import importlib
from typing import Any, Callable, Dict


def torch_function(name: str) -> Callable[..., Any]:
    import torch

    return {"softmax": lambda x: torch.softmax(x, -1), "logsumexp": lambda x: torch.logsumexp(x, -1)}[name]


def sdpa(backend: str, bias: bool) -> Callable[..., Any]:
    """torch.nn.functional.scaled_dot_product_attention with one backend."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    only = getattr(SDPBackend, backend)
    torch.backends.cuda.matmul.allow_tf32 = False
    function = torch.nn.functional.scaled_dot_product_attention

    def plain(q, k, v, *, scale, causal):
        with sdpa_kernel([only]):
            if causal and q.shape[2] != k.shape[2]:
                from torch.nn.attention.bias import causal_lower_right

                return function(q, k, v, attn_mask=causal_lower_right(q.shape[2], k.shape[2]), scale=scale)
            return function(q, k, v, is_causal=causal, scale=scale, enable_gqa=q.shape[1] != k.shape[1])

    def biased(q, k, v, *, scale, causal, bias=None):
        with sdpa_kernel([only]):
            mask = None if bias is None else bias.to(q.dtype)
            return function(q, k, v, attn_mask=mask, is_causal=causal, scale=scale, enable_gqa=q.shape[1] != k.shape[1])

    return biased if bias else plain


def aten(backend: str) -> Callable[..., Any]:
    """The operators below SDPA, which return lse too."""
    import torch

    ops = torch.ops.aten

    def flash(q, k, v, *, scale, causal):
        found = ops._scaled_dot_product_flash_attention(q, k, v, 0.0, causal, False, scale=scale)
        return found[0], found[1][:, :, :q.shape[2]]

    def efficient(q, k, v, *, scale, causal):
        found = ops._scaled_dot_product_efficient_attention(q, k, v, None, True, 0.0, causal, scale=scale)
        return found[0], found[1][:, :, :q.shape[2]]

    def cudnn(q, k, v, *, scale, causal):
        found = ops._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, causal, False, scale=scale)
        return found[0], found[1].reshape(q.shape[:3])

    return {"FLASH_ATTENTION": flash, "EFFICIENT_ATTENTION": efficient, "CUDNN_ATTENTION": cudnn}[backend]


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


def aligned(t, multiple):
    """Contiguous, at a 16-byte address, the last axis padded with zeros to a multiple: what the fused kernels document of their inputs."""
    import torch

    width = -(-t.shape[3] // multiple) * multiple
    return torch.nn.functional.pad(t, (0, width - t.shape[3])).clone(memory_format=torch.contiguous_format)


def contiguous(call: Callable[..., Any]) -> Callable[..., Any]:
    """Of every tensor a copy with dense rows, from an address that every vector load can have."""
    import torch

    @functools.wraps(call)
    def run(*tensors, **named):
        copy = lambda t: t.clone(memory_format=torch.contiguous_format) if isinstance(t, torch.Tensor) else t  # noqa: E731
        return call(*map(copy, tensors), **{name: copy(t) for name, t in named.items()})

    return run


def padded(call: Callable[..., Any], multiple: int) -> Callable[..., Any]:
    """Heads as wide as the kernel takes: zeros behind d and dv, which add nothing to any product, cut off again."""
    import torch

    @functools.wraps(call)  # its parameters are what flashproof asks for
    def run(q, k, v, **named):
        width = -(-max(q.shape[3], v.shape[3]) // multiple) * multiple
        pad = lambda t: t if t.shape[3] == width else torch.nn.functional.pad(t, (0, width - t.shape[3]))  # noqa: E731
        result = call(pad(q), pad(k), pad(v), **named)
        if isinstance(result, tuple):
            return (result[0][..., :v.shape[3]], *result[1:])
        return result[..., :v.shape[3]]

    return run


def cudnn_graph(dtype: str) -> Callable[..., Any]:
    """cuDNN through its own graph API (nvidia-cudnn-frontend)."""
    cudnn = importlib.import_module("cudnn")
    import torch

    kind = {"float16": cudnn.data_type.HALF, "bfloat16": cudnn.data_type.BFLOAT16}[dtype]
    handle = cudnn.create_handle()
    graphs: Dict[Any, Any] = {}

    def build(q, k, v, o, stats, scale, causal):
        graph = cudnn.pygraph(io_data_type=kind, intermediate_data_type=cudnn.data_type.FLOAT, compute_data_type=cudnn.data_type.FLOAT,
                              handle=handle)
        inputs = [graph.tensor_like(t) for t in (q, k, v)]
        out, lse = graph.sdpa(q=inputs[0], k=inputs[1], v=inputs[2], is_inference=False, attn_scale=scale, use_causal_mask=causal)
        out.set_output(True).set_dim(list(o.shape)).set_stride(list(o.stride()))
        lse.set_output(True).set_data_type(cudnn.data_type.FLOAT).set_dim(list(stats.shape)).set_stride(list(stats.stride()))
        graph.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        return graph, inputs, out, lse, torch.empty(max(graph.get_workspace_size(), 1), dtype=torch.uint8, device=q.device)

    def run(q, k, v, *, scale, causal):
        o = torch.empty(*q.shape[:3], v.shape[3], dtype=q.dtype, device=q.device)
        stats = torch.empty(*q.shape[:3], 1, dtype=torch.float32, device=q.device)
        key = (q.shape, k.shape, v.shape, scale, causal)
        if key not in graphs:
            graphs[key] = build(q, k, v, o, stats, scale, causal)
        graph, inputs, out, lse, workspace = graphs[key]
        cudnn.set_stream(handle=handle, stream=torch.cuda.current_stream().cuda_stream)
        graph.execute({inputs[0]: q, inputs[1]: k, inputs[2]: v, out: o, lse: stats}, workspace, handle=handle)
        return o, stats[..., 0]

    return run


def triton_softmax() -> Callable[..., Any]:
    return importlib.import_module("triton_online_softmax").online_softmax


def jax_function(name: str) -> Callable[..., Any]:
    import jax

    return {"softmax": lambda x: jax.nn.softmax(x, axis=-1), "logsumexp": lambda x: jax.nn.logsumexp(x, axis=-1)}[name]


def jax_attention(implementation: str) -> Callable[..., Any]:
    import jax

    def run(q, k, v, *, scale, causal, bias=None):
        multiple = 8 if implementation == "cudnn" else 1
        values, width = v.shape[3], -(-max(q.shape[3], v.shape[3]) // multiple) * multiple  # one width for all: zeros behind, cut off again
        q, k, v = (jax.numpy.pad(t, ((0, 0), (0, 0), (0, 0), (0, width - t.shape[3]))) for t in (q, k, v))
        turn = lambda t: jax.numpy.swapaxes(t, 1, 2)  # noqa: E731
        with jax.default_matmul_precision("highest"):
            bias = None if bias is None else bias.astype(q.dtype)
            return turn(jax.nn.dot_product_attention(turn(q), turn(k), turn(v), bias=bias, scale=float(scale), is_causal=bool(causal),
                                                     implementation=implementation))[..., :values]

    return run


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
