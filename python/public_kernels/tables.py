"""The subjects' records as one Markdown table, and as one JSON."""

import itertools
import json
import math
import pathlib
from typing import Any, Dict, List, Optional, Tuple

import backward_tables

#: Columns of the contract: what the law says and what a dash in the table is.
CONTRACT = {"rerun_is_bitwise": "deterministic", "batch_invariance_is_bitwise": "batch invariant", "hidden_nan_is_isolated": "hidden NaN isolated",
            "visible_nan_is_not_laundered": "NaN kept", "layout_invariance": "layout"}


def records(out: pathlib.Path) -> List[Dict[str, Any]]:
    return [json.loads(p.read_text(encoding="utf-8")) for p in sorted((out / "subjects").glob("*.json"))]


def short(value: Any) -> Any:
    """Without what no reader of a table asks for: reasons of refusals, the second copy of the findings, paths, nothing and zeros, digits beyond the fourth."""
    if isinstance(value, dict):
        left_out = ("text", "exported", "refused", "findings", "witness", "replay", "seconds", "normwise", "features", "contract")
        return {k: short(v) for k, v in value.items() if k not in left_out and v not in (0, "", None)}
    if isinstance(value, list):
        return [short(v) for v in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value[:160] if isinstance(value, str) else value


def collected(out: pathlib.Path) -> Dict[str, Any]:
    return {"subjects": [short(r) for r in records(out)]}


def wants_time(out: pathlib.Path, name: str) -> bool:
    path = out / "subjects" / f"{name}.json"
    if not path.is_file():
        return False
    record = json.loads(path.read_text(encoding="utf-8"))
    return not backward_tables.is_backward(record) and not {"skipped", "died", "speed", "speed_failed"} & set(record)  # timed: forward passes


def number(value: Any) -> float:
    return float(value)


def worst(result: Dict[str, Any], part: str, what: str) -> Optional[float]:
    """Over the families where every element had the class of the exact result."""
    values = [number(f[part][what]) for f in result["families"] if f[part]["elements"] and math.isfinite(number(f[part]["max_ratio"]))]
    return max(values) if values else None


def ran(result: Dict[str, Any]) -> List[Dict[str, Any]]:
    """The families of which a case was taken."""
    return [f for f in result["families"] if sum(f["cases"].values()) > f["cases"]["unsupported"]]


def cell(value: Optional[float]) -> str:
    return "-" if value is None else f"{value:.3g}"


def status(result: Dict[str, Any], law: str) -> str:
    found = next((one for one in result["laws"] if one["law"] == law), None)
    if found is None:
        return "-"
    if found["finding"]:
        return f"no ({found['finding']['kind']})"
    return "yes" if found["cases"]["pass"] else "not decided" if sum(n for k, n in found["cases"].items() if k != "unsupported") else "-"


def line(out: pathlib.Path, name: str) -> str:
    path = out / "subjects" / f"{name}.json"
    if not path.is_file():
        return "no record"
    r = json.loads(path.read_text(encoding="utf-8"))
    for key in ("skipped", "died"):
        if key in r:
            return f"{key}: {r[key]}"
    result = r["result"]
    if backward_tables.is_backward(r):
        return backward_tables.summary(result)
    return f"error/bound {cell(worst(result, 'o', 'max_ratio'))}, {len(result['findings'])} findings" + backward_tables.endings(result)


def term_of(family: Dict[str, Any]) -> str:
    """Which of the four terms is largest where error/bound is."""
    at = family["o"].get("worst")
    return max(("weights", "numerator", "denominator", "output"), key=lambda n: number(at[n])) if at else ""


def main_row(r: Dict[str, Any]) -> str:
    name = f"`{r['name']}`" + (" ¹" if r.get("copies") else "")
    if "result" not in r:
        why = "skipped: " + r["skipped"] if "skipped" in r else "died: " + r.get("died", "")
        return f"| {name} | {r['arithmetic']} | {why.replace('|', '/').replace(chr(10), ' ')[:200]} |" + " |" * (5 + len(CONTRACT))
    result = r["result"]
    families = ran(result)
    failing = [f["family"] for f in families if f["cases"]["fail"]]
    inside = [f for f in families if f["o"]["elements"] and math.isfinite(number(f["o"]["max_ratio"]))]
    top = max(inside, key=lambda f: number(f["o"]["max_ratio"]), default=None)
    shown = ", ".join(failing[:3]) + (f" and {len(failing) - 3} more" if len(failing) > 3 else "")
    cells = [name, r["arithmetic"], f"{len(families)}" + (" (partial)" if result["partial"] else ""), shown or backward_tables.nothing(result), cell(worst(result, "o", "max_ratio")),
             f"{term_of(top)} ({top['family']})" if top else "-", cell(worst(result, "o", "max_ulp")), cell(worst(result, "lse", "max_ratio")),
             *(status(result, law) for law in CONTRACT)]
    return "| " + " | ".join(cells) + " |"


def matrix(found: List[Dict[str, Any]]) -> List[str]:
    """Family × kernel for the kernels of one library: error/bound and the first letter of its largest term, or what failed."""
    columns = [r for r in found if "result" in r and r["result"]["families"]]
    if not columns:
        return []
    cells: Dict[str, Dict[str, str]] = {}
    for r in columns:
        for f in ran(r["result"]):
            ratio = number(f[next((p for p in ("o", "lse") if f[p]["elements"]), "o")]["max_ratio"])
            text = f"{ratio:.2g} {term_of(f)[:1]}".strip() if math.isfinite(ratio) and not f["cases"]["fail"] else kind_of(f)
            cells.setdefault(f["family"], {})[r["name"]] = text
    lines = ["", "| family | " + " | ".join(f"`{r['name']}`" for r in columns) + " |", "|---|" + "---|" * len(columns)]
    return lines + [f"| {family} | " + " | ".join(row.get(r["name"], "") for r in columns) + " |" for family, row in sorted(cells.items())]


def kind_of(family: Dict[str, Any]) -> str:
    """What the first failing case was: "fail(class_mismatch)" of its verdict, without the words around it."""
    said = family.get("finding") or ""
    return "**" + (said.split("fail(", 1)[1].split(")", 1)[0] if "fail(" in said else "fail") + "**"


def ours_rows(path: Optional[str]) -> List[Tuple[Tuple[str, str], str, float, str]]:
    """Of kernels/gpu_benchmark's JSON: ((shape, dtype), kernel, rate, unit)."""
    rows = []
    for entry in json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["benchmarks"] if path and pathlib.Path(path).is_file() else []:
        parts = entry.get("run_name", "").split("/")
        if entry.get("aggregate_name") != "median" or len(parts) < 5 or parts[3] not in ("softmax", "attention"):
            continue
        shape = parts[4] + (" causal" if "causal" in parts else "")
        unit = "TFLOP/s" if "TFLOP/s" in entry else "TB/s"
        rows.append(((f"{parts[3]} {shape}", parts[2]), f"ours: {parts[0]}, {parts[1]}", entry[unit], unit))
    return rows


def speed(found: List[Dict[str, Any]], ours: Optional[str]) -> List[str]:
    formats = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}
    rows = ours_rows(ours)
    for r in found:
        for row in r.get("speed", []):
            shape = f"{r['problem']} {'x'.join(map(str, row['shape']))}" + (" causal" if row["causal"] else "")
            rate, unit = (row["tflops"], "TFLOP/s") if "tflops" in row else (row["gb_per_s"] / 1e3, "TB/s")
            rows.append(((shape, formats[r["dtype"]]), f"`{r['name']}`", rate, unit))
    if not rows:
        return []
    lines = ["", "## Speed", "", "Medians of 20 launches after 5, timed by events; ours by `kernels/gpu_benchmark` on the same machine, one after the other. Attention: 4·B·H·S²·d",
             "operations, half of them if causal; softmax: elements read and written. det: the deterministic exponential, native: the GPU's.", "",
             "| problem | dtype | kernel | rate |", "|---|---|---|--:|"]
    for (shape, dtype), group in itertools.groupby(sorted(rows, key=lambda r: (r[0], -r[2])), key=lambda r: r[0]):
        lines += [f"| {shape} | {dtype} | {name} | {rate:.3g} {unit} |" for _, name, rate, unit in group]
    return lines


