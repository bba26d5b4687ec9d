// The table of records: filters, sorting, pages of rows.
const PAGE = 100;
const less = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
/** Numbers by size, NaN above all; what was not measured last in both directions (sorted() sees to that). */
const size = (x) => (Number.isNaN(x) ? Infinity : x);

const FORMS = ['hardened', 'published', 'broken'];
const ALL_COLUMNS = [
  {name: 'kernel', key: (r) => r.label, cell: null},
  {name: 'family', key: (r) => r.family, style: 'id'},
  {name: 'form', key: (r) => r.form},
  {name: 'format', key: (r) => r.format},
  {name: 'exec', field: 'executor', key: (r) => r.executor},
  {name: 'math', field: 'math', key: (r) => r.math},
  {name: 'verdict', key: (r) => stored.verdicts.indexOf(r.verdict) * 10 + FORMS.indexOf(r.form), cell: verdictCell, about: 'sorted by severity; hardened kernels first'},
  {name: 'cases', key: (r) => r.cases, number: true, cell: (r) => (r.failing > 0 ? `${grouped(r.failing)} of ${grouped(r.cases)}` : grouped(r.cases))},
  {name: 'max ulp', key: (r) => r.ulp, number: true, cell: (r) => shown(r.ulp)},
  {name: 'mean ulp', key: (r) => r.mean?.low ?? null, number: true, cell: meanCell, about: 'given as a range where the report has only counts by octave'},
  {name: 'RMSE', key: (r) => r.rmse, number: true, cell: (r) => shown(r.rmse)},
  {name: 'err / bound', key: (r) => r.ratio, number: true, cell: (r) => shown(r.ratio)},
  {name: 'bound made of', key: (r) => r.dominating, cell: (r) => r.terms && h('span', {class: 'made'}, termBar(r.terms), ` ${r.dominating}`)},
  {name: 'bias', key: (r) => (r.bias ? Math.abs(r.bias.bias / r.bias.limit) : null), number: true, cell: biasCell, about: 'mean signed error and what chance allows; sorted by their ratio'},
  {name: 'lse error', key: (r) => r.lse, number: true, cell: (r) => shown(r.lse)},
  {name: 'worst case', key: (r) => r.raw.witness && r.witness.line, cell: (r) => r.raw.witness && commandLine(r.witness.replay || r.witness.line)},
];
/** A word that is the same everywhere needs no column. */
const COLUMNS = ALL_COLUMNS.filter(({field}) => !field || new Set(records.map((r) => r[field])).size > 1);
const FILTERS = ['problem', 'form', 'format', 'executor', 'math', 'family', 'verdict'];
const SIGNS = {pass: '✓', fail: '✕', inconclusive: '?', undecided: '○', out_of_domain: '○', vacuous: '○', unsupported: '–'};

const view = {text: '', label: '', only: {}, sort: 'verdict', down: false, page: 0, open: new Set(), rows: []};

function verdictCell(r) {
  const words = r.verdict === 'fail' && r.failures.length > 0 ? r.failures.join(', ') : r.verdict;
  return h('span', {class: `v ${r.verdict === 'fail' ? 'bad' : r.verdict === 'pass' ? 'good' : ''}`}, `${SIGNS[r.verdict] ?? ''} ${words.replaceAll('_', ' ')}`);
}

function meanCell(r) {
  if (!r.mean) return '–';
  const low = shown(r.mean.low), high = shown(r.mean.high);
  return low === high ? low : `${low}…${high}`;
}

function biasCell(r) {
  if (!r.bias || r.bias.bias === null) return '–';
  const words = `${shown(r.bias.bias)} of ${shown(r.bias.limit)}`;
  return r.bias.biased ? h('span', {class: 'bad'}, `! ${words}`) : words;
}

function matches(r, words) {
  if (view.label && r.label !== view.label) return false;
  if (FILTERS.some((f) => view.only[f] && r[f] !== view.only[f])) return false;
  return words.every((word) => r.searched.includes(word));
}

function sorted(rows) {
  const column = COLUMNS.find((c) => c.name === view.sort), sign = view.down ? -1 : 1;
  const keyed = rows.map((r) => [column.key(r), r]);
  keyed.sort(([a, ra], [b, rb]) => {
    if (a === null || b === null) return (a === null) - (b === null) || ra.index - rb.index;
    return sign * (column.number ? size(a) - size(b) || 0 : less(a, b)) || ra.index - rb.index;
  });
  return keyed.map(([, r]) => r);
}

function rowOf(r) {
  const open = view.open.has(r.key);
  const id = `r${r.index}`;
  const toggle = h('button', {type: 'button', class: 'toggle', 'aria-expanded': String(open), 'aria-controls': `${id}d`, onclick: () => toggleRow(r)},
    h('span', {'aria-hidden': 'true'}, open ? '▾' : '▸'), ` ${r.label}`);
  const cells = COLUMNS.slice(1).map((c) => h('td', {class: c.number ? 'n' : c.style}, c.cell ? c.cell(r) ?? '–' : c.key(r)));
  const row = h('tr', {id, class: r.failing > 0 && r.form === 'hardened' ? 'alarm' : null}, h('th', {scope: 'row', class: 'id'}, toggle), cells);
  return open ? [row, h('tr', {id: `${id}d`, class: 'open'}, h('td', {colspan: COLUMNS.length}, detail(r)))] : [row];
}

