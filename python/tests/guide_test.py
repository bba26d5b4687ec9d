"""Every Python block of the guide. A word behind ```python is what it needs; what is missing here is a skip with its reason."""

import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "reports/guides/python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python ?([a-z ]*)\n(.*?)```", GUIDE, re.S)


def cuda():
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.is_available()


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_block_runs(number, tmp_path):
    needs, text = BLOCKS[number]
    for need in needs.split():
        if need == "cuda" and not cuda():
            pytest.skip("no CUDA device")
        if need in ("torch", "triton", "jax") and importlib.util.find_spec(need) is None:
            pytest.skip(f"no {need}")
    command = [sys.executable, "block_test.py"]
    if "pytest" in needs:
        text = "import sys\nsys.path.insert(0, %r)\nfrom kernels import attention as my_attention\n" % str(ROOT / "python/tests") + text
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "block_test.py"]
    (tmp_path / "block_test.py").write_text(text, encoding="utf-8")
    (tmp_path / "kernels").symlink_to(ROOT / "kernels")  # paths are those of a checkout
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_blocks_are_found():
    assert len(BLOCKS) >= 6
