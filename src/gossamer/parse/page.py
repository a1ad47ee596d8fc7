"""A document becomes a page: one dispatch on its content type."""

import zlib
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from gossamer.config.parse import ParseSettings
from gossamer.messages import Document, Fetch, Kind, Page
from gossamer.outcomes import Outcome
from gossamer.parse.charset import codec_of
from gossamer.parse.css import references_in
from gossamer.parse.directives import AGENT_NAME, NOTHING_ASKED, names_of, robots_in_headers
from gossamer.parse.html import outline_html, whole_page
from gossamer.parse.link_headers import links_in
from gossamer.parse.outline import Outline
from gossamer.parse.places import add_link_element
from gossamer.parse.references import Joiner, References
from gossamer.parse.sniff import (
    CSS,
    GZIP,
    HTML,
    SITEMAP_ROOTS,
    XHTML,
    claimed_by,
    content_type_of,
    root_of,
)

_PEEK: Final = 4_096
# What these say are entries and stories, not what a header adds to them.
_LISTS: Final = (int(Kind.SITEMAP), int(Kind.FEED))
# Headers that add to what a page says.
_SAYING_MORE: Final = frozenset(("link", "x-robots-tag"))
# Of what a link element may say, that which servers say in headers and somebody heeds.
_HEADER_RELATIONS: Final = frozenset(
    ("canonical", "alternate", "next", "prev", "previous", "stylesheet")
)


def understand(
    document: Document, settings: ParseSettings, joiner: Joiner, agent: str = AGENT_NAME
) -> Page:
    """Return what a document says; whatever its bytes are, this does not raise.

    `agent` is the product token by which we are known to sites, unless the order names another.
    """
    fetch = document.fetch
    page = outline(fetch, fetch.first_headers(), settings, joiner, agent)
    url = fetch.visit.url
    return whole_page(page, url, settings, joiner) if isinstance(page, Outline) else page


def outline(
    fetch: Fetch,
    headers: Mapping[str, str],
    settings: ParseSettings,
    joiner: Joiner,
    agent: str = AGENT_NAME,
) -> Page | Outline:
    """Return the same, but ordinary pages before their references are joined.

    `headers` are the first ones of each name.
    """
    visit = fetch.visit
    manner = visit.manner
    names = names_of(agent, "" if manner is None else manner.agent)
    claimed, charset = claimed_by(headers.get("content-type"))
    content_type = content_type_of(claimed, fetch.body)
    if content_type in (HTML, XHTML):
        refresh = headers.get("refresh", "")
        read = outline_html(
            fetch.body, charset, visit.url, settings, joiner, content_type, refresh, names
        )
        if isinstance(read, Outline):
            if claimed == content_type and _SAYING_MORE.isdisjoint(headers):
                return read
            page = whole_page(read, visit.url, settings, joiner)
        else:
            page = read
    else:
        page = _understand_other(fetch, content_type, charset, settings, joiner)
    return _with_headers(page, fetch, headers, claimed, content_type, names, settings, joiner)


def _with_headers(
    page: Page,
    fetch: Fetch,
    headers: Mapping[str, str],
    claimed: str,
    content_type: str,
    names: frozenset[str],
    settings: ParseSettings,
    joiner: Joiner,
) -> Page:
    """Return the page with what its headers add to it."""
    robots = NOTHING_ASKED
    if "x-robots-tag" in headers:
        robots = robots_in_headers(fetch.headers, names)
    if "link" in headers and fetch.visit.kind not in _LISTS:
        page = _with_header_links(page, fetch, settings, joiner)
    if page.content_type == content_type == claimed and robots is NOTHING_ASKED:
        return page
    detail = page.detail
    if claimed and claimed != content_type:
        detail = f"labelled {claimed}; {detail}" if detail else f"labelled {claimed}"
    return replace(
        page,
        content_type=content_type,
        nofollow=page.nofollow or (robots.nofollow and settings.obey_robots_meta),
        noindex=page.noindex or robots.noindex,
        detail=detail,
    )


