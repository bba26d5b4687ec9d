"""The gradients' door: right callables pass, each wrong one has its name, truth and bound hold."""

import functools
import json
import pathlib
import xml.etree.ElementTree as xml

import gradient_kernels as kernels
import numpy as np
import pytest

import flashproof

#: Of one problem each: what compares problems with each other says more of what is wrong below.
LAWS = ["within_bound", "class_matches_semantics", "outputs_fully_written", "red_zones_untouched", "rerun_is_bitwise"]
FAST = dict(problem="attention_backward", families=["normal", "logit_spread", "mask_random"], cases=1, measured=3, laws=LAWS)


def kinds(result):
    return {f.kind for f in result.findings}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_right_gradient_has_no_findings(dtype):
    def textbook(q, k, v, do, *, scale, causal, bias=None, key_length=None):
        return kernels.backward(q, k, v, do, scale=scale, causal=causal, bias=bias, key_length=key_length)

    result = flashproof.check(textbook, problem="attention_backward", dtype=dtype, cases=1, measured=2, batch_invariant=True, isolates_hidden=True)
    assert result.ok, str(result)
    assert 0 < result.max_ratio <= 1 and len([f for f in result.families if f.ran]) > 20
    # The others split the keys under one lse, scale o and lse by themselves, or are about a machine that runs a kernel's threads.
    assert {law.law for law in result.laws if law.status == "ok"} == {
        *LAWS, "empty_state_is_identity", "shift_invariance", "mask_forms_agree", "unused_storage_is_isolated", "hidden_nan_is_isolated",
        "layout_invariance", "batch_invariance_is_bitwise", "key_permutation_within_bound", "gqa_equals_expanded", "gradients_are_additive",
        "dv_sums_to_d_out", "same_kv_twice_adds_ln2", "visible_nan_is_not_laundered"}
    assert all(law.status in ("ok", "skip") for law in result.laws)
    assert "no findings" in str(result) and ", dv 0." in str(result) and "dv error/bound" in result.details()


@pytest.mark.parametrize("kernel, dtype, arithmetic", [
    (kernels.single, "float32", "pytorch_math"), (kernels.single, "float16", "pytorch_math"), (kernels.single, "bfloat16", "unknown"),
    (kernels.stored, "float16", "jax_xla"), (kernels.stored, "bfloat16", "jax_xla"), (kernels.stored, "float16", "unknown"),
    (kernels.single, "float16", "fa2_sm80"), (kernels.single, "float32", "pytorch_efficient"), (kernels.single, "bfloat16", "cudnn"),
])
def test_what_does_as_declared_passes(kernel, dtype, arithmetic):
    result = flashproof.check(kernel, dtype=dtype, arithmetic=arithmetic, **FAST)
    assert result.ok and result.max_ratio > 0, str(result)
    if arithmetic == "unknown":  # of what it stands for, the one that explains the run
        narrower = json.loads("{" + result.suggestion + "}")
        assert narrower["preset"] != "unknown" and json.dumps(narrower) in str(result)
        assert flashproof.check(kernel, dtype=dtype, arithmetic=narrower, **FAST).ok


@pytest.mark.parametrize("kernel, dtype, arithmetic", [
    (kernels.forgets_delta, "float32", "unknown"), (kernels.forgets_delta, "bfloat16", "unknown"), (kernels.unscaled, "float16", "unknown"),
    (kernels.sums_in_half, "float32", "unknown"), (kernels.sums_in_half, "float16", "fa2_sm80"), (kernels.sums_in_half, "float16", "unknown"),
    (kernels.stored, "float16", "pytorch_math"), (kernels.stored, "bfloat16", "fa2_sm80"),
])
def test_what_does_worse_than_declared_exceeds_its_bound(kernel, dtype, arithmetic):
    result = flashproof.check(kernel, dtype=dtype, arithmetic=arithmetic, **{**FAST, "measured": 12, "families": ["normal", "equal", "cancelling_v", "one_signed_v"]})
    assert "exceeds_bound" in kinds(result) and result.max_ratio > 1, str(result)


