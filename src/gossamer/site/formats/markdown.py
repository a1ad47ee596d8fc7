"""The map in Markdown (CommonMark with tables), to be put into a wiki, an issue or a repository."""

import re
from collections.abc import Iterator
from typing import BinaryIO, Final
from urllib.parse import quote

from gossamer.site.model import ASSET_KINDS, Page, SiteMap, is_error, summary_of
from gossamer.site.origin import path_of
from gossamer.site.tree import Node, Tree, origin_of_site
from gossamer.wording import bytes_in_words, cut, readable, seconds_in_words

MOST_LEVELS: Final = 8
"""Deeper lists are hard to read and slow to render; their depth is written instead."""

_TEXT = 120
_LINKED_FROM = 5
# What means something in the middle of a line: for CommonMark, for GitHub (which also makes links
# of bare addresses) and for the template languages of static sites.
_SPECIAL = re.compile(r"([\\`*_{}\[\]|<>~&$@^]|:(?=//)|(?<=www)\.)", re.IGNORECASE)


def write(site_map: SiteMap, file: BinaryIO) -> None:
    """Write summary, tree and errors."""
    file.writelines(line.encode() + b"\n" for line in lines(site_map))


def lines(site_map: SiteMap) -> Iterator[str]:
    """Yield the map line by line."""
    tree = Tree(site_map)
    origin = origin_of_site(site_map)
    yield f"# Site map of {escaped(site_map.site)}"
    yield ""
    yield from _summary(site_map)
    tops = [tree.root] if tree.root is not None else []
    yield from _section("Pages", tops, tree, origin)
    others = [page for page in tree.others if tree.shown(page)]
    yield from _section("Linked from no page", others, tree, origin)
    yield from _errors([page for page in site_map.pages if is_error(page)], origin)


def escaped(text: str) -> str:
    """Return a text that Markdown shows as it is, in one line and of a sensible length."""
    shown = cut(readable(" ".join(text.split())[: _TEXT + 1]), _TEXT)
    return _SPECIAL.sub(r"\\\1", shown)


def link(text: str, url: str) -> str:
    """Return a link; a URL that is not for the web is shown, but leads nowhere."""
    if not url.startswith(("http://", "https://")):
        return escaped(text)
    # Between angle brackets only these mean anything, and "&" where it begins an entity.
    target = quote(url, safe="!#$%&'()*+,/:;=?@[]~\"").replace("&", "&amp;")
    return f"[{escaped(text)}](<{target}>)"


def _summary(site_map: SiteMap) -> Iterator[str]:
    summary = summary_of(site_map)
    yield "| Pages | Aliases | Assets | Errors | Depth | Size | Time |"
    yield "|--:|--:|--:|--:|--:|--:|--:|"
    yield (
        f"| {summary.pages:,} | {summary.aliases:,} | {sum(summary.assets.values()):,} "
        f"| {summary.errors:,} | {summary.depth:,} | {bytes_in_words(summary.bytes)} "
        f"| {seconds_in_words(summary.seconds)} |"
    )
    notes = [] if summary.complete else [f"not complete ({summary.stopped_by or 'stopped'})"]
    for note in (*notes, *summary.notes):
        yield ""
        yield f"> Note: {escaped(note)}"


def _section(title: str, tops: list[Page], tree: Tree, origin: str) -> Iterator[str]:
    if not tops:
        return
    yield ""
    yield f"## {title}"
    yield ""
    for top in tops:
        for node in tree.walk(top):
            yield from _page(node, origin)


def _page(node: Node, origin: str) -> Iterator[str]:
    page = node.page
    indent = "  " * min(node.depth, MOST_LEVELS)
    deep = f"({node.depth:,} deep) " if node.depth > MOST_LEVELS else ""
    path = path_of(page.url, origin)
    target = page.facts.redirect_to or page.alias_of
    if is_error(page):
        yield f"{indent}* {deep}{link(path, page.url)}: {escaped(page.error or '')}"
        return
    if target is not None:
        verb = "redirects to" if page.facts.redirect_to else "is the same as"
        there = link(path_of(target, origin), target)
        yield f"{indent}* {deep}{link(path, page.url)} {verb} {there}"
        return
    title = f" {escaped(page.title)}" if page.title else ""
    yield f"{indent}* {deep}{link(path, page.url)}{title}"
    for kind in ASSET_KINDS:
        urls = page.assets.get(kind)
        if urls:
            shown = ", ".join(link(path_of(url, origin), url) for url in urls)
            yield f"{indent}  * {kind}: {shown}"


def _errors(pages: list[Page], origin: str) -> Iterator[str]:
    if not pages:
        return
    yield ""
    yield "## Errors"
    yield ""
    yield "| Status | URL | Error | Linked from |"
    yield "|--:|---|---|---|"
    for page in pages:
        named = page.facts.linked_from[:_LINKED_FROM]
        more = max(page.facts.linked_count, len(page.facts.linked_from)) - len(named)
        places = [link(path_of(url, origin), url) for url in named]
        places += [f"{more:,} more"] if more > 0 else []
        where = link(path_of(page.url, origin), page.url)
        yield (
            f"| {page.status or '-'} | {where} | {escaped(page.error or '')} "
            f"| {', '.join(places)} |"
        )
