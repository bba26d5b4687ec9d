// What the plots show: the records of the kernels that were chosen, families and formats together as far as they are not.
const MOST_KERNELS = 8;  // as many as there are colours and markers

const plotState = {problem: '', format: '', family: '', measure: 'ratio', kernels: []};

function plotRecords(label) {
  return records.filter((r) => r.label === label && (!plotState.format || r.format === plotState.format) && (!plotState.family || r.family === plotState.family));
}

/** Kernels of the problem, hardened ones first, the worst finite error / bound first. */
function plotKernels() {
  const worst = new Map();
  for (const r of records) {
    if (r.problem !== plotState.problem || r.raw.figures.length === 0) continue;
    const known = worst.get(r.label) ?? {form: r.form, ratio: -1};
    if (Number.isFinite(r.ratio)) known.ratio = Math.max(known.ratio, r.ratio ?? -1);
    worst.set(r.label, known);
  }
  const forms = ['hardened', 'published', 'broken'];
  return [...worst].sort(([a, x], [b, y]) => forms.indexOf(x.form) - forms.indexOf(y.form) || y.ratio - x.ratio || less(a, b)).map(([label, {form}]) => ({label, form}));
}

/** octave -> the worst of the chosen measure: one map per kernel; null stands for an input of 0. */
function profileData(which) {
  return plotState.kernels.map((label) => {
    const worst = new Map();
    for (const r of plotRecords(label)) {
      for (const p of r.profile[which]) worst.set(p.octave, largest([worst.get(p.octave) ?? null, p[plotState.measure]]));
    }
    return {label, worst};
  });
}

/** octave -> share of the elements: one map per kernel, exact results apart. */
function histogramData(field) {
  return plotState.kernels.map((label) => {
    const bins = new Map();
    let total = 0, zero = 0;
    for (const r of plotRecords(label)) {
      const o = r[field];
      total += o.total;
      zero += o.zero;
      o.counts.forEach((n, i) => { if (n > 0) bins.set(o.low + i, (bins.get(o.low + i) ?? 0) + n); });
    }
    return {label, bins, total, zero};
  });
}

/** The record whose worst element uses most of its bound: its four terms. */
function termData() {
  return plotState.kernels.map((label) => {
    const worst = plotRecords(label).filter((r) => r.terms && Number.isFinite(r.ratio)).reduce((a, b) => (a && a.ratio >= b.ratio ? a : b), null);
    return {label, worst};
  });
}

const shortLabel = (label) => label.replace(`${plotState.problem}.`, '');
