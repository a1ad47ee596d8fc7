"""HTML by the browser standard: links, assets, title, directives, fingerprint.

Theory of operation: nearly all references of a page are plain `a href`. These are read as bare
strings with one XPath; then those elements are dissolved, so that the general search for
URL-bearing places, which makes an object for each, meets only the few that are left. Queries by tag
name go before that, because they share one index that the first change of the tree discards.
"""

from collections import Counter
from itertools import filterfalse
from typing import Final, cast

from turbohtml import Document as Tree
from turbohtml import Element, HTMLParseError, Namespace, parse
from turbohtml import Link as Place

from gossamer.config.parse import ParseSettings
from gossamer.messages import Link, Page
from gossamer.outcomes import Outcome
from gossamer.parse.css import references_in
from gossamer.parse.directives import (
    NOTHING_ASKED,
    Refresh,
    Robots,
    metas_for,
    refresh_in,
    refresh_in_header,
    robots_in_meta,
)
from gossamer.parse.flood import cut_flood
from gossamer.parse.outline import Outline
from gossamer.parse.pieces import told_by
from gossamer.parse.places import (
    STYLED_BY_SET,
    add_style,
    base_in,
    is_at_work,
    read_places,
    refused_in,
    text_of,
)
from gossamer.parse.references import Joiner, References
from gossamer.parse.similarity import fingerprint
from gossamer.parse.skim import Skimmed, skim
from gossamer.parse.sniff import XHTML
from gossamer.parse.xhtml import with_end_tags

MAX_TITLE: Final = 512
MAX_DESCRIPTION: Final = 1_024
# Places mostly repeat each other; a page that has so many more than links is hostile.
_PLACES_PER_LINK: Final = 4
_LOOKED_AT: Final = 8_192
_UNREADABLE: Final = (HTMLParseError, ValueError, MemoryError, RecursionError)
_PLAIN_LINK: Final = r"a:not([rel~=nofollow i], [ping], [style], [xlink\:href])"


def outline_html(
    body: bytes,
    charset: str,
    url: str,
    settings: ParseSettings,
    joiner: Joiner,
    content_type: str,
    refresh_header: str,
    names: frozenset[str],
) -> Page | Outline:
    """Return what a page says, if it is ordinary before its references are joined: the hot path.

    `charset` is the label of the HTTP header; by `names` it speaks to robots.
    """
    notes: list[str] = []
    if len(body) > settings.max_bytes:
        notes.append(f"only the first {settings.max_bytes} of {len(body)} bytes were parsed")
        body = body[: settings.max_bytes]
    if content_type == XHTML:
        body = with_end_tags(body)
    try:
        skimmed = skim(
            body,
            charset,
            with_fingerprint=settings.near_duplicates,
            most_places=settings.max_links * _PLACES_PER_LINK,
            names=names,
        )
        if skimmed is None:
            tree = _tree(body, charset, notes)
            reader = _Reader(tree, tree.encoding or "", url, settings, joiner, notes)
            return reader.page(content_type, refresh_header, names)
        told = None if refresh_header else told_by(skimmed.pieces, names)
        if told is None:
            rest = _RestReader(skimmed, url, settings, joiner, notes)
            return rest.page(content_type, refresh_header, names)
        page = Outline(
            content_type,
            skimmed.charset,
            _trimmed(skimmed.title, MAX_TITLE),
            skimmed.description and _trimmed(skimmed.description, MAX_DESCRIPTION),
            skimmed.references,
            skimmed.simhash,
            told,
        )
        if not notes and page.is_ordinary(settings.max_links):
            return page
        return _page_told(page, url, settings, joiner, notes)
    except _UNREADABLE as error:
        return _failed(content_type, error)


def whole_page(page: Outline, url: str, settings: ParseSettings, joiner: Joiner) -> Page:
    """Return an ordinary page with its references joined."""
    try:
        return page.whole(url, joiner) or _page_told(page, url, settings, joiner, [])
    except _UNREADABLE as error:
        return _failed(page.content_type, error)


def _failed(content_type: str, error: BaseException) -> Page:
    return Page(
        content_type=content_type,
        outcome=Outcome.PARSE_FAILED,
        detail=f"cannot be parsed as HTML: {error}",
    )


