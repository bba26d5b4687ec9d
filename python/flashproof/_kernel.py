"""A callable as the laws run it: arguments by name, outputs checked, whatever it does wrong told by name."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

import numpy as np

from . import _arrays
from ._flashproof import UsageError
from ._problem import ABSENT, PARAMETERS, SHAPES, TENSORS, WHOLE, output_format, output_shapes
from ._text import said, utf8

#: In the text of an exception: the device's error state outlives the call.
_DEVICE_ERRORS = ("CUDA error", "cudaError", "CUDA_ERROR", "illegal memory access", "device-side assert", "Triton Error [CUDA]")

#: What a callable is given that is no array.
_NO_ARRAY = (type(None), bool, int, float, tuple)


def parameters_of(function: Callable[..., Any], problem: str) -> List[str]:
    """The optional parameters of this problem that the callable has, by its signature."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []  # a builtin: it is given the tensors and nothing else
    found: List[str] = []
    positional = 0
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            positional += len(TENSORS[problem]) if p.kind == p.VAR_POSITIONAL else 0
        elif p.name in PARAMETERS[problem] and p.kind != p.POSITIONAL_ONLY:
            found.append(p.name)
        elif positional < len(TENSORS[problem]) and p.kind != p.KEYWORD_ONLY:
            positional += 1
        elif p.default is p.empty:
            legal = ", ".join(PARAMETERS[problem])
            raise UsageError(f"parameter {said(p.name)} of the callable: legal beside {', '.join(TENSORS[problem])}: {legal}, or one with a default")
    if positional < len(TENSORS[problem]):
        raise UsageError(f"the callable: must take {', '.join(TENSORS[problem])} by position")
    return found


def features_of(problem: str, parameters: Iterable[str], without: Iterable[str]) -> List[str]:
    """What it takes: what its parameters say, and every shape that `without` does not name."""
    given = set(parameters)
    features = {f for p, f in PARAMETERS[problem].items() if p in given and f}
    features -= {f for f, whole in WHOLE.items() if not given.issuperset(whole)}
    # Without the parameter an order is the kernel's own business: any is right.
    return sorted((features | set(SHAPES[problem])) - set(without))


def _told(error: BaseException) -> str:
    """One line; an exception's own __str__ may raise, too."""
    try:
        text = str(error)
    except Exception:
        text = "(its text raises)"
    return " ".join(f"{type(error).__name__[:100]}: {text}"[:4000].split())[:400]


class Kernel:
    """What the library calls. The tensors that the callable got are its own copies."""

    def __init__(self, function: Callable[..., Any], problem: str, adapter: Any, parameters: Iterable[str], returns: str) -> None:
        self.function, self.problem, self.adapter, self.returns = function, problem, adapter, returns
        self.parameters = tuple(parameters)
        self.interrupted = False  # by Ctrl-C before its first case

    def arguments(self, p: Dict[str, Any]) -> Tuple[List[Any], Dict[str, Any]]:
        give = self.adapter.give
        tensors = [give(*p[name]) for name in TENSORS[self.problem]]
        named: Dict[str, Any] = {}
        for name in self.parameters:
            value = p.get("causal" if name == "is_causal" else name)
            if value is None:
                value = ABSENT.get(name)
            elif isinstance(value, np.ndarray):
                value = self.adapter.integers(value)
            elif isinstance(value, tuple) and isinstance(value[0], str):
                value = give(*value)
            named[name] = value
        return tensors, named

    def outputs(self, p: Dict[str, Any], returned: Any, inputs: List[Any]) -> Tuple[Optional[np.ndarray], ...]:
        shapes = output_shapes(p)
        names = list(shapes) if self.returns == "both" else [self.returns]
        if len(names) == 1 and isinstance(returned, (tuple, list)):
            raise _arrays.Fault(f"wrong_type: returned a {type(returned).__name__} of {len(returned)}, not {self.returns} alone (returns={self.returns!r})")
        if len(names) > 1 and (not isinstance(returned, (tuple, list)) or len(returned) != len(names)):
            wanted = f"the {'pair' if len(names) == 2 else 'triple'} ({', '.join(names)})"
            raise _arrays.Fault(f"wrong_type: returned a {type(returned).__name__}, not {wanted}")
        bits = {name: self.adapter.take(name, value, output_format(self.problem, name, p["format"]), shapes[name], inputs)
                for name, value in zip(names, returned if len(names) > 1 else [returned])}
        return tuple(bits.get(name) for name in shapes)

    def call(self, p: Dict[str, Any], guard: bool) -> Tuple[Optional[np.ndarray], ...]:
        tensors, named = self.arguments(p)
        inputs = list(zip(TENSORS[self.problem], tensors)) + [(n, v) for n, v in named.items() if not isinstance(v, _NO_ARRAY)]
        before = [self.adapter.look(array) for _, array in inputs] if guard else []
        try:
            returned = self.function(*tensors, **named)
            self.adapter.wait()
            outputs = self.outputs(p, returned, [array for _, array in inputs])
        except _arrays.Fault:
            raise
        except (Exception, SystemExit) as error:  # a kernel that ends the process fails; KeyboardInterrupt is the user's
            text = _told(error)
            if any(sign in text for sign in _DEVICE_ERRORS) and "out of memory" not in text and not self.adapter.answers():
                raise _arrays.Lost(f"gpu_error: {text}") from error
            raise _arrays.Fault(f"raised: {text}") from error
        for (name, array), was in zip(inputs, before):
            if not np.array_equal(self.adapter.look(array), was):
                raise _arrays.Fault(f"input_written: {name} is not what it was before the call")
        return outputs

    def __call__(self, p: Dict[str, Any], guard: bool) -> Tuple[Any, ...]:
        if self.interrupted:
            raise KeyboardInterrupt
        try:
            return ("ok", *self.call(p, guard))
        except _arrays.Lost as fault:
            return ("lost", utf8(str(fault)[:1000]))
        except _arrays.Fault as fault:
            return ("fault", utf8(str(fault)[:1000]))
