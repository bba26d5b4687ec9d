"""The public kernels of calls.py, with what each declares and which problems it is given."""

import dataclasses
import inspect
import pathlib
import re
import textwrap
from typing import Any, Callable, Dict, List, Optional

import calls
import ml_dtypes
import numpy as np
from backward_subjects import backward_subjects


@dataclasses.dataclass(frozen=True)
class Subject:
    name: str  # library.problem.kernel.dtype
    problem: str
    dtype: str
    arrays: str
    device: str
    arithmetic: str
    expression: str  # of the functions of calls.py: the callable; raises ImportError and the like where it cannot run
    options: Dict[str, Any] = dataclasses.field(default_factory=dict)  # of flashproof.check
    note: str = ""
    copies: bool = False  # it is given contiguous copies of its inputs; its time is taken without them

    def make(self, timed: bool = False) -> Callable[..., Any]:
        call = eval(self.expression, vars(calls))  # noqa: S307: our own text
        return calls.contiguous(call) if self.copies and not timed else call

    def whole(self) -> str:
        return f"contiguous({self.expression})" if self.copies else self.expression

    def source(self) -> str:
        """The functions that the expression calls, and those that they call: what a script needs beside it."""
        found: Dict[str, str] = {}

        def add(text: str) -> None:
            for name in re.findall(r"(?<![.\w])([a-z_]+)\(", text):
                if name not in found and name != "triton_softmax" and inspect.isfunction(getattr(calls, name, None)):
                    found[name] = inspect.getsource(getattr(calls, name))
                    add(found[name])

        add(self.whole())
        head = "import functools\nimport importlib\nfrom typing import Any, Callable, Dict, List, Optional\n\n\n"
        if "triton_softmax" in self.whole():
            published = pathlib.Path(__file__).with_name("triton_online_softmax.py").read_text(encoding="utf-8").partition("\n\n")[2]
            imports, _, kernel = published.partition("\n\n\n")
            # Exit 1 would say that the finding is there.
            head += "import sys\n\ntry:\n" + textwrap.indent(imports, "    ")
            head += '\nexcept ImportError as error:\n    print(f"not judged: {error}", file=sys.stderr)\n    sys.exit(3)\n\n\n' + kernel + "\n\n"
        return head + "\n\n".join(found.values())

    def script_expression(self) -> str:
        return self.whole().replace("triton_softmax()", "online_softmax")


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
