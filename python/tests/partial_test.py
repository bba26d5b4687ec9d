"""Runs that end before their last case: the clock, Ctrl-C; and what is shown until then."""

import os
import signal
import subprocess
import sys
import textwrap
import time
import types

import classic_mistakes
import gradient_kernels
import kernels
import pytest

import flashproof
from flashproof import _progress

FAST = dict(families=["normal", "equal", "gqa"], cases=2, measured=2)


class Interrupts:
    """Ctrl-C in call number n."""

    def __init__(self, kernel, n):
        self.kernel, self.n, self.calls = kernel, n, 0

    def __call__(self, *tensors, scale, causal):
        self.calls += 1
        if self.calls == self.n:
            raise KeyboardInterrupt
        return self.kernel(*tensors, scale=scale, causal=causal)


@pytest.mark.parametrize("n", [1, 2, 5, 9, 40])
@pytest.mark.parametrize("problem, kernel", [("attention", kernels.attention), ("attention_backward", gradient_kernels.right)])
def test_ctrl_c_gives_what_there_is_and_no_pass(problem, kernel, n):
    interrupted = Interrupts(kernel, n)
    result = flashproof.check(interrupted, problem=problem, arrays="numpy", **FAST)
    assert interrupted.calls == n, "the kernel was called again, or never so often"
    assert result.interrupted and result.partial and not result.ok and not result.findings and result.outcome == "partial"
    assert str(result).startswith("PARTIAL ") and "interrupted: " in str(result) and result.unasked + result.cut
    with pytest.raises(AssertionError, match="PARTIAL"):
        result.raise_for_findings()


def test_ctrl_c_keeps_what_was_found():
    result = flashproof.check(Interrupts(kernels.zeros, 60), arrays="numpy", **FAST)
    assert result.interrupted and result.findings and result.outcome == "fail" and "interrupted: " in str(result)


def test_another_base_exception_passes_through():
    class Ends(BaseException):
        pass

    def ends(q, k, v, *, scale, causal):
        raise Ends

    with pytest.raises(Ends):
        flashproof.check(ends, returns="both", **FAST)


@pytest.mark.parametrize("delay", [0.1, 0.4, 0.7])
def test_a_signal_while_the_library_computes_is_heard_at_its_next_question(delay, capfd):
    class Ends(BaseException):
        pass

    def ends(signum, frame):
        raise Ends

    def sends_alarm_after(handler):
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, delay)
        return flashproof.check(kernels.attention, arrays="numpy", seconds=60, measured=1000)

    before = signal.getsignal(signal.SIGALRM)
    try:
        result = sends_alarm_after(signal.default_int_handler)
        assert result.interrupted and result.partial and not result.ok and not result.findings and result.seconds < 30
        with pytest.raises(Ends):
            sends_alarm_after(ends)
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, delay)
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            flashproof.suggest(kernels.attention, cases=1000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert capfd.readouterr().err == ""


def test_a_kernel_may_call_the_library_and_raise_what_ends_it():
    """A call within a call, on the way to a KeyboardInterrupt."""
    calls = []

    def nested(q, k, v, *, scale, causal):
        calls.append(flashproof.check(Interrupts(kernels.attention, 3), arrays="numpy", **FAST).interrupted)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return kernels.attention(q, k, v, scale=scale, causal=causal)

    result = flashproof.check(nested, arrays="numpy", returns="both", **FAST)
    assert calls == [True] * 3 and result.interrupted and not result.findings


def test_a_signal_ends_a_command_without_a_traceback(tmp_path):
    (tmp_path / "slow.py").write_text("import os, signal\nfrom kernels import attention\ncalls = []\n"
                                      "signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it\n\n\ndef slow(q, k, v, *, scale, causal):\n"
                                      "    calls.append(1)\n    if len(calls) == 20:\n        os.kill(os.getpid(), signal.SIGINT)\n"
                                      "    return attention(q, k, v, scale=scale, causal=causal)\n")
    here = os.path.dirname(kernels.__file__)
    done = subprocess.run([sys.executable, "-m", "flashproof", "slow.py:slow", "--family", "normal"], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])})
    assert done.returncode == 4 and done.stdout.startswith("PARTIAL ") and done.stderr == "", done.stdout + done.stderr


def test_families_that_the_clock_left_out_are_named_and_no_pass():
    result = flashproof.check(kernels.attention, seconds=1e-6)
    assert result.partial and not result.ok and not result.findings and len(result.unasked) == len(flashproof.families("attention"))
    assert "input families was asked" in result.undecided[-1] and "left out" in str(result) and result.outcome == "undecided"


def test_the_clock_leaves_out_cases_before_families():
    seen = []
    result = flashproof.check(kernels.softmax, problem="softmax", returns="o", cases=0, measured=2, refuses=lambda p: seen.append(p.shape["x"]))
    assert result.ok and not result.partial and result.left_out() == ""
    order = []
    flashproof.check(lambda x: order.append(x.shape) or kernels.softmax(x), problem="softmax", returns="o", cases=0, measured=2, families=["normal", "equal"])
    assert len(order) == 4 and order[0] != order[2]


