"""The account of what is out: ordered, reported, committed.

A visit holds its place from its order until nobody has to repeat it: so the concurrency the user
asked for bounds what is on the wire, and also what a crash may cost in repeated fetches. That is
when its findings have been written down (`report_log.py`), or reported where nothing is kept; a
backlog of these waits for its transaction while further visits go out. Where they are not written
down, it is when they are committed.
Findings that name very many URLs count for more than one, by what they weigh in memory; and while
pages are like that, fewer visits go out.
Where nothing is kept, orders may go out ahead of their time (`ahead_for`): workers then see to it
that no more are open.
Where the findings reach the catalog by another way (the store server), a visit holds its place
until it is marked as delivered there; after that it is only awaited, as a page that may come.
"""

from collections.abc import Collection, Iterable
from typing import Final

from msgspec import Struct

from gossamer.config.settings import Settings
from gossamer.messages import Due, Findings
from gossamer.urlserver.pace import pace_of

_MANY_IN_A_TRANSACTION: Final = 256
"""With so many findings in it, its own cost does not count any more."""
_MORE_IN_MEMORY: Final = 2
"""So many times as many where nothing is kept, and a loss of power cannot cost more by it."""
_AHEAD: Final = 3
"""So many times as many orders are given ahead as may be open: those that a worker has in hand last
until it has read what was fetched, has reported it and was given others."""
_MANY_URLS: Final = 500
"""For each so many URLs that findings name, they count for one more."""
_FADING: Final = 0.75
"""How much of what the heaviest page weighed is expected of the next ones, with each visit less."""
_FADED: Final = 1e-6
"""What is as good as nothing."""


class Out(Struct, frozen=True, gc=False):
    """A visit that a worker has been ordered to make."""

    due: Due
    worker: int
    address: str


