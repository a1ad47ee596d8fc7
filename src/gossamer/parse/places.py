"""The places of a page that carry a URL, and what each refers to: another page, or an asset.

Requirements 3b lists the places. Kinds of assets: img, css, js, video, audio, font, iframe, other.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from turbohtml import Document as Tree
from turbohtml import DocumentFragment, Element, Namespace
from turbohtml import Link as Place

from gossamer.parse.css import kind_in_style, references_in
from gossamer.parse.references import References

# (element, attribute) -> kind, for references to pages.
LINK_PLACES: Final = {
    ("a", "href"): "a",
    ("a", "xlink:href"): "a",
    ("area", "href"): "area",
    ("frame", "src"): "frame",
    ("frame", "longdesc"): "longdesc",
    ("iframe", "src"): "iframe",
    ("iframe", "longdesc"): "longdesc",
    ("img", "longdesc"): "longdesc",
    ("portal", "src"): "iframe",
    ("blockquote", "cite"): "cite",
    ("del", "cite"): "cite",
    ("ins", "cite"): "cite",
    ("q", "cite"): "cite",
    ("head", "profile"): "profile",
}
# (element, attribute) -> kind, for what a page needs to be shown.
ASSET_PLACES: Final = {
    ("a", "ping"): "other",
    ("area", "ping"): "other",
    ("audio", "src"): "audio",
    ("bgsound", "src"): "audio",
    ("feimage", "href"): "img",
    ("feImage", "href"): "img",
    ("feImage", "xlink:href"): "img",
    ("iframe", "src"): "iframe",
    ("image", "href"): "img",
    ("image", "xlink:href"): "img",
    ("img", "src"): "img",
    ("img", "srcset"): "img",
    ("input", "src"): "img",
    ("link", "imagesrcset"): "img",
    ("portal", "src"): "iframe",
    ("script", "href"): "js",
    ("script", "src"): "js",
    ("script", "xlink:href"): "js",
    ("source", "srcset"): "img",
    ("track", "src"): "other",
    ("use", "href"): "img",
    ("use", "xlink:href"): "img",
    ("video", "poster"): "img",
    ("video", "src"): "video",
}
# Any element: attribute -> asset kind.
_ASSET_ATTRIBUTES: Final = {
    "background": "img",
    "archive": "other",
    "src": "other",
    "href": "other",
}
# The rel of a link element decides; the first of its words that is found here.
_ASSET_RELS: Final = {
    "stylesheet": "css",
    "modulepreload": "js",
    "icon": "img",
    "mask-icon": "img",
    "apple-touch-icon": "img",
    "apple-touch-icon-precomposed": "img",
    "apple-touch-startup-image": "img",
    "fluid-icon": "img",
    "image_src": "img",
    "manifest": "other",
    "search": "other",
    "edituri": "other",
    "wlwmanifest": "other",
}
_LINK_RELS: Final = {
    "canonical": "canonical",
    "next": "next",
    "prev": "prev",
    "previous": "prev",
    "alternate": "alternate",
}
# The first two name a server, not something on it; the others a place to post to.
_NO_REFERENCE_RELS: Final = frozenset(("dns-prefetch", "preconnect", "pingback", "webmention"))
_PRELOADS: Final = frozenset(("preload", "prefetch", "prerender", "subresource"))
_PRELOADED: Final = {
    "style": "css",
    "script": "js",
    "worker": "js",
    "image": "img",
    "font": "font",
    "video": "video",
    "audio": "audio",
}
_FEED_TYPES: Final = frozenset(
    ("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json")
)
# How far above an element its form or template is looked for: the climb must not cost more than
# the page.
_HEIGHT: Final = 32
_MAX_LANGUAGE: Final = 64
STYLED_BY_SET: Final = '[style*="image-set(" i]'
# Without this type a link with rel=search leads to a page for people.
_OPEN_SEARCH: Final = "application/opensearchdescription+xml"
_MEDIA: Final = {"image": "img", "video": "video", "audio": "audio"}


def read_places(references: References, places: list[Place], limit: int) -> int:
    """Add what the places of a page refer to, but for plain links; return how many are over it."""
    left = limit
    styled: Element | None = None
    for number, (element, attribute, reference) in enumerate(places):
        tag = element.tag
        if attribute is None:
            if element.namespace is not Namespace.HTML:
                references.add_asset(reference, kind_in_style(reference))
            continue
        if tag in ("base", "meta") or (tag == "a" and attribute == "href"):
            continue
        if not left:
            return len(places) - number
        left -= 1
        if attribute != "style":
            add_place(references, element, attribute, reference)
        elif element is not styled:
            # It comes once for each of its references.
            add_style(references, element)
            styled = element
        if tag in ("img", "object", "input"):
            references.add_link(text_of(element, "usemap"), "usemap")
    return 0


def refused_in(places: list[Place]) -> list[str]:
    """Return the hrefs of `a` elements that ask not to be followed."""
    return [
        text_of(element, "href")
        for element, attribute, _ in places
        if attribute == "href" and element.tag == "a" and "nofollow" in words_of(element, "rel")
    ]


def add_place(references: References, element: Element, attribute: str, reference: str) -> None:
    """Add what one URL-bearing place refers to, as a link or an asset or both."""
    tag = element.tag
    place = (tag, attribute)
    if place in ASSET_PLACES and place not in LINK_PLACES:
        references.add_asset(reference, ASSET_PLACES[place])
    elif tag == "link" and attribute == "href":
        add_link_element(references, reference, words_of(element, "rel"), partial(text_of, element))
    elif attribute == "formaction":
        _add_form_action(references, element, reference)
    elif tag == "source" and attribute == "src":
        references.add_asset(reference, _parent_medium(element))
    elif tag in ("object", "embed", "applet"):
        _add_embedded(references, element, reference)
    else:
        _add_by_table(references, element, attribute, reference)


def add_style(references: References, element: Element) -> None:
    """Add what a style attribute refers to; its end closes a url() that is still open."""
    for reference, kind in references_in(text_of(element, "style") + ")"):
        references.add_asset(reference, kind)


def add_link_element(
    references: References, reference: str, words: list[str], attribute: Callable[[str], str]
) -> None:
    """Add the target of a link element, or of one in a header, by the words of its rel."""
    if "stylesheet" in words:
        references.add_asset(reference, "css")
        return
    for word in words:
        if word in _LINK_RELS:
            kind = _LINK_RELS[word]
            if kind == "alternate":
                if attribute("type").strip().lower() in _FEED_TYPES:
                    kind = "feed"
                language = attribute("hreflang").strip().lower()[:_MAX_LANGUAGE]
                if language:
                    references.add_language(language, reference)
            references.add_link(reference, kind)
            return
        if word == "search" and attribute("type").strip().lower() != _OPEN_SEARCH:
            references.add_link(reference, "search")
            return
        if word in _ASSET_RELS:
            references.add_asset(reference, _ASSET_RELS[word])
            return
        if word in _PRELOADS:
            _add_preloaded(references, reference, attribute("as").strip().lower())
            return
        if word in _NO_REFERENCE_RELS:
            return
    references.add_link(reference, "link")


def words_of(element: Element, attribute: str) -> list[str]:
    """Return the words of an attribute in lower case; a list of thousands is nobody's intention."""
    return text_of(element, attribute)[:1_024].lower().split()


