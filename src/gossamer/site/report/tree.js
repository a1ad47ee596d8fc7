// The tree of pages: one flat list of rows, so that a chain of 50,000 pages is no deeper than any
// other, and only what is open is drawn.

const TREE_ROWS = 400;
const DEEPEST_INDENT = 20;
const MOST_OPEN = 5000;

const makeTree = () => {
  const open = new Set();
  let shown = TREE_ROWS;
  let matches = null;  // Numbers of the pages to show while a search is on; null when none is.
  let hits = 0;

  const list = h('div', { class: 'tree', role: 'tree', 'aria-label': 'Pages by the page that led to them' });
  const note = h('span', { class: 'quiet', 'aria-live': 'polite' });

  const childrenOf = (number) => (matches
    ? CHILDREN[number].filter((child) => matches.has(child)) : CHILDREN[number]);
  const opens = (number) => childrenOf(number).length > 0 || (!matches && PAGES[number].assets.length > 0);

  // Rows from top to bottom: [kind, number, depth]; no recursion, however deep.
  const rows = (most) => {
    const found = [];
    const tops = matches ? TOPS.filter((top) => matches.has(top)) : TOPS;
    const waiting = tops.map((top) => ['page', top, 0]).reverse();
    while (waiting.length && found.length < most) {
      const row = waiting.pop();
      const [kind, number, depth] = row;
      found.push(row);
      if (kind === 'page' && open.has(`page${number}`)) {
        const children = childrenOf(number);
        for (let i = children.length - 1; i >= 0; i -= 1) waiting.push(['page', children[i], depth + 1]);
        if (PAGES[number].assets.length && !matches) waiting.push(['assets', number, depth + 1]);
      } else if (kind === 'assets' && open.has(`assets${number}`)) {
        const assets = PAGES[number].assets;
        for (let i = assets.length - 1; i >= 0; i -= 1) waiting.push(['asset', assets[i], depth + 1]);
      }
    }
    return { found, rest: waiting.length > 0 };
  };

  const toggle = (key) => {
    if (!open.delete(key)) open.add(key);
    draw();
    const again = [...list.querySelectorAll('[data-key]')].find((one) => one.dataset.key === key);
    if (again) again.querySelector('.toggle').focus();
  };

  const focus = (row) => { if (row) row.querySelector('button, a').focus(); };
  // Up and down from row to row; right opens, left closes, or goes to the row above.
  const press = (event) => {
    const here = event.target.closest('.row');
    const rows = [...list.querySelectorAll('.row')];
    const at = rows.indexOf(here);
    const acts = {
      ArrowDown: () => focus(rows[at + 1]),
      ArrowUp: () => focus(rows[at - 1]),
      ArrowRight: () => { if (here.ariaExpanded === 'false') toggle(here.dataset.key); },
      ArrowLeft: () => {
        if (here.ariaExpanded === 'true') toggle(here.dataset.key);
        else focus(rows.slice(0, at).findLast((one) => Number(one.ariaLevel) < Number(here.ariaLevel)));
      },
    };
    if (here && Object.hasOwn(acts, event.key)) { event.preventDefault(); acts[event.key](); }
  };
  list.addEventListener('keydown', press);

  const row = (kind, number, depth, opening, content) => {
    const key = `${kind}${number}`;
    const isOpen = open.has(key);
    return h('div', {
      class: `row ${kind}`, role: 'treeitem', 'aria-level': depth + 1, 'aria-expanded': opening ? String(isOpen) : null,
      'data-key': key, vars: { '--depth': Math.min(depth, DEEPEST_INDENT) },
    },
    opening
      ? h('button', {
        class: `toggle ${isOpen ? 'open' : ''}`, type: 'button', 'aria-label': isOpen ? 'Close' : 'Open', onclick: () => toggle(key),
      }, icon('right'))
      : h('span', { class: 'toggle' }),
    h('div', { class: 'cells' }, depth > DEEPEST_INDENT ? h('span', { class: 'quiet' }, `${count(depth)} deep`) : null, content));
  };

  const pageRow = (number, depth) => {
    const page = PAGES[number];
    const below = CHILDREN[number].length;
    const target = page.redirect_to ?? page.alias_of;
    const content = [
      h('span', { class: `dot ${statusClass(page)}`, title: page.error ?? `Status ${page.status}` }),
      placeLink(number, depth === 0 ? page.url : null),
    ];
    if (target !== null) {
      content.push(h('span', { class: 'quiet' }, isRedirect(page) ? 'redirects to' : 'same as'), placeLink(target));
    }
    if (isError(page)) content.push(h('span', { class: 'bad-text' }, shorten(page.error, 120)));
    else if (target === null) content.push(h('span', { class: 'title' }, shorten(page.title, 160)));
    if (below) content.push(h('span', { class: 'quiet tally' }, many(below, 'page')));
    return row('page', number, depth, opens(number), content);
  };

  const assetsRow = (number, depth) => {
    const kinds = new Map();
    PAGES[number].assets.forEach((asset) => kinds.set(ASSETS[asset].kind, (kinds.get(ASSETS[asset].kind) || 0) + 1));
    return row('assets', number, depth, true, [
      h('span', { class: 'quiet' }, many(PAGES[number].assets.length, 'asset')),
      [...kinds].map(([kind, found]) => pill(`${kind} ${found}`, 'kind')),
    ]);
  };

  const assetRow = (number, depth) => {
    const asset = ASSETS[number];
    return row('asset', number, depth, false, [
      pill(asset.kind, 'kind'), placeLink(asset.url),
      asset.error !== null ? h('span', { class: 'bad-text' }, asset.error) : null,
    ]);
  };

  const drawers = { page: pageRow, assets: assetsRow, asset: assetRow };
  const draw = () => {
    const { found, rest } = rows(shown);
    const drawn = found.map(([kind, number, depth]) => drawers[kind](number, depth));
    // Below the tree of the start page stand those that no page led to.
    const second = found.findIndex(([, number, depth]) => depth === 0 && number !== 0);
    if (second >= 0) drawn.splice(second, 0, h('h2', null, 'Linked from no page'));
    list.replaceChildren(...drawn);
    if (!found.length) list.append(empty(matches ? 'Nothing matches.' : 'No pages.'));
    if (rest) {
      list.append(h('button', { class: 'more', type: 'button', onclick: () => { const first = shown; shown += TREE_ROWS; draw(); focus(list.querySelectorAll('.row')[first]); } }, 'Show more'));
    }
    note.textContent = matches ? `${many(hits, 'page')} found` : '';
  };

  const openAll = () => {
    let left = MOST_OPEN;
    const waiting = TOPS.slice();
    for (let i = 0; i < waiting.length && left > 0; i += 1) {
      if (CHILDREN[waiting[i]].length) {
        open.add(`page${waiting[i]}`);
        left -= 1;
        for (const child of CHILDREN[waiting[i]]) waiting.push(child);
      }
    }
    draw();
  };

  const search = (words) => {
    shown = TREE_ROWS;
    hits = 0;
    if (!words.length) {
      matches = null;
      draw();
      return;
    }
    matches = new Set();
    const ways = new Set();
    PAGES.forEach((page) => {
      const text = `${page.url} ${page.title}`.toLowerCase();
      if (!words.every((word) => text.includes(word))) return;
      hits += 1;
      // Down to a page it takes all that is above it; stop where another match has come by.
      let above = page.parent;
      matches.add(page.number);
      while (above !== null && !ways.has(above)) {
        ways.add(above);
        matches.add(above);
        open.add(`page${above}`);
        above = PAGES[above].parent;
      }
    });
    draw();
  };

  const close = () => { open.clear(); shown = TREE_ROWS; draw(); };
  TOPS.slice(0, 1).forEach((top) => open.add(`page${top}`));
  draw();
  return h('div', { class: 'card flush' },
    h('div', { class: 'bar' }, searchBox('Find in the tree', search), note, h('div', { class: 'steps' },
      h('button', { class: 'facet', type: 'button', onclick: openAll }, 'Open all'),
      h('button', { class: 'facet', type: 'button', onclick: close }, 'Close all'))),
    list);
};
