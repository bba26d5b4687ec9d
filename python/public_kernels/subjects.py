"""The public kernels, each behind a few lines that name its arguments as flashproof does; and what each declares.

A subject is made only when it runs, so that a machine without one of the libraries runs the others.
"""

import dataclasses
import functools
import importlib
import inspect
import pathlib
import re
from typing import Any, Callable, Dict, List, Optional

import ml_dtypes
import numpy as np
from backward_subjects import backward_subjects, jax_backward, sdpa_backward  # noqa: F401: expressions name them


@dataclasses.dataclass(frozen=True)
class Subject:
    name: str  # library.problem.kernel.dtype
    problem: str
    dtype: str
    arrays: str
    device: str
    arithmetic: str
    expression: str  # of the functions below: the callable; raises ImportError and the like where it cannot run
    options: Dict[str, Any] = dataclasses.field(default_factory=dict)  # of flashproof.check
    note: str = ""
    copies: bool = False  # it is given contiguous copies of its inputs; its time is taken without them

    def make(self, timed: bool = False) -> Callable[..., Any]:
        call = eval(self.expression, globals())  # noqa: S307: our own text
        return contiguous(call) if self.copies and not timed else call

    def whole(self) -> str:
        return f"contiguous({self.expression})" if self.copies else self.expression

    def source(self) -> str:
        """The functions that the expression calls, and those that they call: what a script needs beside it."""
        found: Dict[str, str] = {}

        def add(text: str, scope: Dict[str, Any]) -> None:
            for name in re.findall(r"(?<![.\w])([a-z_]+)\(", text):
                if name not in found and name != "triton_softmax" and inspect.isfunction(scope.get(name)):
                    found[name] = inspect.getsource(scope[name])
                    add(found[name], scope[name].__globals__)

        add(self.whole(), globals())
        head = "import functools\nimport importlib\nfrom typing import Any, Callable, Dict, List, Optional\n\n\n"
        if "triton_softmax" in self.whole():
            head += pathlib.Path(__file__).with_name("triton_online_softmax.py").read_text(encoding="utf-8").partition("\n\n")[2] + "\n\n"
        return head + "\n\n".join(found.values())

    def script_expression(self) -> str:
        return self.whole().replace("triton_softmax()", "online_softmax")


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


def dense_rows(refuses: Callable[[Any], Optional[str]]) -> Callable[[Any], Optional[str]]:
    """Views whose last axis is dense, which is all that PyTorch's documentation and its own checks ask for."""

    def also(p):
        loose = [name for name in "qkv" if p.shape[name][3] > 1 and p.strides[name][3] != 1]
        return f"{', '.join(loose)}: last axis not dense" if loose else refuses(p)

    return also


def exact_in(dtype: str, backend: str = "") -> Callable[[Any], Optional[str]]:
    """SDPA takes a bias of the inputs' dtype only: problems whose f32 bias would be rounded are another question."""

    def refuses(p):
        heads, queries = p.shape["q"][1:3]
        shared, keys = p.shape["k"][1:3]
        if p.causal and queries != keys and (backend != "FLASH_ATTENTION" or queries > keys or heads != shared):
            return "causal with Sq != Sk: aligned top left here"
        if p.causal and p.bias is not None:
            return "causal and a bias: one of them"
        if backend == "CUDNN_ATTENTION" and keys == 1:
            return "one key: not given to cuDNN"
        if p.bias is not None and dtype != "float32":
            bias = p.bias.copy().view("float32")
            narrow = bias.astype(dtype if dtype == "float16" else ml_dtypes.bfloat16).astype("float32")
            if not np.array_equal(narrow, bias, equal_nan=True):
                return f"bias: numbers of {dtype}"
        return None

    return refuses


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


def jax_function(name: str) -> Callable[..., Any]:
    import jax

    return {"softmax": lambda x: jax.nn.softmax(x, axis=-1), "logsumexp": lambda x: jax.nn.logsumexp(x, axis=-1)}[name]


def torch_function(name: str) -> Callable[..., Any]:
    import torch

    return {"softmax": lambda x: torch.softmax(x, -1), "logsumexp": lambda x: torch.logsumexp(x, -1)}[name]


