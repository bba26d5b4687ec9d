// What stands around the plots: the choice of kernels, and the heat maps.
function kernelChoices() {
  const list = plotKernels();
  const box = ({label, form}) => {
    const i = plotState.kernels.indexOf(label);
    const input = h('input', {type: 'checkbox', onchange: (event) => {
      plotState.kernels = event.target.checked ? [...plotState.kernels, label].slice(-MOST_KERNELS) : plotState.kernels.filter((k) => k !== label);
      showChoices();
      [...by('kernel-choices').querySelectorAll('label')].find((l) => l.dataset.label === label)?.querySelector('input').focus();
    }});
    input.checked = i >= 0;
    return h('label', {'data-label': label, class: form}, input, h('span', {class: i >= 0 ? `swatch f${i}` : 'swatch'}), shortLabel(label));
  };
  return list.map(box);
}

function showChoices() {
  by('kernel-choices').replaceChildren(h('legend', {}, `Kernels (up to ${MOST_KERNELS})`), ...kernelChoices());
  redrawCharts();
}

function chooseProblem(problem) {
  plotState.problem = problem;
  plotState.family = '';
  plotState.kernels = plotKernels().filter(({form}, _, all) => form === all[0].form).slice(0, 5).map(({label}) => label);
  const families = [...new Set(records.filter((r) => r.problem === problem).map((r) => r.family))].sort(less);
  by('plot-family').replaceChildren(h('option', {value: ''}, 'all families'), ...families.map((f) => h('option', {value: f}, f)));
  showChoices();
}

function select(id, name, options, change) {
  return h('label', {}, name, h('select', {id, onchange: (event) => change(event.target.value)}, options.map(([value, words]) => h('option', {value}, words))));
}

function plotFigure(plot) {
  return h('figure', {id: `plot-${plot.id}`, class: 'plot'}, h('figcaption', {}, h('b', {}, plot.title), h('small', {id: `note-${plot.id}`})),
    h('div', {class: 'canvas'}, h('canvas', {id: `canvas-${plot.id}`, role: 'img', 'aria-label': plot.title})),
    h('details', {}, h('summary', {}, 'As a table'), h('div', {class: 'scroll plain', tabindex: 0, role: 'region', 'aria-label': `${plot.title}: table`}, h('table', {class: 'list', id: `table-${plot.id}`}, h('caption', {}, plot.title)))));
}

/** The heat maps of failing records, hardened kernels first; more on demand. */
function heatGallery() {
  const forms = ['hardened', 'published', 'broken'];
  const failing = records.filter((r) => r.hasHeat && forms.includes(r.form)).sort((a, b) => forms.indexOf(a.form) - forms.indexOf(b.form) || a.index - b.index);
  if (failing.length === 0) return null;
  const name = (r) => `${r.label} ${r.format} ${r.family}${r.executor === 'cpu' ? '' : ` ${r.executor}`}`;
  const picture = h('div', {id: 'heat-picture'});
  const show = (key) => {
    const r = recordOf.get(key);
    picture.replaceChildren(heatMap(r.heat) ?? '', h('p', {}, h('a', {href: `#record=${encodeURIComponent(key)}`}, 'to the record')), heatLegend());
  };
  show(failing[0].key);
  return h('section', {class: 'heatbox', 'aria-label': 'Where outputs are wrong'}, h('h3', {}, 'Where outputs are wrong'),
    select('heat-record', `worst case of a failing record (${grouped(failing.length)})`, failing.map((r) => [r.key, name(r)]), show), picture);
}

function makeCharts() {
  if (records.length === 0) {
    by('charts').append(h('p', {}, 'This report has no records.'));
    return;
  }
  const problems = [...new Set(records.map((r) => r.problem))].sort(less);
  const formats = [...new Set(records.map((r) => r.format))].sort(less);
  by('charts').append(
    h('form', {class: 'filters', onsubmit: (event) => event.preventDefault()},
      select('plot-problem', 'problem', problems.map((p) => [p, p]), chooseProblem),
      select('plot-measure', 'measure', [['ratio', 'error / bound'], ['ulp', 'error in ulp']], (v) => { plotState.measure = v; redrawCharts(); }),
      select('plot-format', 'format', [['', 'all formats'], ...formats.map((f) => [f, f])], (v) => { plotState.format = v; redrawCharts(); }),
      select('plot-family', 'family', [['', 'all families']], (v) => { plotState.family = v; redrawCharts(); })),
    h('fieldset', {id: 'kernel-choices'}),
    h('div', {class: 'plots'}, PLOTS.map(plotFigure)),
    heatGallery() ?? '');
  for (const plot of PLOTS) plots.set(plot.id, {chart: null, stale: true, visible: false});
  chooseProblem(problems[0]);
  watchPlots();
}
