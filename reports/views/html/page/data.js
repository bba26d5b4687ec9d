// The records as objects, unfolded from the condensed form that condense.cc writes.
const stored = JSON.parse(by('data').textContent);
const {strings, pool} = stored;
const FAIL = stored.verdicts.indexOf('fail');

/** "inf", "-inf" and "nan" stand for what JSON has no number for. */
function real(x) {
  return typeof x === 'string' ? {inf: Infinity, '-inf': -Infinity}[x] ?? NaN : x;
}

/** {zero, low, counts}: exact results, and elements by floor(log2) from `low` on. */
function octaves(text) {
  const [zero, low = 0, ...counts] = text.split(',').map((n) => parseInt(n, 36));
  return {zero, low, counts, total: counts.reduce((a, b) => a + b, zero)};
}

function figure(f) {
  const [tensor, elements, special, ulp, median, p99, rmse, maxAbs, ratio, bias, limit, biased = 0, investigate = 0] = f;
  return {
    tensor: strings[tensor], elements, finite: elements - special, ulp: real(ulp), median: strings[median], p99: strings[p99], rmse: real(rmse), maxAbs: real(maxAbs),
    ratio: real(ratio), bias: real(bias), limit: real(limit), biased: biased === 1, investigate,
  };
}

function points(flat) {
  const list = [];
  for (let i = 0; i < flat.length; i += 3) {
    list.push({octave: flat[i], ratio: real(flat[i + 1]), ulp: real(flat[i + 2])});
  }
  return list;
}

function witness(w, record) {
  const [rest, verdict, detail, element, file, replay, computed, exact, error, ratio, leftOut] = w;
  const line = [rest, `${record.problem}:${record.family}:${rest}`, `${record.problem}:${record.family}:${rest}:format=${record.format}`][leftOut];
  const usual = `witnesses/${record.kernel}.${record.format}.${record.family}.safetensors`;
  return {
    line, file: file === 1 ? usual : file, verdict: strings[verdict], detail, element: strings[element], computed: real(computed), exact: real(exact),
    error: real(error), ratio: real(ratio), replay: strings[replay].replace('\u0000', () => line),
  };
}

const largest = (values) => {
  const known = values.filter((v) => v !== null && v !== undefined);
  if (known.length === 0) return null;
  return known.some(Number.isNaN) ? NaN : Math.max(...known);
};

class Row {
  constructor(values, index) {
    const raw = Object.fromEntries(stored.fields.map((name, i) => [name, values[i]]));
    for (const name of ['kernel', 'problem', 'form', 'format', 'executor', 'math', 'family', 'verdict', 'dominating']) {
      this[name] = strings[raw[name]];
    }
    this.raw = raw;
    this.index = index;
    this.label = this.math === 'native' ? `${this.kernel} native` : this.kernel;
    this.key = [this.kernel, this.format, this.executor, this.math, this.family].join('/');
    this.cases = raw.cases;
    this.counts = raw.counts ?? stored.verdicts.map((name) => (name === 'pass' ? raw.cases : 0));
    this.failing = this.counts[FAIL];
    this.ratio = real(raw.ratio);
    const figures = this.figures;
    const outputs = figures.filter((f) => f.tensor !== 'lse' && f.finite > 0);
    this.ulp = largest(outputs.map((f) => f.ulp));
    this.mean = raw.mean && {low: real(raw.mean[0]), high: real(raw.mean[1])}; // the same where the report says it
    const finite = outputs.reduce((sum, f) => sum + f.finite, 0);
    this.rmse = finite > 0 ? Math.sqrt(outputs.reduce((sum, f) => sum + f.rmse ** 2 * f.finite, 0) / finite) : null;
    this.bias = outputs.length > 0 ? outputs.reduce((a, b) => (Math.abs(b.bias) > Math.abs(a.bias) ? b : a)) : null;
    this.lse = figures.find((f) => f.tensor === 'lse' && f.finite > 0)?.maxAbs ?? null;
    this.failures = raw.failures ? stored.failures.filter((_, i) => raw.failures[i] > 0) : [];
    this.searched = `${this.label} ${this.family} ${this.format} ${this.verdict} ${this.failures.join(' ')}`.toLowerCase();
    if (raw.terms) {
      this.terms = raw.terms.some((t) => t > 0) ? raw.terms.map((t) => t / 1000) : null;
    } else {
      this.terms = null;
    }
  }

  // Unfolded when asked for: a report has thousands of records.
  get figures() { return this.raw.figures.map((i) => figure(pool.figures[i])); }
  get profile() { return this.raw.profile.map((i) => points(pool.axes[i])); }
  get witness() { return this.raw.witness && witness(this.raw.witness, this); }
  get ratios() { return octaves(pool.octaves[this.raw.ratios]); }
  get ulps() { return octaves(pool.octaves[this.raw.ulps]); }
  get domain() { return this.raw.domain === null ? null : pool.domains[this.raw.domain]; }
  get ledger() { return this.raw.ledger === null ? null : pool.ledgers[this.raw.ledger]; }
  get hasHeat() { return this.raw.heat !== null && this.raw.heat >= 0; }
  get heat() {
    if (!this.hasHeat) return null;
    const [tensor, rows, cols, cellRows, cellCols, cells] = pool.heats[this.raw.heat];
    return {tensor: strings[tensor], rows, cols, cellRows, cellCols, cells};
  }
}

const records = stored.rows.map((values, i) => new Row(values, i));
const recordOf = new Map(records.map((r) => [r.key, r]));
