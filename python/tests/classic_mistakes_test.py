"""check() finds the classic mistakes, with default families and sizes where these are quick, and no fault in a right kernel. -s shows the seconds."""

import functools

import classic_mistakes
import pytest

import flashproof

#: In NumPy all but a softmax is slow: for most of their mistakes these families stand for all.
FEW = {"attention": dict(families=["normal", "huge", "overflow_edge", "flat_tail"]), "merge": dict(families=["normal", "merge_tree", "lse_gaps"]),
       "attention_backward": dict(families=["normal", "logit_spread", "gqa"], cases=8)}
AT_DEFAULTS = {("attention", "causal mask one key too far"), ("attention", "a wholly masked row is NaN"), ("merge", "states merged by their mean"),
               ("attention_backward", "no maximum is subtracted"), ("attention_backward", "a wholly masked row is NaN")}

ALL = [(problem, what) for problem, kernels in classic_mistakes.WRONG.items() for what in kernels]


def only_o(kernel):
    """As most kernels are: without lse."""
    return functools.wraps(kernel)(lambda q, k, v, *, scale, causal: kernel(q, k, v, scale=scale, causal=causal)[0])


def told(problem, what, result):
    print(f"\n{problem}: {what}: {result.outcome} after {result.seconds:.1f} s{', partial' if result.partial else ''}", end="")
    return result


def right_of(problem):
    kernel = classic_mistakes.RIGHT[problem]
    if problem == "attention":
        return lambda q, k, v, *, scale, causal: kernel(q, k, v, scale=scale, causal=causal)
    return (lambda q, k, v, do, *, scale, causal: kernel(q, k, v, do, scale=scale, causal=causal)) if problem == "attention_backward" else kernel


@pytest.mark.parametrize("problem", classic_mistakes.RIGHT)
def test_a_right_kernel_passes(problem):
    # Without the time limit: what a slow machine leaves out is no pass, and this is not about the machine.
    result = told(problem, "right", flashproof.check(right_of(problem), problem=problem, seconds=0))
    assert result.ok and result.outcome == "pass" and str(result).startswith("PASS "), str(result)


@pytest.mark.parametrize("problem, what", ALL)
def test_a_mistake_is_found(problem, what):
    options = {} if (problem, what) in AT_DEFAULTS else FEW.get(problem, {})
    result = told(problem, what, flashproof.check(classic_mistakes.WRONG[problem][what], problem=problem, **options))
    assert not result.ok and result.findings, str(result)
    lines = str(result).split("\n")
    assert lines[0].startswith("FAIL ") and len(lines) <= 60 and max(map(len, lines)) <= 100, str(result)
    assert "--replay" in str(result), "a finding without a command"


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("what", ["causal mask one key too far", "causal mask one key short", "query head h reads key head h mod Hk", "k taken for contiguous"])
def test_one_ordinary_family_is_enough(what, seed):
    """The guide's example for pytest: it missed the mask five times of five."""
    result = flashproof.check(only_o(classic_mistakes.ATTENTION[what]), families=["normal"], cases=1, seed=seed)
    assert result.findings, f"{what}: {result}"
    assert flashproof.check(only_o(right_of("attention")), families=["normal"], cases=1, seed=seed).findings == []
