#!/usr/bin/env python3
"""Sums the counts that the property tests left behind: per law the cases executed, vacuous and unsupported.

usage: summary.py FOLDER     what flashproof-properties --json wrote, one file or more

Exit 1 if a law of properties/laws/laws.cmake executed no case, or if there is nothing to sum: a run that tested nothing must not look like one that
passed. The counts per law, kernel and family stand in the files.
"""
import json
import pathlib
import re
import sys

KINDS = ("pass", "fail", "inconclusive", "undecided", "out_of_domain", "vacuous", "unsupported")


def main(folder):
    files = sorted(pathlib.Path(folder).glob("*.json"))
    if not files:
        sys.exit(f"flashproof: no counts in {folder}")
    listed = pathlib.Path(__file__).parents[1] / "laws/laws.cmake"
    seeds, laws = set(), {law: [] for law in re.findall(r"^flashproof_law\(\w+/(\w+)\)$", listed.read_text(), re.M)}
    for file in files:
        run = json.loads(file.read_text())
        seeds.add(run["seed"])
        for result in run["results"]:
            laws.setdefault(result["law"], []).append(result)
    idle = []
    print(f"{'law':<46}{'kernels':>8}{'families':>9}" + "".join(f"{kind:>14}" for kind in KINDS))
    for law, results in sorted(laws.items()):
        counts = {kind: sum(result["cases"][kind] for result in results) for kind in KINDS}
        executed = counts["pass"] + counts["fail"]
        families = {family for result in results for family in result.get("families", {})
                    if set(result["families"][family]) & {"pass", "fail"}}
        kernels = sum(1 for result in results if not result["skipped"])
        print(f"{law:<46}{kernels:>8}{len(families):>9}" + "".join(f"{counts[kind]:>14}" for kind in KINDS))
        if executed == 0:
            idle.append(law)
    print(f"seed {', '.join(map(str, sorted(seeds)))}; per kernel and family: {folder}/*.json")
    if idle:
        sys.exit(f"flashproof: no case executed by {', '.join(idle)}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: summary.py FOLDER")
    main(sys.argv[1])