@pytest.mark.parametrize("kernel, kind", [
    (kernels.pair, "wrong_type"), (kernels.half_dv, "wrong_dtype"), (kernels.short_dk, "wrong_shape"), (kernels.writes_do, "input_written"),
    (kernels.hands_back_q, "aliases_input"), (kernels.raises, "raised"),
])
def test_what_a_callable_does_wrong_has_a_name(kernel, kind, tmp_path):
    result = flashproof.check(kernel, witnesses=str(tmp_path), **FAST)
    assert kinds(result) == {kind}, str(result)
    finding = result.findings[0]
    assert pathlib.Path(finding.witness).is_file() and "\n" not in finding.message and "--replay" in finding.replay
    read = flashproof.read_witness(finding.witness)
    assert read.case == finding.case and read.tensors["do"].shape[:3] == read.tensors["q"].shape[:3]
    for case in (finding.witness, finding.case):
        assert kind in kinds(flashproof.replay(kernel, case, problem="attention_backward")), case
        assert flashproof.replay(kernels.right, case, problem="attention_backward").ok, case


def takes_few_keys(q, k, v, do, *, scale, causal):
    """dq is NaN where a query has three keys or more."""
    dq, dk, dv = kernels.right(q, k, v, do, scale=scale, causal=causal)
    return (dq * np.nan if k.shape[2] >= 3 else dq), dk, dv


def test_a_finding_is_made_small(tmp_path):
    result = flashproof.check(takes_few_keys, witnesses=str(tmp_path), **FAST)
    (finding,) = result.findings
    assert finding.law == "class_matches_semantics" and finding.kind == "class_mismatch"
    read = flashproof.read_witness(finding.witness)
    assert [read.tensors[n].shape for n in ("q", "k", "v", "do")] == [(1, 1, 1, 1), (1, 1, 3, 1), (1, 1, 3, 1), (1, 1, 1, 1)], finding.shrunk
    assert finding.shrunk.startswith("attention_backward f32 gradient: q (1, 1, 1, 1) = ") and "computed nan" in finding.message
    assert not flashproof.replay(takes_few_keys, finding.witness, problem="attention_backward").ok
    assert not flashproof.check(takes_few_keys, **FAST).findings[0].shrunk, "without a folder nothing is shrunk"


def test_a_finding_that_does_not_come_again_stays_as_it_was_drawn(tmp_path):
    calls = []

    def once(q, k, v, do, *, scale, causal):
        dq, dk, dv = kernels.right(q, k, v, do, scale=scale, causal=causal)
        calls.append(q.size)
        return (dq * np.nan if len(calls) == 1 else dq), dk, dv

    result = flashproof.check(once, witnesses=str(tmp_path), deterministic=False, **{**FAST, "measured": 0, "laws": ["class_matches_semantics"]})
    (finding,) = result.findings
    assert not finding.shrunk and flashproof.read_witness(finding.witness).tensors["q"].size == calls[0]


def test_a_smaller_problem_that_fails_otherwise_is_another_finding(tmp_path):
    def raises(q, k, v, do, *, scale, causal):
        raise ValueError("long") if k.shape[2] >= 3 else TypeError("short")

    (finding,) = flashproof.check(raises, witnesses=str(tmp_path), **{**FAST, "families": ["normal"]}).findings
    assert finding.kind == "raised" and "ValueError" in finding.message
    assert flashproof.read_witness(finding.witness).tensors["k"].shape[2] >= 3


def test_a_device_lost_while_a_finding_is_made_small_is_told(tmp_path):
    def fragile(q, k, v, do, *, scale, causal):
        if q.size <= 4:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        dq, dk, dv = kernels.right(q, k, v, do, scale=scale, causal=causal)
        return dq * np.nan, dk, dv

    result = flashproof.check(fragile, witnesses=str(tmp_path), **{**FAST, "families": ["normal"]})
    (finding,) = result.findings
    assert result.lost and finding.kind == "class_mismatch" and "lost the device: gpu_error" in finding.message, finding
    assert pathlib.Path(finding.witness).is_file()
    assert len([f for f in result.families if f.ran]) == 1


def test_findings_are_made_small_after_all_families_were_judged(tmp_path):
    result = flashproof.check(takes_few_keys, witnesses=str(tmp_path), seconds=60, **{**FAST, "families": ["normal", "logit_spread"]})
    assert not result.partial and all(f.ran for f in result.families) and result.findings[0].shrunk
    text = tmp_path / "junit.xml"
    result.junit(text)
    assert "shrunk to attention_backward f32" in text.read_text()