def _with_header_links(page: Page, fetch: Fetch, settings: ParseSettings, joiner: Joiner) -> Page:
    """Return the page with what its Link headers refer to, as if that came last in its head.

    They are relative to the URL, whatever the base of the page.
    """
    left = settings.max_links - len(page.links) - len(page.assets)
    references = References(fetch.visit.url, joiner, max(left, 0))
    for link in links_in(value for name, value in fetch.headers if name == "link"):
        if not _HEADER_RELATIONS.isdisjoint(link.relations):
            add_link_element(references, link.reference, link.relations, link.parameter)
    links, assets = references.links_and_assets()
    if not (links or assets or references.dropped):
        return page
    canonical = next((link.url for link in links if link.kind == "canonical"), None)
    known = dict(page.languages)
    languages = tuple(pair for pair in references.languages() if pair[0] not in known)
    note = references.note() if references.dropped else ""
    return replace(
        page,
        links=tuple(dict.fromkeys((*page.links, *links))),
        assets=tuple(dict.fromkeys((*page.assets, *assets))),
        canonical=page.canonical or canonical,
        languages=page.languages + languages,
        outcome=Outcome.PARSE_TRUNCATED if note and page.outcome is Outcome.OK else page.outcome,
        detail="; ".join(filter(None, (page.detail, note))),
    )


def _understand_other(
    fetch: Fetch, content_type: str, charset: str, settings: ParseSettings, joiner: Joiner
) -> Page:
    body, url = fetch.body, fetch.visit.url
    if fetch.visit.kind == Kind.FEED:
        # A handler reads it for its stories.
        return Page()
    if fetch.visit.kind == Kind.SITEMAP or _may_be_sitemap(content_type, body):
        # To read XML takes modules that pages do not need: 2 ms less at the start.
        from gossamer.parse.sitemap import understand_sitemap  # noqa: PLC0415

        return understand_sitemap(body, url, settings, joiner)
    if content_type == CSS:
        return _understand_css(body, url, settings, joiner)
    # XML names its charset itself.
    is_plain = content_type.startswith("text/") and not content_type.endswith("xml")
    return Page(charset=charset if is_plain and codec_of(charset) else "")


def _may_be_sitemap(content_type: str, body: bytes) -> bool:
    """Tell a sitemap or feed by its root element, also when it is packed."""
    if content_type == GZIP:
        try:
            start = zlib.decompressobj(wbits=31).decompress(body[:_PEEK], _PEEK)
        except zlib.error:
            return False
        return root_of(start.lstrip()) in SITEMAP_ROOTS
    if content_type.endswith(("/xml", "+xml")):
        # No root in sight means a document type with declarations: the reader will say so.
        return root_of(body[:_PEEK].lstrip(b"\xef\xbb\xbf\t\n\r ")) in (*SITEMAP_ROOTS, b"")
    return False


def _understand_css(body: bytes, url: str, settings: ParseSettings, joiner: Joiner) -> Page:
    references = References(url, joiner, settings.max_links)
    # What matters of a style sheet is ASCII in every encoding it may have, but for UTF-16.
    wide = body[:2] in (b"\xff\xfe", b"\xfe\xff")
    sheet = body[: settings.max_bytes].decode("utf-16" if wide else "utf-8", "replace")
    for reference, kind in references_in(sheet):
        references.add_asset(reference, kind)
    _, assets = references.links_and_assets()
    notes = [references.note()] if references.dropped else []
    if len(body) > settings.max_bytes:
        notes.append(f"only the first {settings.max_bytes} of {len(body)} bytes were parsed")
    return Page(
        charset="UTF-16LE" if wide else "UTF-8",
        assets=assets,
        outcome=Outcome.PARSE_TRUNCATED if notes else Outcome.OK,
        detail="; ".join(notes),
    )
