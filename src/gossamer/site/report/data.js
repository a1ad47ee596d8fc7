// The data as objects that know each other. Nothing here touches the page.

const DATA = JSON.parse(document.getElementById('data').textContent);
const SUMMARY = DATA.summary;
const SLOW_MS = 3000;
const LARGE_BYTES = 2000000;

const objectsOf = (rows, fields) => rows.map((row, number) => {
  const object = { number };
  fields.forEach((field, position) => { object[field] = row[position] ?? null; });
  return object;
});

const PAGES = objectsOf(DATA.pages, DATA.page_fields);
const ASSETS = objectsOf(DATA.assets, DATA.asset_fields);
DATA.pages = DATA.assets = null;  // The rows are no longer needed; a large site needs the memory.

const isError = (page) => page.error !== null;
const isRedirect = (page) => page.redirect_to !== null;
const isAlias = (page) => !isError(page) && page.alias_of !== null;
const isContent = (page) => !isError(page) && page.alias_of === null && !isRedirect(page);

// A place is the number of a page, or a URL that is no page of this map.
const urlOf = (place) => (typeof place === 'number' ? PAGES[place].url : place);
const pageOf = (place) => (typeof place === 'number' ? PAGES[place] : null);
const pathOf = (url) => {
  const rest = url.slice(DATA.origin.length);
  return url.startsWith(DATA.origin) && /^[/?]/.test(rest) ? rest : url;
};

const CHILDREN = PAGES.map(() => []);
const TOPS = [];
PAGES.forEach((page) => {
  if (page.number > 0 && page.parent !== null && page.parent !== page.number) {
    CHILDREN[page.parent].push(page.number);
  } else {
    TOPS.push(page.number);
  }
});

// Copies: pages with the same content under other URLs. Redirects lead there, but are no copies.
const COPIES = new Map();
PAGES.forEach((page) => {
  if (isAlias(page) && !isRedirect(page) && typeof page.alias_of === 'number') {
    const group = COPIES.get(page.alias_of) || [];
    group.push(page);
    COPIES.set(page.alias_of, group);
  }
});

// Follow a redirect to its end: the hops, and whether it comes back to where it has been.
const chainOf = (page) => {
  const hops = [];
  const met = new Set();
  let place = page.number;
  while (pageOf(place) && isRedirect(pageOf(place)) && !met.has(place)) {
    met.add(place);
    hops.push(place);
    place = pageOf(place).redirect_to;
  }
  hops.push(place);
  return { start: page, hops, loop: met.has(place) };
};

// The chains that are no part of a longer one; of a loop, which has no beginning, the first page.
const chains = () => {
  const redirects = PAGES.filter(isRedirect);
  const targets = new Set(redirects.map((page) => page.redirect_to));
  const found = redirects.filter((page) => !targets.has(page.number)).map(chainOf);
  const covered = new Set(found.flatMap((chain) => chain.hops));
  redirects.forEach((page) => {
    if (!covered.has(page.number)) {
      const chain = chainOf(page);
      chain.hops.forEach((hop) => covered.add(hop));
      found.push(chain);
    }
  });
  return found;
};

const CHAINS = chains();
const BROKEN_PAGES = PAGES.filter(isError);
// A frame that fails is there already: it is a page that was followed like a link.
const FAILED = new Set(BROKEN_PAGES.map((page) => page.url));
const BROKEN_ASSETS = ASSETS.filter((asset) => asset.error !== null && !(asset.kind === 'iframe' && FAILED.has(asset.url)));
