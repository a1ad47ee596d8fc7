"""Items of feeds: what several formats say in several places becomes one record, within limits.

Which URL an item has (requirements 5b.3, item 2): its link; else its guid, if that is a URL; else
what looks like a canonical URL; else what is enclosed.
"""

import hashlib
import re
from collections import Counter
from typing import Final

from turbohtml import escape

from gossamer.config.url import UrlSettings
from gossamer.parse.feed_dates import moment_of
from gossamer.parse.feed_records import Enclosure, FeedLimits, Item
from gossamer.parse.feed_text import looks_like_markup, on_one_line, text_in
from gossamer.url.canonical import Joiner
from gossamer.url.lossy import is_home_page

_ANY_LENGTH: Final = UrlSettings(max_bytes=65_535)
_CACHE_BYTES: Final = 4 << 20
# Of markup so much is looked at for each character of plain text that is kept.
_MARKUP_FOR_TEXT: Final = 4
_MAX_NAME: Final = 256
_MAX_TYPE: Final = 128
_MAX_LENGTH: Final = 1 << 50
_LANGUAGE: Final = re.compile(r"[A-Za-z]{1,8}(?:[-_][A-Za-z0-9]{1,8}){0,4}")
_WEB: Final = ("http://", "https://")
# In this order.
_LINK_SLOTS: Final = ("link", "guid", "alternate", "origlink")
_HASH_DIGITS: Final = 32

PLAIN: Final = "text"
"""Text that is what it looks like."""
HTML: Final = "html"
"""Text that is markup."""
UNSURE: Final = "unsure"
"""Text that claims to be plain and often is not."""


class NoFeedError(Exception):
    """The document is something else; says what."""


class Draft:
    """What was found of one item so far; of each slot the value with the lowest rank."""

    __slots__ = ("authors", "base", "enclosures", "ranks", "tags", "values")

    def __init__(self, base: str) -> None:
        self.base = base
        self.values: dict[str, tuple[str, str]] = {}
        self.ranks: dict[str, int] = {}
        self.authors: list[str] = []
        self.tags: list[str] = []
        self.enclosures: list[Enclosure] = []

    def put(self, slot: str, value: str, rank: int = 0, form: str = HTML) -> None:
        """Note a value, unless there is one of the same or a lower rank."""
        if value and rank < self.ranks.get(slot, 99):
            self.values[slot] = (value, form)
            self.ranks[slot] = rank

    def has(self, slot: str) -> bool:
        """Whether there is a value."""
        return slot in self.values

    def text(self, slot: str) -> str:
        """Return a value as it was found."""
        return self.values[slot][0] if slot in self.values else ""


