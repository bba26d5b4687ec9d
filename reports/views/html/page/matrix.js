// The matrix as a grid: one cell at a time is in the tab order, arrow keys move, Enter and a click lead to the records.
const WORDS = {
  bound: 'exceeds its bound', class: 'NaN or inf where a number is right, or the reverse', wrong: 'silently wrong', other: 'fails', undecided: 'undecided',
  outside: 'outside the domain or vacuous', unsupported: 'unsupported',
};

function makeGrid(table) {
  const families = [...table.tHead.rows[0].cells].slice(1).map((th) => th.textContent);
  const rows = [...table.querySelectorAll('tr[data-kernel]')];
  table.setAttribute('role', 'grid');
  const enter = (cell) => {
    if (!cell.className) return;
    showCell(cell.parentElement.dataset.kernel, families[cell.cellIndex - 1]);
  };
  const move = (cell, down, across) => {
    const y = rows.indexOf(cell.parentElement) + down;
    const x = Math.max(1, Math.min(families.length, cell.cellIndex + across));
    const next = rows[Math.max(0, Math.min(rows.length - 1, y))].cells[x];
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  };
  rows.forEach((row, y) => [...row.cells].slice(1).forEach((cell, x) => {
    cell.tabIndex = y === 0 && x === 0 ? 0 : -1;
    cell.setAttribute('role', 'gridcell');
    const what = cell.className.match(/^r\d$/) ? `passes, ${cell.textContent}` : WORDS[cell.className] ?? 'no such case';
    cell.setAttribute('aria-label', `${row.dataset.kernel}, ${families[x]}: ${what}`);
    const link = cell.querySelector('a'); // to the list of findings, for who has no scripts
    if (link) cell.textContent = link.textContent;
  }));
  table.addEventListener('click', (event) => {
    const cell = event.target.closest('td');
    if (cell && rows.includes(cell.parentElement)) enter(cell);
  });
  table.addEventListener('keydown', (event) => {
    const cell = event.target.closest('td');
    if (!cell || event.ctrlKey || event.altKey || event.metaKey) return;
    const steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -1e6], End: [0, 1e6], PageUp: [-1e6, 0], PageDown: [1e6, 0]};
    if (event.key === 'Enter' || event.key === ' ') enter(cell);
    else if (steps[event.key]) move(cell, ...steps[event.key]);
    else return;
    event.preventDefault();
  });
}
