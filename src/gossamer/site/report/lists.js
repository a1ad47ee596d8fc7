// The tables, and the findings of the audit.

const SEVERITIES = ['error', 'warning', 'notice'];

const pageCell = (page) => [
  placeLink(page.number),
  page.title ? h('div', { class: 'quiet title' }, shorten(page.title, 160)) : null,
];
const STATUS = { title: 'Status', value: (page) => page.status, draw: statusPill };
const PAGE = { title: 'Page', wide: true, value: (page) => page.url, draw: pageCell };
const weighing = (title, value, words, limit) => ({
  title, number: true, first: 'descending', value,
  draw: (row) => (value(row) > limit ? h('b', { class: 'bad-text' }, words(value(row))) : words(value(row))),
});
const tally = (title, value) => ({ title, number: true, first: 'descending', value, draw: (row) => count(value(row)) });
const TIME = weighing('Time', (page) => page.milliseconds, duration, SLOW_MS);
const SIZE = weighing('Size', (page) => page.bytes, size, LARGE_BYTES);
const pageText = (page) => `${page.url} ${page.title} ${page.status} ${page.type} ${page.error ?? ''}`;

const makePages = () => makeTable([
  STATUS, PAGE,
  { title: 'Type', value: (page) => page.type, draw: (page) => shorten(page.type.replace(/^(text|application)\//, ''), 24) },
  tally('Depth', (page) => page.depth), SIZE, TIME,
  tally('Assets', (page) => page.assets.length), tally('Links', (page) => page.links), tally('Linked', (page) => page.linked),
], PAGES, {
  label: 'Search pages: URL, title, status, type', search: pageText,
  facets: [
    { label: 'Content', test: isContent }, { label: 'Redirects', test: isRedirect },
    { label: 'Aliases', test: (page) => isAlias(page) && !isRedirect(page) }, { label: 'Errors', test: isError },
    { label: 'Not indexed', test: (page) => page.noindex === 1 },
  ],
});

const makeAssets = () => makeTable([
  { title: 'Kind', value: (asset) => asset.kind, draw: (asset) => pill(asset.kind, 'kind') },
  { title: 'Asset', wide: true, value: (asset) => asset.url, draw: (asset) => placeLink(asset.url) },
  tally('Pages', (asset) => asset.pages),
  {
    title: 'Used by', wide: true, value: (asset) => urlOf(asset.used_by[0]),
    draw: (asset) => placeList(asset.used_by, asset.pages, 1),
  },
  ...(DATA.checked ? [
    { title: 'Status', value: (asset) => asset.status, draw: (asset) => (asset.status === null && asset.error === null ? '' : statusPill(asset)) },
    { title: 'Size', number: true, first: 'descending', value: (asset) => asset.bytes, draw: (asset) => size(asset.bytes) },
  ] : []),
], ASSETS, {
  label: 'Search assets: URL, kind', sort: [2, true], search: (asset) => `${asset.url} ${asset.kind} ${asset.error ?? ''}`,
  facets: Object.keys(SUMMARY.assets).filter((kind) => SUMMARY.assets[kind])
    .map((kind) => ({ label: kind, test: (asset) => asset.kind === kind })),
});

const makeBroken = () => {
  const rows = [
    ...BROKEN_PAGES.map((page) => ({ what: 'page', place: page.number, of: page, linked: page.linked, from: page.linked_from })),
    ...BROKEN_ASSETS.map((asset) => ({ what: asset.kind, place: asset.url, of: asset, linked: asset.pages, from: asset.used_by })),
  ];
  if (!rows.length) return empty('No broken links: everything that was asked for is there.');
  return makeTable([
    { title: 'Status', value: (row) => row.of.status, draw: (row) => statusPill(row.of) },
    { title: 'Broken link', wide: true, value: (row) => urlOf(row.place), draw: (row) => [placeLink(row.place), h('div', { class: 'quiet' }, row.of.error)] },
    { title: 'Kind', value: (row) => row.what, draw: (row) => pill(row.what, 'kind') },
    tally('Linked', (row) => row.linked),
    { title: 'Linked from', wide: true, value: (row) => (row.from.length ? urlOf(row.from[0]) : null), draw: (row) => placeList(row.from, row.linked) },
  ], rows, {
    label: 'Search broken links and linking pages', sort: [3, true],
    search: (row) => [urlOf(row.place), row.of.status, row.of.error, ...row.from.map(urlOf)].join(' '),
  }).element;
};

const makeRedirects = () => {
  if (!CHAINS.length) return empty('No redirects.');
  const hopsOf = (chain) => h('ol', { class: 'hops' }, chain.hops.map((hop, number) => {
    const page = pageOf(hop);
    const again = chain.loop && number === chain.hops.length - 1;
    return h('li', null, again ? pill('loop', 'bad') : page ? statusPill(page) : pill('elsewhere', 'kind'), ' ', placeLink(hop));
  }));
  return makeTable([
    tally('Hops', (chain) => chain.hops.length - 1),
    { title: 'Chain', wide: true, value: (chain) => chain.start.url, draw: hopsOf },
    { title: 'Ends', value: (chain) => ending(chain)[0], draw: (chain) => pill(...ending(chain)) },
    tally('Linked', (chain) => chain.start.linked),
    { title: 'Linked from', wide: true, value: (chain) => chain.start.linked, draw: (chain) => placeList(chain.start.linked_from, chain.start.linked) },
  ], CHAINS, {
    label: 'Search redirects', sort: [0, true], search: (chain) => chain.hops.map(urlOf).join(' '),
    facets: [
      { label: 'More than one hop', test: (chain) => chain.hops.length > 2 },
      { label: 'Loops', test: (chain) => chain.loop },
      { label: 'Off the site', test: (chain) => pageOf(chain.hops.at(-1)) === null },
    ],
  }).element;
};

const ending = (chain) => {
  if (chain.loop) return ['loop', 'bad'];
  const end = pageOf(chain.hops.at(-1));
  if (!end) return ['elsewhere', 'kind'];
  return isError(end) ? ['error', 'bad'] : ['page', 'good'];
};

const makeDuplicates = () => {
  const groups = [...COPIES].map(([number, copies]) => ({ page: PAGES[number], copies }));
  if (!groups.length) return empty('No duplicates: each content has one URL.');
  return makeTable([
    tally('Copies', (group) => group.copies.length),
    { title: 'Page', wide: true, value: (group) => group.page.url, draw: (group) => pageCell(group.page) },
    { title: 'The same content as', wide: true, value: (group) => group.copies[0].url, draw: (group) => placeList(group.copies.map((copy) => copy.number), group.copies.length, 5) },
    { title: 'Size', number: true, first: 'descending', value: (group) => group.page.bytes, draw: (group) => size(group.page.bytes) },
  ], groups, {
    label: 'Search duplicates', sort: [0, true],
    search: (group) => [group.page.url, group.page.title, ...group.copies.map((copy) => copy.url)].join(' '),
  }).element;
};

const makeWeight = () => {
  const part = (title, note, column, value, other) => {
    const rows = PAGES.filter((page) => page.status > 0);
    order(rows, value, true);
    const first = rows.slice(0, 100);
    const most = Math.max(1, ...first.map(value));
    const meter = {
      ...column, draw: (page) => h('div', { class: 'meter', vars: { '--part': `${100 * value(page) / most}%` } }, column.draw(page)),
    };
    return card(title, note, first.length ? makeTable([meter, PAGE, other, STATUS], first, { label: `Search the ${title.toLowerCase()}`, sort: [0, true], search: pageText }).element : empty('No pages.'));
  };
  const slow = PAGES.filter((page) => page.milliseconds > SLOW_MS).length;
  const large = PAGES.filter((page) => page.bytes > LARGE_BYTES).length;
  return h('div', { class: 'pair' },
    part('Slowest pages', `${many(slow, 'page')} took more than ${duration(SLOW_MS)}`, TIME, (page) => page.milliseconds, SIZE),
    part('Largest pages', `${many(large, 'page')} with more than ${size(LARGE_BYTES)}`, SIZE, (page) => page.bytes, TIME));
};

const makeFindings = () => {
  if (!DATA.findings.length) return empty('Nothing was found, or no audit was made.');
  const sorted = SEVERITIES.flatMap((severity) => DATA.findings.filter((finding) => finding.severity === severity));
  return h('div', { class: 'stack' }, sorted.map((finding) => {
    const box = h('details', { class: `finding ${finding.severity}`, 'data-rule': finding.rule }, h('summary', null,
      icon('right'), pill(finding.severity, finding.severity), h('h2', null, finding.title), h('code', null, finding.rule), h('b', null, count(finding.urls.length))),
    h('p', null, finding.explanation));
    // The rows are drawn when somebody looks: a rule may be about every page.
    box.addEventListener('toggle', () => { if (box.open && !box.querySelector('.table')) box.append(findingTable(finding)); });
    return box;
  }));
};

const findingTable = (finding) => {
  const rows = finding.urls.map(([place, detail, where]) => ({ place, detail, where }));
  const columns = [{ title: 'URL', wide: true, value: (row) => urlOf(row.place), draw: (row) => placeLink(row.place) }];
  if (rows.some((row) => row.detail)) columns.push({ title: 'Detail', wide: rows.some((row) => row.detail.length > 40), value: (row) => row.detail, draw: (row) => row.detail });
  if (rows.some((row) => row.where.length)) {
    columns.push({
      title: finding.relation ? finding.relation[0].toUpperCase() + finding.relation.slice(1) : 'Where', wide: true,
      value: (row) => row.where.length, first: 'descending', draw: (row) => placeList(row.where, row.where.length),
    });
  }
  return makeTable(columns, rows, {
    label: 'Search this finding', search: (row) => [urlOf(row.place), row.detail, ...row.where.map(urlOf)].join(' '),
  }).element;
};
