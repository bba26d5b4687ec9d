"""flashproof.check()."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import time
from typing import Any, Callable, Dict, Iterable, List, Optional, Union

import numpy as np

from . import _arrays, _flashproof
from ._kernel import Kernel, features_of, parameters_of, utf8
from ._problem import DRAWN, NAMES, PARAMETERS, TENSORS, View, format_of
from ._result import FamilyResult, LawResult, Result, Statistics, finding_of

_Names = Union[str, Iterable[str]]


def _list(what: str, names: _Names) -> List[str]:
    if isinstance(names, str):
        return [names]
    listed = list(names) if isinstance(names, Iterable) else [None]
    if not all(isinstance(name, str) for name in listed):
        raise _flashproof.UsageError(f"{what} {str(names)[:60]}: legal a text or several")
    return listed


def _id(function: Callable[..., Any], problem: str, name: str) -> str:
    text = name or getattr(function, "__name__", "") or type(function).__name__
    return f"{problem}." + (re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_.")[:100] or "callable")


def _probe(kernel: Kernel, format: str) -> str:
    """What the callable returns of a small problem: both where that is a pair."""
    bits = np.uint32 if format == "f32" else np.uint16
    shapes = {"softmax": [(2, 8)], "merge": [(2, 2, 8), (2, 2)], "attention": [(1, 1, 16, 16)] * 3}[kernel.problem]
    p: Dict[str, Any] = {"problem": kernel.problem, "format": format, "scale": 0.25, "causal": False, "concat": False}
    if kernel.problem == "merge":
        p["order"] = np.arange(2, dtype=np.int32)
    for name, shape in zip(TENSORS[kernel.problem], shapes):
        of = "f32" if name == "lse" else format
        p[name] = (of, np.zeros(shape, np.uint32 if name == "lse" else bits))
    tensors, named = kernel.arguments(p)
    try:
        returned = kernel.function(*tensors, **named)
    except (Exception, SystemExit):
        return "o"  # the first case will tell
    return "both" if isinstance(returned, (tuple, list)) else "o"


def _where(function: Callable[..., Any]) -> str:
    """As python3 -m flashproof takes it."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "<")
    if not module or "<" in name:
        return "MODULE:FUNCTION"
    if module not in ("__main__", "<run_path>"):
        return f"{module}:{name}"
    file = getattr(inspect.unwrap(function), "__globals__", {}).get("__file__") or ""
    return f"{file}:{name}" if file.endswith(".py") else "MODULE:FUNCTION"


def _program(function: Callable[..., Any], options: Dict[str, str], flags: List[str], without: List[str]) -> str:
    """What a replay line begins with: all of the declaration that a command line can say."""
    words = ["python3", "-m", "flashproof", _where(function)] + [w for k, v in options.items() if v for w in (f"--{k}", v)]
    words += [f"--{flag}" for flag in flags] + [w for feature in without for w in ("--without", feature)]
    return " ".join(shlex.quote(w) for w in words)


def _declared(arithmetic: Any) -> str:
    if isinstance(arithmetic, str):
        return arithmetic
    try:
        if isinstance(arithmetic, dict):
            return json.dumps(arithmetic)
    except (TypeError, ValueError):
        pass
    raise _flashproof.UsageError(f"arithmetic {str(arithmetic)[:60]}: legal a preset's name, or a dict of names and plain values")


def _witness_folder(given: Any) -> str:
    """As text; empty: none. That a finding cannot be kept must be known before an hour has gone by."""
    path = os.fspath(given) if isinstance(given, (str, os.PathLike)) else None
    if not isinstance(path, str) or "\0" in path:
        raise _flashproof.UsageError(f"witnesses {str(given)[:60]!r}: legal the path of a folder")
    if not path:
        return path
    there = os.path.abspath(path)
    while not os.path.lexists(there):  # what is not there is made
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        raise _flashproof.UsageError(f"witnesses {path[:60]!r}: {there[-60:]!r} is no folder, legal a folder or the path of one to be made")
    if not os.access(there, os.W_OK | os.X_OK):
        raise _flashproof.UsageError(f"witnesses {path[:60]!r}: {there[-60:]!r} cannot be written to, legal a folder that can")
    return path


def _predicate(refuses: Callable[[View], Optional[str]]) -> Callable[[Dict[str, Any]], Optional[str]]:
    def said(p: Dict[str, Any]) -> Optional[str]:
        why = refuses(View(p))
        if why is not None and not isinstance(why, str):
            raise _flashproof.UsageError(f"refuses: returned a {type(why).__name__}, legal None or a text that says why")
        return why if why is None else utf8(why)

    return said


