#!/usr/bin/env python3
"""Holds real reports and comparisons against the published schemas.

usage: schema_test.py MODE PROGRAM SCHEMA
  report     a few kernels and families, the gradient's too, with a failing kernel, a kill table and a benchmark
  partial    a run that SIGINT ends; merge refuses it, and takes it when told to
  controls   documents that are wrong in one place each must be refused
  compare    reports that differ, with a gate; two kernels, measured; and documents that are wrong in one place
"""
import copy
import json
import math
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

import jsonschema

PACKED = jsonschema.Draft202012Validator(json.loads((pathlib.Path(__file__).parent / "report-6.schema.json").read_text(encoding="utf-8")))
SOME = ["--quick", "--family", "normal", "--family", "mask_first_tile", "--format", "f32"]
KERNELS = ["--kernel", "softmax.online_two_pass.*", "--kernel", "merge.nway.hardened", "--kernel",
           "attention_backward.two_kernels.*", "--kernel", "merge.broken.misprinted_lse"]
FAULTS = {"partial": True, "partial_reason": "interrupted", "survivors": 0, "faults": [
    {"number": "F01", "id": "softmax.broken.x", "kernel": "softmax.y.hardened", "defect": "<no | guard>", "from": "ours",
     "laws": {"within_bound": {"rejects": True, "executed": 3, "case": "softmax:normal:0", "detail": "", "weakest_dose": 2.5}},
     "habits": {"allclose": {"sees": False, "where": ""}, "twice_reference": {"sees": True, "where": "softmax:normal:1"}},
     "diagnosis": {"named": "rightly", "right": "lse.base_2", "causes": [
         {"id": "lse.base_2", "sentence": "lse", "condition": "", "others": [], "cases": 1, "failing_cases": 1, "elements": 2,
          "witness": "softmax:normal:1", "confident": True}]},
     "dose": {"unit": "ulp", "registered": 30.0, "ladder": [1.0, 2.5]}}]}
BENCH = {"context": {"num_cpus": 2}, "benchmarks": [{"name": "executor/1024", "real_time": 12.5, "time_unit": "us"}]}


def run(program, *arguments, code=0, cwd=None):
    result = subprocess.run([program, *arguments], cwd=cwd, capture_output=True, text=True)
    assert result.returncode == code, f"{arguments} gave {result.returncode}, not {code}:\n{result.stderr}"
    return result


