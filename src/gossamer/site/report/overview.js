// The first look: the numbers, the charts, what needs attention.

const STATUS_KINDS = [
  { label: '2xx', name: 'Success', kind: 'good', test: (page) => !isError(page) && page.status >= 200 && page.status < 300 },
  { label: '3xx', name: 'Redirect', kind: 'moved', test: (page) => page.status >= 300 && page.status < 400 },
  { label: '4xx', name: 'Client error', kind: 'warn', test: (page) => page.status >= 400 && page.status < 500 },
  { label: '5xx', name: 'Server error', kind: 'bad', test: (page) => page.status >= 500 },
  { label: 'none', name: 'No answer', kind: 'dead', test: (page) => page.status === 0 },
];
const REASONS = {
  200: 'OK', 204: 'No Content', 301: 'Moved Permanently', 302: 'Found', 303: 'See Other', 304: 'Not Modified',
  307: 'Temporary Redirect', 308: 'Permanent Redirect', 400: 'Bad Request', 401: 'Unauthorized', 403: 'Forbidden',
  404: 'Not Found', 405: 'Not Allowed', 410: 'Gone', 429: 'Too Many Requests', 500: 'Server Error', 502: 'Bad Gateway',
  503: 'Unavailable', 504: 'Gateway Timeout',
};
const TIMES = [10, 25, 50, 100, 250, 500, 1000, 3000, Infinity];

const makeOverview = (pickPages, go) => h('div', { class: 'stack' }, notices(), tiles(go),
  h('div', { class: 'charts' },
    statusCard(pickPages), findingsCard(go), depthCard(pickPages), timeCard(pickPages), typeCard(pickPages), assetCard(go)));

const notices = () => {
  const found = [];
  if (!SUMMARY.complete) {
    found.push(h('p', { class: 'banner' }, h('b', null, 'This map is not complete. '),
      SUMMARY.stopped_by ? `The crawl ended early: ${SUMMARY.stopped_by}.` : 'The crawl ended early.'));
  }
  SUMMARY.notes.forEach((note) => found.push(h('p', { class: 'banner' }, shorten(note, 500))));
  return found;
};

const tiles = (go) => {
  const times = PAGES.filter((page) => page.status > 0).map((page) => page.milliseconds).sort((a, b) => a - b);
  const median = times.length ? times[Math.floor(times.length / 2)] : null;
  const slowest = times.length ? times[Math.floor(times.length * 0.95)] : null;
  const tile = (view, name, value, note, kind) => h('button', {
    class: `tile ${kind || ''}`, type: 'button', onclick: () => go(view),
  }, h('span', { class: 'quiet' }, name), h('b', null, value), h('small', null, note));
  const assets = Object.values(SUMMARY.assets).reduce((sum, number) => sum + number, 0);
  return h('div', { class: 'tiles' },
    tile('pages', 'Pages', count(SUMMARY.pages), `${many(SUMMARY.depth, 'level')} deep`),
    tile('broken', 'Errors', count(SUMMARY.errors), BROKEN_ASSETS.length ? `and ${many(BROKEN_ASSETS.length, 'broken asset')}` : 'pages that failed', SUMMARY.errors ? 'bad' : 'good'),
    tile('redirects', 'Redirects', count(PAGES.filter(isRedirect).length), many(CHAINS.filter((chain) => chain.hops.length > 2 || chain.loop).length, 'chain or loop', 'chains or loops')),
    tile('duplicates', 'Aliases', count(SUMMARY.aliases), 'further URLs of pages'),
    tile('assets', 'Assets', count(assets), 'distinct files'),
    tile('weight', 'Response time', median === null ? '–' : duration(median), slowest === null ? 'no answers' : `median; 95 % under ${duration(slowest)}`),
    tile('weight', 'Size', size(SUMMARY.bytes), 'of all pages'),
    tile('pages', 'Speed', `${count(SUMMARY.pages_per_second)}/s`, `in ${duration(SUMMARY.seconds * 1000)}`));
};

const statusCard = (pick) => {
  const codes = new Map();
  PAGES.forEach((page) => codes.set(page.status, (codes.get(page.status) || 0) + 1));
  const kindOf = (code) => STATUS_KINDS.find((kind) => kind.test({ status: code, error: null })) || STATUS_KINDS[4];
  const items = STATUS_KINDS.map((kind) => {
    const number = PAGES.filter(kind.test).length;
    return { label: `${kind.name} (${kind.label})`, value: number, text: count(number), kind: kind.kind, pick: () => pick(kind.name, kind.test) };
  });
  const each = [...codes].sort((a, b) => b[1] - a[1]).slice(0, 7).map(([code, number]) => ({
    label: code ? `${code} ${REASONS[code] || kindOf(code).name}` : 'No answer',
    value: number, text: count(number), kind: kindOf(code).kind,
    pick: () => pick(code ? `Status ${code}` : 'No answer', (page) => page.status === code),
  }));
  return card('Status codes', 'What the server answered', PAGES.length ? [chart(stack, items, 'Kinds of status'), chart(bars, each, 'Status codes')] : empty('No pages.'));
};

