"""What data hosts that crawl together say to each other: claims, tasks, and what came of them."""

from typing import Annotated

from msgspec import Meta, field

from gossamer.objects.record import Count, Record, ShortText
from gossamer.objects.url import URL

HostName = Annotated[str, Meta(max_length=300)]
Percent = Annotated[float, Meta(ge=0, le=100)]
Urls = Annotated[list[URL], Meta(max_length=100_000)]


class HostLoad(Record, frozen=True, kw_only=True):
    """How busy a host is."""

    batches: Count = 0
    """Open ones."""
    max_batches: Count = 0
    cpu_percent: Percent = 0.0
    io_wait_percent: Percent = 0.0
    free_bytes: Count | None = None
    """Memory that new work may use; None: not known."""
    is_busy: bool = False
    """More than its guard allows."""


class HostClaim(Record, frozen=True, kw_only=True):
    """A host wants to have URLs crawled, and nobody else is to crawl them meanwhile."""

    hosts: ShortText = ""
    """Digest of the list of all hosts, as the sender has it."""
    host: HostName = ""
    """Who made the batch."""
    batch: Count = 0
    items: Urls = field(default_factory=list)


class HostVerdict(Record, frozen=True, kw_only=True):
    """Whether a host may have a URL."""

    granted: bool = False
    crawled: bool = False
    """Not granted: the host that is asked has crawled it."""
    holder: HostName = ""
    """Not granted: whose batch has it."""
    batch: Count = 0


class HostClaimAnswer(Record, frozen=True, kw_only=True):
    """A verdict for each URL, and how busy the host is."""

    verdicts: list[HostVerdict] = field(default_factory=list)
    load: HostLoad = field(default_factory=HostLoad)


class HostTask(Record, frozen=True, kw_only=True):
    """A batch that another host has made, to be crawled by the one that gets this."""

    hosts: ShortText = ""
    host: HostName = ""
    batch: Count = 0
    items: Urls = field(default_factory=list)


class HostTaskAnswer(Record, frozen=True, kw_only=True):
    """Whether a task is accepted."""

    accepted: bool = False
    reason: str = ""


class HostDone(Record, frozen=True, kw_only=True):
    """What became of URLs of a batch."""

    hosts: ShortText = ""
    sender: HostName = ""
    host: HostName = ""
    """Who made the batch."""
    batch: Count = 0
    crawled: Urls = field(default_factory=list)
    """Crawled, though not by the host that gets this."""
    is_over: bool = True
    """What the batch had, and is not named as crawled, whoever wants may crawl."""
