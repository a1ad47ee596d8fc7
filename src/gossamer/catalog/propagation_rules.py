"""Which of several hosts crawls a URL: decisions of one host about one URL, without the database.

Theory of operation. Hosts have a fixed order. Whoever wants a URL asks for it at one host after
another in this order, and at its own place asks itself. Each host grants a URL to one batch at a
time. Until a host has come to its own place, its mark is only a note to itself: it yields to
everybody who asks, for they have been granted the URL at all earlier places.

So never two have the same URL: they would both have been granted it by the first host that both
asked. And never do two refuse it to each other: whoever is refused was refused by somebody who is
further along in the order, and nobody is further along than the last.

A host that is asked nothing, because it is down, is no place. It is told later what became of the
URLs.
"""

from enum import IntEnum

from msgspec import Struct

from gossamer.objects.enumerations import CrawlStatus

_SELECTED = CrawlStatus.SELECTED_CRAWLING
_SETTLED = (CrawlStatus.CRAWLED, CrawlStatus.PROCESSED)
_KEPT = frozenset(
    {
        CrawlStatus.CRAWLED,
        CrawlStatus.SELECTED_PROCESSING,
        CrawlStatus.PROCESSING,
        CrawlStatus.PROCESSED,
    }
)


class Holder(Struct, frozen=True):
    """A batch by its name: the host that made it, and its number there."""

    host: str
    batch: int


class Hold(IntEnum):
    """How a URL is held on a host."""

    NOBODY = 0
    YIELDING = 1
    """This host wants it, and has not come to its own place yet."""
    FIRM = 2
    HERE = 3
    """It is in a batch that this host crawls."""


class Row(Struct, frozen=True):
    """What a host knows of a URL."""

    status: int
    crawled: int = 0
    """How often this host has crawled it."""
    hold: Hold = Hold.NOBODY
    holder: Holder | None = None
    """Whose batch has it."""
    is_root: bool = False
    is_due: bool = False
    """Whether it is old enough to be crawled again because somebody has found it again."""


class Change(IntEnum):
    """What becomes of the row."""

    NOTHING = 0
    INSERT = 1
    """It becomes known, as what the message says."""
    HOLD = 2
    """Selected, and held by the batch of the message."""
    CRAWLED = 3
    """Known as crawled elsewhere."""
    NEW = 4
    """To be crawled by whoever wants."""


class Judgement(Struct, frozen=True):
    """The answer to a claim, and what becomes of the row."""

    granted: bool
    change: Change = Change.NOTHING
    crawled: bool = False
    """Refused because this host has crawled it."""
    holder: Holder | None = None
    """Refused because this batch has it."""


def judge(row: Row | None, claimer: Holder, crawled: int) -> Judgement:
    """Decide whether a batch may have a URL that its maker has crawled so often."""
    if row is None:
        return Judgement(True, Change.INSERT)
    if row.is_root or (row.holder == claimer and row.hold is not Hold.NOBODY):
        # Every host crawls the root URLs itself. What was granted before is granted again.
        return Judgement(True)
    if row.hold is Hold.HERE or (row.hold is Hold.FIRM and not _is_outdated(row, claimer)):
        return Judgement(False, holder=row.holder)
    if row.crawled and not crawled:
        # It is crawled again where its contents are.
        again = row.is_due and row.hold is Hold.NOBODY and row.status in _SETTLED
        return Judgement(False, Change.NEW if again else Change.NOTHING, crawled=True)
    if row.crawled and row.status in _KEPT:
        return Judgement(True)
    return Judgement(True, Change.HOLD)


def _is_outdated(row: Row, claimer: Holder) -> bool:
    """Whether a hold is of an earlier batch of the same host, which knows best what it has."""
    return row.holder is not None and row.holder.host == claimer.host


def after_refusal(*, crawled: bool, is_over: bool) -> Change:
    """Return what becomes of a URL at the host that was refused it.

    `crawled`: it is crawled where it was refused. `is_over`: this host has heard meanwhile that the
    batch which has the URL is over; nobody would tell it again.
    """
    if crawled:
        return Change.CRAWLED
    return Change.NEW if is_over else Change.HOLD


def after_news(row: Row | None, holder: Holder, *, crawled: bool) -> Change:
    """Return what becomes of a URL when its batch is over; safe to hear twice."""
    if row is None:
        return Change.INSERT if crawled else Change.NOTHING
    if row.is_root or row.hold in (Hold.HERE, Hold.YIELDING):
        # Whoever still asks for it is told by those who are asked.
        return Change.NOTHING
    if row.hold is Hold.FIRM:
        if row.holder != holder or row.status != _SELECTED:
            return Change.NOTHING
        return Change.CRAWLED if crawled else Change.NEW
    known_only = row.status == CrawlStatus.NEW and not row.crawled
    return Change.CRAWLED if crawled and known_only else Change.NOTHING