def load(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def spelled_out(program, folder, report):
    run(program, "render", report, "--json", "spelled_out.json", cwd=folder)
    return load(folder / "spelled_out.json")


def complete_report(program, folder):
    (folder / "faults.json").write_text(json.dumps(FAULTS))
    (folder / "bench.json").write_text(json.dumps(BENCH))
    run(program, "report", *SOME, *KERNELS, "--with-faults", "faults.json", "--with-bench", "bench.json", cwd=folder)
    PACKED.validate(load(folder / "out/report.json"))
    return spelled_out(program, folder, "out/report.json")


def report(program, validator, folder):
    document = complete_report(program, folder)
    validator.validate(document)
    forms = {record["form"] for record in document["records"]}
    problems = {record["problem"] for record in document["records"]}
    assert forms == {"hardened", "published", "broken"}, forms
    assert "attention_backward" in problems, problems
    assert document["faults"] == FAULTS and document["bench"] == BENCH
    failing = [record for record in document["records"] if record["verdict"] == "fail"]
    assert failing and all(record["heat"]["cells"] for record in failing)
    text = (folder / "out/report.md").read_text(encoding="utf-8")
    assert text.index("## Kernel × family") < text.index("## The run") < text.index("## Kernels")
    assert "## Seeded faults x laws" in text and "## Speed" in text
    suites = xml.etree.ElementTree.parse(folder / "out/junit.xml").getroot()
    cases = [(suite.get("name"), case.get("name")) for suite in suites for case in suite.findall("testcase")]
    expected = [("run", "complete")] + [(r["kernel"], f"{r['format']}/{r['executor']}/{r['math']}/{r['family']}") for r in document["records"]]
    assert sorted(cases) == sorted(expected)
    assert not suites.findall(".//failure"), "only hardened kernels fail a CI"
    skipped = [case.find("skipped").get("message") for case in suites.iter("testcase") if case.find("skipped") is not None]
    assert any(message.startswith("expected of a published kernel: fail(") and "replay: ./flashproof replay" in message
               for message in skipped), skipped


def partial(program, validator, folder):
    with open(folder / "stderr", "w") as said:
        child = subprocess.Popen([program, "report", "--nightly", "--kernel", "*.published"], cwd=folder,
                                 stdout=subprocess.DEVNULL, stderr=said)
        deadline = time.monotonic() + 200
        while " of " not in (folder / "stderr").read_text() and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        code = child.wait(timeout=120)
    assert code == 3, f"exit code {code}: {(folder / 'stderr').read_text()}"
    document = spelled_out(program, folder, "out/report.json")
    validator.validate(document)
    PACKED.validate(load(folder / "out/report.json"))
    assert document["runs"][0]["partial"] == "interrupted before every case had run.", document["runs"][0]["partial"]
    assert document["records"], "what had run is in the report"
    run_suite = xml.etree.ElementTree.parse(folder / "out/junit.xml").getroot()[0]
    assert run_suite.get("name") == "run" and run_suite.get("failures") == "1", run_suite.attrib
    assert "interrupted" in run_suite.find("testcase[@name='complete']/failure").get("message")
    facts = {fact.get("name"): fact.get("value") for fact in run_suite.find("properties")}
    assert facts["tier"] == "nightly" and "interrupted" in facts["partial"], facts
    refused = run(program, "merge", "out/report.json", "--out", "merged", code=2, cwd=folder)
    assert "partial" in refused.stderr and refused.stderr.count("\n") == 1, refused.stderr
    merged = run(program, "merge", "out/report.json", "--out", "merged", "--allow-partial", cwd=folder)
    assert "PARTIAL    interrupted before every case had run." in merged.stdout, merged.stdout[-500:]
    validator.validate(spelled_out(program, folder, "merged/report.json"))
    assert load(folder / "merged/report.json") == load(folder / "out/report.json")


def changed(document, path, value):
    document = copy.deepcopy(document)
    node = document
    for key in path[:-1]:
        node = node[key]
    if value is None:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return document


def refuses(validator, document, wrong):
    """Every change (a path, and a value or None: without it) makes a document that the schema refuses."""
    validator.validate(document)
    for path, value in wrong:
        assert not validator.is_valid(changed(document, path, value)), f"{path} = {value} is taken"


def compare(program, validator, folder):
    some = ["report", "--quick", "--kernel", "softmax.online_*.hardened", "--family", "normal", "--format", "f32"]
    run(program, *some, "--out", "a", cwd=folder)
    run(program, *some, "--out", "other", "--seed", "50", cwd=folder)
    document = spelled_out(program, folder, "a/report.json")
    record = document["records"][0]
    record["counts"]["cases"] = {"pass": 2, "fail": 1}
    record["failures"]["cases"] = {"silently_wrong": 1}
    record["verdict"], record["witness"]["verdict"] = "fail", "fail(silently_wrong)"
    record["seeds_by_class"] = {"silently_wrong": [[record["seeds"][0][0]] * 2]}
    figure = document["records"][1]["figures"]["o"]
    bits = lambda x: struct.pack(">d", x).hex().rstrip("0")  # as in the state, which figures follow from
    figure["state"] = figure["state"].replace(bits(figure["max_ulp"]), bits(math.inf), 1)
    figure["max_ulp"] = "inf"
    document["records"].append(json.loads(json.dumps(document["records"][2]).replace(":normal:", ":zzz:")) | {"family": "zzz"})
    (folder / "b.json").write_text(json.dumps(document))
    (folder / "policy.toml").write_text('[[rule]]\nname = "hardened"\nno_class_worse = true\n')
    (folder / "waivers.toml").write_text('[[waiver]]\nid = "hardened/none"\nreason = "old"\nexpires = 2020-01-01\n')
    gate = ["--gate", "policy.toml", "--waivers", "waivers.toml", "--json", "gate.json"]
    run(program, "compare", "a/report.json", "b.json", *gate, code=1, cwd=folder)
    run(program, "compare", "a/report.json", "other/report.json", "--json", "other.json", cwd=folder)
    kernels = ["softmax.online_two_pass.hardened", "softmax.naive.published"]
    run(program, "compare", *kernels, "--quick", "--family", "normal", "--measure", "6", "--json", "pair.json", cwd=folder)
    validator.validate(load(folder / "other.json"))
    assert load(folder / "other.json")["changed"][0]["failing_p"] == 1
    gated, pair = load(folder / "gate.json"), load(folder / "pair.json")
    assert gated["gate"]["reasons"] and gated["gate"]["expired"] and gated["only_head"], gated
    assert pair["paired"]["cases"] and pair["speed"]["benchmarks"], pair
    refuses(validator, gated, [
        (["schema"], "flashproof.compare/2"), (["summary"], None), (["gate"], None), (["surplus"], 1), (["caveats"], "none"),
        (["changed", 0, "class_change", "to"], "wrong"), (["changed", 0, "class_change", "moves", 0, "cases"], 0),
        (["changed", 0, "head", "classes", "fail"], 1), (["changed", 0, "head", "figures", "o", "rmse"], -1),
        (["changed", 0, "error"], "much"), (["changed", 0, "base", "witness", "replay"], None),
        (["gate", "passes"], "no"), (["gate", "expired", 0, "expires"], "soon"), (["only_head", 0, "executor"], "tpu")])
    refuses(validator, pair, [
        (["paired", "groups", 0, "surplus"], 1), (["paired", "cases", 0, "base"], "fail"),
        (["paired", "cases", 0, "head_figures", 0], "much"), (["speed", "benchmarks", 0, "ratio"], None),
        (["speed", "benchmarks", 0, "base_count"], -1), (["speed", "how"], 3)])


def controls(program, validator, folder):
    document = complete_report(program, folder)
    packed = load(folder / "out/report.json")
    worst = next(i for i, r in enumerate(packed["records"]) if r["verdict"] == "fail")
    refuses(PACKED, packed, [
        (["schema"], "flashproof.report/5"), (["state"], None), (["state"], "a b"), (["records", 0, "verdict"], "right"),
        (["records", 0, "decided"], 1.5), (["records", 0, "max_ratio"], -1), (["records", 0, "surplus"], 1), (["surplus"], 1),
        (["records", worst, "failures"], {"class_mismatch": 0}), (["records", 0, "cases"], None)])
    failing = next(i for i, r in enumerate(document["records"]) if r["verdict"] == "fail")

    def at(path):
        node = document_copy
        for key in path[:-1]:
            node = node[key]
        return node, path[-1]

    wrong = [(["schema"], "flashproof.report/3"), (["records"], {}), (["runs"], []), (["runs", 0, "partial"], True),
             (["runs", 0, "seed"], -1), (["runs", 0, "tier"], "weekly"), (["records", failing, "verdict"], "failed"),
             (["records", failing, "max_ratio"], "infinity"), (["records", failing, "max_ratio"], -0.5),
             (["records", failing, "heat", "cells", 0], "?"), (["records", failing, "seeds"], [[0]]),
             (["records", failing, "witness", "replay"], ""), (["records", failing, "kernel"], "Softmax"),
             (["records", 0, "figures", "o"], None), (["records", 0, "profile", "length", 0, 1], 0), (["records", 0, "profile", "length", 0], [1, 1, 0.5]),
             (["records", 0, "profile", "length", 0], [1, 1, 0.5, 0.5, 0]), (["records", 0, "counts", "cases", "fail"], 0),
             (["faults", "faults", 0, "laws", "within_bound", "rejects"], "yes"), (["bench"], [])]
    for path, value in wrong:
        document_copy = copy.deepcopy(document)
        node, key = at(path)
        node[key] = value
        assert not validator.is_valid(document_copy), f"{path} = {value} is taken"
    for path in [["runs", 0, "date"], ["records", 0, "profile"], ["records", failing, "witness", "seed"], ["bench"]]:
        document_copy = copy.deepcopy(document)
        node, key = at(path)
        del node[key]
        assert not validator.is_valid(document_copy), f"{path} may be missing"
    for path in [[], ["runs", 0], ["records", 0], ["records", 0, "figures"], ["records", 0, "counts", "cases"]]:
        document_copy = copy.deepcopy(document)
        node, _ = at(path + [""])
        node["surplus"] = 1
        assert not validator.is_valid(document_copy), f"{path} may hold anything"
    validator.validate(document)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("report", "partial", "controls", "compare"):
        sys.exit(__doc__)
    schema = load(sys.argv[3])
    jsonschema.Draft202012Validator.check_schema(schema)
    with tempfile.TemporaryDirectory(prefix="flashproof-schema-") as name:
        globals()[sys.argv[1]](os.path.abspath(sys.argv[2]), jsonschema.Draft202012Validator(schema), pathlib.Path(name))
    print(f"{sys.argv[1]}: as it should be")
