"""Triton kernels without a GPU: unmodified `kernel[grid](...)`, autotuning and heuristics too, on tensors of PyTorch on the CPU.

    with flashproof.triton_on_cpu(capability=80):          # or 90; pytest: the fixture triton_on_cpu
        print(flashproof.check(my_triton_attention, arrays="torch"))

Triton compiles for that GPU as it always does; the PTX that it made is what runs (ptx.py), with an H100's bits, and what is wrong with a launch
is raised as a LaunchError. Where PyTorch is not installed triton_array() makes of a NumPy array one that Triton takes.
"""

from __future__ import annotations

import contextlib
import inspect
import os
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np

from . import ptx
from ._arrays import dtype_of
from ._flashproof import UsageError, _address
from ._text import said

_SHARED = {80: 163 << 10, 86: 99 << 10, 89: 99 << 10, 90: 227 << 10}  # bytes of a block by compute capability (CUDA programming guide)


class Array(np.ndarray):
    """With the methods of a tensor that Triton and its autotuner call."""

    def data_ptr(self) -> int:
        return _address(self)

    def element_size(self) -> int:
        return self.itemsize

    def stride(self, axis: Optional[int] = None) -> Any:
        strides = tuple(ptx.strides_of(self))
        return strides if axis is None else strides[axis]

    def clone(self) -> "Array":
        return self.copy()

    def copy_(self, other: Any) -> "Array":
        self[...] = other
        return self

    def zero_(self) -> "Array":
        return self.copy_(0)


def triton_array(values: np.ndarray) -> Array:
    """The same memory, as Triton takes it."""
    if not isinstance(values, np.ndarray):
        raise UsageError(f"triton_array({said(values)}): legal an array of NumPy")
    return values.view(Array)


class _Utils:
    """What Triton asks of the driver's C code."""

    def __init__(self, capability: int) -> None:
        self._shared = _SHARED[capability]

    def get_device_properties(self, device: Any) -> Dict[str, int]:
        return {"max_shared_mem": self._shared, "max_num_regs": 65536, "multiprocessor_count": 132, "warpSize": 32, "sm_clock_rate": 1, "mem_clock_rate": 1,
                "mem_bus_width": 1}

    def load_binary(self, name: str, binary: bytes, shared: int, device: Any) -> Tuple[Any, Any, int, int, int]:
        return self, None, 0, 0, 1024  # the module, the function, registers, spills, threads: the launcher has the PTX

    def unload_module(self, module: Any) -> None:
        pass


class _Launcher:
    """Of one compiled kernel."""

    def __init__(self, src: Any, metadata: Any) -> None:
        from triton.runtime.cache import get_cache_manager
        self._types = list(src.signature.values())
        self._metadata = metadata
        group = get_cache_manager(metadata.hash).get_group(f"{metadata.name[:150]}.json") or {}  # as long as Triton lets a name be
        files = [path for name, path in group.items() if name.endswith(".ptx")]
        if len(files) != 1 or not os.path.isfile(files[0]):
            raise UsageError(f"Triton keeps no PTX of {metadata.name}: legal without TRITON_STORE_BINARY_ONLY, and with a cache folder")
        with open(files[0], encoding="utf-8") as file:
            self._kernel = ptx.Kernel(ptx.Module(file.read(), f"{metadata.name}.ptx"), metadata.name)

    def __call__(self, x: int, y: int, z: int, stream: Any, function: Any, kernel_metadata: Any, launch_metadata: Any, enter: Any, leave: Any, *given: Any) -> None:
        metadata = self._metadata
        if getattr(metadata, "num_ctas", 1) > 1 or getattr(metadata, "cluster_dims", (1, 1, 1)) not in ((1, 1, 1), [1, 1, 1]):
            raise UsageError(f"{metadata.name}: a launch of clusters, legal num_ctas=1")
        values: List[Any] = []
        arrays: List[Any] = []
        descriptions = iter(getattr(metadata, "tensordesc_meta", None) or ())
        for kind, value in zip(self._types, given):
            _flatten(kind, value, descriptions, values, arrays)
        scratch = len(self._kernel.parameters) - len(values)  # behind the arguments: memory of every block, and of a profiler
        if scratch:
            values += [_scratch(x * y * z * getattr(metadata, "global_scratch_size", 0))] + [None] * (scratch - 1)
        if enter is not None:
            enter(launch_metadata)
        block = self._kernel.required_threads if any(self._kernel.required_threads) else metadata.num_warps * 32
        launch = self._kernel(*values, grid=(x, y, z), block=block, shared=metadata.shared, arrays=arrays)
        _Benchmark.instructions += launch.instructions
        if launch.printed:
            print(launch.printed, end="")
        if leave is not None:
            leave(launch_metadata)