const depthCard = (pick) => {
  const depths = [];
  PAGES.forEach((page) => { if (isContent(page)) depths[page.depth] = (depths[page.depth] || 0) + 1; });
  const most = 16;
  const items = Array.from(depths.slice(0, most), (number, depth) => ({
    label: String(depth), value: number || 0, text: count(number || 0),
    pick: () => pick(`Depth ${depth}`, (page) => isContent(page) && page.depth === depth),
  }));
  const deeper = depths.slice(most).reduce((sum, number) => sum + (number || 0), 0);
  if (deeper) items.push({ label: `${most}+`, value: deeper, text: count(deeper), pick: () => pick(`Depth ${most} and more`, (page) => isContent(page) && page.depth >= most) });
  return card('Depth', 'Pages by clicks from the start page', items.length ? chart(columns, items, 'Pages by depth') : empty('No pages.'));
};

const timeCard = (pick) => {
  const answered = PAGES.filter((page) => page.status > 0);
  const items = TIMES.map((limit, number) => {
    const from = number ? TIMES[number - 1] : 0;
    const test = (page) => page.status > 0 && page.milliseconds >= from && page.milliseconds < limit;
    const found = answered.filter(test).length;
    const label = limit === Infinity ? `≥${duration(from).replace('.0', '')}` : `<${limit < 1000 ? limit : duration(limit).replace('.0', '')}`;
    return { label, value: found, text: count(found), kind: from >= SLOW_MS ? 'bad' : from >= 1000 ? 'warn' : '', pick: () => pick(`Response time ${label}`, test) };
  });
  return card('Response times', 'Pages by milliseconds to the last byte', answered.length ? chart(columns, items, 'Pages by response time') : empty('No answers.'));
};

const typeCard = (pick) => {
  const types = new Map();
  PAGES.forEach((page) => { if (isContent(page)) types.set(page.type, (types.get(page.type) || 0) + 1); });
  const items = [...types].sort((a, b) => b[1] - a[1]).slice(0, 7).map(([type, number]) => ({
    label: shorten(type, 40) || 'not known', value: number, text: count(number),
    pick: () => pick(shorten(type, 40) || 'type not known', (page) => isContent(page) && page.type === type),
  }));
  return card('Content types', 'Of pages with content of their own', items.length ? chart(bars, items, 'Content types') : empty('No pages.'));
};

const assetCard = (go) => {
  const kinds = new Map(Object.keys(SUMMARY.assets).map((kind) => [kind, { number: 0, bytes: 0 }]));
  ASSETS.forEach((asset) => {
    const sum = kinds.get(asset.kind);
    if (sum) { sum.number += 1; sum.bytes += asset.bytes || 0; }
  });
  const items = [...kinds].filter(([, sum]) => sum.number).map(([kind, sum]) => ({
    label: `${kind} (${count(sum.number)})`, kind: 'asset', pick: () => go('assets', kind),
    value: DATA.checked ? sum.bytes : sum.number, text: DATA.checked ? size(sum.bytes) : count(sum.number),
  }));
  const note = DATA.checked ? 'Bytes of distinct assets, by kind' : 'Distinct assets by kind; --check-assets adds their sizes';
  return card('Asset weight', note, items.length ? chart(bars, items, 'Assets by kind') : empty('No assets.'));
};

const findingsCard = (go) => {
  const sums = { error: 0, warning: 0, notice: 0 };
  DATA.findings.forEach((finding) => { sums[finding.severity] += finding.urls.length; });
  const worst = DATA.findings.slice().sort((a, b) => b.urls.length - a.urls.length)
    .sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity)).slice(0, 6);
  const first = worst.map((finding) => h('li', null,
    h('button', { type: 'button', onclick: () => openFinding(finding, go) }, pill(finding.severity, finding.severity), h('span', null, finding.title), h('b', null, count(finding.urls.length)))));
  return card('Findings', `${many(sums.error, 'error')}, ${many(sums.warning, 'warning')}, ${many(sums.notice, 'notice')}`,
    first.length ? h('ul', { class: 'ranking' }, first) : empty('Nothing was found, or no audit was made.'));
};

// Show one of the findings, once their view is there.
const openFinding = (finding, go) => {
  addEventListener('hashchange', () => {
    const box = [...document.querySelectorAll('.finding')].find((one) => one.dataset.rule === finding.rule);
    box.open = true;
    box.scrollIntoView({ block: 'nearest' });
  }, { once: true });
  go('findings');
};