def test_determinism_is_a_promise():
    assert kinds(flashproof.check(kernels.Drifts(), arithmetic="unknown", **FAST)) == {"nondeterministic"}
    result = flashproof.check(kernels.Drifts(), deterministic=False, **FAST)
    assert result.ok and {law.law: law.status for law in result.laws}["rerun_is_bitwise"] == "ok", "within twice the bound"


def test_laws_between_problems_see_what_one_problem_shows_too():
    def drops_the_last_query(q, k, v, do, *, scale, causal):
        return kernels.right(q, k, v, np.where(np.arange(do.shape[2])[:, None] < max(do.shape[2] - 1, 1), do, 0), scale=scale, causal=causal)

    options = {**FAST, "families": ["normal"], "cases": 4, "laws": ["gradients_are_additive", "batch_invariance_is_bitwise", "key_permutation_within_bound"]}
    assert {f.law for f in flashproof.check(drops_the_last_query, batch_invariant=True, **options).findings} >= {"key_permutation_within_bound", "judged"}
    assert flashproof.check(kernels.right, batch_invariant=True, **options).ok


@pytest.mark.parametrize("law", ["within_bound", "class_matches_semantics", "outputs_fully_written", "rerun_is_bitwise"])
@pytest.mark.parametrize("value", [0.0, np.nan])
def test_a_law_alone_is_no_pass_of_gradients_of_nothing(law, value):
    def nothing(q, k, v, do, *, scale, causal):
        return q * 0 + q.dtype.type(value), k * 0 + k.dtype.type(value), v * 0 + v.dtype.type(value)

    result = flashproof.check(nothing, **{**FAST, "laws": [law]})
    assert not result.ok and (law in ("within_bound", "class_matches_semantics") or "was not asked, and says fail" in result.undecided[0]), str(result)
    assert flashproof.check(kernels.right, **{**FAST, "laws": [law]}).ok


@pytest.mark.parametrize("kernel, found", [(kernels.zeros, {"exceeds_bound", "laundering"}), (kernels.nothing, {"class_mismatch"})])
def test_gradients_of_nothing_fail_in_every_family_that_an_honest_run_decides(kernel, found):
    options = dict(problem="attention_backward", measured=3, seconds=0)
    wrong, honest = flashproof.check(kernel, **options), flashproof.check(kernels.right, **options)
    assert kinds(wrong) == found and not wrong.ok, str(wrong)
    # What a run decides depends on the cases and the declaration, never on what was returned.
    assert honest.ok and honest.decided == wrong.decided and honest.open_families == wrong.open_families, str(honest)
    assert set(honest.decided) == {"dq", "dk", "dv"} and min(honest.decided.values()) > 0.6
    survived = {f.family for f in wrong.families if f.ran and not f.cases["fail"]} - {text.split(" ")[0] for text in honest.open_families}
    assert survived <= ({"zero_length"} if kernel is kernels.zeros else set()), "without a key 0 is right"
    assert "\ndecided " in str(honest) and all(said in honest.details() for said in ("decided: ", " % of dq, ", "too little of "))


@pytest.mark.parametrize("kernel", [kernels.as_of_one_key, kernels.right])
def test_gradients_that_are_those_of_nothing_are_no_pass(kernel, tmp_path):
    refuses = lambda p: None if p.shape["k"][2] == 1 and not p.causal else "one key that is seen"  # noqa: E731
    result = flashproof.check(kernel, problem="attention_backward", refuses=refuses, families=["normal"], cases=0, measured=6)
    assert not result.findings and not result.ok and result.families[0].cases["pass"] >= 3
    assert result.undecided == ["100 % of dq is what a kernel that computes nothing returns: 0, 1, a copy, uniform weights, ..."]
    assert result.decided == {"dq": 1, "dk": 1, "dv": 1}
    with pytest.raises(AssertionError, match=r"\nundecided +100 % of dq"):
        result.raise_for_findings()
    result.junit(tmp_path / "junit.xml")
    (failure,) = xml.parse(tmp_path / "junit.xml").getroot().findall(".//failure")
    assert failure.get("message") == result.undecided[0]
    result.json(tmp_path / "result.json")
    read = json.loads((tmp_path / "result.json").read_text())
    assert read["ok"] is False and read["decided"] == result.decided and read["undecided"] == result.undecided