def _scratch(size: int) -> Optional[np.ndarray]:
    """Aligned as cudaMalloc aligns; None where a kernel needs no byte."""
    if size == 0:
        return None
    memory = np.empty(size + 255, np.uint8)
    return memory[-(memory.ctypes.data) % 256:][:size]


def _flatten(kind: Any, value: Any, descriptions: Iterator[Any], values: List[Any], arrays: List[Any]) -> None:
    """The arguments of the PTX, of one argument of the kernel in Triton's type of it."""
    if isinstance(kind, tuple):
        for inner, one in zip(kind, value):
            _flatten(inner, one, descriptions, values, arrays)
    elif kind.startswith("tensordesc"):
        arrays.append(ptx.unwrapped(value.base))
        values += _descriptor(value, next(descriptions, None))
    elif kind != "constexpr":
        values.append(_FLOATS[kind](value) if kind in _FLOATS else value)


def _descriptor(value: Any, description: Optional[Dict[str, Any]]) -> List[Any]:
    """What a kernel gets of a TensorDescriptor: its parts, or, where the GPU has tensor maps, one, as CUDA would encode it."""
    from triton.backends.nvidia import driver
    if description is None:
        known = (value, None, None)
        return list(driver.make_tensordesc_arg(*known[:len(inspect.signature(driver.make_tensordesc_arg).parameters)]))
    if description["fp4_padded"] or description.get("is_im2col") or getattr(value, "padding", "zero") == "nan":
        raise UsageError("a tensor descriptor of 4 bits, of im2col, or that fills with NaN: legal tiles that fill with 0")
    strides = [s * description["elem_size"] for s in value.strides]
    element = driver.TMA_DTYPE_DEVICE_TO_HOST[description["elem_type"]]
    box = description["block_size"]
    tensor_map = ptx.tensor_map_bytes(element, value.base.data_ptr(), list(value.shape), strides, list(box), [1] * len(box), description["swizzle"])
    return [tensor_map, *value.shape, *value.strides]


_FLOATS: Dict[str, Callable[[Any], Any]] = {
    "fp16": np.float16, "fp32": np.float32, "fp64": np.float64, "bf16": lambda value: dtype_of("bf16").type(value)}


class _Benchmark:
    """The time of a launch is the number of its instructions: an autotuner has the same choice in every run."""
    instructions = 0

    def __call__(self, call: Callable[[], Any], *, quantiles: Sequence[float] = (0.5,), **options: Any) -> Any:
        from triton.runtime import driver
        if not hasattr(driver.active, "is_flashproofs"):  # a kernel that was tuned here first keeps this object
            return driver.active.get_benchmarker()(call, quantiles=quantiles, **options)
        before = _Benchmark.instructions
        call()
        return [float(_Benchmark.instructions - before)] * len(quantiles)


def _driver(capability: int) -> Any:
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase

    class Driver(DriverBase):  # type: ignore[misc]
        is_flashproofs = True

        def __init__(self) -> None:
            self.utils = _Utils(capability)
            self.launcher_cls = _Launcher

        @classmethod
        def is_active(cls) -> bool:
            return True

        def map_python_to_cpp_type(self, kind: str) -> str:
            raise NotImplementedError("no launcher is compiled")

        def get_current_target(self) -> Any:
            return GPUTarget("cuda", capability, 32)

        def get_current_device(self) -> str:
            return f"cpu as sm_{capability}"  # Triton keeps what it compiled by device: never for a GPU that is there

        def set_current_device(self, device: Any) -> None:
            pass

        def get_current_stream(self, device: Any = None) -> int:
            return 0

        def get_device_capability(self, device: Any = None) -> Tuple[int, int]:
            return capability // 10, capability % 10

        def get_active_torch_device(self) -> Any:
            import torch
            return torch.device("cpu")

        def get_benchmarker(self) -> _Benchmark:
            return _Benchmark()

        def get_device_interface(self) -> Any:
            raise UsageError("a clock of the GPU: legal autotune without warmup, rep and use_cuda_graph, which counts instructions here")

    return Driver()


@contextlib.contextmanager
def triton_on_cpu(capability: int = 80) -> Iterator[None]:
    """Triton's launches inside run on the CPU, as compiled for sm_80, 86, 89 or 90 (Triton's 90 is sm_90a)."""
    if isinstance(capability, bool) or not isinstance(capability, int) or capability not in _SHARED:
        raise UsageError(f"capability {said(capability)}: legal {', '.join(map(str, _SHARED))}")
    try:
        from triton.runtime import driver
    except ImportError:
        raise UsageError("triton_on_cpu: Triton is not installed (pip install triton)") from None
    name = "_active" if "_active" in vars(driver) else "active"  # Triton 3.4; nothing asks for a GPU here
    before = vars(driver)[name]
    driver.set_active(_driver(capability))
    try:
        yield
    finally:
        setattr(driver, name, before)
