"""Proves the scalar lemmas that README.md uses: prove.py [root of the repository].

Every script beside this file is run by Gappa twice: with the claim that the code relies on, read from the C++ sources
where it stands as a constant there, which must be proved; and with a slightly smaller one, which must not be, so that a
script that proves anything at all is noticed. Exits with 1 if either goes wrong, prints SKIPPED without Gappa.
"""
import math
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
U = 2.0**-24


def constant(root, header, name):
    text = (pathlib.Path(root) / header).read_text()
    found = re.search(rf"inline constexpr double {name} = ([^;]+);", text)
    if found is None:
        sys.exit(f"{header}: no constant {name}")
    literal = found.group(1)
    return float.fromhex(literal) if "0x" in literal else float(literal)


def roundings(n):
    """growth(roundings(n)) of row_model.h."""
    return math.expm1(n * (U + U * U))


def claims(root):
    """script -> (claim, a claim that is too small)."""
    slope = constant(root, "reference/bound/row/row_model.h", "kScaledExponentSlope")
    return {
        "scaled_exponent": (slope, slope * 0.99),
        "pairwise_weights": (roundings(2), roundings(0.9)),
        "chunk_update": (roundings(4), roundings(3.5)),
        "reciprocal_ending": (roundings(2), roundings(1.5)),
        "matrix_step": (5 * 2.0**-25, 4 * 2.0**-25),
    }


def proved(script, claim):
    text = (HERE / f"{script}.gappa").read_text().replace("CLAIM", f"{claim:.30e}")
    result = subprocess.run(["gappa"], input=text, capture_output=True, text=True)
    return result.returncode == 0 and "Error" not in result.stderr


def main(root):
    if shutil.which("gappa") is None:
        print("SKIPPED: gappa is not installed")
        return 0
    failures = 0
    table = claims(root)
    for script in sorted(path.stem for path in HERE.glob("*.gappa")):
        claim, too_small = table[script]
        good, bad = proved(script, claim), proved(script, too_small)
        failures += not good or bad
        print(f"{script}: {claim:.6e} {'proved' if good else 'NOT PROVED'}; "
              f"{too_small:.6e} {'PROVED TOO: the script proves nothing' if bad else 'refused'}")
    return 1 if failures or set(table) != {path.stem for path in HERE.glob("*.gappa")} else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else HERE.parents[2]))
