#!/usr/bin/env python3
"""A made-up flashproof.report/5, for the tests of the page and for looking at it: example.py [--records N] [--hostile] > report.json

The numbers are drawn, not measured. The same arguments give the same bytes. --hostile puts markup, quotes and control
characters into every string that is free to hold any.
"""
import argparse
import json
import math
import random

ALGORITHMS = {
    "softmax": ["naive", "safe", "eager_safe", "three_pass", "fused_row", "lse_unshifted", "lse_division_free",
                "online_element", "online_chunk", "online_block", "online_two_pass", "split_row", "warp_per_row"],
    "merge": ["nway", "pairwise_naive", "pairwise_stable", "pairwise_tree", "ring_update", "division_free", "states"],
    "attention": ["deferred", "fused", "lse_running", "online_chunk", "online_chunk_split", "online_element", "paged",
                  "recap_normalized", "subtract_scale", "three_stage", "mma_f16"],
    "attention_backward": ["atomic_dq", "fused", "two_kernels"],
}
FAMILIES = {
    "softmax": ["normal", "descending", "ramp", "equal", "huge", "deep_negative", "flat_tail", "mask_first_tile",
                "mask_middle_tile", "mask_row", "overflow_edge", "sum_overflow", "near_ties", "offset_rising",
                "duplicate_maxima", "edge_floats", "spike_last", "subnormal_sum"],
    "merge": ["normal", "lse_gaps", "merge_tree", "chunk_order", "empty_states", "sum_overflow", "sentinels", "joins",
              "equal", "near_ties"],
    "attention": ["normal", "mask_first_tile", "mask_middle_tile", "mask_one_survivor", "mask_random", "gqa", "alibi",
                  "sink", "paged", "max_window", "cancelling_v", "cancelling_dot", "one_signed_v", "overflow_edge",
                  "logit_spread", "rescale_threshold", "dims", "feature_mix", "packed", "softcap", "near_matches"],
    "attention_backward": ["normal", "mask_row", "gqa", "cancelling_v", "logit_spread", "one_signed_v"],
}
ULP = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
FAILURES = ["exceeds_bound", "class_mismatch", "laundering", "leak", "silently_wrong", "nondeterministic", "unwritten",
            "error"]
KINDS = ["pass", "undecided", "vacuous", "out_of_domain", "unsupported", "inconclusive", "fail"]
EVIL = "<img src=x onerror=\"window.pwned=1\">'\"`&amp;</script><script>window.pwned=2</script><!--\u2028\u2029\x00\x1b[31m\x7f\u202e"


def number(x):
    return "nan" if x != x else "inf" if x == math.inf else "-inf" if x == -math.inf else x


