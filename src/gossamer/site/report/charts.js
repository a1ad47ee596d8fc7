// Charts as inline SVG, drawn for the width they have, each bar a way into the table of pages.

const BAR = 30;

// items: { label, value, text, kind, pick } - pick, if there is one, is called on a click.
const chart = (draw, items, label) => {
  const holder = h('div', { class: 'chart', role: 'group', 'aria-label': label });
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.floor(holder.clientWidth);
    if (width && width !== drawn) {
      drawn = width;
      holder.replaceChildren(draw(items, width));
    }
  }).observe(holder);
  return holder;
};

const marked = (item, ...shapes) => {
  const act = item.pick && item.value ? {
    tabindex: 0, role: 'button', onclick: item.pick,
    onkeydown: (event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); item.pick(); } },
  } : {};
  return svg('g', { class: `mark ${item.kind || ''} ${item.pick && item.value ? 'active' : ''}`, 'aria-label': `${item.label}: ${item.text}`, ...act },
    svg('title', null, `${item.label}: ${item.text}`), shapes);
};

const bars = (items, width) => {
  const labels = Math.min(170, width * 0.36);
  const values = 84;
  const room = Math.max(20, width - labels - values);
  const most = Math.max(1, ...items.map((item) => item.value));
  const height = items.length * BAR;
  return svg('svg', { width, height, viewBox: `0 0 ${width} ${height}` }, items.map((item, number) => {
    const y = number * BAR;
    const length = item.value ? Math.max(3, room * item.value / most) : 0;
    return marked(item,
      svg('rect', { class: 'hit', x: 0, y, width, height: BAR }),
      svg('text', { class: 'label', x: 0, y: y + 19 }, shorten(item.label, Math.max(8, Math.floor(labels / 7)))),
      svg('rect', { class: 'rail', x: labels, y: y + 9, width: room, height: 12, rx: 6 }),
      svg('rect', { class: 'fill', x: labels, y: y + 9, width: length, height: 12, rx: Math.min(6, length / 2) }),
      svg('text', { class: 'value', x: width, y: y + 19, 'text-anchor': 'end' }, item.text));
  }));
};

const columns = (items, width) => {
  const height = 210;
  const floor = height - 26;
  const ceiling = 22;
  const most = Math.max(1, ...items.map((item) => item.value));
  const step = width / items.length;
  const wide = Math.min(64, step * 0.72);
  const every = Math.ceil(46 / step);
  const lines = [0.25, 0.5, 0.75, 1].map((part) => {
    const y = floor - (floor - ceiling) * part;
    return svg('line', { class: 'grid', x1: 0, x2: width, y1: y, y2: y });
  });
  return svg('svg', { width, height, viewBox: `0 0 ${width} ${height}` }, lines,
    svg('line', { class: 'axis', x1: 0, x2: width, y1: floor, y2: floor }),
    items.map((item, number) => {
      const middle = step * (number + 0.5);
      const tall = item.value ? Math.max(3, (floor - ceiling) * item.value / most) : 0;
      const round = Math.min(5, wide / 2, tall);
      const left = middle - wide / 2;
      const top = floor - tall;
      const shape = `M${left} ${floor}V${top + round}q0 ${-round} ${round} ${-round}h${wide - 2 * round}q${round} 0 ${round} ${round}V${floor}z`;
      return marked(item,
        svg('rect', { class: 'hit', x: step * number, y: 0, width: step, height }),
        tall ? svg('path', { class: 'fill', d: shape }) : null,
        step > 30 && item.value ? svg('text', { class: 'value', x: middle, y: top - 6, 'text-anchor': 'middle' }, item.text) : null,
        number % every === 0 ? svg('text', { class: 'label', x: middle, y: height - 8, 'text-anchor': 'middle' }, item.label) : null);
    }));
};

// Parts of a whole in one line, with a legend that tells them apart.
const stack = (items, width) => {
  const whole = items.reduce((sum, item) => sum + item.value, 0) || 1;
  const gap = 3;
  const shown = items.filter((item) => item.value);
  const room = width - gap * (shown.length - 1);
  // A part too small to see gets a little more than its share, and the others lend it.
  const shares = shown.map((item) => Math.max(0.012, item.value / whole));
  const all = shares.reduce((sum, share) => sum + share, 0);
  let x = 0;
  return svg('svg', { width, height: 26, viewBox: `0 0 ${width} 26` }, shown.map((item, number) => {
    const wide = room * shares[number] / all;
    const part = marked(item, svg('rect', { class: 'fill', x, y: 2, width: wide, height: 22, rx: 5 }));
    x += wide + gap;
    return part;
  }));
};