def test_too_few_families_are_no_pass():
    result = flashproof.check(kernels.right, problem="attention_backward", families=["normal", "offset_rising", "underflow_beside_huge", "huge"], measured=4)
    assert not result.findings and not result.ok and len(result.open_families) >= 2 and result.undecided, str(result)
    rare = flashproof.check(kernels.right, problem="attention_backward", measured=1, refuses=lambda p: None if p.shape["q"][3] > 100 else "narrow")
    assert not rare.findings and "what the kernel takes leaves " in rare.undecided[0] and "input families: " in rare.undecided[0], str(rare)


def test_a_file_of_nothing_tested_is_no_pass(tmp_path):
    flashproof.check(kernels.right, refuses=lambda p: "never", **FAST).junit(tmp_path / "junit.xml")
    failures = xml.parse(tmp_path / "junit.xml").getroot().findall(".//failure")
    assert len(failures) == len(LAWS) and "takes none of these cases" in failures[0].get("message")


def test_a_law_that_was_not_judged_says_why():
    laws = {law.law: law for law in flashproof.check(kernels.pair, **FAST).laws}
    assert {law.same_as for law in laws.values()} == {"within_bound"}
    stages = flashproof.check(kernels.right, **{**FAST, "laws": ["power_of_two_scaling_is_bitwise", "within_bound"]}).laws
    assert "takes no o and lse" in {law.law: law for law in stages}["power_of_two_scaling_is_bitwise"].message


@pytest.mark.parametrize("kernel, law, kind", [
    (kernels.skips_a_query, "dv_sums_to_d_out", "exceeds_bound"), (kernels.divides_by_keys, "same_kv_twice_adds_ln2", "exceeds_bound"),
    (kernels.launders, "visible_nan_is_not_laundered", "laundering"),
])
def test_laws_of_o_and_lse_hold_of_a_callable_that_makes_its_own(kernel, law, kind):
    options = dict(problem="attention_backward", laws=[law], families=["normal", "mask_random"], cases=2, measured=0)
    assert kinds(flashproof.check(kernel, **options)) == {kind}
    (right,) = flashproof.check(kernels.right, **options).laws
    assert right.status == "ok"


def test_a_lost_device_ends_the_run():
    def loses(q, k, v, do, *, scale, causal):
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    result = flashproof.check(loses, **FAST)
    assert result.lost and result.partial and kinds(result) == {"gpu_error"}


def test_nothing_tested_is_a_finding():
    assert kinds(flashproof.check(kernels.right, refuses=lambda p: "never", **FAST)) == {"nothing_tested"}


def test_files(tmp_path):
    result = flashproof.check(kernels.pair, **FAST)
    result.junit(tmp_path / "junit.xml")
    assert len(xml.parse(tmp_path / "junit.xml").getroot().findall(".//failure")) == 1
    result.json(tmp_path / "result.json")
    read = json.loads((tmp_path / "result.json").read_text())
    assert read["ok"] is False and set(read["families"][0]) >= {"dq", "dk", "dv"}


def arrays(dtype=np.float32, b=2, h=4, hk=2, s=7, d=8):
    r = np.random.default_rng(1)
    return [r.standard_normal((b, heads, s, d)).astype(dtype) for heads in (h, hk, hk, h)]


def test_truth_is_what_float64_computes_and_the_bound_holds():
    q, k, v, do = arrays()
    exact = flashproof.gradients(q, k, v, do, causal=True)
    scale = np.float64(np.float32(1 / np.sqrt(8)))
    computed = kernels.backward(*(a.astype(np.float64) for a in (q, k, v, do)), scale=scale, causal=True)
    single = kernels.single(q, k, v, do, scale=scale, causal=True)
    bound = flashproof.gradient_bound(q, k, v, do, causal=True, arithmetic="pytorch_math")
    for name, double, narrow in zip(("dq", "dk", "dv"), computed, single):
        ball, terms = getattr(exact, name), getattr(bound, name)
        assert ball.value.shape == double.shape and (ball.classes == 1).all() and bound.in_domain[name].all()
        np.testing.assert_allclose(ball.value, double, rtol=1e-10, atol=1e-13)
        assert (ball.radius <= 2.0**-35 * np.maximum(np.abs(ball.value), 1e-30)).all()
        error = np.abs(narrow - ball.value)
        assert (error <= terms.total + 2.0**-24 * np.abs(ball.value)).all() and (terms.total < 1e-4).all() and error.max() > 0


