"""The gradients' table: error/bound and ulp of dq, dk and dv."""

import math
from typing import Any, Dict, List

PARTS = ("dq", "dk", "dv")


def is_backward(record: Dict[str, Any]) -> bool:
    return record.get("problem") == "attention_backward"


def _inside(f: Dict[str, Any], part: str) -> bool:
    """Every element of it had the class of the exact result."""
    return f[part]["elements"] > 0 and math.isfinite(float(f[part]["max_ratio"]))


def _worst(result: Dict[str, Any], part: str, what: str) -> str:
    values = [float(f[part][what]) for f in result["families"] if _inside(f, part)]
    return f"{max(values, key=lambda v: (v != v, v)):.3g}" if values else "-"


def nothing(result: Dict[str, Any]) -> str:
    """Of a kernel without a failing family: that it is none is a pass only if enough was decided."""
    return "undecided" if result.get("undecided") else "none"


def endings(result: Dict[str, Any]) -> str:
    return (", UNDECIDED" if result.get("undecided") else "") + (", PARTIAL" if result["partial"] else "")


def summary(result: Dict[str, Any]) -> str:
    ratios = ", ".join(f"{part} {_worst(result, part, 'max_ratio')}" for part in PARTS)
    return f"error/bound {ratios}; {len(result['findings'])} findings" + endings(result)


def _mostly(families: List[Dict[str, Any]]) -> str:
    """The largest term of the bound where error/bound is largest, and where that is."""
    found = [(float(f[part]["max_ratio"]), part, f) for f in families for part in PARTS if f[part].get("worst") and _inside(f, part)]
    if not found:
        return "-"
    _, part, family = max(found, key=lambda one: (one[0] != one[0], one[0]))
    terms = {n: float(family[part]["worst"][n]) for n in ("weights", "numerator", "denominator", "output")}
    return f"{max(terms, key=lambda n: terms[n])} ({part}, {family['family']})"


def _rerun(result: Dict[str, Any]) -> str:
    law = next((one for one in result["laws"] if one["law"].removeprefix("gradient_") == "rerun_is_bitwise"), None)
    return "-" if law is None else "no" if law["finding"] else "yes" if law["cases"]["pass"] else "-"


def _row(r: Dict[str, Any]) -> str:
    if "result" not in r:
        why = ("skipped: " + r["skipped"] if "skipped" in r else "died: " + r.get("died", "")).replace("|", "/").replace("\n", " ")
        return f"| `{r['name']}` | {r['arithmetic']} | {why[:200]} |" + " |" * 9
    result = r["result"]
    families = [f for f in result["families"] if sum(f["cases"].values()) > f["cases"]["unsupported"]]
    failing = [f["family"] for f in families if f["cases"]["fail"]]
    outside = ", ".join(failing[:3]) + (f" and {len(failing) - 3} more" if len(failing) > 3 else "")
    cells = [f"`{r['name']}`", r["arithmetic"], f"{len(families)}" + (" (partial)" if result["partial"] else ""), outside or nothing(result),
             *(_worst(result, part, "max_ratio") for part in PARTS), _mostly(families), *(_worst(result, part, "max_ulp") for part in PARTS), _rerun(result)]
    return "| " + " | ".join(cells) + " |"


def lines(records: List[Dict[str, Any]]) -> List[str]:
    """Markdown; empty without a gradient among the records."""
    found = [r for r in records if is_backward(r)]
    if not found:
        return []
    columns = ("gradient", "declared", "families", "outside", *(f"{p} error/bound" for p in PARTS), "mostly", *(f"{p} max ulp" for p in PARTS), "deterministic")
    return ["", "## Gradients", "", "dq, dk and dv of each library's automatic differentiation; the declared arithmetic is that of both passes.", "",
            "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns), *(_row(r) for r in found)]
