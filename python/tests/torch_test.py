"""PyTorch: on the CPU where it is installed, on a GPU where there is one."""

import pytest

import flashproof

torch = pytest.importorskip("torch")
DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


@pytest.mark.parametrize("device", DEVICES)
def test_softmax(device):
    result = flashproof.check(lambda x: torch.softmax(x, -1), problem="softmax", arrays="torch", device=device, returns="o",
                              arithmetic="unknown", families=["normal", "logit_spread"], cases=1, measured=2, batch_invariant=True)
    assert all(f.cases["pass"] and not f.cases["fail"] for f in result.families), str(result)
    # A row of -inf alone is NaN there.
    assert {f.law for f in result.findings} <= {"empty_state_is_identity"}, str(result)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kernel, kind", [
    (lambda x: x, "aliases_input"), (lambda x: torch.softmax(x, -1).double(), "wrong_dtype"), (lambda x: torch.softmax(x, -1).numpy(force=True), "wrong_type"),
    (lambda x: x.zero_() + 1, "input_written"), (lambda x: torch.softmax(x, -1)[:, :0], "wrong_shape"),
])
def test_what_a_callable_does_wrong_has_a_name(device, kernel, kind):
    result = flashproof.check(kernel, problem="softmax", arrays="torch", device=device, returns="o", families=["normal"], cases=3, measured=0)
    assert kind in {f.kind for f in result.findings}, str(result)


@pytest.mark.skipif("cuda" not in DEVICES, reason="no CUDA device")
def test_the_wrong_device_has_a_name():
    result = flashproof.check(lambda x: torch.softmax(x, -1).cpu(), problem="softmax", arrays="torch", device="cuda", returns="o", families=["normal"],
                              cases=2, measured=0)
    assert {f.kind for f in result.findings} == {"wrong_device"}


@pytest.mark.skipif("cuda" not in DEVICES, reason="no CUDA device")
def test_a_refused_launch_does_not_end_the_run():
    def refused(x):
        raise RuntimeError("CUDA error: invalid configuration argument")

    result = flashproof.check(refused, problem="softmax", arrays="torch", device="cuda", returns="o", families=["normal"], cases=2, measured=0)
    assert {f.kind for f in result.findings} == {"raised"} and not result.lost


def test_inputs_keep_their_strides():
    seen = set()

    def kernel(x):
        seen.add(x.is_contiguous())
        return torch.softmax(x, -1)

    flashproof.check(kernel, problem="softmax", arrays="torch", families=["normal"], laws=["layout_invariance"], cases=4, measured=0)
    assert False in seen
