// The plots. Each has a colour, a marker and a dash per kernel, and the same numbers as a table below it.
const MARKERS = ['circle', 'rect', 'triangle', 'rectRot', 'cross', 'star', 'crossRot', 'dash'];
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3], [], [6, 3], [2, 2], [8, 3, 2, 3]];
const PLOTS = [
  {id: 'length', title: 'Error against length', about: 'columns, states or keys', draw: (plot) => drawProfile(plot, 0)},
  {id: 'magnitude', title: 'Error against magnitude', about: 'largest size of the input', draw: (plot) => drawProfile(plot, 1)},
  {id: 'merges', title: 'Error against merges', about: 'merges per row', draw: (plot) => drawProfile(plot, 2)},
  {id: 'ratio-histogram', title: 'How much of their bound elements use', about: 'log2(error / bound), the last bin everything above', draw: (plot) => drawHistogram(plot, 'ratios')},
  {id: 'ulp-histogram', title: 'How far off elements are', about: 'log2(error in ulp)', draw: (plot) => drawHistogram(plot, 'ulps')},
  {id: 'terms', title: 'Who uses the bound', about: 'share of its four terms at the worst element', draw: drawTerms},
];
const plots = new Map(); // id -> {chart, stale}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function series(i, label, data) {
  return {
    label: shortLabel(label), data, borderColor: colour(`--s${i}`), backgroundColor: colour(`--s${i}`), pointStyle: MARKERS[i], borderDash: DASHES[i],
    borderWidth: 1.75, pointRadius: 3.5, spanGaps: true,
  };
}

function scale(title, more = {}) {
  return {
    title: {display: true, text: title, color: colour('--muted')}, grid: {color: colour('--line')}, border: {color: colour('--muted')},
    ticks: {color: colour('--muted'), ...more.ticks}, ...Object.fromEntries(Object.entries(more).filter(([k]) => k !== 'ticks')),
  };
}

function drawProfile(plot, which) {
  const data = profileData(which);
  const octaves = [...new Set(data.flatMap(({worst}) => [...worst.keys()]))].sort((a, b) => (a ?? -Infinity) - (b ?? -Infinity));
  const finite = data.flatMap(({worst}) => [...worst.values()]).filter(Number.isFinite);
  const top = Math.max(1, ...finite), infinite = 2 * top;
  const logarithmic = plotState.measure === 'ulp' || top > 2;
  const name = plotState.measure === 'ulp' ? 'max error in ulp' : 'max error / bound';
  let atTop = 0;
  const datasets = data.map(({label, worst}, i) => series(i, label, octaves.map((octave) => {
    const y = worst.get(octave) ?? null;
    if (y === null || Number.isFinite(y)) return logarithmic && y === 0 ? null : y;
    ++atTop;
    return infinite;
  })));
  if (plotState.measure === 'ratio' && octaves.length > 0) {
    datasets.push({label: 'the bound', data: octaves.map(() => 1), borderColor: colour('--muted'), borderDash: [3, 3], borderWidth: 1, pointRadius: 0, pointStyle: 'line'});
  }
  const y = logarithmic ? scale(name, {type: 'logarithmic', ticks: {callback: (v) => (Math.log10(v) % 1 === 0 ? shown(v) : '')}}) : scale(name, {min: 0, suggestedMax: 1});
  make(plot, {type: 'line', data: {labels: octaves.map(power), datasets}, options: {scales: {x: scale(plot.about), y}}});
  note(plot, atTop > 0 ? `${atTop} infinite or NaN: drawn at the upper edge` : '');
  tell(plot, octaves.map(power), data.map(({label, worst}) => [label, octaves.map((o) => (worst.has(o) ? shown(worst.get(o)) : ''))]),
    data.map(({label, worst}) => `${shortLabel(label)} at most ${shown(largest([...worst.values()]))}`));
}

