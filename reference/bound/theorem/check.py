"""Checks the machine-checked core: check.py --build FOLDER --rows PROGRAM.

Compiles the development from nothing; nothing in it is admitted; its axioms are those of axioms.txt; the constants of the C++ headers
satisfy what the proofs need of them, and smaller ones do not; each theorem is named in a derivation, and each name in the Markdown exists; the
counts of PROGRAM (rows.cc) are those of the trees of Counts.v; its closed forms are at least Row.bound, evaluated anew (evaluate.py).
Prints SKIPPED without Coq, unless FLASHPROOF_REQUIRE_PROOFS is set (CI). Exits with 1 if anything fails.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

import constants
import counts
import evaluate

HERE = pathlib.Path(__file__).resolve().parent
BOUND = HERE.parent
MODULES = ["Units", "Row", "Trees", "Rounding", "Factors", "Online", "Exponents", "Frames", "Merges", "Boxes", "Running", "Needed", "Counts"]
FORBIDDEN = re.compile(r"\b(Admitted|admit|Axioms?|Parameters?|Conjectures?|Abort|bypass_check|Unset\s+(Guard|Positivity|Universe)\s+Checking)\b")
THEOREM = re.compile(r"^Theorem (\w+)", re.M)


def coqc(folder, *arguments):
    return subprocess.run(["coqc", "-q", "-Q", ".", "Flashproof", *arguments], cwd=folder, capture_output=True, text=True)


def installed(folder):
    if shutil.which("coqc") is None:
        return False
    (folder / "Probe.v").write_text("From Flocq Require Import Core.\nFrom Interval Require Import Tactic.\n")
    return coqc(folder, "Probe.v").returncode == 0


def without_comments(text):
    return re.sub(r"\(\*.*?\*\)", "", text, flags=re.S)


def compile_all(folder):
    failures = []
    on_disk = sorted(path.stem for path in HERE.glob("*.v"))
    if on_disk != sorted(MODULES):
        failures.append(f"files {on_disk} are not the modules of check.py")
    for module in MODULES:
        text = (HERE / f"{module}.v").read_text()
        found = FORBIDDEN.search(without_comments(text))
        if found:
            failures.append(f"{module}.v: {found.group()}")
        (folder / f"{module}.v").write_text(text)
        result = coqc(folder, f"{module}.v")
        if result.returncode:
            failures.append(f"{module}.v does not compile: {result.stdout}{result.stderr}")
            return failures
    return failures


def theorems():
    return [f"{m}.{name}" for m in MODULES for name in THEOREM.findall(without_comments((HERE / f"{m}.v").read_text()))]


def axioms_of(folder, modules, names):
    """The axioms of all the names at once: those of one term that holds them all."""
    source = "".join(f"From Flashproof Require {m}.\n" for m in modules)
    source += "Definition all := (" + ",\n  ".join(f"@{name}" for name in names) + ").\nPrint Assumptions all.\n"
    (folder / "Assumptions.v").write_text(source)
    result = coqc(folder, "Assumptions.v")
    if result.returncode:
        return None, result.stderr
    # Also "X is assumed to be positive", of a check that was switched off.
    return re.findall(r"^([A-Za-z]\w*(?:\.\w+)+)\s*(?=:|\n|is assumed|relies)", result.stdout, re.M), result.stdout


def beyond(axioms, group):
    allowed = [line.split()[1] for line in (HERE / "axioms.txt").read_text().splitlines() if line.split()[:1] in ([group], ["core"])]
    return [a for a in axioms if not any(a == b or b.endswith(".") and a.startswith(b) for b in allowed)]


def check_axioms(folder):
    failures = []
    for group, modules, names in (("core", MODULES, theorems()), ("constants", ["Constants"], constants.names())):
        axioms, output = axioms_of(folder, modules, names)
        if not axioms:
            failures.append(f"no assumptions of {group} were printed: {output}")
            continue
        failures += [f"axiom of {group} beyond axioms.txt: {a}" for a in beyond(axioms, group)]
        print(f"{group}: {len(names)} theorems, {len(set(axioms))} axioms")
    # Negative control: an axiom of one's own is seen, and a check of Coq's that is switched off.
    for cheat in ("Axiom cheat : forall P : Prop, P.\nTheorem easy_win : 0 = 1. Proof. apply cheat. Qed.\n",
                  "Unset Positivity Checking.\nInductive bad : Set := make : (bad -> False) -> bad.\n"
                  "Theorem easy_win : bad -> False. Proof. intro b. inversion b. apply H. exact b. Qed.\n"):
        (folder / "Cheat.v").write_text(cheat)
        coqc(folder, "Cheat.v")
        axioms, output = axioms_of(folder, ["Cheat"], ["Cheat.easy_win"])
        if not axioms or not beyond(axioms, "core"):
            failures.append(f"what proves anything goes unnoticed: {output}")
    return failures


def check_constants(folder):
    failures = []
    (folder / "Constants.v").write_text(constants.source(BOUND, 1))
    result = coqc(folder, "Constants.v")
    if result.returncode:
        failures.append(f"a constant of the C++ headers does not do: {result.stderr}")
    for name in constants.names():  # negative control, one by one
        short = name.split(".")[1].removesuffix("_holds")
        (folder / "Lowered.v").write_text(constants.source(BOUND, constants.WORSE[short], only=short))
        if coqc(folder, "Lowered.v").returncode == 0:
            failures.append(f"{short}, made worse, is proved too: its proof shows nothing")
    print(f"constants: {len(constants.names())} proved, each refused when made worse")
    return failures


def named_in(paths):
    text = "".join(path.read_text() for path in paths)
    return set(re.findall(r"`((?:%s)\.\w+)`" % "|".join(MODULES), text)) - {f"{m}.v" for m in MODULES}


def check_names():
    known = set(theorems())
    # Without the table here, which lists the theorems and derives nothing.
    derivations = named_in([*BOUND.glob("*.md"), *(BOUND / room / "README.md" for room in ("softmax", "merge", "attention"))])
    named = derivations | named_in([HERE / "README.md"])
    print(f"names: {len(derivations)} in the derivations, {len(known)} theorems")
    return [f"named in the Markdown, not proved: {n}" for n in sorted(named - known)] + \
        [f"proved, not named in a derivation: {n}" for n in sorted(known - derivations)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--rows", required=True)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.build, ignore_errors=True)
    arguments.build.mkdir(parents=True)
    if not installed(arguments.build):
        required = os.environ.get("FLASHPROOF_REQUIRE_PROOFS")
        print(f"{'FAILED' if required else 'SKIPPED'}: not installed: apt-get install coq libcoq-flocq libcoq-interval")
        return 1 if required else 0
    failures = compile_all(arguments.build)
    if not failures:
        lines = subprocess.run([arguments.rows], capture_output=True, text=True, check=True).stdout.splitlines()
        failures += check_constants(arguments.build) + check_axioms(arguments.build) + check_names()
        failures += counts.check(arguments.build, coqc, lines) + evaluate.check(lines)
    print("\n".join(f"FAILED: {failure}" for failure in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
