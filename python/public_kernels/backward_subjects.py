"""The gradients of the public kernels: what both passes declare, and which problems they are given."""

from typing import Any, Callable, List, Optional


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
                          {"deterministic": True, "isolates_hidden": True, "without": without, "refuses": refuses}, note))

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