def _tree(body: bytes, charset: str, notes: list[str]) -> Tree:
    """Parse; a charset label that the Encoding standard does not know counts as none."""
    body, note = cut_flood(body, charset)
    if note:
        notes.append(note)
    if charset:
        try:
            return parse(
                body, positions=False, encoding=charset, allow_declarative_shadow_roots=False
            )
        except LookupError:
            pass
    return parse(body, positions=False, allow_declarative_shadow_roots=False)


class _Reader:
    """Reads one tree, once, in the order in which it can be read cheaply."""

    def __init__(
        self,
        tree: Tree,
        charset: str,
        url: str,
        settings: ParseSettings,
        joiner: Joiner,
        notes: list[str],
    ) -> None:
        self._tree = tree
        self._charset = charset
        self._url = url
        self._settings = settings
        self._notes = notes
        self._references = References(
            self._base_url(joiner),
            joiner,
            settings.max_links,
            charset=charset,
            obey_nofollow=settings.obey_robots_meta,
        )
        self._refresh: str | None = None
        self._description: str | None = None

    def page(self, content_type: str, refresh_header: str, names: frozenset[str]) -> Page:
        """Return the page; the tree is used up."""
        title = self._title()
        hrefs = self._plain_links()
        unseen = self._tree.select("script") + self._tree.select("style")
        if refresh_header:
            self._send_on(refresh_in_header(refresh_header), immediately=True)
        robots = self._read_metas(names)
        self._read_rare_places()
        self._read_styles(unseen)
        self._read_links(hrefs)
        return _page(
            self._references,
            self._settings,
            self._notes,
            content_type=content_type,
            charset=self._charset,
            title=title,
            description=self._description,
            robots=robots,
            refresh=self._refresh,
            simhash=self._fingerprint(unseen) if self._settings.near_duplicates else None,
        )

    def _base_url(self, joiner: Joiner) -> str:
        """Return the URL of the first base element that has one, else the page's own."""
        base = base_in(self._tree)
        return (joiner.join(self._url, base) if base else None) or self._url

    def _title(self) -> str:
        for element in self._tree.select("title"):
            if is_at_work(element):
                return _trimmed(element.text, MAX_TITLE)
        return ""

    def _plain_links(self) -> list[str]:
        return cast("list[str]", self._tree.xpath("//a/@href"))

    def _read_metas(self, names: frozenset[str]) -> Robots:
        """Read the meta elements: what they ask of robots, the description, a refresh."""
        robots: list[str] = []
        for element in self._tree.select(metas_for(names)):
            name = text_of(element, "name").lower()
            if name in names:
                robots.append(text_of(element, "content"))
            elif name == "description":
                if self._description is None:
                    self._description = _trimmed(text_of(element, "content"), MAX_DESCRIPTION)
            else:
                # Inside noscript it is for readers without script, who often get less.
                hidden = getattr(element.parent, "tag", "") == "noscript"
                is_heard = not hidden and is_at_work(element)
                self._send_on(refresh_in(text_of(element, "content")), immediately=is_heard)
        return robots_in_meta(robots)

    def _send_on(self, refresh: Refresh | None, *, immediately: bool) -> None:
        if refresh is None:
            return
        if not (immediately and refresh.is_immediate and self._refresh is None):
            self._references.add_link(refresh.reference, "refresh")
            return
        target = self._references.resolve(refresh.reference)
        # A page that reloads itself is not a redirect.
        if target != self._url:
            self._refresh = target

    def _read_rare_places(self) -> None:
        """Read the places that turbohtml's search does not know."""
        tree, references = self._tree, self._references
        for tag in ("applet", "object"):
            for element in tree.select(tag):
                references.add_asset(text_of(element, "codebase"), "other")
        for element in tree.select("command"):
            references.add_asset(text_of(element, "icon"), "img")
        # The search finds styles by their url().
        for element in tree.select(STYLED_BY_SET):
            add_style(references, element)
        root = tree.root
        if root is not None:
            references.add_asset(text_of(root, "manifest"), "other")
        for element in tree.select("head")[:1]:
            references.add_link(text_of(element, "profile"), "profile")

    def _read_styles(self, elements: list[Element]) -> None:
        """Read style blocks; those of SVG, which may be nested, come with the other places."""
        for element in elements:
            if element.tag == "style" and element.namespace is Namespace.HTML:
                for reference, kind in references_in(element.text):
                    self._references.add_asset(reference, kind)

    def _read_links(self, hrefs: list[str]) -> None:
        """Read the plain links (already at hand), then all other places."""
        self._tree.strip_tags(_PLAIN_LINK)
        references = self._references
        others = self._tree.links()
        refused = refused_in(others)
        if refused:
            asked = Counter(refused)
            met = Counter(filter(asked.__contains__, hrefs))
            never = {href for href, count in met.items() if count <= asked[href]}
            references.add_links(filterfalse(never.__contains__, hrefs), "a")
            references.add_links(refused, "a", nofollow=True)
        else:
            references.add_links(hrefs, "a")
        self._read_places(others)

    def _read_places(self, places: list[Place]) -> None:
        unread = read_places(self._references, places, self._settings.max_links * _PLACES_PER_LINK)
        if unread:
            self._notes.append(f"{unread} of {len(places)} places with a URL were not read")

    def _fingerprint(self, unseen: list[Element]) -> int | None:
        for element in unseen:
            element.clear()
        return fingerprint(self._tree.text)


