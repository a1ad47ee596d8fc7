"""The map as a graph for Graphviz: `dot -Tsvg site.dot`.

Drawn are the tree, where aliases and redirects lead, and, while they are few enough to be seen
through, the other links.
"""

from collections.abc import Iterator
from typing import BinaryIO, Final
from urllib.parse import quote

from gossamer.site.model import Page, SiteMap, is_error
from gossamer.site.origin import path_of
from gossamer.site.tree import Tree, origin_of_site
from gossamer.wording import shortened, visible

MOST_LINKS: Final = 1000
"""With more links than this beside the tree, none of them is drawn."""

_LABEL = 48
_TOOLTIP = 200
_URL = 2048
_HEAD = """\
digraph site {
  graph [rankdir=LR, ranksep=1, nodesep=0.15, bgcolor="transparent"];
  node [shape=box, style="rounded,filled", fillcolor="#eef4ff", color="#7b9fd4",
        fontcolor="#1b2a41", fontname="Helvetica,sans-serif", fontsize=10, height=0.3];
  edge [color="#8a99ad", arrowsize=0.6];
"""
_START = ', fillcolor="#d6f5e3", color="#3c9d6b", penwidth=2'
_ALIAS = ', fillcolor="#f5f0e1", color="#c5ab62", style="rounded,filled,dashed"'
_ERROR = ', fillcolor="#fde4e4", color="#d05a5a"'


def write(site_map: SiteMap, file: BinaryIO) -> None:
    """Write the map as a directed graph."""
    tree = Tree(site_map)
    names = {page.url: f"p{number}" for number, page in enumerate(site_map.pages)}
    origin = origin_of_site(site_map)
    file.write(_HEAD.encode())
    file.writelines(
        _node(page, names[page.url], origin, start=page is tree.root).encode()
        for page in site_map.pages
    )
    file.writelines(line.encode() for line in _edges(site_map, tree, names))
    file.write(b"}\n")


def quoted(text: str) -> str:
    """Return a text as a string of the language, to be read literally.

    Backslashes begin escapes in labels, and Graphviz decodes HTML entities wherever it shows text.
    """
    literal = visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    return f'"{literal}"'


def _node(page: Page, name: str, origin: str, *, start: bool) -> str:
    label = shortened(path_of(page.url, origin), _LABEL)
    kind = _START if start else _ALIAS if page.alias_of else ""
    if is_error(page):
        kind = _ERROR
        label += f" ({page.status})" if page.status else " (failed)"
    tooltip = shortened(page.error or page.title or page.url, _TOOLTIP)
    # Graphviz writes a URL into its SVG as it is: what could end the attribute must not be in it.
    url = quote(page.url, safe="!#$%&()*+,/:;=?@[]~")
    target = f", URL={quoted(url)}" if len(url) <= _URL else ""
    return f"  {name} [label={quoted(label)}, tooltip={quoted(tooltip)}{target}{kind}];\n"


def _edges(site_map: SiteMap, tree: Tree, names: dict[str, str]) -> Iterator[str]:
    for parent in site_map.pages:
        for page in tree.children(parent):
            yield f"  {names[parent.url]} -> {names[page.url]};\n"
    for page in site_map.pages:
        if page.alias_of in names:
            target = names[page.alias_of]
            yield f'  {names[page.url]} -> {target} [style=dashed, color="#c5ab62"];\n'
    links = list(_links(site_map, tree, names))
    if len(links) > MOST_LINKS:
        yield "  // More links than can be seen through lie beside the tree; they are left out.\n"
        return
    for one, other in links:
        yield f'  {one} -> {other} [constraint=false, color="#d5dce6", penwidth=0.6];\n'


def _links(site_map: SiteMap, tree: Tree, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield links beside the tree, and no more than it takes to see that they are too many."""
    found = 0
    for page in site_map.pages:
        in_tree = {child.url for child in tree.children(page)}
        for url in page.links:
            if url in names and url not in in_tree and url != page.url:
                yield names[page.url], names[url]
                found += 1
                if found > MOST_LINKS:
                    return