def contiguous(call: Callable[..., Any]) -> Callable[..., Any]:
    """Of every tensor a copy with dense rows, from an address that every vector load can have."""
    import torch

    @functools.wraps(call)
    def run(*tensors, **named):
        copy = lambda t: t.clone(memory_format=torch.contiguous_format) if isinstance(t, torch.Tensor) else t  # noqa: E731
        return call(*map(copy, tensors), **{name: copy(t) for name, t in named.items()})

    return run


def triton_softmax() -> Callable[..., Any]:
    return importlib.import_module("triton_online_softmax").online_softmax


def subjects(device: str) -> List[Subject]:
    half, all_three = ("float16", "bfloat16"), ("float32", "float16", "bfloat16")
    promises = dict(deterministic=True, batch_invariant=True, isolates_hidden=True)
    found: List[Subject] = []

    def add(name, problem, dtype, arrays, arithmetic, expression, note="", copies=False, **options):
        found.append(Subject(f"{name}.{dtype}", problem, dtype, arrays, device, arithmetic, expression, {**promises, **options}, note, copies))

    empty = ["empty"]
    for backend, short, dtypes, arithmetic, multiple, bias, without in (
            ("FLASH_ATTENTION", "flash", half, "fa2_sm80", 8, False, empty), ("CUDNN_ATTENTION", "cudnn", half, "cudnn", 8, True, empty),
            ("EFFICIENT_ATTENTION", "efficient", all_three, "pytorch_efficient", 8, True, ["empty", "gqa"]),
            ("MATH", "math", all_three, "pytorch_math", 1, True, empty)):
        if device == "cpu" and short not in ("flash", "math"):
            continue
        for dtype in dtypes if device != "cpu" else all_three:
            refuses = exact_in(dtype, backend)
            call = f"padded(sdpa({backend!r}, {bias}), {multiple})"
            add(f"torch.sdpa.{short}", "attention", dtype, "torch", arithmetic, call, refuses=refuses, returns="o", without=without,
                copies=backend != "MATH")
            if dtype == "float16" and backend != "MATH":
                add(f"torch.sdpa.{short}.views", "attention", dtype, "torch", arithmetic, call, refuses=dense_rows(refuses), returns="o", without=without,
                    note="strided views with dense rows, as they come")
            if backend == "MATH" or device == "cpu":
                continue
            add(f"torch.aten.{short}", "attention", dtype, "torch", arithmetic, f"padded(aten({backend!r}), {multiple})", refuses=refuses,
                returns="both", without=["empty", "gqa"], copies=True, note="the operator below SDPA, with its lse")
    for dtype in half if device != "cpu" else ():
        add("cudnn.graph.sdpa", "attention", dtype, "torch", "cudnn", f"padded(cudnn_graph({dtype!r}), 8)", refuses=exact_in(dtype),
            returns="both", without=empty, copies=True)
    for dtype in all_three:
        add("torch.softmax", "softmax", dtype, "torch", "pytorch_softmax" if device != "cpu" else "pytorch_softmax_cpu", "torch_function('softmax')", returns="o")
    add("torch.logsumexp", "softmax", "float32", "torch", "unknown", "torch_function('logsumexp')", returns="lse")
    for dtype in all_three if device != "cpu" else ():
        add("triton.online_softmax", "softmax", dtype, "torch", "unknown", "triton_softmax()", returns="o", note="as published")
        add("triton.online_softmax.contiguous", "softmax", dtype, "torch", "unknown", "triton_softmax()", returns="o",
            copies=True, note="as published")
    for dtype in all_three:
        add("jax.attention.xla", "attention", dtype, "jax", "jax_xla", "jax_attention('xla')", refuses=exact_in(dtype), returns="o",
            without=empty)
        add("jax.softmax", "softmax", dtype, "jax", "unknown", "jax_function('softmax')", returns="o")
    if device != "cpu":
        for dtype in half:
            add("jax.attention.cudnn", "attention", dtype, "jax", "cudnn", "jax_attention('cudnn')", refuses=exact_in(dtype), returns="o",
                without=empty)
    add("jax.logsumexp", "softmax", "float32", "jax", "unknown", "jax_function('logsumexp')", returns="lse")
    return found + backward_subjects(device, Subject, exact_in)
