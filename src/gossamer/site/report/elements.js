// Elements and words. Crawled text enters the page only as the text of a node, or as the address of
// a link after `isWeb` has seen it.

const SVG = 'http://www.w3.org/2000/svg';

const fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'vars') Object.entries(value).forEach(([k, v]) => element.style.setProperty(k, v));
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  children.flat(Infinity).forEach((child) => {
    if (child !== null && child !== undefined && child !== false) {
      element.append(child instanceof Node ? child : visible(String(child)));
    }
  });
  return element;
};

const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

// Characters that show nothing or turn the direction of what follows are shown as escapes, but for
// joiners between letters of some scripts and between the parts of an emoji. Beside ASCII they hide.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const isJoiner = (one) => one === '\u200c' || one === '\u200d';
const isJoined = (one) => one > '\u007f' && !isJoiner(one);
const visible = (text) => text.replace(HIDDEN, (one, at) => {
  if (isJoiner(one) && isJoined(text.charAt(at - 1)) && isJoined(text.charAt(at + 1))) return one;
  return /\s/.test(one) && one < ' ' ? ' ' : `\\u${one.codePointAt(0).toString(16).padStart(4, '0')}`;
});

const isWeb = (url) => /^https?:\/\//i.test(url);
const count = (number) => number.toLocaleString('en');
const many = (number, one, more) => `${count(number)} ${number === 1 ? one : more || `${one}s`}`;

const size = (bytes) => {
  if (bytes === null) return '';
  for (const unit of ['B', 'kB', 'MB', 'GB']) {
    if (bytes < 1000) return `${unit === 'B' || bytes >= 10 ? Math.round(bytes) : bytes.toFixed(1)} ${unit}`;
    bytes /= 1000;
  }
  return `${bytes.toFixed(1)} TB`;
};

const duration = (ms) => {
  if (ms === null) return '';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60000)} min ${Math.round(ms % 60000 / 1000)} s`;
};

const ICONS = {
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z',
  findings: 'M9 12l2 2 4-5M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6z',
  tree: 'M5 3v15h5M5 9h5M14 9h6M14 18h6',
  pages: 'M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6',
  assets: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h.01',
  broken: 'M9 15l-2 2a3.5 3.5 0 01-5-5l3-3M15 9l2-2a3.5 3.5 0 015 5l-3 3M8 4l1 3M16 20l-1-3M4 8l3 1',
  redirects: 'M4 7h10a5 5 0 010 10H8M11 14l-3 3 3 3',
  duplicates: 'M8 8h12v12H8zM16 8V4H4v12h4',
  weight: 'M12 13l4-5M4 18a9 9 0 1116 0z',
  theme: 'M12 3a9 9 0 100 18zM12 3a9 9 0 010 18',
  open: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  close: 'M6 6l12 12M18 6L6 18',
  right: 'M9 6l6 6-6 6',
  search: 'M11 4a7 7 0 100 14 7 7 0 000-14zM16 16l5 5',
  web: 'M12 2a10 10 0 100 20 10 10 0 000-20zM12 7a5 5 0 100 10 5 5 0 000-10zM12 2v20M2 12h20M5 5l14 14M19 5L5 19',
};

const icon = (name) => svg('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true' },
  svg('path', { d: ICONS[name] }));

const statusClass = (page) => {
  if (page.error !== null) return 'bad';
  if (page.status >= 300 && page.status < 400) return 'moved';
  return page.status >= 400 || page.status === 0 ? 'bad' : 'good';
};

const pill = (text, kind) => h('span', { class: `pill ${kind}` }, text);
const statusPill = (page) => pill(page.status || 'failed', statusClass(page));

// A link out of the report, for addresses of the web only.
const outward = (url) => (isWeb(url)
  ? h('a', {
    class: 'out', href: url, target: '_blank', rel: 'noopener noreferrer', title: 'Open the page itself',
    'aria-label': 'Open the page itself',
  }, icon('open'))
  : null);

// A place by its path: pages open their details, other URLs only show themselves.
const placeLink = (place, label) => {
  const url = urlOf(place);
  const page = pageOf(place);
  const text = label || pathOf(url);
  return h('span', { class: 'place' },
    page
      ? h('button', { class: 'link', type: 'button', title: shorten(url, 500), onclick: () => showDetails(page) }, shorten(text, 300))
      : h('span', { class: 'url', title: shorten(url, 500) }, shorten(text, 300)),
    outward(url));
};

const shorten = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// The first few of many places, and the rest at a click.
const placeList = (places, total, most = 3) => {
  const list = h('ul', { class: 'places' });
  const more = Math.max(total ?? 0, places.length);
  const draw = (shown) => {
    list.replaceChildren(...places.slice(0, shown).map((place) => h('li', null, placeLink(place))));
    if (shown < places.length) {
      list.append(h('li', null, h('button', {
        class: 'more', type: 'button',
        onclick: () => { draw(places.length); list.children[shown].querySelector('button, a')?.focus(); },
      }, `${count(more - shown)} more`)));
    } else if (more > places.length) {
      list.append(h('li', { class: 'quiet' }, `and ${count(more - places.length)} more`));
    }
  };
  draw(most);
  return list;
};

const card = (title, note, ...children) => h('section', { class: 'card' },
  h('header', null, h('h2', null, title), note ? h('p', { class: 'quiet' }, note) : null), children);

const empty = (text) => h('p', { class: 'empty' }, text);
