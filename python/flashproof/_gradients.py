"""Gradients of attention: check(problem="attention_backward"), and the truth and the bound of dq, dk and dv."""

from __future__ import annotations

import dataclasses
import json
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from . import _arrays, _flashproof
from ._kernel import Kernel, features_of, parameters_of
from ._problem import DRAWN, NAMES, PARAMETERS, TENSORS, View, format_of
from ._references import Balls, Terms, _bits, _problem
from ._result import Finding, LawResult, Result, Statistics, _kind, _short, finding_of, findings_of
from ._text import said, utf8_argument

PROBLEM = "attention_backward"
#: Each has the shape and the format of the input behind it.
OUTPUTS: Tuple[Tuple[str, str], ...] = (("dq", "q"), ("dk", "k"), ("dv", "v"))


class GradientKernel(Kernel):
    """What _flashproof.check_gradients() calls: (status, dq, dk, dv) in bits."""

    def outputs(self, p: Dict[str, Any], returned: Any, inputs: List[Any]) -> Any:
        if not isinstance(returned, (tuple, list)) or len(returned) != 3:
            raise _arrays.Fault(f"wrong_type: returned a {type(returned).__name__}, not the triple (dq, dk, dv)")
        taken = []
        for value, (name, of) in zip(returned, OUTPUTS):
            bits = self.adapter.take(name, value, p["format"], p[of][1].shape, inputs)
            taken.append(np.ascontiguousarray(bits).reshape(p[of][1].shape))
        return tuple(taken)


@dataclasses.dataclass(frozen=True)
class GradientFamilyResult:
    family: str
    cases: Dict[str, int]
    refused: str  #: why the last refused case was
    finding: str  #: the first failing case and its verdict
    dq: Statistics
    dk: Statistics
    dv: Statistics

    @property
    def ran(self) -> bool:
        return sum(n for kind, n in self.cases.items() if kind != "unsupported") > 0

    @property
    def worst(self) -> Tuple[str, Statistics]:
        """The output with the largest error/bound, NaN above all."""
        parts = [(name, getattr(self, name)) for name, _ in OUTPUTS]
        return max(parts, key=lambda part: (part[1].elements > 0, part[1].max_ratio != part[1].max_ratio, part[1].max_ratio))


class GradientResult(Result):
    """What flashproof.check(problem="attention_backward") returns; its families are GradientFamilyResults."""

    @property
    def findings(self) -> List[Finding]:
        found = findings_of(self.laws)
        if not any(f.ran for f in self.families):
            refused = next((f.refused for f in self.families if f.refused), "") or next((law.message for law in self.laws if law.message), "")
            found.append(Finding("judged", "nothing_tested", f"the callable takes none of these cases: {refused}", "-"))
        return found

    @property
    def max_ratio(self) -> float:
        ratios = [s.max_ratio for f in self._families() for s in (f.dq, f.dk, f.dv) if s.elements]
        return float("nan") if any(r != r for r in ratios) else max(ratios, default=0.0)

    def _families(self) -> List[GradientFamilyResult]:
        return self.families  # type: ignore[return-value]

    def table(self) -> str:
        rows = [("family", "cases", "verdict", "dq error/bound", "dk error/bound", "dv error/bound", "term", "dq ulp", "dk ulp", "dv ulp", "worst case")]
        for f in self._families():
            ran = sum(f.cases.values()) - f.cases["unsupported"]
            verdict = next((k for k in ("fail", "inconclusive", "pass", "undecided", "out_of_domain", "vacuous", "unsupported") if f.cases[k]), "-")
            if verdict == "fail":
                verdict = f"fail {f.cases['fail']}/{ran}: {_kind(f.finding)}"
            parts = (f.dq, f.dk, f.dv)
            name, top = f.worst
            rows.append((f.family, str(ran), verdict, *(_short(s.max_ratio, s.elements) for s in parts), top.worst.term if top.worst else "-",
                         *(_short(s.max_ulp, s.elements) for s in parts), f"seed {top.worst.seed} {name}[{top.worst.index}]" if top.worst else "-"))
        widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
        lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths)) + " |" for row in rows]
        return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])


def check(function: Callable[..., Any], *, dtype: Any, arithmetic: Any, arrays: Optional[str], device: str, returns: Optional[str], deterministic: bool,
          batch_invariant: bool, isolates_hidden: bool, saturates: bool, without: List[str], refuses: Optional[Callable[[View], Optional[str]]], families: List[str],
          laws: List[str], cases: int, measured: int, seed: int, seconds: float, witnesses: str, name: str, where: str, cases_again: List[str]) -> GradientResult:
    """flashproof.check() of this problem: the larger of `cases` and `measured` is what a family is asked."""
    from . import _check

    if len(cases_again) > 1:
        raise _flashproof.UsageError(f"case: {len(cases_again)} of them, legal one: a declaration of gradients is never open")
    for promise, given in (("batch_invariant", batch_invariant), ("isolates_hidden", isolates_hidden)):
        if given:
            raise _flashproof.UsageError(f"{promise}: no law of gradients tests it, legal False")
    if returns is not None:
        raise _flashproof.UsageError(f"returns {said(returns)}: gradients are the triple (dq, dk, dv), legal None")
    if not isinstance(arithmetic, str):
        raise _flashproof.UsageError(f"arithmetic: of gradients a name, legal {', '.join(n for n, _ in _flashproof.gradient_arithmetics())}")
    utf8_argument("arithmetic", arithmetic)
    format = format_of(dtype, DRAWN)
    arrays = arrays or _arrays.framework_of(function)
    adapter = _arrays.adapter(arrays, device)
    _arrays.must_give(adapter, format, device)
    parameters = [p for p in parameters_of(function, PROBLEM) if PARAMETERS[PROBLEM][p] not in without]
    features = features_of(PROBLEM, parameters, without)
    options = {"problem": PROBLEM, "dtype": NAMES[format], "arithmetic": arithmetic, "arrays": arrays, "device": device}
    flags = [flag for flag, set_ in (("not-deterministic", not deterministic), ("saturates", saturates)) if set_]
    identity = _check._id(function, PROBLEM, name)
    start = time.monotonic()
    found = json.loads(_flashproof.check_gradients(
        id=identity, format=format, arithmetic=arithmetic, deterministic=deterministic, saturates=saturates, takes=features,
        call=GradientKernel(function, PROBLEM, adapter, parameters, "both"), refuses=None if refuses is None else _check._predicate(refuses),
        laws=laws, families=families, seed=seed, cases=max(cases, measured), seconds=float(seconds),
        witnesses=str(witnesses), replay="".join(cases_again), program=_check._program(where, options, flags, without)))
    return GradientResult(
        identity, PROBLEM, options["dtype"], arrays, device or "default", arithmetic, "dq, dk, dv", {"deterministic": deterministic, "saturates": saturates},
        features,
        [LawResult(law["law"], law["cases"], finding_of(law), law.get("message", "") if law["skipped"] else "") for law in found["laws"]],
        [GradientFamilyResult(f["family"], f["cases"], f["refused"], f["finding"],  # type: ignore[misc]
                              *(Statistics.of(f[part]) for part, _ in OUTPUTS)) for f in found["families"]],
        time.monotonic() - start, found["partial"], found["lost"], found["undecided"], found["decided"], found["open"], junit_text=found["junit"])


@dataclasses.dataclass(frozen=True)
class Gradients:
    dq: Balls
    dk: Balls
    dv: Balls


@dataclasses.dataclass(frozen=True)
class GradientBound:
    """Terms: weights, the recomputed P; numerator, products, sums and what P, dP and dS are stored in; denominator, D; output, the ending."""

    dq: Terms
    dk: Terms
    dv: Terms
    in_domain: Dict[str, np.ndarray]  #: by "dq", "dk", "dv": False where a precondition of the bound does not hold


def _given(q: Any, k: Any, v: Any, do: Any, options: Dict[str, Any]) -> Dict[str, Any]:
    legal = set(PARAMETERS[PROBLEM]) - {"is_causal"}
    for name in options:
        if name not in legal:
            raise _flashproof.UsageError(f"{said(name)}: legal {', '.join(sorted(legal))}")
    p = _problem((q, k, v), "attention", options)
    return {**p, "do": _bits("do", do)}


def gradients(q: Any, k: Any, v: Any, do: Any, **options: Any) -> Gradients:
    """The exact gradient of sum(do * attention(q, k, v)) for these stored inputs, as value and radius of dq, dk and dv.

    scale (the default is 1/sqrt(d)), causal, bias, key_length, window, alibi: as for truth(). Radii are at most 2^-12 ulp of float32.
    """
    found = _flashproof.gradients(_given(q, k, v, do, options))
    return Gradients(*(Balls(**found[part]) for part, _ in OUTPUTS))


def gradient_bound(q: Any, k: Any, v: Any, do: Any, *, arithmetic: str = "unknown", **options: Any) -> GradientBound:
    """What autograd of a kernel of this declared arithmetic may be off by, its own forward pass included; arguments as for gradients()."""
    if not isinstance(arithmetic, str):
        raise _flashproof.UsageError(f"arithmetic {said(arithmetic)}: of gradients a name")
    found = _flashproof.gradient_bound(_given(q, k, v, do, options), utf8_argument("arithmetic", arithmetic))
    return GradientBound(*(Terms(**found[part]) for part, _ in OUTPUTS), {part: found[f"{part}_in_domain"].astype(bool) for part, _ in OUTPUTS})
