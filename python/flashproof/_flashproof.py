"""The package's library by ctypes. Requests, answers and what the library asks on the way are texts of JSON; arrays go by their addresses,
and each side copies what it is shown while the other waits (bindings/door.h)."""

from __future__ import annotations

import ctypes
import json
import math
import os
from typing import Any, Callable, Dict, Generator, List, Optional, Tuple

import numpy as np

#: Of each format what its bits are in.
BITS = {format: np.dtype(bits) for format, bits in (("f32", "uint32"), ("f16", "uint16"), ("bf16", "uint16"), ("e4m3fn", "uint8"), ("e5m2", "uint8"))}


class UsageError(ValueError):
    """An argument is wrong: the text names it and says what is legal."""


class InfrastructureError(RuntimeError):
    """The machine failed: its disk, its memory, its driver."""


_ERRORS = {"usage": UsageError, "interrupted": KeyboardInterrupt, "infrastructure": InfrastructureError, "memory": MemoryError}


def _opened() -> ctypes.CDLL:
    """Of the libraries that are there, one for each kind of CPU, the best that this CPU can run: the one for the oldest knows."""
    folder = os.path.dirname(os.path.abspath(__file__))
    names = sorted(name for name in os.listdir(folder) if name.startswith("libflashproof-"))
    if not names:
        raise ImportError(f"{folder}: no library is there, legal an installed package (pip install .)")
    library = ctypes.CDLL(os.path.join(folder, names[0]))
    library.flashproof_cpu.restype = ctypes.c_char_p
    best = f"libflashproof-{library.flashproof_cpu().decode()}.so"
    return ctypes.CDLL(os.path.join(folder, best)) if best in names else library


_Tell = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
_library = _opened()
_library.flashproof_call.argtypes = (ctypes.c_char_p, _Tell)
_library.flashproof_call.restype = None
_reply = ctypes.PYFUNCTYPE(None, ctypes.c_char_p)(("flashproof_reply", _library))  # with the interpreter's lock: it only copies
_copied = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)(("PyByteArray_FromStringAndSize", ctypes.pythonapi))


def _array(elements: str, shape: List[int], strides: List[int], address: int, size: int) -> Any:
    """A copy of what the library shows: of a tensor with its strides and gaps, as the pair (format, bits)."""
    if elements in BITS:
        return elements, np.ndarray(shape, BITS[elements], _copied(address, size) if size else bytearray(4), 0, strides)
    shown = (ctypes.c_char * size).from_address(address) if size else bytearray(8)
    return np.ndarray(shape, elements, shown, 0, strides).copy()


def _read(told: Dict[str, Any]) -> Dict[str, Any]:
    """With arrays where it has addresses, and pairs where it has lists."""
    for name, value in told.items():
        if type(value) is list:
            told[name] = _array(*value) if value and type(value[0]) is str else tuple(value)
        elif type(value) is dict:
            _read(value)
    return told


def _address(array: np.ndarray) -> int:
    """Which is the library's as long as the array is there."""
    return array.__array_interface__["data"][0]


def _placed(array: Any) -> Any:
    """What the library reads an array by; None, which it refuses, of one that it cannot read."""
    return {"address": _address(array), "shape": array.shape, "itemsize": array.itemsize} if isinstance(array, np.ndarray) and array.flags.c_contiguous else None


def _sent(problem: Dict[str, Any]) -> Dict[str, Any]:
    """Numbers that JSON has not are words."""
    return {name: value.tolist() if isinstance(value, np.ndarray) else str(value) if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in problem.items()}


_text = json.JSONEncoder(default=_placed).encode
_parsed = json.JSONDecoder().raw_decode


def _replies(kernel: Any, refuses: Any, progress: Any) -> Dict[str, Callable[[Dict[str, Any]], Tuple[str, Any]]]:
    """Of every question the reply, and what must be there until the library has read it."""
    def called(told: Dict[str, Any]) -> Tuple[str, Any]:
        status, *returned = kernel(_read(told["problem"]), told["guard"])
        if status != "ok":
            return _text([status, *returned]), None
        # Some microseconds less than _text().
        shown = ["null" if one is None else f"[{_address(one)},{one.nbytes}]" for one in returned]
        return f'["ok",{",".join(shown)}]', returned

    def shown(told: Dict[str, Any]) -> Tuple[str, Any]:
        try:
            progress(told["done"], told["total"], told["what"])
        except KeyboardInterrupt:
            raise
        except BaseException:  # a bar that cannot be shown ends no run
            pass
        return "null", None

    return {"call": called, "refuses": lambda told: (_text(refuses(_read(told["problem"]))), None), "progress": shown, "signals": lambda told: ("null", None)}


def call(function: str, *, kernel: Optional[Callable[[Dict[str, Any], bool], Tuple[Any, ...]]] = None,
         refuses: Optional[Callable[[Dict[str, Any]], Optional[str]]] = None, progress: Optional[Callable[[int, int, str], None]] = None,
         **request: Any) -> Any:
    """A function of the library (bindings/functions.cc). Throws UsageError and InfrastructureError.

    kernel: of a problem and whether its inputs are guarded ("ok", o, lse), ("ok", dq, dk, dv), ("fault", text) or ("lost", text). What
    it, `refuses` (a problem, why not) and `progress` (done, in all, of what) raise ends the call, and is raised when the library has
    returned; but of Ctrl-C check() has an answer.

    Signals become exceptions where Python code begins to run, which is where the library tells something: a generator has its try
    statement around that point already, of a function the exception would be lost in ctypes.
    """
    if kernel is not None:
        request.update(refuses=refuses is not None, progress=progress is not None)
    if "problem" in request and isinstance(request["problem"], dict):
        request["problem"] = _sent(request["problem"])
    asked = _replies(kernel, refuses, progress)
    answers: List[Dict[str, Any]] = []
    raised: List[BaseException] = []
    over = False

    def listens() -> Generator[None, bytes, None]:
        while True:
            try:
                while True:
                    told, _ = _parsed((yield).decode())
                    if "ask" not in told:
                        answers.append(_read(told) if "arrays" in told else told)
                    elif not raised:
                        reply, kept = asked[told["ask"]](told)
                        _reply(reply.encode())
                        del kept
            except BaseException as error:
                if over:
                    return
                raised.append(error)

    listener = listens()
    next(listener)
    try:
        _library.flashproof_call(_text({"function": function, **request}).encode(), _Tell(listener.send))
    finally:
        over = True
        listener.close()
    if raised and not (function == "check" and isinstance(raised[0], KeyboardInterrupt) and answers and "error" not in answers[0]):
        raise raised.pop(0)
    if not answers:
        raise KeyboardInterrupt  # in the few instructions of the listener that are in no try statement
    (answer,) = answers
    if "error" in answer:
        raise _ERRORS.get(answer["error"], RuntimeError)(answer["text"])
    return answer["arrays"] if "arrays" in answer else answer["answer"]
