"""What batches are about: sites, members and items as the engine of the service sees them."""

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gossamer.catalog.request_memo import RequestMemo
from gossamer.url.plain import KEY_BYTES, Keys, KeySet

if TYPE_CHECKING:
    from gossamer.objects.site import Filter

_MAX_KNOWN: Final = 2_000_000


class ItemState(IntEnum):
    """Where an item of a batch stands."""

    OPEN = 0
    CRAWLED = 1
    LEFT_OUT = 2
    WAITING = 3
    """Found in one iteration, to be crawled in the next."""


class BatchState(IntEnum):
    """Where a batch stands."""

    OPEN = 0
    FINISHED = 1
    FAILED = 2
    BETWEEN = 4
    """An iteration is over; who has ordered the batch begins the next one."""


class BatchOrder(Struct, frozen=True):
    """How a batch is to be crawled."""

    kind: int
    seconds: float
    """From its first request on."""
    ttl: float | None = None
    """So many seconds it may wait for its first request; None: as long as it may take."""
    max_iterations: int = 1
    max_items: int | None = None
    """Of all iterations together; None: no limit."""
    grace: float = 0.0
    """So many seconds before its end no iteration begins."""
    pauses: bool = False
    """Whether what an iteration has brought is processed before the next begins."""
    drops_rest: bool = False
    """Whether URLs that it has found, and did not come to, are forgotten."""


class Wanted(Struct, frozen=True):
    """A member that is to be crawled."""

    set_id: int
    doc_id: int
    wishes: str = ""
    """What counts for it alone, as objects/item_wishes.py writes it."""
    made: bool = False
    """Whether the site has it only because of this batch."""
    is_there: bool = False
    """Whether its content is there already: nothing is fetched."""


class Plan(Struct, frozen=True):
    """Where a batch is in its iterations."""

    kind: int
    iteration: int
    max_iterations: int
    max_items: int | None
    until: float
    grace: float
    pauses: int
    drops_rest: int

    def goes_on(self, now: float) -> bool:
        """Whether another iteration may follow."""
        return self.iteration < self.max_iterations and now < self.until - self.grace


class SiteFacts(Struct, frozen=True, gc=False):
    """What crawling needs to know of a site."""

    site_id: int
    id: str
    set_id: int
    state: int
    max_errors: int
    errors: int
    max_resources: int
    resources: int
    max_urls: int
    max_urls_from_page: int
    max_resource_size: int
    url_type: int
    request_delay: float
    http_timeout: float
    recrawl_period: float


class Item(Struct, frozen=True, gc=False):
    """A member that is being crawled."""

    batch_id: int
    set_id: int
    doc_id: int
    at: int
    hops: int
    page_hops: int
    began_at: float | None
    iteration: int = 1
    wishes: str = ""


class MemberFacts(Struct, frozen=True, gc=False):
    """What a URL is to a site."""

    status: int
    state: int
    request_delay: float
    http_timeout: float
    depth: int
    priority: int
    max_urls_from_page: int
    udate: float | None
    mrate: float
    mrate_counter: int
    total_time: float
    type: int


class PageFacts(Struct, frozen=True, gc=False):
    """What a page hands down to the URLs that are found on it."""

    url: str
    md5: str
    type: int
    depth: int
    priority: int
    classifier_mask: int
    request_delay: float
    processing_delay: float
    http_timeout: float
    max_urls_from_page: int
    content_type: str


class ItemRow(Struct, frozen=True):
    """An item of a batch, and what became of it."""

    site: str
    url_md5: str
    url: str
    state: ItemState
    status: int | None
    error_mask: int | None
    size: int | None
    iteration: int = 1
    depth: int | None = None
    wishes: str = ""


class Memo:
    """What the engine remembers between transactions: it is asked for each link of each page.

    Of sites it remembers what they want, until somebody changes that (`members_changed`).
    """

    def __init__(self) -> None:
        self._known: dict[int, Keys] = {}
        """Keys of the URLs that sites were told of, by set."""
        self._count = 0
        self.properties: dict[int, dict[str, str]] = {}
        """Those of sites."""
        self.filters: dict[int, list[Filter]] = {}
        """Those of sites that are on."""
        self.uses: dict[tuple[str, str], int] = {}
        """How often each value of a header was sent."""
        self.requests = RequestMemo()

    def untold(self, set_id: int, keys: bytes) -> list[int]:
        """Return the numbers of those of the keys that a site was not told of lately."""
        known = self._known.get(set_id)
        return list(range(len(keys) // KEY_BYTES)) if known is None else known.absent(keys)

    def learn(self, set_id: int, keys: Iterable[bytes]) -> None:
        """Remember that a site was told of these."""
        if self._count > _MAX_KNOWN:
            self.forget()
        known = self._known.get(set_id)
        if known is None:
            known = self._known[set_id] = KeySet()
        before = len(known)
        for key in keys:
            known.add(key)
        self._count += len(known) - before

    def forget(self) -> None:
        """Remember nothing: what was learned in a transaction that failed may be wrong."""
        self._known.clear()
        self._count = 0
        self.properties.clear()
        self.filters.clear()
