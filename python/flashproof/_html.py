"""A result in a notebook: the block's first line, the matrix family x output and a plot. One piece of HTML, without scripts."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, Dict, List, Tuple

if TYPE_CHECKING:
    from ._result import FamilyResult, Result, Statistics

#: Of a verdict: as a background below text that stays dark in every theme.
_COLOURS: Dict[str, str] = {"pass": "#c8e6c9", "fail": "#ffcdd2", "undecided": "#ffe0b2", "partial": "#ffe0b2", "inconclusive": "#ffe0b2",
                            "-": "#eceff1"}
_ORDER = ("fail", "inconclusive", "pass", "undecided", "out_of_domain", "vacuous", "unsupported")
_LEAST, _WIDTH, _ROW = 1e-6, 260, 14  # of the plot: error/bound at the left edge, pixels


def _text(value: object) -> str:
    return html.escape(str(value), quote=True)


def _verdict(family: "FamilyResult") -> str:
    return next((kind for kind in _ORDER if family.cases[kind]), "-")


def _cell(text: str, verdict: str, title: str = "") -> str:
    colour = _COLOURS.get(verdict, _COLOURS["-"])
    return f'<td style="background:{colour};color:#212121;text-align:left" title="{_text(title)}">{_text(text)}</td>'


def _beyond(statistics: "Statistics") -> bool:
    return statistics.elements > 0 and not statistics.max_ratio <= 1


def _of_output(statistics: "Statistics", family: "FamilyResult") -> str:
    """A family that fails without an output beyond its bound, as by a NaN, says nothing of which one it is: all have its colour."""
    verdict = _verdict(family)
    if _beyond(statistics):
        verdict = "fail"
    elif verdict == "fail" and any(_beyond(other) for other in family.outputs.values()):
        verdict = "pass"
    if not statistics.elements:
        return _cell("-", verdict if verdict == "fail" else "-", family.refused)
    return _cell(f"{statistics.max_ratio:.3g}", verdict, f"error/bound; {statistics.max_ulp:.3g} ulp, {statistics.elements} elements")


def _worst(family: "FamilyResult") -> float:
    """The largest error/bound of all outputs, NaN above all."""
    return max((s.max_ratio for s in family.outputs.values() if s.elements), key=lambda ratio: (ratio != ratio, ratio))


def _place(ratio: float) -> float:
    """Along the logarithmic axis from _LEAST to 100."""
    if math.isnan(ratio):
        return float(_WIDTH)
    return _WIDTH * min(1.0, max(0.0, math.log10(max(ratio, _LEAST) / _LEAST) / math.log10(100 / _LEAST)))


def _plot(rows: List[Tuple[str, float]]) -> str:
    """error/bound by family, a bar each; the line is the bound."""
    if not rows:
        return ""
    height, label, bound = _ROW * len(rows) + 16, 170, _place(1.0)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{label + _WIDTH + 60}" height="{height}" role="img" '
             'style="background:#ffffff;font:11px sans-serif"><title>error/bound by input family, logarithmic; the line is the bound</title>']
    for i, (family, ratio) in enumerate(rows):
        y, colour = _ROW * i, "#c62828" if not ratio <= 1 else "#2e7d32"
        parts.append(f'<text x="{label - 4}" y="{y + 11}" text-anchor="end" fill="#212121">{_text(family)}</text>'
                     f'<rect x="{label}" y="{y + 3}" width="{max(1.0, _place(ratio)):.1f}" height="{_ROW - 5}" fill="{colour}"/>'
                     f'<text x="{label + _place(ratio) + 4:.1f}" y="{y + 11}" fill="#212121">{ratio:.2g}</text>')
    parts.append(f'<line x1="{label + bound:.1f}" x2="{label + bound:.1f}" y1="0" y2="{height - 14}" stroke="#212121"/>'
                 f'<text x="{label + bound:.1f}" y="{height - 3}" text-anchor="middle" fill="#212121">bound</text></svg>')
    return "".join(parts)


def page_part(result: "Result") -> str:
    """Self-contained HTML: everything from outside is escaped, nothing is loaded."""
    outputs = list(result.families[0].outputs) if result.families else []
    head = f'<div><p><b style="background:{_COLOURS[result.outcome]};color:#212121;padding:2px 6px">{result.outcome.upper()}</b> {_text(result.kernel)}</p>'
    rows = "".join(f"<tr><th style='text-align:left'>{_text(f.family)}</th>{_cell(_verdict(f), _verdict(f), f.finding or f.refused)}"
                   + "".join(_of_output(f.outputs[name], f) for name in outputs) + "</tr>" for f in result.families)
    columns = "".join(f"<th>{_text(name)}</th>" for name in ("input family", "verdict", *outputs))
    table = f"<table><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
    measured = [(f.family, _worst(f)) for f in result.families if any(s.elements for s in f.outputs.values())]
    return f"{head}<pre>{_text(str(result))}</pre><details open><summary>by input family</summary>{table}{_plot(measured)}</details></div>"