function toggleRow(r) {
  if (!view.open.delete(r.key)) view.open.add(r.key);
  draw();
  by(`r${r.index}`)?.querySelector('button').focus();
}

function draw() {
  const pages = Math.max(1, Math.ceil(view.rows.length / PAGE));
  view.page = Math.min(view.page, pages - 1);
  const first = view.page * PAGE, rows = view.rows.slice(first, first + PAGE);
  by('rows').replaceChildren(...rows.flatMap(rowOf));
  if (rows.length === 0) by('rows').append(h('tr', {}, h('td', {colspan: COLUMNS.length, class: 'none'}, 'No record fits these filters.')));
  by('count').textContent = view.rows.length === 0 ? 'no record' : `${grouped(first + 1)}–${grouped(first + rows.length)} of ${grouped(view.rows.length)} records` +
    (view.label ? `, kernel ${view.label}` : '');
  by('back').disabled = view.page === 0;
  by('on').disabled = view.page === pages - 1;
  by('clear').disabled = !view.text && !view.label && FILTERS.every((f) => !view.only[f]);
}

/** After a change of filters or order. */
function update(page = 0) {
  const words = view.text.toLowerCase().split(/\s+/);
  view.rows = sorted(records.filter((r) => matches(r, words)));
  view.page = page;
  for (const c of COLUMNS) {
    const head = by(`h${COLUMNS.indexOf(c)}`);
    head.setAttribute('aria-sort', c.name === view.sort ? (view.down ? 'descending' : 'ascending') : 'none');
  }
  by('text').value = view.text;
  for (const f of FILTERS) by(`only-${f}`).value = view.only[f] ?? '';
  draw();
  say(`${grouped(view.rows.length)} records`);
}

function clearFilters() {
  Object.assign(view, {text: '', label: '', only: {}});
}

function turn(pages) {
  view.page += pages;
  draw();
  by('records').scrollIntoView();
}

function sortBy(column) {
  if (view.sort === column.name) view.down = !view.down;
  else Object.assign(view, {sort: column.name, down: Boolean(column.number)});
  update();
}

function makeTable() {
  const choice = (f) => {
    const values = [...new Set(records.map((r) => r[f]))].sort(less);
    return h('label', {}, f, h('select', {id: `only-${f}`, onchange: (event) => { view.only[f] = event.target.value; update(); }},
      h('option', {value: ''}, 'all'), values.filter(Boolean).map((v) => h('option', {value: v}, v.replaceAll('_', ' ')))));
  };
  const heads = COLUMNS.map((c, i) => h('th', {scope: 'col', id: `h${i}`, class: c.number ? 'n' : null, 'aria-sort': 'none'},
    h('button', {type: 'button', title: c.about, onclick: () => sortBy(c)}, c.name)));
  by('record-table').replaceChildren(
    h('form', {class: 'filters', onsubmit: (event) => event.preventDefault()},
      h('label', {class: 'grow'}, 'search', h('input', {id: 'text', type: 'search', placeholder: 'kernel, family, failure', oninput: (event) => { view.text = event.target.value; update(); }})),
      FILTERS.map(choice), h('button', {type: 'button', id: 'clear', onclick: () => { clearFilters(); update(); }}, 'Clear filters')),
    h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'table of records'},
      h('table', {class: 'list records'}, h('caption', {}, 'One row per kernel, format, executor, math and family'), h('thead', {}, h('tr', {}, heads)), h('tbody', {id: 'rows'}))),
    h('p', {class: 'pager'}, h('button', {type: 'button', id: 'back', onclick: () => turn(-1)}, 'Previous'), h('span', {id: 'count'}), h('button', {type: 'button', id: 'on', onclick: () => turn(1)}, 'Next')));
  update();
}

/** Opens one record, wherever it is in the table. */
function showRecord(key) {
  const r = recordOf.get(key);
  if (!r) return false;
  if (!view.rows.includes(r)) {
    clearFilters();
    update();
  }
  view.page = Math.floor(view.rows.indexOf(r) / PAGE);
  view.open.add(key);
  draw();
  const row = by(`r${r.index}`);
  row.scrollIntoView({block: 'start'});
  row.querySelector('button').focus({preventScroll: true});
  return true;
}

/** The records of a cell of the matrix, the worst of them open. */
function showCell(label, family) {
  clearFilters();
  Object.assign(view, {label, sort: 'verdict', down: false});
  view.only.family = family;
  update();
  if (view.rows.length === 0) return;
  const worst = view.rows.reduce((a, b) => ((size(b.ratio ?? -1)) > (size(a.ratio ?? -1)) && b.failing >= a.failing ? b : a));
  location.hash = `record=${encodeURIComponent(worst.key)}`;
  showRecord(worst.key);  // the address may have been this one already
}
