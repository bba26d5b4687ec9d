"""A violation as a folder that runs without flashproof: the witness, and a script that needs NumPy and the kernel's own library."""

import json
import os
import shutil
from typing import Any, Dict, List

import numpy as np

import flashproof
from backward_tables import PARTS

SCRIPT = '''"""{title}

{facts}

    python3 reproduce.py        exits 1 while the finding is there
"""

import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = json.loads((HERE / "expected.json").read_text())


def tensors():
    """The inputs of witness.safetensors as raw bits: name -> (dtype, array)."""
    raw = (HERE / "witness.safetensors").read_bytes()
    size = int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8:8 + size])
    kinds = {{"F32": ("float32", "<u4"), "F16": ("float16", "<u2"), "BF16": ("bfloat16", "<u2")}}
    found = {{}}
    for name, entry in head.items():
        if name != "__metadata__":
            dtype, bits = kinds[entry["dtype"]]
            begin, end = entry["data_offsets"]
            found[name] = (dtype, np.frombuffer(raw[8 + size + begin:8 + size + end], bits).reshape(entry["shape"]))
    return found


{arrays}


{source}


def main():
    given = {{name: array(*pair) for name, pair in tensors().items()}}
    names = EXPECTED["tensors"]
    function = {function}
    computed = function(*(given[n] for n in names), **{{n: given.get(n, v) for n, v in EXPECTED["arguments"].items()}})
    outputs = computed if isinstance(computed, (tuple, list)) else (computed,)
    values = dict(zip(EXPECTED["outputs"], (numbers(o) for o in outputs)))
    wrong = []
    for e in EXPECTED["elements"]:
        value = float(values[e["output"]].reshape(-1)[e["index"]])
        low, high = float(e["low"]), float(e["high"])
        if not (low <= value <= high if e["class"] == "finite" else str(value) == e["class"]):
            allowed = f"{{low}} to {{high}}" if e["class"] == "finite" else e["class"]
            wrong.append(f"{{e['output']}}[{{e['index']}}]: computed {{value!r}}, exact {{e['exact']}}, allowed {{allowed}}  WRONG")
    print("\\n".join([*wrong[:20], f"{{len(wrong)}} of {{len(EXPECTED['elements'])}} elements are wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
'''

TORCH = '''def array(dtype, bits):
    import torch

    signed = {4: "<i4", 2: "<i2"}[bits.itemsize]
    return torch.from_numpy(bits.view(signed).copy()).to("DEVICE").view(getattr(torch, dtype))


def numbers(output):
    return output.detach().float().cpu().numpy().astype(np.float64)'''

JAX = '''def array(dtype, bits):
    import jax.numpy as jnp
    import ml_dtypes

    return jnp.asarray(bits.copy().view(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype))


def numbers(output):
    return np.asarray(output, dtype=np.float64)'''


def limits(problem: Dict[str, Any], arithmetic: str, parts: List[str]) -> Dict[str, Any]:
    """Of each output (exact, low, high, class) of every element, flattened. low and high: through the bound and the output's rounding."""
    if set(parts) <= set(PARTS):
        problem = {**problem, "problem": "attention"}
        truths, bounds = flashproof._flashproof.gradients(problem), flashproof._flashproof.gradient_bound(problem, arithmetic)
    else:
        truths, bounds = flashproof._flashproof.truth(problem, True), flashproof._flashproof.bound(problem, arithmetic)
    found = {}
    for part in parts:
        total = sum(bounds[part][n] for n in ("weights", "numerator", "denominator", "output")).reshape(-1)
        value, radius, classes = (truths[part][n].reshape(-1) for n in ("value", "radius", "classes"))
        dtype = flashproof._arrays.dtype_of("f32" if part == "lse" else problem["format"])
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = (end.astype(dtype).astype(np.float64) for end in (value - total - radius, value + total + radius))
        found[part] = value, low, high, classes
    return found


#: Findings that one output shows. Of the others the witness and the replay line are all there is.
JUDGING = ("within_bound", "class_matches_semantics", "outputs_fully_written", "gradient_within_bound", "gradient_fully_written")


def export(folder: str, subject: Any, finding: Any, source: str, function: str, versions: Dict[str, str]) -> str:
    """Returns the folder."""
    witness = flashproof.read_witness(finding.witness)
    os.makedirs(folder, exist_ok=True)
    shutil.copyfile(finding.witness, os.path.join(folder, "witness.safetensors"))
    p = witness.problem
    outputs = list(PARTS) if subject.problem == "attention_backward" else {"o": ["o"], "lse": ["lse"], "both": ["o", "lse"]}[subject.options["returns"]]
    elements = []
    for part, (exact, low, high, classes) in limits(p, subject.arithmetic, outputs).items():
        for i in range(len(exact)):
            kind = "finite" if classes[i] & 1 else {2: "inf", 4: "-inf"}.get(int(classes[i]), "nan")
            elements.append({"output": part, "index": i, "exact": repr(float(exact[i])) if kind == "finite" else kind, "low": repr(float(low[i])), "high": repr(float(high[i])), "class": kind})
    names = {"softmax": ["x"], "merge": ["o", "lse"], "attention": ["q", "k", "v"], "attention_backward": ["q", "k", "v", "d_out"]}[subject.problem]
    arguments = {"scale": p.get("scale"), "causal": p.get("causal", False)} if subject.problem.startswith("attention") else {}
    if "bias" in p:
        arguments["bias"] = None
    with open(os.path.join(folder, "expected.json"), "w", encoding="utf-8") as file:
        json.dump({"tensors": names, "arguments": arguments, "outputs": outputs, "elements": elements}, file)
    facts = "\n".join([f"{finding.law}: {finding.kind}: {finding.message}", f"problem: {finding.shrunk or finding.case}",
                       f"declared arithmetic: {subject.arithmetic}", "versions: " + ", ".join(f"{k} {v}" for k, v in versions.items())])
    arrays = (TORCH.replace("DEVICE", subject.device) if subject.arrays == "torch" else JAX)
    text = SCRIPT.format(title=f"{subject.name}: {finding.kind}", facts=facts.replace('"""', "'''").replace("\\", "\\\\"), arrays=arrays, source=source, function=function)
    with open(os.path.join(folder, "reproduce.py"), "w", encoding="utf-8") as file:
        file.write(text)
    return folder
