"""Feeds in XML: RSS, RDF, Atom and sitemaps, told by a reader of XML to one handler.

Theory of operation. All formats are one vocabulary (`feed_names.py`) to the handler, which knows
whether it is inside an item, and which field, if any, it gathers text for. An element inside a
field is markup of that field. Whether the document is one of these formats shows in its first
element.
"""

from typing import Final

from turbohtml import escape

from gossamer.parse.feed_fields import FEED_FIELDS, ITEM_FIELDS, MARKUP_SLOTS
from gossamer.parse.feed_items import (
    HTML,
    PLAIN,
    UNSURE,
    Draft,
    Maker,
    NoFeedError,
    author_in,
    length_of,
)
from gossamer.parse.feed_names import Names, is_atom_03
from gossamer.parse.feed_records import Enclosure, FeedLimits
from gossamer.parse.xml_reader import EnoughError

# Fields that may well hold elements with the names of other fields.
_HOLDING: Final = frozenset(("author", "content", "description", "image"))
# An element inside a field that is the field's real value.
_VALUES: Final = {
    ("author", "name"): ("author", 0, PLAIN),
    ("image", "url"): ("image", 1, PLAIN),
}
# Their children mean something else than those of an item.
_ELSEWHERE: Final = frozenset(("source", "contributor", "textinput", "itunes:owner"))
# Where one of these begins inside a field, the field was left open.
_NEVER_INSIDE: Final = frozenset(
    (
        "guid",
        "pubdate",
        "description",
        "content:encoded",
        "published",
        "updated",
        "dc:creator",
        "dc:date",
        "enclosure",
        "loc",
        "lastmod",
    )
)
_ROOTS: Final = {
    "rss": "rss2",
    "channel": "rss2",
    "rdf:rdf": "rdf",
    "rdf": "rdf",
    "feed": "atom1",
    "urlset": "sitemap",
    "sitemapindex": "sitemap_index",
}
_ITEM_NAMES: Final = {"sitemap": ("url",), "sitemap_index": ("sitemap",)}
_USUAL_ITEM_NAMES: Final = ("item", "entry")
# A text with more tags than half of this keeps those that come first.
_MAX_PIECES: Final = 40_000
# Elements of HTML that have no end.
_VOID: Final = frozenset(("br", "hr", "img", "input", "link", "meta", "source", "wbr"))
# Text constructs of Atom, which say what form they have.
_TYPED: Final = frozenset(("title", "summary", "content"))
# For text that is no text, or is elsewhere.
_NOWHERE: Final = ("", 0, PLAIN)
_ATOM_FORMS: Final = {
    "text": UNSURE,
    "text/plain": UNSURE,
    "html": HTML,
    "xhtml": HTML,
    "text/html": HTML,
    "application/xhtml+xml": HTML,
}