def base_in(tree: Tree) -> str:
    """Return what references are relative to, "" for the page: the first base with href counts."""
    for element in tree.select("base"):
        href = element.attr("href")
        if href is not None and is_at_work(element):
            return href
    return ""


def is_at_work(element: Element) -> bool:
    """Whether it is one of HTML and of the page itself: in a template it is only kept for later."""
    if element.namespace is not Namespace.HTML:
        return False
    parent = element.parent
    for _ in range(_HEIGHT):
        if not isinstance(parent, Element):
            break
        parent = parent.parent
    return not isinstance(parent, DocumentFragment)


def text_of(element: Element, attribute: str) -> str:
    """Return the value of an attribute, "" if it is not there."""
    return element.attr(attribute) or ""


def _add_preloaded(references: References, reference: str, purpose: str) -> None:
    if purpose in ("", "document"):
        references.add_link(reference, "prefetch")
    else:
        references.add_asset(reference, _PRELOADED.get(purpose, "other"))


def _add_form_action(references: References, element: Element, reference: str) -> None:
    """A form that is sent by POST names no page that could be fetched."""
    method = text_of(element, "formmethod") or _method_of_form(element)
    if method.strip().lower() in ("", "get"):
        references.add_link(reference, "formaction")


def _method_of_form(element: Element) -> str:
    parent = element.parent
    for _ in range(_HEIGHT):
        if not isinstance(parent, Element):
            break
        if parent.tag == "form":
            return text_of(parent, "method")
        parent = parent.parent
    return ""


def _parent_medium(element: Element) -> str:
    parent = element.parent
    tag = parent.tag if isinstance(parent, Element) else ""
    return {"video": "video", "audio": "audio", "picture": "img"}.get(tag, "other")


def _add_embedded(references: References, element: Element, reference: str) -> None:
    """The codebase of an object is the base of its other references (HTML 4, section 13.3)."""
    codebase = text_of(element, "codebase")
    base = references.resolve(codebase) if codebase else None
    kind = text_of(element, "type").strip().lower()
    references.add_asset(reference, _MEDIA.get(kind.partition("/")[0], "other"), base=base)
    if kind in ("text/html", "application/xhtml+xml"):
        references.add_link(reference, element.tag)


def _add_by_table(references: References, element: Element, attribute: str, reference: str) -> None:
    place = (element.tag, attribute)
    link = LINK_PLACES.get(place)
    asset = ASSET_PLACES.get(place)
    if link is None and asset is None:
        if element.namespace is Namespace.MATHML:
            link = "a"
        else:
            asset = _ASSET_ATTRIBUTES.get(attribute)
    if link is not None:
        references.add_link(reference, link, nofollow="nofollow" in words_of(element, "rel"))
    if asset is not None:
        references.add_asset(reference, asset)
