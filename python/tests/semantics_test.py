"""Declared semantics: kernels that are right by other rules than the reference's, and what suggest() says of them."""

import json

import numpy as np
import pytest

import flashproof
import kernels
from flashproof.__main__ import main


def attention_by(empty_o=0.0, empty_lse=-np.inf, base_2=False, top_left=False, drop_last=False):
    """A right attention with the rules that one asks for."""

    def attention(q, k, v, *, scale, causal, bias=None, key_length=None):
        queries, keys = q.shape[2], k.shape[2]
        hidden = np.zeros((queries, keys), bool)
        if causal and top_left:
            hidden |= np.arange(keys) > np.arange(queries)[:, None]
        if drop_last and keys > 1:
            hidden[:, -1] = True
        if hidden.any():
            bias = np.where(hidden, np.float32(-np.inf), np.zeros((*q.shape[:2], 1, 1), np.float32) if bias is None else bias)
        o, lse = kernels.attention(q, k, v, scale=scale, causal=causal and not top_left, bias=bias, key_length=key_length)
        empty = lse == -np.inf
        o = np.where(empty[..., None], o.dtype.type(empty_o), o)
        lse = np.where(empty, np.float32(empty_lse), lse)
        return o, np.where(np.isfinite(lse), lse / np.log(2), lse).astype(np.float32) if base_2 else lse

    return attention


FAMILIES = ["normal", "mask_row", "staircase", "descending", "equal", "mask_random"]


def checked(function, **options):
    return flashproof.check(function, families=FAMILIES, laws=["within_bound", "class_matches_semantics", "outputs_fully_written"], **options)


@pytest.mark.parametrize("rules, semantics", [
    ({"empty_o": np.nan}, {"empty_o": "nan"}),
    ({"empty_lse": np.inf}, {"empty_lse": "+inf"}),
    ({"base_2": True}, "flashinfer"),
    ({"top_left": True}, {"diagonal": "top_left"}),
])
def test_a_kernel_passes_by_its_own_rules_and_by_no_others(rules, semantics):
    right = checked(attention_by(**rules), semantics=semantics)
    assert right.ok, str(right)
    assert right.semantics and right.semantics[0] in str(right)
    assert not checked(attention_by(**rules)).ok
    assert not checked(attention_by(), semantics=semantics).ok


def test_every_law_reads_lse_in_its_base():
    result = flashproof.check(attention_by(base_2=True), semantics={"lse_base": "2"}, families=["normal", "mask_row"], seconds=0)
    assert not result.findings, str(result)


def test_suggest_finds_the_rules_and_its_keywords_pass():
    kernel = attention_by(empty_o=np.nan, base_2=True)
    found = flashproof.suggest(kernel, families=FAMILIES, cases=3)
    assert found.found, str(found)
    assert found.semantics == {"empty_o": "nan", "lse_base": "2"}
    assert 'semantics={"empty_o": "nan", "lse_base": "2"}' in str(found)
    assert checked(kernel, **found.keywords).ok


def test_suggest_says_where_nothing_explains_a_kernel():
    found = flashproof.suggest(attention_by(drop_last=True), families=FAMILIES)
    assert not found.found and len(found.unexplained) > 2
    assert "NOT EXPLAINED" in str(found)
    json.dumps(found.unexplained)


@pytest.mark.parametrize("semantics, said", [
    ("flash-attention", "near: flash-attention-2"),
    ({"lse_base": "10"}, 'lse_base: "10"; legal: e, 2'),
    ({"lse_base": 2}, "legal a preset's name, or a dict of texts"),
    (3, "legal a preset's name, or a dict of texts"),
])
def test_what_is_wrong_is_named(semantics, said):
    with pytest.raises(flashproof.UsageError) as error:
        checked(attention_by(), semantics=semantics)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_names_of_presets_and_fields():
    table = flashproof.semantics("attention")
    assert "flash-attention-2" in table and table["lse_base"].endswith("e, 2")
    assert "vllm-merge" in flashproof.semantics("merge")


def test_from_a_shell(tmp_path, capsys):
    source = tmp_path / "kernel.py"
    source.write_text("import sys\nsys.path.insert(0, %r)\nfrom semantics_test import attention_by\nbase_2 = attention_by(base_2=True)\n" % __file__.rpartition("/")[0])
    options = ["--family", "normal", "--law", "within_bound", "--measured", "0"]
    assert main([f"{source}:base_2", "--semantics", '{"lse_base": "2"}', *options]) == 0, capsys.readouterr().out
    assert main([f"{source}:base_2", *options]) == 1
    assert main([f"{source}:base_2", "--semantics", "flash", *options]) == 2
