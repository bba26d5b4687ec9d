"""Test any softmax, merge or attention kernel that Python can call.

    import flashproof
    result = flashproof.check(my_attention, problem="attention", dtype="bfloat16", arrays="torch", arithmetic="fa2_sm80")
    print(result)        # a table: what was tested, what failed, error against its a-priori bound
    assert result.ok

The guide is reports/guides/python.md of the repository.
"""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as _version

from ._check import check, replay
from ._flashproof import InfrastructureError, UsageError
from ._problem import arithmetics, families, features, laws
from ._references import (Balls, Bound, GradientBound, Gradients, Terms, Truth, Witness, bound, gradient_bound, gradients, make_case, read_witness, truth,
                          write_witness)
from ._result import FamilyResult, Finding, LawResult, Result, Statistics, Worst

try:
    __version__ = _version("flashproof")
except PackageNotFoundError:  # imported from a build folder
    __version__ = "0"

__all__ = [
    "Balls", "Bound", "FamilyResult", "Finding", "GradientBound", "Gradients", "InfrastructureError", "LawResult", "Result", "Statistics", "Terms", "Truth",
    "UsageError", "Witness", "Worst", "arithmetics", "bound", "check", "families", "features", "gradient_bound", "gradients", "laws", "make_case", "read_witness",
    "replay", "truth", "write_witness",
]
