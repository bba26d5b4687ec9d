"""Negative controls: prove.py must fail when a coefficient or a claim in the headers is wrong, and say what failed."""
import contextlib
import io
import pathlib
import shutil
import sys
import tempfile

import prove

ROOT = prove.HERE.parents[2]
# (proof, header, literal now, literal put in its place, what the message must name)
MUTATIONS = [
    ("exp", "kExpProvenError", "1.31 * 0x1p-53", "1.0 * 0x1p-53", "proven bound is above the claim"),
    ("exp", "kExpError", "0x1p-52", "0x1p-53", "kExpError is below"),
    ("exp", "kExpC2", "0x1.000000000000ap-1", "0x1.000000000000bp-1", "exp_polynomial"),  # one ulp
    ("exp", "kExpC11", "0x1.ad92d1e47a0d8p-26", "0x1.ad93d1e47a0d8p-26", "exp_polynomial"),
    ("exp", "kLn2Low", "0x1.ef35793c7673p-45", "0x1.ef35793c7p-45", "exp_polynomial"),
    ("exp", "kLn2High", "0x1.62e42fefa38p-1", "0x1.62e42fefa39p-1", "exp_polynomial"),
    ("exp", "kExpShifter", "0x1.8p52", "0x1.8p51", "exp_reduction"),
    ("exp", "kExpHighest", "709", "710", "exp_reduction"),
    ("dd_exp", "kDdExpProvenError", "0x1.5p-97", "0x1p-97", "proven bound is above the claim"),
    ("dd_exp", "kDdExpError", "0x1p-94", "0x1p-98", "kDdExpError is below"),
    ("dd_exp", "kDdExpC3Low", "0x1.5555555555555p-57", "0", "dd_exp_polynomial"),
    ("dd_exp", "kDdExpC10", "0x1.27e4fb7789f5cp-22", "0x1.28e4fb7789f5cp-22", "dd_exp_polynomial"),
    ("dd_exp", "kDdLn2Middle", "0x1.ef35793c768p-45", "0x1.ef35793c767p-45", "dd_exp_polynomial"),
    ("dd_exp", "kDdLn2Low", "-0x1.9ff0342542fc3p-90", "-0x1.9ff03425p-90", "dd_exp_polynomial"),
    ("dd_exp", "kDdSquareError", "5 * 0x1p-106", "2 * 0x1p-106", "dd_operations"),
    ("dd_exp", "kDdAddError", "4 * 0x1p-106", "2 * 0x1p-106", "dd_operations"),
]


def main():
    if prove.missing_tools():
        print(f"SKIPPED: {' and '.join(prove.missing_tools())} not installed")
        return 0
    failures = 0
    for proof, name, now, mutant, reason in MUTATIONS:
        with tempfile.TemporaryDirectory() as folder:
            changed = 0
            for header in prove.HEADERS:
                copy = pathlib.Path(folder) / "reference/oracle" / header
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / "reference/oracle" / header, copy)
                text = copy.read_text()
                changed += text.count(f" {name} = {now};")
                copy.write_text(text.replace(f" {name} = {now};", f" {name} = {mutant};"))
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                status = prove.main([proof, folder])
        noticed = changed == 1 and status == 1 and reason in said.getvalue()
        failures += not noticed
        print(f"{'noticed' if noticed else 'NOT NOTICED'}: {proof} with {name} = {mutant}")
        if not noticed:
            print(f"  replaced {changed} times, status {status}: {said.getvalue().strip()}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
