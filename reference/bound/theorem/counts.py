"""The counts of the C++ code beside those of the trees: per key the rescales and the roundings on its way (Counts.v)."""
import re

FORMS = ("strided_online", "chunked_online", "chunked_local", "max_sum_fold", "max_sum_tree")
# The code may count more, never less: chunked_online has the first key of a lane, added to 0, for an addition, and the first sum.
SPARE = dict.fromkeys(FORMS, 0) | {"chunked_online": 2}


def term(plan):
    form, lanes, deal, warps, chunk, *_ = plan
    keys = [f"({j}, ({x})%Z)" for j, (x, *_) in enumerate(plan[5])]
    if form == "strided_online":
        return f"table (strided_online {lanes} {deal} [{'; '.join(keys)}])"
    if form.startswith("max_sum"):
        return f"table ({form} [{'; '.join(keys)}])"
    runs = [f"[{'; '.join(keys[at:at + chunk])}]" for at in range(0, len(keys), chunk)]
    return f"table ({form} {lanes} {deal} {warps} [{'; '.join(runs)}])"


def parse(lines):
    plans = []
    for line in lines:
        form, *rest = line.split()
        if form in FORMS:
            lanes, deal, warps, chunk, *numbers = map(int, rest)
            plans.append((form, lanes, deal, warps, chunk, [tuple(numbers[i:i + 4]) for i in range(0, len(numbers), 4)]))
    return plans


def violations(plan, proved):
    """Keys of which the code counts too little, or needlessly much."""
    bad = []
    for j, (_, _, rescales, roundings) in enumerate(plan[5]):
        moves, errors = proved[j]
        if rescales != moves or not 0 <= roundings - errors <= SPARE[plan[0]]:
            bad.append(f"{plan[:5]} key {j}: the code counts {rescales} rescales and {roundings} roundings, the tree has {moves} and {errors}")
    return bad


def check(folder, coqc, lines):
    plans = parse(lines)
    if sorted({plan[0] for plan in plans}) != sorted(FORMS) or len(plans) < 30:
        return [f"rows.cc printed {len(plans)} plans"]
    source = "From Coq Require Import ZArith List.\nFrom Flashproof Require Import Counts.\nImport ListNotations.\nOpen Scope nat_scope.\n"
    source += "Set Printing Width 1000000.\nSet Printing Depth 1000000.\n"
    source += "".join(f"Eval vm_compute in {term(plan)}.\n" for plan in plans)
    (folder / "Plans.v").write_text(source)
    result = coqc(folder, "Plans.v")
    answers = re.findall(r"=\s*(\[.*?\])\s*:", result.stdout, re.S)
    if result.returncode or len(answers) != len(plans):
        return [f"the trees' counts were not computed: {len(answers)} of {len(plans)}; {result.stderr}"]
    failures, keys = [], 0
    for plan, answer in zip(plans, answers):
        proved = {int(k): (int(m), int(e)) for k, m, e in re.findall(r"\((\d+), \((\d+), (\d+)\)\)", answer)}
        if sorted(proved) != list(range(len(plan[5]))):
            failures.append(f"{plan[:5]}: the tree has the keys {sorted(proved)}")
            continue
        keys += len(proved)
        failures += violations(plan, proved)
        # Negative control: a rounding less for every key is noticed.
        fewer = (*plan[:5], [(x, f, m, e - 1 - SPARE[plan[0]]) for x, f, m, e in plan[5]])
        if not violations(fewer, proved):
            failures.append(f"{plan[:5]}: a rounding less goes unnoticed")
    print(f"counts: {len(plans)} plans, {keys} keys")
    return failures
