import json
import pathlib
import time
import xml.etree.ElementTree as xml

import kernels
import numpy as np
import pytest

import flashproof

FAST = dict(families=["normal", "mask_*", "logit_spread"], cases=1, measured=2)


def kinds(result):
    return {f.kind for f in result.findings}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_right_kernel_has_no_findings(dtype):
    result = flashproof.check(kernels.attention, dtype=dtype, arithmetic="unknown", cases=1, measured=1, batch_invariant=True, isolates_hidden=True)
    assert result.returns == "both"
    assert result.ok, str(result)
    ran = [f for f in result.families if f.ran]
    assert len(ran) > 20
    assert {"within_bound", "rerun_is_bitwise", "hidden_nan_is_isolated"} <= {law.law for law in result.laws if law.status == "ok"}
    assert 0 < result.max_ratio <= 1
    assert str(result).startswith("PASS ") and "no findings" in str(result)
    assert set(result.decided) == {"o", "lse"} and min(result.decided.values()) > 0.5 and "\ndecided " in str(result) and "decided: " in result.details()


@pytest.mark.parametrize("kernel, problem, returns", [(kernels.softmax, "softmax", "o"), (kernels.logsumexp, "softmax", "lse"), (kernels.merge, "merge", "both")])
def test_the_other_problems(kernel, problem, returns):
    result = flashproof.check(kernel, problem=problem, returns=returns, cases=1, measured=1)
    assert result.ok, str(result)
    measured = {part for f in result.families for part in ("o", "lse") if getattr(f, part).elements}
    assert measured == ({"o", "lse"} if returns == "both" else {returns})


@pytest.mark.parametrize("kernel, kind", [
    (kernels.half_for_single, "wrong_dtype"), (kernels.wrong_shape, "wrong_shape"), (kernels.raises, "raised"), (kernels.a_list, "wrong_type"),
    (kernels.writes_input, "input_written"), (kernels.leaves, "raised"), (kernels.says_what_is_no_text, "raised"), (kernels.raises_mute, "raised"),
])
def test_what_a_callable_does_wrong_has_a_name(kernel, kind, tmp_path):
    result = flashproof.check(kernel, witnesses=str(tmp_path), **FAST)
    assert kind in kinds(result), str(result)
    assert not result.ok
    finding = next(f for f in result.findings if f.kind == kind)
    assert pathlib.Path(finding.witness).is_file()
    assert "\n" not in finding.message
    again = flashproof.replay(kernel, finding.witness, law=finding.law)
    assert kind in kinds(again)
    assert flashproof.replay(kernels.attention, finding.witness, law=finding.law).ok


def test_a_fault_of_the_call_is_told_once_with_the_laws_that_met_it():
    result = flashproof.check(kernels.raises, **FAST)
    assert [f.kind for f in result.findings] == ["raised"], str(result)
    finding = result.findings[0]
    failed = [law.law for law in result.laws if law.status == "FAIL"]
    assert len(failed) > 10 and finding.laws == tuple(failed) and finding.law == failed[0]
    assert str(result).count("RuntimeError") == 1 and f"  met by {len(failed)} laws: {', '.join(failed)}" in result.details()
    assert str(result).startswith("FAIL ") and f"found by {len(failed)} laws: {failed[0]}, " in str(result)


def test_two_faults_are_two_findings():
    def faulty(q, k, v, *, scale, causal):
        if causal:
            raise ValueError("causal")
        return kernels.wrong_shape(q, k, v, scale=scale, causal=causal)

    def torn(q, k, v, *, scale, causal):
        raise (ValueError if causal else KeyError)("torn")

    options = dict(families=["normal", "mask_*"], cases=4, measured=2)
    found = flashproof.check(faulty, returns="o", **options).findings
    assert sorted(f.kind for f in found) == ["raised", "wrong_shape"]
    assert all(f.laws for f in found) and not set(found[0].laws) & set(found[1].laws)
    found = flashproof.check(torn, returns="o", **options).findings
    assert sorted(f.message.split(":")[0] for f in found if f.law != "judged") == ["KeyError", "ValueError"]


def test_another_exception_in_the_measured_cases_is_told():
    def check(first):
        calls = []

        def torn(q, k, v, *, scale, causal):
            calls.append(causal)
            raise first("torn") if len(calls) <= 2 else TypeError("torn")  # the measured cases come first

        return flashproof.check(torn, returns="o", families=["normal"], laws=["rerun_is_bitwise"], cases=3, measured=2).findings

    assert ["TypeError" in f.message for f in check(TypeError)] == [True]
    assert [(f.law, "ValueError" in f.message) for f in check(ValueError)] == [("rerun_is_bitwise", False), ("judged", True)]