class _RestReader(_Reader):
    """Reads the tree of what is left of a page that was skimmed."""

    def __init__(
        self,
        skimmed: Skimmed,
        url: str,
        settings: ParseSettings,
        joiner: Joiner,
        notes: list[str],
    ) -> None:
        tree = parse(b"".join(skimmed.pieces), positions=False, encoding="utf-8")
        super().__init__(tree, skimmed.charset, url, settings, joiner, notes)
        self._skimmed = skimmed
        if skimmed.description is not None:
            self._description = _trimmed(skimmed.description, MAX_DESCRIPTION)

    def _title(self) -> str:
        return _trimmed(self._skimmed.title, MAX_TITLE)

    def _plain_links(self) -> list[str]:
        return []

    def _read_links(self, hrefs: list[str]) -> None:
        del hrefs
        others = self._tree.links()
        self._references.add_distinct_links(self._skimmed.references, "a")
        self._references.add_links(refused_in(others), "a", nofollow=True)
        self._read_places(others)

    def _fingerprint(self, unseen: list[Element]) -> int | None:
        del unseen
        return self._skimmed.simhash


def _page_told(
    page: Outline, url: str, settings: ParseSettings, joiner: Joiner, notes: list[str]
) -> Page:
    """Put a page together from what was skimmed and what its pieces are known to say."""
    references = References(
        url,
        joiner,
        settings.max_links,
        charset=page.charset,
        obey_nofollow=settings.obey_robots_meta,
    )
    told = page.told
    references.add_distinct_links(page.references, "a")
    references.add_told_assets(told.assets)
    robots = NOTHING_ASKED
    if not told.is_assets_only:
        references.add_links(told.refused, "a", nofollow=True)
        references.add_told_links(told.links)
        for language, reference in told.languages:
            references.add_language(language, reference)
        robots = robots_in_meta(told.robots)
    return _page(
        references,
        settings,
        notes,
        content_type=page.content_type,
        charset=page.charset,
        title=page.title,
        description=page.description,
        robots=robots,
        refresh=None,
        simhash=page.simhash,
    )


def _page(
    references: References,
    settings: ParseSettings,
    notes: list[str],
    *,
    content_type: str,
    charset: str,
    title: str,
    description: str | None,
    robots: Robots,
    refresh: str | None,
    simhash: int | None,
) -> Page:
    links, assets = references.links_and_assets()
    if references.dropped:
        notes = [*notes, references.note()]
    return Page(
        content_type=content_type,
        charset=charset,
        title=title,
        links=links,
        assets=assets,
        canonical=_canonical(links) if references.has_links("canonical") else None,
        description=description,
        languages=references.languages(),
        refresh=refresh,
        nofollow=robots.nofollow and settings.obey_robots_meta,
        noindex=robots.noindex,
        simhash=simhash,
        outcome=Outcome.PARSE_TRUNCATED if notes else Outcome.OK,
        detail="; ".join(notes),
    )


def _trimmed(text: str, limit: int) -> str:
    """Return a text on one line, of at most so many characters."""
    return " ".join(text[:_LOOKED_AT].split())[:limit]


def _canonical(links: tuple[Link, ...]) -> str | None:
    return next((link.url for link in links if link.kind == "canonical"), None)
