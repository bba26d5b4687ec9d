"""Truth and bound of a user's own arrays, and cases as files."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Dict, Optional, Sequence, Tuple, Union

import numpy as np

from . import _arrays, _flashproof
from ._problem import PARAMETERS, TENSORS, declared_text, format_of, output_shapes
from ._text import path_argument, said, utf8, utf8_argument

_Path = Union[str, "os.PathLike[str]"]


@dataclasses.dataclass(frozen=True)
class Balls:
    """The exact value lies in [value + low - radius, value + low + radius] where classes has 1 (finite).

    classes: bits 1 finite, 2 +inf, 4 -inf, 8 NaN; several where several are right.
    """

    value: np.ndarray
    low: np.ndarray
    radius: np.ndarray
    classes: np.ndarray


@dataclasses.dataclass(frozen=True)
class Truth:
    o: Balls
    lse: Balls


@dataclasses.dataclass(frozen=True)
class Terms:
    """|computed - exact| <= weights + numerator + denominator + output, before the rounding into the output's format."""

    weights: np.ndarray
    numerator: np.ndarray
    denominator: np.ndarray
    output: np.ndarray
    probable: np.ndarray  #: what is exceeded by chance once in 10^10

    @property
    def total(self) -> np.ndarray:
        return self.weights + self.numerator + self.denominator + self.output


@dataclasses.dataclass(frozen=True)
class Bound:
    o: Terms
    lse: Terms
    range: np.ndarray  #: spread of the values that o lies between: a bound of half of it says nothing
    in_domain: np.ndarray  #: False where a precondition of the bound does not hold


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


@dataclasses.dataclass(frozen=True)
class Witness:
    case: str  #: the line that it was drawn from
    notes: Dict[str, str]
    problem: Dict[str, Any]
    tensors: Dict[str, np.ndarray]  #: with NumPy's dtypes, or ml_dtypes'


def _bits(name: str, array: Any) -> Tuple[str, np.ndarray]:
    """Of an array of any framework on the host, or of one that DLPack or __array__ brings there."""
    if type(array).__module__.split(".", 1)[0] == "torch":
        array = array.detach().cpu().contiguous()
        format = format_of(array.dtype)
        import torch  # it is there: the array is one

        signed = {4: torch.int32, 2: torch.int16, 1: torch.uint8}[array.element_size()]
        return format, array.view(signed).numpy().view(_flashproof.BITS[format])
    if hasattr(array, "get") and type(array).__module__.split(".", 1)[0] == "cupy":
        array = array.get()
    dense = np.array(array, order="C")
    try:
        format = format_of(dense.dtype)
    except _flashproof.UsageError as error:
        raise _flashproof.UsageError(f"{name}: {error}") from None
    return format, dense.view(_flashproof.BITS[format])


def _forward(tensors: Sequence[Any], problem: str, options: Dict[str, Any]) -> Dict[str, Any]:
    if not isinstance(problem, str) or problem not in TENSORS or problem == "attention_backward":
        raise _flashproof.UsageError(f"problem {said(problem)}: legal softmax, merge, attention; of gradients: gradients(), gradient_bound()")
    return _problem(tensors, problem, options)


def _backward(tensors: Sequence[Any], options: Dict[str, Any]) -> Dict[str, Any]:
    legal = sorted(set(PARAMETERS["attention_backward"]) - {"is_causal"})
    for name in options:
        if name not in legal:
            raise _flashproof.UsageError(f"{said(name)}: legal {', '.join(legal)}")
    return _problem(tensors, "attention_backward", options)


def _problem(tensors: Sequence[Any], problem: str, options: Dict[str, Any]) -> Dict[str, Any]:
    names = TENSORS[problem]
    if len(tensors) != len(names):
        raise _flashproof.UsageError(f"{problem}: takes {', '.join(names)}, not {len(tensors)} tensors")
    p: Dict[str, Any] = {"problem": problem, "causal": False, "concat": False}
    p.update({name: _bits(name, tensor) for name, tensor in zip(names, tensors)})
    p["format"] = p[names[0]][0]
    if problem in ("attention", "attention_backward"):
        p["scale"] = 1 / np.sqrt(float(p["q"][1].shape[-1]))
    for name in ("bias", "alibi", "sink", "q_descale", "k_descale", "v_descale", "l"):
        if options.get(name) is not None:
            p[name] = _bits(name, options.pop(name))
    legal = ("scale", "causal", "window", "softcap", "key_length", "row_length", "q_start", "k_start", "page_table", "concat", "order", "joins",
             "boundary")
    for name, value in options.items():
        if name not in legal:
            raise _flashproof.UsageError(f"{said(name)}: legal {', '.join(legal)}, bias, alibi, sink, q_descale, k_descale, v_descale, l")
        if value is not None:
            p[name] = _plain(name, value)
    return p


