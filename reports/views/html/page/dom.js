// Elements and numbers. Whatever comes from the report is set as text, never as markup.
const by = (id) => document.getElementById(id);

/** h('td', {class: 'n', onclick: f}, 'text', element, ...): an element; null and false children are left out. */
function h(tag, attributes = {}, ...children) {
  const svg = ['svg', 'rect', 'text', 'title'].includes(tag);
  const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** At most about five characters, as in the terminal's table: 0.43, 3.1, 120, 4e5, inf; a dash for what was not measured. */
function shown(x) {
  if (x === null || x === undefined) return '–';
  if (Number.isNaN(x)) return 'nan';
  if (!Number.isFinite(x)) return x > 0 ? 'inf' : '-inf';
  const size = Math.abs(x);
  if (size === 0) return '0';
  if (size < 1e-2 || size >= 9999.5) return x.toExponential(0).replace('e+', 'e');
  return x.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

const grouped = (n) => n.toLocaleString('en-US');
const percent = (share) => `${Math.round(100 * share)} %`;
const power = (e) => (e === null ? '0' : e >= 0 && e <= 13 ? grouped(2 ** e) : `2^${e}`);

/** What screen readers are told about a change. */
function say(text) {
  by('said').textContent = text;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { /* no permission: the older way, through a selection */ }
  const area = h('textarea', {class: 'unseen'});
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}

/** A command line with its copy button. */
function commandLine(text) {
  const code = h('code', {class: 'cmd'}, text);
  return h('span', {class: 'copyable'}, code, copyButton(code));
}

function copyButton(code) {
  const button = h('button', {type: 'button', class: 'copy', 'aria-label': 'Copy the command'}, 'copy');
  button.addEventListener('click', async (event) => {
    event.stopPropagation();
    const done = await copy(code.textContent);
    button.textContent = done ? 'copied' : 'select it';
    say(done ? 'Copied' : 'Copying failed');
    setTimeout(() => { button.textContent = 'copy'; }, 1500);
  });
  return button;
}
