"""Test any softmax, merge or attention kernel that Python can call, or the gradient of attention.

    import flashproof
    result = flashproof.check(my_attention)      # f(q, k, v, scale, causal) on NumPy arrays; a minute at most
    print(result)                                # the verdict, what failed and how to see it again
    assert result.ok

The eight things one needs:

check(f, problem="attention", dtype="bfloat16", arrays="torch", arithmetic="fa2_sm80", seconds=60)
    runs the laws over the input families; what f takes it says by the names of its parameters.
Result
    what check() returns: ok, findings, str() of at most 60 lines, details(), json(path), junit(path).
replay(f, case)
    one witness or case line of a finding again.
truth(q, k, v, causal=True), bound(q, k, v, causal=True, arithmetic="triton")
    of your own arrays what is right, and what a kernel may be off by.
suggest(f)
    the declaration, semantics="flash-attention-2" and arithmetic=..., that explains what f returns.
ptx.Kernel("my.ptx", "entry"), with triton_on_cpu():
    compiled kernels, and Triton's as they stand, on the CPU with a GPU's bits.
arithmetics("attention"), semantics("attention"), families("attention"), laws(), features()
    the names that `arithmetic`, `semantics`, `families`, `laws` and `without` take.
pytest's fixtures flashproof_check and flashproof_family (a test per input family)
    with @pytest.mark.flashproof(dtype="float16") and --flashproof-seconds.

help(flashproof.check) has every option. The guide is reports/guides/python.md of the repository.
"""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as _version

from . import ptx
from ._check import check, replay
from ._flashproof import InfrastructureError, UsageError
from ._problem import arithmetics, families, features, laws, semantics
from ._references import (Balls, Bound, GradientBound, Gradients, Terms, Truth, Witness, bound, gradient_bound, gradients, make_case, read_witness, truth,
                          write_witness)
from ._result import FamilyResult, Finding, LawResult, Result, Statistics, Worst
from ._suggest import Suggestion, suggest
from ._triton import triton_array, triton_on_cpu

try:
    __version__ = _version("flashproof")
except PackageNotFoundError:  # imported from a build folder
    __version__ = "0"

__all__ = [
    "Balls", "Bound", "FamilyResult", "Finding", "GradientBound", "Gradients", "InfrastructureError", "LawResult", "Result", "Statistics", "Suggestion", "Terms", "Truth",
    "UsageError", "Witness", "Worst", "arithmetics", "bound", "check", "families", "features", "gradient_bound", "gradients", "laws", "make_case", "ptx", "read_witness",
    "replay", "semantics", "suggest", "triton_array", "triton_on_cpu", "truth", "write_witness",
]
