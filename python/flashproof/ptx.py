"""A compiled kernel on the CPU, called as on a GPU: the bits of an H100, every access checked (kernels/ptx/README.md).

    import numpy as np
    import flashproof
    from flashproof import ptx

    kernel = ptx.Kernel("softmax.ptx", "row_softmax")       # or a .cu, which nvcc compiles, or the text of a PTX

    def softmax(x):
        o, lse = np.empty_like(x), np.empty(len(x), np.float32)
        kernel(x, o, lse, x.shape[1], x.strides[0] // 4, grid=len(x), block=128)
        return o, lse

    print(flashproof.check(softmax, problem="softmax"))

What is wrong with a launch - an access outside of its arrays, a race, a barrier that not all reach - is raised as a LaunchError, which check()
takes for a fault of the call. It needs libLLVM 19 (Debian: libllvm19), which is loaded when the first entry is compiled.
"""

from __future__ import annotations

import collections
import ctypes
import os
import struct
import sys
import threading
from dataclasses import dataclass
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._flashproof import UsageError, _address, call
from ._text import line, path_argument, said, utf8_argument

__all__ = ["Finding", "Kernel", "Launch", "LaunchError", "Module", "TensorMap"]

Dim = Union[int, Sequence[int]]

_lock = threading.RLock()  # programs are made, launched and dropped by one thread at a time
_dropped: "collections.deque[Dict[str, int]]" = collections.deque()  # by whatever thread collects garbage, to be told to the library later


class Finding(NamedTuple):
    text: str  #: "FILE:LINE: what, in block (0, 0, 0), thread (3, 0, 0)"
    line: int  #: of the PTX


@dataclass(frozen=True)
class Launch:
    """What one launch came to."""
    completed: bool  #: False: a finding ended it, and the arrays do not hold the kernel's result
    instructions: int  #: of all threads
    findings: Tuple[Finding, ...]
    printed: str  #: by printf of device code


class LaunchError(RuntimeError):
    """A launch with findings: its text is the first of them."""

    def __init__(self, launch: Launch) -> None:
        more = len(launch.findings) - 1
        super().__init__(launch.findings[0].text + (f" (and {more} more)" if more else ""))
        self.launch = launch


class Memory(NamedTuple):
    """Of an array: where its first element lies, and from where to where it reaches."""
    address: int
    low: int
    high: int
    writable: bool


def _extent(address: int, shape: Sequence[int], strides: Sequence[int], itemsize: int, writable: bool) -> Memory:
    if any(n == 0 for n in shape):
        return Memory(address, address, address, writable)
    steps = [(n - 1) * s for n, s in zip(shape, strides)]
    return Memory(address, address + sum(s for s in steps if s < 0), address + sum(s for s in steps if s > 0) + itemsize, writable)


def unwrapped(value: Any) -> Any:
    """Of what triton.reinterpret() makes the tensor in it."""
    return value.base if type(value).__name__ == "TensorWrapper" and hasattr(value, "base") else value


def memory_of(what: str, value: Any) -> Optional[Memory]:
    """Of a NumPy array or a tensor of PyTorch on the CPU; None of what is neither. Throws UsageError for a tensor that is elsewhere."""
    value = unwrapped(value)
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise UsageError(f"{what}: an array of {value.dtype}, legal one of numbers")
        return _extent(_address(value), value.shape, value.strides, value.itemsize, value.flags.writeable)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        if value.device.type != "cpu":
            raise UsageError(f"{what}: a tensor on {value.device}, legal one on the cpu")
        size = value.element_size()
        return _extent(value.data_ptr(), value.shape, [s * size for s in value.stride()], size, True)
    return None


