"""Proves the error bounds that proven_exp.h and dd_exp.h claim: prove.py exp | dd_exp [root of the repository].

Reads every constant and every claim from the headers, puts them into the Sollya and Gappa scripts beside this file, and
adds up what those prove, in exact rational arithmetic. Exits with 1 when a step fails or the sum is above the claim, and
prints SKIPPED when a tool is missing.
"""
import math
import pathlib
import re
import shutil
import subprocess
import sys
from fractions import Fraction

HERE = pathlib.Path(__file__).resolve().parent
HEADERS = ["fp64/vector/proven_exp.h", "double_double/dd.h", "double_double/dd_exp.h"]
U = Fraction(1, 2**53)
REACH = "0.34658"  # |reduced argument|, a little above ln 2/2


class Unproven(Exception):
    pass


def number(text):
    """A C++ floating literal, exactly; the claims are products of two."""
    if "*" in text:
        return math.prod((number(factor) for factor in text.split("*")), start=Fraction(1))
    text = text.strip()
    return Fraction(float.fromhex(text)) if "0x" in text else Fraction(text)


def read_constants(root):
    """name -> literal, of all `inline constexpr double kName = literal;`."""
    constants = {}
    for header in HEADERS:
        text = (pathlib.Path(root) / "reference/oracle" / header).read_text()
        constants.update(re.findall(r"inline constexpr double (k\w+) = ([^;]+);", text))
    return constants


def filled(script, constants, words):
    """The script's text with the constants it uses above it and the words in capitals replaced."""
    text = (HERE / script).read_text()
    for word, value in words.items():
        text = re.sub(rf"\b{word}\b", value, text)
    used = sorted(set(re.findall(r"\bk[A-Z]\w*", text)))
    missing = [name for name in used if name not in constants]
    if missing:
        raise Unproven(f"{script}: the headers do not define {', '.join(missing)}")
    return "".join(f"{name} = {constants[name]};\n" for name in used) + text


def gappa(script, constants, words):
    """Gappa exits with 0 only when it has proved every goal."""
    result = subprocess.run(["gappa"], input=filled(script, constants, words), capture_output=True, text=True)
    if result.returncode != 0 or "Error" in result.stderr:
        raise Unproven(f"{script}: {result.stderr.strip()}")


def sollya(script, constants, words):
    """Every print of the script must say true, and nothing else may be said."""
    text = filled(script, constants, words)
    result = subprocess.run(["sollya", "--warnonstderr"], input=text, capture_output=True, text=True)
    lines = [line for line in result.stdout.splitlines() if "precision has been set" not in line]
    if len(lines) != text.count("print(") or not all(line.endswith(" true") for line in lines) or result.stderr:
        raise Unproven(f"{script}: {lines} {result.stderr.strip()}")


def power_of_two(exponent, factor=1.0):
    """(the same number for Gappa, for Sollya, exact)."""
    value = math.ldexp(factor, exponent)
    mantissa, shift = math.frexp(value)
    whole = int(math.ldexp(mantissa, 53))
    return f"{whole}b{shift - 53}", f"{whole}*2^({shift - 53})", Fraction(value)


def exp_of_small(x):
    """e^x - 1 <= x + x² for 0 <= x <= 1."""
    return x + x * x


def check_claim(what, proven, claim):
    print(f"{what}: proven 2^{math.log2(proven):.3f} = {float(proven / U):.5g} u, claimed 2^{math.log2(claim):.3f}")
    if proven > claim:
        raise Unproven(f"{what}: proven bound is above the claim")


def prove_exp(constants):
    horner_gappa, _, horner = power_of_two(-53, 1.019)
    _, polynomial_sollya, polynomial = power_of_two(-53, 0.0343)
    _, ln2_sollya, ln2 = power_of_two(-86)
    sollya("exp_polynomial.sollya", constants,
           {"REACH": REACH, "POLYNOMIAL_BOUND": polynomial_sollya, "LN2_ERROR": ln2_sollya})
    gappa("exp_reduction.gappa", constants,
          {"REACH": REACH, "LOWEST": constants["kExpLowest"], "HIGHEST": constants["kExpHighest"]})
    gappa("exp_horner.gappa", constants, {"REACH": REACH, "HORNER_BOUND": horner_gappa})
    # The computed r is off by the last FMA's rounding (2^-55, exp_reduction.gappa) and by what the two words lack of ln 2.
    reduction = exp_of_small(Fraction(1, 2**55) + ln2)
    total = (1 + reduction) * (1 + polynomial) * (1 + horner) - 1
    check_claim("proven_exp", total, number(constants["kExpProvenError"]))
    if number(constants["kExpProvenError"]) > number(constants["kExpError"]):
        raise Unproven("kExpError is below kExpProvenError")


