// The frame: views behind a hash, the list of them, the theme.

const VIEWS = {
  overview: { title: 'Overview', make: () => makeOverview(pickPages, go) },
  findings: { title: 'Findings', number: () => DATA.findings.length, make: makeFindings, note: 'What the audit found, the worst first' },
  tree: { title: 'Tree', make: makeTree, note: 'Each page once, under the page that led to it first' },
  pages: { title: 'Pages', number: () => PAGES.length, make: () => pagesTable().element, note: 'Every URL that was fetched' },
  assets: { title: 'Assets', number: () => ASSETS.length, make: () => assetsView(), note: 'Files that pages depend on, each once' },
  broken: { title: 'Broken links', number: () => BROKEN_PAGES.length + BROKEN_ASSETS.length, bad: true, make: makeBroken, note: 'What could not be fetched, and where it is linked' },
  redirects: { title: 'Redirects', number: () => CHAINS.length, make: makeRedirects, note: 'Chains from their first URL to where they end' },
  duplicates: { title: 'Duplicates', number: () => COPIES.size, make: makeDuplicates, note: 'The same content under several URLs' },
  weight: { title: 'Slow and large', make: makeWeight, note: 'The hundred slowest and the hundred largest pages' },
};

let pages = null;
let assets = null;
const pagesTable = () => { pages = pages || makePages(); return pages; };
const assetsView = () => {
  assets = ASSETS.length ? assets || makeAssets() : null;
  return assets ? assets.element : empty('No assets.');
};

const pickPages = (label, test) => { pagesTable().pick(label, test); go('pages'); };
const go = (view, kind) => {
  if (kind) { assetsView(); assets.pick(kind, (asset) => asset.kind === kind); }
  location.hash = view;
};

const made = new Map();
const show = () => {
  const name = Object.hasOwn(VIEWS, location.hash.slice(1)) ? location.hash.slice(1) : 'overview';
  const view = VIEWS[name];
  if (!made.has(name)) {
    const head = name === 'overview'
      ? h('header', { class: 'head' }, h('h1', null, DATA.site), h('p', { class: 'quiet' }, `${many(PAGES.length, 'URL')} crawled from `, h('span', { class: 'url' }, shorten(SUMMARY.start_url, 200)), DATA.made_at ? ` · ${DATA.made_at.replace('T', ' ').replace('+00:00', ' UTC')}` : ''))
      : h('header', { class: 'head' }, h('h1', null, view.title), h('p', { class: 'quiet' }, view.note));
    made.set(name, h('div', { class: 'view', id: `view-${name}` }, head, view.make()));
  }
  const main = document.getElementById('main');
  // What was open over another view has nothing to say here.
  document.getElementById('details').close();
  main.replaceChildren(made.get(name));
  scrollTo(0, 0);
  document.querySelectorAll('#side nav a').forEach((link) => {
    if (link.dataset.view !== name) link.removeAttribute('aria-current');
    else {
      link.setAttribute('aria-current', 'page');
      // On a narrow screen the views stand in a row that is wider than the screen.
      link.scrollIntoView({ block: 'nearest', inline: 'center' });
    }
  });
};

// The system decides between dark and light until the reader does; a browser may refuse to remember.
const remembered = () => { try { return localStorage.getItem('gossamer-theme'); } catch { return null; } };
const remember = (theme) => { try { localStorage.setItem('gossamer-theme', theme); } catch { /* Then not. */ } };
const setTheme = (theme) => { if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme; };
const otherTheme = () => {
  const now = document.documentElement.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  const next = now === 'dark' ? 'light' : 'dark';
  setTheme(next);
  remember(next);
};

const side = () => {
  const links = Object.entries(VIEWS).map(([name, view]) => {
    const number = view.number ? view.number() : null;
    return h('a', { href: `#${name}`, 'data-view': name }, icon(name), h('span', null, view.title),
      number === null ? null : h('b', { class: view.bad && number ? 'bad' : null }, count(number)));
  });
  return [
    h('div', { class: 'brand' }, icon('web'), h('div', null, h('b', null, DATA.site), h('small', null, 'site report'))),
    h('nav', { 'aria-label': 'Views' }, links),
    h('button', { class: 'theme', type: 'button', onclick: otherTheme }, icon('theme'), h('span', null, 'Dark or light')),
  ];
};

setTheme(remembered());
document.getElementById('side').append(...side());
// Its address is no view.
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  document.getElementById('main').focus();
});
addEventListener('hashchange', show);
show();