HEAD = """Every kernel through `flashproof.check()` with the arithmetic that it is declared with. All are asked to be deterministic, batch invariant, to isolate what
hidden keys hold and to give the same bits from every layout, which no library promises: a "no" there is a fact, not a defect. `families`: those that the kernel
takes; `outside`: those where a result was NaN or inf and the exact one is not (or the other way round), beyond the bound, or where the call raised. error/bound, its
largest term and ulp are over the other families. ulp are of the exact result, so they are large where it is nearly 0; error/bound is what decides.
¹ given contiguous copies of its inputs, as its documentation asks for."""


def markdown(out: pathlib.Path, ours: Optional[str]) -> str:
    found = records(out)
    versions: Dict[str, str] = {}
    for r in found:
        versions.update(r.get("versions", {}))
    date = max((r.get("date", "") for r in found), default="")
    lines = [f"# Public kernels, {date}", "", ", ".join(f"{k} {v}" for k, v in sorted(versions.items())), "", HEAD, "",
             "| kernel | declared | families | outside | error/bound | mostly | max ulp | lse error/bound | " + " | ".join(CONTRACT.values()) + " |", "|" + "---|" * (8 + len(CONTRACT))]
    forward = [r for r in found if not backward_tables.is_backward(r)]
    lines += [main_row(r) for r in forward]
    lines += backward_tables.lines(found)
    lines += speed(forward, ours)
    lines += ["", "## Families", "", "error/bound and the first letter of its largest term (weights, numerator, denominator, output; of lse where only that is returned), or what failed."]
    for _, group in itertools.groupby(forward, key=lambda r: (r["name"].split(".")[0], r["problem"], ".".join(r["name"].split(".")[:2]))):
        lines += matrix(list(group))
    lines += ["", "## Findings"]
    for r in found:
        if "result" in r and r["result"]["findings"]:
            lines += ["", f"### {r['name']}", ""]
            for f in r["result"]["findings"]:
                lines.append(f"- `{f['law']}`: {f['kind']}: {f['message'][:400]}  \n  case `{f['case']}`" + (f", shrunk to {f['shrunk']}" if f["shrunk"] else ""))
    return "\n".join(lines) + "\n"
