"""A result as the block that the commands end with (reports/views/terminal/verdict_block.h): at most 60 lines of 100 columns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, List, Tuple

from . import _flashproof
from ._text import utf8

if TYPE_CHECKING:
    from ._result import Finding, Result

#: The laws whose cases replay best: they read one output and no other.
_JUDGING = ("class_matches_semantics", "within_bound", "outputs_fully_written", "judged")

#: Kinds of findings that a diagnosis explains.
_OF_NUMBERS = ("class_mismatch", "exceeds_bound", "laundering", "silently_wrong", "unwritten")


def causes(result: "Result") -> List[List["Finding"]]:
    """The findings by what is wrong: of one kind, where it is a fault of the call each its own. The smallest case first."""
    groups: List[List[Finding]] = []
    for finding in result.findings:
        own = len(finding.laws) > 1 or bool(finding.together)
        group = next((g for g in groups if not own and g[0].kind == finding.kind and len(g[0].laws) <= 1 and not g[0].together), None)
        if group is None:
            groups.append([finding])
        else:
            group.append(finding)
    for group in groups:
        group.sort(key=lambda f: (f.law not in _JUDGING, not f.replay, not f.witness))
    return sorted(groups, key=lambda g: g[0].law not in _JUDGING)


def _is_judged(finding: "Finding") -> bool:
    """A diagnosis says more of it: numbers, not a call that failed or a promise that was broken."""
    return finding.law in _JUDGING and finding.kind in _OF_NUMBERS


def counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _cause(result: "Result", group: List["Finding"]) -> List[str]:
    first = group[0]
    words = _flashproof.call("in_words", failure=first.kind) if first.kind != "error" else "the call failed"
    laws = list(first.laws) if len(first.laws) > 1 else list(dict.fromkeys(f.law for f in group if f.law != "judged"))
    extent = [f"found by {counted(len(laws), 'law', 'laws')}: {', '.join(laws[:4])}{f', {len(laws) - 4} more' if len(laws) > 4 else ''}"] if laws else []
    failing = [f.family for f in result.families if f.cases["fail"]]
    if failing and first.law in _JUDGING:
        extent.append(f"measured cases fail in {counted(len(failing), 'family', 'families')} ({', '.join(failing[:4])}{', ...' if len(failing) > 4 else ''})")
    if first.witness or first.shrunk:
        extent.append("witness " + " ".join(t for t in (first.witness, f"({first.shrunk})" if first.shrunk else "") if t))
    name = first.law if first.kind == words else f"{first.law}: {first.kind}: {words}"
    return [f"{name}{': ' + first.kind if first.kind == words else ''}: {first.message}", "; ".join(extent), first.replay or _replays(first)]


def _replays(finding: "Finding") -> str:
    return f"flashproof.replay(kernel, {finding.case!r})" if finding.case != "-" else ""


def _sentence(result: "Result", number: int) -> str:
    outcome = result.outcome
    if outcome == "fail":
        return f"{result.kernel}: {counted(number, 'cause', 'causes')} of failure"
    if outcome == "partial":
        return f"{result.kernel}: nothing failed until the run was ended, which is no pass"
    if outcome == "undecided":
        return f"{result.kernel}: no findings, but too little was decided to call it a pass"
    return f"{result.kernel} is right within its bound: no findings"


def _tested(result: "Result") -> List[Tuple[str, str]]:
    ran = sum(n for f in result.families for kind, n in f.cases.items() if kind != "unsupported")
    status = [law.status for law in result.laws]
    measured = f"{counted(ran, 'measured case', 'measured cases')} of {len([f for f in result.families if f.ran])} input families, " if result.families else ""
    unasked = f", {status.count('unasked')} unasked" if "unasked" in status else ""
    laws = f"laws: {status.count('ok')} ok, {status.count('FAIL')} fail, {status.count('idle')} idle, {status.count('skip')} skipped{unasked}; " if status else ""
    lines = [("tested", f"{result.problem} {result.dtype} on {result.arrays} {result.device}, declared {result.arithmetic}: {measured}{laws}{result.seconds:.1f} s")]
    if result.semantics:
        lines.append(("declared", "; ".join(result.semantics)))
    if result.decided:
        lines.append(("decided", result.decided_line().partition(": ")[2]))
    parts = [name for name in ("o", "lse", "dq", "dk", "dv") if any(name in f.outputs and f.outputs[name].elements for f in result.families)]
    worst = [f"{name} {max((f.outputs[name].max_ratio for f in result.families if f.outputs[name].elements), key=lambda r: (r != r, r)):.3g}" for name in parts]
    return lines + ([("worst", f"error/bound {', '.join(worst)}")] if worst else [])


def narrower(result: "Result") -> str:
    """What a declaration that leaves the arithmetic open may say in its place, as narrower_text() of properties/laws; empty: nothing."""
    if not result.suggestion:
        return ""
    whole = "preset" in json.loads("{" + result.suggestion + "}")
    declaration = f"be {{{result.suggestion}}}" if whole else f"add {result.suggestion} to " + '{"preset": "unknown"}'
    # Of a gradient the forward pass was the open one's.
    computes = "so, its forward pass, too: every dq, dk and dv fits the backward pass" if whole else "so: every result fits it"
    return f"the declaration may {declaration}, if the kernel computes {computes}, and smaller errors would be found"


def block(result: "Result", colour: bool = False) -> str:
    """The lines, without the last line break."""
    entries = [[c.sentence, c.extent, c.replay] for c in result.causes]
    entries += [_cause(result, group) for group in causes(result) if not (result.causes and _is_judged(group[0]))]
    notes = [("undecided", why) for why in result.undecided]
    if result.partial:
        notes.append(("left out", result.left_out()))
    refused = [f.family for f in result.families if not f.ran]
    if refused:
        notes.append(("not taken", f"{counted(len(refused), 'input family', 'input families')}: {', '.join(refused)}"))
    if narrower(result):
        notes.append(("narrower", narrower(result)))
    text = _flashproof.call(
        "block_text",
        outcome=result.outcome, sentence=utf8(_sentence(result, len(entries))), tested=_plain(_tested(result)),
        causes=[[utf8(part) for part in entry] for entry in entries], notes=_plain(notes),
        rest=[("more", "result.details() or --verbose: a row per input family, every law's finding")], colour=colour)
    return text.rstrip("\n")


def _plain(pairs: List[Tuple[str, str]]) -> List[Tuple[str, str]]:
    return [(heading, utf8(text)) for heading, text in pairs]
