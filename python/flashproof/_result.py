"""What a check found, as data and as a table."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

from ._block import block, narrower
from ._html import page_part
from ._text import shown

_Path = Union[str, "os.PathLike[str]"]
#: The findings that stand before a colon in the text of fail(error).
_NAMED = ("wrong_type", "wrong_dtype", "wrong_shape", "wrong_device", "aliases_input", "input_written", "raised", "gpu_error")


def _number(value: Any) -> float:
    return float(value)  # "inf" and "nan" too


@dataclasses.dataclass(frozen=True)
class Worst:
    """The element with the largest error/bound of a family's cases."""

    seed: int  #: of the case
    index: int  #: in the flattened output
    computed: float
    exact: float
    error: float
    ratio: float  #: error / bound, the rounding into the output's format included
    weights: float  #: the four terms of the bound
    numerator: float
    denominator: float
    output: float

    @property
    def term(self) -> str:
        """The largest of the four."""
        terms = {n: getattr(self, n) for n in ("weights", "numerator", "denominator", "output")}
        return max(terms, key=lambda n: terms[n]) if sum(terms.values()) > 0 else "-"


@dataclasses.dataclass(frozen=True)
class Cause:
    """What the kernel computes instead, or what is wrong with its output and where; computed, not guessed."""

    sentence: str
    extent: str  #: how many of the failing cases it explains
    replay: str  #: the command that shows the smallest of them


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Of one output over the cases of a family."""

    elements: int
    max_ratio: float
    max_ulp: float
    max_abs: float
    rmse: float
    normwise: float
    investigate: int  #: elements above the probable bound: no failure, worth a look
    worst: Optional[Worst]

    @staticmethod
    def of(json_object: Dict[str, Any]) -> "Statistics":
        worst = json_object.get("worst")
        return Statistics(
            json_object["elements"], *(_number(json_object[n]) for n in ("max_ratio", "max_ulp", "max_abs", "rmse", "normwise")),
            json_object["investigate"],
            Worst(worst["seed"], worst["index"], *(_number(worst[n]) for n in ("computed", "exact", "error", "ratio", "weights",
                                                                               "numerator", "denominator", "output"))) if worst else None)


@dataclasses.dataclass(frozen=True)
class Finding:
    """One law that the kernel breaks, at the simplest case that was found."""

    law: str
    kind: str  #: exceeds_bound, class_mismatch, laundering, leak, silently_wrong, nondeterministic, unwritten, or wrong_shape, raised, ...
    message: str
    case: str  #: as it was drawn
    shrunk: str = ""  #: what the witness holds
    witness: str = ""  #: path of the .safetensors file; empty: none was written
    replay: str = ""  #: a command
    laws: Tuple[str, ...] = ()  #: of a fault of the call (raised, wrong_shape, ...): all that met it, `law` before the others
    together: Tuple[str, ...] = ()  #: of cases that contradict each other, none of which fails alone: all of them, for replay()

    def __str__(self) -> str:
        lines = [f"{self.law}: {self.kind}: {self.message}", f"  case {self.case}" + (f", shrunk to {self.shrunk}" if self.shrunk else "")]
        lines += [f"  met by {len(self.laws)} laws: {', '.join(self.laws)}"] if len(self.laws) > 1 else []
        lines += [f"  witness: {self.witness}"] if self.witness else []
        return shown("\n".join(lines + ([f"  replay: {self.replay}"] if self.replay else [])))


@dataclasses.dataclass(frozen=True)
class LawResult:
    law: str
    cases: Dict[str, int]  #: by verdict: pass, undecided, vacuous, out_of_domain, unsupported, inconclusive, fail
    finding: Optional[Finding]
    message: str  #: why it was skipped
    unasked: bool = False  #: the run ended before a case of it was asked
    same_as: str = ""  #: the law whose finding tells of this one's fault of the call, itself where it is the first
    taken: bool = False  #: the kernel takes a case of it

    @property
    def status(self) -> str:
        """FAIL, ok, unasked (the run ended before), skip (the law says nothing about this kernel) or idle (no case that it could decide)."""
        if self.finding:
            return "FAIL"
        if self.unasked:
            return "unasked"
        if sum(n for kind, n in self.cases.items() if kind != "unsupported") == 0:
            return "skip"
        return "ok" if self.cases["pass"] else "idle"


@dataclasses.dataclass(frozen=True)
class FamilyResult:
    family: str
    cases: Dict[str, int]
    refused: str  #: why the last refused case was
    finding: str  #: the first failing case and its verdict
    outputs: Dict[str, Statistics]  #: "o" and "lse", or "dq", "dk" and "dv"; each by its name, too: family.o, family.dq

    def __getattr__(self, name: str) -> Statistics:
        if name in self.__dict__.get("outputs", ()):
            return self.outputs[name]
        raise AttributeError(name)

    @property
    def ran(self) -> bool:
        return sum(n for kind, n in self.cases.items() if kind != "unsupported") > 0

    @property
    def worst(self) -> Tuple[str, Statistics]:
        """The output with the largest error/bound, NaN above all, of those that are no lse."""
        parts = [(name, s) for name, s in self.outputs.items() if name != "lse"]
        return max(parts, key=lambda part: (part[1].elements > 0, part[1].max_ratio != part[1].max_ratio, part[1].max_ratio))


@dataclasses.dataclass(frozen=True)
class Result:
    """What flashproof.check() returns. str() of it is a block of at most 60 lines, details() all of it; notebooks show a matrix."""

    kernel: str
    problem: str
    dtype: str
    arrays: str
    device: str
    arithmetic: str
    returns: str
    contract: Dict[str, bool]
    features: List[str]
    laws: List[LawResult]
    families: List[FamilyResult]
    seconds: float
    partial: bool  #: the time was over, or the device was lost, before everything had run
    lost: bool  #: the kernel left the device in error
    undecided: List[str] = dataclasses.field(default_factory=list)  #: why the run is no pass though nothing failed
    decided: Dict[str, float] = dataclasses.field(default_factory=dict)  #: of each output the share, families counted alike; of a replay empty
    open_families: List[str] = dataclasses.field(default_factory=list)  #: of which too little was decided, and the commonest reason
    suggestion: str = ""  #: of an open declaration: what explains the whole run, as members of one
    declaration: Optional[Finding] = None  #: of measured cases alone: what it takes out of the test, or why no single one explains the run
    interrupted: bool = False  #: by Ctrl-C: partial, and no pass
    unasked: List[str] = dataclasses.field(default_factory=list)  #: input families of which no case was asked for want of time
    cut: List[str] = dataclasses.field(default_factory=list)  #: input families of which fewer cases were asked, or not every law
    causes: List[Cause] = dataclasses.field(default_factory=list)  #: the diagnosis; empty: nothing failed, or nothing is certain
    junit_text: str = dataclasses.field(repr=False, default="")
    semantics: List[str] = dataclasses.field(default_factory=list)  #: in words, where it declares other ones than the reference's

    @property
    def findings(self) -> List[Finding]:
        found = findings_of(self.laws)
        told = {law.law for law in self.laws if law.finding}
        if "within_bound" not in told and not told & {"class_matches_semantics", "outputs_fully_written"}:
            faults = {_fault(f.kind, f.message) for f in found}
            for kind, f in ((_kind(f.finding), f) for f in self.families if f.finding):
                fault = _fault(kind, f.finding.partition(f"{kind}: ")[2])
                if kind not in _NAMED or fault not in faults:
                    found.append(Finding("judged", kind, f.finding, f.finding.split("  ", 1)[0]))
                faults.add(fault)
        if self.declaration:
            found.append(self.declaration)
        stopped = self.interrupted or bool(self.unasked) or any(law.unasked for law in self.laws)  # what was not asked was not refused
        ran = any(f.ran for f in self.families) or any(law.taken or law.status in ("ok", "FAIL") for law in self.laws)
        if not stopped and not ran:
            refused = next((f.refused for f in self.families if f.refused), "") or next((law.message for law in self.laws if law.message), "")
            found.append(Finding("judged", "nothing_tested", f"the kernel takes none of these cases: {refused}", "-"))
        return found

    @property
    def ok(self) -> bool:
        """Nothing was found, and enough of every output was decided to call it a pass."""
        return not self.findings and not self.lost and not self.undecided

    @property
    def witnesses(self) -> List[str]:
        return [f.witness for f in self.findings if f.witness]

    @property
    def max_ratio(self) -> float:
        """The largest error/bound of any element."""
        ratios = [s.max_ratio for f in self.families for s in f.outputs.values() if s.elements]
        return float("nan") if any(r != r for r in ratios) else max(ratios, default=0.0)

    @property
    def outcome(self) -> str:
        """pass, fail, partial (ended by Ctrl-C or a lost device, no finding) or undecided."""
        return "fail" if self.findings else "partial" if self.interrupted or self.lost else "undecided" if self.undecided else "pass"

    def raise_for_findings(self) -> "Result":
        """This result, if it is a pass. Throws AssertionError with str(self) if not."""
        if not self.ok:
            raise AssertionError(str(self))
        return self

    def junit(self, path: _Path) -> None:
        """JUnit XML: a test case per law, witness and replay line in every failure."""
        _write(path, self.junit_text)

    def to_dict(self) -> Dict[str, Any]:
        fields = dataclasses.asdict(self)
        del fields["junit_text"]
        for family in fields["families"]:
            family.update(family.pop("outputs"))
        fields["ok"] = self.ok
        fields["findings"] = [dataclasses.asdict(f) for f in self.findings]
        return fields

    def json(self, path: _Path) -> None:
        _write(path, json.dumps(_plain(self.to_dict()), indent=1, sort_keys=True) + "\n")

    def table(self) -> str:
        """A row per family, as Markdown that reads as plain text."""
        main = ["dq", "dk", "dv"] if self.problem == "attention_backward" else ["o"]
        of = [f"{part} " if len(main) > 1 else "" for part in main]
        more = [] if len(main) > 1 else ["rmse", "lse error/bound"]
        rows = [("family", "cases", "verdict", *(f"{n}error/bound" for n in of), "term", *(f"{n}ulp" if n else "max ulp" for n in of), *more, "worst case")]
        for f in self.families:
            ran = sum(f.cases.values()) - f.cases["unsupported"]
            verdict = next((k for k in ("fail", "inconclusive", "pass", "undecided", "out_of_domain", "vacuous", "unsupported") if f.cases[k]), "-")
            if verdict == "fail":
                verdict = f"fail {f.cases['fail']}/{ran}: {_kind(f.finding)}"
            parts, (name, top) = [f.outputs[part] for part in main], f.worst
            rest = [_short(f.o.rmse, f.o.elements), _short(f.lse.max_ratio, f.lse.elements)] if more else []
            place = f"{name}[" if len(main) > 1 else "["
            rows.append((f.family, str(ran), verdict, *(_short(s.max_ratio, s.elements) for s in parts), top.worst.term if top.worst else "-",
                         *(_short(s.max_ulp, s.elements) for s in parts), *rest,
                         f"seed {top.worst.seed}{' ' if len(main) > 1 else ''}{place}{top.worst.index}]" if top.worst else "-"))
        widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
        lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths)) + " |" for row in rows]
        return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])

    def decided_line(self) -> str:
        """What a pass rests on: of each output how much was decided, and the families that it says nothing about."""
        shares = ", ".join(f"{math.floor(100 * share)} % of {part}" for part, share in self.decided.items())
        return f"decided: {shares}" + (f"; too little of {', '.join(self.open_families)}" if self.open_families else "")

    def left_out(self) -> str:
        """What the clock, Ctrl-C or a lost device left out; empty where everything was asked."""
        texts = [f"{len(names)} input families {what} ({_few(names)})" for what, names in
                 (("were not asked at all", self.unasked), ("not with all their cases and laws", self.cut)) if names]
        why = "interrupted" if self.interrupted else "the device was lost" if self.lost else "the time was over"
        return f"{why}: " + ("; ".join(texts) or "the rest of the run") if self.partial else ""

    def __str__(self) -> str:
        return block(self)

    def _repr_html_(self) -> str:
        return page_part(self)

    def details(self) -> str:
        """Everything, without a limit: the table, each law's finding, what is undecided."""
        head = f"{self.kernel}: {self.problem} {self.dtype} on {self.arrays} {self.device}, declared {self.arithmetic}" + "".join(f"; {word}" for word in self.semantics)
        counts = {s: [law.law for law in self.laws if law.status == s] for s in ("ok", "FAIL", "idle", "skip", "unasked")}
        lines = [head, "", self.table(), "", f"laws: {len(counts['ok'])} ok, {len(counts['FAIL'])} fail, {len(counts['idle'])} idle, "
                 f"{len(counts['skip'])} skipped{_unasked(len(counts['unasked']))}; {self.seconds:.1f} s" + (", PARTIAL" if self.partial else "")]
        lines += [str(f) for f in self.findings] or (["no findings"] if not self.undecided else [])
        lines += [f"UNDECIDED: {why}" for why in self.undecided]
        lines += [self.decided_line()] if self.decided else []
        lines += [narrower(self)] if narrower(self) else []
        return shown("\n".join(lines))


