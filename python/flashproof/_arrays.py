"""Bits into the arrays of a framework, and what a callable returned back into bits.

Inputs keep the problem's strides where the framework has strides (NumPy, PyTorch, CuPy): gaps hold NaN. JAX gets dense arrays.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np

from ._flashproof import BITS, UsageError
from ._problem import NAMES
from ._text import line, said


class Fault(Exception):
    """What the callable did wrong; the text begins with the finding's name."""


class Lost(Fault):
    """The same, and the device answers nothing any more."""


@functools.lru_cache(maxsize=None)
def dtype_of(format: str) -> Any:
    """NumPy's dtype; bf16 and fp8 come from ml_dtypes."""
    if format in ("f32", "f16"):
        return np.dtype(NAMES[format])
    try:
        ml_dtypes = importlib.import_module("ml_dtypes")
    except ImportError:
        raise UsageError(f"dtype {NAMES[format]}: NumPy has none, install ml_dtypes") from None
    return np.dtype(getattr(ml_dtypes, NAMES[format]))


def _flat(bits: np.ndarray) -> Tuple[np.ndarray, Tuple[int, ...]]:
    """The storage from the first to the last element, and the strides in elements."""
    strides = tuple(s // bits.itemsize for s in bits.strides)
    if bits.size == 0:
        return np.empty(0, bits.dtype), strides
    extent = 1 + sum((n - 1) * s for n, s in zip(bits.shape, strides))
    return np.lib.stride_tricks.as_strided(bits, (extent,), (bits.itemsize,)), strides


def _check(what: str, shape: Sequence[int], expected: Sequence[int], dtype: Any, expected_dtype: Any) -> None:
    if dtype != expected_dtype:
        raise Fault(f"wrong_dtype: {what} is {dtype}, not {expected_dtype}")
    if tuple(shape) != tuple(expected):
        raise Fault(f"wrong_shape: {what} is {tuple(shape)}, not {tuple(expected)}")


def _returns(call: Any) -> bool:
    try:
        call()
    except Exception:
        return False
    return True


class Numpy:
    name = "numpy"

    def __init__(self, device: str) -> None:
        if device not in ("", "cpu"):
            raise UsageError(f"device {said(device)}: NumPy arrays are on the cpu")

    def give(self, format: str, bits: np.ndarray) -> Any:
        return bits.view(dtype_of(format))

    def integers(self, values: np.ndarray) -> Any:
        return values

    def take(self, what: str, value: Any, format: str, shape: Sequence[int], inputs: List[Any]) -> np.ndarray:
        if not isinstance(value, np.ndarray):
            raise Fault(f"wrong_type: {what} is a {type(value).__name__}, not a numpy.ndarray")
        _check(what, value.shape, shape, value.dtype, dtype_of(format))  # as text a dtype takes microseconds
        if value.size and not value.flags.owndata and any(isinstance(i, np.ndarray) and np.may_share_memory(value, i) for i in inputs):
            raise Fault(f"aliases_input: {what} shares memory with an input")
        return np.array(value, order="C").view(BITS[format])

    def look(self, array: Any) -> np.ndarray:
        """The bytes of an input as they are now."""
        return np.array(array, order="C").view(np.uint8)

    def wait(self) -> None:
        pass

    def answers(self) -> bool:
        """After an error of a device: whether it still does. Behind NumPy nothing is known of one."""
        return False


class Torch:
    name = "torch"

    def __init__(self, device: str) -> None:
        self.torch = importlib.import_module("torch")
        self.device = self.torch.device(device or "cpu")
        if self.device.type == "cuda" and self.device.index is None:
            self.device = self.torch.device("cuda", self.torch.cuda.current_device())

    def give(self, format: str, bits: np.ndarray) -> Any:
        torch = self.torch
        flat, strides = _flat(bits)
        signed = {1: np.uint8, 2: np.int16, 4: np.int32}[bits.itemsize]
        storage = torch.from_numpy(flat.view(signed)).to(self.device, copy=True).view(getattr(torch, NAMES[format]))
        return storage.as_strided(bits.shape, strides)

    def integers(self, values: np.ndarray) -> Any:
        return self.torch.from_numpy(values.copy()).to(self.device)

    def take(self, what: str, value: Any, format: str, shape: Sequence[int], inputs: List[Any]) -> np.ndarray:
        torch = self.torch
        if not isinstance(value, torch.Tensor):
            raise Fault(f"wrong_type: {what} is a {type(value).__name__}, not a torch.Tensor")
        _check(what, value.shape, shape, str(value.dtype).rsplit(".", 1)[-1], NAMES[format])
        if value.device != self.device:
            raise Fault(f"wrong_device: {what} is on {value.device}, not on {self.device}")
        if value.numel():
            own = value.untyped_storage().data_ptr()
            if any(isinstance(i, torch.Tensor) and i.numel() and i.untyped_storage().data_ptr() == own for i in inputs):
                raise Fault(f"aliases_input: {what} shares memory with an input")
        signed = torch.int32 if format == "f32" else torch.int16
        return value.detach().contiguous().view(signed).cpu().numpy().view(BITS[format])

    def look(self, array: Any) -> np.ndarray:
        # clone: contiguous() leaves the strides of axes of length 1 as they are
        return array.clone(memory_format=self.torch.contiguous_format).view(self.torch.uint8).cpu().numpy()

    def wait(self) -> None:
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)

    def answers(self) -> bool:
        # A launch that was refused is over once it was told; what a kernel did wrong stays.
        return self.device.type == "cuda" and _returns(self.wait)


