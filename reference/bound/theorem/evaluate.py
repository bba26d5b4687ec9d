"""Row.bound evaluated anew, in 60 decimal digits: no part that the C++ code prints may be smaller, and few much larger. The formulas
below restate those of Row.v by hand. Beyond their range:
- low = 0: nothing is left to divide by, Row.bound says nothing. The code may print Row.beyond, whose means are the largest of what they
  average, and no less.
- a share of 1 or more that l may lack (Row.shrink, Row.shrink_most): no theorem, and the code claims nothing: its denominator is infinite."""
import decimal

decimal.getcontext().prec = 60
D = decimal.Decimal
# Where the code takes the maximum of e^R - 1 and of |v| apart, or adds what evaluating in double may lose.
USUAL = D("1.000001")
INSIDE, BEYOND, UNCLAIMED = "inside", "low = 0", "shrink >= 1"
LEAST = {INSIDE: 100, BEYOND: 50, UNCLAIMED: 100}


def formulas(head, leaves):
    """Where the row is, and what is proved of its four parts: of the unclaimed ones the first two."""
    frame, common, lead, El, EN, T, Eo = head
    top = max(leaf[0] for leaf in leaves)
    e = [(leaf[0] - top).exp() for leaf in leaves]
    L = sum(e)
    p = [x / L for x in e]
    H, Z, R, G, z, v = ([leaf[i] for leaf in leaves] for i in range(1, 7))
    U = L * (-frame - common - lead).exp()
    ns = range(len(leaves))
    o = sum(p[j] * v[j] for j in ns)
    q = [p[j] * (H[j].exp() - 1) + Z[j] / U for j in ns]
    low = sum(max(D(0), p[j] * (-H[j]).exp() - Z[j] / U) for j in ns)
    W = max((-common - lead).exp(), low * U)

    def average(x):
        return min(sum((p[j] + q[j]) * x[j] for j in ns) / low, max(x)) if low > 0 else max(x)

    farthest = max(abs(x - o) for x in v)
    weights = min(sum(q[j] * abs(v[j] - o) for j in ns) / low, farthest) if low > 0 else farthest
    numerator = average([(R[j].exp() - 1) * abs(v[j]) for j in ns]) + (sum(z[j] * abs(v[j]) for j in ns) + EN) / W
    shrink = average([1 - (-G[j]).exp() for j in ns]) + El / W
    swell = average([G[j].exp() - 1 for j in ns]) + El / W
    if shrink >= 1:
        return UNCLAIMED, (weights, numerator)
    middle = min(abs(o) + weights, max(abs(x) for x in v))
    denominator = max(shrink / (1 - shrink), swell / (1 + swell)) * (middle + numerator)
    output = (T.exp() - 1) * (middle + numerator + denominator) + T.exp() * Eo
    return INSIDE if low > 0 else BEYOND, (weights, numerator, denominator, output)


def check(lines):
    failures = []
    rows, near, caught = (dict.fromkeys(LEAST, 0) for _ in range(3))
    for line in lines:
        kind, *rest = line.split()
        if kind != "row":
            continue
        n, numbers = int(rest[0]), [D(float.fromhex(x)) for x in rest[1:]]
        leaves = [tuple(numbers[7 + 7 * j:14 + 7 * j]) for j in range(n)]
        (where, proved), printed = formulas(numbers[:7], leaves), numbers[7 + 7 * n:]
        rows[where] += 1
        failures += [f"the code prints less than the theorem ({where}): {mine} > {theirs} of {line}" for mine, theirs in zip(proved, printed) if theirs < mine]
        if where == UNCLAIMED and printed[2].is_finite():
            failures.append(f"no theorem holds ({where}), and the code prints a finite denominator: {line}")
        # Negative control: a part in 10^4 less is noticed, where the code adds next to nothing of its own.
        caught[where] += any(theirs * D("0.9999") < mine for mine, theirs in zip(proved, printed))
        near[where] += sum(printed) <= sum(proved) * USUAL
    for where, least in LEAST.items():
        print(f"closed form, {where}: {rows[where]} rows, {near[where]} of them within {USUAL} of the theorem, {caught[where]} noticed when made smaller")
        if rows[where] < least or caught[where] < rows[where] * 9 // 10:
            failures.append(f"{where}: {rows[where]} rows, {caught[where]} of them noticed when a part in 10^4 is left out: the comparison has gone soft")
    if near[INSIDE] < rows[INSIDE] * 9 // 10:
        failures.append(f"{near[INSIDE]} of {rows[INSIDE]} rows are near the theorem: the comparison has gone soft")
    return failures
