"""The gradients' table: error/bound and ulp of dq, dk and dv."""

from typing import Any, Dict, List

PARTS = ("dq", "dk", "dv")


def is_backward(record: Dict[str, Any]) -> bool:
    return record.get("problem") == "attention_backward"


def _worst(result: Dict[str, Any], part: str, what: str) -> str:
    values = [float(f[part][what]) for f in result["families"] if f[part]["elements"]]
    return f"{max(values, key=lambda v: (v != v, v)):.3g}" if values else "-"


def summary(result: Dict[str, Any]) -> str:
    ratios = ", ".join(f"{part} {_worst(result, part, 'max_ratio')}" for part in PARTS)
    return f"error/bound {ratios}; {len(result['findings'])} findings" + (", PARTIAL" if result["partial"] else "")


def _mostly(families: List[Dict[str, Any]]) -> str:
    """The largest term of the bound where error/bound is largest, and where that is."""
    found = [(float(f[part]["max_ratio"]), part, f) for f in families for part in PARTS if f[part].get("worst")]
    if not found:
        return "-"
    _, part, family = max(found, key=lambda one: (one[0] != one[0], one[0]))
    terms = {n: float(family[part]["worst"][n]) for n in ("weights", "numerator", "denominator", "output")}
    return f"{max(terms, key=lambda n: terms[n])} ({part}, {family['family']})"


def _rerun(result: Dict[str, Any]) -> str:
    law = next((one for one in result["laws"] if one["law"] == "gradient_rerun_is_bitwise"), None)
    return "-" if law is None else "no" if law["finding"] else "yes" if law["cases"]["pass"] else "-"


def _row(r: Dict[str, Any]) -> str:
    if "result" not in r:
        why = ("skipped: " + r["skipped"] if "skipped" in r else "died: " + r.get("died", "")).replace("|", "/").replace("\n", " ")
        return f"| `{r['name']}` | {r['arithmetic']} | {why} |" + " |" * 8
    result = r["result"]
    families = [f for f in result["families"] if sum(f["cases"].values()) > f["cases"]["unsupported"]]
    failing = sum(1 for f in families if f["cases"]["fail"])
    cells = [f"`{r['name']}`", r["arithmetic"], f"{len(families)} ({failing} fail)" + (" partial" if result["partial"] else ""),
             *(_worst(result, part, "max_ratio") for part in PARTS), _mostly(families), *(_worst(result, part, "max_ulp") for part in PARTS), _rerun(result)]
    return "| " + " | ".join(cells) + " |"


def lines(records: List[Dict[str, Any]]) -> List[str]:
    """Markdown; empty without a gradient among the records."""
    found = [r for r in records if is_backward(r)]
    if not found:
        return []
    columns = ("gradient", "declared", "families", *(f"{p} error/bound" for p in PARTS), "mostly", *(f"{p} max ulp" for p in PARTS), "deterministic")
    return ["", "## Gradients", "", "dq, dk and dv of each library's automatic differentiation; the declared arithmetic is that of both passes.", "",
            "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns), *(_row(r) for r in found)]
