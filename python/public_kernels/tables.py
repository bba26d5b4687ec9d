"""The subjects' records as one Markdown table, and as one JSON."""

import json
import pathlib
from typing import Any, Dict, List, Optional

import backward_tables

#: Columns of the contract: what the law says and what a dash in the table is.
CONTRACT = {"rerun_is_bitwise": "deterministic", "batch_invariance_is_bitwise": "batch invariant", "hidden_nan_is_isolated": "hidden NaN isolated",
            "visible_nan_is_not_laundered": "NaN kept", "layout_invariance": "layout"}


def records(out: pathlib.Path) -> List[Dict[str, Any]]:
    return [json.loads(p.read_text(encoding="utf-8")) for p in sorted((out / "subjects").glob("*.json"))]


def collected(out: pathlib.Path) -> Dict[str, Any]:
    return {"subjects": [{k: v for k, v in r.items() if k != "text"} for r in records(out)]}


def wants_time(out: pathlib.Path, name: str) -> bool:
    path = out / "subjects" / f"{name}.json"
    if not path.is_file() or backward_tables.is_backward(json.loads(path.read_text(encoding="utf-8"))):
        return False  # the timings are of forward passes
    return not {"skipped", "died", "speed", "speed_failed"} & set(json.loads(path.read_text(encoding="utf-8")))


def number(value: Any) -> float:
    return float(value)


def worst(result: Dict[str, Any], part: str, what: str) -> Optional[float]:
    values = [number(f[part][what]) for f in result["families"] if f[part]["elements"]]
    return max(values) if values else None


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
    return f"error/bound {cell(worst(result, 'o', 'max_ratio'))}, {len(result['findings'])} findings" + (", PARTIAL" if result["partial"] else "")


def main_row(r: Dict[str, Any]) -> str:
    if "result" not in r:
        return f"| `{r['name']}` | {r['arithmetic']} | " + ("skipped: " + r["skipped"] if "skipped" in r else "died: " + r.get("died", "")).replace("|", "/").replace("\n", " ") + " |" + " |" * 9
    result = r["result"]
    families = [f for f in result["families"] if sum(f["cases"].values()) > f["cases"]["unsupported"]]
    top = max((f for f in families if f["o"].get("worst")), key=lambda f: number(f["o"]["max_ratio"]), default=None)
    term = "-"
    if top:
        terms = {n: number(top["o"]["worst"][n]) for n in ("weights", "numerator", "denominator", "output")}
        term = max(terms, key=lambda n: terms[n]) + f" ({top['family']})"
    failing = sum(1 for f in families if f["cases"]["fail"])
    cells = [f"`{r['name']}`", r["arithmetic"], f"{len(families)} ({failing} fail)" + (" partial" if result["partial"] else ""), cell(worst(result, "o", "max_ratio")), term,
             cell(worst(result, "o", "max_ulp")), cell(worst(result, "lse", "max_ratio")), *(status(result, law) for law in CONTRACT)]
    return "| " + " | ".join(cells) + " |"


def markdown(out: pathlib.Path, ours: Optional[str]) -> str:
    found = records(out)
    versions: Dict[str, str] = {}
    for r in found:
        versions.update(r.get("versions", {}))
    date = max((r.get("date", "") for r in found), default="")
    lines = [f"# Public kernels, {date}", "", ", ".join(f"{k} {v}" for k, v in sorted(versions.items())), "",
             "Every kernel through `flashproof.check()` with the arithmetic that it is declared with; all are asked to be deterministic, batch invariant",
             "and to isolate what hidden keys hold, which no library promises: a \"no\" there is a fact, not a defect.", "",
             "| kernel | declared | families | error/bound | mostly | max ulp | lse error/bound | " + " | ".join(CONTRACT.values()) + " |", "|" + "---|" * (7 + len(CONTRACT))]
    lines += [main_row(r) for r in found if not backward_tables.is_backward(r)]
    lines += backward_tables.lines(found)
    for r in found:
        if "result" in r and r["result"]["findings"]:
            lines += ["", f"## {r['name']}", ""]
            for f in r["result"]["findings"]:
                lines.append(f"- `{f['law']}`: {f['kind']}: {f['message'][:400]}  \n  case `{f['case']}`" + (f", shrunk to {f['shrunk']}" if f["shrunk"] else ""))
    speed = [(r["name"], row) for r in found for row in r.get("speed", [])]
    if speed:
        lines += ["", "## Speed", "", "Medians of 20; a multiplication and an addition count two.", "", "| kernel | shape | causal | ms | TFLOP/s or GB/s |", "|---|---|---|---|---|"]
        for name, row in speed:
            rate = f"{row['tflops']:.1f} TFLOP/s" if "tflops" in row else f"{row['gb_per_s']:.0f} GB/s"
            lines.append(f"| `{name}` | {'x'.join(map(str, row['shape']))} | {'yes' if row['causal'] else 'no'} | {row['median_ms']:.4f} | {rate} |")
    if ours and pathlib.Path(ours).is_file():
        lines += ["", "## Ours, same machine", "", "```", pathlib.Path(ours).read_text(encoding="utf-8").strip(), "```"]
    return "\n".join(lines) + "\n"