def octaves(draw, peak, spread, elements):
    """floor(log2) -> elements, around a peak."""
    bins = {}
    for step in range(-spread, spread // 3 + 1):
        n = int(elements * math.exp(-((step / (spread / 2.2)) ** 2)) / spread * (0.7 + 0.6 * draw.random()))
        if n > 0:
            bins[str(peak + step)] = n
    return bins


def figure(draw, fmt, ratio, elements, failing):
    ulps = ratio * draw.uniform(2, 6)
    u = ULP[fmt]
    return {
        "elements": elements, "finite_elements": elements - failing,
        "classes": {"finite": elements - failing, "inf": 0, "-inf": 0, "nan": failing},
        "max_abs": ulps * u, "mean_abs": ulps * u / 9, "max_ulp": ulps, "rmse": ulps * u / 6, "normwise": ulps * u / 5,
        "max_ratio": number(ratio),
        "bias": {"mean": draw.uniform(-0.02, 0.02), "limit": 0.05, "biased": False, "elements": elements, "rows": 64},
        "probable": {"investigate": 0, "max_ratio": ratio * 0.8},
        "ratio_octaves": octaves(draw, math.floor(math.log2(max(ratio, 1e-9))) - 4, 12, elements),
        "ulp_octaves": {"zero": elements // 7, **octaves(draw, math.floor(math.log2(max(ulps, 1e-9))) - 3, 9, elements)},
        "state": "0",
    }


def points(draw, low, high, ratio):
    edges = sorted(draw.sample(range(low, high), min(4, high - low)))
    return [[2.0**e, draw.randint(1, 4), ratio * (0.35 + 0.6 * (i + 1) / len(edges)), ratio * draw.uniform(2, 5)] for i, e in enumerate(edges)]


def heat(draw, failure, tensor):
    rows, cols = draw.choice([(16, 32), (64, 64), (8, 24)])
    letter = {"class_mismatch": "N", "unwritten": "U", "laundering": "F"}.get(failure, "X")
    first, last = sorted(draw.sample(range(rows), 2))
    cells = ["".join(letter if first <= r <= last and c % 8 < 5 else draw.choice("00112345.") for c in range(cols))
             for r in range(rows)]
    return {"tensor": tensor, "rows": rows * 2, "cols": cols, "cell_rows": 2, "cell_cols": 1, "cells": cells}


def record(draw, kernel, problem, form, fmt, family):
    roll = draw.random()
    bad = {"published": 0.12, "broken": 0.7, "hardened": 0.002}[form]
    verdict = "fail" if roll < bad else "unsupported" if roll < bad + 0.03 else "out_of_domain" if roll < bad + 0.05 else "pass"
    cases = draw.choice([4, 8, 8, 12])
    elements = cases * draw.choice([64, 512, 2048])
    failure = draw.choice(FAILURES[:2] * 3 + ["silently_wrong", "unwritten"]) if verdict == "fail" else None
    failing = draw.randint(1, cases) if failure else 0
    ratio = draw.betavariate(3, 5) if failure is None else draw.choice([1.7, 240.0, math.inf])
    nothing = verdict in ("unsupported", "out_of_domain")
    tensors = ["dq", "dk", "dv"] if problem == "attention_backward" else ["o", "lse"]
    counts = dict.fromkeys(KINDS, 0)
    counts[verdict] = failing or cases
    counts["pass"] += cases - sum(counts.values())
    shares = [draw.random() for _ in range(4)]
    terms = ["weights", "numerator", "denominator", "output"]
    case = f"{problem}:{family}:{draw.randrange(12)}:format={fmt}"
    figures = {} if nothing else {t: figure(draw, fmt, ratio if ratio < math.inf else 0.9, elements // (32 if t == "lse" else 1), failing)
                                  for t in tensors}
    if figures:
        figures[tensors[0]]["max_ratio"] = number(ratio)
    all_elements, all_failing = sum(f["elements"] for f in figures.values()), failing * len(figures)
    element = random.Random(0) if nothing else draw
    return {
        "kernel": kernel, "problem": problem, "form": form, "format": fmt, "executor": "cpu", "math": "det",
        "family": family, "cases": cases, "verdict": verdict,
        "counts": {"cases": counts,
                   "elements": {**dict.fromkeys(KINDS, 0), "pass": all_elements - all_failing, "fail": all_failing}},
        "failures": {"cases": {f: failing if f == failure else 0 for f in FAILURES},
                     "elements": {f: all_failing if f == failure else 0 for f in FAILURES}},
        "power": {t: {"share": 1.0, "decided": f["elements"]} for t, f in figures.items()},
        "max_ratio": None if nothing else number(ratio),
        "terms": None if nothing else {
            **{t: s * ULP[fmt] for t, s in zip(terms, shares)}, "dominating": terms[shares.index(max(shares))],
            "share": max(shares) / sum(shares), "probable": 1e-7, "drift": 1e-8},
        "refined": 0,
        "domain": {"rows": cases * 8, "outside": cases * 8 if verdict == "out_of_domain" else 0, "preconditions": []},
        "figures": figures,
        "profile": {"length": [], "magnitude": [], "merges": []} if nothing else {
            "length": points(draw, 0, 11, min(ratio, 30)), "magnitude": points(draw, -4, 12, min(ratio, 30)),
            "merges": points(draw, 0, 9, min(ratio, 30))},
        "heat": heat(draw, failure, tensors[0]) if failure else None,
        "laws": {"within_bound": counts, "class_matches_semantics": counts},
        "witness": None if verdict == "unsupported" else {
            "case": case, "verdict": f"fail({failure})" if failure else verdict,
            "detail": f"{tensors[0]}[{element.randrange(512)}] is off by more than its bound" if failure else "",
            "tensor": tensors[0], "index": element.randrange(512), "computed": element.gauss(0, 1), "exact": element.gauss(0, 1),
            "error": ratio * 1e-7 if ratio < math.inf else "inf", "ratio": number(ratio),
            "replay": f"./flashproof replay {case} --kernel {kernel}"},
        "ledger": {"ratio": 0.84, "beaten": False} if form == "hardened" and not nothing else None,
    }


def all_records(draw, wanted):
    """Rounds over seeds' worth of families until there are enough: a second round has families of its own names."""
    round_number = 0
    while True:
        for problem, algorithms in ALGORITHMS.items():
            for algorithm in algorithms:
                for form in ["hardened"] if problem == "attention_backward" else ["hardened", "published"]:
                    for family in FAMILIES[problem]:
                        name = family if round_number == 0 else f"{family}_{round_number + 1}"
                        for fmt in ULP:
                            if wanted == 0:
                                return
                            wanted -= 1
                            yield record(draw, f"{problem}.{algorithm}.{form}", problem, form, fmt, name)
        round_number += 1


def faults(draw):
    laws = ["within_bound", "class_matches_semantics", "merge_commutes", "permutation_equivariant", "no_race", "shift_invariant"]
    listed = []
    for i in range(1, 13):
        rejects = draw.sample(laws, draw.randint(1, 4)) if i != 12 else []
        listed.append({
            "number": str(i), "id": f"softmax.broken.defect_{i}", "kernel": "softmax.safe.hardened",
            "defect": "subtracts the maximum of the first tile only", "from": "public thread",
            "laws": {law: {"rejects": law in rejects, "executed": draw.randint(0, 40) if law not in rejects else 3,
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


def document(count, seed):
    draw = random.Random(seed)
    records = list(all_records(draw, count))
    return {
        "schema": "flashproof.report/5",
        "runs": [{"compiler": "g++ 12.2.0", "cuda_compiler": "", "flags": "-O3 -DNDEBUG -ffp-contract=off -march=x86-64-v3",
                  "revision": "0123456789abcdef0123456789abcdef01234567", "cpu": "Example CPU 9000", "gpu": "not used", "seed": 0,
                  "tier": "standard", "executors": "cpu", "command_line": "flashproof report", "math": "det", "profile": "",
                  "partial": None, "cases": 1200, "kernel_runs": sum(r["cases"] for r in records), "date": "2026-11-22",
                  "timing": {"wall_seconds": 301.25}}],
        "records": records,
        "investigate": [{"kernel": r["kernel"], "format": r["format"], "executor": "cpu", "math": "det", "family": r["family"],
                         "tensor": "o", "what": "above_probable", "elements": 4, "of": 960, "ratio": 1.3, "case": "softmax:normal:1",
                         "index": 7, "error": 1e-7, "probable": 8e-8, "bound": 3e-7,
                         "assumption": {"key": "independent_roundings", "text": "rounding errors are independent"}}
                        for r in records[:3]],
        "faults": faults(draw), "bench": bench(),
    }


# What the page's logic looks at: these keep their values, in a hostile document too.
WORDS = set(KINDS + FAILURES + [f"fail({f})" for f in FAILURES] + ["schema", "inf", "-inf", "nan", "hardened", "published", "flashproof.report/5"])


def hostile(value, key=""):
    if isinstance(value, dict):
        return {k: hostile(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [hostile(v, key) for v in value]
    if not isinstance(value, str) or value in WORDS or key == "cells":
        return value
    return value + EVIL


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hostile", action="store_true")
    arguments = parser.parse_args()
    report = document(arguments.records, arguments.seed)
    print(json.dumps(hostile(report) if arguments.hostile else report, indent=1))


if __name__ == "__main__":
    main()
