"""The constants that the bound relies on, read from the C++ headers, and what each must satisfy, as Coq proves it."""
import fractions
import re
import sys

HEADERS = ("row/row_model.h", "costs.h")
CLAIMS = {  # the constant's exact value is {v}
    "kU": "{v} = u",
    "kSlack": "1 + / 2 ^ 31 <= {v}",  # 2^20 roundings of doubles and as many again
    "kF32Max": "{v} = (2 - / 2 ^ 23) * 2 ^ 127",
    "kScaledExponentSlope": "(1 + u) * (1 + u) * (1 + Rabs (log2e * ln 2 - 1)) - 1 <= {v}",
    "kLog2eError": "Rabs (log2e * ln 2 - 1) <= {v}",
    "kLogMinNormal": "126 * ln 2 - / 2 ^ 20 <= {v} <= 126 * ln 2",
    "kLogMinNormalBelow": "126 * ln 2 - / 2 ^ 10 <= {v} <= 126 * ln 2",
    "kLogF32Max": "ln ((2 - / 2 ^ 23) * 2 ^ 127) - / 2 ^ 20 <= {v} <= ln ((2 - / 2 ^ 23) * 2 ^ 127)",
}
# By what factor it is made worse, so that the claim must be refused.
WORSE = {"kU": 0.99, "kSlack": 0.9, "kF32Max": 0.99, "kScaledExponentSlope": 0.99, "kLog2eError": 0.95, "kLogMinNormal": 1 + 2.0**-20,
         "kLogMinNormalBelow": 1 + 2.0**-14, "kLogF32Max": 1 + 2.0**-20}


def names():
    return [f"Constants.{name}_holds" for name in CLAIMS]


def literal(text):
    return sum((fractions.Fraction(float.fromhex(t) if "0x" in t else float(t)) for t in text.split(" + ")), fractions.Fraction(0))


def source(bound, worse, only=None):
    values = {}
    for header in HEADERS:
        for name, text in re.findall(r"inline constexpr double (\w+) = ([^;]+);", (bound / header).read_text()):
            if name in CLAIMS:
                values[name] = literal(text) * fractions.Fraction(worse)
    missing = set(CLAIMS) - set(values)
    if missing:
        sys.exit(f"no constant {sorted(missing)} in {HEADERS}")
    lines = ["From Coq Require Import Reals Lra.", "From Interval Require Import Tactic.", "Open Scope R_scope.",
             "Definition u := / 2 ^ 24.", "Definition log2e := 12102203 / 8388608. (* its f32 *)"]
    for name, claim in CLAIMS.items():
        if only in (None, name):
            v = values[name]
            prove = "interval with (i_prec 120)" if "ln" in claim else "lra"
            lines.append(f"Theorem {name}_holds : {claim.format(v=f'({v.numerator} / {v.denominator})')}.")
            lines.append(f"Proof. unfold u, log2e; repeat split; {prove}. Qed.")
    return "\n".join(lines) + "\n"
