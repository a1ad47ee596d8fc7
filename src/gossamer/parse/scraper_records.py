"""What scraping takes and gives: standard tags and their bits, the page, the result."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from gossamer.clock import Clock
from gossamer.objects.enumerations import URLType
from gossamer.objects.error_mask import ErrorBit

STANDARD_TAGS: Final = (
    "title", "link", "description", "pubdate", "author", "guid", "dc_date", "content_encoded",
    "keywords", "media", "enclosure", "media_content", "media_thumbnail", "html_lang",
    "summary_lang",
)  # fmt: skip
"""The number of a tag here is its bit in a tags mask: stored, so never change or reuse one."""
MAX_TAGS: Final = 128
"""Of one content; a template with more is refused."""
MAX_VALUE: Final = 1 << 20
"""Characters of one value; what is behind is cut."""
MAX_CONTENTS: Final = 10_000
_BITS: Final = {tag: 1 << number for number, tag in enumerate(STANDARD_TAGS)}

Tags = dict[str, str]
"""One content: what was found under each tag, never empty."""


class Job(Struct, frozen=True):
    """A page that is to be processed."""

    body: bytes
    content_type: str
    charset: str
    url: str
    properties: Mapping[str, str]
    headers: Mapping[str, str]
    """Of the response, by names in lower case."""
    deadline_seconds: float
    clock: Clock


class FeedLink(Struct, frozen=True):
    """A URL that a feed names, and what is to travel with it as headers of its response."""

    url: str
    kind: URLType
    """FETCHED: the entry is its content already. SINGLE: it is to be fetched."""
    headers: dict[str, str]
    content: int = -1
    """Which of the contents is its own; -1 if none."""


class Metrics(Struct, frozen=True):
    """Figures by which results are ranked."""

    words: int = 0
    sentences: int = 0
    readability: float = 0.0
    """Automated readability index: about the years at school that a reader needs."""
    rank: int = 0
    """How many of the three reach their threshold."""


class Scraped(Struct, frozen=True, kw_only=True):
    """The result of processing one page."""

    contents: list[Tags] = field(default_factory=list)
    tags_mask: int = 0
    """The standard tags that any content has."""
    tags_count: int = 0
    """How many tags are filled, of the content that has most; 0: the page is no content."""
    errors: int = 0
    """The bits of the error mask that are to be set."""
    messages: tuple[str, ...] = ()
    """What is wrong, for people."""
    pdate: float | None = None
    """When it was published: seconds since 1970, UTC."""
    pdate_how: str = ""
    links: tuple[FeedLink, ...] = ()
    how: str = ""
    """template, regular, feed, rss, store, none; "" if nothing was done."""
    output: str = ""
    """The content as the template's output format writes it; "" without one."""
    content_hash: str = ""
    """For the URL's contentURLMd5; "" if the property CONTENT_HASH does not ask for it."""
    metrics: Metrics = Metrics()


class Problems:
    """Gathers what goes wrong, as bits and as words."""

    def __init__(self) -> None:
        self.mask = 0
        self._messages: dict[str, None] = {}

    def add(self, bit: ErrorBit, message: str) -> None:
        """Note a problem; the same words are noted once, and not endlessly many."""
        self.mask |= 1 << bit
        if len(self._messages) < 32:
            self._messages.setdefault(message[:300])

    def take(self, other: "Problems") -> None:
        """Note what another has gathered."""
        self.mask |= other.mask
        for message in other.messages:
            if len(self._messages) < 32:
                self._messages.setdefault(message)

    @property
    def messages(self) -> tuple[str, ...]:
        """What was noted, in order."""
        return tuple(self._messages)


def tags_mask_of(content: Mapping[str, str]) -> int:
    """Return the bits of the standard tags of a content."""
    return sum(_BITS.get(tag, 0) for tag in content)
