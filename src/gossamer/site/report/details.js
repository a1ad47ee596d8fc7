// All that is known of one page, over the rest.

const showDetails = (page) => {
  const dialog = document.getElementById('details');
  const row = (name, ...value) => [h('dt', null, name), h('dd', null, value)];
  const rows = [
    row('Status', statusPill(page), page.error !== null ? h('span', { class: 'bad-text' }, ` ${page.error}`) : null),
    page.redirect_to !== null ? row('Redirects to', placeLink(page.redirect_to)) : [],
    page.alias_of !== null && page.alias_of !== page.redirect_to ? row('Same as', placeLink(page.alias_of)) : [],
    row('Type', page.type || 'not known'),
    row('Size', size(page.bytes)),
    row('Response time', duration(page.milliseconds)),
    row('Depth', count(page.depth)),
    page.parent !== null ? row('Found on', placeLink(page.parent)) : [],
    row('Links to', many(page.links, 'page of the site', 'pages of the site')),
    page.noindex ? row('Search engines', 'asks not to be indexed') : [],
    page.checksum ? row('Checksum', h('code', null, `${page.checksum}…`)) : [],
  ];
  const copies = COPIES.get(page.number) || [];
  const close = () => dialog.close();
  dialog.replaceChildren(h('article', null,
    h('header', null,
      h('div', null, h('h2', null, shorten(page.title, 300) || pathOf(page.url)),
        h('p', { class: 'url' }, shorten(page.url, 2000), outward(page.url))),
      h('button', { class: 'step', type: 'button', 'aria-label': 'Close', autofocus: true, onclick: close }, icon('close'))),
    h('dl', null, rows),
    copies.length ? [h('h3', null, `Also found as (${count(copies.length)})`), placeList(copies.map((copy) => copy.number), copies.length, 10)] : null,
    page.linked ? [h('h3', null, `Linked from (${count(page.linked)})`), placeList(page.linked_from, page.linked, 10)] : null,
    page.assets.length ? [h('h3', null, `Assets (${count(page.assets.length)})`), assetList(page)] : null));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  dialog.onclick = (event) => { if (event.target === dialog) close(); };
};

const assetList = (page) => h('ul', { class: 'places' }, page.assets.slice(0, 200).map((number) => {
  const asset = ASSETS[number];
  return h('li', null, pill(asset.kind, 'kind'), ' ', placeLink(asset.url),
    asset.error !== null ? h('span', { class: 'bad-text' }, ` ${asset.error}`) : null);
}));
