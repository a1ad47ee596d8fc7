"""What batches are about: sites, members and items as the engine of the service sees them."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from msgspec import Struct

_MAX_KNOWN: Final = 2_000_000


class ItemState(IntEnum):
    """Where an item of a batch stands."""

    OPEN = 0
    CRAWLED = 1
    LEFT_OUT = 2


class BatchState(IntEnum):
    """Where a batch stands."""

    OPEN = 0
    FINISHED = 1
    FAILED = 2


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


class ItemRow(Struct, frozen=True):
    """An item of a batch, and what became of it."""

    site: str
    url_md5: str
    url: str
    state: ItemState
    status: int | None
    error_mask: int | None
    size: int | None


class Memo:
    """What the engine remembers between transactions: it is asked for each link of each page."""

    def __init__(self) -> None:
        self._known: dict[int, set[bytes]] = {}
        self._count = 0
        self.uses: dict[tuple[str, str], int] = {}
        """How often each value of a header was sent."""

    def unknown(self, set_id: int, keys: Iterable[bytes]) -> set[bytes]:
        """Return those of some keys that a site was not told of lately."""
        return set(keys) - self._known.get(set_id, set())

    def learn(self, set_id: int, keys: Iterable[bytes]) -> None:
        """Remember that a site was told of these."""
        if self._count > _MAX_KNOWN:
            self.forget()
        known = self._known.setdefault(set_id, set())
        before = len(known)
        known.update(keys)
        self._count += len(known) - before

    def forget(self) -> None:
        """Remember nothing: what was learned in a transaction that failed may be wrong."""
        self._known.clear()
        self._count = 0
