// Everything about one record, below its row.
function facts(pairs) {
  return h('dl', {class: 'facts'}, pairs.filter(([, value]) => value !== null && value !== undefined && value !== '')
    .map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
}

function smallTable(caption, heads, rows) {
  return h('div', {class: 'scroll plain', tabindex: 0, role: 'region', 'aria-label': caption}, h('table', {class: 'list'}, h('caption', {}, caption),
    h('thead', {}, h('tr', {}, heads.map((head, i) => h('th', {scope: 'col', class: i > 0 && 'n'}, head)))),
    h('tbody', {}, rows.map((row) => h('tr', {}, row.map((cell, i) => (i === 0 ? h('th', {scope: 'row'}, cell) : h('td', {class: 'n'}, cell))))))));
}

function figureTable(record) {
  const heads = ['tensor', 'elements', 'finite', 'max ulp', 'median ulp', 'p99 ulp', 'RMSE', 'max |error|', 'err / bound', 'bias', 'chance allows',
    'above probable'];
  return smallTable('Figures by output', heads, record.figures.map((f) => [f.tensor, grouped(f.elements), grouped(f.finite), shown(f.ulp),
    f.median, f.p99, shown(f.rmse), shown(f.maxAbs), shown(f.ratio),
    shown(f.bias) + (f.biased ? ' biased' : ''), shown(f.limit), grouped(f.investigate)]));
}

function profileTable(record) {
  const rows = record.profile.flatMap((list, i) => list.map((p) => [`${stored.profiles[i]} from ${power(p.octave)}`, shown(p.ratio), shown(p.ulp)]));
  return rows.length > 0 && h('details', {}, h('summary', {}, 'By length, magnitude and merges'), smallTable('By length, magnitude and merges', ['octave', 'err / bound', 'max ulp'], rows));
}

/** The four parts of the bound as one bar, which says in words what it shows. */
function termBar(terms, wide = false) {
  if (!terms) return null;
  const words = stored.terms.map((name, i) => `${name} ${percent(terms[i])}`).join(', ');
  const width = wide ? 320 : 64, height = wide ? 14 : 10;
  const svg = h('svg', {class: 'terms', role: 'img', 'aria-label': words, width, height}, h('title', {}, words));
  let x = 0;
  terms.forEach((share, i) => {
    if (share > 0) svg.append(h('rect', {x: x * width, y: 0, width: Math.max(0, share * width - 1), height, class: `f${i}`}));
    x += share;
  });
  return svg;
}

function detail(record) {
  const w = record.witness, heat = record.heat;
  const counts = stored.verdicts.map((name, i) => (record.counts[i] > 0 ? `${grouped(record.counts[i])} ${name.replaceAll('_', ' ')}` : '')).filter(Boolean).join(', ');
  const laws = record.raw.laws.slice(1).map(([law, n]) => `${strings[law]} in ${grouped(n)}`).join(', ');
  const {domain, ledger} = record;
  const self = `#record=${encodeURIComponent(record.key)}`;
  return h('div', {class: 'detail'},
    w && h('div', {class: 'replay'}, h('h3', {}, 'Replay the worst case'), commandLine(w.replay || w.line)),
    h('div', {class: 'columns'},
      w && h('section', {}, h('h3', {}, 'Worst element'), facts([['verdict', w.verdict], ['element', w.element],
        ['computed', w.computed === null ? null : String(w.computed)], ['exact', w.exact === null ? null : String(w.exact)], ['error', w.error === null ? null : String(w.error)],
        ['error / bound', shown(w.ratio)], ['what', w.detail], ['case', h('code', {}, w.line)], ['file', w.file]])),
      h('section', {}, h('h3', {}, 'Record'), facts([['cases', counts || '0'], ['failures', record.failures.join(', ').replaceAll('_', ' ')],
        ['laws failed', laws ? `${laws} cases` : record.raw.laws[0] > 0 ? `none of ${record.raw.laws[0]}` : ''],
        ['bound', record.terms && h('span', {}, termBar(record.terms, true), h('br'), stored.terms.map((name, i) => `${name} ${percent(record.terms[i])}`).join(', '))],
        ['domain', domain && (domain[1] > 0 ? `${grouped(domain[1])} of ${grouped(domain[0])} rows outside` : strings[domain[2]])],
        ['worst known', ledger && `${shown(real(ledger[0]))}${ledger[1] ? ', beaten here' : ''}`],
        ['link', h('a', {href: self}, 'to this record')]]))),
    record.raw.figures.length > 0 && figureTable(record),
    profileTable(record),
    record.raw.heat === -1 && h('p', {class: 'hint'}, 'Its heat map is in report.json only: the page holds as many as fit.'),
    heat && h('section', {}, h('h3', {}, 'Where the output is wrong'), heatMap(heat), heatLegend()));
}