def prove_dd_exp(constants):
    short_gappa, _, short = power_of_two(-8, float.fromhex("0x1.63p0"))  # |s| = |r|/64
    tail_gappa, _, tail = power_of_two(-63, 1.01)
    size_gappa, _, tail_size = power_of_two(-10, 1.5)
    _, polynomial_sollya, polynomial = power_of_two(-106)
    _, ln2_sollya, ln2 = power_of_two(-133)
    square_gappa, _, square = power_of_two(-106, float(number(constants["kDdSquareError"]) * 2**106))
    add_gappa, _, add = power_of_two(-106, float(number(constants["kDdAddError"]) * 2**106))
    mul, mul_double = number(constants["kDdMulError"]), number(constants["kDdMulDoubleError"])
    if short < Fraction(REACH) / 64:
        raise Unproven("SHORT_REACH is below REACH/64")
    sollya("dd_exp_polynomial.sollya", constants,
           {"REACH": REACH, "POLYNOMIAL_BOUND": polynomial_sollya, "LN2_ERROR": ln2_sollya})
    gappa("exp_reduction.gappa", constants,
          {"REACH": REACH, "LOWEST": constants["kExpLowest"], "HIGHEST": constants["kExpHighest"]})
    gappa("dd_exp_reduction.gappa", constants, {"REACH": REACH})
    gappa("dd_exp_tail.gappa", constants,
          {"SHORT_REACH": short_gappa, "TAIL_BOUND": tail_gappa, "TAIL_SIZE": size_gappa})
    gappa("dd_operations.gappa", constants, {"SQUARE_BOUND": square_gappa, "ADD_BOUND": add_gappa})

    tiny = Fraction(1, 2**1000)  # what underflow of products of a tiny s can do, per operation
    # t is evaluated at s.hi: |T(s.hi) - T(s)| <= u|s| max|T'|, and T' is below 2·c7 (T grows like e^s).
    error = tail + U * short * 2 * number(constants["kDdExpC7"])
    size = tail_size
    coefficients = [number(constants[f"kDdExpC{n}High"]) + number(constants[f"kDdExpC{n}Low"]) for n in (5, 4, 3)]
    product_error = mul_double
    for c in coefficients + [Fraction(1, 2), Fraction(1), Fraction(1)]:
        # p := add_smaller(c, s·p), p = exact Horner value (at most size) + error
        product = short * (size + error)
        error = short * error + product_error * product + tiny
        product += error
        if 32 * product * (1 + 4 * U) > c * (1 - 4 * U):
            raise Unproven("add_smaller: the second operand is above 1/32 of the first")
        # The Gappa bound is relative to the sum of the high words, a little above that of the whole numbers.
        error += add * (c + product) * (1 + 4 * U) + tiny
        size = c + short * size
        product_error = mul
    lowest = 1 - short - short * short  # of the polynomial
    relative = (1 + polynomial) * (1 + error / lowest) - 1
    for _ in range(6):
        relative = (1 + relative) ** 2 * (1 + square * (1 + 4 * U)) - 1  # against (h + l)², not h²
    reduction = exp_of_small(Fraction(1, 2**106) + ln2 + 64 * tiny)
    total = (1 + relative) * (1 + reduction) - 1
    check_claim("exp_dd", total, number(constants["kDdExpProvenError"]))
    if number(constants["kDdExpProvenError"]) > number(constants["kDdExpError"]):
        raise Unproven("kDdExpError is below kDdExpProvenError")


PROOFS = {"exp": prove_exp, "dd_exp": prove_dd_exp}


def missing_tools():
    return [tool for tool in ("sollya", "gappa") if shutil.which(tool) is None]


def main(arguments):
    if len(arguments) not in (1, 2) or arguments[0] not in PROOFS:
        print(f"prove.py: the argument is one of {', '.join(PROOFS)}, then perhaps the repository's root")
        return 2
    if missing_tools():
        print(f"SKIPPED: {' and '.join(missing_tools())} not installed")
        return 0
    try:
        PROOFS[arguments[0]](read_constants(arguments[1] if len(arguments) == 2 else HERE.parents[2]))
    except Unproven as reason:
        print(f"NOT PROVEN: {reason}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
