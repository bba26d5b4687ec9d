"""Row.bound evaluated anew, in 60 decimal digits: no part that the C++ code prints may be smaller, and few much larger. The formulas
below restate those of Row.v by hand."""
import decimal

decimal.getcontext().prec = 60
D = decimal.Decimal
# Where the code takes the maximum of e^R - 1 and of |v| apart, or adds what evaluating in double may lose.
USUAL = D("1.000001")


def formulas(head, leaves):
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
    if low <= 0:
        return None
    W = max((-common - lead).exp(), low * U)

    def average(x):
        return min(sum((p[j] + q[j]) * x[j] for j in ns) / low, max(x))

    weights = min(sum(q[j] * abs(v[j] - o) for j in ns) / low, max(abs(x - o) for x in v))
    numerator = average([(R[j].exp() - 1) * abs(v[j]) for j in ns]) + (sum(z[j] * abs(v[j]) for j in ns) + EN) / W
    shrink = average([1 - (-G[j]).exp() for j in ns]) + El / W
    swell = average([G[j].exp() - 1 for j in ns]) + El / W
    if shrink >= 1:
        return None
    middle = min(abs(o) + weights, max(abs(x) for x in v))
    denominator = max(shrink / (1 - shrink), swell / (1 + swell)) * (middle + numerator)
    output = (T.exp() - 1) * (middle + numerator + denominator) + T.exp() * Eo
    return weights, numerator, denominator, output


def check(lines):
    failures, rows, near, caught = [], 0, 0, 0
    for line in lines:
        kind, *rest = line.split()
        if kind != "row":
            continue
        n, numbers = int(rest[0]), [D(float.fromhex(x)) for x in rest[1:]]
        leaves = [tuple(numbers[7 + 7 * j:14 + 7 * j]) for j in range(n)]
        proved, printed = formulas(numbers[:7], leaves), numbers[7 + 7 * n:]
        if proved is None:
            if printed[2].is_finite() and printed[0].is_finite() and sum(printed) == 0:
                failures.append(f"the formula is infinite, the code prints 0: {line}")
            continue
        rows += 1
        failures += [f"the code prints less than the theorem: {mine} > {theirs} of {line}" for mine, theirs in zip(proved, printed) if theirs < mine]
        # Negative control: a part in 10^4 less is noticed, where the code adds next to nothing of its own.
        caught += any(theirs * D("0.9999") < mine for mine, theirs in zip(proved, printed))
        near += sum(printed) <= sum(proved) * USUAL
    print(f"closed form: {rows} rows, {near} of them within {USUAL} of the theorem, {caught} noticed when made smaller")
    if rows < 100 or near < rows * 9 // 10 or caught < rows * 9 // 10:
        failures.append(f"{rows} rows, {near} near, {caught} of them noticed when a part in 10^4 is left out: the comparison has gone soft")
    return failures