@pytest.mark.parametrize("call, named", [
    (lambda q, k, v, do: flashproof.gradients(q, k, v, do[:, :, :-1]), "d_out"), (lambda q, k, v, do: flashproof.gradients(q, k, v, do, softcap=3.0), "softcap"),
    (lambda q, k, v, do: flashproof.gradients(q, k, v, do.astype(np.float16)), "d_out"), (lambda q, k, v, do: flashproof.gradients(q, k[0], v, do), "k"),
    (lambda q, k, v, do: flashproof.gradient_bound(q, k, v, do, arithmetic="fa2_sm80"), "fa2_sm80"),
    (lambda q, k, v, do: flashproof.gradient_bound(q, k, v, do, arithmetic="triton"), "triton"),
    (lambda q, k, v, do: flashproof.truth(q, k, v, problem="attention_backward"), "gradients"),
])
def test_arguments_are_refused_by_name(call, named):
    with pytest.raises(flashproof.UsageError, match=named) as error:
        call(*arrays())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("options, named", [
    (dict(dtype="float8_e5m2"), "dtype"), (dict(arithmetic="fa9"), "fa9"), (dict(arithmetic={"preset": "fa9"}), "fa9"), (dict(arithmetic={"preset": "pytorch_math", "lanes": 3}), "lanes"), (dict(arithmetic={"exp_error": 1}), "preset"), (dict(returns="o"), "returns"),
    (dict(laws=["convex_hull"]), "laws"),
    (dict(families=["nomral"]), "nomral"), (dict(case="attention_backward:normal:2:mode=stage"), "mode"), (dict(case="none.safetensors"), "none"),
])
def test_options_are_refused_by_name(options, named):
    with pytest.raises(flashproof.UsageError, match=named) as error:
        flashproof.check(kernels.right, problem="attention_backward", **options)
    assert "\n" not in str(error.value)


def test_a_callable_needs_do():
    with pytest.raises(flashproof.UsageError, match="q, k, v, do"):
        flashproof.check(lambda q, k, v: q, problem="attention_backward")
    with pytest.raises(flashproof.UsageError, match="softcap"):
        flashproof.check(lambda q, k, v, do, softcap: q, problem="attention_backward")


def test_lists():
    assert list(flashproof.arithmetics("attention_backward"))[-1] == "unknown" and "rerun_is_bitwise" in flashproof.laws()
    assert flashproof.families("attention_backward") == flashproof.families("attention")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_jax_by_vjp(dtype):
    jax = pytest.importorskip("jax")

    @functools.partial(jax.jit, static_argnames=("scale", "causal"))
    def compiled(q, k, v, do, scale, causal):
        turn = lambda t: jax.numpy.swapaxes(t, 1, 2)  # noqa: E731
        attention = lambda q, k, v: turn(jax.nn.dot_product_attention(turn(q), turn(k), turn(v), scale=scale, is_causal=causal))  # noqa: E731
        with jax.default_matmul_precision("highest"):
            return jax.vjp(attention, q, k, v)[1](do)

    def gradient(q, k, v, do, *, scale, causal):
        return compiled(q, k, v, do, float(scale), bool(causal))

    refuses = lambda p: "causal: Sq = Sk" if p.causal and p.shape["q"][2] != p.shape["k"][2] else None  # noqa: E731
    result = flashproof.check(gradient, problem="attention_backward", dtype=dtype, arrays="jax", arithmetic="jax_xla", without=["empty", "value_dim"],
                              refuses=refuses, families=["normal", "logit_spread"], cases=1, measured=1)
    assert result.ok and result.max_ratio > 0, str(result)


def test_no_two_seeds_draw_the_same_cases():
    def drawn(seed):
        cases = []

        def kernel(q, k, v, do, *, scale, causal):
            cases.append(b"".join(x.tobytes() for x in (q, k, v, do)))
            return kernels.right(q, k, v, do, scale=scale, causal=causal)

        result = flashproof.check(kernel, **{**FAST, "families": ["normal"], "cases": 0}, seed=seed)
        assert not result.findings and len(cases) == 3, str(result)
        return cases

    runs = [drawn(seed) for seed in (0, 1, 2, 2**64 - 1)]
    assert len({case for run in runs for case in run}) == 3 * len(runs)
    assert runs[1] == drawn(1)
