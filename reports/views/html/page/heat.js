// Which elements of an output are wrong, as a grid with a letter in every cell that is.
const MEANING = {
  X: 'above the bound', N: 'NaN where a number is right', I: 'inf where a number is right', F: 'a number where inf or NaN is right',
  U: 'never written',
};

function heatWords(heat) {
  const tally = {};
  for (const c of heat.cells.join('')) tally[c] = (tally[c] ?? 0) + 1;
  const wrong = Object.keys(MEANING).filter((c) => tally[c]).map((c) => `${grouped(tally[c])} ${MEANING[c]}`);
  const size = heat.cellRows * heat.cellCols;
  return `${heat.tensor}, ${heat.rows} × ${heat.cols}${size > 1 ? `, ${heat.cellRows} × ${heat.cellCols} elements a cell` : ''}; cells: ` +
    (wrong.join(', ') || 'none wrong');
}

function heatMap(heat) {
  if (heat.cells.length === 0) return null;
  const across = heat.cells[0].length, size = Math.max(8, Math.min(16, Math.floor(520 / across)));
  const svg = h('svg', {
    class: 'heat', role: 'img', 'aria-label': `Heat map of ${heatWords(heat)}`, width: across * size, height: heat.cells.length * size,
    viewBox: `0 0 ${across * size} ${heat.cells.length * size}`,
  });
  heat.cells.forEach((row, y) => {
    for (let begin = 0, end = 0; begin < row.length; begin = end) { // equal neighbours are one rectangle
      while (end < row.length && row[end] === row[begin]) ++end;
      const c = row[begin];
      svg.append(h('rect', {x: begin * size, y: y * size, width: (end - begin) * size, height: size, class: `h${c === '.' ? 'none' : c}`}));
      if (!MEANING[c]) continue;
      for (let x = begin; x < end; ++x) {
        svg.append(h('text', {x: (x + 0.5) * size, y: (y + 0.82) * size, 'text-anchor': 'middle', class: 'cell', 'font-size': size * 0.8}, c));
      }
    }
  });
  return h('figure', {class: 'heatmap'}, h('figcaption', {}, heatWords(heat)), h('div', {class: 'scroll plain', tabindex: 0, role: 'region', 'aria-label': 'heat map'}, svg),
    h('details', {}, h('summary', {}, 'As text'), h('pre', {}, heat.cells.join('\n'))));
}

function heatLegend() {
  return h('ul', {class: 'legend'},
    h('li', {}, h('b', {class: 'h1'}, '.1'), h('b', {class: 'h5'}, '.5'), h('b', {class: 'h9'}, '.9'), ' error / bound'),
    Object.entries(MEANING).map(([letter, words]) => h('li', {}, h('b', {class: `h${letter}`}, letter), ` ${words}`)));
}
