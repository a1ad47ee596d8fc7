"""The assets of a page as the DOM of a real browser has them, asked by selectors of its own.

Pages are loaded as they are, but without running scripts and without loading anything else: what
counts is what the browser's own parser and URL code make of the page. Style sheets inside the page
are read through the CSSOM, so `url()` is what the browser takes for one.
"""

import chromium

POLICY = "sandbox allow-same-origin; default-src 'none'; style-src 'unsafe-inline'"
"""A Content-Security-Policy under which a page is parsed whole, loads nothing and goes nowhere."""

_SCRIPT = r"""
(() => {
  const found = new Set();
  const at = (e, name) => e.getAttribute(name);
  const add = (kind, reference) => {
    // What names a place in the page itself loads nothing.
    if (!reference || !reference.trim() || reference.trim().startsWith('#')) return;
    let url;
    try { url = new URL(reference, document.baseURI); } catch { return; }
    if (!/^https?:$/.test(url.protocol)) return;
    url.hash = '';
    // Escapes are written in capitals in a canonical URL (RFC 3986, section 6.2.2.1).
    const written = url.href.replace(/%[0-9a-f]{2}/gi, (escape) => escape.toUpperCase());
    found.add(kind + ' ' + written);
  };
  // What a template holds is in the DOM as well, as a tree of its own.
  const roots = [document];
  for (const root of roots) {
    root.querySelectorAll('template').forEach((e) => roots.push(e.content));
    root.querySelectorAll('*').forEach((e) => e.shadowRoot && roots.push(e.shadowRoot));
  }
  const each = (selector, act) => {
    for (const root of roots) root.querySelectorAll(selector).forEach(act);
  };
  const candidates = (kind, text) => {
    // The candidate strings of a srcset: a URL, then descriptors up to the next comma.
    const all = (text || '').matchAll(/[\s,]*(\S*[^\s,])(?:\s+[^,]+)?/g);
    for (const match of all) add(kind, match[1]);
  };
  const medium = {image: 'img', video: 'video', audio: 'audio'};
  const byType = (type) => medium[(type || '').trim().toLowerCase().split('/')[0]] || 'other';
  const preloaded = {style: 'css', script: 'js', image: 'img', font: 'font', ...medium};
  const rels = {
    icon: 'img', 'mask-icon': 'img', 'apple-touch-icon': 'img', image_src: 'img',
    'apple-touch-icon-precomposed': 'img', manifest: 'other', edituri: 'other',
    wlwmanifest: 'other',
  };
  each('img', (e) => { add('img', at(e, 'src')); candidates('img', at(e, 'srcset')); });
  each('picture > source', (e) => candidates('img', at(e, 'srcset')));
  each('input[src]', (e) => add('img', at(e, 'src')));
  each('[background]', (e) => add('img', at(e, 'background')));
  each('video[poster]', (e) => add('img', at(e, 'poster')));
  each('video', (e) => add('video', at(e, 'src')));
  each('audio', (e) => add('audio', at(e, 'src')));
  each('video > source', (e) => add('video', at(e, 'src')));
  each('audio > source', (e) => add('audio', at(e, 'src')));
  each('track', (e) => add('other', at(e, 'src')));
  each('script', (e) => add('js', at(e, 'src') || at(e, 'href')));
  each('iframe', (e) => add('iframe', at(e, 'src')));
  each('embed', (e) => add(byType(e.type), at(e, 'src')));
  each('object', (e) => add(byType(e.type), at(e, 'data')));
  each('image, feImage, use', (e) => {
    add('img', at(e, 'href') || e.getAttributeNS('http://www.w3.org/1999/xlink', 'href'));
  });
  each('link[href]', (e) => {
    const words = [...e.relList].map((word) => word.toLowerCase());
    const purpose = (at(e, 'as') || '').toLowerCase();
    if (words.includes('stylesheet')) return add('css', at(e, 'href'));
    for (const word of words) {
      if (rels[word]) return add(rels[word], at(e, 'href'));
      if (word === 'modulepreload') return add('js', at(e, 'href'));
      if (word === 'preload' && purpose) return add(preloaded[purpose] || 'other', at(e, 'href'));
      if (word === 'search' && /opensearch/.test(e.type)) return add('other', at(e, 'href'));
    }
  });
  const inStyle = (text, kind) => {
    for (const match of (text || '').matchAll(/url\("((?:[^"\\]|\\.)*)"\)/g)) add(kind, match[1]);
  };
  const rules = (list) => {
    for (const rule of list) {
      if (rule instanceof CSSImportRule) add('css', rule.href);
      else if (rule instanceof CSSFontFaceRule) inStyle(rule.style.cssText, 'font');
      else if (rule.style) inStyle(rule.style.cssText, 'img');
      if (rule.cssRules) rules(rule.cssRules);
    }
  };
  each('style', (e) => { if (e.sheet) rules(e.sheet.cssRules); });
  each('[style]', (e) => { if (e.style) inStyle(e.style.cssText, 'img'); });
  return [...found];
})()
"""


def assets_in(tab: chromium.Tab, url: str) -> set[tuple[str, str]]:
    """Return kind and URL of all that the page refers to in order to be shown."""
    tab.call("Emulation.setScriptExecutionDisabled", value=True)
    tab.go(url)
    return {tuple(each.split(" ", 1)) for each in tab.run(_SCRIPT)}