class FeedHandler:
    """Gathers what a document says as a feed."""

    def __init__(self, maker: Maker, limits: FeedLimits, *, loose: bool) -> None:
        self.pieces: list[str] = []
        self.form = ""
        self.feed = Draft("")
        """What is said of the feed itself."""
        self.links: dict[str, str] = {}
        """relation -> reference, of the feed itself"""
        self.drafts: list[Draft] = []
        """What is said of each item."""
        self.children: dict[str, None] = {}
        """The sitemaps that an index names."""
        self._maker = maker
        self._limits = limits
        self._loose = loose
        self._names = Names()
        self._elements_left = limits.max_elements
        self._depth = 0
        self._bases = [(0, "")]
        self._item_names: tuple[str, ...] = _USUAL_ITEM_NAMES
        self._item: Draft | None = None
        self._item_depth = 0
        self._elsewhere_depth = 0
        self._slot: tuple[str, int, str] | None = None
        self._slot_depth = 0
        self._markup: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Hear that an element begins."""
        self._elements_left -= 1
        if self._elements_left < 0:
            raise EnoughError(f"elements beyond {self._limits.max_elements}")
        self._depth += 1
        own_namespace = None
        if attributes:
            self._names.declare(attributes)
            if "xml:base" in attributes and self._slot is None:
                base = self._maker.join(attributes["xml:base"], self._bases[-1][1])
                self._bases.append((self._depth, base or self._bases[-1][1]))
            if self.form:
                own_namespace = attributes.get("xmlns")
        known = self._names.of(name, own_namespace)
        if not self.form:
            self._begin_document(known, attributes)
        elif self._slot is not None:
            self._begin_inside(self._slot, known, name, attributes)
        elif not self._elsewhere_depth:
            self._begin(known, attributes)

    def end(self, name: str) -> None:
        """Hear that the innermost element ends."""
        depth = self._depth
        if self._slot is not None:
            if depth == self._slot_depth:
                self._end_field(self._slot)
            elif 0 < len(self._markup) < _MAX_PIECES and (local := _local(name)) not in _VOID:
                self._add_markup(f"</{local}>")
        if depth == self._elsewhere_depth:
            self._elsewhere_depth = 0
        if depth == self._item_depth:
            self._end_item()
        if self._bases[-1][0] == depth:
            self._bases.pop()
        self._depth -= 1

    def finish(self) -> None:
        """Hear that there is no more, though elements are open: keep an item that has its link."""
        self._slot = None
        if self._item is not None and self.form != "sitemap_index":
            if self._item.has("link"):
                self._end_item()
            else:
                self._maker.skipped += 1

    def _begin_document(self, name: str, attributes: dict[str, str]) -> None:
        form = _ROOTS.get(name)
        if form is None:
            raise NoFeedError(f"a document that begins with <{_local(name)[:64]}>")
        if name == "rss" and attributes.get("version", "").strip()[:3] == "0.9":
            form = "rss09"
        elif name == "feed" and (
            is_atom_03(attributes.get("xmlns", "")) or attributes.get("version") == "0.3"
        ):
            form = "atom03"
        self.form = form
        self._item_names = _ITEM_NAMES.get(form, _USUAL_ITEM_NAMES)
        self.feed.put("language", attributes.get("xml:lang", ""), 9)

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element that is in no field: an item, a field, or what is of no interest."""
        if name in self._item_names:
            self._begin_item(attributes)
        elif name in _ELSEWHERE or (self._item is None and name == "image"):
            self._elsewhere_depth = self._depth
        elif self._item is None:
            slot = FEED_FIELDS.get(name)
            if slot is not None:
                self._begin_field(slot)
            if name == "link" and attributes:
                self._take_feed_link(attributes)
            elif name == "channel" and "xml:lang" in attributes:
                self.feed.put("language", attributes["xml:lang"], 8)
        else:
            if self.form == "sitemap" and name[:5] == "news:":
                self.form = "news_sitemap"
            if attributes:
                self._take_attributes(self._item, name, attributes)
            slot = ITEM_FIELDS.get(name)
            if slot is not None:
                self._begin_field(self._with_form(name, slot, attributes))

    def _with_form(
        self, name: str, slot: tuple[str, int, str], attributes: dict[str, str]
    ) -> tuple[str, int, str]:
        """Return the slot of a field with the form that its attributes claim."""
        if name == "guid":
            permalink = attributes.get("isPermaLink", attributes.get("ispermalink", ""))
            return (*slot[:2], PLAIN if permalink.strip().lower() == "false" else HTML)
        if name not in _TYPED:
            return slot
        form = attributes.get("type", "").strip().lower()
        if attributes.get("src") or attributes.get("mode") == "base64":
            return _NOWHERE
        if not form or attributes.get("mode") == "escaped":
            return (*slot[:2], UNSURE) if self.form[:4] == "atom" else slot
        return (*slot[:2], _ATOM_FORMS[form]) if form in _ATOM_FORMS else _NOWHERE

    def _begin_inside(
        self, slot: tuple[str, int, str], known: str, name: str, attributes: dict[str, str]
    ) -> None:
        """Begin an element inside a field."""
        value = _VALUES.get((slot[0], known))
        if value is not None:
            # What else is around the value, such as the title of a picture, is not the item's.
            self._elsewhere_depth = self._slot_depth
            self._begin_field(value)
        elif self._loose and self._was_left_open(slot[0], known):
            self._end_field(slot)
            self._begin(known, attributes)
        elif slot[0] in MARKUP_SLOTS and len(self._markup) < _MAX_PIECES:
            self._add_markup(_tag(name, attributes))

    def _was_left_open(self, slot: str, known: str) -> bool:
        if known in self._item_names or known in _NEVER_INSIDE:
            return True
        return slot not in _HOLDING and known in ITEM_FIELDS

    def _begin_field(self, slot: tuple[str, int, str]) -> None:
        self._slot = slot
        self._slot_depth = self._depth
        self.pieces.clear()
        self._markup.clear()

    def _end_field(self, field: tuple[str, int, str]) -> None:
        slot, rank, form = field
        self._slot = None
        if self._markup:
            self._add_markup("")
            text, form = "".join(self._markup), HTML
        else:
            text = "".join(self.pieces)
        text = text.strip()
        if text:
            self._put(slot, text, rank, form)

    def _put(self, slot: str, text: str, rank: int, form: str) -> None:
        draft = self.feed if self._item is None else self._item
        if slot == "author":
            _add(draft.authors, author_in(text), self._limits)
        elif slot == "tag":
            _add(draft.tags, text, self._limits)
        elif slot == "tags":
            for tag in text[: self._limits.max_description].split(","):
                _add(draft.tags, tag, self._limits)
        elif slot == "publication":
            self.feed.put("title", text, 5, PLAIN)
        elif slot == "link":
            draft.put(slot, self._with_base(text, draft), rank, form)
        else:
            draft.put(slot, text, rank, form)

    def _with_base(self, reference: str, draft: Draft) -> str:
        """Return a reference as it is to be read from the base of the draft."""
        base = self._bases[-1][1]
        return reference if base == draft.base else self._maker.join(reference, base) or reference

    def _add_markup(self, tag: str) -> None:
        """Add the text so far as markup, and a tag behind it."""
        self._markup.append(escape("".join(self.pieces), quote=False))
        self._markup.append(tag)
        self.pieces.clear()

    def _begin_item(self, attributes: dict[str, str]) -> None:
        # One item inside another: the first was left open.
        self._end_item()
        if len(self.drafts) + len(self.children) >= self._limits.max_items:
            raise EnoughError(f"items beyond {self._limits.max_items}")
        self._item = Draft(self._bases[-1][1])
        self._item_depth = self._depth
        self._item.put("guid", attributes.get("rdf:about", ""), 1)
        self._item.put("language", attributes.get("xml:lang", ""), 2)

    def _end_item(self) -> None:
        item, self._item, self._item_depth = self._item, None, 0
        if item is None:
            return
        if self.form == "sitemap_index":
            child = self._maker.join(item.text("link"))
            if child is not None:
                self.children[child] = None
        else:
            # The author of an Atom feed is that of each entry that names none (RFC 4287, 4.2.1).
            item.authors = item.authors or self.feed.authors
            self.drafts.append(item)

    def _take_feed_link(self, attributes: dict[str, str]) -> None:
        reference = self._with_base(attributes.get("href", ""), self.feed)
        if not reference:
            return
        for relation in _relations(attributes):
            if relation == "alternate":
                self.feed.put("link", reference, 0 if _is_page(attributes) else 1)
            else:
                self.links.setdefault(relation, reference)

    def _take_attributes(self, item: Draft, name: str, attributes: dict[str, str]) -> None:
        """Take what an element of an item says in attributes."""
        if name == "link":
            self._take_item_link(item, attributes)
        elif name in ("enclosure", "media:content"):
            self._enclose(item, attributes, "url", ("length", "fileSize"))
        elif name in ("media:thumbnail", "itunes:image"):
            item.put("image", attributes.get("url") or attributes.get("href", ""), 2)
        elif name == "category":
            _add(item.tags, attributes.get("label") or attributes.get("term", ""), self._limits)

    def _take_item_link(self, item: Draft, attributes: dict[str, str]) -> None:
        reference = attributes.get("href", "")
        if not reference:
            return
        relations = _relations(attributes)
        if "enclosure" in relations:
            self._enclose(item, attributes, "href", ("length",))
        elif "alternate" in relations:
            slot = "link" if self.form[:4] == "atom" else "alternate"
            rank = 0 if _is_page(attributes) else 1
            item.put(slot, self._with_base(reference, item), rank)

    def _enclose(
        self, item: Draft, attributes: dict[str, str], key: str, lengths: tuple[str, ...]
    ) -> None:
        if attributes.get(key) and len(item.enclosures) < self._limits.max_names:
            length = next((attributes[name] for name in lengths if name in attributes), "")
            item.enclosures.append(
                Enclosure(attributes[key], attributes.get("type", ""), length_of(length))
            )


def _add(names: list[str], name: str, limits: FeedLimits) -> None:
    if name and len(names) < limits.max_names:
        names.append(name)


def _relations(attributes: dict[str, str]) -> list[str]:
    relations = attributes.get("rel", "alternate").lower().split()[:8]
    return [relation.rpartition("/")[2] for relation in relations] or ["alternate"]


def _is_page(attributes: dict[str, str]) -> bool:
    return attributes.get("type", "text/html").strip().lower() in ("text/html", "")


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _tag(name: str, attributes: dict[str, str]) -> str:
    written = "".join(
        f' {key}="{escape(value)}"'
        for key, value in attributes.items()
        if not key.startswith(("xmlns", "xml:"))
    )
    return f"<{_local(name)}{written}>"
