"""flashproof.check()."""

from __future__ import annotations

import os
import re
import sys
import time
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

import numpy as np

from . import _arrays, _flashproof
from ._progress import progress_bar
from ._kernel import Kernel, features_of, parameters_of
from ._options import number
from ._problem import DRAWN, NAMES, OUTPUTS, PARAMETERS, TENSORS, View, declared_text, format_of, semantics_text
from ._result import Cause, FamilyResult, LawResult, Result, Statistics, declaration_of, finding_of
from ._text import line, path_argument, said, shell_word, utf8, utf8_argument

_Names = Union[str, Iterable[str]]


def names_of(what: str, names: _Names) -> List[str]:
    listed = [names] if isinstance(names, str) else list(names) if isinstance(names, Iterable) else [None]
    if not all(isinstance(name, str) for name in listed):
        raise _flashproof.UsageError(f"{what} {said(names)}: legal a text or several")
    return [utf8_argument(what, name) for name in listed]


def _id(function: Callable[..., Any], problem: str, name: str) -> str:
    text = line(name or getattr(function, "__name__", "") or type(function).__name__)
    return f"{problem}." + (re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_.")[:100] or "callable")


def _probe(kernel: Kernel, format: str) -> str:
    """What the callable returns of a small forward problem: both where that is a pair."""
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
    except KeyboardInterrupt:
        kernel.interrupted = True
        return "o"
    return "both" if isinstance(returned, (tuple, list)) else "o"


def _where(function: Callable[..., Any]) -> str:
    """As python3 -m flashproof takes it; a placeholder for what no name leads to: a closure, a method of an object, a wrapper of what has the name."""
    unknown = "MODULE:FUNCTION"
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or len(module + name) > 1000:
        return unknown
    try:
        found: Any = sys.modules[module]
        for part in name.split("."):
            found = getattr(found, part)
    except Exception:
        return unknown
    if found is not function:
        return unknown
    file = os.path.abspath(str(getattr(sys.modules[module], "__file__", None)))
    folder, base = os.path.split(file)
    # A module that was found by a path of this process alone, as a test's, is not found by its name.
    if module == "__main__" or ("." not in module and base == f"{module}.py" and folder != os.getcwd()):
        return f"{os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file}:{name}" if base.endswith(".py") else unknown
    return f"{module}:{name}"


def _program(where: str, options: Dict[str, str], flags: List[str], without: List[str]) -> str:
    """What a replay line begins with: all of the declaration that a command line can say."""
    words = ["python3", "-m", "flashproof", where] + [w for k, v in options.items() if v for w in (f"--{k}", v)]
    words += [f"--{flag}" for flag in flags] + [w for feature in without for w in ("--without", feature)]
    return " ".join(shell_word(w) for w in words)


def _witness_folder(given: Any) -> str:
    """As text; empty: none. That a finding cannot be kept must be known before an hour has gone by."""
    path = path_argument("witnesses", given, "folder")
    if not path:
        return path
    there = os.path.abspath(path)
    while not os.path.lexists(there):  # what is not there is made
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        raise _flashproof.UsageError(f"witnesses {said(path)}: {there[-60:]!r} is no folder, legal a folder or the path of one to be made")
    if not os.access(there, os.W_OK | os.X_OK):
        raise _flashproof.UsageError(f"witnesses {said(path)}: {there[-60:]!r} cannot be written to, legal a folder that can")
    return path


def _predicate(refuses: Callable[[View], Optional[str]]) -> Callable[[Dict[str, Any]], Optional[str]]:
    def said(p: Dict[str, Any]) -> Optional[str]:
        why = refuses(View(p))
        if why is not None and not isinstance(why, str):
            raise _flashproof.UsageError(f"refuses: returned a {type(why).__name__}, legal None or a text that says why")
        return why if why is None else line(utf8(why))

    return said


def _must_be_kernel(function: Any, problem: Any) -> None:
    if not isinstance(problem, str) or problem not in TENSORS:
        raise _flashproof.UsageError(f"problem {said(problem)}: legal {', '.join(TENSORS)}")
    if not callable(function):
        raise _flashproof.UsageError(f"function: must be callable, not a {line(type(function).__name__, 60)}")


def _kernel(function: Callable[..., Any], problem: str, dtype: Any, arrays: Optional[str], device: str, returns: Any,
            without: List[str]) -> Tuple[Kernel, str, str, List[str]]:
    """The callable as the laws run it, its format, the module of its arrays and what it takes."""
    if returns not in (None, "o", "lse", "both"):
        raise _flashproof.UsageError(f"returns {said(returns)}: legal o, lse, both")
    legal = _flashproof.call("features")
    unknown = set(without).difference(legal)
    if unknown:
        raise _flashproof.UsageError(f"without {said(min(unknown))}: legal {', '.join(legal)}")
    if problem == "attention_backward" and returns is not None:
        raise _flashproof.UsageError(f"returns {said(returns)}: gradients are the triple (dq, dk, dv), legal None")
    format = format_of(dtype, DRAWN)
    arrays = arrays or _arrays.framework_of(function)
    adapter = _arrays.adapter(arrays, device)
    _arrays.must_give(adapter, format, device)
    parameters = [p for p in parameters_of(function, problem) if PARAMETERS[problem][p] not in without]
    kernel = Kernel(function, problem, adapter, parameters, returns or "both")
    if returns is None and problem != "attention_backward":
        kernel.returns = _probe(kernel, format)
    return kernel, format, arrays, features_of(problem, parameters, without)


def check(
    function: Callable[..., Any],
    *,
    problem: str = "attention",
    dtype: Any = "float32",
    arithmetic: Union[str, Dict[str, Any]] = "unknown",
    semantics: Union[str, Dict[str, str], None] = None,
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
    seconds: float = 60.0,
    witnesses: Union[str, "os.PathLike[str]"] = "",
    name: str = "",
    where: str = "",
    case: Union[_Names, "os.PathLike[str]"] = (),
) -> Result:
    """Runs the laws on a callable over the input families, and measures its error against its a-priori bound.

    function: `softmax` f(x) of x (rows, cols); `merge` f(o, lse) of o (n, rows, dv), lse (n, rows); `attention` f(q, k, v) of
        q (B, Hq, Sq, d), k (B, Hk, Sk, d), v (B, Hk, Sk, dv). Parameters of other names are given by keyword, and say what
        it takes: scale, causal (or is_causal), bias, key_length, window, softcap, alibi, sink, ... (reports/guides/python.md).
        What it has no parameter for is never asked of it. Returns o, lse or (o, lse): o as q (or x), lse float32.
        `attention_backward` f(q, k, v, do) with do as o: returns (dq, dk, dv), as q, k and v, of both passes in one call.
    arithmetic: a preset's name (flashproof.arithmetics(problem)) or a dict {"preset": name, field: value, ...}; of gradients the fields are
        those of the backward pass.
    semantics: what it returns where right kernels differ: a preset's name ("flash-attention-2") or a dict of fields ({"lse_base": "2"});
        flashproof.semantics(problem) lists both, flashproof.suggest() proposes one. Not of gradients.
    arrays, device: numpy, torch, jax or cupy; the default is the module that the callable comes from, else numpy.
    returns: "o", "lse" or "both"; None: whether it returns a pair on a small problem of zeros decides between o and both.
    deterministic, batch_invariant, isolates_hidden, saturates: what the callable promises; laws test the promises.
    without: features that it does not take although nothing says so: gqa, cross (Sq != Sk), value_dim (dv != d), empty, ...
    refuses: asked about every problem; a text says why it does not take that one.
    families, laws: globs. cases: drawn per family and law; measured: cases per family for the statistics, from 4 on covering arrays (sizes, pairs) whole; 0: none.
    seed: of the draws; another one draws other cases.
    seconds: ends after so long with what there is (Result.partial, unasked, cut); 0: no limit. Ctrl-C does the same, and is no pass.
    witnesses: folder for the .safetensors of the findings.
    where: what replay lines call the callable, FILE.py:FUNCTION or MODULE:FUNCTION; the default is where its name leads.
    case: a witness file or case line, or several that contradict each other, and nothing else.

    Shows its progress on a terminal's stderr, where tqdm is installed. Throws UsageError for an argument that is wrong and
    InfrastructureError where the machine fails; whatever the callable does wrong is a finding.
    """
    _must_be_kernel(function, problem)
    for what, value in (("--cases", cases), ("--measured", measured), ("--seed", seed), ("--seconds", seconds)):
        number("python", what, value)
    if not cases and not measured:
        raise _flashproof.UsageError("cases and measured: one of them must be above 0")
    for what, text in (("name", name), ("where", where)):
        if not isinstance(text, str):
            raise _flashproof.UsageError(f"{what} {said(text)}: legal a text")
    where = where or _where(function)
    witnesses = _witness_folder(witnesses)
    if refuses is not None and not callable(refuses):
        raise _flashproof.UsageError(f"refuses: must be callable, not a {type(refuses).__name__}")
    without, families, laws = names_of("without", without), names_of("families", families), names_of("laws", laws)
    replayed = [path_argument("case", one, "file, or a case line") for one in names_of("case", os.fspath(case) if isinstance(case, os.PathLike) else case) if one]
    declared, terms = declared_text(arithmetic), semantics_text(semantics)
    kernel, format, arrays, features = _kernel(function, problem, dtype, arrays, device, returns, without)
    options = {"problem": problem, "dtype": NAMES[format], "arithmetic": declared, "semantics": terms, "arrays": arrays, "device": device,
               "returns": "" if problem == "attention_backward" else kernel.returns, "measured": str(measured)}
    flags = [flag for flag, given in (("not-deterministic", not deterministic), ("batch-invariant", batch_invariant),
                                      ("isolates-hidden", isolates_hidden), ("saturates", saturates)) if given]
    start = time.monotonic()
    with progress_bar(line(_id(function, problem, name), 60)) as progress:
        found = _flashproof.call(
            "check", id=_id(function, problem, name), problem=problem, format=format, arithmetic=declared, semantics=terms, returns=kernel.returns,
            deterministic=deterministic, batch_invariant=batch_invariant, isolates_hidden=isolates_hidden, saturates=saturates,
            takes=features, kernel=kernel, refuses=None if refuses is None else _predicate(refuses), laws=laws, families=families,
            seed=seed, cases=cases, measured=measured, seconds=float(seconds), witnesses=str(witnesses), replay=replayed,
            program=_program(where, options, flags, without), progress=progress)
    return Result(
        _id(function, problem, name), problem, options["dtype"], arrays, device or "default", declared,
        ", ".join(OUTPUTS[problem]) if problem == "attention_backward" else kernel.returns,
        {"deterministic": deterministic, "batch_invariant": batch_invariant, "isolates_hidden": isolates_hidden, "saturates": saturates},
        features,
        [LawResult(law["law"], law["cases"], finding_of(law), law.get("message", "") if law["skipped"] else "", law["unasked"], law.get("same_as", ""), law["taken"]) for law in found["laws"]],
        [FamilyResult(f["family"], f["cases"], f["refused"], f["finding"], {part: Statistics.of(s) for part, s in f["outputs"].items()})
         for f in found["families"]],
        time.monotonic() - start, found["partial"], found["lost"], found["undecided"], found["decided"], found["open"], found["suggestion"],
        declaration_of(found["declaration"]), found["interrupted"], found.get("unasked", []), found.get("cut", []), [Cause(*cause) for cause in found["causes"]], found["junit"],
        _flashproof.call("semantics_words", semantics=terms, problem=problem))


def replay(function: Callable[..., Any], case: Union[_Names, "os.PathLike[str]"], *, law: _Names = (), **options: Any) -> Result:
    """Judges one case again.

    case: the path of a .safetensors witness or a case line (finding.case), or several that contradict each other
        (finding.together). law: name or glob; all that apply by default. options: the declaration, as for check().

    Returns a Result of this case alone. Throws UsageError for a case that is none, as check() for every other argument.
    """
    return check(function, case=case, laws=law, cases=1, measured=0, **options)
