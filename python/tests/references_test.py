import kernels
import numpy as np
import pytest

import flashproof


def arrays(dtype=np.float32, seed=0, b=2, h=2, s=9, d=16):
    r = np.random.default_rng(seed)
    return [r.standard_normal((b, h, s, d)).astype(dtype) for _ in range(3)]


def test_truth_and_bound_hold_what_float64_computes():
    q, k, v = arrays()
    truth = flashproof.truth(q, k, v, causal=True)
    o, lse = kernels.attention(*(a.astype(np.float64) for a in (q, k, v)), scale=np.float32(0.25), causal=True)
    assert truth.o.value.shape == q.shape and truth.lse.value.shape == q.shape[:3]
    np.testing.assert_allclose(truth.o.value, o, rtol=1e-12, atol=1e-14)
    assert (truth.o.radius <= 2.0**-36 * np.maximum(np.abs(truth.o.value), 1e-30)).all()
    assert (truth.o.classes == 1).all()
    bound = flashproof.bound(q, k, v, causal=True, arithmetic="unknown")
    assert (bound.o.total > 0).any() and bound.in_domain.all()
    single = kernels.attention(q, k, v, scale=0.25, causal=True)
    assert (np.abs(single[0] - truth.o.value) <= bound.o.total + 2.0**-24 * np.abs(truth.o.value)).all()


def test_numbers_of_numpy_are_numbers():
    q, k, v = arrays()
    plain = flashproof.truth(q, k, v, scale=0.5, causal=True, key_length=[4, 9])
    numpy = flashproof.truth(q, k, v, scale=np.float32(0.5), causal=np.bool_(True), key_length=np.array([4, 9], np.int64))
    assert (plain.o.value == numpy.o.value).all()


def test_radius_is_an_enclosure_not_a_guess():
    x = np.array([[1.0, 2.0, 3.0]], np.float32)
    truth = flashproof.truth(x, problem="softmax")
    assert truth.o.value[0].sum() == pytest.approx(1, abs=3e-15)
    assert (truth.o.radius < 1e-12).all()


def test_special_values_are_classes():
    x = np.array([[np.inf, 0.0], [-np.inf, -np.inf]], np.float32)
    truth = flashproof.truth(x, problem="softmax")
    assert (truth.o.classes[0] & 8).all() and (truth.o.value[1] == 0).all() and truth.lse.classes[1] == 4


def test_witness_round_trip(tmp_path):
    q, k, v = arrays(np.float16)
    bias = np.zeros((2, 2, 9, 9), np.float32)
    flashproof.write_witness(tmp_path / "w.safetensors", q, k, v, scale=0.5, causal=True, bias=bias, key_length=[3, 9], notes={"kernel": "mine"})
    read = flashproof.read_witness(tmp_path / "w.safetensors")
    assert read.notes["kernel"] == "mine" and read.problem["scale"] == 0.5 and read.problem["causal"]
    assert (read.tensors["q"] == q).all() and read.tensors["bias"].shape == bias.shape
    assert list(read.problem["key_length"]) == [3, 9]
    assert flashproof.replay(kernels.attention, str(tmp_path / "w.safetensors"), dtype="float16").ok


@pytest.mark.parametrize("call, named", [
    (lambda q, k, v: flashproof.truth(q, k), "q, k, v"), (lambda q, k, v: flashproof.truth(q, k[..., :3], v), "k"),
    (lambda q, k, v: flashproof.truth(q, k, v, scale=float("nan")), "scale"), (lambda q, k, v: flashproof.truth(q, k, v, key_length=[1]), "key_length"),
    (lambda q, k, v: flashproof.truth(q, k, v, key_length=[1.9, 2]), "key_length"), (lambda q, k, v: flashproof.truth(q, k, v, key_length=[2**40, 1]), "key_length"),
    (lambda q, k, v: flashproof.truth(q, k, v, key_length=[float("inf"), 1]), "key_length"),
    (lambda q, k, v: flashproof.truth(q.astype(np.float64), k, v), "float64"), (lambda q, k, v: flashproof.truth(q, k, v, dropout=0.1), "dropout"),
    (lambda q, k, v: flashproof.truth(q[0], q[0, :, :, 0], problem="merge", joins=[0, 1, 2]), "joins: must be pairs"),
    (lambda q, k, v: flashproof.truth(q[0], k, v), "q"), (lambda q, k, v: flashproof.truth(q, k, v, problem="conv"), "problem"),
    (lambda q, k, v: flashproof.bound(q, k, v, arithmetic="fa2_sm80"), "fa2_sm80"), (lambda q, k, v: flashproof.make_case("softmax:nomral:0"), "nomral"),
])
def test_arguments_are_refused_by_name(call, named):
    with pytest.raises(flashproof.UsageError, match=named):
        call(*arrays())


def test_files_are_not_trusted(tmp_path):
    (tmp_path / "w.safetensors").write_bytes(b"\xff" * 64)
    with pytest.raises(flashproof.UsageError):
        flashproof.read_witness(tmp_path / "w.safetensors")


def test_lists():
    assert "within_bound" in flashproof.laws() and "normal" in flashproof.families("attention")
    assert "unknown" in flashproof.arithmetics("softmax") and "gqa" in flashproof.features()
    case = flashproof.make_case("attention:normal:3:format=bf16")
    assert case.tensors["q"].dtype.name == "bfloat16"
