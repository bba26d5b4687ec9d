"""The table's script, with JAX on the CPU: records, and reproductions that fail where the kernel does."""

import ast
import builtins
import json
import pathlib
import runpy
import subprocess
import sys
import types

import numpy as np
import pytest

import flashproof

pytest.importorskip("jax")
FOLDER = pathlib.Path(__file__).resolve().parents[1] / "public_kernels"


def run(*words, **options):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=280, **options)


def test_a_subject_its_table_and_its_reproduction(tmp_path):
    # jax.nn.softmax computes in float16: beyond any bound that sums in float32.
    done = run(str(FOLDER), "--device", "cpu", "--only", "jax.softmax.float16", "--out", str(tmp_path), "--each", "8", "--seconds", "120")
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((tmp_path / "subjects" / "jax.softmax.float16.json").read_text())
    assert "within_bound" in {f["law"] for f in record["result"]["findings"]}
    assert "jax.softmax.float16" in (tmp_path / "table.md").read_text()
    folder = tmp_path / "findings" / "jax.softmax.float16.within_bound"
    found = run("reproduce.py", cwd=folder)
    assert found.returncode == 1 and "WRONG" in found.stdout, found.stdout + found.stderr
    text = (folder / "reproduce.py").read_text()  # the same numbers through float32 are right
    (folder / "right.py").write_text(text.replace("lambda: jax_function('softmax')", "lambda: lambda x: jax_function('softmax')(x.astype('float32')).astype(x.dtype)"))
    assert run("right.py", cwd=folder).returncode == 0


@pytest.mark.parametrize("name, wrong", [("jax.softmax.float32.class_matches_semantics", "o[0]: computed nan, exact 0.0"),
                                         ("jax.logsumexp.float32.class_matches_semantics", "lse[0]: computed inf, exact nan"),
                                         ("jax.attention.xla.float32.class_matches_semantics", "o[0]: computed nan, exact 0.0"),
                                         ("jax.attention.xla.backward.float32.gradient_within_bound.mask_random", "dq[0]: computed nan, exact 0.0")])
def test_a_published_finding_is_still_there(name, wrong):
    script = FOLDER.parents[1] / "reports/public/findings/reproduce.py"
    found = run(str(script), name, "--device", "cpu")
    assert found.returncode == 1 and wrong in found.stdout and "WRONG" in found.stdout, found.stdout + found.stderr


def test_a_script_defines_all_that_it_uses():
    sys.path.insert(0, str(FOLDER))
    try:
        import subjects
    finally:
        sys.path.pop(0)
    for subject in subjects.subjects("cuda"):
        nodes = list(ast.walk(ast.parse(subject.source() + "\n\n" + subject.script_expression())))
        named = {n.id for n in nodes if isinstance(n, ast.Name)}
        known = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} | {n.arg for n in nodes if isinstance(n, ast.arg)}
        known |= {n.name for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler))}
        known |= {(a.asname or a.name).split(".")[0] for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names}
        assert named <= known | set(dir(builtins)), (subject.name, named - known - set(dir(builtins)))


def test_every_legal_class_of_an_element_is_exported(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import reproduction

    witness = FOLDER.parents[1] / "reports/public/findings/jax.softmax.float16.within_bound/witness.safetensors"
    subject = types.SimpleNamespace(problem="softmax", options={"returns": "o"}, arithmetic="unknown", name="n", arrays="jax", device="cpu")
    finding = flashproof.Finding("within_bound", "x", "", "softmax:normal:0", "", str(witness), "")
    ends = [np.array(values) for values in ([1.5, 0.0], [1.0, 0.0], [2.0, 0.0])]
    monkeypatch.setattr(reproduction, "limits", lambda *_: {"o": (*ends, np.array([9, 6], np.uint8))})
    reproduction.export(str(tmp_path), subject, finding, "", "None", {})
    told = json.loads((tmp_path / "expected.json").read_text())
    assert told["shapes"] == {"o": [1, 2]}
    assert [(e["exact"], e["classes"]) for e in told["elements"]] == [("1.5 or nan", ["finite", "nan"]), ("inf or -inf", ["inf", "-inf"])]


def test_other_families_are_asked_until_the_device_is_lost(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    main = runpy.run_path(str(FOLDER / "__main__.py"), run_name="public_kernels")

    def result(*families, lost=False, nothing=False):
        findings = [flashproof.Finding("within_bound", "x", "", f"attention_backward:{families[0]}:0", "", "", "")] if families else []
        if nothing:
            findings = [flashproof.Finding("judged", "nothing_tested", "", "-", "", "", "")]
        return types.SimpleNamespace(name="k", findings=findings, lost=lost, families=[types.SimpleNamespace(family=f, finding="fails") for f in families])

    asked = []

    def check(where, seconds, families):
        asked.append((where, families, seconds > 1))
        return result(*families, lost=where == "c")

    found = list(main["of_every_family"](result("a", "b", "c", "d"), check))
    assert [main["family_of"](f) for f in found] == ["a", "b", "c"] and asked == [("b", ["b"], True), ("c", ["c"], True)]
    assert [main["family_of"](f) for f in main["of_every_family"](result(nothing=True), check)] == [""]


def test_an_unknown_name_lists_what_there_is():
    done = run(str(FOLDER), "--only", "nope", "--device", "cpu")
    assert done.returncode == 2 and {"torch.sdpa.flash.bfloat16", "torch.sdpa.flash.backward.bfloat16"} <= set(done.stdout.split())


def test_a_gradient_stands_in_a_table_of_its_own(tmp_path):
    done = run(str(FOLDER), "--device", "cpu", "--only", "jax.attention.xla.backward.bfloat16", "--out", str(tmp_path), "--each", "30", "--measured", "1",
               "--cases", "1", "--seconds", "200")
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((tmp_path / "subjects" / "jax.attention.xla.backward.bfloat16.json").read_text())
    assert any(f["dq"]["elements"] and float(f["dq"]["max_ratio"]) <= 1 for f in record["result"]["families"]), record
    # Where a bias hides every key, JAX's gradients are NaN: made small, and told by a script.
    findings = {f["case"].split(":")[1]: f for f in record["result"]["findings"]}
    assert findings["mask_random"]["shrunk"].startswith("attention_backward bf16"), findings
    folder = tmp_path / "findings" / "jax.attention.xla.backward.bfloat16.class_matches_semantics.mask_random"
    found = run("reproduce.py", cwd=folder)
    assert found.returncode == 1 and "dq[0]: computed nan" in found.stdout, found.stdout + found.stderr
    tensors = flashproof.read_witness(folder / "witness.safetensors").tensors
    assert f"of {sum(tensors[n].size for n in 'qkv')} elements are wrong" in found.stdout, "every element is judged"
    table = (tmp_path / "table.md").read_text()
    assert "## Gradients" in table and "dk error/bound" in table.split("## Gradients")[1] and "speed" not in record
