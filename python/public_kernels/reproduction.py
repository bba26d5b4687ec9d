"""A violation as a folder that runs without flashproof: the witness, and a script that needs NumPy and the kernel's own library."""

import json
import os
import pathlib
import shutil
from typing import Any, Dict, List

import numpy as np

import flashproof
from backward_tables import PARTS

SCRIPT = '''"""{title}

{facts}

    python3 reproduce.py        0: nothing is wrong, 1: the finding is there, 3: nothing was judged
"""

{frame}

{source}


if __name__ == "__main__":
    sys.exit(reproduce(pathlib.Path(__file__).resolve().parent, "{arrays}", "{device}", lambda: {function}))
'''


def limits(problem: Dict[str, Any], arithmetic: str, parts: List[str]) -> Dict[str, Any]:
    """Of each output (exact, low, high, classes) of every element, flattened. low and high: through the bound and the output's rounding."""
    truths, bounds = (flashproof._flashproof.call(of, problem=problem, narrow=True, arithmetic=arithmetic) for of in ("truth", "bound"))
    found = {}
    for part in parts:
        total = sum(bounds[part][n] for n in ("weights", "numerator", "denominator", "output")).reshape(-1)
        value, radius, classes = (truths[part][n].reshape(-1) for n in ("value", "radius", "classes"))
        dtype = flashproof._arrays.dtype_of("f32" if part == "lse" else problem["format"])
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = (end.astype(dtype).astype(np.float64) for end in (value - total - radius, value + total + radius))
        found[part] = value, low, high, classes
    return found


#: The bits of an exact element's class. More than one: the kernel may answer any of them.
CLASSES = {1: "finite", 2: "inf", 4: "-inf", 8: "nan"}

#: Findings that one output shows. Of the others the witness and the replay line are all there is.
JUDGING = ("within_bound", "class_matches_semantics", "outputs_fully_written")


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
            legal = [kind for bit, kind in CLASSES.items() if int(classes[i]) & bit]
            told = " or ".join(repr(float(exact[i])) if kind == "finite" else kind for kind in legal)
            elements.append({"output": part, "index": i, "exact": told, "low": repr(float(low[i])), "high": repr(float(high[i])), "classes": legal})
    names = {"softmax": ["x"], "merge": ["o", "lse"], "attention": ["q", "k", "v"], "attention_backward": ["q", "k", "v", "d_out"]}[subject.problem]
    shapes = flashproof._problem.output_shapes(p)
    arguments = {"scale": p.get("scale"), "causal": p.get("causal", False)} if subject.problem.startswith("attention") else {}
    if "bias" in p:
        arguments["bias"] = None
    with open(os.path.join(folder, "expected.json"), "w", encoding="utf-8") as file:
        json.dump({"tensors": names, "arguments": arguments, "outputs": outputs, "shapes": {n: shapes[n] for n in outputs}, "elements": elements}, file)
    facts = "\n".join([f"{finding.law}: {finding.kind}: {finding.message}", f"problem: {finding.shrunk or finding.case}",
                       f"declared arithmetic: {subject.arithmetic}", "versions: " + ", ".join(f"{k} {v}" for k, v in versions.items())])
    frame = pathlib.Path(__file__).with_name("frame.py").read_text(encoding="utf-8").partition("\n\n")[2]
    text = SCRIPT.format(title=f"{subject.name}: {finding.kind}", facts=facts.replace('"""', "'''").replace("\\", "\\\\"), frame=frame, source=source, arrays=subject.arrays,
                         device=subject.device, function=function)
    with open(os.path.join(folder, "reproduce.py"), "w", encoding="utf-8") as file:
        file.write(text)
    return folder
