#!/usr/bin/env python3
"""A report for the tests of the page and for looking at it: example.py FLASHPROOF-CLI [--records N] [--hostile] > report.json

What the program reports of a few families, and its records again under other names until there are N; some of a published
kernel stand for a hardened one that fails. --hostile puts markup, quotes and control characters into every string that is
free to hold any.
"""
import argparse
import copy
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

KERNELS = ["softmax.*ed", "merge.*ed", "attention.*ed", "attention_backward.*ed"]
FAMILIES = ["normal", "sum_overflow", "mask_row", "near_ties", "overflow_edge", "equal"]
EVIL = "<img src=x onerror=\"window.pwned=1\">'\"`&amp;</script><script>window.pwned=2</script><!--\u2028\u2029\x00\x1b[31m\x7f\u202e"


def measured(program):
    """report.json of the program on the families, every kernel of no more than one file per problem."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "report", "--quick", "--out", folder]
        command += [word for option, list_ in (("--kernel", KERNELS), ("--family", FAMILIES), ("--format", ["f32", "bf16"]))
                    for value in list_ for word in (option, value)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 4):  # 4: of kernels on so few cases little is decided
            sys.exit(done.stderr)
        full = pathlib.Path(folder) / "full.json"
        subprocess.run([program, "render", pathlib.Path(folder) / "report.json", "--json", full], check=True, capture_output=True)
        return json.loads(full.read_text())


def renamed(record, kernel, family):
    record = copy.deepcopy(record)
    old_kernel, old_family = record["kernel"], record["family"]
    record.update(kernel=kernel, family=family, form=kernel.rsplit(".", 1)[1])
    if witness := record["witness"]:
        for key in ("case", "replay"):
            witness[key] = witness[key].replace(f":{old_family}:", f":{family}:").replace(old_kernel, kernel)
    return record


def all_records(report):
    """A hardened kernel that fails, those of the report, then copies under other names. What the report investigates it names, so that it is not copied."""
    odd = {(i["kernel"], i["format"], i["family"]) for i in report["investigate"]}
    plain = [r for r in report["records"] if (r["kernel"], r["format"], r["family"]) not in odd]
    for r in plain:
        if r["kernel"] == "softmax.naive.published":
            yield renamed(r, "softmax.naive_again.hardened", r["family"])
    yield from report["records"]
    for n in itertools.count(2):
        for r in plain:
            yield renamed(r, r["kernel"], f"{r['family']}_{n}")


def faults():
    laws = ["within_bound", "class_matches_semantics", "merge_commutes", "permutation_equivariant", "no_race", "shift_invariant"]
    listed = []
    for i in range(1, 13):
        rejects = laws[i % 3:][:1 + i % 4] if i != 12 else []
        listed.append({
            "number": str(i), "id": f"softmax.broken.defect_{i}", "kernel": "softmax.safe.hardened",
            "defect": "subtracts the maximum of the first tile only", "from": "public thread",
            "laws": {law: {"rejects": law in rejects, "executed": 3 * (i % 2) if law not in rejects else 3,
                           **({"case": "softmax:normal:1", "detail": "outside its bound"} if law in rejects else {})}
                     for law in laws},
            "habits": {"allclose": {"sees": i % 3 == 0, "where": ""}, "twice_reference": {"sees": i % 4 == 0, "where": ""}}})
        if i % 4 == 0:
            listed[-1]["dose"] = {"unit": "ulp", "registered": 100.0, "ladder": [10.0, 100.0]}
    return {"partial": False, "faults": listed, "survivors": sum(not any(l["rejects"] for l in f["laws"].values()) for f in listed)}


def bench():
    names = ["softmax.online_block.hardened/f32/16x4096", "attention.deferred.hardened/f32/16x64x32", "fiber_switch"]
    return {"context": {"host_name": "example", "num_cpus": 2, "library_build_type": "release"},
            "benchmarks": [{"name": n, "run_type": "iteration", "iterations": 100, "real_time": 1.5 * 10**i, "cpu_time": 1.4 * 10**i,
                            "time_unit": "us", **({"items_per_second": 2.9e7 / 10**i} if i < 2 else {})} for i, n in enumerate(names)]}


def document(program, count):
    report = measured(program)
    records = list(itertools.islice(all_records(report), max(count, 1)))
    # A list of what to investigate is one of the records that are there.
    kept = {(r["kernel"], r["format"], r["family"]) for r in records}
    report["investigate"] = [i for i in report["investigate"] if (i["kernel"], i["format"], i["family"]) in kept]
    report.update(records=records, faults=faults(), bench=bench())
    return report


# Texts that a report is free to choose; all others follow from its figures, or are names.
FREE = {"compiler", "cuda_compiler", "flags", "revision", "cpu", "gpu", "date", "command_line", "profile", "partial", "detail", "file", "defect",
        "number", "from", "unit", "host_name", "where", "library_build_type", "time_unit"}


def hostile(value, key=""):
    if isinstance(value, dict):
        if key in ("laws",):
            return {k + EVIL: hostile(v, k) for k, v in value.items()}
        changed = {k: hostile(v, k) for k, v in value.items()}
        if key in ("assumption", "preconditions", "benchmarks"):
            changed = {k: v + EVIL if isinstance(v, str) else v for k, v in changed.items()}
        return changed
    if isinstance(value, list):
        return [hostile(v, key) for v in value]
    return value + EVIL if isinstance(value, str) and key in FREE else value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--records", type=int, default=400)
    parser.add_argument("--hostile", action="store_true")
    arguments = parser.parse_args()
    report = document(arguments.program, arguments.records)
    print(json.dumps(hostile(report) if arguments.hostile else report, indent=1))


if __name__ == "__main__":
    main()