def strides_of(array: Any) -> List[int]:
    """In elements. Throws UsageError where bytes between two are no multiple of one."""
    if not isinstance(array, np.ndarray):
        return list(array.stride())
    if any(s % array.itemsize for s in array.strides):
        raise UsageError(f"strides {array.strides} in bytes: legal multiples of an element, {array.itemsize}")
    return [s // array.itemsize for s in array.strides]


class TensorMap:
    """What cuTensorMapEncodeTiled makes of an array. Axes as the array has them, the outermost first.

    box: elements along each axis; swizzle: 0, 32, 64 or 128 bytes; dtype: where it is not the array's own, "bfloat16" of raw 16 bits.
    shape and strides (in elements): where they are not the array's own.
    """

    _TYPES = {"uint8": 0, "float8_e4m3fn": 0, "float8_e5m2": 0, "uint16": 1, "uint32": 2, "int32": 3, "uint64": 4, "int64": 5, "float16": 6, "float32": 7,
              "float64": 8, "bfloat16": 9}
    _SWIZZLES = (0, 32, 64, 128)

    def __init__(self, array: Any, box: Sequence[int], swizzle: int = 0, dtype: str = "", shape: Optional[Sequence[int]] = None,
                 strides: Optional[Sequence[int]] = None, steps: Optional[Sequence[int]] = None) -> None:
        memory = memory_of("tensor map", array)
        if memory is None:
            raise UsageError(f"tensor map of {said(array)}: legal a NumPy array or a tensor of PyTorch")
        array = unwrapped(array)
        dtype = dtype or str(array.dtype).rsplit(".", 1)[-1]
        if not isinstance(dtype, str) or dtype not in self._TYPES:
            raise UsageError(f"tensor map: dtype {said(dtype)}, legal {', '.join(self._TYPES)}")
        if swizzle not in self._SWIZZLES:
            raise UsageError(f"tensor map: swizzle {said(swizzle)}, legal {', '.join(map(str, self._SWIZZLES))}")
        for what, given in (("box", box), ("shape", shape), ("strides", strides), ("steps", steps)):
            if not isinstance(given, (tuple, list)) and (given is not None or what == "box"):
                raise UsageError(f"tensor map: {what} {said(given)}, legal one number for each axis")
        shape = list(array.shape if shape is None else shape)
        strides = strides_of(array) if strides is None else strides
        size = array.itemsize if isinstance(array, np.ndarray) else array.element_size()
        if len(strides) != len(shape) or (len(strides) and strides[-1] != 1):
            raise UsageError(f"tensor map: strides {list(strides)}, legal one for each axis, the last 1")
        self.array, self.memory = array, memory  # which is there as long as the map is
        self.bytes = tensor_map_bytes(self._TYPES[dtype], memory.address, shape, [s * size for s in strides], box, [1] * len(shape) if steps is None else steps,
                                      self._SWIZZLES.index(swizzle))


def tensor_map_bytes(element: int, address: int, shape: Sequence[int], strides: Sequence[int], box: Sequence[int], steps: Sequence[int], swizzle: int) -> bytes:
    """element and swizzle as the driver API numbers them, strides in bytes, axes from the outermost on."""
    return bytes.fromhex(_call("ptx_tensor_map", type=element, address=address, sizes=_whole("shape", shape), strides=_whole("strides", strides)[1:],
                               box=_whole("box", box), steps=_whole("steps", steps), swizzle=swizzle))


def _whole(what: str, values: Sequence[int]) -> List[int]:
    """From the innermost axis on."""
    values = list(values)
    if any(isinstance(v, bool) or not isinstance(v, (int, np.integer)) or not 0 <= v < 1 << 63 for v in values):
        raise UsageError(f"{what} {said(values)}: legal whole numbers of 0 or more")
    return [int(v) for v in reversed(values)]


def _call(function: str, **request: Any) -> Any:
    with _lock:
        while _dropped:
            call("ptx_drop", **_dropped.popleft())
        return call(function, **request)


class Module:
    """A PTX file, or a .cu. Its kernels share its global and constant variables, which keep what launches write."""

    def __init__(self, source: Union[str, "os.PathLike[str]"], name: str = "kernel.ptx") -> None:
        """source: a path, or the text of a PTX, which findings call `name`."""
        self._number: int = 0
        if isinstance(source, str) and "\n" in source:
            told = _call("ptx_module", text=utf8_argument("the text of a PTX", source), name=utf8_argument("name", name))
        else:
            told = _call("ptx_module", file=path_argument("a PTX", source, ".ptx or a .cu"))
        self._number = told["module"]
        self.entries: Tuple[str, ...] = tuple(told["entries"])
        self.target: str = told["target"]

    def __del__(self) -> None:
        if self._number:
            _dropped.append({"module": self._number})


class Kernel:
    """An entry, compiled for this machine; what was compiled before comes from a cache.

    source: of a Module, or one. entry: its name in PTX or in C++; may be left out where there is only one.
    """

    def __init__(self, source: Union[Module, str, "os.PathLike[str]"], entry: str = "") -> None:
        self._number: int = 0
        self.module = source if isinstance(source, Module) else Module(source)
        if not isinstance(entry, str):
            raise UsageError(f"entry {said(entry)}: legal a name")
        told = _call("ptx_program", module=self.module._number, entry=utf8_argument("entry", entry))
        self._number = told["program"]
        self.entry: str = told["entry"]
        self.parameters: List[Dict[str, Any]] = told["parameters"]
        self.required_threads: Tuple[int, ...] = tuple(told["required_threads"])  #: of a block; 0: any
        self._parameter_bytes: int = told["parameter_bytes"]

    def __del__(self) -> None:
        if self._number:
            _dropped.append({"program": self._number})

    def __call__(self, *arguments: Any, grid: Dim = 1, block: Dim = 32, shared: int = 0, arrays: Sequence[Any] = (),
                 max_instructions: int = 10**10, last_first: bool = False) -> Launch:
        """One launch, which is over when this returns.

        arguments: of each parameter in order an array (NumPy, or PyTorch on the CPU; None is a null pointer), a number, a scalar of NumPy (its bits),
        the bytes of a structure, or a TensorMap. shared: bytes of dynamic shared memory. arrays: what structures point to. last_first: blocks and
        warps from the last to the first, an order that CUDA allows as well. Throws UsageError for a launch that CUDA refuses, LaunchError for one with findings.
        """
        if len(arguments) != len(self.parameters):
            raise UsageError(f"{self.entry}: {len(arguments)} arguments, it has {len(self.parameters)} parameters")
        memory: List[Tuple[Memory, str]] = []
        parameters = np.zeros(max(self._parameter_bytes, 1), np.uint8)
        for i, (argument, parameter) in enumerate(zip(arguments, self.parameters)):
            packed = _packed(f"argument {i}", argument, parameter, memory)
            parameters[parameter["offset"]:parameter["offset"] + len(packed)] = np.frombuffer(packed, np.uint8)
        for i, one in enumerate(arrays):
            reached = memory_of(f"arrays[{i}]", one)
            if reached is None:
                raise UsageError(f"arrays[{i}] {said(one)}: legal a NumPy array or a tensor of PyTorch")
            memory.append((reached, f"arrays[{i}]"))
        told = _call("ptx_launch", program=self._number, grid=_dim("grid", grid), block=_dim("block", block), shared=_sized("shared", shared, 1 << 31),
                     parameters=_address(parameters), arrays=[[m.low, m.high - m.low, m.writable, name] for m, name in memory],
                     max_instructions=_sized("max_instructions", max_instructions, 1 << 60), last_first=bool(last_first))
        launch = Launch(told["completed"], told["instructions"], tuple(Finding(*one) for one in told["findings"]), told["printed"])
        if launch.findings or not launch.completed:
            raise LaunchError(launch)
        return launch


def _sized(what: str, number: Any, beyond: int) -> int:
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or not 0 <= number < beyond:
        raise UsageError(f"{what} {said(number)}: legal a whole number in 0..{beyond - 1}")
    return int(number)


def _dim(what: str, given: Dim) -> List[int]:
    sizes = [given] if isinstance(given, (int, np.integer)) else list(given) if isinstance(given, (tuple, list)) else [given]
    if not 1 <= len(sizes) <= 3:
        raise UsageError(f"{what} {said(given)}: legal one to three sizes")
    return [_sized(what, size, 1 << 31) for size in sizes] + [1] * (3 - len(sizes))


def _packed(what: str, argument: Any, parameter: Dict[str, Any], memory: List[Tuple[Memory, str]]) -> bytes:
    """The bytes of an argument; what it points to is added to `memory`."""
    size: int = parameter["bytes"]
    given: bytes
    if isinstance(argument, TensorMap):
        memory.append((argument.memory, f"{what}'s tensor"))
        given = argument.bytes
    elif argument is None:
        given = bytes(8)
    elif isinstance(argument, (bytes, bytearray, ctypes.Structure)):
        given = bytes(argument)
    elif isinstance(argument, np.generic):
        given = argument.tobytes()
    elif (reached := memory_of(what, argument)) is not None:
        memory.append((reached, what))
        given = struct.pack("<Q", reached.address)
    elif isinstance(argument, (bool, int, float)) and not parameter["is_structure"]:
        given = _number(what, argument, parameter)
    else:
        legal = "the bytes of a structure or a TensorMap" if parameter["is_structure"] else "an array, a number, bytes, a TensorMap or None"
        raise UsageError(f"{what} {said(argument)}: legal {legal}")
    if len(given) != size:
        raise UsageError(f"{what} {line(argument, 60)}: {len(given)} bytes, the parameter has {size}")
    return given


def _number(what: str, argument: Union[bool, int, float], parameter: Dict[str, Any]) -> bytes:
    kind, bits = parameter["kind"], parameter["bits"]
    if kind == "f":
        form = "<d" if bits == 64 else "<f"
        try:
            return struct.pack(form, float(argument))
        except OverflowError:  # beyond the format
            return struct.pack(form, float("inf") if argument > 0 else float("-inf"))
    if isinstance(argument, float):
        raise UsageError(f"{what} {argument}: the parameter is .{kind}{bits}, legal a whole number or a scalar of NumPy, np.float32({argument})")
    if not -(1 << bits - 1) <= argument < 1 << bits:
        raise UsageError(f"{what} {said(argument)}: legal whole numbers of {bits} bits")
    return int(argument % (1 << bits)).to_bytes(bits // 8, "little")
