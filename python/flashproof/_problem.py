"""Names and shapes of the problems, as the callable sees them."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Tuple

from . import _flashproof
from ._text import line, said, utf8_argument

#: The tensors that a callable is given by position.
TENSORS: Dict[str, Tuple[str, ...]] = {"softmax": ("x",), "merge": ("o", "lse"), "attention": ("q", "k", "v"),
                                       "attention_backward": ("q", "k", "v", "do")}

#: What a callable returns, in this order.
OUTPUTS: Dict[str, Tuple[str, ...]] = {"softmax": ("o", "lse"), "merge": ("o", "lse"), "attention": ("o", "lse"),
                                       "attention_backward": ("dq", "dk", "dv")}

#: The parameters that a callable may have beside them, and the feature that it takes with each.
PARAMETERS: Dict[str, Dict[str, str]] = {
    "softmax": {"row_length": "row_length"},
    "merge": {"l": "unnormalised", "joins": "joins", "concat": "concat", "order": ""},
    "attention": {
        "scale": "scale", "causal": "causal", "is_causal": "causal", "bias": "bias", "key_length": "key_length", "window": "window",
        "softcap": "softcap", "alibi": "alibi", "sink": "sink", "q_descale": "descale", "k_descale": "descale",
        "v_descale": "descale", "q_start": "packed", "k_start": "packed", "page_table": "paged",
    },
    "attention_backward": {"scale": "scale", "causal": "causal", "is_causal": "causal", "bias": "bias", "key_length": "key_length",
                           "window": "window", "alibi": "alibi"},
}

#: What shapes alone ask for: taken unless `without` names it.
SHAPES: Dict[str, Tuple[str, ...]] = {"softmax": ("empty",), "merge": ("empty",), "attention": ("gqa", "cross", "value_dim", "empty"),
                                      "attention_backward": ("gqa", "cross", "value_dim", "empty")}

#: A feature that needs all of its parameters.
WHOLE: Dict[str, Tuple[str, ...]] = {"descale": ("q_descale", "k_descale", "v_descale"), "packed": ("q_start", "k_start")}

FORMATS: Dict[str, str] = {
    "float32": "f32", "f32": "f32", "float16": "f16", "f16": "f16", "half": "f16", "bfloat16": "bf16", "bf16": "bf16",
    "float8_e4m3fn": "e4m3fn", "e4m3fn": "e4m3fn", "float8_e5m2": "e5m2", "e5m2": "e5m2",
}

NAMES: Dict[str, str] = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "e4m3fn": "float8_e4m3fn", "e5m2": "float8_e5m2"}

#: The formats that families draw for check(); the others are inputs of truth() and bound().
DRAWN = ("f32", "f16", "bf16")

#: What a parameter is given where the problem does not use it.
ABSENT: Dict[str, Any] = {"scale": 1.0, "causal": False, "is_causal": False, "softcap": 0.0, "concat": False}


def format_of(dtype: Any, legal: Tuple[str, ...] = tuple(NAMES)) -> str:
    """The format of a dtype by its name: "bfloat16", numpy.float16, torch.bfloat16, jax.numpy.float32, ..."""
    name = getattr(dtype, "__name__", None) or getattr(dtype, "name", None) or str(dtype)
    format = FORMATS.get(line(name).rsplit(".", 1)[-1])
    if format not in legal:
        raise _flashproof.UsageError(f"dtype {said(line(dtype))}: legal {', '.join(NAMES[f] for f in legal)}")
    return format


def output_format(problem: str, output: str, format: str) -> str:
    if output == "lse":
        return "f32"
    return "bf16" if problem == "attention" and format in ("e4m3fn", "e5m2") else format


def output_shapes(p: Dict[str, Any]) -> Dict[str, Tuple[int, ...]]:
    """By OUTPUTS."""
    if p["problem"] == "attention_backward":
        return {"dq": p["q"][1].shape, "dk": p["k"][1].shape, "dv": p["v"][1].shape}
    if p["problem"] == "softmax":
        rows, cols = p["x"][1].shape
        return {"o": (rows, cols), "lse": (rows,)}
    if p["problem"] == "merge":
        states, rows, width = p["o"][1].shape
        return {"o": (rows, states * width if p["concat"] else width), "lse": (rows,)}
    batch, heads, queries, _ = p["q"][1].shape
    return {"o": (batch, heads, queries, p["v"][1].shape[3]), "lse": (batch, heads, queries)}


class View:
    """A problem without its numbers: what `refuses` is asked about.

    Attributes are those of the problem's dict (scale, causal, window, softcap, ...; None where the problem does not use it) and
    `shape` and `strides`, dicts from tensor name to shape and to strides in elements.
    """

    def __init__(self, p: Dict[str, Any]) -> None:
        self._p = p
        tensors = {k: v[1] for k, v in p.items() if isinstance(v, tuple) and len(v) == 2 and isinstance(v[0], str)}
        self.shape: Dict[str, Tuple[int, ...]] = {k: t.shape for k, t in tensors.items()}
        self.strides: Dict[str, Tuple[int, ...]] = {k: tuple(s // t.itemsize for s in t.strides) for k, t in tensors.items()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = self._p.get(name, ABSENT.get(name))
        return value[1] if isinstance(value, tuple) and value and isinstance(value[0], str) else value


def semantics_text(semantics: Any) -> str:
    """Declared semantics as JSON; empty: the reference's."""
    if semantics is None or semantics == {}:
        return ""
    if isinstance(semantics, str):
        return json.dumps(utf8_argument("semantics", semantics))
    if isinstance(semantics, dict) and all(isinstance(text, str) for pair in semantics.items() for text in pair):
        return json.dumps({utf8_argument("semantics", name): utf8_argument("semantics", value) for name, value in semantics.items()})
    raise _flashproof.UsageError(f"semantics {said(semantics)}: legal a preset's name, or a dict of texts")


def semantics(problem: str) -> Dict[str, str]:
    """Presets that `semantics` takes and what they differ in, then its fields and what is legal."""
    return dict(_flashproof.call("semantics", problem=_known(problem)))


def declared_text(arithmetic: Any) -> str:
    """A declaration as C++ reads it."""
    if isinstance(arithmetic, str):
        return utf8_argument("arithmetic", arithmetic)
    try:
        if isinstance(arithmetic, dict):
            return json.dumps(arithmetic)
    except (TypeError, ValueError, RecursionError):
        pass
    raise _flashproof.UsageError(f"arithmetic {said(arithmetic)}: legal a preset's name, or a dict of names and plain values")


def _known(problem: Any) -> str:
    if not isinstance(problem, str) or problem not in TENSORS:
        raise _flashproof.UsageError(f"problem {said(problem)}: legal {', '.join(TENSORS)}")
    return problem


def laws() -> Dict[str, str]:
    """Every law by its name, and what it says in a line: what `laws` of check() chooses from."""
    return dict(_flashproof.call("laws"))


def families(problem: str) -> Dict[str, str]:
    """Every input family of this problem by its name, and what is hazardous about it: what `families` of check() chooses from.

    problem: softmax, merge, attention or attention_backward. Throws UsageError for another.
    """
    return dict(_flashproof.call("families", problem=_known(problem), globs=[]))


def arithmetics(problem: str) -> Dict[str, str]:
    """The arithmetics that a kernel of this problem can declare by name, and what each computes.

    problem: as for families(). Throws UsageError for another.
    """
    return dict(_flashproof.call("arithmetics", problem=_known(problem)))


def features() -> List[str]:
    """Every feature that `without` of check() takes: what its parameters or the shapes of its tensors may ask of a callable."""
    return list(_flashproof.call("features"))