def backlog_for(concurrency: int, *, is_kept: bool = True) -> int:
    """Return a backlog of two transactions: one that is being committed, one that is gathered.

    `is_kept`: whether a transaction makes anything durable.
    """
    enough = min(16 * concurrency, _MANY_IN_A_TRANSACTION)
    if not is_kept:
        enough *= _MORE_IN_MEMORY
    return 2 * max(concurrency // 2, enough)


def ahead_for(settings: Settings, *, is_kept: bool) -> int:
    """Return how many orders workers are given ahead of their time (`UrlServer.ahead`).

    Only where a request needs no more than a free place, and where nothing is kept: else a visit
    has to hold its place until its findings are written down, and that is not for a worker to know.
    """
    crawl, pace = settings.crawl, pace_of(settings.urlserver)
    is_free = not (pace.host_gap or pace.address_gap)
    is_wide = min(pace.host_limit, pace.address_limit) >= crawl.concurrency
    if is_kept or not is_free or not is_wide or not 0 < crawl.workers <= crawl.concurrency:
        return 0
    return _AHEAD * crawl.concurrency


class Ledger:
    """Counts; decides nothing but how many more orders may go out."""

    def __init__(self, concurrency: int, max_pages: int, pages: int, *, backlog: int = 0) -> None:
        self._concurrency = concurrency
        self.backlog = backlog
        """How many findings may wait for their transaction without holding places."""
        self._max_pages = max_pages
        self._out: dict[int, Out] = {}
        self._load: dict[int, int] = {}
        self._holders: dict[str, dict[int, int]] = {}
        """For each address the workers with visits out to it, the first one first."""
        self._waiting_pages = 0
        self._heaviness = 0
        """For how many more those that wait count."""
        self._usual = 0.0
        """For how many more the next visits are expected to count: the heaviest of late tells."""
        self.pages = pages
        self.waiting = 0
        """Visits that are over and wait for their transaction."""
        self.held = 0
        """URLs leased to this process: not released, concluded or marked as delivered yet."""
        self.awaited = 0
        """Visits that were marked as delivered and may still become pages."""
        self.errands = 0
        """Requests for a robots.txt that are out: each holds a place, too."""

    @property
    def in_flight(self) -> int:
        """Visits ordered and not reported on."""
        return len(self._out)

    @property
    def uncommitted(self) -> int:
        """Visits ordered whose findings are not committed yet."""
        return len(self._out) + self.waiting

    @property
    def limit_reached(self) -> bool:
        """Whether the page limit has been reached."""
        return 0 < self._max_pages <= self.pages

    def credit(self, ahead: int = 0) -> int:
        """Return how many more orders may go out now, with so many ahead of their time."""
        out = len(self._out)
        places = self._concurrency - out - self.errands
        # Workers have all places between them; a robots.txt is fetched by somebody else.
        if not self._usual and not self.errands:
            places += ahead
        waiting = self.waiting + self._heaviness
        credit = places
        if self._usual:
            room = places + self.backlog - (waiting + out * self._usual)
            credit = min(places, int(room / (1 + self._usual)))
        elif waiting > self.backlog:
            credit = places + self.backlog - waiting
        if credit < 1 and not (out or self.waiting or self.errands):
            credit = 1
        if self._max_pages:
            may_become_pages = out + self._waiting_pages + self.awaited
            credit = min(credit, self._max_pages - self.pages - may_become_pages)
        return max(0, credit)

    def load(self, worker: int) -> int:
        """Return how many visits a worker has to make."""
        return self._load.get(worker, 0)

    def worker_of(self, trans_id: int) -> int | None:
        """Return whom an order was given to; None when it is not out."""
        out = self._out.get(trans_id)
        return None if out is None else out.worker

    def holder_of(self, address: str) -> int | None:
        """Return the worker that has visits out to an address; None when nobody has."""
        return next(iter(self._holders.get(address, ())), None)

    def ordered(self, trans_id: int, due: Due, worker: int, address: str = "") -> None:
        """Note an order; with its address, if anybody will ask who has visits out to that."""
        self._out[trans_id] = Out(due, worker, address)
        self._load[worker] = self._load.get(worker, 0) + 1
        if address:
            holders = self._holders.setdefault(address, {})
            holders[worker] = holders.get(worker, 0) + 1

    def reported(self, findings: Findings) -> bool:
        """Note findings; False when they belong to a visit that was given up meanwhile."""
        return bool(self.all_reported((findings,)))

    def all_reported(self, batch: Iterable[Findings]) -> list[Findings]:
        """Note findings; return them without those of visits that were given up meanwhile."""
        reported = [each for each in batch if self.take_back(each.trans_id) is not None]
        self.waiting += len(reported)
        # In most batches no page is heavy, and none was of late: then all there is to do is done.
        if self._usual or max([len(each.found) for each in reported], default=0) >= _MANY_URLS:
            for findings in reported:
                self._weigh(findings)
        if self._max_pages:
            self._waiting_pages += sum([findings.is_page for findings in reported])
        return reported

    def wait_for(self, findings: Findings) -> None:
        """Note findings that no visit stands behind, or not any more."""
        self.waiting += 1
        self._weigh(findings)
        if self._max_pages:
            self._waiting_pages += findings.is_page

    def _weigh(self, findings: Findings) -> None:
        more = len(findings.found) // _MANY_URLS
        self._heaviness += more
        self._usual = max(more, self._usual * _FADING)
        if self._usual < _FADED:
            self._usual = 0.0

    def committed(self, findings: Collection[Findings], pages: int) -> None:
        """Note that findings are in the catalog, which now counts this many pages."""
        self.waiting -= len(findings)
        self.held -= len(findings)
        if self._heaviness:
            self._heaviness -= sum(len(each.found) // _MANY_URLS for each in findings)
        if self._max_pages:
            self._waiting_pages -= sum(finding.is_page for finding in findings)
        self.pages = pages

    def delivered(self, trans_id: int) -> None:
        """Note that a visit is over and its findings will come by another way."""
        if self.take_back(trans_id) is not None:
            self.waiting += 1
            self._waiting_pages += 1

    def handed_over(self, count: int) -> None:
        """Note that the catalog knows of this many visits that their findings are on their way."""
        self.waiting -= count
        self._waiting_pages -= count
        self.held -= count
        self.awaited += count

    def looked_up(self, pages: int, leased: int) -> None:
        """Note how many pages and leases the catalog counts: what is not held here is awaited."""
        self.pages = pages
        self.awaited = leased - self.held

    def take_back(self, trans_id: int) -> Due | None:
        """Forget one order, for whatever reason; return what it was about."""
        out = self._out.pop(trans_id, None)
        if out is None:
            return None
        self._load[out.worker] -= 1
        if out.address:
            self._let_go(out)
        return out.due

    def of_worker(self, worker: int) -> dict[int, Due]:
        """Return the orders a worker has not reported on."""
        return {trans_id: out.due for trans_id, out in self._out.items() if out.worker == worker}

    def by_document(self, doc_ids: Iterable[int]) -> list[int]:
        """Return the trans ids of these documents' orders."""
        wanted = set(doc_ids)
        return [trans_id for trans_id, out in self._out.items() if out.due.doc_id in wanted]

    def everything(self) -> list[int]:
        """Return the trans ids of all orders that are out."""
        return list(self._out)

    def _let_go(self, out: Out) -> None:
        holders = self._holders[out.address]
        holders[out.worker] -= 1
        if not holders[out.worker]:
            del holders[out.worker]
        if not holders:
            del self._holders[out.address]
