"""The map as a tree for people: icons and colours on a terminal, plain indentation in a pipe."""

from collections.abc import Iterator
from typing import BinaryIO, Final

from gossamer.site.formats.paint import COLOURED, DRAWN, PLAIN, Look, columns_of, fitting
from gossamer.site.model import ASSET_KINDS, Page, SiteMap, Summary, is_error, summary_of
from gossamer.site.origin import path_of
from gossamer.site.tree import Node, Tree, origin_of_site
from gossamer.wording import (
    bytes_in_words,
    cut,
    readable,
    seconds_in_words,
    shortened,
    visible,
)

MOST_LEVELS: Final = 24
"""Deeper pages are not indented any further; their depth is written instead."""

_TITLE = 100
_LEAST_TITLE = 20
"""Columns: a title that has less room than that goes on in the next line."""
_DATA_URL = 60
_LINKED_FROM = 3


def write(
    site_map: SiteMap, file: BinaryIO, *, terminal: bool = False, colours: bool = True
) -> None:
    """Write tree, errors and summary; colours are for a terminal only."""
    look = PLAIN if not terminal else COLOURED if colours else DRAWN
    file.writelines(line.encode() + b"\n" for line in lines(site_map, look))


def lines(site_map: SiteMap, look: Look) -> Iterator[str]:
    """Yield the map line by line."""
    tree = Tree(site_map)
    drawing = _Drawing(tree, look, origin_of_site(site_map))
    if tree.root is not None:
        yield from drawing.below(tree.root)
    others = [page for page in tree.others if tree.shown(page)]
    if others:
        yield from _heading(look, "Linked from no page", len(others))
        for page in others:
            yield from drawing.below(page)
    errors = [page for page in site_map.pages if is_error(page)]
    if errors:
        yield from _heading(look, "Errors", len(errors))
        for page in errors:
            yield from drawing.error(page)
    yield from _heading(look, "Summary")
    yield from summary_lines(summary_of(site_map), look)


def summary_lines(summary: Summary, look: Look = PLAIN) -> Iterator[str]:
    """Yield the numbers under the map, then what a reader must know."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in summary.assets.items() if count)
    rows = (
        ("Pages", f"{summary.pages:,}"),
        ("Aliases", f"{summary.aliases:,}"),
        ("Assets", f"{sum(summary.assets.values()):,}" + (f" ({kinds})" if kinds else "")),
        ("Errors", f"{summary.errors:,}"),
        ("Depth", f"{summary.depth:,}"),
        ("Size", bytes_in_words(summary.bytes)),
        ("Time", f"{seconds_in_words(summary.seconds)}, {summary.pages_per_second:,} pages/s"),
    )
    for name, value in rows:
        style = "bad" if name == "Errors" and summary.errors else ""
        yield f"  {look.paint('quiet', name.ljust(9))}{look.paint(style, value)}"
    if not summary.complete:
        why = visible(summary.stopped_by) or "stopped"
        yield "  " + look.paint("warning", f"Not complete: {why}")
    for note in summary.notes:
        yield "  " + look.paint("warning", f"Note: {visible(note)}")


def _heading(look: Look, text: str, count: int | None = None) -> Iterator[str]:
    yield ""
    yield look.paint("heading", text if count is None else f"{text} ({count:,})")


class _Drawing:
    """Writes pages with what keeps them in line: a guide for each level that goes on below."""

    def __init__(self, tree: Tree, look: Look, origin: str) -> None:
        self._tree = tree
        self._look = look
        self._origin = origin

    def below(self, top: Page) -> Iterator[str]:
        """Yield the lines of a page and of all pages below it."""
        look = self._look
        guides: list[str] = []
        for node in self._tree.walk(top):
            level = min(node.depth, MOST_LEVELS)
            del guides[max(level - 1, 0) :]
            branch = ""
            if level:
                branch = look.last_branch if node.last else look.branch
            before = "".join(guides) + branch
            yield self._quiet(before) + self._page(node, len(before))
            if level:
                guides.append(look.no_guide if node.last else look.guide)
            yield from self._assets("".join(guides), node.page)

    def error(self, page: Page) -> Iterator[str]:
        """Yield what failed, why, and where it is linked."""
        look = self._look
        status = look.paint("bad", str(page.status or "-").rjust(3))
        why = self._quiet(shortened(page.error or "", _TITLE))
        yield f"  {look.icon('error')}{status}  {self._path(page.url)}  {why}".rstrip()
        named = page.facts.linked_from[:_LINKED_FROM]
        if named:
            more = max(page.facts.linked_count, len(page.facts.linked_from)) - len(named)
            rest = f" and {more:,} more" if more > 0 else ""
            indent = "   " if look.icons else ""
            shown = f"linked from {', '.join(map(self._path, named))}{rest}"
            yield f"  {indent}     {self._quiet(shown)}"

    def _page(self, node: Node, taken: int) -> str:
        look, page = self._look, node.page
        url = self._path(page.url) if node.depth else visible(page.url)
        depth = f"({node.depth:,} deep) " if node.depth > MOST_LEVELS else ""
        deep = self._quiet(depth)
        if is_error(page):
            why = look.paint("bad", shortened(page.error or "", _TITLE))
            return f"{deep}{look.icon('error')}{look.paint('bad', url)}  {why}"
        if page.facts.redirect_to is not None:
            target = self._path(page.facts.redirect_to)
            return deep + look.icon("redirect") + self._quiet(f"{url}  {look.leads_to} {target}")
        if page.alias_of is not None:
            target = self._path(page.alias_of)
            return deep + look.icon("alias") + self._quiet(f"{url}  = {target}")
        icon = look.icon("start" if page is self._tree.root else "page")
        title = self._title(page, taken + columns_of(f"{depth}{icon}{url}  "))
        return f"{deep}{icon}{look.paint('url', url)}  {title}".rstrip()

    def _title(self, page: Page, taken: int) -> str:
        """Return the title, on a terminal no longer than its line."""
        title = cut(readable(" ".join(page.title.split())[: _TITLE + 1]), _TITLE)
        if not self._look.width:
            return title
        return fitting(title, max(self._look.width - taken, _LEAST_TITLE))

    def _assets(self, before: str, page: Page) -> Iterator[str]:
        look = self._look
        goes_on = any(map(self._tree.shown, self._tree.children(page)))
        before = self._quiet(before + (look.guide if goes_on else look.no_guide))
        for kind in ASSET_KINDS:
            name = look.paint("asset", look.icon(kind) + kind.ljust(7))
            for url in page.assets.get(kind, ()):
                yield before + name + self._quiet(self._asset(url))

    def _asset(self, url: str) -> str:
        return shortened(url, _DATA_URL) if url.startswith("data:") else self._path(url)

    def _path(self, url: str) -> str:
        return visible(path_of(url, self._origin))

    def _quiet(self, text: str) -> str:
        return self._look.paint("quiet", text)