def _plain(name: str, value: Any) -> Any:
    """A number of any framework as Python's, or a list of int32."""
    found = np.asarray(value)
    if found.ndim == 0 and found.dtype.kind in "biuf":
        return found.item()
    limit = np.iinfo(np.int32)
    if found.dtype.kind not in "iu" and found.size or found.size and not (limit.min <= int(found.min()) and int(found.max()) <= limit.max):
        raise _flashproof.UsageError(f"{name}: legal a number, or integers from {limit.min} to {limit.max}")
    return [int(n) for n in found.reshape(-1)]


def _balls(p: Dict[str, Any], narrow: bool = True) -> Dict[str, Balls]:
    found, shapes = _flashproof.call("truth", problem=p, narrow=narrow), output_shapes(p)
    return {part: Balls(**{name: values.reshape(shapes[part]) for name, values in found[part].items()}) for part in shapes}


def _terms(p: Dict[str, Any], arithmetic: Any) -> Tuple[Dict[str, Terms], Dict[str, np.ndarray], Dict[str, Any]]:
    """Of each output the terms and the domain; what else there is."""
    found, shapes = _flashproof.call("bound", problem=p, arithmetic=declared_text(arithmetic)), output_shapes(p)
    terms = {part: Terms(**{name: values.reshape(shapes[part]) for name, values in found[part].items()}) for part in shapes}
    return terms, {part: found["in_domain"][part].reshape(shapes[part]).astype(bool) for part in shapes}, found


def truth(*tensors: Any, problem: str = "attention", narrow: bool = True, **options: Any) -> Truth:
    """The exact result for these stored inputs, as value and radius.

    truth(q, k, v, scale=..., causal=..., bias=...) ; truth(x, problem="softmax"); truth(o, lse, problem="merge"). The default scale
    is 1/sqrt(d). narrow: radii of at most 2^-12 ulp of float32; else the fast tier's.
    """
    return Truth(**_balls(_forward(tensors, problem, options), narrow))


def bound(*tensors: Any, problem: str = "attention", arithmetic: Union[str, Dict[str, Any]] = "unknown", **options: Any) -> Bound:
    """What a kernel of this declared arithmetic may be off by, element by element; arguments as for truth()."""
    p = _forward(tensors, problem, options)
    terms, in_domain, found = _terms(p, arithmetic)
    return Bound(**terms, range=found["range"].reshape(in_domain["o"].shape), in_domain=in_domain["o"])


def gradients(q: Any, k: Any, v: Any, do: Any, **options: Any) -> Gradients:
    """The exact gradient of sum(do * attention(q, k, v)) for these stored inputs, as value and radius of dq, dk and dv.

    scale (the default is 1/sqrt(d)), causal, bias, key_length, window, alibi: as for truth(). Radii are at most 2^-12 ulp of float32.
    """
    return Gradients(**_balls(_backward((q, k, v, do), options)))


def gradient_bound(q: Any, k: Any, v: Any, do: Any, *, arithmetic: Union[str, Dict[str, Any]] = "unknown", **options: Any) -> GradientBound:
    """What autograd of a kernel of this declared arithmetic may be off by, its own forward pass included; arguments as for gradients()."""
    terms, in_domain, _ = _terms(_backward((q, k, v, do), options), arithmetic)
    return GradientBound(**terms, in_domain=in_domain)


def read_witness(path: _Path) -> Witness:
    """A case's file. Throws UsageError for one that is no witness."""
    found = _flashproof.call("read_witness", path=path_argument("path", path, "file"))
    return _witness(found["problem"], found["case"], found["notes"])


def make_case(line: str) -> Witness:
    """The case of a line problem:family:seed[:key=value,...]."""
    if not isinstance(line, str):
        raise _flashproof.UsageError(f"line {said(line)}: legal problem:family:seed[:key=value,...]")
    return _witness(_flashproof.call("make_case", line=utf8_argument("line", line)), line, {})


def _witness(p: Dict[str, Any], case: str, notes: Dict[str, str]) -> Witness:
    tensors = {k: np.array(v[1], order="C").view(_arrays.dtype_of(v[0])) for k, v in p.items()
               if isinstance(v, tuple) and len(v) == 2 and isinstance(v[0], str)}
    return Witness(case, notes, p, tensors)


def write_witness(path: _Path, *tensors: Any, problem: str = "attention", case: Optional[str] = None, notes: Optional[Dict[str, str]] = None,
                  **options: Any) -> None:
    """The .safetensors of a case that flashproof replays; arguments as for truth()."""
    p = _forward(tensors, problem, options)
    said_of_it = {utf8(str(k)): utf8(str(v)) for k, v in (notes or {}).items()}
    if not isinstance(case, (str, type(None))):
        raise _flashproof.UsageError(f"case {said(case)}: legal problem:family:seed[:key=value,...]")
    _flashproof.call("write_witness", path=path_argument("path", path, "file"), problem=p, case=utf8_argument("case", case or f"{problem}:own:0"), notes=said_of_it)
