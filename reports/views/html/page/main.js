// Starts everything, and follows the address: #record=KEY.
function theme() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}

function showTheme() {
  const button = by('theme');
  button.textContent = theme() === 'dark' ? '☾ dark' : '☀ light';
  button.setAttribute('aria-label', `Theme: ${theme()}. Switch to ${theme() === 'dark' ? 'light' : 'dark'}`);
  redrawCharts();
}

by('theme').addEventListener('click', () => {
  const next = theme() === 'dark' ? 'light' : 'dark';
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem('flashproof-theme', next);
  } catch { /* storage may be off for files */ }
  showTheme();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', showTheme);

function follow() {
  const address = location.hash.slice(1);
  if (address.startsWith('record=')) {
    let key = '';
    try {
      key = decodeURIComponent(address.slice(7));
    } catch { /* a broken escape names no record */ }
    if (!showRecord(key)) say('This report has no such record');
    return;
  }
  const inside = address && by(address)?.closest('details'); // a finding inside a closed list
  if (inside) {
    inside.open = true;
    by(address).scrollIntoView();
  }
}

for (const code of document.querySelectorAll('td > code.cmd')) {
  const wrapper = h('span', {class: 'copyable'});
  code.replaceWith(wrapper);
  wrapper.append(code, copyButton(code));
}
makeTable();
for (const table of document.querySelectorAll('table.matrix:not(.kills)')) makeGrid(table);
makeCharts();
showTheme();
addEventListener('hashchange', follow);
addEventListener('beforeprint', drawAllCharts);
follow();
