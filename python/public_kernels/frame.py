"""What every script of a finding does: calls a kernel with the inputs of witness.safetensors, and holds what it gives against expected.json."""

import json
import pathlib
import sys


def tensors(folder):
    """The inputs of witness.safetensors as raw bits: name -> (dtype, array)."""
    raw = (folder / "witness.safetensors").read_bytes()
    size = int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8:8 + size])
    kinds = {"F32": ("float32", "<u4"), "F16": ("float16", "<u2"), "BF16": ("bfloat16", "<u2")}
    import numpy as np

    found = {}
    for name, entry in head.items():
        if name != "__metadata__":
            dtype, bits = kinds[entry["dtype"]]
            begin, end = entry["data_offsets"]
            found[name] = (dtype, np.frombuffer(raw[8 + size + begin:8 + size + end], bits).reshape(entry["shape"]))
    return found


def array(library, device, dtype, bits):
    if library == "torch":
        import torch

        signed = {4: "<i4", 2: "<i2"}[bits.itemsize]
        return torch.from_numpy(bits.view(signed).copy()).to(device).view(getattr(torch, dtype))
    import jax.numpy as jnp
    import ml_dtypes

    return jnp.asarray(bits.copy().view(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype))


def numbers(output):
    """(shape, numbers in row-major order, where they were computed)."""
    if hasattr(output, "detach"):
        device = "the CPU"
        if output.is_cuda:
            import torch

            device = torch.cuda.get_device_name(output.device)
        return list(output.shape), output.detach().cpu().double().reshape(-1).tolist(), device
    import numpy as np

    device = ", ".join(sorted({d.device_kind for d in output.devices()}))
    found = np.asarray(output, dtype=np.float64)
    return list(found.shape), found.reshape(-1).tolist(), "the CPU" if device == "cpu" else device


def taken(expected, computed, device):
    """What numbers() says of each output by name. Raises ValueError where they are not the outputs that are expected: nothing could be judged."""
    names = expected["outputs"]
    outputs = computed if isinstance(computed, (tuple, list)) else (computed,)
    if len(outputs) != len(names):
        raise ValueError(f"{len(outputs)} outputs, must be {len(names)}: {', '.join(names)}")
    found = {}
    for name, output in zip(names, outputs):
        found[name] = numbers(output)
        if found[name][0] != expected["shapes"][name]:
            raise ValueError(f"{name} is {found[name][0]}, must be {expected['shapes'][name]}")
        if device == "cuda" and found[name][2] == "the CPU":  # JAX takes what there is
            raise ValueError("computed on the CPU, must be on a GPU")
    return found


def judge(expected, computed, device):
    """(number of elements that are not as expected.json allows, the text that says which)."""
    found = taken(expected, computed, device)
    wrong = []
    for e in expected["elements"]:
        value = found[e["output"]][1][e["index"]]
        low, high = float(e["low"]), float(e["high"])
        legal = e["classes"]
        if not (("finite" in legal and low <= value <= high) or str(value) in legal):
            allowed = " or ".join(f"{low} to {high}" if kind == "finite" else kind for kind in legal)
            wrong.append(f"{e['output']}[{e['index']}]: computed {value!r}, exact {e['exact']}, allowed {allowed}  WRONG")
    where = ", ".join(sorted({device for _, _, device in found.values()}))
    return len(wrong), "\n".join([*wrong[:20], f"{len(wrong)} of {len(expected['elements'])} elements are wrong, computed on {where}"])


def reproduce(folder, library, device, make):
    """`make` gives the kernel. 0: nothing is wrong; 1: something is; 3: nothing was judged, so that nothing is known."""
    try:
        expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
        inputs = tensors(folder)
        function = make()
        given = {name: array(library, device, *pair) for name, pair in inputs.items()}
        arguments = {n: given.get(n, v) for n, v in expected["arguments"].items()}
        wrong, text = judge(expected, function(*(given[n] for n in expected["tensors"]), **arguments), device)
    except Exception as error:  # of any kind: a library that is missing, without a GPU or too old, a file, outputs that are others
        said = str(error).strip().partition("\n")[0]
        print(f"{folder.name}: not judged: {type(error).__name__}: {said[:300]}", file=sys.stderr)
        return 3
    print(text)
    return 1 if wrong else 0