def test_laws_that_the_clock_left_out_are_named_and_no_pass():
    """Ten calls at most, which are fewer than the laws before this one make."""
    def slow(q, k, v, *, scale, causal):
        time.sleep(0.2)
        return kernels.attention(q, k, v, scale=scale, causal=causal)

    result = flashproof.check(slow, families=["normal"], cases=1, measured=1, seconds=2)
    assert result.partial and not result.unasked and not result.findings and not result.ok and result.outcome == "undecided", str(result)
    (why,) = [why for why in result.undecided if why.startswith("the time limit left ")]
    left = [law.law for law in result.laws if law.status == "unasked"]
    assert "rerun_is_bitwise" in left and why == f"the time limit left {len(left)} laws unasked: {', '.join(left)}"
    assert f"{len(left)} unasked" in str(result) and f"{len(left)} unasked" in result.details()


def test_laws_whose_time_was_over_before_the_first_are_named():
    result = flashproof.check(kernels.attention, seconds=1e-6, laws=["rerun_is_bitwise", "layout_invariance"])
    assert [law.status for law in result.laws] == ["unasked", "unasked"] and not result.ok and not result.findings
    assert "the time limit left 2 laws unasked: layout_invariance, rerun_is_bitwise" in result.undecided


def test_the_laws_have_a_case_of_every_family_before_a_second_of_any():
    def inputs(*families):
        seen = []
        flashproof.check(lambda x: seen.append(x.tobytes()) or kernels.softmax(x), problem="softmax", returns="o", laws=["within_bound"],
                         cases=2, measured=0, families=families)
        return seen

    normal, equal, both = inputs("normal"), inputs("equal"), inputs("normal", "equal")
    assert both == [normal[0], equal[0], normal[1], equal[1]]


def test_the_default_is_a_minute():
    assert flashproof.check.__kwdefaults__["seconds"] == 60


class Bar:
    """What tqdm is, as far as it is used."""

    made = []

    def __init__(self, **options):
        self.options, self.n, self.total, self.said = options, 0, None, []
        Bar.made.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.closed = True

    def set_postfix_str(self, text, refresh):
        self.said.append(text)

    def update(self, n):
        assert n >= 0
        self.n += n


def test_progress_on_a_terminal_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=Bar))
    Bar.made.clear()
    monkeypatch.setattr(sys, "stderr", types.SimpleNamespace(isatty=lambda: False, write=lambda text: None, flush=lambda: None))
    flashproof.check(kernels.attention, **FAST)
    assert not Bar.made, "a bar in a pipe"
    monkeypatch.setattr(sys, "stderr", types.SimpleNamespace(isatty=lambda: True, write=lambda text: None, flush=lambda: None))
    flashproof.check(kernels.attention, **FAST)
    (bar,) = Bar.made
    assert bar.n == bar.total == 12 and bar.closed and set(bar.said) == set(FAST["families"])
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with _progress.progress_bar("x") as show:
        assert show is None


def test_ctrl_c_in_the_bar_is_ctrl_c_and_a_broken_bar_is_none(monkeypatch):
    class Broken(Bar):
        def update(self, n):
            raise self.error

    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=Broken))
    monkeypatch.setattr(sys, "stderr", types.SimpleNamespace(isatty=lambda: True, write=lambda text: None, flush=lambda: None))
    Broken.error = OSError("broken pipe")
    assert flashproof.check(kernels.attention, **FAST).ok
    Broken.error = KeyboardInterrupt()
    result = flashproof.check(kernels.attention, **FAST)
    assert result.interrupted and not result.ok and not result.findings


def test_a_page_part_is_escaped_and_loads_nothing():
    def wrong(q, k, v, *, scale, causal):
        raise ValueError("<script>alert(1)</script> & 'x'")

    for kernel in (wrong, kernels.attention, kernels.nothing):
        result = flashproof.check(kernel, name="<b>", refuses=lambda p: "<i>" if p.causal else None, **FAST)
        page = result._repr_html_()
        assert "<script" not in page and "<i>" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", "") and "onload" not in page
        assert all(f"<th style='text-align:left'>{f.family}</th>" in page for f in result.families)
        assert result.outcome.upper() in page
    right, wrong = (flashproof.check(k, **FAST)._repr_html_() for k in (kernels.attention, classic_mistakes.ATTENTION["lse in base 2"]))
    bad = ('fill="#c62828"', "background:#ffcdd2")  # a bar beyond the bound, a cell or verdict that fails
    assert "<svg" in right and not any(colour in right for colour in bad)
    assert all(colour in wrong for colour in bad), "only lse is wrong, and it is shown"


def test_help_fits_one_screen():
    lines = textwrap.dedent(flashproof.__doc__).strip().split("\n")
    assert len(lines) <= 40
    assert all(name in flashproof.__doc__ for name in ("check(", "Result", "replay(", "truth(", "bound(", "arithmetics(", "flashproof_family"))