def check(
    function: Callable[..., Any],
    *,
    problem: str = "attention",
    dtype: Any = "float32",
    arithmetic: Union[str, Dict[str, Any]] = "unknown",
    arrays: Optional[str] = None,
    device: str = "",
    returns: Optional[str] = None,
    deterministic: bool = True,
    batch_invariant: bool = False,
    isolates_hidden: bool = False,
    saturates: bool = False,
    without: _Names = (),
    refuses: Optional[Callable[[View], Optional[str]]] = None,
    families: _Names = (),
    laws: _Names = (),
    cases: int = 2,
    measured: int = 4,
    seed: int = 1,
    seconds: float = 0.0,
    witnesses: Union[str, "os.PathLike[str]"] = "",
    name: str = "",
    case: str = "",
) -> Result:
    """Runs the laws on a callable over the input families, and measures its error against its a-priori bound.

    function: `softmax` f(x) of x (rows, cols); `merge` f(o, lse) of o (n, rows, dv), lse (n, rows); `attention` f(q, k, v) of
        q (B, Hq, Sq, d), k (B, Hk, Sk, d), v (B, Hk, Sk, dv). Parameters of other names are given by keyword, and say what
        it takes: scale, causal (or is_causal), bias, key_length, window, softcap, alibi, sink, ... (reports/guides/python.md).
        What it has no parameter for is never asked of it. Returns o, lse or (o, lse): o as q (or x), lse float32.
        `attention_backward` f(q, k, v, do) with do as o: returns (dq, dk, dv), as q, k and v.
    arithmetic: a preset's name (flashproof.arithmetics(problem)) or a dict {"preset": name, field: value, ...}.
    arrays, device: numpy, torch, jax or cupy; the default is the module that the callable comes from, else numpy.
    returns: "o", "lse" or "both"; None: whether it returns a pair on a small problem of zeros decides between o and both.
    deterministic, batch_invariant, isolates_hidden, saturates: what the callable promises; laws test the promises.
    without: features that it does not take although nothing says so: gqa, cross (Sq != Sk), value_dim (dv != d), empty, ...
    refuses: asked about every problem; a text says why it does not take that one.
    families, laws: globs. cases: drawn per family and law; measured: cases per family for the statistics; 0: none.
    seconds: ends after so long with what there is (Result.partial). witnesses: folder for the .safetensors of the findings.
    case: one witness file or case line, and nothing else.

    Throws UsageError for an argument that is wrong; whatever the callable does wrong is a finding.
    """
    if not isinstance(problem, str) or problem not in TENSORS:
        raise _flashproof.UsageError(f"problem {str(problem)[:60]!r}: legal {', '.join(TENSORS)}")
    if not callable(function):
        raise _flashproof.UsageError(f"function: must be callable, not a {type(function).__name__}")
    for what, value, most in (("cases", cases, 10**6), ("measured", measured, 10**6), ("seed", seed, 2**64 - 1)):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            raise _flashproof.UsageError(f"{what} {str(value)[:60]}: must be an integer from 0 to {most}")
    if not isinstance(seconds, (int, float)) or not 0 <= seconds < 1e9:
        raise _flashproof.UsageError(f"seconds {str(seconds)[:60]}: must be a number from 0 to 1e9")
    if not cases and not measured:
        raise _flashproof.UsageError("cases and measured: one of them must be above 0")
    if returns not in (None, "o", "lse", "both"):
        raise _flashproof.UsageError(f"returns {str(returns)[:60]!r}: legal o, lse, both")
    witnesses = _witness_folder(witnesses)
    if refuses is not None and not callable(refuses):
        raise _flashproof.UsageError(f"refuses: must be callable, not a {type(refuses).__name__}")
    without, families, laws = _list("without", without), _list("families", families), _list("laws", laws)
    unknown = set(without) - set(_flashproof.features())
    if unknown:
        raise _flashproof.UsageError(f"without {min(unknown)!r}: legal {', '.join(_flashproof.features())}")
    if problem == "attention_backward":
        from . import _gradients  # it needs this module

        return _gradients.check(
            function, dtype=dtype, arithmetic=arithmetic, arrays=arrays, device=device, returns=returns, deterministic=deterministic,
            batch_invariant=batch_invariant, isolates_hidden=isolates_hidden, saturates=saturates, without=without, refuses=refuses, families=families,
            laws=laws, cases=cases, measured=measured, seed=seed, seconds=seconds, witnesses=witnesses, name=name, case=case)
    format = format_of(dtype, DRAWN)
    arrays = arrays or _arrays.framework_of(function)
    declared = _declared(arithmetic)
    adapter = _arrays.adapter(arrays, device)
    _arrays.must_give(adapter, format, device)
    parameters = [p for p in parameters_of(function, problem) if PARAMETERS[problem][p] not in without]
    kernel = Kernel(function, problem, adapter, parameters, returns or "o")
    if returns is None:
        kernel.returns = _probe(kernel, format)
    features = features_of(problem, parameters, without)
    options = {"problem": problem, "dtype": NAMES[format], "arithmetic": declared, "arrays": arrays, "device": device,
               "returns": kernel.returns}
    flags = [flag for flag, given in (("not-deterministic", not deterministic), ("batch-invariant", batch_invariant),
                                      ("isolates-hidden", isolates_hidden), ("saturates", saturates)) if given]
    start = time.monotonic()
    found = json.loads(_flashproof.check(
        id=_id(function, problem, name), problem=problem, format=format, arithmetic=declared, returns=kernel.returns,
        deterministic=deterministic, batch_invariant=batch_invariant, isolates_hidden=isolates_hidden, saturates=saturates,
        takes=features, call=kernel, refuses=None if refuses is None else _predicate(refuses), laws=laws, families=families,
        seed=seed, cases=cases, measured=measured, seconds=float(seconds), witnesses=str(witnesses), replay=str(case),
        program=_program(function, options, flags, without)))
    return Result(
        _id(function, problem, name), problem, options["dtype"], arrays, device or "default", declared, kernel.returns,
        {"deterministic": deterministic, "batch_invariant": batch_invariant, "isolates_hidden": isolates_hidden, "saturates": saturates},
        features,
        [LawResult(law["law"], law["cases"], finding_of(law), law.get("message", "") if law["skipped"] else "", law.get("same_as", "")) for law in found["laws"]],
        [FamilyResult(f["family"], f["cases"], f["refused"], f["finding"], Statistics.of(f["o"]), Statistics.of(f["lse"]))
         for f in found["families"]],
        time.monotonic() - start, found["partial"], found["lost"], found["junit"])


def replay(function: Callable[..., Any], case: str, *, law: _Names = (), **options: Any) -> Result:
    """One witness file or case line; `options` as for check()."""
    return check(function, case=case, laws=law, cases=1, measured=0, **options)