class Maker:
    """Makes the items of one feed and keeps its accounts."""

    def __init__(self, url: str, limits: FeedLimits) -> None:
        self.items: list[Item] = []
        self.flags: set[str] = set()
        self.skipped = 0
        self._limits = limits
        self._joiner = Joiner(_ANY_LENGTH, _CACHE_BYTES)
        self._url = url
        self._content_left = limits.max_feed_content

    def is_full(self) -> bool:
        """Whether no further item is taken."""
        return len(self.items) + self.skipped >= self._limits.max_items

    def add(self, draft: Draft) -> None:
        """Make an item, or count it as skipped."""
        enclosures = self._enclosures(draft)
        url = self._item_url(draft, enclosures)
        if url is None:
            self.skipped += 1
            return
        guid, is_permalink = self._guid(draft, url)
        if not guid:
            self.flags.add("no_identity")
            self.skipped += 1
            return
        description, content = self._description(draft), self._content(draft)
        if not content and len(draft.text("description")) > self._limits.max_description:
            content = self._content(draft, "description")
        self.items.append(
            Item(
                url=url,
                guid=guid,
                guid_is_permalink=is_permalink,
                title=self.plain(*draft.values.get("title", ("", PLAIN)), self._limits.max_title),
                description=description,
                content_html=content,
                authors=self._names(draft.authors),
                published=self._moment(draft.text("published")),
                updated=self._moment(draft.text("updated")),
                tags=self._names(draft.tags),
                image=self.join(draft.text("image"), draft.base) or "",
                enclosures=enclosures,
                language=language_of(draft.text("language")),
            )
        )

    def join(self, reference: str, base: str = "") -> str | None:
        """Return the URL that a reference means; None if it means none or a too long one."""
        found = self._join(reference, base)
        return found if found is not None and len(found) <= self._limits.max_url else None

    def plain(self, text: str, form: str, limit: int) -> str:
        """Return the beginning of a text without markup, on one line."""
        text = text[: limit * _MARKUP_FOR_TEXT]
        if form == HTML or (form == UNSURE and looks_like_markup(text)):
            text = text_in(text)
        else:
            text = on_one_line(text)
        return text[:limit]

    def note_guids(self) -> None:
        """Flag a feed in which one guid stands for most of its items."""
        if len(self.items) < 2:
            return
        guid, count = Counter(item.guid for item in self.items).most_common(1)[0]
        if count * 2 > len(self.items):
            urls = {item.url for item in self.items if item.guid == guid}
            if len(urls) > 1:
                self.flags.add("same_guid")

    def _join(self, reference: str, base: str) -> str | None:
        # No white space in a URL means anything; feeds wrap and indent theirs.
        reference = "".join(reference.split())
        if not reference or reference[0] == "#":
            return None
        if reference[:4].lower() == "www.":
            reference = "http://" + reference
        return self._joiner.join(base or self._url, reference)

    def _item_url(self, draft: Draft, enclosures: tuple[Enclosure, ...]) -> str | None:
        """Return the URL of an item, "" if it has none, None if it is too long to be kept."""
        for slot in _LINK_SLOTS:
            text = draft.text(slot)
            if not text or (slot == "guid" and not _is_web(text)):
                continue
            url = self._join(text, draft.base)
            if url is None or (slot == "guid" and is_home_page(url)):
                if len(text) > self._limits.max_url:
                    self.flags.add("long_url")
                    return None
                continue
            if len(url) > self._limits.max_url:
                self.flags.add("long_url")
                return None
            return url
        return enclosures[0].url if enclosures else ""

    def _guid(self, draft: Draft, url: str) -> tuple[str, bool]:
        """Return the guid and whether it is a URL that leads to the item."""
        guid = on_one_line(draft.text("guid"))
        if not guid or (_is_web(guid) and is_home_page(guid)):
            return url, bool(url)
        is_permalink = _is_web(guid) and draft.values["guid"][1] != PLAIN
        if len(guid) > self._limits.max_guid:
            self.flags.add("long_guid")
            digest = hashlib.sha256(guid.encode()).hexdigest()[:_HASH_DIGITS]
            guid = guid[: max(0, self._limits.max_guid - _HASH_DIGITS)] + digest
            is_permalink = False
        return guid, is_permalink

    def _description(self, draft: Draft) -> str:
        text, form = draft.values.get("description", ("", PLAIN))
        return self.plain(text, form, self._limits.max_description)

    def _content(self, draft: Draft, slot: str = "content") -> str:
        """Return the full text as HTML, as far as it is within the limits."""
        text, form = draft.values.get(slot, ("", HTML))
        limit = min(self._limits.max_content, self._content_left)
        if len(text) > limit:
            self.flags.add("long_text")
            text = text[:limit]
        if form == PLAIN or (form == UNSURE and not looks_like_markup(text)):
            text = escape(text)[:limit]
        text = text.strip()
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode()
        self._content_left -= len(text)
        return text

    def _names(self, names: list[str]) -> tuple[str, ...]:
        """Return distinct names, whatever they were written as."""
        found = (self.plain(name, HTML, _MAX_NAME) for name in names)
        return tuple(dict.fromkeys(name for name in found if name))[: self._limits.max_names]

    def _moment(self, text: str) -> int | None:
        if not text:
            return None
        moment = moment_of(text)
        if moment is None:
            self.flags.add("bad_date")
        return moment

    def _enclosures(self, draft: Draft) -> tuple[Enclosure, ...]:
        found: dict[str, Enclosure] = {}
        for enclosed in draft.enclosures[: self._limits.max_names]:
            url = self.join(enclosed.url, draft.base)
            if url is not None:
                kind = on_one_line(enclosed.type[:_MAX_TYPE])
                found.setdefault(url, Enclosure(url, kind, enclosed.length))
        return tuple(found.values())


def author_in(text: str) -> str:
    """Return the name in what feeds say of an author; the whole if there is no name.

    RSS wants `name@site.example (Name)`; people write it the other way around, too.
    """
    text = " ".join(text[:_MAX_NAME].split())
    for opening, closing in ("()", "<>"):
        if "@" in text and opening in text and text.endswith(closing):
            before, _, inside = text[:-1].partition(opening)
            return (inside if "@" in before else before).strip(" \"'") or text
    return text


def language_of(text: str) -> str:
    """Return a language tag in lower case, "" if there is none."""
    text = text.strip()
    return text.replace("_", "-").lower() if _LANGUAGE.fullmatch(text) else ""


def length_of(text: str) -> int:
    """Return the number of bytes that an enclosure claims, 0 if it claims nonsense."""
    text = text.strip()[:20]
    return min(int(text), _MAX_LENGTH) if text.isdecimal() and text.isascii() else 0


def _is_web(text: str) -> bool:
    return text.lstrip()[:8].lower().startswith(_WEB)