function drawHistogram(plot, field) {
  const data = histogramData(field);
  const keys = data.flatMap(({bins}) => [...bins.keys()]);
  const low = keys.length > 0 ? Math.min(...keys) : 0, high = keys.length > 0 ? Math.max(...keys) : 0;
  const octaves = keys.length > 0 ? Array.from({length: high - low + 1}, (_, i) => low + i) : [];
  const share = ({bins, total}, o) => (bins.has(o) ? 100 * bins.get(o) / total : null);
  const datasets = data.map((d, i) => ({...series(i, d.label, octaves.map((o) => share(d, o))), stepped: 'middle', pointRadius: 2}));
  make(plot, {
    type: 'line', data: {labels: octaves.map(String), datasets},
    options: {scales: {x: scale(plot.about), y: scale('% of elements', {type: 'logarithmic', ticks: {callback: (v) => (Math.log10(v) % 1 === 0 ? String(Number(v.toPrecision(1))) : '')}})}},
  });
  note(plot, `${field === 'ratios' ? 'exact or below 2^-55' : 'exact'}: ${data.map((d) => `${shortLabel(d.label)} ${d.total > 0 ? percent(d.zero / d.total) : '–'}`).join(', ')}`);
  tell(plot, octaves.map(String), data.map((d) => [d.label, octaves.map((o) => (d.bins.has(o) ? grouped(d.bins.get(o)) : ''))]),
    data.map((d) => `${shortLabel(d.label)} up to 2^${d.bins.size > 0 ? Math.max(...d.bins.keys()) + 1 : '?'}`));
}

function drawTerms(plot) {
  const data = termData();
  const datasets = stored.terms.map((term, i) => ({
    label: term, data: data.map(({worst}) => (worst ? 100 * worst.terms[i] : 0)), backgroundColor: colour(`--s${i}`), borderColor: colour('--paper'), borderWidth: 1,
  }));
  make(plot, {
    type: 'bar', data: {labels: data.map(({label, worst}) => `${shortLabel(label)}  ${worst ? shown(worst.ratio) : '–'}`), datasets},
    options: {indexAxis: 'y', scales: {x: scale('% of the bound', {stacked: true, max: 100}), y: scale('', {stacked: true})}},
  });
  note(plot, 'behind each name: the error / bound of that element');
  tell(plot, stored.terms, data.map(({label, worst}) => [label, stored.terms.map((_, i) => (worst ? percent(worst.terms[i]) : '–'))]),
    data.filter(({worst}) => worst).map(({label, worst}) => `${shortLabel(label)} mostly ${worst.dominating}`));
}

function make(plot, config) {
  const state = plots.get(plot.id);
  state.chart?.destroy();
  const legend = {position: 'bottom', align: 'start', labels: {color: colour('--ink'), usePointStyle: true, boxWidth: 8, boxHeight: 7, padding: 8, font: {size: 11}}};
  Object.assign(config.options, {
    animation: false, responsive: true, maintainAspectRatio: false, interaction: {mode: 'index', intersect: false}, plugins: {legend, tooltip: {callbacks: {label: (item) =>
      `${item.dataset.label}: ${shown(config.options.indexAxis === 'y' ? item.parsed.x : item.parsed.y)}`}}},
  });
  state.chart = new Chart(by(`canvas-${plot.id}`), config);
  state.stale = false;
}

function note(plot, text) {
  by(`note-${plot.id}`).textContent = text;
}

/** The text alternative: a sentence for the canvas, and the numbers as a table. */
function tell(plot, columns, rows, sentences) {
  by(`canvas-${plot.id}`).setAttribute('aria-label', `${plot.title}, by ${plot.about}. ${sentences.join('; ') || 'Nothing chosen'}. The numbers are in the table that follows.`);
  by(`table-${plot.id}`).replaceChildren(h('caption', {}, plot.title), h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, 'kernel'), columns.map((c) => h('th', {scope: 'col', class: 'n'}, c)))),
    h('tbody', {}, rows.map(([label, cells]) => h('tr', {}, h('th', {scope: 'row', class: 'id'}, label), cells.map((c) => h('td', {class: 'n'}, c))))));
}

function drawPlot(plot) {
  const state = plots.get(plot.id);
  if (state?.stale) plot.draw(plot);
}

function drawAllCharts() {
  for (const plot of PLOTS) drawPlot(plot);
}

/** Draws again what is in sight; the rest when it comes into sight. */
function redrawCharts() {
  for (const [id, state] of plots) {
    state.stale = true;
    if (state.visible) drawPlot(PLOTS.find((p) => p.id === id));
  }
}

function watchPlots() {
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const plot = PLOTS.find((p) => `plot-${p.id}` === entry.target.id);
      plots.get(plot.id).visible = entry.isIntersecting;
      if (entry.isIntersecting) drawPlot(plot);
    }
  }, {rootMargin: '200px'});
  for (const plot of PLOTS) watcher.observe(by(`plot-${plot.id}`));
}