def _kind(text: str) -> str:
    """Of fail(exceeds_bound) or fail(error)  wrong_dtype: ..."""
    failure = text.partition("fail(")[2].partition(")")[0] or "error"
    if failure == "error":
        said = text.partition("fail(error)")[2].strip() or text
        return next((n for n in _NAMED if said.startswith(n + ":")), failure)
    return failure


def _fault(kind: str, message: str) -> Tuple[str, str]:
    """What two calls met if it was the same: of an exception its type, too."""
    return kind, message.partition(":")[0] if kind in ("raised", "gpu_error") else ""


def declaration_of(json_object: Dict[str, Any]) -> Optional[Finding]:
    if not json_object:
        return None
    return Finding("judged", "declaration", json_object["message"], json_object["case"], replay=json_object["replay"], together=tuple(json_object["together"]))


def finding_of(law: Dict[str, Any]) -> Optional[Finding]:
    if not law["finding"]:
        return None
    message, kind = law["message"], law["failure"]
    if kind == "error":
        kind = next((n for n in _NAMED if message.startswith(n + ":")), kind)
        message = message[len(kind) + 2:] if kind in _NAMED else message
    return Finding(law["law"], kind, message, law["case"], law["shrunk"], law["witness"], law["replay"], together=tuple(law["together"]))


def findings_of(laws: Iterable["LawResult"]) -> List[Finding]:
    """One per broken law; a fault of the call, which every law meets, is told by the first one."""
    laws = list(laws)
    return [dataclasses.replace(law.finding, laws=tuple(other.law for other in laws if other.same_as == law.law) or (law.law,))
            for law in laws if law.finding and law.same_as in ("", law.law)]


def _unasked(laws: int) -> str:
    return f", {laws} unasked" if laws else ""


def _few(names: List[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f", {len(names) - most} more" if len(names) > most else "")


def _short(value: float, elements: int) -> str:
    return f"{value:.3g}" if elements else "-"


def _plain(value: Any) -> Any:
    """Numbers that JSON has not become strings."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def _write(path: _Path, text: str) -> None:
    """Whole or not at all."""
    beside = f"{os.fspath(path)}.{os.getpid()}.part"
    try:
        with open(beside, "x", encoding="utf-8", errors="replace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise
