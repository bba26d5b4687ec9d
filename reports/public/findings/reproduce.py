"""A finding again: the library's own function on the inputs of NAME/witness.safetensors, against what NAME/expected.json allows.

    python3 reproduce.py NAME [--device cpu]     0: nothing is wrong any more, 1: the finding is there, 2: no such name, 3: nothing was judged
    python3 reproduce.py --list

Needs NumPy and the library that NAME begins with. Of flashproof it takes the plain Python of python/public_kernels; nothing is built.
Each was found by `flashproof.check()` and made small by it, with torch 2.11.0+cu130, triton 3.6.0, jax 0.11.2, jaxlib 0.11.2,
cudnn_library 91900, cuda 13.0 and numpy 2.5.2 on an NVIDIA H200. An entry says the problem, what the library gave and what the declared
arithmetic allows, and gives the kernel.
"""

import argparse
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "python/public_kernels"))

from calls import aten, contiguous, jax_attention, jax_backward, jax_function, padded, sdpa, sdpa_backward, torch_function, triton_softmax  # noqa: E402
from frame import reproduce  # noqa: E402

# NAME: what was found, and what makes the kernel.
FINDINGS = {
    "jax.attention.cudnn.backward.float16.gradient_within_bound.sentinels": (
        "two queries of 1, 64 equal keys: dq is NaN, exact 0, bound 0.0159171 (cudnn)",
        lambda: jax_backward("cudnn")),
    "jax.attention.xla.backward.bfloat16.gradient_within_bound.near_ties": (
        "one query, 59 keys, chunks end at 32 and 59: dk[10, 0] is -1.5776e-20, exact -1.66814e-20, error 9.05396e-22, bound 8.31049e-22 (jax_xla)",
        lambda: jax_backward("xla")),
    "jax.attention.xla.backward.float32.gradient_within_bound.deep_negative": (
        "16 queries, 44 keys, a bias: dq[10, 3] is -0.237300, exact -0.242363, error 0.00506284, bound 0.00478068 (jax_xla)",
        lambda: jax_backward("xla")),
    "jax.attention.xla.backward.float32.gradient_within_bound.mask_random": (
        "a bias of -inf hides the one key: dq, dk and dv are NaN, exact 0 (jax_xla)",
        lambda: jax_backward("xla")),
    "jax.attention.xla.float32.class_matches_semantics": (
        "a bias of -inf hides the one key: o is NaN, exact 0 (jax_xla)",
        lambda: jax_attention("xla")),
    "jax.logsumexp.float32.class_matches_semantics": (
        "x = inf: lse is inf, exact NaN (unknown)",
        lambda: jax_function("logsumexp")),
    "jax.softmax.bfloat16.within_bound": (
        "x = 0, -2: o[1] is 0.11962890625, exact 0.119202922, error 0.000425984, bound 2.08529e-07 (unknown)",
        lambda: jax_function("softmax")),
    "jax.softmax.float16.within_bound": (
        "x = 0, -1: o[1] is 0.268798828125, exact 0.268941421, error 0.000142593, bound 4.74108e-07 (unknown)",
        lambda: jax_function("softmax")),
    "jax.softmax.float32.class_matches_semantics": (
        "x = -inf: o is NaN, exact 0 (unknown)",
        lambda: jax_function("softmax")),
    "torch.aten.flash.float16.class_matches_semantics": (
        "q = 0, k = -inf: lse is inf, exact NaN (fa2_sm80)",
        lambda: contiguous(padded(aten("FLASH_ATTENTION"), 8))),
    "torch.logsumexp.float32.class_matches_semantics": (
        "x = inf: lse is inf, exact NaN (unknown)",
        lambda: torch_function("logsumexp")),
    "torch.sdpa.cudnn.backward.bfloat16.gradient_within_bound.sentinels": (
        "q = 1, 64 equal keys, dO = 0: dq is NaN, exact 0, bound 6.8847e-34 (cudnn)",
        lambda: sdpa_backward("CUDNN_ATTENTION", True, 8)),
    "torch.sdpa.cudnn.backward.float16.gradient_within_bound.mask_row": (
        "a bias of -inf hides both keys: dq is NaN, exact 0 (cudnn)",
        lambda: sdpa_backward("CUDNN_ATTENTION", True, 8)),
    "torch.sdpa.cudnn.backward.float16.gradient_within_bound.sentinels": (
        "q = 1, 64 equal keys, dO = 0: dv is NaN, exact 0, bound 2.98169e-08 (cudnn)",
        lambda: sdpa_backward("CUDNN_ATTENTION", True, 8)),
    "torch.sdpa.efficient.backward.float32.gradient_within_bound.hidden_specials": (
        "a bias of -inf hides the one key, whose k and v are -inf: dq is NaN, exact 0 (pytorch_efficient)",
        lambda: sdpa_backward("EFFICIENT_ATTENTION", True, 8)),
    "torch.sdpa.efficient.float32.class_matches_semantics": (
        "q = -1, k = inf, v = -inf, a score of -inf: o is NaN, exact 0 (pytorch_efficient)",
        lambda: contiguous(padded(sdpa("EFFICIENT_ATTENTION", True), 8))),
    "torch.sdpa.flash.backward.float16.gradient_within_bound.special_values": (
        "q = 0, k = 0, inf, a score of NaN: dv is 0, exact NaN (fa2_sm80)",
        lambda: sdpa_backward("FLASH_ATTENTION", False, 8)),
    "torch.sdpa.math.float32.class_matches_semantics": (
        "q = -1, k = inf, v = -inf, a score of -inf: o is NaN, exact 0 (pytorch_math)",
        lambda: padded(sdpa("MATH", True), 1)),
    "torch.softmax.float32.class_matches_semantics": (
        "x = -inf: o is NaN, exact 0 (pytorch_softmax)",
        lambda: torch_function("softmax")),
    "triton.online_softmax.float16.class_matches_semantics": (
        "x = -inf: o is NaN, exact 0 (unknown)",
        lambda: triton_softmax()),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="every NAME, with what was found")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="where it must run; default cuda")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{name}  {what}" for name, (what, _) in FINDINGS.items()))
        return 0
    if options.name not in FINDINGS:
        print(f"NAME {ascii(options.name or '')[:100]}: must be one of --list", file=sys.stderr)
        return 2
    if options.device == "cpu":
        os.environ["JAX_PLATFORMS"] = "cpu"
    library = "jax" if options.name.startswith("jax.") else "torch"  # whose arrays; Triton's are PyTorch's
    return reproduce(HERE / options.name, library, options.device, FINDINGS[options.name][1])


if __name__ == "__main__":
    sys.exit(main())