def test_what_laws_judge_is_a_finding_of_each():
    result = flashproof.check(kernels.drops_a_key, **{**FAST, "cases": 2})
    broken = [f.law for f in result.findings if f.kind == "exceeds_bound"]
    assert len(broken) > 1 and all(f.laws == (f.law,) for f in result.findings if f.law in broken)


@pytest.mark.parametrize("named", ["file", "file/below", "file/below/more"])
@pytest.mark.parametrize("problem", ["attention", "attention_backward"])
def test_witnesses_in_a_file_are_refused_before_anything_runs(named, problem, tmp_path):
    (tmp_path / "file").write_text("mine")
    calls = []
    with pytest.raises(flashproof.UsageError, match="witnesses '.*/file.*no folder, legal a folder") as error:
        flashproof.check(lambda q, k, v, do=None: calls.append(1), problem=problem, witnesses=tmp_path / named)
    assert not calls and "\n" not in str(error.value)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_for_witnesses_is_made(tmp_path):
    result = flashproof.check(kernels.raises, laws=["within_bound"], witnesses=tmp_path / "a" / "b", **FAST)
    assert pathlib.Path(result.findings[0].witness).parent == tmp_path / "a" / "b"


def test_a_tensor_given_by_name_is_an_input_too():
    result = flashproof.check(kernels.writes_bias, laws=["red_zones_untouched"], families=["mask_*", "normal"], cases=2, measured=0)
    assert [f.message for f in result.findings] == ["bias is not what it was before the call"]


def test_a_pair_where_one_output_was_declared():
    finding = flashproof.check(kernels.attention, returns="o", laws=["within_bound"], **FAST).findings[0]
    assert finding.kind == "wrong_type" and "a tuple of 2, not o alone" in finding.message


def test_an_input_handed_back_is_named():
    result = flashproof.check(lambda x: x, problem="softmax", families=["normal"], laws=["within_bound"], measured=0)
    assert kinds(result) == {"aliases_input"}


def test_a_dropped_key_is_found_and_shrunk(tmp_path):
    result = flashproof.check(kernels.drops_a_key, witnesses=str(tmp_path), cases=2, measured=2, families=["normal", "equal"])
    assert "exceeds_bound" in kinds(result)
    finding = next(f for f in result.findings if f.law == "within_bound")
    witness = flashproof.read_witness(finding.witness)
    assert witness.tensors["k"].shape[2] <= 3, "not shrunk"
    assert any(f.cases["fail"] for f in result.families)


def test_random_outputs_are_not_deterministic():
    assert kinds(flashproof.check(kernels.Drifts(), laws=["rerun_is_bitwise"], **{**FAST, "measured": 0})) == {"nondeterministic"}
    result = flashproof.check(kernels.Drifts(), laws=["rerun_is_bitwise"], deterministic=False, **{**FAST, "measured": 0})
    assert result.laws[0].status == "ok", "other bits, within both bounds"


