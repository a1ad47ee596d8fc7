// A table that sorts, searches and turns pages; it holds 50,000 rows as easily as five.

const ROWS_A_PAGE = 100;

// columns: { title, value(row) to sort by, draw(row), number: right aligned, first: 'descending' }
// options: { search(row) -> text, sort: [column, descending], label, facets: [{label, test}] }
const makeTable = (columns, rows, options) => {
  const state = {
    column: options.sort ? options.sort[0] : null,
    descending: options.sort ? options.sort[1] : false,
    words: [], page: 0, facet: null, picked: null, rows,
  };
  const texts = new Map();
  const textOf = (row) => {
    if (!texts.has(row)) texts.set(row, options.search(row).toLowerCase());
    return texts.get(row);
  };

  const body = h('tbody');
  const position = h('span', { class: 'quiet', 'aria-live': 'polite' });
  const step = (label, by) => h('button', {
    type: 'button', class: 'step', 'aria-label': label, title: label,
    onclick: () => { state.page += by; draw(); box.scrollIntoView({ block: 'start' }); },
  }, icon('right'));
  const before = step('Previous rows', -1);
  const after = step('Next rows', 1);
  before.classList.add('back');

  const heads = columns.map((column, number) => h('th', { class: column.number ? 'number' : null, scope: 'col' },
    h('button', { type: 'button', onclick: () => sortBy(number) }, column.title)));

  const sortBy = (number) => {
    const again = state.column === number;
    state.descending = again ? !state.descending : columns[number].first === 'descending';
    state.column = number;
    state.page = 0;
    select();
  };

  const select = () => {
    const tests = [];
    if (state.facet) tests.push(state.facet.test);
    if (state.picked) tests.push(state.picked.test);
    if (state.words.length) {
      tests.push((row) => state.words.every((word) => textOf(row).includes(word)));
    }
    state.rows = tests.length ? rows.filter((row) => tests.every((test) => test(row))) : rows.slice();
    if (state.column !== null) order(state.rows, columns[state.column].value, state.descending);
    draw();
  };

  const draw = () => {
    const pages = Math.max(1, Math.ceil(state.rows.length / ROWS_A_PAGE));
    state.page = Math.min(Math.max(state.page, 0), pages - 1);
    const start = state.page * ROWS_A_PAGE;
    const shown = state.rows.slice(start, start + ROWS_A_PAGE);
    body.replaceChildren(...shown.map((row) => h('tr', null,
      columns.map((column) => h('td', { class: [column.number && 'number', column.wide && 'wide'].filter(Boolean).join(' ') || null },
        column.draw(row))))));
    if (!shown.length) {
      body.append(h('tr', null, h('td', { colspan: columns.length }, empty('Nothing matches.'))));
    }
    heads.forEach((head, number) => {
      if (number === state.column) head.setAttribute('aria-sort', state.descending ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    });
    before.disabled = state.page === 0;
    after.disabled = state.page >= pages - 1;
    const of = state.rows.length === rows.length ? count(rows.length) : `${count(state.rows.length)} (${count(rows.length)} in all)`;
    position.textContent = shown.length ? `${count(start + 1)}–${count(start + shown.length)} of ${of}` : `0 of ${count(rows.length)}`;
    drawFacets();
  };

  const search = searchBox(options.label, (words) => { state.words = words; state.page = 0; select(); });
  const facets = h('div', { class: 'facets' });
  const facetButtons = (options.facets || []).map((facet) => {
    const number = rows.filter(facet.test).length;
    const button = h('button', {
      type: 'button', class: 'facet', disabled: number === 0,
      onclick: () => { state.facet = state.facet === facet ? null : facet; state.page = 0; select(); },
    }, facet.label, h('b', null, count(number)));
    return { facet, button };
  });
  const drawFacets = () => {
    facetButtons.forEach(({ facet, button }) => button.setAttribute('aria-pressed', state.facet === facet));
    const picked = state.picked && h('button', {
      type: 'button', class: 'facet picked', 'aria-label': `Remove the filter ${state.picked.label}`,
      onclick: () => { state.picked = null; select(); },
    }, state.picked.label, icon('close'));
    facets.replaceChildren(...facetButtons.map(({ button }) => button), ...(picked ? [picked] : []));
  };

  const box = h('div', { class: 'table' },
    h('div', { class: 'bar' }, search, facets, h('div', { class: 'steps' }, position, before, after)),
    h('div', { class: 'scroll' }, h('table', null, h('thead', null, h('tr', null, heads)), body)));
  select();
  return {
    element: box,
    // Show only what a chart was clicked for.
    pick: (label, test) => { state.picked = { label, test }; state.facet = null; state.page = 0; select(); },
  };
};

// Equal rows keep the order of the map.
const order = (rows, value, descending) => {
  const sign = descending ? -1 : 1;
  const keys = new Map(rows.map((row, number) => [row, [value(row), number]]));
  rows.sort((one, other) => {
    const [a, first] = keys.get(one);
    const [b, second] = keys.get(other);
    if (a === b) return first - second;
    if (a === null) return 1;  // What is not known comes last, either way.
    if (b === null) return -1;
    return (a < b ? -1 : 1) * sign;
  });
};

const searchBox = (label, found) => {
  let waiting = 0;
  const input = h('input', {
    type: 'search', placeholder: label, 'aria-label': label, autocomplete: 'off', spellcheck: 'false',
    oninput: () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => found(input.value.toLowerCase().split(/\s+/).filter(Boolean)), 120);
    },
  });
  return h('label', { class: 'search' }, icon('search'), input);
};