class Jax:
    name = "jax"

    def __init__(self, device: str) -> None:
        self.jax = importlib.import_module("jax")
        platform, _, index = device.partition(":")
        devices = self.jax.devices({"": None, "cuda": "gpu"}.get(platform, platform))
        if index and not (index.isdecimal() and int(index) < len(devices)):
            raise UsageError(f"device {said(device)}: legal {platform}:0 to {platform}:{len(devices) - 1}")
        self.device = devices[int(index or 0)]
        # To where JAX puts arrays by itself, jax.numpy.array() is faster than device_put(), and gives what most callers have: arrays that
        # follow others to their device.
        array = self.jax.numpy.array
        self.put = array if array(0).devices() == {self.device} else lambda values: self.jax.device_put(values, self.device)

    def give(self, format: str, bits: np.ndarray) -> Any:
        return self.put(np.array(bits, order="C").view(dtype_of(format)))

    def integers(self, values: np.ndarray) -> Any:
        return self.put(np.array(values))

    def take(self, what: str, value: Any, format: str, shape: Sequence[int], inputs: List[Any]) -> np.ndarray:
        if not isinstance(value, self.jax.Array):
            raise Fault(f"wrong_type: {what} is a {type(value).__name__}, not a jax.Array")
        _check(what, value.shape, shape, value.dtype, dtype_of(format))
        if value.devices() != {self.device}:
            raise Fault(f"wrong_device: {what} is on {value.devices()}, not on {self.device}")
        return np.ascontiguousarray(value).view(BITS[format])  # JAX waits, and brings it to the host

    def look(self, array: Any) -> np.ndarray:
        return np.array(array, order="C").view(np.uint8)

    def wait(self) -> None:
        pass  # take() waits for what it reads

    def answers(self) -> bool:
        return _returns(lambda: np.asarray(self.jax.device_put(np.zeros(1, np.float32), self.device) + 1))


class Cupy:
    name = "cupy"

    def __init__(self, device: str) -> None:
        self.cupy = importlib.import_module("cupy")
        index = (device or "cuda:0").partition(":")[2]
        self.index = int(index or 0)
        self.cupy.cuda.Device(self.index).use()

    def give(self, format: str, bits: np.ndarray) -> Any:
        flat, strides = _flat(bits)
        storage = self.cupy.asarray(flat).view(dtype_of(format))
        return self.cupy.lib.stride_tricks.as_strided(storage, bits.shape, tuple(s * bits.itemsize for s in strides))

    def integers(self, values: np.ndarray) -> Any:
        return self.cupy.asarray(values)

    def take(self, what: str, value: Any, format: str, shape: Sequence[int], inputs: List[Any]) -> np.ndarray:
        if not isinstance(value, self.cupy.ndarray):
            raise Fault(f"wrong_type: {what} is a {type(value).__name__}, not a cupy.ndarray")
        _check(what, value.shape, shape, value.dtype, dtype_of(format))
        if value.device.id != self.index:
            raise Fault(f"wrong_device: {what} is on device {value.device.id}, not on {self.index}")
        if value.size and any(isinstance(i, self.cupy.ndarray) and self.cupy.may_share_memory(value, i) for i in inputs):
            raise Fault(f"aliases_input: {what} shares memory with an input")
        return self.cupy.ascontiguousarray(value).view(BITS[format]).get()

    def look(self, array: Any) -> np.ndarray:
        return self.cupy.ascontiguousarray(array).view(self.cupy.uint8).get()

    def wait(self) -> None:
        self.cupy.cuda.Device(self.index).synchronize()

    def answers(self) -> bool:
        return _returns(self.wait)


_ADAPTERS: Dict[str, Any] = {"numpy": Numpy, "torch": Torch, "jax": Jax, "cupy": Cupy}


def adapter(arrays: str, device: str) -> Any:
    """Throws UsageError for an unknown name, for a framework that is not installed, and for a device that is not there."""
    if not isinstance(arrays, str) or arrays not in _ADAPTERS:
        raise UsageError(f"arrays {said(arrays)}: legal {', '.join(_ADAPTERS)}")
    if not isinstance(device, str):
        raise UsageError(f"device {said(device)}: legal a text, such as 'cpu' or 'cuda:0'")
    try:
        return _ADAPTERS[arrays](device)
    except UsageError:
        raise
    except ImportError as error:
        raise UsageError(f"arrays {arrays!r}: not installed ({line(error)})") from None
    except Exception as error:  # the frameworks raise what they like for a device that is not there
        raise UsageError(f"device {said(device)}: {arrays} has none ({line(error)})") from None


def must_give(adapter: Any, format: str, device: str) -> None:
    """Throws UsageError where the framework cannot hold this format on this device: told now, not as the callable's fault."""
    try:
        adapter.give(format, np.zeros((1, 1), BITS[format]))
        adapter.wait()
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"dtype {NAMES[format]} on device {said(device or 'default')}: {adapter.name} cannot hold it ({line(error)})") from None


def framework_of(function: Any) -> str:
    """By the module that the callable comes from; numpy where that says nothing."""
    module = line(getattr(function, "__module__", "") or type(function).__module__).split(".", 1)[0]
    return {"torch": "torch", "triton": "torch", "jax": "jax", "jaxlib": "jax", "cupy": "cupy"}.get(module, "numpy")