def test_hidden_specials_are_asked_of_who_promises_isolation():
    def leaks(q, k, v, *, scale, causal):  # 0 times NaN, as in a tile
        with np.errstate(all="ignore"):
            s = np.einsum("bhid,bhjd->bhij", q.astype(np.float64), k.repeat(q.shape[1] // k.shape[1], 1)) * np.float64(scale)
            if causal:
                s = np.where(np.arange(s.shape[3]) > np.arange(s.shape[2])[:, None] + s.shape[3] - s.shape[2], -np.inf, s)
            m = s.max(-1, keepdims=True, initial=-np.inf)
            p = np.exp(s - np.where(m == -np.inf, 0, m))
            l = p.sum(-1, keepdims=True)
            o = np.einsum("bhij,bhjd->bhid", p, v.repeat(q.shape[1] // v.shape[1], 1).astype(np.float64))
            return np.where(m == -np.inf, 0, o / l).astype(q.dtype), (np.log(l) + m)[..., 0].astype(np.float32)

    options = dict(families=["hidden_specials", "normal"], laws=["class_matches_semantics"], cases=30, measured=0, deterministic=False)
    promised = flashproof.check(leaks, isolates_hidden=True, **options)
    assert kinds(promised) == {"class_mismatch"}, str(promised)
    assert flashproof.check(leaks, **options).ok


@pytest.mark.parametrize("kernel", [kernels.nothing, kernels.zeros])
def test_a_law_alone_is_no_pass_of_a_kernel_that_computes_nothing(kernel):
    options = dict(families=["normal", "equal", "mask_random"], cases=2, measured=0, batch_invariant=True, isolates_hidden=True)
    for law in flashproof.laws():
        if law in ("dq_is_zero_for_equal_keys", "dv_sums_to_d_out", "gradients_are_additive"):
            with pytest.raises(flashproof.UsageError, match="laws: of gradients"):
                flashproof.check(kernel, laws=[law], **options)
            continue
        result = flashproof.check(kernel, laws=[law], **options)
        said_nothing = [one.status for one in result.laws] == ["skip"]
        assert said_nothing or not result.ok, law + str(result)
    assert flashproof.check(kernels.attention, laws=["rerun_is_bitwise"], **options).ok


def test_a_lost_device_ends_the_run():
    kernel = kernels.Loses(after=7)
    result = flashproof.check(kernel, cases=3, measured=0)
    assert result.lost and result.partial and not result.ok
    assert "gpu_error" in kinds(result)
    assert kernel.calls == 8, "the kernel was called again"


def test_features_are_those_of_the_signature():
    seen = set()

    def plain(q, k, v):
        seen.add(q.shape[1] == k.shape[1])
        return kernels.attention(q, k, v, scale=1 / np.sqrt(q.shape[3]), causal=False)

    result = flashproof.check(plain, without=["gqa"], families=["normal"], cases=8, measured=0, laws=["within_bound"])
    assert seen == {True}
    assert result.laws[0].cases["pass"] > 0
    assert set(result.features) == {"cross", "value_dim", "empty"}


def test_a_predicate_refuses():
    def refuses(p):
        return "head_dim: multiples of 16" if p.shape["q"][3] % 16 else None

    def strict(q, k, v, *, scale, causal):
        assert q.shape[3] % 16 == 0
        return kernels.attention(q, k, v, scale=scale, causal=causal)

    assert "raised" in kinds(flashproof.check(strict, **{**FAST, "cases": 10}))
    assert flashproof.check(strict, refuses=refuses, **{**FAST, "cases": 10}).ok

    def nonsense(p):
        raise KeyError("nope")

    with pytest.raises(KeyError):
        flashproof.check(strict, refuses=nonsense, **FAST)
    with pytest.raises(flashproof.UsageError, match="refuses: returned a bool, legal None or a text"):
        flashproof.check(strict, refuses=lambda p: True, **FAST)


@pytest.mark.parametrize("cases, measured", [(1, 0), (0, 1), (1, 1)])
def test_too_few_families_are_no_pass(cases, measured):
    result = flashproof.check(kernels.attention, refuses=lambda p: None if p.shape["q"][3] > 100 else "narrow", cases=cases, measured=measured)
    assert not result.findings and not result.ok, str(result)
    assert "what the kernel takes leaves " in result.undecided[0] and " input families: " in result.undecided[0]


def test_nothing_tested_is_a_finding():
    result = flashproof.check(kernels.attention, refuses=lambda p: "never", **FAST)
    assert kinds(result) == {"nothing_tested"}


def test_seconds_end_a_run():
    result = flashproof.check(kernels.attention, seconds=1e-6)
    assert result.partial and result.seconds < 30


@pytest.mark.parametrize("kernel", [kernels.zeros, kernels.nothing])
def test_a_run_that_seconds_ended_is_no_pass_of_a_kernel_that_computes_nothing(kernel):
    def slow(q, k, v, *, scale, causal):
        time.sleep(0.02)
        return kernel(q, k, v, scale=scale, causal=causal)

    result = flashproof.check(slow, laws=["rerun_is_bitwise"], cases=1000, measured=0, seconds=1)
    assert result.partial and not result.findings and not result.ok and "was not asked, and says fail" in result.undecided[0], str(result)


def test_files(tmp_path):
    result = flashproof.check(kernels.wrong_shape, laws=["within_bound", "rerun_is_bitwise"], **FAST)
    result.junit(tmp_path / "junit.xml")
    suite = xml.parse(tmp_path / "junit.xml").getroot()
    assert len(suite.findall(".//testcase")) == 2 and len(suite.findall(".//failure")) == 1  # one fault, met by both laws
    assert "met by the laws" in suite.find(".//failure").get("message") and "that within_bound tells of" in suite.find(".//skipped").get("message")
    result.json(tmp_path / "result.json")
    read = json.loads((tmp_path / "result.json").read_text())
    assert read["ok"] is False and read["findings"][0]["kind"] == "wrong_shape"
    with pytest.raises(AssertionError, match="wrong_shape"):
        result.raise_for_findings()


@pytest.mark.parametrize("options, named", [
    (dict(problem="attentoin"), "problem"), (dict(dtype="float64"), "dtype"), (dict(arithmetic="fa9"), "fa9"),
    (dict(arithmetic={"preset": "unknown", "lanes": -3}), "lanes"), (dict(arrays="tensorflow"), "arrays"), (dict(returns="p"), "returns"),
    (dict(cases=-1), "cases"), (dict(cases=True), "cases"), (dict(cases=0, measured=0), "cases"), (dict(seed=2**64), "seed"),
    (dict(seconds=-1.0), "seconds"), (dict(seconds=float("nan")), "seconds"), (dict(without=["gqa", "heads"]), "heads"), (dict(families=["nomral"]), "nomral"),
    (dict(laws=["no_such_law"]), "no_such_law"), (dict(case="no such file.safetensors"), "no such file"), (dict(case="attention:normal"), "case"),
    (dict(device="cuda"), "device"), (dict(dtype="float8_e4m3fn"), "dtype 'float8_e4m3fn': legal float32, float16, bfloat16$"), (dict(seconds="5"), "seconds"),
    (dict(families=3), "families"), (dict(laws=[1]), "laws"), (dict(problem=["attention"]), "problem"), (dict(arrays=["jax"]), "arrays"),
    (dict(arrays="jax", device=1), "device"), (dict(arrays="jax", device="cpu:-1"), "device 'cpu:-1': legal cpu:0 to"), (dict(arithmetic=3), "arithmetic"),
    (dict(witnesses=3), "witnesses"), (dict(witnesses=None), "witnesses"), (dict(witnesses="a\0b"), "witnesses"), (dict(witnesses=b"out"), "witnesses"),
    (dict(arithmetic={"preset": object()}), "arithmetic"), (dict(refuses="no"), "refuses"),
])
def test_arguments_are_refused_by_name(options, named):
    with pytest.raises(flashproof.UsageError, match=named) as error:
        flashproof.check(kernels.attention, **options)
    assert "\n" not in str(error.value)


def test_a_format_that_the_framework_cannot_hold_is_a_wrong_argument(monkeypatch):
    def give(self, format, bits):
        raise RuntimeError("CUDA error: invalid device ordinal\nelsewhere")

    monkeypatch.setattr(flashproof._arrays.Numpy, "give", give)
    with pytest.raises(flashproof.UsageError, match="dtype float32 on device 'default': numpy cannot hold it .CUDA error: invalid device ordinal elsewhere"):
        flashproof.check(kernels.attention)


def test_a_dtype_by_its_type_is_told_by_its_name():
    result = flashproof.check(kernels.wrong_shape, dtype=np.float16, **FAST)
    assert result.dtype == "float16" and "--dtype float16 " in result.findings[0].replay


def test_callables_that_cannot_be_called_so():
    with pytest.raises(flashproof.UsageError, match="callable"):
        flashproof.check(3)
    with pytest.raises(flashproof.UsageError, match="by position"):
        flashproof.check(lambda q, k: q)
    with pytest.raises(flashproof.UsageError, match="'dropout'"):
        flashproof.check(lambda q, k, v, dropout: q)


def failures_of(result, path):
    result.junit(path)
    return [(f.get("type"), f.get("message")) for f in xml.parse(path).getroot().findall(".//failure")]


def test_cases_without_a_bound_are_no_pass(tmp_path):
    # A tanh without any error has no bound: nothing that a softcap touches is judged.
    def zeros(q, k, v, *, scale, causal, softcap):
        return np.zeros((*q.shape[:3], v.shape[3]), q.dtype)

    result = flashproof.check(zeros, families=["softcap"], arithmetic={"preset": "unknown", "tanh_error": 0}, without=["empty", "gqa"], returns="o", cases=4)
    assert not result.ok and result.undecided, str(result)
    assert failures_of(result, tmp_path / "j.xml")


def test_what_is_wrong_beside_the_laws_fails_in_junit(tmp_path):
    half = flashproof.check(lambda x: np.full(x.shape, 0.5, x.dtype), problem="softmax", returns="o", families=["normal"], cases=0, measured=2)
    assert not half.ok
    assert len(failures_of(half, tmp_path / "half.xml")) == 1
    assert failures_of(flashproof.check(kernels.softmax, problem="softmax", returns="o", cases=0, measured=2), tmp_path / "right.xml") == []
